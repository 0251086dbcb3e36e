"""pptc: the compiler of PTO tile kernels and Core IR tensor models."""

__version__ = "0.1.0"
