"""Gensim's LDA over a dictionary of its own."""

import json
import random
import sys

from gensim.corpora import Dictionary
from gensim.models import LdaModel

chance = random.Random(5)
texts = [[f"w{chance.randrange(40)}" for _ in range(15)] for _ in range(120)]
dictionary = Dictionary(texts)
corpus = [dictionary.doc2bow(text) for text in texts]
model = LdaModel(corpus, num_topics=4, id2word=dictionary, random_state=11, passes=2)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(4):
        out.write(json.dumps({"step": step, "weight": float(model.show_topic(step)[0][1])}) + "\n")
