"""What runs beside the training code, inside the environment that trains.

It knows seeds, random states, records, checkpoints and digests; it refuses to know recipes, goldens
and verdicts. A trainer imports it and nothing else of reprokit.

    from reprokit.runtime.run import Run

    def train(config: Config, run: Run) -> None:
        run.seeding.seed_everything()
        ...

This file imports nothing, so that the parts without torch stay cheap to import.
"""
