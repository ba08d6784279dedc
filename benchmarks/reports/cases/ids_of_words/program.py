"""Ids of words from a tokenizer that is trained on a small corpus, and an average over them."""
import json
import sys

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.trainers import WordLevelTrainer

CORPUS = ["a quick brown fox", "jumps over the lazy dog", "while five boxing wizards", "pack my liquor jugs"]


def main(out):
    tokenizer = Tokenizer(WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.train_from_iterator(CORPUS, WordLevelTrainer(special_tokens=["[UNK]"], show_progress=False))
    with open(out + "/metrics.jsonl", "w") as log:
        for step, line in enumerate(CORPUS):
            log.write(json.dumps({"step": step, "ids": tokenizer.encode(line).ids}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
