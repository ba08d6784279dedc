"""``reprokit pbs-nodes``: the nodes that can run jobs."""

from pathlib import Path

import click

from pbs_queue.place import open_place


@click.command("pbs-nodes", epilog="Example: reprokit pbs-nodes")
def command() -> int:
    """List the nodes of the PBS cluster that can run jobs, one a line."""
    for name in open_place({}, folder=Path.cwd()).machines():
        click.echo(name)
    return 0
