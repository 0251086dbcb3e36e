"""Threads that take turns: what runs at the same time on a chip, one at a time and always in the same order.

A member runs until it waits for something that is not so yet; the next one that can go on does. When none can, they
wait for each other for ever, which is a fault of the program.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pptc.ir.storage import MemoryFault


class _Stopped(Exception):
    """Ends a member because another one failed."""


@dataclass(eq=False)
class Member:
    """One of those who take turns. `ready` is what it waits for, None while it can run."""

    team: Team
    ready: Callable[[], bool] | None = None
    finished: bool = False
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def wait(self, ready: Callable[[], bool]) -> None:
        """Let others run until `ready` says so. Raises MemoryFault when it never will."""
        while not ready():
            self.ready = ready
            if not self.team.pass_on(self):
                raise MemoryFault("it waits for what no other core will do")
            self.turn.acquire()
            if self.team.failure is not None:
                raise _Stopped
        self.ready = None


class Team:
    """Runs functions that wait for each other; the first failure ends them all and is raised."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.failure: BaseException | None = None
        self._done = threading.Semaphore(0)

    def run(self, bodies: Sequence[Callable[[Member], None]]) -> None:
        """Run each body with its member."""
        self.members = [Member(self) for _ in bodies]
        threads = [
            threading.Thread(target=self._run, args=(member, body))
            for member, body in zip(self.members, bodies, strict=True)
        ]
        for thread in threads:
            thread.start()
        self.members[0].turn.release()
        self._done.acquire()
        for thread in threads:
            thread.join()
        if self.failure is not None:
            raise self.failure

    def _run(self, member: Member, body: Callable[[Member], None]) -> None:
        member.turn.acquire()
        try:
            if self.failure is None:
                body(member)
        except _Stopped:
            pass
        except BaseException as error:
            self.failure = error
        member.finished = True
        if all(other.finished for other in self.members):
            self._done.release()
        elif not self.pass_on(member):
            self.failure = self.failure or MemoryFault("a core waits for what no other one will do")
            self.pass_on(member)

    def pass_on(self, member: Member) -> bool:
        """Give the turn to the next one that can go on; False when there is none. After a failure all can."""
        here = self.members.index(member)
        for other in (*self.members[here + 1 :], *self.members[: here + 1]):
            stopping = self.failure is not None
            if not other.finished and (stopping or other.ready is None or other.ready()):
                other.turn.release()
                return True
        return False
