"""Files of other runs and trees, told from a program's own."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from reprokit.core.records import Mount, OtherTree, RunSpec
from reprokit.execution import code_elsewhere, other_files
from reprokit.execution.other_runs import OtherRuns


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    for run in ("one", "two"):
        folder = tmp_path / "runs" / "train" / run
        (folder / "output").mkdir(parents=True)
        (folder / "run.json").write_text("{}")
        (folder / "log").write_text(run)
    return tmp_path / "runs"


def looking(runs_dir: Path, *, trees: tuple[str, ...] = (), since_ns: int | None = None) -> OtherRuns:
    return OtherRuns(
        trees=trees,
        runs=[str(runs_dir)],
        allowed=[str(runs_dir / "train" / "two")],
        since_ns=time.time_ns() if since_ns is None else since_ns,
    )


@pytest.mark.parametrize("since_ns", [None, 0], ids=["known before", "told by its path"])
def test_a_file_of_another_run_counts_and_one_of_the_run_itself_does_not(runs_dir, since_ns):
    others = looking(runs_dir, since_ns=since_ns)
    other = str(runs_dir / "train" / "one" / "log")
    assert others.opened(other) == ("read", other)
    assert others.opened(str(runs_dir / "train" / "two" / "log"))[1] == ""
    assert others.opened(str(runs_dir / "train" / "one"))[1] == ""
    assert others.opened(str(runs_dir / "train" / "one" / "gone"))[1] == ""


def test_a_hard_link_and_another_name_count_as_the_file_that_they_are(runs_dir):
    other, own = runs_dir / "train" / "one" / "log", runs_dir / "train" / "two" / "output"
    others = looking(runs_dir)
    (own / "link").symlink_to(other)
    os.link(other, own / "same")
    assert others.opened(str(own / "link"))[1] == others.opened(str(own / "same"))[1] == str(other)
    (other.parent / "run.json").unlink()
    other.rename(own / "moved")
    assert others.opened(str(own / "moved"))[1] == str(other)


def test_a_new_file_with_the_number_of_one_that_was_removed_does_not_count(runs_dir):
    other, own = runs_dir / "train" / "one" / "log", runs_dir / "train" / "two" / "log"
    others = looking(runs_dir)
    known = others._known.pop((other.stat().st_dev, other.stat().st_ino))
    others._known[own.stat().st_dev, own.stat().st_ino] = known
    other.unlink()
    os.utime(own, ns=(1, 1))
    assert others.opened(str(own))[1] == ""


def test_a_file_that_another_run_makes_meanwhile_counts(runs_dir):
    others = looking(runs_dir, since_ns=(runs_dir / "train" / "one" / "log").stat().st_ctime_ns)
    later = runs_dir / "train" / "one" / "output" / "later"
    later.write_text("1")
    assert others.opened(str(later))[1] == str(later)


def test_folders_that_no_run_of_the_tool_made_do_not_count(runs_dir):
    weights = runs_dir / "detect" / "exp1" / "weights" / "best.pt"
    laid = runs_dir / ".mounted-1" / "run" / "errors.py"
    for path in (weights, laid):
        path.parent.mkdir(parents=True)
        path.write_text("1")
    (laid.parent / "run.json").write_text("{}")
    for since_ns in (None, 0):
        others = looking(runs_dir, since_ns=since_ns)
        assert [others.opened(str(path))[1] for path in (weights, laid)] == ["", ""]


def test_a_file_counts_apart_that_was_changed_between_the_first_runs_start_and_this_ones(tmp_path, runs_dir):
    names = ["before", "left", "empty", "own", "train/two/of this run"]
    before, left, empty, own, allowed = (runs_dir / name for name in names)
    before.write_text("1")
    time.sleep(0.02)
    first = time.time()
    time.sleep(0.02)
    empty.touch()
    for path in (left, allowed):
        path.write_text("1")
    time.sleep(0.02)
    allowing = {"allowed": [str(allowed.parent)], "since_ns": time.time_ns()}
    others = OtherRuns(trees=(), runs=[str(runs_dir)], left_since=first, **allowing)
    time.sleep(0.02)
    own.write_text("1")
    assert others.opened(str(left)) == ("left", str(left))
    assert [others.opened(str(path)) for path in (before, empty, own, allowed)] == [("", "")] * 4
    assert OtherRuns(trees=(), runs=[str(runs_dir)], **allowing).opened(str(left)) == ("", "")


@pytest.mark.parametrize("how", ["mode", "name", "link"])
def test_such_a_file_counts_where_this_run_changes_all_but_its_content_before_it_reads_it(tmp_path, how):
    left, moved = tmp_path / "left", tmp_path / "moved"
    first = time.time() - 1
    left.write_text("0.25")
    time.sleep(0.02)
    others = OtherRuns(trees=(), runs=[], allowed=[], left_since=first, since_ns=time.time_ns())
    time.sleep(0.02)
    if how == "mode":
        left.chmod(0o600)
    elif how == "name":
        left.rename(moved).rename(left)
    else:
        os.link(left, moved)
    assert others.opened(str(left)) == ("left", str(left))


def test_such_a_file_counts_where_this_run_appends_to_it_before_it_reads_it(tmp_path):
    left, own = tmp_path / "left", tmp_path / "own"
    first = time.time() - 1
    left.write_text("0.25")
    time.sleep(0.02)
    others = OtherRuns(trees=(), runs=[], allowed=[], left_since=first, since_ns=time.time_ns())
    time.sleep(0.02)
    for path in (left, own):
        others.appended_to(str(path))
        with path.open("a") as stream:
            stream.write("0.5")
    assert others.opened(str(left)) == ("left", str(left))
    assert others.opened(str(own)) == ("", "")


def test_such_a_file_counts_whoever_owns_it_where_this_user_may_write_it(tmp_path, monkeypatch):
    left = tmp_path / "left"
    left.write_text("0.25")
    monkeypatch.setattr(os, "getuid", lambda: left.stat().st_uid + 1)
    since = {"left_since": time.time() - 1, "since_ns": time.time_ns() + 10**9}
    others = OtherRuns(trees=(), runs=[], allowed=[], **since)
    assert others.opened(str(left)) == ("left", str(left))
    monkeypatch.setattr(os, "access", lambda _path, _how: False)
    assert others.opened(str(left)) == ("", "")


def test_of_a_tree_every_file_counts_but_what_lies_with_its_runs_and_is_of_none(tmp_path, runs_dir):
    others = looking(runs_dir, trees=(str(tmp_path),))
    file, data = tmp_path / "settings.yaml", runs_dir / "data"
    for path in (file, data):
        path.write_text("1")
    assert (others.opened(str(file))[1], others.opened(str(data))[1]) == (str(file), "")


def test_where_folders_count_those_of_other_runs_and_trees_do_and_those_that_hold_what_was_left(
    tmp_path, runs_dir
):
    cache, script = tmp_path / "home" / "cache", tmp_path / "home"
    cache.mkdir(parents=True)
    left = [str(cache / "1.5"), str(script / "model")]
    about = {
        "trees": [str(tmp_path / "tree")],
        "runs": [str(runs_dir)],
        "allowed": [str(runs_dir / "train" / "two")],
        "since_ns": time.time_ns(),
        "written": {"files": left, "folders": [], "since": 0.0, "until": 0.0},
        "searched": [str(script)],
    }
    (tmp_path / "tree" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(cache)
    others = OtherRuns(**about, lists=True)
    counting = [runs_dir / "train" / "one", runs_dir / "train" / "one" / "output", cache]
    counting += [tmp_path / "tree", tmp_path / "tree" / "below"]
    assert [others.opened(str(path))[1] for path in counting] == list(map(str, counting))
    assert others.opened(str(tmp_path / "link")) == ("listed", str(cache))
    its_own = runs_dir / "train" / "two" / "output"
    for path in (runs_dir, runs_dir / "train", its_own, script, tmp_path):
        assert others.opened(str(path)) == ("", "")
    assert OtherRuns(**about).opened(str(cache)) == ("", "")


def test_a_cache_in_which_something_changed_meanwhile_counts_where_it_is_listed(tmp_path):
    cache = tmp_path / "cache" / "deep"
    cache.mkdir(parents=True)
    about = {"trees": [], "runs": [], "allowed": [], "since_ns": 0, "lists": True}
    changed = cache.stat().st_ctime
    for since, until, expected in ((changed, changed + 1, str(cache)), (changed + 1, changed + 2, "")):
        folders = {"files": [], "folders": [str(tmp_path / "cache")], "since": since, "until": until}
        assert OtherRuns(**about, written=folders).opened(str(cache))[1] == expected


def test_a_folder_of_a_tree_counts_only_with_files_of_it_and_not_for_git(tmp_path):
    tree = OtherTree(root=str(tmp_path), files=frozenset({"settings/a/rate"}))
    for folder, expected in (("settings", True), ("settings/a", True), ("data", False), ("", True)):
        listed = os.path.normpath(tmp_path / folder)
        found = other_files.opened({"opened": [["listed", listed, "python"]], "unknown": ""}, tree)
        assert found == {"files": [f"{listed}/"] if expected else []}
        by_git = {"opened": [["listed", listed, "/usr/bin/git"]], "unknown": ""}
        assert other_files.opened(by_git, tree) == {"files": []}


def watched(runs_dir: Path, *command: str, **about: object) -> list[str]:
    spec = RunSpec(
        recipe="train",
        run_id="two",
        seed=0,
        device="cpu",
        command=command,
        working_dir=str(runs_dir.parent),
        other_tree=OtherTree.of_runs(runs_dir),
        **about,
    )
    found = other_files.watched_for(spec, run_dir=runs_dir / "train" / "two")
    assert found is not None
    return found["allowed"][1:]


def test_what_the_command_or_a_variable_names_of_a_single_run_is_declared(runs_dir):
    log = str(runs_dir / "train" / "one" / "log")
    assert watched(runs_dir, "train", log) == [log]
    assert watched(runs_dir, "train", "--from=runs/train/one/log") == [log]
    assert watched(runs_dir, "train", environment={"FROM": log}) == [log]
    assert watched(runs_dir, "train", mounts=(Mount(name="checkpoint", path=log),)) == [log]


@pytest.mark.parametrize("word", ["runs", "runs/train", "newest", "runs/train/../train", "log"])
def test_where_earlier_runs_lie_is_not(runs_dir, word):
    (runs_dir.parent / "newest").symlink_to(runs_dir / "train" / "one")
    assert watched(runs_dir, "train", word, f"--from={word}") == []


def test_what_the_tool_puts_next_to_a_program_is_no_file_of_the_tree_that_it_lies_in():
    hook = Path(code_elsewhere.OURS[0]) / "sitecustomize.py"
    names = frozenset({f"instrumentation/{hook.name}", "train.py"})
    tree = OtherTree(root=str(hook.parent.parent), files=names)
    own = str(hook.parent.parent / "train.py")
    read = [["read", str(hook.resolve()), "python"], ["read", own, "python"]]
    assert other_files.opened({"opened": read, "unknown": ""}, tree) == {"files": [own]}


def test_what_was_changed_while_earlier_runs_were_under_way_is_no_file_of_another_run(runs_dir):
    facts = {"opened": [["left", "/data/split.json", "/usr/bin/python3"]], "unknown": ""}
    told = other_files.opened(facts, OtherTree.of_runs(runs_dir))
    assert told == {"files": [], other_files.CHANGED: ["/data/split.json"]}


def test_what_is_not_known_is_said(runs_dir):
    tree = OtherTree.of_runs(runs_dir)
    assert "before it could say" in other_files.opened({}, tree)["unknown"]
    assert other_files.opened({"opened": [], "unknown": "why"}, tree) == {"files": [], "unknown": "why"}
    unwatched = OtherTree(root=str(runs_dir), files=frozenset(), unwatched="it needs more")
    assert other_files.opened({}, unwatched) == {"files": [], "unknown": "it needs more"}
