"""`reprokit doctor`: one screen, one exit code."""

import json

import pytest

from reprokit.cli import main
from reprokit.features.doctor import findings as judged
from reprokit.features.doctor import host_facts
from reprokit.features.doctor.finding import FindingState, HostFinding

FINE = HostFinding(name="git", state=FindingState.OK, detail="/usr/bin/git")
LACK = HostFinding(
    name="cache", state=FindingState.LACK, detail="read-only", fix="export X=1", notes=("a note",)
)


@pytest.fixture
def finds(monkeypatch):
    def use(*findings):
        monkeypatch.setattr(host_facts, "look", lambda _folder: None)
        monkeypatch.setattr(judged, "examine", lambda _seen: findings)

    return use


def reprokit(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *arguments])
    return ended.value.code


def test_a_ready_host_ends_in_0(finds, capsys):
    finds(FINE)
    assert reprokit() == 0
    assert capsys.readouterr().out == "Ready.\nok       git\n"


def test_a_lack_ends_in_3_and_stands_first_with_its_fix_below_it(finds, capsys):
    finds(FINE, LACK)
    assert reprokit() == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Not ready: see cache."
    assert lines[1].split() == ["lack", "cache", "read-only"]
    assert [line.strip() for line in lines[2:4]] == ["a note", "→ export X=1"]
    assert lines[-1] == "ok       git"


def test_notes_are_counted_and_what_is_optional_is_named_unless_all_is_asked_for(finds, capsys):
    notes = tuple(f"CVE-{number}" for number in range(3))
    engine = HostFinding(name="engine", state=FindingState.WARNING, detail="old", fix="upgrade", notes=notes)
    gpu = HostFinding(name="GPU", state=FindingState.ABSENT, detail="none found")
    finds(FINE, gpu, engine)

    assert reprokit() == 0
    short = capsys.readouterr().out
    assert [line.split()[0] for line in short.splitlines()] == ["Ready.", "warning", "3", "→", "absent", "ok"]
    assert "CVE-1" not in short

    assert reprokit("-v") == 0
    whole = capsys.readouterr().out
    assert all(text in whole for text in (*notes, "none found", "/usr/bin/git", "→ upgrade"))


def test_json_holds_every_finding(finds, capsys):
    finds(FINE, LACK)
    assert reprokit("--json") == 3
    answer = json.loads(capsys.readouterr().out)
    assert answer["ready"] is False
    assert answer["findings"][1] == {
        "name": "cache",
        "state": "lack",
        "detail": "read-only",
        "fix": "export X=1",
        "notes": ["a note"],
    }
