"""The loader that a resumed program went on with wrongly, by the first sample that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprokit.core.samples import WrongSample, continued, first_wrong_sample
from reprokit.diagnosis import Cause, Trace
from reprokit.errors import CannotJudgeError

_PLACE = "save the place of its sampler, and the state of its generator, with the checkpoint"
_DRAWS = "save the state of the generator that its workers are seeded from with the checkpoint"


def wrong_sample(whole: Trace, resumed: Trace) -> Cause | None:
    """The loader whose samples are not the whole run's; None where none differ, or none were recorded.

    Raises:
        CannotJudgeError: A ledger is damaged.
    """
    ours, theirs = (one.facts.get("ledger") for one in (whole, resumed))
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        return None
    try:
        numbered = continued(ours["updates"], theirs["updates"], began_with=theirs["began_with"])
        found = None if numbered is None else first_wrong_sample(ours["updates"], numbered)
        return None if found is None else _cause(found, theirs["loaders"])
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        fix = "run it again; the program must not write into the folder of its trace"
        raise CannotJudgeError(
            "the ledger of samples is damaged", actual=str(error)[:120], fix=fix
        ) from error


def _cause(found: WrongSample, loaders: list[Mapping[str, Any]]) -> Cause:
    loader = loaders[int(found.ledger.partition("_")[2] or 1) - 1]
    kept = found.how != "content"
    why = "this loader does not go on where it stopped" if kept else "what this loader draws is not restored"
    return Cause(
        category="resume_state",
        file=loader["file"] or None,
        line=loader["line"] or None,
        function=loader["function"] or None,
        what=f"{why}: {found.told}",
        fix=_PLACE if kept else _DRAWS,
        confidence="medium",
    )
