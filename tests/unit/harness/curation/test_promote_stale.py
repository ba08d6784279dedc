"""Every golden that another environment made stale, promoted in one go: all of them, or none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reprokit import golden
from reprokit.cli import main
from reprokit.errors import GoldenError, UsageError
from reprokit.golden import Promotion, replace_folders
from reprokit.harness import Request, reproduce
from reprokit.harness.curation import promote_stale
from reprokit.harness.running import start_runs
from reprokit.project import Project
from reprokit.reports.pages import golden_diff
from reprokit.session import Session
from support.command_recipe import PROGRAM, RECIPE
from support.recorded_progress import RecordedProgress

NAMES = ("train", "other")
NOW = "2026-02-02T00:00:00+00:00"


@pytest.fixture
def moved(repository, monkeypatch, inside, tmp_path):
    """Two recipes with goldens, both run again after a library moved that changes what they start from."""
    library = tmp_path / "library"
    library.write_text("1.0")
    program = PROGRAM.replace("value = 1.0", f"value = float(open({str(library)!r}).read())")
    other = RECIPE.replace("name: train", "name: other").replace("train.py", "other.py")
    repository.write(train_py=program, other_py=program, recipes__other__recipe_yaml=other)
    for name in NAMES:
        repository.promote(judged(repository, name))
    library.write_text("2.0")
    there = {**inside, "device": {"kind": "cpu"}}
    there["packages"] = {**inside["packages"], "numpy": "99.1"}
    monkeypatch.setattr(start_runs, "inside_of", lambda spec, *, backend: there)
    return repository


def judged(repository, name):
    request = Request(backend="local", side_by_side=False)
    return reproduce(
        name, request, session=Session(project=Project.around(repository.root), progress=RecordedProgress())
    )[0]


def stale(repository, **how):
    return promote_stale(
        Project.around(repository.root), promotion=Promotion(reason="numpy 99.1", created_at=NOW), **how
    )


def goldens(repository):
    files = sorted(repository.root.glob("golden/**/*"))
    return {str(file.relative_to(repository.root)): file.read_bytes() for file in files if file.is_file()}


def test_all_that_are_stale_are_promoted_with_one_reason(moved):
    before = goldens(moved)
    assert [judged(moved, name).verdict for name in NAMES] == ["STALE_GOLDEN"] * 2
    found = stale(moved)
    assert (len(found.moved), found.left, found.written) == (2, (), True)
    assert {one.new.recipe for one in found.moved} == set(NAMES)
    assert all(one.follows and one.new.reason == "numpy 99.1" for one in found.moved)
    after = goldens(moved)
    assert after.keys() == before.keys()
    assert all(after[name] != before[name] for name in before)
    moved.commit()
    assert [judged(moved, name).verdict for name in NAMES] == ["REPRODUCED"] * 2


def test_one_table_says_what_moved_and_by_how_much(moved):
    for name in NAMES:
        judged(moved, name)
    before = goldens(moved)
    found = stale(moved, write=False)
    assert goldens(moved) == before
    head, *rows = golden_diff.stale_lines(found)
    assert head.split("  ")[0] == "golden"
    assert len(rows) == 2
    assert [row.split()[:4] for row in rows] == [
        [f"{name}/cpu-x86_64/seed-3", "1", "of", "1"] for name in sorted(NAMES)
    ], rows
    assert all("inside.packages.numpy" in row for row in rows)
    told = golden_diff.stale_data(found)
    assert (told["promoted"], len(told["goldens"])) == (False, 2)


def test_of_a_recipe_whose_code_changed_too_nothing_is_promoted_at_all(moved):
    judged(moved, "train")
    moved.write(other_py=(moved.root / "other.py").read_text().replace("RATE *", "2 * RATE *"))
    judged(moved, "other")
    before = goldens(moved)
    with pytest.raises(GoldenError, match=r"no golden was promoted.*other/cpu-x86_64/seed-3.*changed too"):
        stale(moved)
    assert goldens(moved) == before


def test_a_regression_refuses_the_rest(moved, monkeypatch, inside):
    judged(moved, "train")
    there = {**inside, "device": {"kind": "cpu"}}
    monkeypatch.setattr(start_runs, "inside_of", lambda spec, *, backend: there)
    assert judged(moved, "other").verdict == "REGRESSION"
    before = goldens(moved)
    with pytest.raises(GoldenError, match=r"no golden was promoted.*other.*REGRESSION"):
        stale(moved)
    assert goldens(moved) == before


@pytest.mark.slow
def test_runs_that_disagree_or_were_not_made_again_since_the_code_changed_refuse_the_rest(moved):
    judged(moved, "train")
    moved.write(other_py=(moved.root / "other.py").read_text() + "# changed\n")
    with pytest.raises(GoldenError, match="its newest runs are of another program"):
        stale(moved)
    moved.write(other_py="import random\n" + PROGRAM.replace("random.seed(int(sys.argv[1]))", ""))
    assert judged(moved, "other").verdict == "NONDETERMINISTIC"
    before = goldens(moved)
    with pytest.raises(GoldenError, match=r"other.*NONDETERMINISTIC"):
        stale(moved)
    assert goldens(moved) == before


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("outcome", "why"),
    [("stopped_at_golden", "it was stopped at the golden"), ("program_failed", "newest run .* has no end")],
)
def test_newer_runs_without_an_end_refuse_the_rest(moved, outcome, why):
    judged(moved, "train")
    [old, _] = sorted((moved.root / "runs/other").glob("*-seed3-*"))[:2]
    newer = old.with_name("99990101T000000Z-0000-seed3-1")
    shutil.copytree(old, newer)
    (newer / "COMPLETE").unlink()
    record = json.loads((newer / "run.json").read_text())
    (newer / "run.json").write_text(json.dumps({**record, "run_id": newer.name, "outcome": outcome}))
    before = goldens(moved)
    with pytest.raises(GoldenError, match=rf"no golden was promoted.*other/cpu-x86_64/seed-3.*{why}"):
        stale(moved)
    assert goldens(moved) == before


def test_a_golden_whose_environment_is_still_the_same_stays(moved):
    judged(moved, "train")
    found = stale(moved)
    assert [one.new.recipe for one in found.moved] == ["train"]
    assert found.left == (("other/cpu-x86_64/seed-3", "the environment of its newest runs is the golden's"),)
    assert [one.new.recipe for one in stale(moved, names=["other"]).moved] == []
    with pytest.raises(UsageError, match="no golden of nowhere"):
        stale(moved, names=["nowhere"])


def test_the_verb_prints_the_table_and_takes_no_runs(moved, capsys, monkeypatch):
    monkeypatch.chdir(moved.root)
    for name in NAMES:
        judged(moved, name)
    words = ["golden", "promote", "--stale", "--reason", "numpy 99.1"]
    codes = []
    for more in (["--dry-run"], [], ["--seed", "3"]):
        with pytest.raises(SystemExit) as ended:
            main([*words, *more])
        codes.append(int(ended.value.code or 0))
    said = capsys.readouterr()
    assert codes == [0, 0, 2]
    assert "Nothing was written." in said.err
    assert "2 promoted. Commit them together." in said.err
    assert said.out.count("train/cpu-x86_64/seed-3") == 2
    assert (
        json.loads((moved.root / "golden/train/cpu-x86_64/seed-3/provenance.json").read_text())["reason"]
        == "numpy 99.1"
    )


def test_folders_are_replaced_together_or_not_at_all(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").touch()
    (tmp_path / "fresh-a").mkdir()
    pairs = [(tmp_path / "fresh-a", tmp_path / "a"), (tmp_path / "not-there", tmp_path / "b")]
    with pytest.raises(OSError, match="not-there"):
        replace_folders(pairs)
    assert (tmp_path / "a" / "old").is_file()
    assert (tmp_path / "b" / "old").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert golden.replace_folders is replace_folders
