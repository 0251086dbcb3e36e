"""Kernels compared five ways."""
