"""Metrics that go to TensorBoard and W&B while a run trains: all of them arrive, and no run hears of it."""

from __future__ import annotations

import json
import os
import sys

import pytest

from reprokit import adapters, extras, recipes
from reprokit.errors import RecipeError
from reprokit.features.trackers import sink_process
from reprokit.features.trackers.sink_process import Followed, follow
from reprokit.harness import reproduce
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.command_recipe import RECIPE
from support.recorded_progress import RecordedProgress

_TAGS = {"reprokit.verdict": "REPRODUCED", "reprokit.sentence": "2 runs agree ✓"}


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "runs" / "train" / "T-seed1-1"
    (folder / "output").mkdir(parents=True)
    return folder


def line(step, **values):
    return json.dumps({"step": step, **{f"a/{name}": value for name, value in values.items()}}) + "\n"


class _Training:
    """Writes a part of its metrics each time that it is asked what it says, and at last its tags."""

    def __init__(self, run, *parts):
        self.file, self.parts, self.seen = run / "output" / "metrics.jsonl", list(parts), []

    def __call__(self, _seconds):
        self.seen.append(events_of(self.file.parents[1]))
        if not self.parts:
            return {"tags": _TAGS}
        with self.file.open("a") as stream:
            stream.write(self.parts.pop(0))
        return {}


def events_of(run):
    """What TensorBoard would show now: metric → steps and values."""
    files = list((run.parents[2] / "logs").rglob("events.*"))
    if not files or files[0].stat().st_size < 100:
        return {}
    found = adapters.read_series(files[0])
    return {name: (list(one.steps), list(one.values)) for name, one in found.items()}


def test_records_arrive_while_the_run_goes_on_and_half_a_line_waits_for_its_rest(run, tmp_path):
    torn = line(2, loss=0.3)
    training = _Training(run, line(0, loss=0.1) + line(1, loss=1e-300), torn[:9], torn[9:])

    follow(Followed(run=run), tmp_path / "logs", ["tensorboard"], said=training)

    first_two = {"a/loss": ([0, 1], [0.1, 1e-300])}
    assert training.seen == [{}, first_two, first_two, {"a/loss": ([0, 1, 2], [0.1, 1e-300, 0.3])}]
    (events,) = (tmp_path / "logs").rglob("events.*")
    assert b"REPRODUCED" in events.read_bytes()


def test_numbers_that_are_none_and_records_without_a_step_are_no_points(run, tmp_path):
    odd = (
        line(0, loss=float("nan"), text="x", flag=True) + '{"a/loss": 1.0}\n' + "not JSON\n" + line(3, loss=2)
    )
    follow(Followed(run=run), tmp_path / "logs", ["tensorboard"], said=_Training(run, odd))

    (steps, values) = events_of(run)["a/loss"]
    assert steps == [0, 3]
    assert str(values) == "[nan, 2.0]"


def test_a_run_that_was_closed_is_read_on_where_its_file_lies_now(run, tmp_path):
    def closes(_seconds):
        (run / "output" / "metrics.jsonl").rename(run / "metrics.jsonl")
        with (run / "metrics.jsonl").open("a") as stream:
            stream.write(line(1, loss=0.25))
        return {"tags": _TAGS}

    (run / "output" / "metrics.jsonl").write_text(line(0, loss=0.5))
    follow(Followed(run=run), tmp_path / "logs", ["tensorboard"], said=closes)

    assert events_of(run) == {"a/loss": ([0, 1], [0.5, 0.25])}


@pytest.mark.parametrize(
    "plant", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir()]
)
def test_no_pipe_link_or_folder_of_a_program_is_opened(run, plant):
    plant(run / "output" / "metrics.jsonl")
    assert Followed(run=run).new() == []


def test_of_an_unmodified_program_only_what_is_recorded_in_the_end_is_read(run):
    (run / "output" / "metrics.jsonl").write_text(line(0, loss=0.5))
    assert Followed(run=run, is_live=False).new() == []
    (run / "metrics.jsonl").write_text(line(0, loss=0.25))
    assert Followed(run=run, is_live=False).new() == [(0, {"a/loss": 0.25})]


