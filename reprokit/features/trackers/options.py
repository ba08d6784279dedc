"""``--sink``: where metrics go to as well, while runs train."""

from __future__ import annotations

import click

from reprokit.cli.extensions import Extension
from reprokit.cli.help_pages import Title, titled

SINKS = Extension(
    options=(
        titled(
            Title.WRITTEN,
            click.option(
                "--sink",
                "sinks",
                type=click.Choice(["tensorboard", "wandb"]),
                multiple=True,
                help="Also log metrics to TensorBoard or W&B (offline) while runs train, below runs/.sinks.",
            ),
        ),
    ),
)
