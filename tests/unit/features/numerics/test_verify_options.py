"""`verify --cpu` refuses what it would promise and not keep."""

import pytest

from reprokit.cli import main


@pytest.mark.parametrize(
    "words",
    [
        ["--selftest"],
        ["--vary"],
        ["--statistical"],
        ["--resume"],
        ["--changed", "HEAD"],
        ["--diagnose"],
        ["--attribute"],
        ["--sign", "key"],
        ["--exclusive"],
        ["--gate-file", "gate.json"],
        ["--html", "gate.html"],
        ["--platform", "xla-cpu"],
    ],
    ids=lambda words: words[0],
)
def test_an_option_for_whole_trainings_is_refused_beside_cpu(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["verify", "--cpu", "Haswell", *words])
    assert ended.value.code == 2
    assert f"{words[0]} is for whole trainings, not for --cpu" in capsys.readouterr().err
