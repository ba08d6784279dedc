"""What runs beside the training code, inside the environment that trains.

All of it is part of the numbers digest of every recipe. A trainer imports it and nothing else of reprokit;
building blocks of trainers are in ``recipes/parts/``, and count for those that import them.

    from reprokit.runtime.run import Run

    def train(config: Config, run: Run) -> None:
        run.seeding.seed_everything()
        ...

This file imports nothing, so that the parts without torch stay cheap to import.
"""

__all__: list[str] = []
