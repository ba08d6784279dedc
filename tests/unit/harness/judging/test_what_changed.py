"""What changed since a golden, in words."""

from __future__ import annotations

from reprokit.harness.judging.differences.program_changes import changed_lines
from reprokit.harness.judging.differences.what_changed import environment_rows, settings

GOLDEN = {"training": {"gamma": 0.99, "epochs": 10}, "model": {"sizes": [64, 64]}}


def row(field: str, expected: object, actual: object, effect: str = "yes") -> dict[str, object]:
    return {"field": field, "expected": expected, "actual": actual, "can_change_numbers": effect}


def test_equal_settings_are_no_change():
    assert settings(GOLDEN, GOLDEN, recipe="r", lines={}) == ()


def test_a_changed_setting_is_told_with_file_line_and_both_values():
    run = {"training": {"gamma": 0.98, "epochs": 10}, "model": {"sizes": [64, 32]}}
    assert settings(GOLDEN, run, recipe="r", lines={"training.gamma": 7, "model": 2}) == (
        "recipes/r/recipe.yaml:7 training.gamma 0.99 → 0.98",
        "recipes/r/recipe.yaml:2 model.sizes [64, 64] → [64, 32]",
    )


def test_a_setting_that_came_or_went_is_a_change():
    run = {"training": {"gamma": 0.99, "clip": 0.2}, "model": {"sizes": [64, 64]}}
    assert settings(GOLDEN, run, recipe="r", lines={}) == (
        "recipes/r/recipe.yaml training.epochs 10 → absent",
        "recipes/r/recipe.yaml training.clip absent → 0.2",
    )


def test_a_setting_of_another_type_is_a_change():
    run = {"training": {"gamma": 0.99, "epochs": 10.0}, "model": {"sizes": [64, 64]}}
    assert settings(GOLDEN, run, recipe="r", lines={}) == ("recipes/r/recipe.yaml training.epochs 10 → 10.0",)


def test_a_package_is_named_before_the_facts_that_come_with_it():
    rows = [
        row("inside.numpy.version", "2.4.6", "2.4.7"),
        row("inside.numpy.blas.version", "0.3.31", "0.3.32"),
        row("inside.packages.numpy", "2.4.6", "2.4.7"),
        row("host.kernel", "6.1", "6.5", "no"),
    ]
    assert environment_rows(rows) == "package numpy 2.4.6 → 2.4.7 (and 2 more facts)"


def test_without_a_package_the_facts_are_named():
    rows = [row("inside.numerics.profile", "portable", "native")]
    assert environment_rows(rows) == "inside.numerics.profile was portable, is native"


def test_nothing_that_can_change_numbers_is_nothing_to_say():
    assert environment_rows([row("host.kernel", "6.1", "6.5", "no")]) == ""


def test_of_long_lines_the_part_that_differs_is_shown():
    old = b'    log.write(json.dumps({"step": step, "loss": random.random()}) + "\\n")\n'
    new = b'    log.write(json.dumps({"step": step, "loss": random.random() * 1.5}) + "\\n")\n'
    (told,) = changed_lines("train.py", old, new)
    assert told.startswith("train.py:1 '…")
    assert "random.random()})" in told
    assert "random.random() * 1.5})" in told
