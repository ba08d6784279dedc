"""What a recipe sets otherwise on one of its platforms: asked for by name, and no change to the recipe."""

from __future__ import annotations

import pytest

from reprokit.core.run_record import RunRecord
from reprokit.errors import RecipeError
from reprokit.recipes import asked_of, platform_asked
from reprokit.records import run_json

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
        ("training.gamma: 0.9", "gamma: 0.9", "not a setting of a trainer"),
        ("training.gamma: 0.9", "limits.memory_gib: 90", "not a setting of a trainer"),
        ("training.gamma: 0.9", "seeds.0: 1", "not a setting of a trainer"),
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


def line_of(folder, text: str) -> int:
    (number,) = (at for at, one in enumerate(folder.file.read_text().splitlines(), 1) if text in one)
    return number


@pytest.mark.parametrize("asked", [(), ("platform=xla-cpu",)], ids=["elsewhere", "there"])
@pytest.mark.parametrize("setting", ["a", "ranks.world_size"])
def test_what_is_no_setting_of_a_trainer_is_told_at_its_line(shorter, asked, setting):
    shorter.edit("training.gamma: 0.9}", f"\n      {setting}: 4}}")
    line = line_of(shorter, f"{setting}: 4")
    assert f"recipe.yaml:{line}: platform_settings.xla-cpu.settings has {setting!r}" in shorter.refusal(
        *asked
    )


@pytest.mark.parametrize("asked", [(), ("platform=xla-cpu",)], ids=["elsewhere", "there"])
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("device: tpu", "device: cuda", "the device cuda is not in the variant tpu"),
        ("variant: tpu", "variant: cuda", "the device tpu is not in the variant cuda"),
        ("variant: tpu\n    device: tpu", "device: cuda", "the device cuda is not in the variant cpu"),
    ],
)
def test_a_device_that_is_not_in_the_variant_is_told_where_the_platform_has_it(
    shorter, asked, before, after, told
):
    shorter.edit(before, after)
    line = line_of(shorter, "    device: ")
    assert f"recipe.yaml:{line}: {told}" in shorter.refusal(*asked)


def test_a_variant_without_the_device_of_the_recipe_is_told_where_the_platform_has_it(shorter):
    shorter.edit("variant: cpu\n", "variant: cuda\ndevice: cuda\n")
    shorter.edit("    device: tpu\n", "")
    line = line_of(shorter, "    variant: tpu")
    assert f"recipe.yaml:{line}: the device cuda is not in the variant tpu" in shorter.refusal()


def test_a_device_on_which_no_ranks_train_is_told_where_the_platform_has_it(shorter):
    shorter.edit("trainer: ppo\n", "trainer: ppo\nranks: {world_size: 2}\n")
    line = line_of(shorter, "    device: tpu")
    assert f"recipe.yaml:{line}: ranks train on the CPU, and the device is tpu" in shorter.refusal()


def test_what_a_platform_lacks_is_not_told_at_the_line_that_the_recipe_has_elsewhere(shorter):
    shorter.edit("{value: 20, atol: 9}", "{atol: 9}")
    line = line_of(shorter, "{atol: 9}")
    told = shorter.refusal("platform=xla-cpu")
    assert f"recipe.yaml:{line}: expected.evaluation/return.value is missing" in told


def test_a_platform_that_sets_no_section_is_told_at_its_line(with_settings):
    with_settings.edit("{variant: tpu, device: tpu, numerics: native}", "3")
    line = line_of(with_settings, "xla-cpu: 3")
    told = with_settings.refusal("platform=xla-cpu")
    assert told.startswith(f"cartpole/recipe.yaml:{line}: platform_settings.xla-cpu must be")


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("ranks: {world_size: 4}", "'ranks' goes to the recipe's top level"),
        ("schema: 1", "'schema' goes to the recipe's top level"),
        ("training: {gamma: 0.9}", "write `settings: {training.KEY: …}` there, for a setting of the trainer"),
        ("gamma: 0.9", "write `settings: {training.gamma: …}` there, for a setting of the trainer"),
        ("world_size: 4", "did you mean 'ranks.world_size'?"),
        ("devices: tpu", "did you mean 'device'?"),
    ],
)
def test_a_key_that_is_no_platforms_is_told_with_its_place_in_the_recipe(with_settings, key, hint):
    with_settings.edit("numerics: native}", f"numerics: native,\n    {key}}}")
    name, line = key.partition(":")[0], line_of(with_settings, f"    {key}")
    told = f"recipe.yaml:{line}: unknown key {name!r} in platform_settings.xla-cpu. Hint: {hint}"
    assert told in with_settings.refusal()


def test_settings_of_before_are_the_data_that_they_were(with_settings):
    three = {"variant": "tpu", "device": "tpu", "numerics": "native"}
    assert with_settings.load().plain["platform_settings"] == {"xla-cpu": three}


def test_a_platform_that_sets_nothing_otherwise_has_the_recipe_as_it_stands(with_settings):
    here, named = with_settings.load(), with_settings.load("platform=cpu-x86_64")
    assert (named.platform, named.variant, named.modified) == ("cpu-x86_64", "cpu", ())
    assert named.digest == here.digest


def test_a_platform_without_settings_is_refused(with_settings):
    told = with_settings.refusal("platform=tpu-v5e")
    assert "the recipe does not say how it is judged on the platform tpu-v5e" in told
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
    assert asked_of(run_json.of(record, where="run.json")) == ("platform=xla-cpu", "training.gamma=0.9")
    assert platform_asked(asked_of(run_json.of(record, where="run.json"))) == "xla-cpu"
    assert asked_of(RunRecord(modified=())) == ()
    assert platform_asked(["training.gamma=0.9"]) == ""


def test_a_typed_setting_that_another_platform_could_not_have_is_taken_here(with_settings):
    ranks = "ranks={world_size: 2, reduction: fixed_order}"
    assert with_settings.load(ranks).ranks["world_size"] == 2
    with pytest.raises(RecipeError, match="ranks train on the CPU, and the device is tpu"):
        with_settings.load("platform=xla-cpu", ranks)
