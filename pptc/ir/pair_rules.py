"""What the verifier asks of a pair: one signature, pipes that both functions open alike, tiles that fit slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pptc.ir.attrs import SymbolAttr
from pptc.ir.core import Op, functions, symbol_name
from pptc.ir.kinds import plain
from pptc.ir.opdef import Problem
from pptc.ir.pairs import CUBE, VECTOR, Entry, pair_of, pipe_id, pipe_ops, pipe_side, split_of
from pptc.ir.pipes import channels, element, passed, producer, whole_shape
from pptc.ir.types import ViewType

_SAME = ("dir_mask", "slot_size", "slot_num", "nosplit")


def check_pairs(module: Op) -> Iterator[Problem]:
    """Every fault of the functions of a module that work on pipes; each pair is checked once, at its cube function."""
    defined = [f for f in functions(module) if f.regions and f.regions[0].blocks]
    for function in defined:
        ops = list(pipe_ops(function))
        if not ops:
            continue
        stranger = next((op for op in ops if pipe_side(op) != pipe_side(ops[0])), None)
        pair = pair_of(function, defined)
        if stranger is not None:
            message = (
                f"{stranger.name} is of the {pipe_side(stranger)} core, {ops[0].name} above of the other one"
            )
            yield Problem("P0208", message, where=stranger)
        elif pair is None:
            yield _alone(function, ops[0])
        elif pair.functions[0] is function:
            yield from _check_pair(pair)


def _alone(function: Op, op: Op) -> Problem:
    other = VECTOR if pipe_side(op) == CUBE else CUBE
    return Problem(
        "P0208",
        f"no {other} function is on the other side of the pipes of @{symbol_name(function)}",
        hint="a pair is one cube and one vector function of a module; import_reserved_buffer names the peer",
        where=op,
    )


def _check_pair(pair: Entry) -> Iterator[Problem]:
    cube, vector = pair.functions
    if cube.attributes["function_type"] != vector.attributes["function_type"]:
        message = f"@{symbol_name(cube)} and @{symbol_name(vector)} are a pair and take the same arguments"
        yield Problem("P0201", message, where=vector)
    yield from _check_buffers(cube, vector)
    yield from _check_buffers(vector, cube)
    opened = [_opened(function) for function in pair.functions]
    faults = [*_check_openings(*opened), *_check_splits(pair)]
    yield from faults
    if not faults:
        yield from _check_transfers(pair)


def _check_buffers(function: Op, peer: Op) -> Iterator[Problem]:
    reserved = [op.attributes["name"] for op in peer.walk() if op.name == "pto.reserve_buffer"]
    for op in function.walk():
        if op.name != "pto.import_reserved_buffer":
            continue
        if op.attributes["peer_func"] != SymbolAttr(symbol_name(peer)):
            yield Problem(
                "P0103", f"peer_func is not the other function of the pair, @{symbol_name(peer)}", where=op
            )
        elif op.attributes["name"] not in reserved:
            yield Problem(
                "P0103", f'@{symbol_name(peer)} reserves no buffer named "{op.attributes["name"]}"', where=op
            )


def _opened(function: Op) -> dict[int, Op]:
    return {pipe_id(op): op for op in pipe_ops(function) if op.name.endswith("_initialize_pipe")}


def _check_openings(cube: Mapping[int, Op], vector: Mapping[int, Op]) -> Iterator[Problem]:
    for here, there, side in ((cube, vector, VECTOR), (vector, cube, CUBE)):
        for id, op in here.items():
            if id not in there:
                yield Problem("P0208", f"the {side} function does not open pipe {id}", where=op)
    for id, op in vector.items():
        for name in _SAME:
            if id in cube and _fact(op, name) != _fact(cube[id], name):
                yield Problem("P0207", f"{name} of pipe {id} is another on the cube's side", where=op)
    for op in (*cube.values(), *vector.values()):
        if "acc_push_epilogue" in op.attributes:
            yield Problem("P0402", "acc_push_epilogue is not compiled yet", where=op)


def _fact(op: Op, name: str) -> object:
    """An attribute's value; those left out say 0 or false."""
    return plain(op.attributes.get(name)) or 0


def _check_splits(pair: Entry) -> Iterator[Problem]:
    """One vector core works on the pipes of a pair, or two."""
    moves = [op for function in pair.functions for op in pipe_ops(function) if "split" in op.attributes]
    for op in moves[1:]:
        if bool(split_of(op)) != bool(split_of(moves[0])):
            message = f"split is {split_of(op)} here and {split_of(moves[0])} on another op of the pair"
            yield Problem("P0402", message, hint="give all pipe ops of a pair a split, or none", where=op)
            return


def _check_transfers(pair: Entry) -> Iterator[Problem]:
    """Pipes are open in the direction that they are used; what passes has one element type and fits the slot."""
    known = channels(pair)
    first: dict[int, Op] = {}
    for op in (op for function in pair.functions for op in pipe_ops(function)):
        if op.name.endswith("_initialize_pipe"):
            continue
        channel = known.get((pipe_id(op), producer(op)))
        if channel is None:
            yield Problem("P0207", f"pipe {pipe_id(op)} is not open in this direction", where=op)
            continue
        entry = passed(op)
        if entry is None:
            continue
        other = passed(first.setdefault(channel.number, op))
        assert other is not None
        if element(entry) != element(other):
            yield Problem(
                "P0204", f"other tiles of this pipe have elements of {element(other).name}", where=op
            )
        if isinstance(entry.type, ViewType) and (split_of(op) or None in entry.type.dims):
            yield Problem("P0402", "views are passed whole and with extents that the type says", where=op)
            continue
        rows, columns = whole_shape(op, entry)
        size = rows * columns * element(entry).bytes
        if size > channel.bytes:
            message = f"a slot has {channel.bytes} bytes, the whole tile of {rows}x{columns} takes {size}"
            yield Problem("P0215", message, where=op)
