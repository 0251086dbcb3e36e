"""Hypothesis profiles: the default one is fixed and quick, `matrix` looks much further."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "matrix", parent=settings.get_profile("default"), max_examples=1000, derandomize=False
)
settings.load_profile("default")
