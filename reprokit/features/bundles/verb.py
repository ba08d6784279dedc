"""``reprokit bundle``: one archive that a reviewer can reproduce a result from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import examples, folder_options, json_option, number_option, project_of
from reprokit.cli.output import fitted_lines, print_answer
from reprokit.session import Session

if TYPE_CHECKING:
    from reprokit.features.bundles.bundle import WrittenBundle

_SHOWN = 12


@click.command(
    "bundle",
    cls=Command,
    common="output vendor no-data max-data-mib json",
    short_help="Write one archive that a reviewer can reproduce a result from.",
    epilog=examples(
        "reprokit bundle golden/cartpole_baseline/cpu-x86_64 --output cartpole.tar.gz",
        "reprokit bundle reports/cartpole_baseline/20261120T1015-3fa9 -o out.tar.gz",
        "reprokit bundle golden/cartpole_baseline/cpu-x86_64 -o out.tar.gz --vendor",
        "reprokit reproduce cartpole.tar.gz --sha256 DIGEST   # the reviewer's line",
    ),
)
@click.argument("path", type=click.Path(exists=True, path_type=Path), metavar="RUN | GOLDEN | REPORT")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The archive, NAME.tar.gz.",
)
@click.option("--vendor", is_flag=True, help="Put the packages of the environment into it too.")
@click.option("--no-data", is_flag=True, help="Name data by its digest only.")
@number_option("--max-data-mib", least=1, default=256, help="How much data goes along, MiB.")
@json_option("Print digest, files and what is left out as a JSON object.")
@folder_options
def command(
    path: Path,
    output: Path,
    vendor: bool,
    no_data: bool,
    max_data_mib: int,
    as_json: bool,
    **options: Any,
) -> int:
    """Write code, recipe, lock, golden and records into one archive; the same result gives the same bytes.

    Data of the recipe goes along where it states a licence; all else is named by its digest.

    The files must be those that the result was made from. No file that git ignores or that looks like
    credentials goes into it. Publish the digest that is printed apart from the archive: with it a reviewer
    knows that the archive is yours.
    """
    from reprokit.cli import show_report
    from reprokit.features.bundles.bundle import bundle
    from reprokit.reports import bytes_text, one_line

    with show_report.progress() as progress:
        made = bundle(
            path,
            output,
            session=Session(project=project_of(options), progress=progress),
            vendor=vendor,
            most_data_bytes=0 if no_data else max_data_mib << 20,
        )
    total = sum(made.files.values())
    tops: dict[str, tuple[int, int]] = {}
    for name, size in made.files.items():
        count, so_far = tops.get(name.partition("/")[0], (0, 0))
        tops[name.partition("/")[0]] = (count + 1, so_far + size)
    lines = [
        f"Written: {one_line(made.path)}, {bytes_text(made.path.stat().st_size)}, {len(made.files)} files",
        *(
            f"  {one_line(top)}: {count} file{'' if count == 1 else 's'}, {bytes_text(size)}"
            for top, (count, size) in tops.items()
        ),
        *(["Not in it:"] if made.left_out else []),
        *(f"  - {one_line(sentence)}" for sentence in made.left_out[:_SHOWN]),
        f"Digest: {made.sha256}",
        *_to_type(_line_for(made)),
    ]
    print_answer(
        fitted_lines(lines),
        as_json=as_json,
        data=lambda: {
            "file": made.path,
            "sha256": made.sha256,
            "recipe": made.recipe,
            "bytes": total,
            "files": dict(made.files),
            "left_out": list(made.left_out),
            "data": [
                {
                    "name": one.source.name,
                    "sha256": one.source.sha256,
                    "bytes": one.source.num_bytes,
                    "licence": one.source.licence or None,
                    "bundled": one.path is not None,
                }
                for one in made.data
            ],
        },
    )
    return 0


def _line_for(made: WrittenBundle) -> str:
    from reprokit.reports import one_line

    line = f"reprokit reproduce {one_line(made.path.name)} --sha256 {made.sha256}"
    return f"{line} --backend local" if made.is_unpinned else line


def _to_type(command: str) -> list[str]:
    """The reviewer's line; a terminal gets it below its title, so that it can be broken and copied."""
    title = "To reproduce it:"
    return [title, f"  {command}"] if sys.stdout.isatty() else [f"{title} {command}"]
