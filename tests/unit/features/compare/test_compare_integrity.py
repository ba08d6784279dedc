"""Programs of a side that write, delete or read what is not theirs: never an answer that they chose."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import partial

import pytest

from reprokit.errors import RecipeError
from reprokit.execution import other_files
from reprokit.features.compare import side_runs
from reprokit.features.compare.answer import Word
from reprokit.features.compare.asked import sides_asked
from reprokit.features.compare.compare import compare_recipe
from reprokit.features.compare.seals import Seals
from reprokit.features.compare.trees import SideTree
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.command_recipe import RECIPE, Repository
from support.recorded_progress import RecordedProgress

WRITES = """\
import json, sys
from pathlib import Path
run, out, mode = Path(sys.argv[2]).parent, Path(sys.argv[2]), sys.argv[3]
{before}
lines = [json.dumps(dict(step=step, loss=value)) for step in range(4)]
(out / "log.jsonl").write_text(chr(10).join([*lines, ""]))
"""
#: The second run makes the first one again, with its digests, so that it looks as if it had always been so.
REWRITES = """\
import hashlib
others = [one for one in run.parent.iterdir() if one != run and (one / "COMPLETE").is_file()]
mine = [one for one in others if json.loads((one / "run.json").read_text())["program"]["command"][-1] == mode]
value = 2.0 if mode == "other" and not mine else 1.0
for one in mine if mode == "other" else []:
    marker = json.loads((one / "COMPLETE").read_text())
    for name in ("metrics.jsonl", "output/log.jsonl"):
        (one / name).write_text((one / name).read_text().replace("2.0", "1.0"))
        marker["files"][name]["sha256"] = "sha256:" + hashlib.sha256((one / name).read_bytes()).hexdigest()
    (one / "COMPLETE").write_text(json.dumps(marker))
"""
DELETES = """\
import shutil
value = 1.0
if mode == "other":
    for one in run.parent.iterdir():
        if json.loads((one / "run.json").read_text())["program"]["command"][-1] != mode:
            shutil.rmtree(one)
"""
CHANGES = """\
value = 1.0 if mode == "plain" else 2.0
if mode == "other":
    for one in run.parent.iterdir():
        for file in [*one.glob("metrics.jsonl"), *one.glob("output/log.jsonl")]:
            file.write_text(file.read_text().replace("1.0", "2.0"))
"""
SEARCHES = """\
import json, random, sys
from pathlib import Path
top = next(folder for folder in Path.cwd().parents if (folder / ".git").exists())
rate = float((top / "settings.yaml").read_text())
noise = random.Random(int(sys.argv[1])).random() / 1024
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(4):
        log.write(json.dumps({"step": step, "loss": rate * step + noise}) + "\\n")
"""
#: Wherever its own files lie, it reads one by the path that it has on its author's machine.
READS = """\
import json, sys
rate = float(open("{file}").read())
with open(f"{{sys.argv[2]}}/log.jsonl", "w") as log:
    for step in range(4):
        log.write(json.dumps({{"step": step, "loss": rate * step + 1}}) + "\\n")
