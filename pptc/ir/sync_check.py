"""Checks the flags between the pipes of a core while the interpreter runs a kernel in program order.

On a chip only flags and barriers order two pipes. Each pipe has a vector clock: how far it and the others have come for
certain when its next op starts. Two accesses to one place, one of them a write, must be ordered by these clocks. What
is found is taken as mended, so that one missing flag is reported once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from pptc.diag import Diagnostic, Note
from pptc.ir.chip_pipes import ALL, S, Work, work_of
from pptc.ir.core import Op
from pptc.ir.flag_pairs import RAISES, WAITS, Flag, flag_of
from pptc.ir.interp_frame import Frame, Handler, Results
from pptc.ir.interp_ops import execute
from pptc.ir.kinds import plain
from pptc.ir.sync_memory import Place, Shadows

_EVENT_IDS = 8

Clock = dict[str, int]
_DID: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "read after write": ("reads what {} on {} writes", "written here"),
        "write after write": ("writes over what {} on {} writes", "written here"),
        "write after read": ("writes over what {} on {} reads", "read here"),
    }
)
"""What the later op does to what the earlier one did, and what the earlier one did."""


@dataclass(frozen=True, slots=True)
class Access:
    """One run of an op, and how far its pipe had come with it."""

    op: Op
    pipe: str
    clock: Clock


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses that nothing orders."""

    hazard: str
    before: Access
    after: Access


class SyncCheck:
    """Collects what is wrong with the flags of a kernel, over all of its cores and runs: every pair of ops once."""

    def __init__(self, module: Op) -> None:
        self.reason = _unchecked(module)  # why nothing is checked, if so
        self.races: dict[tuple[Op, Op], Race] = {}
        self.unpaired: dict[Op, Diagnostic] = {}
        self.event_ids: dict[tuple[str, str], set[str]] = {}

    @contextmanager
    def core(self) -> Iterator[Handler | None]:
        """What executes the ops of one more core."""
        if self.reason:
            yield None
        else:
            core = Core(self)
            yield core.step
            core.end()

    def findings(self) -> list[Diagnostic]:
        """All that was found so far."""
        found = [*(self._diagnosed(race) for race in self.races.values()), *self.unpaired.values()]
        return sorted(found, key=lambda one: one.span.start if one.span else 0)

    @property
    def summary(self) -> str:
        """What became of the check, in words."""
        if self.reason:
            return f"nothing to check: {self.reason}"
        count = len(self.races) + len(self.unpaired)
        return f"checked, {count} finding{'s' * (count != 1)}"

    def unpair(self, op: Op, message: str, notes: tuple[Note, ...] = (), hint: str | None = None) -> None:
        """Report a sync op that has no partner."""
        found = Diagnostic("P0604", f"{op.name}: {message}", op.span, hint, notes, op.loc)
        self.unpaired.setdefault(op, found)

    def _diagnosed(self, race: Race) -> Diagnostic:
        before, after = race.before, race.after
        does, done = _DID[race.hazard]
        did = does.format(before.op.name, before.pipe)
        message = f"{after.op.name} on {after.pipe} {did}, and nothing orders them ({race.hazard})"
        note = Note(f"{done}, on {before.pipe}", before.op.span)
        return Diagnostic("P0603", message, after.op.span, self._hint(race), (note,), after.op.loc)

    def _hint(self, race: Race) -> str:
        before, after = race.before, race.after
        used = self.event_ids.get((before.pipe, after.pipe), set())
        free = (f"EVENT_ID{number}" for number in range(_EVENT_IDS))
        event = next((name for name in free if name not in used), "EVENT_IDn")
        flag = f"[<{before.pipe}>, <{after.pipe}>, <{event}>]"
        text = f"put set_flag{flag} behind {_line(before.op)} and wait_flag{flag} before {_line(after.op)}"
        back = bool(before.op.span and after.op.span and before.op.span.start > after.op.span.start)
        return text + "; set it once before the loop, and wait once behind it" * back


def _unchecked(module: Op) -> str | None:
    """Why the flags of a module are not checked, if they aren't: then the assembler inserts them."""
    ops = tuple(module.walk())
    if any(op.name == "pto.alloc_tile" and not op.group("addr") for op in ops):
        return "the assembler places the tiles of this file (level 2), and inserts the flags"
    if not any(op.name in (*RAISES, *WAITS) or _stops_all(op) for op in ops):
        return "the file orders no two pipes: --enable-insert-sync has the assembler insert the flags"
    return None


def _stops_all(op: Op) -> bool:
    return op.name == "pto.barrier" and plain(op.attributes["pipe"]) == ALL


def _line(op: Op) -> str:
    return f"line {op.span.position[0]}" if op.span else op.name


