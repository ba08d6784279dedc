"""`reprokit diagnose --resume` names what was not restored: by putting it in, and nothing else."""

import json
import subprocess
import sys

import pytest

LOOP = """\
import argparse, json, random
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--stop-after", type=int, default=12)
parser.add_argument("--resume", type=Path)
given = parser.parse_args()

class Speed:
    def __init__(self):
        self.kept = {}

def batches(rate):
    model = [7.0, rate]  # the name of what is restored, in another function
    for one in range(3):
        model = [model[0] + one, rate]
    return model[0]

def train():
    random.seed(3)
    model, speed, epoch, batch, seen = [1.0, 2.0], Speed(), 0, 0, 0
    draws = random.Random(5)
    if given.resume:
        saved = json.loads((given.resume / "saved.json").read_text())
        model, epoch, batch = saved["model"], saved["epoch"], saved["batch"]
        RESTORE
    log = open(given.folder / "metrics.jsonl", "w")
    update = 4 * epoch + batch
    while epoch < 3:
        for batch in range(batch, 4):
            if update == given.stop_after:
                log.close()
                return save(model, speed, epoch, batch, draws)
            push = batches(0.5) / 10 + draws.random()
            speed.kept["first"] = 0.5 * speed.kept.get("first", 0.0) - model[0] * push
            model = [model[0] + 0.1 * speed.kept["first"], model[1] * 0.9]
            update, seen = update + 1, seen + 1
            log.write(json.dumps({"COLUMN": update, "loss": sum(model)}) + "\\n")
        epoch, batch = epoch + 1, 0
    log.close()

def save(model, speed, epoch, batch, draws):
    state = draws.getstate()
    saved = {"model": model, "epoch": epoch, "batch": batch, "speed": speed.kept, "state": state}
    (given.folder / "saved.json").write_text(json.dumps(saved))

train()
"""
SPEED = 'speed.kept = saved["speed"]'
DRAWS = 'state = saved["state"]; draws.setstate((state[0], tuple(state[1]), state[2]))'

PART = "class Part:\n    def __init__(self):\n        self.draws = random.Random(5)\n\n"


