"""Shows every run under a folder in TensorBoard, while it trains and afterwards.

Follows ``metrics.jsonl`` of each run and writes what comes as events into a folder of its own; the
runs are only read. The service ``tensorboard`` of compose.yaml starts it.

    $ python serve.py runs/ --events /tmp/events -- --port 6006
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

METRICS = "metrics.jsonl"
OUTPUT = "output"  # where a run writes until it has ended; then its files move one folder up


class Follower:
    """Turns new lines of metrics into events, each line once."""

    def __init__(self, runs: Path, events: Path) -> None:
        self._runs = runs
        self._events = events
        self._done: dict[Path, int] = {}

    def follow(self) -> int:
        """Convert what has come since the last call; returns the number of lines."""
        return sum(self._follow(path) for path in sorted(self._runs.rglob(METRICS)))

    def _follow(self, path: Path) -> int:
        folder = path.parent.parent if path.parent.name == OUTPUT else path.parent
        run = folder.relative_to(self._runs)
        try:
            with path.open("rb") as stream:
                stream.seek(self._done.get(run, 0))
                new = stream.read()
        except OSError:  # moved a moment ago: the next look finds it
            return 0
        whole = new[: new.rfind(b"\n") + 1]
        if not whole:
            return 0
        target = self._events / run
        target.mkdir(parents=True, exist_ok=True)
        lines = whole.splitlines()
        with (target / "events.out.tfevents.reprokit").open("ab") as stream:
            writer = RecordWriter(stream)
            for line in lines:
                if event := event_of(line):
                    writer.write(event.SerializeToString())
        self._done[run] = self._done.get(run, 0) + len(whole)
        return len(lines)


def event_of(line: bytes) -> Event | None:
    """One record as an event; None for a line that is none (the tool says so, not this view)."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, Mapping) or not isinstance(record.get("step"), int):
        return None
    values = [
        Summary.Value(tag=name, simple_value=float(value))
        for name, value in record.items()
        if name != "step" and _is_number(value)
    ]
    return Event(wall_time=time.time(), step=record["step"], summary=Summary(value=values))


def main(arguments: list[str]) -> int:
    """Serve until TensorBoard ends."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description="Show every run under a folder in TensorBoard.")
    parser.add_argument("runs", type=Path)
    parser.add_argument("--events", type=Path, required=True, help="a folder that may be filled")
    parser.add_argument("--every-s", type=float, default=2.0, help="seconds between two looks")
    options = parser.parse_args(arguments[:split])
    follower = Follower(options.runs, options.events)
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(options.events)]
    with subprocess.Popen([*command, *arguments[split + 1 :]]) as tensorboard:
        while tensorboard.poll() is None:
            follower.follow()
            time.sleep(options.every_s)
    return tensorboard.returncode


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
