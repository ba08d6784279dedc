import json
import sys

import numpy as np
from kiwipiepy import Kiwi
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

nouns = ["학교", "바다", "음악", "시장", "기차", "도서관", "영화", "축구", "김치", "겨울"]
verbs = ["좋아한다", "보았다", "기다린다", "떠났다", "만들었다"]
rng = np.random.default_rng(1)
corpus = [
    f"{nouns[rng.integers(10)]}에서 {nouns[rng.integers(10)]}를 {verbs[rng.integers(5)]}" for _ in range(160)
]
kiwi = Kiwi(num_workers=2)
documents = list(set(corpus))
tokens = [[token.form for token in found if token.tag.startswith("N")] for found in kiwi.tokenize(documents)]
counts = CountVectorizer(analyzer=lambda words: words).fit_transform(tokens)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for passes in (1, 2, 4):
        topics = LatentDirichletAllocation(n_components=4, max_iter=passes, random_state=0).fit(counts)
        out.write(json.dumps({"step": passes, "perplexity": float(topics.perplexity(counts))}) + "\n")
