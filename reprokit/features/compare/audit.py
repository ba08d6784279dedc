"""Whether the report of a comparison follows from its run folders, and whether anything was changed since."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import extras
from reprokit.errors import ReprokitError
from reprokit.features.compare.answer import NOT_RUN, SIDES, Answer, StoredAnswer, load
from reprokit.features.compare.judge import Selected
from reprokit.features.compare.judge_seeds import answer_on
from reprokit.features.compare.report import HTML, NO_PAGE, documents
from reprokit.features.compare.rounding.decide import with_rounding
from reprokit.features.compare.rounding.made_twins import MadeTwins, rounding_folders
from reprokit.features.compare.rounding.of_checkpoint import with_checkpoint
from reprokit.harness.judging.build_report import evidence_digests
from reprokit.harness.which_tool import AuditDifference, this_tool, version_of

_NO_TOOL = "it does not say which version of reprokit made it, so its words cannot be checked"
#: What no version of the tool may say differently.
_NUMBERS = {"answer", "exit_code", "first", "metrics", "sides"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What came of it.

    Attributes:
        follows: The answer follows from the evidence, and no file was touched.
        findings: One sentence for each thing that is not as the report says.
        exit_code: That of the answer; 1 where it does not follow, 4 where the evidence is gone.
        answer: What the report says; None where a side did not run.
        not_checked: What another version of the tool said or drew differently: one sentence for each.
        made_by: That version, in words; "" where this one made the report.
        compared: Which metrics alone were compared, or left out: a sentence each; none for all.
    """

    follows: bool
    findings: tuple[str, ...]
    exit_code: int
    answer: str | None
    not_checked: tuple[str, ...] = ()
    made_by: str = ""
    compared: tuple[str, ...] = ()


def audit(file: Path) -> Audit:
    """Check ``compare.json`` against the run folders that it names.

    Raises:
        ReportError: It is no comparison.
        MissingExtraError: Its page cannot be drawn again, as Jinja is not installed.
    """
    stored = load(file)
    told = stored.answer.get("answer")
    folders = {name: [Path(run) for run in stored.answer["sides"][name]["runs"]] for name in SIDES}
    twins = list(rounding_folders(stored.answer.get("rounding")))
    every = [folder for name in SIDES for folder in folders[name]] + twins
    if gone := tuple(f"{folder} is gone" for folder in every if not folder.exists()):
        return Audit(follows=False, findings=gone, exit_code=4, answer=told)
    different = tuple(_differences(stored, folders, file))
    is_ours = stored.tool == this_tool()
    findings = tuple(one.says for one in different if is_ours or not one.by_version)
    if not isinstance(stored.tool, Mapping) or not stored.tool.get("version"):
        findings = (_NO_TOOL, *findings)
    code = stored.answer.get("exit_code")
    ended = code if isinstance(code, int) else NOT_RUN
    return Audit(
        follows=not findings,
        findings=findings,
        exit_code=1 if findings else ended,
        answer=told,
        not_checked=tuple(one.says for one in different if one.by_version and not is_ours),
        made_by="" if is_ours else version_of(stored.tool),
        compared=tuple(_compared(stored)),
    )


def _compared(stored: StoredAnswer) -> Iterator[str]:
    """What a reader must know whatever the answer is: a report can be asked for of what is equal alone."""
    if stored.only is not None:
        yield f"Only these metrics were compared: {', '.join(stored.only)}"
    if stored.ignore:
        yield f"These metrics were left out: {', '.join(stored.ignore)}"


def _differences(
    stored: StoredAnswer, folders: dict[str, list[Path]], file: Path
) -> Iterator[AuditDifference]:
    twins = rounding_folders(stored.answer.get("rounding"))
    today = evidence_digests([*(folder for name in SIDES for folder in folders[name]), *twins], None)
    for path in sorted({*today, *stored.evidence}):
        if today.get(path) != stored.evidence.get(path):
            yield AuditDifference(f"{path} was changed after the report")
    try:
        again = _plain(_judged_again(stored, folders).as_data())
        drawn = documents(stored)
    except (ReprokitError, KeyError, TypeError, ValueError) as error:
        yield AuditDifference(f"the evidence cannot be judged: {error}")
        return
    for key in sorted({*again, *stored.answer}):
        if again.get(key) != stored.answer.get(key):
            words = key not in _NUMBERS or key not in again or key not in stored.answer
            yield AuditDifference(f"{key} differs from what the evidence gives", by_version=words)
    for name, text in drawn.items():
        page = file.parent / name
        stored_page = page.read_bytes() if page.is_file() else b""
        if name == HTML and stored_page == NO_PAGE.encode("utf-8"):
            continue  # written where Jinja was not installed
        if name == HTML and stored_page:
            extras.must_have("jinja2")
        if stored_page != text.encode("utf-8"):
            says = f"{page} differs from what compare.json gives"
            yield AuditDifference(says, by_version=bool(stored_page))


def _judged_again(stored: StoredAnswer, folders: dict[str, list[Path]]) -> Answer:
    selected = Selected(ignore=stored.ignore, only=stored.only)
    over_seeds = stored.over_seeds is True
    answer = answer_on(folders, selected=selected, asked=stored.asked, over_seeds=over_seeds)
    twins = MadeTwins.of_report(stored.answer.get("rounding"), selected)
    if twins is None:
        return answer
    return with_checkpoint(with_rounding(answer, folders, twins), folders, twins)


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """As it comes back from a file."""
    plain: dict[str, Any] = json.loads(json.dumps(data))
    return plain