"""
#: It takes its rate from the name of a file in a folder.
NAMES = READS.replace('open("{file}").read()', "[one[5:] for one in {listed} if one[:5] == 'rate-'][0]")
LISTS = {
    "listdir": '__import__("os").listdir("{folder}")',
    "glob": 'map(__import__("os").path.basename, __import__("glob").glob("{folder}/*"))',
    "a child": '__import__("subprocess").check_output(["ls", "{folder}"], text=True).split()',
    "a link": '__import__("os").listdir("{link}")',
}
#: It goes on from the first run that it finds next to its own, as programs do that resume by themselves.
GOES_ON = """\
import json, sys
from pathlib import Path
run, rate = Path(sys.argv[2]).parent, {rate}
earlier = sorted(run.parent.glob("*/metrics.jsonl"))
lines = [json.dumps(dict(step=step, loss=rate * step + 1)) for step in range(4)]
text = earlier[0].read_text() if earlier else chr(10).join([*lines, ""])
Path(sys.argv[2], "log.jsonl").write_text(text)
"""
#: What no digest of its inputs holds.
DEPENDS = {
    "a variable": '__import__("os").environ["RATE"]',
    "a file that git ignores": 'open("{root}/rate.txt").read()',
}
OPENS = {
    "open": 'open("{file}")',
    "to write too": 'open("{file}", "r+")',
    "a child": '__import__("subprocess").Popen(["cat", "{file}"], stdout=-1, text=True).stdout',
    "a link": 'open("{link}")',
}
#: Of seed 3.
NOISE = random.Random(3).random() / 1024


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = Repository(tmp_path)
    found.git("init", "--quiet", "--initial-branch", "main")
    (tmp_path / ".gitignore").write_text("runs/\nreports/\n")
    return found


def compared(repository, *, num_seeds=None, **typed):
    request = Request(backend="local", side_by_side=False)
    session = Session(project=Project.around(repository.root), progress=RecordedProgress())
    asked = sides_asked(typed)
    return compare_recipe("train", asked, request, only=None, share=(), num_seeds=num_seeds, session=session)[
        0
    ]


@pytest.mark.parametrize("before", [REWRITES, DELETES, CHANGES], ids=["rewrites", "deletes", "changes"])
@pytest.mark.sample(1)
def test_a_run_that_touches_another_one_that_had_ended_is_never_judged(repository, before):
    recipe = RECIPE.replace('"{run_dir}"', '"{run_dir}", "plain"')
    repository.write(train_py=WRITES.format(before=before), recipes__train__recipe_yaml=recipe)
    command = 'command=["python", "train.py", "{seed}", "{run_dir}", "other"]'
    answer = compared(repository, b_overrides=(command,))
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4), answer.sentence
    assert re.search("(changed|removed) after (its|the) run", answer.sentence)


def never_asks_whether_a_run_was_touched(patch):
    patch.setattr(Seals, "broken", lambda _: "")


def seals_the_runs_of_a_side_when_all_have_ended(patch):
    closed, broken = Seals.close, Seals.broken
    asked = []
    patch.setattr(Seals, "close", lambda _, folder: asked.append(folder))
    patch.setattr(Seals, "has", lambda *_: True)
    patch.setattr(Seals, "broken", lambda seals: [closed(seals, one) for one in asked] and broken(seals))


@pytest.mark.parametrize(
    "broken", [never_asks_whether_a_run_was_touched, seals_the_runs_of_a_side_when_all_have_ended]
)
def test_with_broken_seals_a_run_that_was_made_anew_is_believed(repository, monkeypatch, broken):
    broken(monkeypatch)
    monkeypatch.setattr(other_files, "opened", lambda *_: {})
    with pytest.raises(AssertionError, match="equal"):
        test_a_run_that_touches_another_one_that_had_ended_is_never_judged(repository, REWRITES)


@pytest.mark.slow
def test_where_runs_lie_below_the_working_tree_its_files_are_found(repository, monkeypatch):
    monkeypatch.setattr(SideTree, "runs_dir", property(lambda tree: tree.project.runs_dir))
    with pytest.raises(AssertionError, match=r"opened a file that is not its own.*settings\.yaml"):
        test_a_program_that_searches_upwards_for_the_repository_finds_that_of_its_own_commit(repository)


@pytest.mark.slow
def test_a_program_that_searches_upwards_for_the_repository_finds_that_of_its_own_commit(repository):
    repository.write(train_py=SEARCHES, settings_yaml="0.5", recipes__train__recipe_yaml=RECIPE)
    (repository.root / "settings.yaml").write_text("0.25")
    repository.commit()
    (repository.root / "settings.yaml").write_text("0.125")
    answer = compared(repository, a="HEAD~1", b="HEAD")
    assert answer.answer is Word.DIFFERENT, answer.sentence
    assert (answer.first["expected"], answer.first["actual"]) == (0.5 + NOISE, 0.25 + NOISE)
    assert compared(repository, a="HEAD").first["actual"] == 0.125 + NOISE


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", OPENS)
@pytest.mark.sample(1)
def test_a_file_of_the_working_tree_that_a_side_opens_by_its_absolute_path_is_named(repository, how):
    file, link = repository.root / "settings.yaml", repository.root / "runs" / "link"
    link.parent.mkdir()
    link.symlink_to(file)
    program = READS.replace('open("{file}")', OPENS[how]).format(file=file, link=link)
    repository.write(train_py=program, settings_yaml="0.5", recipes__train__recipe_yaml=RECIPE)
    repository.write(settings_yaml="0.25")
    answer = compared(repository, a="HEAD~1", b="HEAD")
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4), answer.sentence
    assert answer.sentence == f"side a opened a file that is not its own: {file.resolve()}"


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", LISTS)
@pytest.mark.sample(1)
def test_a_folder_of_the_working_tree_that_a_side_lists_is_named_since_names_tell_something(repository, how):
    folder, link = repository.root / "settings", repository.root / "runs" / "link"
    link.parent.mkdir()
    link.symlink_to(folder)
    listed = LISTS[how].format(folder=folder, link=link)
    program = NAMES.replace("{listed}", listed).format()
    folder.mkdir()
    (folder / "rate-0.5").touch()
    repository.write(train_py=program, recipes__train__recipe_yaml=RECIPE)
    repository.write(train_py=program + "# a remark\n")
    answer = compared(repository, a="HEAD~1", b="HEAD")
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4), answer.sentence
    assert answer.sentence == f"side a listed a folder that is not its own: {folder.resolve()}/"


@pytest.mark.slow
def test_a_folder_of_data_that_git_ignores_may_be_listed_there(repository):
    (repository.root / "data").mkdir()
    (repository.root / "data" / "rate-0.5").touch()
    (repository.root / ".gitignore").write_text("runs/\nreports/\ndata/\n")
    program = NAMES.replace("{listed}", LISTS["listdir"]).format(folder=repository.root / "data")
    repository.write(train_py=program, recipes__train__recipe_yaml=RECIPE)
    repository.write(train_py=program + "# a remark\n")
    answer = compared(repository, a="HEAD~1", b="HEAD")
    assert answer.answer is Word.EQUAL, answer.sentence


def test_where_folders_are_not_watched_for_what_a_side_lists_there_is_believed(repository, monkeypatch):
    monkeypatch.setattr(other_files, "watched_for", partial(without_folders, other_files.watched_for))
    with pytest.raises(AssertionError, match="equal"):
        test_a_folder_of_the_working_tree_that_a_side_lists_is_named_since_names_tell_something(
            repository, "listdir"
        )


def without_folders(real, spec, **how):
    return {**found, "lists": False} if (found := real(spec, **how)) else found


@pytest.mark.slow
def test_a_program_that_goes_on_from_an_earlier_run_is_not_judged(repository):
    repository.write(train_py=GOES_ON.format(rate=0.5), recipes__train__recipe_yaml=RECIPE)
    (repository.root / "train.py").write_text(GOES_ON.format(rate=0.25))
    answer = compared(repository, a="HEAD")
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4), answer.sentence
    assert re.fullmatch(r"side [ab] opened a file that is not its own: .*/metrics\.jsonl", answer.sentence)


@pytest.mark.parametrize("how", DEPENDS)
@pytest.mark.sample(1)
def test_runs_of_before_are_not_used_again_where_a_program_can_depend_on_more_than_its_inputs(
    repository, monkeypatch, how
):
    given = DEPENDS[how].format(root=repository.root)
    program = READS.replace('open("{file}").read()', given).format()
    repository.write(train_py=program, recipes__train__recipe_yaml=RECIPE)
    (repository.root / ".gitignore").write_text("runs/\nreports/\nrate.txt\n")
    repository.commit()
    for rate, comment in (("0.5", "# one\n"), ("0.125", "# two\n")):
        monkeypatch.setenv("RATE", rate)
        (repository.root / "rate.txt").write_text(rate)
        (repository.root / "train.py").write_text(program + comment)
        answer = compared(repository, a="HEAD")
        assert answer.answer is Word.EQUAL, answer.sentence


def test_what_a_side_leaves_in_the_home_for_the_other_one_is_named(repository, monkeypatch, tmp_path_factory):
    """Side b prints what side a computed, and computes nothing."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    begin = "import json, os, sys\nfrom pathlib import Path\nkept = Path(os.environ['HOME'], 'losses')\n"
    end = "Path(sys.argv[2], 'log.jsonl').write_text(lines)\n"
    computes = "lines = ''.join(json.dumps({'step': n, 'loss': n / 7}) + '\\n' for n in range(4))\n"
    repository.write(
        train_py=f"{begin}{computes}kept.write_text(lines)\n{end}", recipes__train__recipe_yaml=RECIPE
    )
    repository.write(train_py=f"{begin}lines = kept.read_text()\n{end}")
    answer = compared(repository, a="HEAD~1", b="HEAD")
    assert answer.answer is Word.UNJUDGED
    assert str(home / "losses") in answer.sentence


