"""What a recipe sets otherwise on one of its platforms: asked for by name, and no change to the recipe."""

from __future__ import annotations

import pytest

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


def test_a_platform_without_settings_is_refused(with_settings):
    told = with_settings.refusal("platform=tpu-v5e")
    assert "no settings for the platform tpu-v5e" in told
    assert "xla-cpu" in told


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
