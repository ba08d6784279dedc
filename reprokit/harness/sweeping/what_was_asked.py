"""What a sweep is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepAsked:
    """Which members a sweep has, and where they are run.

    Attributes:
        names: Recipes.
        seeds: As ``parse_seeds`` reads them; None for those that each recipe declares.
        settings: ``path=value,value``; the members are every combination of the values.
        arguments: Words that are added to the commands of the recipes, each text a setting of its own.
        jobs: How many members at one time; None for about as many as there are cores, one on an accelerator.
        on: Where runs are made: ``local``, or an engine of the feature ``machines``.
        place_settings: What is to be passed to that engine.
    """

    names: Sequence[str]
    seeds: str | None = None
    settings: Sequence[str] = ()
    arguments: Sequence[str] = ()
    jobs: int | None = None
    on: str = LOCAL
    place_settings: Mapping[str, str] | None = None
