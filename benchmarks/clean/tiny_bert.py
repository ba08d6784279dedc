"""Transformers: a very small model of its own configuration, trained a few steps."""

import json
import sys

import torch
from transformers import BertConfig, BertForMaskedLM, set_seed

set_seed(3)
config = BertConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
)
model = BertForMaskedLM(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(4):
        batch = torch.randint(0, 50, (4, 10))
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        out.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")
