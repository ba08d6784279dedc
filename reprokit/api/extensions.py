"""What an extension is written with: its declaration, and the records of each kind.

    >>> from reprokit.api.extensions import Extension, Verb
    >>> EXTENSION = Extension(verbs={"queue": Verb(command="pbs_queue.verb:command", help="Show the queue.")})

Each name is imported when it is used: a declaration alone costs the command line nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reprokit.adapters.of_extensions import LogFormat
    from reprokit.adapters.reading import Reading
    from reprokit.core.extension_record import SectionTable
    from reprokit.core.verdicts.rows import Finding, failed, passed, skipped, unjudged
    from reprokit.extensions.causes import NamedCause, Proposal
    from reprokit.extensions.declaration import Extension
    from reprokit.extensions.rows import JudgedRuns, Row
    from reprokit.extensions.sections import Section, SectionContent
    from reprokit.feature import Verb
    from reprokit.features.machines.place import Task, TaskState, TaskStatus
    from reprokit.variations.of_extensions import NamedVariation
    from reprokit.variations.variation import RunPlace, Variation, VariationNotMade

_HOMES = {
    "reprokit.adapters.of_extensions": "LogFormat",
    "reprokit.adapters.reading": "Reading",
    "reprokit.core.extension_record": "SectionTable",
    "reprokit.core.verdicts.rows": "Finding failed passed skipped unjudged",
    "reprokit.extensions.causes": "NamedCause Proposal",
    "reprokit.extensions.declaration": "Extension",
    "reprokit.extensions.rows": "JudgedRuns Row",
    "reprokit.extensions.sections": "Section SectionContent",
    "reprokit.feature": "Verb",
    "reprokit.features.machines.place": "Task TaskState TaskStatus",
    "reprokit.variations.of_extensions": "NamedVariation",
    "reprokit.variations.variation": "RunPlace Variation VariationNotMade",
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Extension",
    "Finding",
    "JudgedRuns",
    "LogFormat",
    "NamedCause",
    "NamedVariation",
    "Proposal",
    "Reading",
    "Row",
    "RunPlace",
    "Section",
    "SectionContent",
    "SectionTable",
    "Task",
    "TaskState",
    "TaskStatus",
    "Variation",
    "VariationNotMade",
    "Verb",
    "failed",
    "passed",
    "skipped",
    "unjudged",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
