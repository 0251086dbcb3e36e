"""One example."""
