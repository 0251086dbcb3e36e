"""Status words of the C library; a test compares them with pptrt.h."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """PPT_OK and PPT_E_*."""

    OK = 0
    E_INVALID_ARGUMENT = 1
    E_NO_MEMORY = 2
    E_IO = 3
    E_CORRUPT = 4
    E_VERSION = 5
    E_UNSUPPORTED = 6
    E_NOT_FOUND = 7
    E_NO_IMAGE = 8
    E_LOAD = 9
    E_TYPE = 10
    E_OVERLAP = 11
    E_FAULT = 12
    E_SYSTEM = 13


class PptError(Exception):
    """A call failed; the text says why and what to do."""

    def __init__(self, status: Status, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
