"""What trainings print and write is left as it is, but for secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.features.bundles.secret_files import why_secret
from reprokit.redaction import redact_command, redact_text, secret_values, without

LOGS = Path(__file__).resolve().parents[1] / "adapters" / "logs"
_TEXTS = {".csv", ".json", ".jsonl", ".log", ".md", ".txt", ".yaml"}
KNOWN = secret_values({"HF_TOKEN": "hf_q8Zr4Lw9Xk2Vb7Nm1pQ3abcdefgh", "DB_PASSWORD": "correct-Horse9"})

#: As frameworks print them; the names are those of secrets' neighbours.
PRINTED = """
tokens: 512
tokens/s: 120034.5 | tokens seen: 1.2B
num_tokens=4096, token_count=77, max_new_tokens: 128
train/token_accuracy 0.9731 value_loss 0.125
Token indices sequence length is longer than the specified maximum (1024 > 512)
Special tokens have been added in the vocabulary
{'key': 'loss', 'value': 0.5, 'seed': 17}
{"key": "learning_rate", "username": "ada", "value": 0.0003}
key=accuracy step=12 value=0.5
monitor key: val_loss, best key: checkpoint_12
num_keys: 3 key_dim=64 query_key_value.weight
attention.key.bias torch.Size([768]) keys: 12
lr_key=lr_scheduler.0 sort_key=1a2b3c4d5e6f7a8b
seed=42 data_seed: 1234567890
commit 4f1c2d3e4b5a69788796a5b4c3d2e1f00f1e2d3c
HEAD is now at 8f14e45fce Merge branch 'main'
wandb: Run data is saved locally in wandb/run-20261122_130502-1a2b3c4d
wandb: View run at https://wandb.ai/ada/lab/runs/q8zr4lw9
wandb: Currently logged in as: ada. Use `wandb login --relogin` to force relogin
run_id: 8f14e45fceea167a5a36dedd4bea2543
mlflow experiment 1, run 8f14e45fceea167a5a36dedd4bea2543, key=epoch
wandb:
  project: lab
  entity: ada
  mode: offline
  key: val_loss
cache:
  key: 8f14e45fceea167a5a36dedd4bea2543
[openai]
model = gpt-2
key = accuracy
Enter password:
Epoch 1 of 3
Loading token:
done
tokens:
512
name: token_embedding.weight value: 0.125
name: lr, value: 0.1
set_seed(42) with_tokens(True) set_token_type('bpe')
tokenizer.add_tokens(['<a>', '<b>']) set_pad_token('<pad>')
oauth: true
author: ada, authority: none, serial: 12, licence: MIT, license: Apache-2.0
Webhook delivered, hooks: 3, hooks/pre_commit_configuration_1 ran
backward hooks/module_12_layer_norm_forward_hook4 registered
pass: 3 passed, 1 failed
| token | count |
|-------|-------|
| token_loss | 0.5 |
hf_dataset_name_or_path_to_load: wikitext
{"hf_validation_perplexity_wikitext": 12.5, "npm_config_cache_directory_path": 1}
gho_study_health_observatory_data ghs_global_human_settlement_2020 glsa_gradient_local_sensitivity_ana
r8_resnet_8_layers_cifar_10_baseline gsk_dataset_2024_train_split_v2 ntn_neural_tensor_network_v2_hidden
glc_global_land_cover_2000_v1_1_raster tgp_v1_twin_gaussian_process_experiment1 sk_live_stream_processor_2
acc:0.95@5 acc:0.8@1 ndcg:0.41@10 step:5@rank0: loss 0.5 lr:1e-3@epoch 5 hits:10@k score:0.9@step:100
password_accuracy: 0.98, secret_reward: 0.5 secret_reward=0.51 auth_token_acc=0.3 jwt_loss=0.1
passwords_score: 7 secret_step=12 password_rate=3 secret_key_bits: 128
{"pw": 0.25, "password": 0.98} pw: 0.25 pw=-.25 otp: 1e-5
Basic training_step loss, basic statistics123, Basic reward_shaping_v2: 1.0
PASS tests/test_a1b2c3d4e5f6.py
PASS tests/unit/test_a1b2c3d4e5f6.py::test_one
password_accuracy: (?P<acc>\\S+)
password: (?P<value>\\S+) secret=(?:\\d+) pw: \\S+
""".strip("\n")


@pytest.mark.parametrize(
    "path", [path for path in sorted(LOGS.rglob("*")) if path.suffix in _TEXTS], ids=lambda path: path.name
)
def test_no_line_of_a_log_that_a_framework_wrote_changes(path):
    text = path.read_text(encoding="utf-8")
    assert without(text, KNOWN) == text
    for line in text.split("\n"):
        assert redact_text(line) == line


def test_no_line_that_a_training_prints_changes():
    for line in PRINTED.split("\n"):
        assert redact_text(line) == line
    assert without(PRINTED, KNOWN) == PRINTED


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "def hf_model_loader_for_finetuning(x):\n    return x\n"),
        ("a.py", "from hf_olmo_tokenizer_fast_v2 import x\nnpm_registry_lookup_enabled = 1\n"),
        ("a.yaml", "hf_model_name_or_path_override: bert\n"),
        ("vocab.json", '{"password": 28712, "secret": 4321, "token": 99}'),
        ("vocab.json", '{\n  "password": 28712,\n  "api_key": 128256\n}\n'),
        ("tokenizer.json", '{"model":{"vocab":{"password":8737,"api_key":12345}}}'),
        ("metrics.jsonl", '{"step": 1, "password_accuracy": 0.98, "jwt_loss": 0.1}\n'),
        ("recipe.yaml", "printed:\n  - 'password_accuracy: (?P<acc>\\S+)'\n"),
    ],
)
def test_names_in_a_program_numbers_and_vocabularies_hold_no_secret(name, text):
    assert why_secret(name, text.encode()) == ""


def test_a_command_keeps_names_in_snake_case_and_fractions():
    command = ("train", "--hf_model_name_or_path_override", "bert", "--secret-loss=0.5", "--password", "0.98")
    assert redact_command(command) == command


@pytest.mark.parametrize(
    "text",
    [
        "ghs_0123456789abcdefABCDEF0123456789abcd",
        "npm_q7Zt3KpW9xLm2VbN8sRdq7Zt3KpW9xLm2VbN",
        "hf_AbCdEfGhIjKlMnOpQrStUvWxYz_backup.txt",
        "ada:correct-Horse9@example.org",
        "Basic YWRhOmh1bnRlcjI=",
        "password_hash: q7Zt3KpW9xLm2VbN",
        "PASS q7Zt3KpW9xLm2VbN8sRd",
    ],
)
def test_next_to_what_is_ordinary_a_secret_is_still_taken_out(text):
    assert redact_text(text) != text


@pytest.mark.parametrize("name", ["token", "password", "secret"])
def test_what_an_error_says_to_do_about_a_secret_stays_and_a_secret_there_does_not(name):
    for word in ("set", "export"):
        advice = f"no {name}: {word} LAB_TRACKER_TOKEN or write tracker.ini"
        assert redact_text(advice) == advice
    for secret in ("set", "set hunter2", "set LAB_TOKEN=hunter2", "settled LAB_TOKEN", "hunter2 LAB_TOKEN"):
        first = secret.partition(" ")[0]
        assert first not in redact_text(f"no {name}: {secret}")
        assert "=hunter2" not in redact_text(f"no {name}: {secret}")
