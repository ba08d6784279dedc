"""What an extension says that it brings; the modules that it names are imported when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reprokit.feature import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What one extension brings, each by a name that no built-in has; where it is: ``module:name``.

    Attributes:
        verbs: Name → verb, whose ``command`` says where its click command is.
        log_formats: Name → a ``LogFormat``.
        rows: Name → a ``Row``.
        variations: Name → a ``NamedVariation``.
        places: Name → a function ``open_place(settings, *, folder)`` that returns a ``Place``.
        sections: Name → a ``Section`` of reports.
        causes: Name → a ``NamedCause`` for ``diagnose``.

    >>> Extension(rows={"one_place": "pbs_queue.row:ROW"}).rows["one_place"]
    'pbs_queue.row:ROW'
    """

    verbs: Mapping[str, Verb] = field(default_factory=dict)
    log_formats: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    variations: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)


#: The kinds, as the attributes are called, and what one of each is called in messages.
KINDS = {
    "verbs": "verb",
    "log_formats": "log format",
    "rows": "row",
    "variations": "variation",
    "places": "place",
    "sections": "report section",
    "causes": "cause",
}
