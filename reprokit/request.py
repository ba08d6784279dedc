"""What a person asked for, with the default of everything that they left out, for the command line too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: What ``backend`` and ``base`` may be.
BACKENDS = ("auto", "docker", "local")
BASES = ("auto", "registry", "bootstrap")
#: What ``stop_at`` may be next to numbers.
EVERY, MIDDLE = "every", "middle"
_NUMBERS = re.compile(r"[1-9][0-9]*(,[1-9][0-9]*)*")


def names_places(text: str) -> bool:
    """Whether the text says where to stop: ``every``, ``middle``, or numbers with commas between them."""
    return text in {EVERY, MIDDLE} or _NUMBERS.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person asked for, beyond the recipe's name.

    Attributes:
        seed: None for the recipe's first.
        backend: ``auto``, ``docker`` or ``local``.
        base: Which base an image is built on: ``auto``, ``registry`` or ``bootstrap``.
        repeats: How many runs with the one seed.
        overrides: ``path=value`` settings; ``platform=NAME`` is no change, but asks for those of a platform.
        ignore: Patterns of metrics to leave out (plain commands).
        outputs: Patterns of output files that count as metrics do (plain commands).
        strict: Advisory rows are required too.
        attribute: On a mismatch with the golden, find out whether code or environment is to blame.
        timeout_s: Limit for each run, seconds.
        side_by_side: False to run one after the other.
        command: The command line as typed, for the report.
        vary: Train once more under the variations that the recipe says it is immune to.
        same_under: Train once more with each thing that the recipe says must not matter.
        rounding: Where the golden is stale, find out whether its environment differs by more than rounding.
        diagnose: Where two runs differ, find out why.
        resume: Kill one more training on its way, resume it, and compare it with the first.
        stop_at: The step at which; ``every``, ``middle`` or ``5,17`` for several; None for one that is drawn
            from the seed.
        resume_from: A run or a checkpoint to continue from; None to start from the beginning.
        against_golden: Hold a plain command against the project's goldens.
        gate: Asked for by ``verify``, which the line that repeats it then names.
        statistical: Where equality does not decide, let the ensemble: run new seeds and compare them with it.
        watch_golden: Stop the runs where all of them have passed the first difference from the golden.
        stress: Disturb the runs, so that a rare difference shows sooner; nothing is passed then.
        profile_step: Profile, and look at the update that begins at or after this step; None for neither.
        exclusive: Refuse GPUs that another program computes on.
        sinks: Where metrics go to as well while the runs train: ``tensorboard``, ``wandb``.
    """

    seed: int | None = None
    backend: str = "auto"
    base: str = "auto"
    repeats: int = 2
    overrides: Sequence[str] = ()
    ignore: Sequence[str] = ()
    outputs: Sequence[str] = ()
    strict: bool = False
    attribute: bool = False
    timeout_s: float | None = None
    side_by_side: bool = True
    command: str = ""
    vary: bool = False
    same_under: bool = False
    rounding: bool = False
    diagnose: bool = False
    resume: bool = False
    stop_at: int | str | None = None
    resume_from: str | None = None
    against_golden: bool = False
    gate: bool = False
    statistical: bool = False
    watch_golden: bool = False
    stress: bool = False
    profile_step: int | None = None
    exclusive: bool = False
    sinks: Sequence[str] = ()

    def seed_of(self, seeds: Sequence[int]) -> int:
        """The seed of a run: the one asked for, else the first of the recipe's."""
        return seeds[0] if self.seed is None else self.seed
