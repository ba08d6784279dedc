"""PyTorch's deterministic flags and seeds set from outside, then run twice: does that alone make it repeat?"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from protocol import answer, read_question, two_runs

BEFORE = """
import random, runpy, sys
random.seed(0)
import numpy
numpy.random.seed(0)
import torch
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

if __name__ == "__main__":
    asked = read_question()
    has_torch = subprocess.run([asked["python"], "-c", "import torch"], capture_output=True, check=False)
    if has_torch.returncode != 0:
        answer("does not apply")
    else:
        first, second = two_runs(asked, [asked["python"], "-c", BEFORE, asked["program"]])
        answer("differs" if first != second else "equal")