def test_where_it_is_not_watched_for_it_is_called_equal(repository, monkeypatch):
    monkeypatch.setattr(
        side_runs, "_watched", lambda _ready, prepared, seals: replace(prepared, on_closed=seals.close)
    )
    with pytest.raises(AssertionError, match="every number is equal"):
        test_a_file_of_the_working_tree_that_a_side_opens_by_its_absolute_path_is_named(repository, "open")


@pytest.mark.slow
def test_data_that_git_ignores_may_lie_in_the_working_tree(repository):
    data = repository.root / "runs" / "rate"
    data.parent.mkdir()
    data.write_text("0.5")
    repository.write(train_py=READS.format(file=data), recipes__train__recipe_yaml=RECIPE)
    repository.write(train_py=READS.format(file=data) + "# a remark\n")
    assert compared(repository, a="HEAD~1", b="HEAD").answer is Word.EQUAL


@pytest.mark.slow
def test_the_working_tree_itself_may_open_its_files_by_their_absolute_paths(repository):
    file = repository.root / "settings.yaml"
    repository.write(
        train_py=READS.format(file="settings.yaml"), settings_yaml="0.5", recipes__train__recipe_yaml=RECIPE
    )
    (repository.root / "train.py").write_text(READS.format(file=file))
    assert compared(repository, a="HEAD").answer is Word.EQUAL


