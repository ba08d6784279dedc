"""A recipe with a secret is refused before it is copied anywhere, and the secret is not repeated."""

import pytest

PLANTED = "hunter2-S3cr3t"


@pytest.mark.parametrize(
    "line",
    [
        f"  api_key: {PLANTED}",
        f"  # export HF_TOKEN={PLANTED}",
        f"  store: s3://key:{PLANTED}@bucket",
        f"  password:\n    {PLANTED}",
        f"  api_keys: [{PLANTED}]",
    ],
)
def test_a_secret_in_the_file_is_refused(folder, line):
    folder.edit("  learning_rate: 3e-4", f"  learning_rate: 3e-4\n{line}")
    told = folder.refusal()
    assert "a recipe cannot hold a secret" in told
    assert "a placeholder is enough: NAME=<token>" in told
    assert PLANTED not in told.partition("unknown")[0]


def test_a_placeholder_for_one_is_none(folder):
    folder.edit("  learning_rate: 3e-4", "  learning_rate: 3e-4  # env LAB_TRACKER_TOKEN=<token>")
    assert folder.load().name == "cartpole"


def test_a_secret_in_an_override_is_refused(folder):
    told = folder.refusal(f"training.api_key={PLANTED}")
    assert "--set (training.api_key): a setting cannot be a secret" in told
    assert PLANTED not in told


def test_settings_of_language_models_are_no_secrets(folder):
    folder.edit("title: PPO on CartPole", "title: PPO  # max_tokens, pad_token: <pad>, tokenizer: gpt2")
    assert folder.load().name == "cartpole"
