"""``--platform``, ``--set``, ``--exclusive``: refused where they would be passed over."""

from __future__ import annotations

import pytest

from reprokit.cli import main


def _refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("--platform", "xla-cpu"),
        ("--set", "training.gamma=0.9"),
        ("--exclusive",),
        ("--statistical",),
        ("--sign", "id_ed25519"),
        ("--selftest",),
        ("--cpu", "Haswell"),
    ],
)
def test_a_cluster_is_not_asked_with_settings_that_it_would_not_get(capsys, words):
    told = _refusal(capsys, "verify", "--on", "ray", *words)
    assert f"{words[0]} is for runs on this machine" in told


@pytest.mark.parametrize(
    "words", [("--platform", "xla-cpu"), ("--exclusive",), ("--sign", "id_ed25519"), ("--selftest",)]
)
def test_an_emulated_cpu_is_not_asked_for_another_platform_or_a_gpu(capsys, words):
    told = _refusal(capsys, "verify", "--cpu", "Haswell", *words)
    assert f"{words[0]} is for whole trainings" in told


@pytest.mark.parametrize(
    "words", [("--platform", "xla-cpu"), ("--set", "training.gamma=0.9"), ("--exclusive",)]
)
def test_a_plain_command_has_no_settings_of_a_recipe(capsys, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    assert words[0] in _refusal(capsys, "reproduce", *words, "--", "true")
