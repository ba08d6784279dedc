"""What a feature brings: its verbs, its parts of other verbs, and what it adds to their answers.

A feature is a folder below ``reprokit/features``; its module ``declaration`` says what it brings and imports
nothing else of it. The rest of the package asks here what there is and never imports a feature. Where the
folder of a feature is missing, its verbs and options are unknown words.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

#: All that there are. A clash of two verbs or options is an error as soon as one of them is typed.
FEATURES = (
    "bisect",
    "bisect_packages",
    "bundles",
    "checkpoints",
    "compare",
    "demo",
    "doctor",
    "github",
    "init",
    "kubernetes",
    "learning",
    "locking",
    "machines",
    "numerics",
    "rebuild",
    "selftest",
    "signing",
    "statement",
    "sweeps",
    "tables",
    "trackers",
    "tune",
)

#: Variable with a commit, whose list of extensions counts: what ``verify --extensions-from`` is for one verb.
EXTENSIONS_FROM = "REPROKIT_EXTENSIONS_FROM"


class Heading(StrEnum):
    """What verbs stand under in the list of verbs, in this order."""

    START = "Start"
    RESULTS = "Results"
    MANY_RUNS = "Many runs"
    ENVIRONMENT = "Environment"
    EXTENSIONS = "Extensions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A verb that a feature brings.

    Attributes:
        command: Where its click command is: ``module:name``.
        help: One line, for the list of verbs; repeated here so that listing imports no verb.
        heading: What it stands under in that list; None: it is not listed.
        now: What is typed for it now, where this is its old name: ``runs learning``.

    >>> Verb(command="pbs_queue.verb:command", help="List the nodes.").help
    'List the nodes.'
    """

    command: str
    help: str
    heading: Heading | None = None
    now: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One feature.

    Attributes:
        name: That of its folder.
        verbs: Name → verb.
        subverbs: Group of verbs, such as ``report`` → name → ``module:name`` of the click command.
        extends: Verb → ``module:name`` of the ``Extension`` for it.
        offers: What it does for other features, by a name: ``module:name`` of the function.
    """

    name: str
    verbs: Mapping[str, Verb] = field(default_factory=dict)
    subverbs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    extends: Mapping[str, str] = field(default_factory=dict)
    offers: Mapping[str, str] = field(default_factory=dict)


def features() -> Iterator[Feature]:
    """Every feature that is installed, in the order of the list."""
    for name in FEATURES:
        package = f"reprokit.features.{name}"
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:  # None: a folder in which only byte-code was left
            found: Feature = importlib.import_module(f"{package}.declaration").FEATURE
            yield found


def offered(name: str) -> Any | None:
    """What a feature does for others under this name; None where none that is installed does."""
    places = (feature.offers[name] for feature in features() if name in feature.offers)
    return next(map(load, places), None)


def load(place: str) -> Any:
    """What ``module:name`` names."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
