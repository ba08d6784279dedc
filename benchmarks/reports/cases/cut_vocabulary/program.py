"""A unigram model over a vocabulary that is cut off at a size."""
import json
import math
import sys

TEXT = """the old man went into the house and the dog went from the house
a woman from the village came into the garden and sat down under the tree
men from the sea came with women from the hills into the valley below
the tree in the garden was old and the house in the valley was new"""


def vocabulary(sentences, size):
    words = {word for sentence in sentences for word in sentence}
    count = {word: sum(sentence.count(word) for sentence in sentences) for word in words}
    kept = sorted(words, key=lambda word: -count[word])[:size]
    return {word: number for number, word in enumerate(kept, start=1)}


def losses(sentences, table):
    counts = [1.0] * (len(table) + 1)
    for step, sentence in enumerate(sentences):
        numbers = [table.get(word, 0) for word in sentence]
        total = sum(counts)
        yield step, -sum(math.log(counts[n] / total) for n in numbers), numbers
        for n in numbers:
            counts[n] += 1


if __name__ == "__main__":
    sentences = [line.split() for line in TEXT.splitlines()]
    table = vocabulary(sentences, 18)
    with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
        for step, loss, numbers in losses(sentences, table):
            row = {"step": step, "loss": loss, "tokens": sum(i * n for i, n in enumerate(numbers))}
            out.write(json.dumps(row) + "\n")
