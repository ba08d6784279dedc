"""``reprokit report comment``: one comment on a pull request, from what a gate left."""

from __future__ import annotations

from pathlib import Path

import click

from reprokit.cli.help_pages import Command
from reprokit.cli.options import examples, json_option
from reprokit.cli.output import print_json

_EXISTING = click.Path(exists=True, path_type=Path)


@click.command(
    "comment",
    cls=Command,
    epilog=examples(
        "reprokit report comment reports    # with gate.json of verify --gate-file",
        'reprokit report comment --workflow-run "$GITHUB_EVENT_PATH"',
    ),
)
@click.argument("place", required=False, type=_EXISTING, metavar="[FOLDER | FILE.zip]")
@click.option(
    "--workflow-run",
    "event",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="EVENT.json",
    help="Write it on GitHub, from what the workflow run of this event left.",
)
@click.option("--artifact", default="reprokit", show_default=True, help="With --workflow-run: its artifact.")
@click.option(
    "--author",
    default="github-actions[bot]",
    show_default=True,
    help="With --workflow-run: whose comment it is; no one else's is changed.",
)
@json_option("Print the text, or what was written where, as a JSON object.")
def comment(place: Path | None, event: Path | None, artifact: str, author: str, as_json: bool) -> int:
    """Say in one comment on a pull request what a gate answered: verdicts, first divergences, causes.

    The reports are read strictly and never unpacked, and all their text is escaped, so that those of a
    stranger's pull request can be read. With --workflow-run, GITHUB_TOKEN must be allowed to read actions
    and to write on pull requests; which one is meant follows from the event alone, and the
    comment on an earlier commit is replaced.

    Exit codes: 0 written, whatever the verdicts; 2 the reports were refused; 3 GitHub did not answer;
    4 reports are missing.
    """
    if event is not None and place is None:
        return _comment_on_github(event, artifact=artifact, author=author, as_json=as_json)
    if place is None or event is not None:
        raise click.UsageError("name a folder, a ZIP file, or --workflow-run EVENT.json")
    from reprokit.features.github.collected import from_place
    from reprokit.features.github.pull_request_comment import comment as text_of

    text = text_of(from_place(place))
    if as_json:
        print_json({"markdown": text})
    else:
        click.echo(text, nl=False)
    return 0


def _comment_on_github(event: Path, *, artifact: str, author: str, as_json: bool) -> int:
    import dataclasses
    import os

    from reprokit.features.github.comment_on_run import comment_on_run

    posted = comment_on_run(
        event,
        api_url=os.environ.get("GITHUB_API_URL", "https://api.github.com"),
        server_url=os.environ.get("GITHUB_SERVER_URL", "https://github.com"),
        token=os.environ.get("GITHUB_TOKEN", ""),
        artifact=artifact,
        author=author,
    )
    if as_json:
        print_json(dataclasses.asdict(posted))
    else:
        for url in posted.urls:
            click.echo(url)
    if posted.nothing:
        click.echo(f"No comment was written: {posted.nothing}.", err=True)
    if posted.problem:
        click.echo(f"The comment says that nothing is known: {posted.problem}", err=True)
    return posted.exit_code
