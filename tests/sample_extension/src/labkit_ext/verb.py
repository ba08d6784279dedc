"""``reprokit lab-last RUN``: the last record of a run, as the lab's log has it."""

from pathlib import Path

import click

from reprokit.api import read_run


@click.command("lab-last", epilog="Example: reprokit lab-last runs/train/RUN")
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
def command(run):
    """Print the last record of RUN."""
    *_, last = read_run(run).records()
    pairs = (f"{name}={value}" for name, value in last.items() if name != "step")
    click.echo(" ".join(["@step", str(last.get("step")), *pairs]))
    return 0
