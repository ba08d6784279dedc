import json, random, sys

value = 1.0
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(4):
        value -= 0.2 * random.random()
        log.write(json.dumps({"step": step, "loss": value}) + "\n")
