"""The recorded runs and diagnosis, made by `benchmarks/demo_data.py`: their verdict, screens and pages."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from reprokit import extras, harness, reports, workspace
from reprokit.cli.program_name import as_called
from reprokit.core.checklist import Report
from reprokit.core.comparing.difference import Divergence
from reprokit.diagnosis import Cause
from reprokit.harness.diagnosing import Diagnosis
from reprokit.harness.diagnosing.diagnosis import RuledOut, Tap, Tried
from reprokit.harness.diagnosing.odds import Odds
from reprokit.project import Project
from reprokit.reports import one_line
from reprokit.reports.formats import to_html, to_json
from reprokit.reports.pages import diagnosis_page
from reprokit.reports.terminal import diagnosis_screen, terminal_style
from reprokit.request import Request

PAGE = "diagnosis.html"
_DATA = Path(__file__).resolve().parent / "recorded"
_SUBJECT = "python fit.py --seed {seed} --logdir {run_dir}"
_LISTS = {"causes": Cause, "ruled_out": RuledOut, "not_varied": RuledOut, "taps": Tap, "tried": Tried}
_TEXTS = ("known", "limits", "replay", "next")


def has_pages() -> bool:
    """Whether pages can be drawn here."""
    return extras.is_installed("jinja2")


def report() -> Report:
    """The report on the recorded runs, judged now."""
    folders = sorted(path.parent for path in _DATA.glob("runs/*/*/run.json"))
    found = harness.judge_again(folders, Request(), project=Project.around(_DATA))
    return replace(found, runs=tuple(str(folder.relative_to(_DATA)) for folder in folders))


def report_data() -> Any:
    """That report, as ``report.json`` has it."""
    return json.loads(to_json.to_json(report()))


def diagnosis(folder: Path) -> Diagnosis:
    """The recorded answer of `reprokit diagnose`, whose page lies in this folder."""
    found = json.loads((_DATA / "diagnosis.json").read_text(encoding="utf-8"))
    lists: dict[str, Any] = {
        name: tuple(_made(kind, one) for one in found[name]) for name, kind in _LISTS.items()
    }
    texts: dict[str, Any] = {name: tuple(found[name]) for name in _TEXTS}
    odds = found["odds"]
    return Diagnosis(
        verdict=found["verdict"],
        divergence=_made(Divergence, found["divergence"]),
        odds=_made(Odds, {**odds, "equal": odds["pairs"] - odds["differ"]}),
        runs=found["runs"],
        folder=folder,
        **lists,
        **texts,
    )


def _made(kind: Any, data: Mapping[str, Any]) -> Any:
    return kind(**{field.name: data[field.name] for field in fields(kind) if field.name in data})


def diagnosis_text(pages: Path | None) -> str:
    """That answer as `reprokit diagnose` prints it here; its folder is named where its page is written."""
    root, style = Path.cwd(), terminal_style.style_of(sys.stdout, environ=os.environ)
    found = diagnosis(pages or Path())
    again = [as_called(line) for line in found.replay]
    if style.is_terminal and pages is not None:
        return diagnosis_screen.draw(found, subject=_SUBJECT, root=root, again=again, style=style)
    *lines, _kept, line = diagnosis_page.first_lines(found, again=again, root=root)
    if pages is not None and has_pages():
        lines.append(f"Page: {one_line(pages / PAGE)}")
    return terminal_style.writable("".join(f"{text}\n" for text in [*lines, f"Again: {line}"]), style=style)


def write_pages(folder: Path) -> None:
    """The files of the report, and the page of the diagnosis where Jinja draws one."""
    reports.render_all(report(), folder)
    found = diagnosis(folder)
    data = {**found.as_data(), "folder": "."}
    workspace.write_json(folder / "diagnosis.json", data)
    if has_pages():
        sentence = diagnosis_page.headline(found, root=Path.cwd())
        text = to_html.diagnosis_to_html(data, subject=_SUBJECT, sentence=sentence)
        workspace.write_atomic(folder / PAGE, text.encode("utf-8"))
