"""Whether two runs may be compared: every key in every question, types, and what may differ."""

import copy

import pytest

from reprokit.core.evidence import fact
from reprokit.core.run_record import RunRecord
from reprokit.core.verdicts.comparability import (
    ACROSS_MACHINES,
    ACROSS_SEEDS,
    KEYS,
    REPEATED,
    RESUMED,
    VARIED,
    Objection,
    identity,
    why_not_comparable,
)
from reprokit.records import run_json

QUESTIONS = [REPEATED, RESUMED, VARIED, ACROSS_SEEDS, ACROSS_MACHINES]
DIGESTS = ("recipe", "trainer", "runtime", "config", "lock")
RECORD = {
    "recipe": "cartpole",
    "plain_command": ["python", "train.py"],
    "seed": 1,
    "device": "cpu",
    "command": ["{python}", "train.py", "--seed", "{seed}"],
    "numerics": "portable",
    "modified": ["training.gamma=0.98"],
    "digests": {name: f"sha256:{name}" for name in DIGESTS},
    "image": {"variant": "cpu", "lock_digest": "sha256:1", "digest": "sha256:2"},
    "backend": "docker",
    "resumed_from": {"step": 4096, "run": "cartpole/one"},
    "varied": {"names": ["umask"], "watched": True},
    "stressed": {"number": 1, "seed": "1f-1"},
}
CONFIG = {"training": {"gamma": 0.98, "layers": [64, 64]}, "seed": 1}
RUN = identity(run_json.of(RECORD, where="run.json"), config=CONFIG)
# Spelled out, and not read from the module: a key that is lost there must be missed here.
PLURALS = {
    "recipe": "recipes",
    "plain_command": "plain commands",
    "seed": "seeds",
    "device": "devices",
    "command": "command lines",
    "numerics": "numerics profiles",
    "modified": "overrides (--set)",
    "image.variant": "environments",
    "image.lock_digest": "package locks",
    "backend": "backends",
    "resumed_from.step": "first steps",
    "varied.names": "variations",
    "stressed": "conditions (--stress)",
    **{f"digests.{name}": f"digests differ in {name}" for name in DIGESTS},
    "config.training.gamma": "configurations differ in training.gamma",
    "config.training.layers": "configurations differ in training.layers",
    "config.seed": "configurations differ in seed",
}
MAY_DIFFER = {
    REPEATED.name: {"backend"},
    RESUMED.name: {"backend", "command", "resumed_from.step"},
    VARIED.name: {"command", "varied.names"},
    ACROSS_SEEDS.name: {"backend", "seed"},
    ACROSS_MACHINES.name: {
        "backend",
        "command",
        "digests.lock",
        "digests.runtime",
        "image.lock_digest",
    },
}


def changed(path, value):
    """The run with another value at a dotted path."""
    run = copy.deepcopy(RUN)
    *above, last = [path] if path in RUN else path.split(".")
    section = run
    for name in above:
        section = section[name]
    section[last] = value
    return run


def value_at(path):
    return RUN[path] if path in RUN else fact(RUN, path)


def other_values(value):
    """Values that are not this one, some of which Python calls equal to it."""
    yield from (None, "another", ["another"], {"another": 1})
    if isinstance(value, int | float):
        yield from (value + 1, str(value), True if value == 1 else float(value) + 0.5)
    if isinstance(value, list | tuple):
        other = list if isinstance(value, tuple) else tuple
        same = type(value)
        yield from (
            other(value),
            value[:-1],
            same([*value, 0]),
            same([float(v) if type(v) is int else [v] for v in value]),
        )


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
@pytest.mark.parametrize("path", PLURALS)
def test_a_difference_in_any_key_is_found_unless_the_question_names_it(path, question):
    for value in other_values(value_at(path)):
        for pair in ((RUN, changed(path, value)), (changed(path, value), RUN)):
            found = why_not_comparable(*pair, question=question)
            assert (found is None) == (path in MAY_DIFFER[question.name]), (path, value)
            assert found is None or PLURALS[path] in found.reason


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_a_run_is_comparable_with_itself_and_with_one_in_another_folder_at_another_time(question):
    image = {**RECORD["image"], "digest": "sha256:3"}
    another = {**RECORD, "image": image, "run_id": "b", "attempt": 2, "limits": {"cpus": [1]}}
    again = identity(run_json.of(another, where="run.json"), config=CONFIG)
    assert why_not_comparable(RUN, copy.deepcopy(RUN), question=question) is None
    assert why_not_comparable(RUN, again, question=question) is None
    nothing = identity(RunRecord(), config=None)
    assert why_not_comparable(nothing, dict(nothing), question=question) is None


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_what_a_question_lets_differ_is_a_key_or_part_of_one_and_has_a_reason(question):
    paths = [key.path for key in KEYS]
    for path, why in question.may_differ.items():
        assert why
        assert any(path == key or path.startswith(f"{key}.") for key in paths), path


def test_every_key_is_listed_once_with_its_reason():
    assert [key.path for key in KEYS if key.path not in {"digests", "config"}] == list(PLURALS)[:13]
    assert len({key.path for key in KEYS}) == len(KEYS) == 15
    assert all(key.why and key.plural for key in KEYS)


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (42, 42.0), ("42", 42), (None, 0)])
def test_values_of_another_type_differ(one, other):
    pair = changed("seed", one), changed("seed", other)
    assert why_not_comparable(*pair, question=REPEATED) is not None
    inside = changed("config.training.layers", [one]), changed("config.training.layers", [other])
    assert why_not_comparable(*inside, question=REPEATED) is not None
    deep = changed("modified", [{"a": one}]), changed("modified", [{"a": other}])
    assert why_not_comparable(*deep, question=REPEATED) is not None


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("seed", 2, "seeds differ (1, 2)"),
        ("seed", None, "seeds differ (1, absent)"),
        ("config.training.gamma", 0.9, "configurations differ in training.gamma (0.98, 0.9)"),
        ("digests.trainer", "x", "digests differ in trainer ('sha256:trainer', 'x')"),
        ("digests.added", "x", "digests differ in added (absent, 'x')"),
        ("numerics", "n" * 79, "numerics profiles differ"),
        ("numerics", "n" * 78, f"numerics profiles differ ('portable', '{'n' * 78}')"),
    ],
)
def test_the_reason_names_the_key_and_both_values(path, value, reason):
    found = why_not_comparable(RUN, changed(path, value), question=REPEATED)
    assert found == Objection(f"runs are not comparable: {reason}")
    assert found.about("runs/b") == Objection(f"runs/b: runs are not comparable: {reason}")


def test_sections_without_a_difference_below_them_are_equal_inside_lists_too():
    pair = changed("modified", [{"a": 1}]), changed("modified", [{"a": 1}])
    assert why_not_comparable(*pair, question=REPEATED) is None


def test_a_part_that_may_differ_hides_no_other_part():
    run = changed("digests.lock", "sha256:other")
    run["digests"]["trainer"] = "sha256:other"
    found = why_not_comparable(RUN, run, question=ACROSS_MACHINES)
    assert found is not None
    assert "digests differ in trainer" in found.reason


def test_an_objection_without_a_reason_cannot_be_made():
    with pytest.raises(ValueError, match="needs a reason"):
        Objection("")
