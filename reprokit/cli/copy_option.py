"""``--copy-to``: where the verbs that train copy their finished runs; no network is used without it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from reprokit.cli.help_pages import Title, titled

copy_option = titled(
    Title.WRITTEN,
    click.option(
        "--copy-to", metavar="URL", help="Copy finished runs there: gs://bucket/path, s3://…, file://…"
    ),
)


def must_be_reachable(url: str | None) -> None:
    """Raise `UsageError` for a URL that cannot be copied to, before anything is trained."""
    if url is not None:
        from reprokit.runs import remote

        remote.must_be_known(url)


def copied(folders: Sequence[str | Path], url: str | None) -> bool:
    """Copy finished runs and say where they are; False, with an error printed, if one could not be copied."""
    if url is None:
        return True
    from reprokit.cli.program_name import as_called
    from reprokit.errors import UploadError
    from reprokit.reports import one_line
    from reprokit.runs import remote

    for folder in folders:
        try:
            where = remote.push(Path(folder), url)
        except UploadError as error:
            click.echo(as_called(f"Error: not copied: {one_line(str(error), limit=2000)}"), err=True)
            return False
        click.echo(f"copied to {one_line(where, limit=2000)}", err=True)
    return True
