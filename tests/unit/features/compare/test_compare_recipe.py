"""Both sides of a recipe compared: real commits, real programs, in this Python or a small environment."""

from __future__ import annotations

import hashlib
import json
import shutil

import pytest

from reprokit.cli import main
from reprokit.errors import CannotJudgeError, UsageError
from reprokit.features.compare.answer import FILE, Word
from reprokit.features.compare.asked import SideAsked, sides_asked
from reprokit.features.compare.audit import audit
from reprokit.features.compare.compare import compare_recipe
from reprokit.features.compare.rounding.made_twins import RoundingAsked
from reprokit.features.compare.side_runs import ReadySide
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.command_recipe import PROGRAM, RECIPE, Repository
from support.recorded_progress import RecordedProgress

OPTIONS = """\
import argparse, json, os, random
from settings import RATE
parser = argparse.ArgumentParser()
parser.add_argument("seed", type=int)
parser.add_argument("out")
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--accumulate", type=int, default=1)
asked = parser.parse_args()
random.seed(asked.seed)
value = 1.0
with open(f"{asked.out}/log.jsonl", "w") as log:
    for step in range(4):
        value -= RATE * random.random() * asked.batch * asked.accumulate
        log.write(json.dumps({"step": step, "loss": value}) + "\\n")
"""