def test_a_sink_that_fails_is_told_and_the_other_goes_on(run, tmp_path, monkeypatch, capsys):
    class Full:
        def __init__(self, _run, _place): ...

        def write(self, step, values):
            raise OSError("no space left")

    monkeypatch.setattr(sink_process, "SINKS", {**sink_process.SINKS, "wandb": Full})
    follow(
        Followed(run=run), tmp_path / "logs", ["wandb", "tensorboard"], said=_Training(run, line(0, loss=0.5))
    )

    assert capsys.readouterr().err == "sink wandb: no space left\n"
    assert events_of(run) == {"a/loss": ([0], [0.5])}


def test_wandb_gets_each_record_and_the_verdict_as_its_tag(run, tmp_path, monkeypatch):
    stand_in = _Wandb()
    monkeypatch.setitem(sys.modules, "wandb", stand_in)
    monkeypatch.setattr(extras, "is_installed", lambda name: True)

    follow(Followed(run=run), tmp_path, ["wandb"], said=_Training(run, line(0, loss=0.5), line(1, loss=0.25)))

    assert stand_in.asked["mode"] == "offline"
    assert stand_in.logged == [(0, {"a/loss": 0.5}), (1, {"a/loss": 0.25})]
    assert (stand_in.tags, stand_in.summary, stand_in.is_finished) == (("REPRODUCED",), _TAGS, True)


class _Wandb:
    """What is called of wandb, and with what."""

    def __init__(self):
        self.logged, self.summary, self.tags, self.is_finished = [], {}, (), False

    def Settings(self, **words):  # noqa: N802 - their name
        return words

    def init(self, **words):
        self.asked = words
        return self

    def log(self, values, *, step):
        self.logged.append((step, values))

    def finish(self):
        self.is_finished = True


def test_a_recipe_that_names_sinks_computes_what_it_did_without(tmp_path):
    (tmp_path / "train").mkdir()
    file = tmp_path / "train" / "recipe.yaml"
    found = []
    for text in (RECIPE, RECIPE + "sinks: [tensorboard, wandb]\n"):
        file.write_text(text)
        found.append(recipes.load("train", recipes_dir=tmp_path))
    assert [one.sinks for one in found] == [(), ("tensorboard", "wandb")]
    assert found[0].digest == found[1].digest
    assert found[0].as_data() == found[1].as_data()


def test_a_recipe_names_no_sink_that_there_is_none_of(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "recipe.yaml").write_text(RECIPE + "sinks: [spreadsheet]\n")
    with pytest.raises(RecipeError, match="sinks"):
        recipes.load("train", recipes_dir=tmp_path)


def test_no_number_and_no_verdict_depends_on_sinks_and_what_fails_is_a_warning(repository):
    """With real processes: a recipe without a sink, with one, and with logs that cannot be written."""
    found = []
    runs_dir = repository.root / "runs"
    for sinks in ((), ("tensorboard",), ("wandb", "tensorboard")):
        if len(sinks) == 2:  # a file where the folder of TensorBoard's logs would be
            (runs_dir / ".sinks" / "tensorboard" / "train").rename(repository.root.parent / "kept")
            (runs_dir / ".sinks" / "tensorboard" / "train").write_text("")
        told = RecordedProgress()
        session = Session(project=Project.around(repository.root), progress=told)
        request = Request(backend="local", side_by_side=False, sinks=sinks)
        report, _ = reproduce("train", request, session=session)
        metrics = [(repository.root / run / "metrics.jsonl").read_bytes() for run in report.runs]
        checks = {row.id: row.status for row in report.checks}
        found.append((report.verdict, report.exit_code, checks, metrics))
        failed = [note.split(":")[1] for note in told.notes if note.startswith("warning: sink")]
        assert list(dict.fromkeys(failed)) == [f" sink {name}" for name in sinks if len(sinks) > 1]

    assert found[0] == found[1] == found[2]
    kept = list((repository.root.parent / "kept").rglob("events.*"))
    assert len(kept) == 2
    assert all(b"NO_GOLDEN" in one.read_bytes() for one in kept)
