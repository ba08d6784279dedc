"""``reprokit env``: what differs between two environments, and whether it can change numbers."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.commands import capture
from reprokit.cli.extensions import ExtensibleGroup
from reprokit.cli.options import examples, json_option
from reprokit.cli.output import print_answer, print_json

#: As in ``capture.export_formats.FORMS``, which is imported only when the verb is used.
_FORMS = ("requirements", "conda", "dockerfile", "apptainer", "devcontainer")


@click.group(
    "env",
    cls=ExtensibleGroup,
    short_help="Record, compare and export environments; check this host.",
    epilog=examples("reprokit env check --against golden/cartpole_baseline/cpu-x86_64"),
)
def command() -> None:
    """Work with environment records: of runs, goldens and reports, or from `reprokit env capture`."""


command.add_command(capture.command)


@command.command(
    "diff",
    epilog=examples("reprokit env diff golden/train/cpu-x86_64 RUN", "reprokit env diff a.json b.json"),
)
@click.argument("expected", type=click.Path(path_type=Path))
@click.argument("actual", type=click.Path(path_type=Path))
@click.option("--all", "show_all", is_flag=True, help="Show every difference, not the first 12 of each kind.")
@json_option()
def diff(expected: Path, actual: Path, show_all: bool, as_json: bool) -> int:
    """List the differences between two environments; those that can change numbers come first.

    Exit codes: 0 nothing that can change numbers differs; 1 something does; 2 not a record.
    """
    from reprokit.capture import environment_diff, read_record
    from reprokit.core import fingerprint
    from reprokit.reports.pages import environment_comparison

    before, after = read_record.read_record(expected), read_record.read_record(actual)
    entries, same = environment_diff.diff(before, after), fingerprint.same(before, after)
    answer = {
        "same": same,
        "expected": {"path": str(expected), "fingerprint": fingerprint.fingerprint(before)},
        "actual": {"path": str(actual), "fingerprint": fingerprint.fingerprint(after)},
        "differences": entries,
    }
    title = environment_comparison.headline(entries, same=same)
    rows = environment_comparison.difference_lines(entries, show_all=show_all)
    print_answer((title, *rows), data=lambda: answer, as_json=as_json)
    return 0 if same else 1


@command.command("check", epilog=examples("reprokit env check --against golden/cartpole_baseline/cpu-x86_64"))
@click.option(
    "--against",
    "record",
    required=True,
    type=click.Path(path_type=Path),
    metavar="GOLDEN|RUN|RECORD",
    help="The environment to compare this host with.",
)
@click.option("--variant", help="The locked environment to use  [default: the record's own, or cpu].")
@click.option("--python", metavar="PATH", help="Inspect this Python instead of reading a lock.")
@click.option("--all", "show_all", is_flag=True, help="Show every difference, not the first 12 of each kind.")
@json_option()
def check(record: Path, variant: str | None, python: str | None, show_all: bool, as_json: bool) -> int:
    """Say, before a run, how its environment here would differ from an earlier one.

    Exit codes: 0 no known difference can change numbers; 1 one can; 2 not a record.
    """
    from dataclasses import asdict

    from reprokit.capture import read_record
    from reprokit.images import forecast
    from reprokit.reports.pages import environment_comparison

    expected = read_record.read_record(record)
    found, environment = forecast.forecast_here(expected, start=Path.cwd(), variant=variant, python=python)
    clean = found.same_platform and not found.differences
    print_answer(
        environment_comparison.forecast_lines(
            found, record=record, environment=environment, show_all=show_all
        ),
        data=lambda: {"same": clean, **asdict(found)},
        as_json=as_json,
    )
    return 0 if clean else 1


@command.command(
    "export",
    epilog=examples(
        "reprokit env export --format dockerfile golden/cartpole_baseline/cpu-x86_64",
        "reprokit env export --format conda RUN --output environment/",
    ),
)
@click.argument("record", type=click.Path(path_type=Path), metavar="GOLDEN|RUN|RECORD")
@click.option("--format", "form", type=click.Choice(_FORMS), required=True, help="The tool to write for.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("environment"),
    show_default=True,
    help="Folder to write them to.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@json_option("Print files, commands and limits as JSON.")
def export_record(record: Path, form: str, output: Path, force: bool, as_json: bool) -> int:
    """Write files that rebuild a recorded environment without reprokit, in a container or not.

    They hold versions, hashes where the record's lock is available, and the settings that affect numbers;
    what they cannot guarantee is printed. Check what you built with
    `reprokit env check --against RECORD --python PATH`.
    """
    from reprokit import workspace
    from reprokit.errors import UsageError
    from reprokit.harness.curation import export_environment

    made = export_environment(record, form=form, root=Path.cwd())
    there = [name for name in made.files if (output / name).exists()]
    if there and not force:
        raise UsageError(f"{there[0]} already exists", where=str(output), fix="add --force, or --output")
    for name, text in made.files.items():
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        workspace.write_atomic(output / name, text.encode("utf-8"))
    if as_json:
        print_json({"files": sorted(made.files), "commands": list(made.commands), "open": list(made.open)})
        return 0
    click.echo("\n".join(str(output / name) for name in sorted(made.files)))
    click.echo("\n".join([f"Next, in {output}:", *(f"  {line}" for line in made.commands)]), err=True)
    if made.open:
        click.echo("\n".join(["Not guaranteed:", *(f"  - {line}" for line in made.open)]), err=True)
    return 0
