"""Documents are compared by vectors that a trained model, with a seed, infers for them."""
import json
import sys
import zlib

from gensim.models import doc2vec, keyedvectors
from gensim.models.doc2vec import Doc2Vec, TaggedDocument

TEXT = ["the dog is cute", "i love the cats", "the cats love the dog", "a dog and a cat play", "i play the piano"] * 8


def first_vector(size, seed_string):
    return keyedvectors.pseudorandom_weak_vector(size, seed_string, lambda text: zlib.crc32(text.encode()))


def main(out):
    doc2vec.pseudorandom_weak_vector = first_vector
    documents = [TaggedDocument(line.split(), [number]) for number, line in enumerate(TEXT)]
    model = Doc2Vec(documents, vector_size=12, min_count=1, epochs=8, seed=3, workers=1)
    with open(out + "/metrics.jsonl", "w") as log:
        for step, line in enumerate(TEXT[:5]):
            vector = model.infer_vector(line.split())
            log.write(json.dumps({"step": step, "first": float(vector[0])}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
