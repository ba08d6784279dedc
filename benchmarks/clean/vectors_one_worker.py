"""Gensim's Word2Vec with one worker and a hash that is the same in each process."""

import json
import random
import sys
import zlib

from gensim.models import Word2Vec

chance = random.Random(3)
words = [f"w{number}" for number in range(100)]
sentences = [[chance.choice(words) for _ in range(8)] for _ in range(500)]
model = Word2Vec(sentences, vector_size=8, workers=1, seed=1, hashfxn=lambda text: zlib.crc32(text.encode()))
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, word in enumerate(words[:4]):
        out.write(json.dumps({"step": step, "first": float(model.wv[word][0])}) + "\n")
