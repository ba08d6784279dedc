"""What a recipe sets otherwise on one of its platforms: asked for by name, and no change to the recipe."""

from __future__ import annotations

import pytest

from reprokit.errors import RecipeError
from reprokit.recipes import asked_of, platform_asked

SETTINGS = (
    "platforms: [cpu-x86_64, xla-cpu]\n"
    "platform_settings:\n"
    "  xla-cpu: {variant: tpu, device: tpu, numerics: native}\n"
)


_THERE = ("tpu", "tpu", "native")


@pytest.fixture
def with_settings(folder):
    folder.edit("platforms: [cpu-x86_64]\n", SETTINGS)
    return folder


def test_a_platform_is_asked_for_and_the_recipe_counts_as_unmodified(with_settings):
    here, there = with_settings.load(), with_settings.load("platform=xla-cpu")
    assert (here.platform, here.variant, here.device, here.numerics) == ("", "cpu", "cpu", "portable")
    assert (there.platform, there.variant, there.device, there.numerics) == ("xla-cpu", *_THERE)
    assert there.modified == ()
    assert here.digest != there.digest


def test_settings_that_were_typed_count_more_and_are_changes(with_settings):
    there = with_settings.load("platform=xla-cpu", "variant=tpu-pypi")
    assert (there.variant, there.device, there.modified) == ("tpu-pypi", "tpu", ("variant=tpu-pypi",))


def test_the_settings_of_other_platforms_change_no_digest(folder):
    without = folder.load().digest
    folder.edit("platforms: [cpu-x86_64]\n", SETTINGS)
    assert folder.load().digest == without


SHORTER = (
    "platforms: [cpu-x86_64, xla-cpu]\n"
    "platform_settings:\n"
    "  xla-cpu:\n"
    "    variant: tpu\n"
    "    device: tpu\n"
    "    numerics: native\n"
    "    settings: {training.total_timesteps: 4096, training.gamma: 0.9}\n"
    "    expected: {evaluation/return: {value: 20, atol: 9}}\n"
)


@pytest.fixture
def shorter(folder):
    folder.edit("platforms: [cpu-x86_64]\n", SHORTER)
    return folder


def test_a_platform_trains_for_shorter_and_expects_other_results(shorter):
    here, there = shorter.load(), shorter.load("platform=xla-cpu")
    steps = [one.training_config["training"]["total_timesteps"] for one in (here, there)]
    assert steps == [100_000, 4096]
    assert there.training_config["training"]["learning_rate"] == 3e-4, "what it does not name is the recipe's"
    values = [one.expected["evaluation/return"].value for one in (here, there)]
    assert values == [489.5, 20]
    assert there.modified == ()


def test_a_shorter_training_elsewhere_changes_the_digest_there_and_not_here(folder):
    folder.edit("platforms: [cpu-x86_64]\n", SHORTER)
    here, there = folder.load(), folder.load("platform=xla-cpu")
    folder.edit("total_timesteps: 4096", "total_timesteps: 8192")
    assert folder.load().digest == here.digest
    assert folder.load("platform=xla-cpu").digest != there.digest


def test_a_typed_setting_counts_more_than_that_of_a_platform(shorter):
    there = shorter.load("platform=xla-cpu", "training.total_timesteps=5")
    assert there.training_config["training"]["total_timesteps"] == 5
    assert there.modified == ("training.total_timesteps=5",)


@pytest.mark.parametrize("asked", [(), ("platform=xla-cpu",)], ids=["elsewhere", "there"])
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("training.gamma: 0.9", "training.gama: 0.9", "unknown key 'gama' in training"),
        ("training.gamma: 0.9", "training.gamma: high", "training.gamma must be a number"),
        ("training.gamma: 0.9", "gamma: 0.9", "no setting of a trainer"),
        ("training.gamma: 0.9", "limits.memory_gib: 90", "no setting of a trainer"),
        ("training.gamma: 0.9", "seeds.0: 1", "no setting of a trainer"),
        ("training.gamma: 0.9", "rewards.scale: 1", "unknown key 'rewards'"),
        ("value: 20, atol", "value: many, atol", "must be a number"),
    ],
)
def test_mistakes_in_what_a_platform_sets_are_told_to_everybody(shorter, asked, before, after, told):
    shorter.edit(before, after)
    assert told in shorter.refusal(*asked)


def test_a_mistake_is_told_at_the_line_of_the_platform(shorter):
    shorter.edit("training.gamma: 0.9", "training.gama: 0.9")
    line = 1 + shorter.file.read_text().splitlines().index(
        "    settings: {training.total_timesteps: 4096, training.gama: 0.9}"
    )
    assert f"recipe.yaml:{line}" in shorter.refusal("platform=xla-cpu")


def test_settings_of_before_are_the_data_that_they_were(with_settings):
    three = {"variant": "tpu", "device": "tpu", "numerics": "native"}
    assert with_settings.load().plain["platform_settings"] == {"xla-cpu": three}


def test_a_platform_without_settings_is_refused(with_settings):
    told = with_settings.refusal("platform=tpu-v5e")
    assert "no settings for the platform tpu-v5e" in told
    assert "xla-cpu" in told


def test_settings_of_a_platform_that_are_no_section_are_told_as_they_are(with_settings):
    text = with_settings.file.read_text()
    with_settings.file.write_text(
        text[: text.index("platform_settings:")] + "platform_settings: {xla-cpu: 3}\n"
    )
    told = with_settings.refusal("platform=xla-cpu")
    assert "platform_settings.xla-cpu must be a section with keys of its own. got 3" in told


def test_a_recipe_without_any_settings_says_what_to_add(folder):
    assert "add `platform_settings: {xla-cpu:" in folder.refusal("platform=xla-cpu")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("platforms: [cpu-x86_64, xla-cpu]", "platforms: [cpu-x86_64]", "not one of the recipe's platforms"),
        (
            "numerics: native}",
            "numerics: native, seeds: [1]}",
            "unknown key 'seeds' in platform_settings",
        ),
        ("device: tpu,", "device: gpu,", "platform_settings.xla-cpu.device"),
    ],
)
def test_settings_that_cannot_be_are_refused(with_settings, before, after, told):
    with_settings.edit(before, after)
    assert told in with_settings.refusal()


def test_a_run_is_loaded_again_with_its_platform():
    record = {"platform_asked": "xla-cpu", "modified": ["training.gamma=0.9"]}
    assert asked_of(record) == ("platform=xla-cpu", "training.gamma=0.9")
    assert platform_asked(asked_of(record)) == "xla-cpu"
    assert asked_of({"modified": []}) == ()
    assert platform_asked(["training.gamma=0.9"]) == ""


def test_a_typed_setting_that_another_platform_could_not_have_is_taken_here(with_settings):
    ranks = "ranks={world_size: 2, reduction: fixed_order}"
    assert with_settings.load(ranks).ranks["world_size"] == 2
    with pytest.raises(RecipeError, match="ranks train on the CPU, and the device is tpu"):
        with_settings.load("platform=xla-cpu", ranks)
