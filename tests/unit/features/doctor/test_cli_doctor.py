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
    assert capsys.readouterr().out.endswith("\nReady.\n")


def test_a_lack_ends_in_3_with_its_fix_below_it(finds, capsys):
    finds(FINE, LACK)
    assert reprokit() == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["ok", "git", "/usr/bin/git"]
    assert lines[1].split() == ["lack", "cache", "read-only"]
    assert [line.strip() for line in lines[2:4]] == ["a note", "→ export X=1"]
    assert lines[-1] == "Not ready: see the lines marked lack."


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
