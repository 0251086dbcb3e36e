"""The entry points. An interrupt ends the process in silence from the first line on: nothing is imported before."""

import gc
import os
import signal


def pptc() -> int:
    """`pptc`."""
    return _start("pptc")


def pptc_run() -> int:
    """`pptc-run`."""
    return _start("pptc_run")


def pptc_opt() -> int:
    """`pptc-opt`."""
    return _start("pptc_opt")


def _start(name: str) -> int:
    """Import a command and call it. While it runs an interrupt is an exception, which cleans up."""
    from importlib import import_module

    gc.set_threshold(*_COLLECTIONS)
    main = import_module(f"pptc.cli.{name}").main
    _on_interrupt(_leave, signal.default_int_handler)
    try:
        status: int = main()
        return status
    except KeyboardInterrupt:
        return _INTERRUPTED
    finally:
        _on_interrupt(signal.default_int_handler, _leave)


_INTERRUPTED = 130

_COLLECTIONS = (200_000, 50, 100)
"""A compiler makes many objects that live to its end: looking for dead ones early takes half of its time."""


def _leave(_number: int, _frame: object) -> None:
    os._exit(_INTERRUPTED)


def _on_interrupt(old: object, new: object) -> None:
    """Exchange handlers; a process that was started with interrupts ignored goes on ignoring them."""
    if signal.getsignal(signal.SIGINT) is old:
        signal.signal(signal.SIGINT, new)  # type: ignore[arg-type]


_on_interrupt(signal.default_int_handler, _leave)
