"""Which files of a run folder hold metrics, and in which order they come."""

import importlib.util
from pathlib import Path

import pytest

from reprokit import adapters
from reprokit.adapters import sources
from reprokit.adapters.reading import Reading
from reprokit.errors import MetricsError

FOLDER = Path(sources.__file__).parent


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('{"step": 0, "loss": 1.0}\n')


def names(folder):
    return [source.name for source in adapters.find_all(folder)]


def test_metrics_jsonl_comes_first_and_the_others_are_named(tmp_path):
    touch(tmp_path, "a.jsonl", "metrics.jsonl", "progress.csv")
    source = adapters.find(tmp_path)
    assert (source.adapter, source.name, source.path) == (
        "jsonl",
        "metrics.jsonl",
        tmp_path / "metrics.jsonl",
    )
    assert source.others == ("a.jsonl", "progress.csv")


def test_the_order_is_fixed_and_subfolders_are_searched(tmp_path):
    touch(
        tmp_path,
        "z.csv",
        "sub/progress.csv",
        "sub/b.jsonl",
        "a.jsonl",
        "deep/er/metrics.jsonl",
        "e.tfevents.1",
    )
    assert names(tmp_path) == [
        "deep/er/metrics.jsonl",
        "a.jsonl",
        "sub/b.jsonl",
        "sub/progress.csv",
        "z.csv",
        "tensorboard events",
    ]


def test_what_the_harness_writes_is_no_metric(tmp_path):
    touch(
        tmp_path,
        "timing.jsonl",
        "trace.jsonl",
        "run.json",
        "source/x.jsonl",
        "checkpoints/y.csv",
        "stdout.log",
    )
    assert adapters.find(tmp_path) is None
    touch(tmp_path, "sub/trace.jsonl")
    assert names(tmp_path) == ["sub/trace.jsonl"]


def test_a_plain_command_may_put_its_metrics_where_a_recipe_keeps_source_and_checkpoints(tmp_path):
    touch(tmp_path, "source/a.jsonl", "checkpoints/y.csv", "timing.jsonl", "output/left.jsonl")
    (tmp_path / "run.json").write_text('{"recipe": "plain-train", "plain_command": ["python", "train.py"]}')
    assert names(tmp_path) == ["source/a.jsonl", "checkpoints/y.csv"]


def test_somebody_elses_folder_is_searched_everywhere(tmp_path):
    touch(tmp_path, "checkpoints/y.csv", "output/z.csv")
    assert names(tmp_path) == ["checkpoints/y.csv", "output/z.csv"]


def test_links_to_folders_are_not_followed(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "loop").symlink_to(tmp_path / "run")
    touch(tmp_path, "other/a.jsonl")
    (tmp_path / "run" / "other").symlink_to(tmp_path / "other")
    assert adapters.find(tmp_path / "run") is None


def test_a_file_of_an_unknown_name_is_taken_for_json_lines():
    assert adapters.source_of(Path("losses.txt")).adapter == "jsonl"


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(MetricsError, match="a folder, not a file") as error:
        adapters.source_of(tmp_path)
    assert error.value.kind == "directory"


def test_every_module_of_the_folder_that_is_called_so_is_an_adapter():
    assert {module.__name__.rpartition(".")[2] for module in adapters.adapters()} == {
        path.stem for path in FOLDER.glob("from_*.py")
    }
    assert [adapter.NAME for adapter in adapters.adapters()] == [
        "jsonl",
        "rllib",
        "csv",
        "tensorboard",
        "mlflow",
        "mlflow_files",
        "wandb",
        "trainer_state",
        "json",
        "printed",
    ]


@pytest.mark.parametrize("adapter", adapters.adapters(), ids=lambda adapter: adapter.NAME)
class TestEveryAdapter:
    """What each file of the folder must do."""

    def test_it_offers_what_the_protocol_asks_for(self, adapter):
        assert isinstance(adapter.NAME, str)
        assert isinstance(adapter.ORDER, int)
        assert isinstance(adapter.WHOLE_FOLDER, bool)
        assert adapter.PATTERNS
        assert adapters.adapter_named(adapter.NAME) is adapter
        assert adapter.__doc__

    def test_it_knows_its_own_files(self, adapter):
        name = adapter.PATTERNS[0].replace("*", "x")
        assert adapters.source_of(Path(name)).adapter == adapter.NAME

    def test_an_empty_file_gives_no_record(self, adapter, tmp_path):
        if adapter.NAME == "tensorboard" and importlib.util.find_spec("tensorboard") is None:
            pytest.skip("tensorboard is not installed")
        path = tmp_path / "empty"
        path.touch()
        assert all(isinstance(one, Reading) and one.record is None for one in adapter.read(path))

    def test_a_missing_file_is_a_metrics_error(self, adapter, tmp_path):
        with pytest.raises(MetricsError) as error:
            list(adapter.read(tmp_path / "nothing"))
        assert error.value.kind in {"missing_file", "missing_reader"}

    def test_rubbish_is_named_and_never_a_record(self, adapter, tmp_path):
        if adapter.NAME == "tensorboard" and importlib.util.find_spec("tensorboard") is None:
            pytest.skip("tensorboard is not installed")
        path = tmp_path / "rubbish"
        path.write_bytes(b"\xff\xfe\x00\x00rubbish\n" * 3)
        found = list(adapter.read(path))
        assert found
        assert all(one.record is None and one.notes for one in found)
