"""The loader that a resumed program continued with wrongly, by the first sample that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reprokit.core.comparing.difference import Divergence
from reprokit.core.sampling.resumed_ledger import continued
from reprokit.core.sampling.samples import WrongSample, first_wrong_sample, number_of
from reprokit.diagnosis import Cause, HookTrace
from reprokit.errors import CannotJudgeError

_PLACE = "save the place of its sampler, and the state of its generator, with the checkpoint"
_DRAWS = "save the state of the generator that its workers are seeded from with the checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongLoader:
    """A loader whose samples are not the whole run's.

    Attributes:
        divergence: The first update that trained on another sample, for where no metric shows it.
    """

    cause: Cause
    divergence: Divergence


def wrong_loader(whole: HookTrace, resumed: HookTrace, *, again: HookTrace) -> WrongLoader | None:
    """The loader whose samples are not the whole run's; None where none differ, or none were recorded.

    ``again`` is the whole run once more: what differs there already was not lost by resuming.

    Raises:
        CannotJudgeError: A ledger is damaged.
    """
    ledgers = [one.facts.get("ledger") for one in (whole, resumed, again)]
    ours, theirs, twice = (ledger if isinstance(ledger, Mapping) else {} for ledger in ledgers)
    if not (ours and theirs and twice):
        return None
    try:
        if first_wrong_sample(ours["updates"], twice["updates"]):
            return None
        loaders = ours["loaders"], theirs["loaders"]
        began = theirs["began_with"]
        numbered = continued(ours["updates"], theirs["updates"], began_with=began, loaders=loaders)
        found = None if numbered is None else first_wrong_sample(ours["updates"], numbered)
        if found is None:
            return None
        return WrongLoader(cause=_cause(found, theirs["loaders"]), divergence=_divergence(found))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        fix = "run it again; the program must not write into the folder of its trace"
        raise CannotJudgeError(
            "the ledger of samples is damaged", actual=str(error)[:120], fix=fix
        ) from error


def _divergence(found: WrongSample) -> Divergence:
    return Divergence(
        record=found.update - 1,
        step=found.step or found.update,
        metric=f"the samples of update {found.update:,}",
        expected=found.expected,
        actual=found.actual,
        what=found.told,
    )


def _cause(found: WrongSample, loaders: list[Mapping[str, Any]]) -> Cause:
    loader = loaders[number_of(found.ledger)]
    kept = found.how != "content"
    why = (
        "this loader does not continue where it stopped" if kept else "what this loader draws is not restored"
    )
    return Cause(
        category="resume_state",
        file=loader["file"] or None,
        line=loader["line"] or None,
        function=loader["function"] or None,
        what=f"{why}: {found.told}",
        fix=_PLACE if kept else _DRAWS,
        confidence="medium",
    )
