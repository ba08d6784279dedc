"""Determinism claims that cannot be measured: one line says why, and no exit code calls a claim false."""

import sys

import pytest
import torch

from reprokit.features.numerics.inside.determinism_claims import __main__ as program


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def never(*_, **__):
    raise AssertionError("a process was started")


@pytest.mark.usefixtures("no_gpu")
def test_a_machine_without_cuda_is_told_so_in_one_line_before_a_process_is_started(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(program.subprocess, "run", never)
    output = tmp_path / "findings.json"
    assert program.main(["--device", "cuda", "--output", str(output)]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "finds no CUDA device on this machine" in line
    assert "--device cpu" in line
    assert not output.exists()


def test_a_folder_that_is_not_there_is_told_before_minutes_are_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(program.subprocess, "run", never)
    assert program.main(["--output", str(tmp_path / "absent" / "findings.json")]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{tmp_path / 'absent'}: the folder to write to is not there" in line


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("raise RuntimeError('out of memory')", "exit code 1: RuntimeError: out of memory"),
        ("import os; os.kill(os.getpid(), 9)", "exit code -9: it said nothing"),
        ("print('no findings')", "exit code 0: it said nothing"),
        (r"import sys; sys.stderr.buffer.write(b'\xff torn'); sys.exit(5)", "exit code 5: \ufffd torn"),
    ],
    ids=["raises", "killed", "no JSON", "no text"],
)
def test_a_process_that_fails_is_told_in_one_line_with_its_reason(monkeypatch, capsys, source, told):
    real = program.subprocess.run
    monkeypatch.setattr(
        program.subprocess, "run", lambda _, **options: real([sys.executable, "-c", source], **options)
    )
    assert program.main(["--only", "max_unpool1d", "--repeats", "3"]) == 3
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert f"default was not measured: its process ended with {told}. Hint: " in line
    assert "--mode default --repeats 2` shows all" in line
    assert said.out == ""
