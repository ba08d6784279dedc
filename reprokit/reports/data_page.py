"""What recipes read and what of it is on this machine, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from reprokit.redaction import redact_text
from reprokit.reports.escaping import one_line

if TYPE_CHECKING:
    from reprokit.data import SourceState
    from reprokit.data.preparation import PreparedData


def state_lines(found: Iterable[tuple[str, SourceState]]) -> Iterator[str]:
    """One file: recipe, name, state, size, digest; what is wrong with it, with the line that declares it."""
    for recipe, state in found:
        source = state.source
        row = f"{recipe}  {source.name}  {state.status}  {source.num_bytes:,} bytes  {source.sha256}"
        yield one_line(row)
        if state.problem:
            yield one_line(f"  {source.where}: {state.problem}")


def state_rows(found: Iterable[tuple[str, SourceState]]) -> list[Mapping[str, Any]]:
    """The same for machines."""
    return [
        {
            "recipe": recipe,
            "name": state.source.name,
            "status": str(state.status),
            "problem": state.problem,
            "sha256": state.source.sha256,
            "size": state.source.num_bytes,
            "unpack": state.source.unpack,
            "form": state.source.form or None,
            "licence": state.source.licence or None,
            "redistribute": state.source.redistribute,
            "places": [redact_text(place) for place in state.source.places],
            "path": str(state.path),
            "declared_at": state.source.where,
        }
        for recipe, state in found
    ]


class _Step(Protocol):
    """A step of a preparation, and what came of it."""

    @property
    def prepared(self) -> PreparedData: ...
    @property
    def made_now(self) -> bool: ...
    @property
    def problem(self) -> str: ...


def step_lines(found: Iterable[_Step]) -> Iterator[str]:
    """A line a file that a step made; what is wrong with it."""
    for one in found:
        made, step = one.prepared, one.prepared.inputs.step
        how = "twice, equal to the byte" if made.is_repeated else "once" if made.preparations < 2 else "twice"
        when = f"prepared {how}" if one.made_now else f"prepared before, {how}"
        for name, output in made.outputs.items():
            yield one_line(f"{step}  {name}  {when}  {output['bytes']:,} bytes  {output['sha256']}")
        if one.problem:
            yield one_line(f"  {one.problem}")


def step_rows(found: Iterable[_Step]) -> list[Mapping[str, Any]]:
    """The same for machines."""
    return [
        {**one.prepared.as_data(), "made_now": one.made_now, "problem": one.problem or None} for one in found
    ]
