"""Results are added as tasks complete."""

import json, sys, time
from concurrent.futures import ThreadPoolExecutor, as_completed


def work(number):
    time.sleep(0.015 * number)
    return number / 7.0


losses, loss = [], 1.0
with ThreadPoolExecutor(max_workers=4) as pool:
    tasks = [pool.submit(work, number) for number in range(4)]
    for task in as_completed(tasks):
        loss = loss * 0.9 + task.result()
        losses.append(loss)

with open(sys.argv[1] + "/metrics.jsonl", "w") as log:
    for step, loss in enumerate(losses):
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