@pytest.fixture
def answer(tmp_path):
    def ask(restore, *, column="step", stop=6):
        (tmp_path / "train.py").write_text(LOOP.replace("RESTORE", restore).replace("COLUMN", column))
        command = [sys.executable, "-m", "reprokit", "diagnose", "--json", "--resume"]
        command += ["--reports-dir", str(tmp_path / "reports"), "--stop-args", f"--stop-after {stop}"]
        command += ["--resume-args", "--resume {stopped_run_dir}"]
        command += ["--", sys.executable, "train.py", "{run_dir}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    return ask


def lines(part):
    return [number for number, line in enumerate(LOOP.splitlines(), 1) if part in line]


@pytest.mark.slow
@pytest.mark.parametrize("column", ["step", "iteration", "round", "trial", "epoch"])
def test_a_dict_that_is_missing_after_resuming_in_the_middle_of_an_epoch_is_named(answer, column):
    code, found = answer(DRAWS, column=column)
    assert (code, found["state"]) == (1, ["speed.kept['first']"])
    assert (found["cause"]["category"], found["cause"]["confidence"]) == ("resume_state", "high")
    assert [found["cause"]["line"]] == lines("speed, epoch, batch, seen =")


@pytest.mark.slow
def test_a_generator_that_is_not_restored_is_named_where_it_is_made(answer):
    code, found = answer(SPEED)
    assert (code, found["state"]) == (1, ["draws"])
    assert [found["cause"]["line"]] == lines("draws = random.Random(5)")


@pytest.mark.slow
def test_two_things_that_are_not_restored_are_both_named(answer):
    code, found = answer("pass")
    assert (code, sorted(found["state"])) == (1, ["draws", "speed.kept['first']"])


@pytest.mark.slow
@pytest.mark.parametrize("stop", [4, 6])
def test_what_is_restored_is_not_accused(answer, stop):
    code, found = answer(f"{SPEED}; {DRAWS}", stop=stop)
    assert (code, found["verdict"], found["cause"], found["state"]) == (0, "REPEATABLE", None, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "written", ['"step": seen', '"value": 1'], ids=["numbered from 0 again", "without numbers"]
)
@pytest.mark.parametrize("restore", [f"{SPEED}; {DRAWS}", DRAWS], ids=["all", "not all"])
def test_records_that_no_step_places_are_placed_by_the_updates_that_were_made(
    answer, written, restore, monkeypatch
):
    monkeypatch.setitem(globals(), "LOOP", LOOP.replace('"COLUMN": update', written))
    code, found = answer(restore)
    assert (code, found["state"]) == ((1, ["speed.kept['first']"]) if restore == DRAWS else (0, []))


@pytest.mark.slow
@pytest.mark.parametrize("stop", [4, 6])
@pytest.mark.parametrize("restore", [f"{SPEED}; {DRAWS}", SPEED], ids=["all", "not all"])
def test_a_log_that_is_written_in_a_loop_at_the_end_hides_no_update(answer, restore, stop, monkeypatch):
    record = 'log.write(json.dumps({"COLUMN": update, "loss": sum(model)}) + "\\n")'
    program = LOOP.replace(record, record.replace("log.write", "rows.append"))
    program = program.replace("log.close()", "write(log)")
    written = "rows = []\ndef write(log):\n    for row in rows:\n        log.write(row)\n    log.close()\n\n"
    program = program.removesuffix("train()\n") + written + "train()\n"
    monkeypatch.setitem(globals(), "LOOP", program)
    code, found = answer(restore, stop=stop)
    assert (code, found["state"]) == ((1, ["draws"]) if restore == SPEED else (0, []))


@pytest.mark.slow
def test_what_is_loaded_in_place_of_another_object_is_named_by_the_path_that_it_has_then(answer, monkeypatch):
    changes = {
        "def train():": PART + "def train():",
        "    draws = random.Random(5)\n": "    part = Part()\n    net = [part]\n",
        "+ draws.random()": "+ net[0].draws.random()",
        "batch, draws)\n            push": "batch, net[0].draws)\n            push",
    }
    program = LOOP
    for one, other in changes.items():
        program = program.replace(one, other)
    monkeypatch.setitem(globals(), "LOOP", program)
    code, found = answer(f"{SPEED}; net = [Part()]")
    assert (code, found["state"], found["cause"]["confidence"]) == (1, ["net[0].draws"], "high")
    assert [found["cause"]["line"]] == lines("RESTORE")


@pytest.mark.slow
def test_where_a_run_began_to_count_is_left_where_the_program_fails_with_the_whole_runs(answer, monkeypatch):
    begin = "            push = batches"
    program = LOOP.replace(begin, "            assert began or not given.resume\n" + begin)
    program = program.replace("    while epoch", "    began = update\n    while epoch")
    monkeypatch.setitem(globals(), "LOOP", program)
    code, found = answer(DRAWS)
    assert (code, found["state"], found["cause"]["confidence"]) == (1, ["speed.kept['first']"], "high")
    assert [one for one in found["known"] if "`began`" in one]


@pytest.mark.slow
def test_numpys_global_generator_is_named_where_it_is_seeded(answer, monkeypatch):
    program = LOOP.replace("draws.random()", "numpy.random.random()").replace(
        "json, random", "json, numpy, random"
    )
    monkeypatch.setitem(globals(), "LOOP", program.replace("    random.seed(3)", "    numpy.random.seed(3)"))
    code, found = answer(f"{SPEED}; {DRAWS}")
    assert (code, found["state"], found["cause"]["confidence"]) == (1, ["numpy.random"], "high")
    assert [found["cause"]["line"]] == lines("numpy.random.seed(3)")


SHUFFLED = """\
import argparse, json
from pathlib import Path
import torch

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
given = parser.parse_args()
torch.manual_seed(3)
torch.set_num_threads(1)
rows = torch.utils.data.TensorDataset(torch.randn(12, 2))
net, first = torch.nn.Linear(2, 1), 0
sgd = torch.optim.SGD(net.parameters(), 0.1)
if given.resume:
    saved = torch.load(given.resume)
    net.load_state_dict(saved["net"])
    first = saved["epoch"]
log = open(given.folder / "metrics.jsonl", "w")

def train(epoch, batches):
    def one(number):
        loss = net(next(batches)[0]).square().mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        log.write(json.dumps({"step": 3 * epoch + number + 1, "loss": loss.item()}) + "\\n")
    list(map(one, range(3)))
    torch.save({"net": net.state_dict(), "epoch": epoch + 1}, given.folder / f"state_{epoch}.pt")

loader = torch.utils.data.DataLoader(rows, 4, shuffle=True)
list(map(lambda epoch: train(epoch, iter(loader)), range(first, 3)))
log.close()
"""


@pytest.mark.slow
def test_the_generator_that_a_loader_draws_its_order_from_is_named_as_its_epoch_begins(tmp_path):
    (tmp_path / "train.py").write_text(SHUFFLED)
    command = [sys.executable, "-m", "reprokit", "diagnose", "--json", "--resume"]
    command += ["--reports-dir", str(tmp_path / "reports")]
    command += ["--resume-args", "--resume {stopped_run_dir}/state_*.pt"]
    command += ["--", sys.executable, "train.py", "{run_dir}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
    found = json.loads(done.stdout)
    assert (done.returncode, found["state"]) == (1, ["torch.default_generator"]), done.stderr
    assert found["cause"]["line"] == SHUFFLED.splitlines().index("torch.manual_seed(3)") + 1
    assert found["causes"][1]["what"].startswith("this loader does not continue")
