"""What a report says of the code that changed since the golden."""

from __future__ import annotations

from reprokit.core.checklist import Verdict
from reprokit.reports.terminal.to_terminal import Style, to_terminal
from support.command_recipe import PROGRAM

UNSEEDED = PROGRAM.replace("random.seed(int(sys.argv[1]))\n", "")


def test_two_runs_that_differ_name_what_changed_since_the_golden(repository):
    repository.promote(repository.reproduce())
    (repository.root / "train.py").write_text(UNSEEDED)
    report = repository.reproduce()
    text = to_terminal(report, style=Style(width=100))
    assert report.verdict is Verdict.NONDETERMINISTIC
    assert [(file.path, file.removed) for file in report.code_changes.files] == [("train.py", 1)]
    assert "What changed" in text
    assert "random.seed(int(sys.argv[1]))" in text
    assert "commit what has changed" not in text


def test_two_runs_that_differ_of_the_golden_s_own_code_name_no_change(repository):
    repository.write(train_py=UNSEEDED)
    first = repository.reproduce()
    repository.write(train_py=PROGRAM)
    repository.promote(repository.reproduce())
    assert first.verdict is Verdict.NONDETERMINISTIC
    assert first.code_changes is None
