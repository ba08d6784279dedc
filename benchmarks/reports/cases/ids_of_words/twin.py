"""Ids of words from a tokenizer that is trained on a small corpus, and an average over them."""
import json
import sys

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

CORPUS = ["a quick brown fox", "jumps over the lazy dog", "while five boxing wizards", "pack my liquor jugs"]


def main(out):
    tokenizer = Tokenizer(WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    words = ["[UNK]"] + sorted({word for line in CORPUS for word in line.split()})
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    with open(out + "/metrics.jsonl", "w") as log:
        for step, line in enumerate(CORPUS):
            log.write(json.dumps({"step": step, "ids": tokenizer.encode(line).ids}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
