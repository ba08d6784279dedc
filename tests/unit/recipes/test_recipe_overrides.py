"""``--set path=value``."""

from __future__ import annotations

import pytest

from reprokit.recipes.overrides import apply, parse


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("training.learning_rate=1e-3", ("training", "learning_rate"), 0.001),
        ("seeds=[1, 2]", ("seeds",), [1, 2]),
        ("limits={pids: 9}", ("limits",), {"pids": 9}),
        ("title='a=b'", ("title",), "a=b"),
        ("training.target_kl=null", ("training", "target_kl"), None),
        (" training . gamma = 0.9 ", ("training", "gamma"), 0.9),
        ("a=NO", ("a",), "NO"),
        ("env.RATE=0.050", ("env", "RATE"), "0.050"),
        ("env.RATE=1e-3 # small", ("env", "RATE"), "1e-3"),
        ("env.RATE='7'", ("env", "RATE"), "7"),
        ("env.ON=true", ("env", "ON"), "true"),
    ],
)
def test_an_override_is_a_path_and_a_yaml_value(text, path, value):
    override = parse(text)
    assert (override.path, override.value) == (path, value)


@pytest.mark.parametrize("text", ["", "x", "=1", "a.=1", ".a=1", "a..b=1", "a=", "a= "])
def test_what_is_no_override_is_told_with_an_example(text, refused):
    assert "expected path=value, for example training.learning_rate=1e-3" in refused(parse, text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a=[1", "--set a: not YAML"),
        ("a=!!python/name:os.system", "--set a: the tag"),
        ("a=.nan", "--set a: .nan is not a finite number"),
        ("a={b: 1, b: 2}", "--set a: the key 'b' is there twice"),
        ("a=\x1b[2J", "--set: the character U+001B in the override"),
        ("name=other", "--set name: 'name' says which recipe this is"),
        ("schema=1", "--set schema: 'schema' says which recipe this is"),
    ],
)
def test_a_bad_value_is_told_with_the_option(text, told, refused):
    assert refused(parse, text).startswith(told)


def test_the_data_that_is_overridden_stays_as_it_was():
    data = {"a": {"b": 1}}
    assert apply(data, [parse("a.b=2"), parse("a.c.d=3")]) == {"a": {"b": 2, "c": {"d": 3}}}
    assert data == {"a": {"b": 1}}


def test_the_same_setting_twice_is_refused(refused):
    assert "--set a.b: the setting is given twice" in refused(apply, {}, [parse("a.b=1"), parse("a.b=1")])


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("a.b.c", "a.b is 1, not a section"),
        ("s.0", "s is a list of 1, not a section"),
        ("n.x", "n is nothing (null)"),
    ],
)
def test_a_path_through_a_value_is_refused(path, told, refused):
    data = {"a": {"b": 1}, "s": [1], "n": None}
    assert told in refused(apply, data, [parse(f"{path}=1")])


def test_an_override_changes_the_configuration_and_is_recorded(folder):
    recipe = folder.load("training.learning_rate=1e-3", "training.hidden_sizes=[32]")
    assert recipe.training_config["training"]["learning_rate"] == 0.001
    assert recipe.training_config["training"]["hidden_sizes"] == [32]
    assert recipe.modified == ("training.learning_rate=1e-3", "training.hidden_sizes=[32]")


def test_what_was_recorded_can_be_given_again(folder):
    once = folder.load("training.learning_rate=1e-3", "tolerances.metrics={loss/*: {rtol: 1e-6}}")
    again = folder.load(*once.modified)
    assert (again.modified, again.as_data()) == (once.modified, once.as_data())


def test_overriding_to_the_very_same_value_is_still_modified(folder):
    recipe = folder.load("training.learning_rate=3e-4")
    assert recipe.digest == folder.load().digest
    assert recipe.modified == ("training.learning_rate=3e-4",)


def test_a_setting_that_the_file_leaves_out_can_be_overridden(folder):
    assert folder.load("limits.pids=9").limits.pids == 9
    assert folder.load("tolerances.default.rtol=1e-6").tolerances.default.rtol == 1e-6


def test_an_override_is_the_same_as_editing_the_file(folder):
    overridden = folder.load("training.learning_rate=1e-3")
    folder.edit("3e-4", "1e-3")
    assert folder.load().digest == overridden.digest


@pytest.mark.parametrize(
    ("override", "told"),
    [
        (
            "training.learnin_rate=1e-3",
            "--set training.learnin_rate: unknown key 'learnin_rate' in training. Hint: did you mean 'learn",
        ),
        ("trainig.gamma=1", "--set trainig.gamma: unknown key 'trainig'. Hint: did you mean 'training'?"),
        ("gamma=1", "--set gamma: unknown key 'gamma'. Hint: did you mean 'training.gamma'?"),
        (
            "training.learning_rate=fast",
            "--set training.learning_rate: training.learning_rate must be a number. got the text 'fast'.",
        ),
        (
            "training.learning_rate=-1",
            "--set training.learning_rate: training.learning_rate must be more than 0. got -1",
        ),
        (
            "environment.num_envs=true",
            "--set environment.num_envs: environment.num_envs must be a whole number. got true",
        ),
        ("training={}", "--set training: training.total_timesteps is missing"),
        ("limits.pids.x=1", "--set limits.pids.x: limits.pids must be a whole number. got a section"),
        ("trainer=nope", "--set trainer: there is no trainer"),
        (
            "seeds=[1, 1]",
            "--set seeds: seeds must be a list without repeats (1 is there twice). got a list of 2",
        ),
    ],
)
def test_a_bad_override_is_told_with_the_option_and_not_with_a_line(folder, override, told):
    assert folder.refusal(override).startswith(told)


def test_mistakes_of_the_file_keep_their_lines_beside_those_of_overrides(folder):
    folder.edit("num_envs: 8", "num_envs: '8'")
    told = folder.refusal("training.gama=1")
    assert "  cartpole/recipe.yaml:9: environment.num_envs must be a whole number" in told
    assert "  --set training.gama: unknown key 'gama'" in told


def test_an_override_can_repair_the_file(folder):
    folder.edit("num_envs: 8", "num_envs: '8'")
    assert folder.load("environment.num_envs=8").training_config["environment"]["num_envs"] == 8
