"""What trainings print and write is left as it is, but for secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.redaction import redact_text, secret_values, without

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