@dataclass(eq=False)
class Core:
    """What the pipes of one core have done."""

    check: SyncCheck
    clocks: dict[str, Clock] = field(default_factory=dict)
    issued: Clock = field(default_factory=dict)  # what ops of all pipes have waited for
    raised: dict[Flag, deque[tuple[Op, Clock]]] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)  # numbered from 1
    shadows: Shadows = field(default_factory=Shadows)
    works: dict[Op, Work] = field(default_factory=dict)

    def step(self, frame: Frame, op: Op) -> Results:
        """Execute an op, and look at what it does."""
        if op.name in (*RAISES, *WAITS):
            (self._raise if op.name in RAISES else self._wait)(op)
            return None
        results = execute(frame, op)
        if op.name == "pto.syncall" or _stops_all(op):
            self._barrier()
        work = self.works.get(op)
        if work is None:
            work = self.works[op] = work_of(op)
        if work.reads or work.writes:
            self._access(frame, op, work, results)
        return results

    def end(self) -> None:
        """The kernel has ended."""
        for (first, second, event), raised in self.raised.items():
            if raised and not any(op in self.check.unpaired for op, _ in raised):
                message = f"nothing waits for {first} -> {second}, {event} before the kernel ends"
                self.check.unpair(raised[-1][0], message)

    # ------------------------------------------------------------ flags

    def _clock(self, pipe: str) -> Clock:
        return self.clocks.setdefault(pipe, dict(self.issued))

    def _let_all_wait(self, other: Clock) -> None:
        """For ops that start from now on, on any pipe."""
        for clock in (self.issued, *self.clocks.values()):
            _join(clock, other)

    def _flag(self, op: Op) -> Flag:
        flag = flag_of(op)
        self.check.event_ids.setdefault(flag[:2], set()).add(flag[2])
        return flag

    def _raise(self, op: Op) -> None:
        first, second, event = flag = self._flag(op)
        pending = self.raised.setdefault(flag, deque())
        if pending:
            notes = (Note("raised before here", pending[-1][0].span),)
            self.check.unpair(
                op, f"nothing has waited for {first} -> {second}, {event} since it was raised", notes
            )
        pending.append((op, dict(self._clock(first))))

    def _wait(self, op: Op) -> None:
        first, second, event = flag = self._flag(op)
        pending = self.raised.get(flag)
        if pending:
            _, clock = pending.popleft()
        else:
            clock = self._clock(first)
            hint = f"put set_flag[<{first}>, <{second}>, <{event}>] behind the op on {first} that it is for"
            self.check.unpair(
                op, f"nothing raises {first} -> {second}, {event} before it: a chip hangs", hint=hint
            )
        if second == S:
            self._let_all_wait(clock)
        _join(self._clock(second), clock)

    def _barrier(self) -> None:
        for clock in [dict(clock) for clock in self.clocks.values()]:
            self._let_all_wait(clock)

    # ------------------------------------------------------------ memory

    def _access(self, frame: Frame, op: Op, work: Work, results: Results) -> None:
        """Compare with the last accesses to the same places, then be the last."""
        frame.set(op.results, results or ())
        reads, writes = (
            [place for value in group if (place := self.shadows.place(frame, op, work, frame.values[value]))]
            for group in (work.reads if work.pipe else (), work.writes)
        )
        number = self._start(op, work.pipe) if work.pipe else 0
        if work.pipe:
            self._compare(self.accesses[-1], reads, writes)
            _join(self.accesses[-1].clock, self._clock(work.pipe))
            for place in reads:
                place.shadow.note_read(place.where, work.pipe, number)
        for place in writes:
            place.shadow.note_written(place.where, number)

    def _start(self, op: Op, pipe: str) -> int:
        """The number of a fresh access, which its pipe makes now."""
        clock = self._clock(pipe)
        clock[pipe] = clock.get(pipe, 0) + 1
        self.accesses.append(Access(op, pipe, dict(clock)))
        return len(self.accesses)

    def _compare(self, access: Access, reads: Sequence[Place], writes: Sequence[Place]) -> None:
        for place in reads:
            for number in place.shadow.writers(place.where):
                self._order("read after write", number, access)
        for place in writes:
            for number in place.shadow.writers(place.where):
                self._order("write after write", number, access)
            for number in place.shadow.readers(place.where):
                self._order("write after read", number, access)

    def _order(self, hazard: str, number: int, after: Access) -> None:
        """Report an access that may not be over yet, and go on as if it were."""
        before, clock = self.accesses[number - 1], self._clock(after.pipe)
        if before.clock[before.pipe] > clock.get(before.pipe, 0):
            self.check.races.setdefault((before.op, after.op), Race(hazard, before, after))
            _join(clock, before.clock)


def _join(clock: Clock, other: Clock) -> None:
    """Come as far as another clock, in place."""
    for pipe, time in other.items():
        clock[pipe] = max(clock.get(pipe, 0), time)
