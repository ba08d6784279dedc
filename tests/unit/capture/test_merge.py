"""Two halves become one record, and nothing secret gets in on the way."""

import json
import sys

import pytest

from reprokit import capture
from reprokit.core import fingerprint

PLANTED = "hunter2-S3cr3t"
INSIDE = {
    "schema": 1,
    "packages": {"numpy": "2.4.6", "google-auth": "2.40.0", "secretstorage": "3.3"},
    "variables": {"OMP_NUM_THREADS": "1"},
    "cpu": {"architecture": "x86_64", "avx2": True},
    "device": {"kind": "cpu"},
    "missing": {"torch": "cannot be imported"},
}
HOST = {
    "kernel": "6.1",
    "gpus": [],
    "missing": {"gpus": "no driver"},
    "source": {"commit": None, "missing": {"commit": "no repository"}},
}
IMAGE = {
    "variant": "cpu",
    "kind": "venv",
    "reference": "/home/alice/.cache/reprokit/venv",
    "digest": "sha256:1",
    "python": "/home/alice/.cache/reprokit/venv/bin/python",
    "lock_digest": "sha256:2",
    "base": None,
}


def merged(*, inside=INSIDE, host=HOST, image=None, limits=None):
    return capture.merge(inside, host, source=host["source"], image=image, limits=limits)


def test_the_record_has_every_section():
    record = merged(image=IMAGE, limits={"pids": 512})
    assert list(record) == ["schema", "inside", "host", "source", "image", "limits", "missing"]
    assert record["inside"]["packages"] == INSIDE["packages"]
    assert record["host"] == {"kernel": "6.1", "gpus": []}
    assert record["limits"] == {"pids": 512}
    assert fingerprint.platform_of(record) == "cpu-x86_64"


def test_what_is_missing_is_collected_with_its_place():
    assert merged()["missing"] == {
        "host.gpus": "no driver",
        "inside.torch": "cannot be imported",
        "source.commit": "no repository",
    }


def test_a_program_that_left_no_record_is_missing_as_a_whole():
    record = merged(inside={})
    assert record["inside"] == {}
    assert record["missing"]["inside"] == "the program left no record from inside its environment"


def test_no_path_of_this_machine_gets_in_by_the_image():
    record = merged(image=IMAGE)
    assert "alice" not in json.dumps(record)
    assert record["image"]["lock_digest"] == "sha256:2"


def test_an_image_is_named_by_its_digest():
    record = merged(image={**IMAGE, "kind": "image", "reference": "sha256:9"})
    assert record["image"]["reference"] == "sha256:9"


def test_the_driver_of_the_gpu_that_was_used_comes_from_the_host():
    inside = {**INSIDE, "device": {"kind": "cuda", "name": "NVIDIA H200"}}
    host = {**HOST, "gpus": [{"name": "NVIDIA H200", "driver": "580.65.06"}]}
    assert merged(inside=inside, host=host)["inside"]["device"]["driver"] == "580.65.06"
    seen_inside = {**inside, "device": {**inside["device"], "driver": "1"}}
    assert merged(inside=seen_inside, host=host)["inside"]["device"]["driver"] == "1"
    assert "driver" not in merged(host=host)["inside"]["device"]


def test_the_halves_are_not_changed():
    before = json.dumps([INSIDE, HOST])
    merged(image=IMAGE)
    assert json.dumps([INSIDE, HOST]) == before


@pytest.mark.parametrize(
    "planted",
    [
        {"variables": {"AWS_SECRET_ACCESS_KEY": PLANTED, "HOME": PLANTED}},
        {"variables": [PLANTED]},
        {"packages": {PLANTED + " ": "1", "x": PLANTED + " \n", "y": {"deep": PLANTED}}},
        {"packages": [PLANTED]},
        {"sources": {"pkg": f"git+https://alice:{PLANTED}@example.org/x"}},
        {"api_key": PLANTED},
        {"notes": [f"--password={PLANTED}"]},
        {"torch": {"version": f"https://u:{PLANTED}@example.org"}},
        {"missing": {"torch": f"cannot read https://u:{PLANTED}@example.org/x"}},
    ],
    ids=str,
)
def test_a_secret_that_the_program_writes_into_its_record_does_not_get_in(planted):
    assert PLANTED not in json.dumps(merged(inside={**INSIDE, **planted}))


def test_a_secret_on_a_command_line_in_the_limits_does_not_get_in():
    limits = {"isolation": {"command": ["python", f"--token={PLANTED}"], "api_key": PLANTED}}
    assert PLANTED not in json.dumps(merged(limits=limits))


def test_a_missing_section_that_is_no_mapping_is_left_out():
    assert merged(inside={**INSIDE, "missing": "everything"})["missing"].keys() == {
        "host.gpus",
        "source.commit",
    }


def test_the_host_is_captured_whole(repository):
    commit = repository.commit(a="1")
    host = capture.capture_host(repository.root)
    assert host["source"]["commit"] == commit
    assert {"os", "kernel", "libc", "tool", "cpu", "memory", "disk", "gpus", "tpu", "missing"} <= host.keys()
    record = capture.merge({}, host, source=host["source"], image=None, limits=None)
    assert fingerprint.platform_of(record) == fingerprint.platform_of_host(host)


def test_no_variable_of_this_process_gets_in(repository, monkeypatch):
    for name in ("AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "MY_HARMLESS_NAME", "HTTPS_PROXY"):
        monkeypatch.setenv(name, PLANTED)
    host = capture.capture_host(repository.root)
    inside = capture.capture_interpreter([sys.executable, "train.py", "--api-key", PLANTED])
    record = capture.merge(inside, host, source=host["source"], image=None, limits=None)
    assert PLANTED not in json.dumps(record)
