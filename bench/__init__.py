"""Benchmarks against peers, side by side in one run. They need the `bench` extra."""
