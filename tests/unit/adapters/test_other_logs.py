"""MLflow's file store, Hugging Face's trainer state and Ray Tune's results: what is read and refused."""

import json
import os
import time

import pytest

from reprokit import adapters
from reprokit.adapters import from_mlflow_files, from_rllib, from_trainer_state
from reprokit.errors import MetricsError

RUN = "0123456789abcdef0123456789abcdef"
RESULT = {
    "training_iteration": 1,
    "time_this_iter_s": 0.5,
    "time_total_s": 0.5,
    "hostname": "host",
    "node_ip": "10.0.0.1",
    "pid": 7,
}


def words(readings):
    return [kind for reading in readings for kind, _ in reading.notes]


class TestMlflowFiles:
    def write(self, tmp_path, **files):
        for name, text in files.items():
            path = tmp_path / "mlruns" / "0" / RUN / "metrics" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / "mlruns" / "0" / RUN

    def test_a_run_is_one_source(self, tmp_path):
        run = self.write(tmp_path, loss="1 0.5 0\n2 -0.0 1\n", acc="1 nan 1\n")
        self.write(tmp_path, eval="1 3 1\n")
        (source,) = adapters.find_all(tmp_path)
        assert (source.adapter, source.path, source.name) == ("mlflow_files", run, "mlruns/0/{id}")
        records = [one.record for one in from_mlflow_files.read(run)]
        assert repr(records) == repr(
            [{"step": 0, "loss": 0.5}, {"step": 1, "acc": float("nan"), "eval": 3.0, "loss": -0.0}]
        )
        assert adapters.source_of(run).adapter == "mlflow_files"

    def test_a_store_of_the_first_versions_has_no_steps(self, tmp_path):
        run = self.write(tmp_path, loss="1 0.5\n2 0.25\n")
        assert [one.record for one in from_mlflow_files.read(run)] == [
            {"step": 0, "loss": 0.5},
            {"step": 0, "loss": 0.25},
        ]

    @pytest.mark.parametrize(
        ("text", "word"),
        [
            ("1 0.5 0", "torn_line"),
            ("", "empty_file"),
            ("1 0.5 0\n\n", "not_a_table"),
            ("loss 0.5 0\n", "not_a_table"),
            ("1 0x10 0\n", "not_a_table"),
            ("1 1_0 0\n", "not_a_table"),
            ("1 1e400 0\n", "number_overflow"),
            ("1 0.5 " + "9" * 30 + "\n", "not_a_table"),
            (b"\xff\xfe\n", "not_a_table"),
            ("1 " + "9" * 9_000_000, "line_too_long"),
        ],
    )
    def test_what_is_wrong_has_a_word(self, tmp_path, text, word):
        assert words(from_mlflow_files.read(self.write(tmp_path, loss=text))) == [word]

    def test_links_and_special_files_are_refused(self, tmp_path):
        run = self.write(tmp_path, loss="1 0.5 0\n")
        (run / "metrics" / "other").symlink_to("/etc/passwd")
        assert words(from_mlflow_files.read(run)) == ["not_a_file"]
        (run / "metrics" / "other").unlink()
        os.mkfifo(run / "metrics" / "other")
        assert words(from_mlflow_files.read(run)) == ["not_a_file"]

    def test_a_folder_that_only_looks_like_a_run_is_none(self, tmp_path):
        path = tmp_path / ("x" * 32) / "metrics" / "notes"
        path.parent.mkdir(parents=True)
        path.write_text("hello")
        assert adapters.find(tmp_path) is None

    def test_too_many_values_are_named(self, tmp_path, monkeypatch):
        monkeypatch.setattr(from_mlflow_files, "MAX_VALUES", 3)
        run = self.write(tmp_path, loss="1 0.5 0\n" * 2, acc="1 0.5 0\n" * 2)
        assert words(from_mlflow_files.read(run)) == ["too_large"]


class TestTrainerState:
    def write(self, tmp_path, data):
        path = tmp_path / "trainer_state.json"
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data, indent=2).encode())
        return path

    def test_an_entry_of_the_history_is_a_record(self, tmp_path):
        path = self.write(tmp_path, {"epoch": 1.0, "log_history": [{"step": 1, "loss": 0.1}, {"step": 2}]})
        assert [one.record for one in from_trainer_state.read(path)] == [
            {"step": 1, "loss": 0.1},
            {"step": 2},
        ]

    @pytest.mark.parametrize(
        ("data", "word"),
        [
            (b"", "empty_file"),
            (b"[]", "not_an_object"),
            (b"{}", "not_an_object"),
            (b'{"log_history": {}}', "not_an_object"),
            (b'{"log_history": [1]}', "not_an_object"),
            (b'{"log_history": [{"a": 1, "a": 2}]}', "duplicate_key"),
            (b'{"log_history": [{"a": 1e400}]}', "number_overflow"),
            (b'{"log_history": ' + b"[" * 1_000_000, "too_deep"),
            (b'{"log_history": [{"a": 1}', "invalid_json"),
            (b"\xff", "invalid_utf8"),
            (b" " * 33_554_433, "too_large"),
        ],
    )
    def test_what_is_wrong_has_a_word(self, tmp_path, data, word):
        assert word in words(from_trainer_state.read(self.write(tmp_path, data)))


class TestRayTune:
    def write(self, tmp_path, *records):
        path = tmp_path / "result.json"
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        return path

    def test_only_what_the_program_reported_is_read(self, tmp_path):
        path = self.write(
            tmp_path, {**RESULT, "loss": 0.5, "config": {"lr": 1}, "a": {"b": {"c": 2}, "d": [1]}}
        )
        assert [one.record for one in from_rllib.read(path)] == [
            {"step": 1, "loss": 0.5, "a/b/c": 2, "a/d": [1]}
        ]

    def test_other_programs_call_files_so_too(self, tmp_path):
        path = self.write(tmp_path, {"accuracy": 0.5})
        assert adapters.find(tmp_path).adapter == "json"
        path.write_text(json.dumps({"accuracy": 0.5}, indent=2))
        assert adapters.find(tmp_path).adapter == adapters.source_of(path).adapter == "json"
        path.unlink()
        os.mkfifo(path)
        assert adapters.find(tmp_path) is None
        path.unlink()
        path.symlink_to("/dev/zero")
        assert adapters.find(tmp_path) is None
        path.unlink()
        self.write(tmp_path, RESULT)
        assert adapters.find(tmp_path).adapter == "rllib"

    def test_two_names_that_become_one_are_an_error(self, tmp_path):
        path = self.write(tmp_path, {**RESULT, "a/b": 1, "a": {"b": 2}})
        assert words(from_rllib.read(path)) == ["duplicate_key"]

    def test_too_many_names_are_named_in_bounded_time(self, tmp_path):
        path = self.write(tmp_path, {**RESULT, "a": {f"m{at}": 0.5 for at in range(110_000)}})
        begun = time.process_time()
        assert "too_many_metrics" in {one.kind for one in adapters.compare(path, path).problems}
        assert time.process_time() - begun < 20

    def test_a_missing_file_is_a_metrics_error(self, tmp_path):
        with pytest.raises(MetricsError):
            list(from_rllib.read(tmp_path / "nothing"))
