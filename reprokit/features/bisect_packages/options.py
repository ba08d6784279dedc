"""``reprokit bisect --packages``: the package that changed the numbers, in place of the commit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from reprokit.cli.extensions import Extension, Options
from reprokit.cli.help_pages import titled

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNITS: Mapping[str, int] = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]?)(?:iB|B)?", re.IGNORECASE)
_MOST = "20G"


class _Size(click.ParamType[int]):
    """A size on disk, such as 20G: bytes."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = _SIZE.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a size, such as 800M or 20G", param, ctx)
        return int(float(match[1]) * 2 ** _UNITS[match[2].upper()])


def _answered(options: Options) -> int | None:
    if not options["packages"]:
        if options["max_disk"] is not None:
            raise click.UsageError("--max-disk is for --packages")
        return None
    if options["good"] is None:
        raise click.UsageError("--packages needs --good: a lock, or the folder of a golden")
    import dataclasses

    from reprokit.cli import show_report
    from reprokit.cli.options import project_of, request_of
    from reprokit.cli.output import print_answer
    from reprokit.features.bisect_packages.bisect_packages import bisect_packages
    from reprokit.features.bisect_packages.page import page_lines
    from reprokit.session import Session

    request, project = request_of(dict(options)), project_of(dict(options))
    with show_report.progress() as progress:
        found = bisect_packages(
            options["recipe"],
            good=options["good"],
            bad=options["bad"],
            most_bytes=options["max_disk"] or _Size().convert(_MOST, None, None),
            request=request,
            ignore_rounding=options["ignore"] is not None,
            session=Session(project=project, progress=progress),
        )
    print_answer(page_lines(found), data=lambda: dataclasses.asdict(found), as_json=options["as_json"])
    return found.exit_code


EXTENSION = Extension(
    options=(
        titled(
            "Packages in place of commits",
            click.option(
                "--packages",
                is_flag=True,
                help="Find the package, and its release: --good and --bad are locks, or a golden. Without "
                "--bad it is today's lock.",
            ),
            click.option(
                "--max-disk",
                type=_Size(),
                metavar="SIZE",
                help=f"Disk for environments made by --packages  [default: {_MOST}].",
            ),
        ),
    ),
    answers=_answered,
)
