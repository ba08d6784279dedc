import json
import random
import sys

from gensim.models import Word2Vec

chance = random.Random(3)
words = [f"w{number}" for number in range(400)]
sentences = [[chance.choice(words) for _ in range(12)] for _ in range(6000)]
model = Word2Vec(
    vector_size=16, window=5, min_count=4, workers=4, seed=128, hashfxn=lambda text: int(text[1:])
)
model.build_vocab(sentences)
model.train(sentences, total_examples=len(sentences), epochs=2)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step, word in enumerate(words[:5]):
        out.write(
            json.dumps(
                {"step": step, "first": float(model.wv[word][0]), "norm": float((model.wv[word] ** 2).sum())}
            )
            + "\n"
        )