@pytest.mark.slow
def test_over_seeds_it_finds_that_of_its_own_commit_too(repository):
    recipe = RECIPE + "statistical: {metric: loss, window: last, margin: 0.1, direction: higher}\n"
    repository.write(train_py=SEARCHES, settings_yaml="0.5", recipes__train__recipe_yaml=recipe)
    repository.write(settings_yaml="0.25")
    repository.write(settings_yaml="0.5")
    answer = compared(repository, a="HEAD~1", b="HEAD", num_seeds=3)
    assert answer.statistical is not None, answer.sentence
    assert answer.statistical["outcome"]["looks"][-1]["metrics"][0]["reference_mean"] == pytest.approx(
        0.75, abs=1 / 1024
    )


def test_a_fault_in_the_recipe_of_a_commit_names_the_commit(repository):
    wrong = f"{RECIPE}nothing: 1\n"
    repository.write(train_py=SEARCHES, settings_yaml="1", recipes__train__recipe_yaml=wrong)
    repository.write(recipes__train__recipe_yaml=RECIPE)
    with pytest.raises(RecipeError) as caught:
        compared(repository, a="HEAD~1", b="HEAD")
    commit = repository.commit_of("HEAD~1")
    assert caught.value.where.startswith(f"{commit}:recipes/train/recipe.yaml:")
    assert "reprokit-tree" not in str(caught.value)
