"""Make a tiny model, its tokenizer and a few texts for the Hugging Face trainer, all from nothing."""

import json
import random
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

WORDS = "the a cat dog bird sees hears likes red blue small and or not with under".split()
vocabulary = {word: n for n, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
fast.save_pretrained("model")
torch.manual_seed(0)
config = GPT2Config(
    vocab_size=len(vocabulary), n_positions=64, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1
)
GPT2LMHeadModel(config).save_pretrained("model")
Path("data").mkdir()
source = random.Random(0)
texts = [{"text": " ".join(source.choices(WORDS, k=12))} for _ in range(64)]
Path("data", "train.jsonl").write_text("".join(json.dumps(one) + "\n" for one in texts))
