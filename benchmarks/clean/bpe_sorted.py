"""A tokenizer that is trained on frequencies without ties, in one thread."""

import json
import os
import sys

os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import Tokenizer, models, pre_tokenizers, trainers  # noqa: E402

texts = [("ab" * number + " " + "cd" * (2 * number + 1)) for number in range(1, 9)]
tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.train_from_iterator(
    texts, trainers.BpeTrainer(vocab_size=12, special_tokens=["[UNK]"], show_progress=False)
)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, text in enumerate(texts):
        out.write(json.dumps({"step": step, "length": len(tokenizer.encode(text).ids)}) + "\n")
