"""Word vectors by fastText, which seeds its generators itself."""
import json
import sys

import fasttext

SUBJECTS = "king queen man woman prince princess boy girl".split()
VERBS = "rules sees loves hears finds".split()


def main(out):
    text = out + "/text.txt"
    with open(text, "w") as file:
        for number in range(1200):
            one, other = SUBJECTS[number % 8], SUBJECTS[(3 * number + 1) % 8]
            file.write(f"the {one} {VERBS[number % 5]} the {other}\n")
    model = fasttext.train_unsupervised(
        text, model="skipgram", dim=8, epoch=5, minCount=1, bucket=200, thread=1, verbose=0
    )
    with open(out + "/metrics.jsonl", "w") as log:
        for step, word in enumerate(SUBJECTS):
            log.write(json.dumps({"step": step, "first": float(model.get_word_vector(word)[0])}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
