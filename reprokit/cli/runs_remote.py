"""``reprokit runs push`` and ``verify``: finished runs at a URL; and ``--copy-to`` of the verbs that run.

The network is used only where a URL was named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from reprokit.cli.options import examples, folder_options, project_of

_Function = TypeVar("_Function", bound=Callable[..., Any])


def copy_option(function: _Function) -> _Function:
    """``--copy-to``: where finished runs are copied."""
    return click.option(
        "--copy-to", metavar="URL", help="Copy finished runs there: gs://bucket/path, s3://…, file://…"
    )(function)


def must_be_reachable(url: str | None) -> None:
    """Refuse, before anything is trained, a URL that nothing could be copied to.

    Raises:
        UsageError: Nobody knows its protocol, or its package is not installed.
    """
    if url is not None:
        from reprokit.runs import remote

        remote.must_be_known(url)


def copied(folders: Sequence[str | Path], url: str | None) -> bool:
    """Copy finished runs and say where they are; False, with the reason told, where one did not arrive."""
    if url is None:
        return True
    from reprokit.cli.program_name import as_called
    from reprokit.errors import UploadError
    from reprokit.reports.escaping import one_line
    from reprokit.runs import remote

    for folder in folders:
        try:
            where = remote.push(Path(folder), url)
        except UploadError as error:
            click.echo(as_called(f"Error: not copied: {one_line(str(error), limit=2000)}"), err=True)
            return False
        click.echo(f"copied to {one_line(where, limit=2000)}", err=True)
    return True


@click.command(
    "push", epilog=examples("reprokit runs push 20261121T101500Z-3fa9-seed42-1 gs://bucket/experiments")
)
@click.argument("run")
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
def push(run: str, url: str, as_json: bool, **options: Any) -> int:
    """Copy a finished run to URL/RECIPE/RUN: every file read back, COMPLETE last. Its URL goes to stdout.

    Exit codes: 0 it is there, whole; 2 nobody knows the URL; 3 it is not complete, or did not arrive.
    """
    import json

    from reprokit import runs
    from reprokit.reports.escaping import one_line
    from reprokit.runs import remote

    folder = runs.find(project_of(options).runs_dir, run)
    where = remote.push(folder, url)
    told = json.dumps({"exit_code": 0, "run": str(folder), "url": where}, indent=2)
    click.echo(told if as_json else one_line(where, limit=2000))
    return 0


@click.command("verify", epilog=examples("reprokit runs verify gs://bucket/experiments/cartpole/RUN"))
@click.argument("run", metavar="RUN|URL")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
def verify(run: str, as_json: bool, **options: Any) -> int:
    """Hold every file of a run, here or at a URL, against its COMPLETE.

    Exit codes: 0 all are as it says; 1 one is not; 2 there is no finished run; 3 the storage failed.
    """
    import json

    from reprokit import runs
    from reprokit.reports.escaping import one_line
    from reprokit.runs import remote

    if remote.is_url(run):
        found = remote.verify(run)
    else:
        stored = runs.read(runs.find(project_of(options).runs_dir, run))
        problems = () if stored.complete else (stored.incomplete_because,)
        found = remote.RemoteRun(url=str(stored.path), num_files=len(stored.files), problems=problems)
    if as_json:
        told = {"run": found.url, "num_files": found.num_files, "problems": list(found.problems)}
        click.echo(json.dumps({"exit_code": 1 if found.problems else 0, **told}, indent=2))
    else:
        word = "not whole" if found.problems else "whole"
        click.echo(one_line(f"{word}: {found.url}: {found.num_files} files", limit=2000))
        for problem in found.problems:
            click.echo(f"  {one_line(problem, limit=2000)}")
    return 1 if found.problems else 0
