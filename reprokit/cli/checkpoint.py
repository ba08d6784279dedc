"""``reprokit checkpoint``: is it whole, what is in it, what differs; nothing of a file is ever run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reprokit.cli.options import examples, folder_options, project_of


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
    from reprokit.reports import checkpoint_page

    found = checkpoint_files.verify(reference, project=project_of(options))
    if as_json:
        rows = [checkpoint_page.verified_data(one) for one in found]
        _print_json({"exit_code": checkpoint_files.exit_code(found), "files": rows})
    else:
        click.echo("\n".join(checkpoint_page.verified_lines(found)))
    return checkpoint_files.exit_code(found)


@command.command("show", epilog=examples("reprokit checkpoint show 20261121T101500Z-3fa9-seed42-1"))
@click.argument("reference", metavar="FILE|RUN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
def show(reference: str, as_json: bool, **options: Any) -> int:
    """List what a checkpoint holds, or a run's last whole one: tensors by name, other values by group."""
    from reprokit import checkpoints, workspace
    from reprokit.harness.curation import checkpoint_files
    from reprokit.reports import checkpoint_page

    path = checkpoint_files.find(reference, project=project_of(options))
    state = checkpoints.read(path)
    held = list(checkpoints.leaves(state))
    tensors = {name: value for name, value in held if isinstance(value, checkpoints.Tensor)}
    values = [(name, value) for name, value in held if name not in tensors]
    content = checkpoints.content_digest(state)
    if as_json:
        _print_json(
            {
                "file": str(path),
                "sha256": workspace.sha256_of(path),
                "content": content,
                "tensors": {name: {"dtype": one.dtype, "shape": one.shape} for name, one in tensors.items()},
                "values": dict(values),
            }
        )
    else:
        page = checkpoint_page.content_lines(path, content=content, tensors=tensors, values=values)
        click.echo("\n".join(page))
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
    from reprokit.reports import checkpoint_page

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
        click.echo("\n".join(checkpoint_page.difference_lines(paths, found)))
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
    from reprokit.reports import checkpoint_page

    found = convert_checkpoint(source, target, project=project_of(options))
    if as_json:
        _print_json(asdict(found))
    else:
        click.echo("\n".join(checkpoint_page.converted_lines(found)))
    return 0


def _print_json(value: Any) -> None:
    import json

    click.echo(json.dumps(value, indent=2, default=repr))
