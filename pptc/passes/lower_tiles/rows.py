"""Fused rows: all steps of one row as a few column loops of vectors.

Steps become a graph of nodes. What has bytes of its own, a store or a reduction is a sink; a sink pulls its value from
its sources, so that nothing else is ever written. A row takes one column loop per phase (`phases.py`): a reduction ends
a phase, and later ones take its result as a scalar of the row. A value that a later phase needs again is read back
where it has bytes, and computed again where it has none. Scalars of the row, their broadcasts and reciprocals are made
once, in front of the column loop that asks for them. What the first phase reads is asked for one row ahead, in the
phase that computes most: so the machine fetches while it computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pptc.ir.core import Op
from pptc.passes.lower_tiles.code import Index
from pptc.passes.lower_tiles.columns import ColumnLoop
from pptc.passes.lower_tiles.frame import Frame
from pptc.passes.lower_tiles.graph import Node, nodes_of
from pptc.passes.lower_tiles.lanes import Lane, Lanes
from pptc.passes.lower_tiles.places import Strided
from pptc.passes.lower_tiles.row_values import RowValues
from pptc.passes.lower_tiles.steps import Step


def lower_row(frame: Frame, row: Index, steps: Sequence[Step], phases: Mapping[Op, int]) -> None:
    """All steps of row `row`."""
    nodes, values = nodes_of(frame, steps, phases), RowValues(frame, row)
    for node in nodes:
        for argument, _ in node.arguments:
            if argument.step is None and argument.is_column:
                values.scalar(argument)  # before a store of this row can change it
    count = max((node.phase for node in nodes), default=-1) + 1
    ahead, busiest = _read_ahead(frame, nodes, count)
    for phase in range(count):
        fetched = ahead if phase == busiest else ()
        _lower_phase(values, phase, [node for node in nodes if node.phase == phase], fetched)


def lower_step(frame: Frame, step: Step) -> None:
    """One step, row by row."""
    frame.code.loop(0, step.rows, 1, lambda row, _: lower_row(frame, row, [step], {}))


def _read_ahead(frame: Frame, nodes: Sequence[Node], count: int) -> tuple[Sequence[Node], int]:
    """What to fetch for the next row, and the phase to do it in."""
    if count < 2 or not frame.options.prefetch:
        return (), 0
    first = {argument: None for node in nodes if node.phase == 0 for argument, _ in node.arguments}
    ahead = [node for node in first if isinstance(node.place, Strided) and node.place.ahead is not None]
    busiest = max(range(1, count), key=lambda phase: sum(node.phase == phase for node in nodes))
    return ahead, busiest


def _lower_phase(values: RowValues, phase: int, nodes: Sequence[Node], fetched: Sequence[Node]) -> None:
    kept = [
        (node, values.scalar(node)) for node in nodes if node.place and node.is_column and not node.reduction
    ]
    for span, sinks in _by_span(nodes):
        for node, result in ColumnLoop(values, phase, span, sinks, fetched).run().items():
            values.settle(node, result)
            if node.place is not None:
                kept.append((node, result))
        fetched = ()
    for node, result in kept:
        _keep(values, node, result)


def _by_span(nodes: Sequence[Node]) -> list[tuple[Index, list[Node]]]:
    """The sinks of a phase, those with the same number of columns together."""
    groups: list[tuple[Index, list[Node]]] = []
    for node in nodes:
        if node.step is None or not (node.reduction or (node.place and not node.is_column)):
            continue
        columns = node.step.columns
        same = [sinks for span, sinks in groups if span is columns or span == columns]
        if same:
            same[0].append(node)
        else:
            groups.append((columns, [node]))
    return groups


def _keep(values: RowValues, node: Node, result: Lane) -> None:
    """Write a value that the row has once."""
    assert node.step is not None
    code = values.code
    columns: Index = 1 if node.reduction else node.step.columns

    def store() -> None:
        Lanes(code, 1).store(result, *values.line(node).at(code, 0), node.elem)

    code.branch(code.compare("slt", 0, columns), store)
