"""``reprokit bundle``: one archive that a reviewer can reproduce a result from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprokit.cli.help_pages import Command, titled
from reprokit.cli.options import examples, folder_options, json_option, number_option, project_of
from reprokit.cli.output import fitted_lines, print_answer
from reprokit.features.bundles.reproduce_options import digest_option
from reprokit.session import Session

if TYPE_CHECKING:
    from reprokit.features.bundles.bundle import WrittenBundle
    from reprokit.project import Project

_SHOWN = 12


@click.command(
    "bundle",
    cls=Command,
    common="output vendor check sha256 json",
    short_help="Write one archive that a reviewer can reproduce a result from.",
    epilog=examples(
        "reprokit bundle golden/cartpole_baseline/cpu-x86_64 -o ../cartpole.tar.gz",
        "reprokit bundle reports/cartpole_baseline/20261120T1015-3fa9 -o ../o.tar.gz",
        "reprokit bundle golden/pg/cpu-x86_64 -o ../out.tar.gz --vendor",
        "reprokit bundle --check cartpole.tar.gz --sha256 DIGEST",
        "reprokit reproduce cartpole.tar.gz --sha256 DIGEST   # the reviewer's line",
    ),
)
@click.argument(
    "path", type=click.Path(exists=True, path_type=Path), metavar="RUN | GOLDEN | REPORT | ARCHIVE"
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The archive to write, NAME.tar.gz; outside the project it cannot count as one of its files.",
)
@click.option("--vendor", is_flag=True, help="Put the packages of the environment into it too.")
@click.option("--no-data", is_flag=True, help="Name data by its digest only.")
@number_option("--max-data-mib", least=1, default=256, help="How much data goes along, MiB.")
@titled(
    "A check of an archive",
    click.option(
        "--check", is_flag=True, help="Compare all that ARCHIVE holds with its digests; run nothing of it."
    ),
    click.option(
        "--sha256",
        metavar="DIGEST",
        callback=digest_option,
        help="With --check: refuse any archive with another digest than the author published.",
    ),
)
@json_option("Print digest, files and what is left out as a JSON object.")
@folder_options
def command(
    path: Path,
    output: Path | None,
    vendor: bool,
    no_data: bool,
    max_data_mib: int,
    check: bool,
    sha256: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Write code, recipe, lock, golden and records into one archive; the same result gives the same bytes.

    Data of the recipe goes along where it states a licence; all else is named by its digest.

    The files must be those that the result was made from. No file that git ignores or that looks like
    credentials goes into it. Publish the printed digest somewhere other than in the archive: with it a
    reviewer knows that the archive is yours.

    --check looks at an archive that somebody gives you. Only `reprokit reproduce ARCHIVE` gives a verdict.
    """
    from reprokit.cli import show_report
    from reprokit.features.bundles.bundle import bundle
    from reprokit.reports import bytes_text, one_line

    if check:
        if output is not None or vendor or no_data:
            raise click.UsageError("--check writes no archive: leave out --output, --vendor and --no-data")
        return _check(path, sha256, as_json=as_json)
    project = project_of(options)
    if output is None:
        raise click.UsageError("--output FILE is missing: the archive to write, NAME.tar.gz")
    if sha256 is not None:
        raise click.UsageError("--sha256 goes with --check; of a new archive the digest is printed")
    with show_report.progress() as progress:
        made = bundle(
            path,
            output,
            session=Session(project=project, progress=progress),
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
    if _counts_as_source(made.path, project):
        click.echo(
            f"note: {one_line(made.path)} lies in the project and git does not ignore it, so the next run "
            "counts it as a changed file: move it out, or add it to .gitignore",
            err=True,
        )
    print_answer(
        fitted_lines(lines),
        as_json=as_json,
        data=lambda: {
            "file": made.path,
            "sha256": made.sha256,
            "recipe": made.recipe,
            "bytes": total,
            "archive_bytes": made.path.stat().st_size,
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


def _check(file: Path, sha256: str | None, *, as_json: bool) -> int:
    """Say that an archive agrees with itself; all else is an error that names the file."""
    from reprokit.features.bundles.bundle import check_bundle
    from reprokit.reports import one_line

    found = check_bundle(file, sha256=sha256)
    manifest = found.manifest
    name, num_files = one_line(file), len(manifest.files)
    agrees, compared = "Agrees with itself", "compare it with the one that its author published"
    if sha256:
        agrees, compared = "Unaltered", "the one that you named"
    platform = one_line(manifest.platform or "without a golden")
    again = f"reprokit reproduce {name} --sha256 {found.sha256}"
    lines = [
        f"{agrees}: {name}, {num_files} files, each with the digest that bundle.json lists",
        f"Recipe: {manifest.recipe}, seed {manifest.seed}, {platform}",
        f"Digest: {found.sha256} ({compared})",
        *_to_type(again, title="Nothing of it was run. For a verdict:"),
    ]
    print_answer(
        fitted_lines(lines),
        as_json=as_json,
        data=lambda: {
            "file": file,
            "sha256": found.sha256,
            "digest_was_given": sha256 is not None,
            "of": manifest.of,
            "recipe": manifest.recipe,
            "platform": manifest.platform,
            "seed": manifest.seed,
            "commit": manifest.commit,
            "tool": manifest.tool,
            "files": sorted(manifest.files),
            "left_out": list(manifest.left_out),
        },
    )
    return 0


def _counts_as_source(path: Path, project: Project) -> bool:
    """Whether git would take an archive for a new file of the project."""
    from reprokit.capture.git_history import files_of, top_of
    from reprokit.errors import ReprokitError

    try:
        return path.resolve().relative_to(top_of(project.root)).as_posix() in files_of(project.root)
    except (ReprokitError, ValueError):
        return False  # in no repository, or outside the project


def _line_for(made: WrittenBundle) -> str:
    from reprokit.reports import one_line

    line = f"reprokit reproduce {one_line(made.path.name)} --sha256 {made.sha256}"
    return f"{line} --backend local" if made.is_unpinned else line


def _to_type(command: str, *, title: str = "To reproduce it:") -> list[str]:
    """The reviewer's line; a terminal gets it below its title, so that it can be broken and copied."""
    return [title, f"  {command}"] if sys.stdout.isatty() else [f"{title} {command}"]
