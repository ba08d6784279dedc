"""``reprokit runs convert``: what is written is read back by our readers and by TensorBoard's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

from reprokit import adapters, cli, extras, reports
from reprokit.features.trackers import to_wandb
from reprokit.features.trackers.to_mlflow import to_mlflow
from reprokit.features.trackers.to_tensorboard import to_tensorboard
from reprokit.features.trackers.tracked_run import TrackedRun
from reprokit.harness import Request, judge_again


@pytest.fixture
def judged(here, make, programs, monkeypatch):
    """A run of a pair that a report judged."""
    folders = make.of_recipe(programs["training"](), programs["training"]())
    reports.render_all(
        judge_again(folders, Request(), project=here), here.reports_dir / "cartpole_baseline" / "T"
    )
    monkeypatch.chdir(here.root)
    return folders[0]


@pytest.fixture
def odd() -> TrackedRun:
    """Numbers that are not whole, not finite, or far from float32."""
    values = (0.1, 1e-300, float("nan"), float("-inf"))
    return TrackedRun(
        name="T-seed1-1",
        recipe="r",
        began=1_764_000_000.0,
        curves={"a/loss": ((0.0, 1.0, 2.0, 3.0), values)},
        settings={"lr": "0.1"},
        tags={"reprokit.verdict": "REPRODUCED", "reprokit.sentence": "2 runs agree ✓"},
    )


def reprokit(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["runs", "convert", *map(str, words)])
    told = capsys.readouterr()
    return ended.value.code, told.out, told.err


def series(path) -> dict[str, tuple[list[float], list[float]]]:
    return {name: (list(one.steps), list(one.values)) for name, one in adapters.read_series(path).items()}


@pytest.mark.parametrize("form", ["tensorboard", "mlflow"])
def test_a_run_is_written_with_its_verdict_and_read_back_as_it_is(judged, tmp_path, capsys, form):
    before = {path: path.read_bytes() for path in judged.rglob("*") if path.is_file()}

    code, out, err = reprokit(capsys, judged, "--to", form, "--output", tmp_path / "logs", "--json")

    assert code == 0, err
    answer = json.loads(out)
    assert answer["tags"]["reprokit.verdict"] == "NO_GOLDEN"
    assert answer["tags"]["reprokit.report"].endswith("T/report.json")
    ours, theirs = series(judged / "metrics.jsonl"), series(Path(answer["written"]))
    assert {name: theirs[name] for name in ours} == ours
    assert {path: path.read_bytes() for path in judged.rglob("*") if path.is_file()} == before
    code, _, err = reprokit(capsys, judged, "--to", form, "--output", tmp_path / "logs")
    assert code == 2
    assert "is there already" in err


def test_a_run_that_no_report_judges_says_so(here, make, programs, capsys, monkeypatch):
    monkeypatch.chdir(here.root)
    [folder] = make.of_recipe(programs["training"]())

    code, out, err = reprokit(capsys, folder, "--to", "tensorboard", "--output", "logs")

    assert code == 0, err
    assert "reprokit.verdict: not judged" in out


def test_tensorboard_reads_every_number_and_tag(odd, tmp_path):
    file = to_tensorboard(odd, tmp_path)

    events = EventAccumulator(str(file)).Reload()
    read = [(one.step, tensor_util.make_ndarray(one.tensor_proto).item()) for one in events.Tensors("a/loss")]

    assert repr(read) == repr(list(zip(range(4), odd.curves["a/loss"][1], strict=True)))
    (told,) = events.Tensors("reprokit.verdict")
    assert tensor_util.make_ndarray(told.tensor_proto).item() == b"REPRODUCED"
    assert events.SummaryMetadata("a/loss").plugin_data.plugin_name == "scalars"
    assert events.SummaryMetadata("reprokit.verdict").plugin_data.plugin_name == "text"


def test_mlflow_has_the_verdict_as_a_tag_and_the_settings_as_parameters(odd, tmp_path):
    place = to_mlflow(odd, tmp_path)

    assert (place / "tags/reprokit.verdict").read_text() == "REPRODUCED"
    assert (place / "params/lr").read_text() == "0.1"
    assert (place / "metrics/a/loss").read_text().splitlines()[1] == "1764000000000 1e-300 1"


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a/../b", "a//b", ".", "a\n", "a/b c/..", "\u202e"])
def test_a_name_that_leads_elsewhere_is_refused_and_nothing_is_written(odd, tmp_path, name):
    curves = {"fine": ((0.0,), (1.0,)), name: ((0.0,), (1.0,))}

    with pytest.raises(Exception, match="cannot have a metric of this name"):
        to_mlflow(TrackedRun(**{**_fields(odd), "curves": curves}), tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_equal_runs_give_equal_bytes(odd, tmp_path):
    one, two = (to_tensorboard(odd, tmp_path / name).read_bytes() for name in ("a", "b"))
    assert one == two


def test_without_wandb_the_exit_code_is_3_and_the_line_is_told(judged, capsys, monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda name: name != "wandb")

    code, _, err = reprokit(capsys, judged, "--to", "wandb", "--output", "logs")

    assert code == 3
    assert err.splitlines()[-1] == "Hint: pip install wandb"


class _Wandb:
    """What is called of wandb, and with what."""

    Error = ValueError

    def __init__(self, folder):
        self.logged, self.summary, self.dir = [], {}, str(folder / "wandb/offline-run-x/files")

    def Settings(self, **words):  # noqa: N802 - their name
        return words

    def init(self, **words):
        self.asked = words
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def log(self, values, *, step):
        self.logged.append((step, values))


def test_wandb_is_offline_and_has_the_verdict_as_its_tag(odd, tmp_path, monkeypatch):
    stand_in = _Wandb(tmp_path)
    monkeypatch.setitem(sys.modules, "wandb", stand_in)
    monkeypatch.setattr(extras, "is_installed", lambda name: True)

    place = to_wandb.to_wandb(odd, tmp_path)

    assert place.name == "offline-run-x"
    assert stand_in.asked["mode"] == "offline"
    assert stand_in.asked["tags"] == ["REPRODUCED"]
    assert [step for step, _ in stand_in.logged] == [0, 1, 2, 3]
    assert stand_in.logged[1][1] == {"a/loss": 1e-300}


def _fields(run: TrackedRun) -> dict:
    return {name: getattr(run, name) for name in TrackedRun.__slots__}
