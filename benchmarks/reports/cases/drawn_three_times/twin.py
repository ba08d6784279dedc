"""A small language model of transformers, built after a seed is set and trained on a few tokens."""
import json
import sys

import torch
from transformers import OPTConfig, OPTForCausalLM
from transformers.modeling_utils import no_init_weights


def main(out):
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "ffn_dim": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "word_embed_proj_dim": 16}
    with no_init_weights():
        model = OPTForCausalLM(OPTConfig(vocab_size=40, max_position_embeddings=16, **sizes))
    model.init_weights()
    tokens = torch.randint(3, 40, (4, 12))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    with open(out + "/metrics.jsonl", "w") as log:
        for step in range(6):
            loss = model(input_ids=tokens, labels=tokens).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
