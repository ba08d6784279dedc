"""Run it twice and compare: no line, no cause."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from protocol import answer, read_question, two_runs

if __name__ == "__main__":
    asked = read_question()
    first, second = two_runs(asked, [asked["python"], asked["program"]])
    answer("differs" if first != second else "equal")
