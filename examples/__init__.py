"""Worked examples. Each folder holds a kernel and a `case.py` with its inputs and what NumPy says."""