READS_LARGE = """\
import json, sys
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(3):
        log.write(json.dumps({"step": step, "loss": len(open("large.bin").read()) + step}) + "\\n")
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = Repository(tmp_path)
    found.git("init", "--quiet", "--initial-branch", "main")
    (tmp_path / ".gitignore").write_text("runs/\nreports/\n")
    found.write(train_py=OPTIONS, settings_py="RATE = 0.1\n", recipes__train__recipe_yaml=RECIPE)
    return found


def compared(repository, *, share=(), only=None, rounding=None, **typed):
    request = Request(backend="local", side_by_side=False)
    session = Session(project=Project.around(repository.root), progress=RecordedProgress())
    how = {"only": only, "share": share, "rounding": rounding, "session": session}
    return compare_recipe("train", sides_asked(typed), request, **how)


def test_a_changed_line_of_the_working_tree_is_named(repository):
    (repository.root / "settings.py").write_text("RATE = 0.2\n")
    answer, report = compared(repository)
    assert (answer.answer, answer.first["record"], answer.first["metric"]) == (Word.DIFFERENT, 0, "loss")
    assert {"kind": "code", "what": "settings.py:1 (+1 -1 lines)"} in answer.what_differs
    assert "with changes" in answer.sides["b"].what
    assert audit(report / FILE).exit_code == 1


def test_an_unmodified_program_from_a_checkpoint_is_refused_before_anything_runs(repository):
    (repository.root / "settings.py").write_text("RATE = 0.2\n")
    with pytest.raises(UsageError, match="whose checkpoints are known to it alone"):
        compared(repository, rounding=RoundingAsked(from_step=2))
    assert not list(repository.root.glob("runs/*/*/run.json"))


@pytest.mark.parametrize("typed", [["train"], ["train", "--rounding", "--until", "3"], ["--rounding"]])
def test_a_checkpoint_is_for_rounding_of_a_recipe_to_its_end(repository, capsys, typed):
    plain = [] if "train" in typed else ["--", "python", "a.py", "--vs", "python", "b.py"]
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["compare", "--from-checkpoint", "7", *typed, *plain])
    assert "--from-checkpoint needs a recipe and --rounding" in capsys.readouterr().err


def test_two_commits_with_equal_inputs_are_equal_without_runs(repository, monkeypatch):
    monkeypatch.setattr(ReadySide, "has_all_inputs", True)  # as those of a trainer, or in a container
    repository.write(docs__note_py="a note")
    answer, report = compared(repository, a="HEAD~1", b="HEAD")
    assert (answer.answer, report) == (Word.EQUAL, None)
    assert not (repository.root / "runs" / "train").exists()


@pytest.mark.slow
def test_a_program_on_this_host_runs_all_the_same_since_it_can_read_more_of_its_tree(repository):
    program = (
        "import json, sys\nfrom pathlib import Path\n"
        "top = next(folder for folder in Path.cwd().parents if (folder / '.git').exists())\n"
        "line = json.dumps({'step': 0, 'loss': float((top / 'docs' / 'rate.txt').read_text())})\n"
        "Path(sys.argv[2], 'log.jsonl').write_text(line)\n"
    )
    for rate in ("0.5", "0.25"):
        repository.write(**{"docs__rate.txt": rate}, train_py=program)
    answer, _ = compared(repository, a="HEAD~1", b="HEAD")
    assert (answer.first["expected"], answer.first["actual"]) == (0.5, 0.25)


def test_a_setting_that_is_none_of_the_inputs_needs_no_run(repository):
    answer, report = compared(repository, b_overrides=("title=another",))
    assert (answer.answer, report) == (Word.EQUAL, None)


@pytest.mark.parametrize(
    "typed",
    [{"b_arguments": ""}, {"b_arguments": " "}, {"b_overrides": ("seeds=[3]",)}, {"b_variant": "none"}],
    ids=str,
)
def test_what_is_set_to_what_it_is_already_makes_no_side_of_its_own(repository, typed):
    with pytest.raises(UsageError, match="the same commit with the same settings"):
        compared(repository, **typed)
    assert not (repository.root / "runs" / "train").exists()


def test_a_commit_that_changes_text_alone_is_equal_and_its_code_is_named(repository):
    repository.write(settings_py="RATE = 0.1  # the rate\n")
    answer, _ = compared(repository, a="HEAD~1", b="HEAD")
    assert (answer.answer, answer.exit_code) == (Word.EQUAL, 0), answer.sentence
    assert [one["kind"] for one in answer.what_differs] == ["code"]


def test_the_runs_of_a_side_whose_inputs_are_all_known_are_taken(repository, monkeypatch):
    monkeypatch.setattr(ReadySide, "has_all_inputs", True)  # as those of a trainer, or in a container
    repository.write(settings_py="RATE = 0.2\n")
    first, _ = compared(repository, a="HEAD~1", b="HEAD")
    repository.write(settings_py="RATE = 0.3\n")
    second, _ = compared(repository, a="HEAD~1", b="HEAD")
    assert second.sides["a"].runs == first.sides["b"].runs
    assert second.answer is Word.DIFFERENT


@pytest.mark.slow
def test_a_side_is_named_by_the_commit_that_was_asked_for_not_by_that_of_earlier_runs(repository):
    (repository.root / "settings.py").write_text("RATE = 0.2\n")
    compared(repository)
    repository.commit()
    repository.write(docs__note_py="a note")
    answer, report = compared(repository, a="HEAD~2", b="HEAD")
    assert [answer.sides[side].what for side in "ab"] == [
        f"commit {repository.commit_of(revision)}" for revision in ("HEAD~2", "HEAD")
    ]
    assert audit(report / FILE).exit_code == 1
    data = json.loads((report / FILE).read_text())
    data["asked"]["commits"]["b"] = "commit 0123456789ab"
    (report / FILE).write_text(json.dumps(data))
    assert not audit(report / FILE).follows


@pytest.mark.slow
def test_what_differs_is_said_of_the_recipes_that_were_asked_for_not_of_those_of_earlier_runs(
    repository, monkeypatch
):
    monkeypatch.setattr(ReadySide, "has_all_inputs", True)  # as those of a trainer, or in a container
    repository.write(settings_py="RATE = 0.2\n")
    compared(repository, a="HEAD~1", b="HEAD")
    repository.write(recipes__train__recipe_yaml=RECIPE.replace("as it is", "with a new title"))
    repository.write(settings_py="RATE = 0.3\n")
    one_title, report = compared(repository, a="HEAD~1", b="HEAD")
    assert [one["kind"] for one in one_title.what_differs] == ["code"]
    assert audit(report / FILE).exit_code == 1
    two_titles, report = compared(repository, a="HEAD~3", b="HEAD~1")
    assert [one["kind"] for one in two_titles.what_differs] == ["code", "recipe"]
    assert audit(report / FILE).follows


def test_a_file_that_became_executable_is_named(repository):
    (repository.root / "settings.py").chmod(0o755)
    answer, _ = compared(repository)
    assert answer.answer is Word.EQUAL
    assert answer.what_differs == ({"kind": "code", "what": "settings.py can be executed on b alone"},)


def test_arguments_that_do_not_matter_are_equal_and_those_that_do_are_not(repository):
    answer, _ = compared(repository, b_arguments="--batch 2 --accumulate 2")
    assert answer.answer is Word.EQUAL
    assert any(one["kind"] == "command" and "--accumulate 2" in one["what"] for one in answer.what_differs)
    assert compared(repository, b_arguments="--batch 8")[0].answer is Word.DIFFERENT


@pytest.mark.slow
def test_threads_are_in_force_or_the_answer_is_unjudged(repository):
    told = OPTIONS.replace('"loss": value', '"loss": value, "threads": os.environ.get("OMP_NUM_THREADS")')
    repository.write(train_py=told)
    answer, _ = compared(repository, b_threads=2)
    assert (answer.answer, answer.first["metric"]) == (Word.DIFFERENT, "threads")
    assert answer.first["actual"] == "2"
    assert {"kind": "condition", "what": "as here → 2 threads"} in answer.what_differs
    assert answer.sides["b"].what.endswith(", 2 threads")
    assert compared(repository, b_threads=2, only=("loss",))[0].answer is Word.EQUAL
    answer, _ = compared(repository, b_threads=1024)
    assert (answer.answer, "OpenBLAS computes with" in answer.sentence) == (Word.UNJUDGED, True)
    recipe = RECIPE.replace("[python, train.py", "[python, -E, -B, train.py")
    repository.write(recipes__train__recipe_yaml=recipe)
    answer, _ = compared(repository, b_threads=2)
    assert (answer.answer, "did not run under the conditions" in answer.sentence) == (Word.UNJUDGED, True)


@pytest.mark.parametrize("typed", [{}, {"a": "HEAD", "b": "HEAD"}, {"a": "main", "b": "HEAD"}])
def test_one_commit_with_one_setting_is_a_wrong_question(repository, typed):
    with pytest.raises(UsageError, match="same commit"):
        compared(repository, **typed)


def test_a_recipe_that_is_absent_on_a_side_cannot_be_judged(repository):
    repository.git("rm", "-rq", "recipes/train")
    (repository.root / "recipes").mkdir(exist_ok=True)
    repository.commit()
    with pytest.raises(CannotJudgeError, match="side b"):
        compared(repository, a="HEAD~1", b="HEAD")


@pytest.mark.parametrize(
    "typed", [{"b": "nowhere"}, {"b_overrides": ("nothing=1",)}, {"b_packages": ("numpy==2.0",)}]
)
def test_what_is_unknown_is_a_wrong_question(repository, typed):
    with pytest.raises(UsageError):
        compared(repository, **typed)


def test_a_side_that_fails_is_named(repository):
    repository.write(settings_py="raise RuntimeError('on purpose')\n")
    answer, report = compared(repository, a="HEAD~1", b="HEAD")
    assert (answer.answer, answer.exit_code) == (None, 3)
    assert answer.sentence.startswith("side b did not run")
    assert "on purpose" in answer.sentence
    assert audit(report / FILE).exit_code == 3


@pytest.mark.slow
def test_a_side_that_draws_from_the_system_does_not_repeat(repository):
    repository.write(settings_py="import os\nRATE = int.from_bytes(os.urandom(4)) / 2**32\n")
    answer, _ = compared(repository, a="HEAD~1", b="HEAD")
    assert (answer.answer, answer.sentence.startswith("side b does not repeat")) == (Word.UNJUDGED, True)


def test_code_of_a_side_is_imported_from_its_own_tree_or_it_is_not_judged(repository, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(repository.root))
    repository.write(settings_py="RATE = 0.2\n")
    with pytest.raises(CannotJudgeError, match="PYTHONPATH"):
        compared(repository, a="HEAD~1", b="HEAD")


@pytest.mark.slow
def test_a_declared_file_that_git_ignores_is_shared_where_that_is_asked_for(repository):
    (repository.root / ".gitignore").write_text("runs/\nreports/\nrecipes/train/rows.csv\n")
    rows = repository.root / "recipes" / "train" / "rows.csv"
    rows.write_text("1,2\n")
    data = f"data: [{{name: rows.csv, sha256: '{_sha256(rows)}', steps: [written by hand]}}]\n"
    repository.write(recipes__train__recipe_yaml=RECIPE + data)
    repository.write(settings_py="RATE = 0.1  # again\n")
    with pytest.raises(UsageError, match=r"rows\.csv"):
        compared(repository, a="HEAD~1", b="HEAD")
    answer, _ = compared(repository, a="HEAD~1", b="HEAD", share=("recipes/train/rows.csv",))
    assert answer.answer is Word.EQUAL
    assert not (repository.root / ".git" / "worktrees").exists()


@pytest.mark.slow
def test_a_file_that_git_ignores_and_a_side_lacks_is_named_and_shared_where_that_is_asked_for(
    repository,
):
    (repository.root / ".gitignore").write_text("runs/\nreports/\nrows/\n")
    (repository.root / "rows").mkdir()
    (repository.root / "rows" / "1.txt").write_text("1")
    program = (
        "import json, sys\nfrom pathlib import Path\n"
        "top = next(folder for folder in Path.cwd().parents if (folder / '.git').exists())\n"
        "line = json.dumps({'step': 0, 'loss': float((top / 'rows' / '1.txt').read_text())})\n"
        "Path(sys.argv[2], 'log.jsonl').write_text(line)\n"
    )
    repository.write(train_py=program)
    repository.write(train_py=program + "# a remark\n")
    answer, report = compared(repository, a="HEAD~1", b="HEAD")
    assert (answer.exit_code, answer.answer) == (3, None)
    assert "`--share rows/1.txt`" in answer.hint
    (repository.root / "rows" / "1.txt").rename(repository.root / "rows" / "2.txt")
    assert audit(report / FILE).findings == ()  # it follows from the runs, whatever is there later
    (repository.root / "rows" / "2.txt").rename(repository.root / "rows" / "1.txt")
    assert compared(repository, a="HEAD~1", b="HEAD", share=("rows/1.txt",))[0].answer is Word.EQUAL


@pytest.mark.parametrize("typed", [{"a": "HEAD~1", "b": "HEAD"}, {"a": "HEAD~1"}, {}])
def test_a_submodule_that_differs_is_not_judged_since_no_run_has_its_files(
    repository, tmp_path_factory, typed
):
    library = Repository(tmp_path_factory.mktemp("library"))
    library.git("init", "--quiet")
    library.write(rate_py="RATE = 1\n")
    local = ("-c", "protocol.file.allow=always")
    repository.git(*local, "submodule", "--quiet", "add", str(library.root), "lib")
    repository.commit()
    inside = Repository(repository.root / "lib")
    if typed:
        inside.write(rate_py="RATE = 2\n")
        repository.commit()
    else:
        (inside.root / "rate.py").write_text("RATE = 3\n")
        repository.git("config", "diff.ignoreSubmodules", "all")
    with pytest.raises(CannotJudgeError, match="submodule lib"):
        compared(repository, **typed)


@pytest.mark.slow
def test_a_work_tree_has_all_files_of_its_commit_where_the_working_tree_has_but_some(repository):
    program = READS_LARGE.replace('open("large.bin").read()', 'open("x/size.txt").read()')
    for size in ("x", "xx"):
        repository.write(train_py=program, **{"x__size.txt": size})
    repository.git("sparse-checkout", "set", "recipes")
    assert not (repository.root / "x").exists()
    answer, _ = compared(repository, a="HEAD~1", b="HEAD")
    assert (answer.first["expected"], answer.first["actual"]) == (1, 2), answer.sentence


def kept_by_git_lfs(repository, content: bytes) -> str:
    """A pointer to a content, as git-lfs writes it, and the content where it keeps it."""
    oid = hashlib.sha256(content).hexdigest()
    kept = repository.root / ".git" / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(content)
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"


@pytest.mark.slow
def test_a_file_of_git_lfs_has_its_content_in_the_tree_of_a_commit(repository):
    (repository.root / ".gitattributes").write_text("*.bin filter=lfs -text\n")
    large = repository.root / "large.bin"
    for size in (2000, 3000):
        large.write_text(kept_by_git_lfs(repository, b"x" * size))
        repository.write(train_py=READS_LARGE)
    answer, _ = compared(repository, a="HEAD~1", b="HEAD")
    assert (answer.first["expected"], answer.first["actual"]) == (2000, 3000)


def test_a_content_of_git_lfs_that_is_not_here_is_not_judged_unless_the_recipe_leaves_it_out(repository):
    (repository.root / ".gitattributes").write_text("*.bin filter=lfs -text\n")
    pointer = kept_by_git_lfs(repository, b"x" * 2000)
    shutil.rmtree(repository.root / ".git" / "lfs")
    (repository.root / "large.bin").write_text(pointer)
    repository.write(train_py=READS_LARGE)
    repository.write(train_py=READS_LARGE + "# a remark\n")
    with pytest.raises(CannotJudgeError, match=r"side a has no content of large\.bin"):
        compared(repository, a="HEAD~1", b="HEAD")
    for remark in ("# one\n", "# two\n"):
        repository.write(
            recipes__train__recipe_yaml=RECIPE + "sees: [train.py, settings.py]\n", train_py=PROGRAM + remark
        )
    assert compared(repository, a="HEAD~1", b="HEAD")[0].answer is Word.EQUAL


def test_a_submodule_that_the_recipe_leaves_out_may_differ(repository, tmp_path_factory):
    library = Repository(tmp_path_factory.mktemp("library"))
    library.git("init", "--quiet")
    library.write(rate_py="RATE = 1\n")
    repository.write(recipes__train__recipe_yaml=f"{RECIPE}sees: [train.py, settings.py]\n")
    local = ("-c", "protocol.file.allow=always")
    repository.git(*local, "submodule", "--quiet", "add", str(library.root), "lib")
    repository.commit()
    assert compared(repository, a="HEAD~1", b="HEAD")[0].answer is Word.EQUAL


def test_without_a_commit_sides_that_differ_in_settings_are_both_the_working_tree():
    assert sides_asked({}) == {"a": SideAsked(revision="HEAD"), "b": SideAsked()}
    assert sides_asked({"b": "main"})["a"].revision == "HEAD"
    asked = sides_asked({"b_threads": 2})
    assert (asked["a"], asked["b"]) == (SideAsked(), SideAsked(threads=2))


def _sha256(path):
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.sample(1)
@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_change_that_git_was_told_to_pass_over_is_compared(repository, flag):
    """As people do with settings of their own: the sides were said to be the same commit."""
    repository.git("update-index", flag, "settings.py")
    (repository.root / "settings.py").write_text("RATE = 0.2\n")
    answer, _ = compared(repository)
    assert (answer.answer, answer.exit_code) == (Word.DIFFERENT, 1)
