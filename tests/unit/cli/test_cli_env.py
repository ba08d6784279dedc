"""`reprokit env`: two records, or a record and this host, on one screen and as an exit code."""

import copy
import json

import pytest

from reprokit import capture
from reprokit.cli import main
from reprokit.core import fingerprint

LOCK_TOML = """
schema = 1
[base.registry]
image = "docker.io/library/python"
tag = "3.11"
digest = "sha256:{digest}"
[base.bootstrap]
suite = "bookworm"
packages = ["python3"]
timestamp = 2026-10-01T00:00:00Z
[variants.cpu]
title = "CPU"
python = "3.11"
machines = ["x86_64", "aarch64"]
indexes = []
"""


def line(package):
    return f"{package} \\\n    --hash=sha256:{'a' * 64}\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "images" / "cpu").mkdir(parents=True)
    (tmp_path / "images" / "lock.toml").write_text(LOCK_TOML.format(digest="0" * 64))
    (tmp_path / "images" / "cpu" / "requirements.lock").write_text(
        line("numpy==2.4.6") + line("torch==2.13.0+cpu")
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def record(project):
    """A record of this host, with the lock's packages, under the portable profile."""
    host = capture.capture_host(project)
    inside = {
        "packages": {"numpy": "2.4.6", "torch": "2.13.0+cpu"},
        "python": {"minor": "3.11"},
        "torch": {"threads": 1},
        "numerics": {"profile": "portable", "version": 1},
        "device": {"kind": "cpu"},
        "cpu": {
            "architecture": host["cpu"]["architecture"],
            "avx2": "avx2" in host["cpu"].get("features", ()),
        },
    }
    return capture.merge(inside, host, source={}, image={"variant": "cpu"}, limits=None)


@pytest.fixture
def save(project):
    def write(name, value):
        path = project / name
        path.write_text(json.dumps(value))
        return str(path)

    return write


def reprokit(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code


def with_package(record, name, version):
    changed = copy.deepcopy(record)
    changed["inside"]["packages"][name] = version
    return changed


def test_equal_records_are_equal(record, save, capsys):
    assert reprokit("env", "diff", save("a.json", record), save("b.json", record)) == 0
    assert capsys.readouterr().out.strip() == "The records are equal."


def test_a_difference_that_cannot_change_numbers_is_no_failure(record, save, capsys):
    other = copy.deepcopy(record)
    other["host"]["kernel"] = "9.9"
    assert reprokit("env", "diff", save("a.json", record), save("b.json", other)) == 0
    out = capsys.readouterr().out
    assert "Same numerics fingerprint; 1 differences that cannot change numbers." in out
    assert "→ 9.9" in out


def test_a_difference_that_can_change_numbers_is_a_failure_and_named(record, save, capsys):
    other = with_package(record, "numpy", "2.5.0")
    assert reprokit("env", "diff", save("a.json", record), save("b.json", other)) == 1
    out = capsys.readouterr().out
    assert "Differs in 1 facts that can or may change numbers." in out
    assert "inside.packages.numpy: 2.4.6 → 2.5.0" in out


def test_json_says_it_for_machines(record, save, capsys):
    other = with_package(record, "numpy", "2.5.0")
    assert reprokit("env", "diff", "--json", save("a.json", record), save("b.json", other)) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["same"] is False
    assert answer["expected"]["fingerprint"] == fingerprint.fingerprint(record)
    assert answer["differences"][0]["can_change_numbers"] == "yes"


def test_a_long_list_is_cut_and_all_of_it_can_be_had(record, save, capsys):
    other = copy.deepcopy(record)
    other["inside"]["packages"] |= {f"package-{number}": "1" for number in range(30)}
    paths = save("a.json", record), save("b.json", other)
    assert reprokit("env", "diff", *paths) == 1
    short = capsys.readouterr().out
    assert "… and 18 more (--all)" in short
    assert reprokit("env", "diff", "--all", *paths) == 1
    whole = capsys.readouterr().out
    assert whole.count("package-") == 30
    assert whole.count("a name does not say which one is not") == 1


def test_something_that_is_no_record_is_wrong_usage(save, capsys):
    assert reprokit("env", "diff", save("a.json", {}), save("b.json", {})) == 2
    assert "not an environment record" in capsys.readouterr().err


def test_this_host_matches_its_own_record(record, save, capsys):
    assert reprokit("env", "check", "--against", save("golden.json", record)) == 0
    out = capsys.readouterr().out
    assert "Will not match  nothing known before a run" in out
    assert "packages (2)" in out


def test_a_lock_that_moved_will_not_match(record, save, capsys):
    path = save("golden.json", with_package(record, "numpy", "2.3.0"))
    assert reprokit("env", "check", "--against", path) == 1
    assert "inside.packages.numpy: 2.3.0 → 2.4.6" in capsys.readouterr().out


def test_a_golden_of_another_platform_cannot_be_compared(record, save, capsys):
    other = copy.deepcopy(record)
    other["inside"]["cpu"] = {"architecture": "s390x"}
    assert reprokit("env", "check", "--against", save("golden.json", other)) == 1
    out = capsys.readouterr().out
    assert "cpu-s390x" in out
    assert "Another platform" in out


def test_the_check_speaks_json(record, save, capsys):
    assert reprokit("env", "check", "--json", "--against", save("golden.json", record)) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["same"] is True
    assert "inside.packages.numpy" in answer["matches"]
    assert "inside.torch.threads" in answer["open"]


def test_an_unknown_variant_is_wrong_usage(record, save, capsys):
    path = save("golden.json", record)
    assert reprokit("env", "check", "--against", path, "--variant", "cqu") == 2
    assert "cpu" in capsys.readouterr().err


def test_a_variant_without_locks_is_wrong_usage(record, tmp_path_factory, monkeypatch, capsys):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "golden.json").write_text(json.dumps(record))
    monkeypatch.chdir(elsewhere)
    assert reprokit("env", "check", "--against", "golden.json", "--variant", "cpu") == 2
    assert reprokit("env", "check", "--against", "golden.json") == 0
    out = capsys.readouterr().out
    assert "packages (2)" in next(line for line in out.splitlines() if line.startswith("After a run"))


def test_a_python_that_is_none_is_wrong_usage(record, save, capsys):
    path = save("golden.json", record)
    assert reprokit("env", "check", "--against", path, "--python", "/bin/sh") == 2
    assert "no Python" in capsys.readouterr().err


def test_a_record_must_be_named(capsys):
    assert reprokit("env", "check") == 2
    assert "--against" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [("env",), ("env", "diff"), ("env", "check"), ("capture",), ("doctor",)])
def test_every_help_has_an_example(verb, capsys):
    assert reprokit(*verb, "--help") == 0
    assert "Example" in capsys.readouterr().out
