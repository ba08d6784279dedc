"""``reprokit env export``: a captured environment as files that rebuild it."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.options import examples

#: As in ``capture.export_forms.FORMS``, which is imported only when the verb is used.
_FORMS = ("requirements", "conda", "dockerfile", "apptainer", "devcontainer")


@click.command(
    "export",
    epilog=examples(
        "reprokit env export --format dockerfile golden/cartpole_baseline",
        "reprokit env export --format conda RUN --output environment/",
    ),
)
@click.argument("record", type=click.Path(path_type=Path), metavar="GOLDEN|RUN|RECORD")
@click.option("--format", "form", type=click.Choice(_FORMS), required=True, help="What the files are for.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("environment"),
    show_default=True,
    help="Folder to write them to.",
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
@click.option("--json", "as_json", is_flag=True, help="Print files, commands and open points as JSON.")
def export_record(record: Path, form: str, output: Path, force: bool, as_json: bool) -> int:
    """Write files that rebuild the environment of a record, without containers or with other tools.

    They hold versions, hashes where the record's lock is at hand, and the settings that steer numbers.
    What they cannot promise is told. `reprokit env check --against RECORD --python PATH` says whether
    what you built agrees.
    """
    import json

    from reprokit.errors import UsageError
    from reprokit.harness.curation import export_environment
    from reprokit.workspace import write_atomic

    made = export_environment(record, form=form, root=Path.cwd())
    there = [name for name in made.files if (output / name).exists()]
    if there and not force:
        raise UsageError(f"{there[0]} is there already", where=str(output), fix="add --force, or --output")
    for name, text in made.files.items():
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(output / name, text.encode("utf-8"))
    if as_json:
        answer = {"files": sorted(made.files), "commands": list(made.commands), "open": list(made.open)}
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        return 0
    click.echo("\n".join(str(output / name) for name in sorted(made.files)))
    click.echo("\n".join([f"Do, in {output}:", *(f"  {line}" for line in made.commands)]), err=True)
    if made.open:
        click.echo("\n".join(["Not promised:", *(f"  - {line}" for line in made.open)]), err=True)
    return 0
