"""``reprokit runs checkpoint``: verify, show, compare and convert checkpoints without executing them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.help_pages import Group
from reprokit.cli.options import examples, folder_options, json_option, project_of
from reprokit.cli.output import print_answer, print_json


@click.group(
    "checkpoint",
    cls=Group,
    short_help="Verify, show, compare, convert checkpoints; none is executed.",
    epilog=examples("reprokit runs checkpoint verify 20261121T101500Z-3fa9-seed42-1"),
)
def command() -> None:
    """Read checkpoints without torch. A file that would run code when loaded is refused (exit code 2)."""


@command.command("verify", epilog=examples("reprokit runs checkpoint verify checkpoints/checkpoint_20480.pt"))
@click.argument("reference", metavar="FILE|RUN")
@json_option("Print JSON.")
@folder_options
def verify(reference: str, as_json: bool, **options: Any) -> int:
    """Check checkpoints against the manifest and COMPLETE, and name what is missing to resume from them.

    Exit codes: 0 whole; 1 something is missing or was changed; 2 a file is refused.
    """
    from reprokit.features.checkpoints import checkpoint_files, page

    found = checkpoint_files.verify(reference, project=project_of(options))
    code = checkpoint_files.exit_code(found)
    files = [page.verified_data(one) for one in found]
    answer = {"exit_code": code, "files": files}
    print_answer(page.verified_lines(found), data=lambda: answer, as_json=as_json)
    return code


@command.command("show", epilog=examples("reprokit runs checkpoint show 20261121T101500Z-3fa9-seed42-1"))
@click.argument("reference", metavar="FILE|RUN")
@json_option("Print JSON.")
@folder_options
def show(reference: str, as_json: bool, **options: Any) -> int:
    """List what a checkpoint (of a run: its last whole one) holds: tensors by name, other values by group."""
    from reprokit import checkpoints, workspace
    from reprokit.features.checkpoints import checkpoint_files, page

    path = checkpoint_files.find(reference, project=project_of(options))
    state = checkpoints.read(path)
    held = list(checkpoints.leaves(state))
    tensors = {name: value for name, value in held if isinstance(value, checkpoints.Tensor)}
    values = [(name, value) for name, value in held if name not in tensors]
    content = checkpoints.content_digest(state)
    if as_json:
        answer = {
            "file": str(path),
            "sha256": workspace.sha256_of(path),
            "content": content,
            "tensors": {name: {"dtype": one.dtype, "shape": one.shape} for name, one in tensors.items()},
            "values": dict(values),
        }
        print_json(answer, default=repr)
    else:
        lines = page.content_lines(path, content=content, tensors=tensors, values=values)
        click.echo("\n".join(lines))
    return 0


@command.command(
    "diff", epilog=examples("reprokit runs checkpoint diff RUN/checkpoints/checkpoint_20480.pt OTHER_RUN")
)
@click.argument("expected", metavar="FILE|RUN")
@click.argument("actual", metavar="FILE|RUN")
@json_option("Print JSON.")
@folder_options
def diff(expected: str, actual: str, as_json: bool, **options: Any) -> int:
    """Compare two checkpoints: which values differ, where, and by how many units in the last place (ULP).

    Exit codes: 0 nothing differs; 1 something does; 2 one of them cannot be read.
    """
    from dataclasses import asdict

    from reprokit import checkpoints
    from reprokit.features.checkpoints import checkpoint_files, page

    project = project_of(options)
    paths = [checkpoint_files.find(one, project=project) for one in (expected, actual)]
    found = list(checkpoints.differences(*map(checkpoints.read, paths)))
    if as_json:
        rows = [asdict(one) for one in found]
        answer = {"files": list(map(str, paths)), "identical": not found, "differences": rows}
        print_json(answer, default=repr)
    else:
        click.echo("\n".join(page.difference_lines(paths, found)))
    return 1 if found else 0


@command.command(
    "convert",
    epilog=examples(
        "reprokit runs checkpoint convert RUN new.safetensors",
        "reprokit runs checkpoint convert old_checkpoint.pt new_checkpoint.pt",
    ),
)
@click.argument("source", metavar="FILE|RUN")
@click.argument("target", metavar="NEW_FILE", type=click.Path(dir_okay=False, path_type=Path))
@json_option("Print JSON.")
@folder_options
def convert(source: str, target: Path, as_json: bool, **options: Any) -> int:
    """Write a checkpoint as .safetensors or .pt, in the current layout, and read it back to compare.

    Nothing is lost: values that are not tensors go into the header of a .safetensors file, with a digest of
    the whole content. Exit codes: 0 both are equal, bit for bit; 2 a file is refused, or NEW_FILE exists.
    """
    from dataclasses import asdict

    from reprokit.features.checkpoints import page
    from reprokit.features.checkpoints.convert import convert as convert_checkpoint

    found = convert_checkpoint(source, target, project=project_of(options))
    print_answer(page.converted_lines(found), data=lambda: asdict(found), as_json=as_json)
    return 0
