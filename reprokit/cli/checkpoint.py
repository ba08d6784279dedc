"""``reprokit checkpoint``: is it whole, what is in it, what differs; nothing of a file is ever run.

Everything printed comes from files that anybody may have written, and is made visible first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.options import examples, folder_options, project_of

if TYPE_CHECKING:
    from reprokit.checkpoints import CheckpointDifference

_FEW = 40
_NUMBERED = re.compile(r"(\.(\d+|__tuple__))+$")


@click.group(
    "checkpoint",
    short_help="Check, show, compare, convert checkpoints; nothing of one is run.",
    epilog=examples("reprokit checkpoint verify 20261121T101500Z-3fa9-seed42-1"),
)
def command() -> None:
    """Checkpoints are read here, without torch; a file that asks for code to be run is refused (2)."""


@command.command("verify", epilog=examples("reprokit checkpoint verify checkpoints/checkpoint_20480.pt"))
@click.argument("reference", metavar="FILE|RUN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
def verify(reference: str, as_json: bool, **options: Any) -> int:
    """Hold checkpoints against manifest and COMPLETE, read them, and name what they lack to go on from.

    Exit codes: 0 whole; 1 something is missing or was changed; 2 a file is refused.
    """
    from reprokit.harness.curation import checkpoint_files

    found = checkpoint_files.verify(reference, project=project_of(options))
    if as_json:
        rows = [
            {
                "file": str(one.path),
                "step": one.step,
                "num_tensors": one.num_tensors,
                "loaded": one.proven,
                "problems": list(one.problems),
                "refused": one.refused,
                "note": one.note,
            }
            for one in found
        ]
        _print_json({"exit_code": checkpoint_files.exit_code(found), "files": rows})
        return checkpoint_files.exit_code(found)
    loaded = {True: "loaded inside its environment", False: "did not load", None: "nobody tried to load it"}
    for one in found:
        word = "refused" if one.refused else "not whole" if one.problems else "whole"
        _print(f"{word:9}  {one.path.name:24} {one.num_tensors:4} tensors  {loaded[one.proven]}")
        for told in (*one.problems, *([one.note] if one.note else [])):
            _print(f"           {told}")
    return checkpoint_files.exit_code(found)


@command.command("show", epilog=examples("reprokit checkpoint show 20261121T101500Z-3fa9-seed42-1"))
@click.argument("reference", metavar="FILE|RUN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
def show(reference: str, as_json: bool, **options: Any) -> int:
    """List what a checkpoint holds, or a run's last whole one: tensors by name, other values by group."""
    from reprokit import checkpoints, workspace
    from reprokit.harness.curation import checkpoint_files

    path = checkpoint_files.find(reference, project=project_of(options))
    state = checkpoints.read(path)
    held = list(checkpoints.leaves(state))
    tensors = {name: value for name, value in held if isinstance(value, checkpoints.Tensor)}
    others: dict[str, list[Any]] = {}
    for name, value in held:
        if name not in tensors:
            others.setdefault(_NUMBERED.sub("", name), []).append(value)
    if as_json:
        _print_json(
            {
                "file": str(path),
                "sha256": workspace.sha256_of(path),
                "content": checkpoints.content_digest(state),
                "tensors": {name: {"dtype": one.dtype, "shape": one.shape} for name, one in tensors.items()},
                "values": {name: value for name, value in held if name not in tensors},
            }
        )
        return 0
    _print(str(path))
    _print(f"content {checkpoints.content_digest(state)}")
    for name, one in tensors.items():
        _print(f"  {name:44} {one.dtype:8} {list(one.shape)}")
    for name, values in others.items():
        _print(f"  {name:44} {values[0]!r:.40}" if len(values) == 1 else f"  {name:44} {len(values)} values")
    return 0


@command.command(
    "diff", epilog=examples("reprokit checkpoint diff RUN/checkpoints/checkpoint_20480.pt OTHER_RUN")
)
@click.argument("expected", metavar="FILE|RUN")
@click.argument("actual", metavar="FILE|RUN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
def diff(expected: str, actual: str, as_json: bool, **options: Any) -> int:
    """Compare two checkpoints value by value: which differ, where, and by how many units in the last place.

    Exit codes: 0 nothing differs; 1 something does; 2 one of them cannot be read.
    """
    from dataclasses import asdict

    from reprokit import checkpoints
    from reprokit.harness.curation import checkpoint_files

    project = project_of(options)
    paths = [checkpoint_files.find(one, project=project) for one in (expected, actual)]
    found = list(checkpoints.differences(*map(checkpoints.read, paths)))
    if as_json:
        _print_json(
            {
                "files": list(map(str, paths)),
                "identical": not found,
                "differences": [asdict(one) for one in found],
            }
        )
    else:
        _print_differences(paths, found)
    return 1 if found else 0


@command.command(
    "convert",
    epilog=examples(
        "reprokit checkpoint convert 20261121T101500Z-3fa9-seed42-1 new.safetensors",
        "reprokit checkpoint convert old_checkpoint.pt new_checkpoint.pt",
    ),
)
@click.argument("source", metavar="FILE|RUN")
@click.argument("target", metavar="NEW_FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
def convert(source: str, target: Path, as_json: bool, **options: Any) -> int:
    """Write a checkpoint as .safetensors or as .pt, in today's layout, and read it back to prove it.

    Nothing is lost: what is no tensor stands in the header of a .safetensors file, with the digest of all of
    its content. Exit codes: 0 both hold the same, bit for bit; 2 a file is refused, or the new one is there.
    """
    from dataclasses import asdict

    from reprokit.harness.curation import convert_checkpoint

    found = convert_checkpoint.convert(source, target, project=project_of(options))
    if as_json:
        _print_json(asdict(found))
        return 0
    _print(f"{found.source}\n→ {found.target}")
    _print(f"{found.num_tensors} tensors and every other value, bit for bit; content {found.content}")
    for told in found.changes:
        _print(f"  {told}")
    for told in found.lacking:
        _print(f"  nothing can go on from it: {told}")
    return 0


def _print_differences(paths: Sequence[Path], found: Sequence[CheckpointDifference]) -> None:
    _print(f"expected {paths[0]}\nactual   {paths[1]}")
    if not found:
        _print("identical: every value, bit for bit")
        return
    groups: dict[str, list[CheckpointDifference]] = {}
    for one in found:
        groups.setdefault(one.name if one.index is not None else _NUMBERED.sub("", one.name), []).append(one)
    for name, members in list(groups.items())[:_FEW]:
        more = f"; {len(members)} values differ" if len(members) > 1 else ""
        _print(f"  {name:44} {_in_words(members[0])}{more}")
    if len(groups) > _FEW:
        _print(f"  … and {len(groups) - _FEW} more; --json has them all")


def _in_words(one: CheckpointDifference) -> str:
    sides = f"{one.actual!r:.40}, expected {one.expected!r:.40}"
    if one.index is None:
        return sides if one.what == "values" else f"{one.what}: {sides}"
    apart = "" if one.max_ulps is None else f", at most {one.max_ulps:,} ULP apart"
    return f"{one.num_different} of {one.num_values} differ{apart}; first at {list(one.index)}: {sides}"


def _print(text: str) -> None:
    from reprokit.reports.escaping import one_line

    click.echo("\n".join(one_line(line, limit=400) for line in text.split("\n")))


def _print_json(value: Any) -> None:
    import json

    click.echo(json.dumps(value, indent=2, default=repr))
