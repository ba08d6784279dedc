"""Variation ``locale``: Turkish, whose letters I are not English ones, or another that this system has.

One that gives what the program's own locale gives is none: where a system has no languages, ``C`` (ASCII)
stands against ``C.UTF-8``.
"""

from reprokit.variations import RunPlace, Variation

ORDER = 70
SAYS = "the locale"
#: The first that the system has and that differs is set: a program that asks for one that is not there ends.
_LOCALES = ("tr_TR.UTF-8", "de_DE.UTF-8", "en_US.UTF-8", "C.UTF-8", "C")


def vary(there: RunPlace) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(
        category="environment",
        fix="sort and format without the locale",
        start=("--locale", ",".join(_LOCALES)),
        shows={"LC_ALL": _LOCALES},
        differs=("locale",),
    )
