"""Unmodified programs that do not repeat and hide it: none may come out as two runs that agree.

Each leaves a log that repeats, and next to it something that does not, in a form that a verifier might
overlook. Without a golden, two runs that agree are NO_GOLDEN; that answer is the attack's success.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from reprokit.errors import GoldenError, ReprokitError
from reprokit.harness import Request, judge_again
from support.fake_backend import ended, write_lines

_SAFE = {"NONDETERMINISTIC", "UNJUDGED", "NOT_RUN"}
_OUT = "outputs: ['*.bin', '*.pt', '*.safetensors']\n"
_ALL = "outputs: ['*']\n"
_PRINTED = "printed: ['loss (?P<loss>\\S+)']\n"


def good(output: Path, name: str = "log.jsonl") -> None:
    """A log that repeats."""
    path = output / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_lines(path, [{"step": step, "loss": 1 / (step + 1)} for step in range(4)])


def noise(run: int) -> float:
    return 0.1 + run


def log(output: Path, name: str, run: int, metric: str = "reward") -> None:
    path = output / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_lines(path, [{"step": step, metric: noise(run) * step} for step in range(4)])


def lines(output: Path, name: str, *texts: str | bytes) -> None:
    path = output / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join((text.encode() if isinstance(text, str) else text) + b"\n" for text in texts))


def printed(output: Path, *texts: str | bytes, stream: str = "stdout.log") -> None:
    lines(output.parent, stream, *texts)


def safetensors(path: Path, tensors: dict[str, tuple[str, list[int], bytes]], **metadata: str) -> None:
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    at = 0
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(one[2] for one in tensors.values()))


def checkpoint(path: Path, state: Any, **further: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", pickle.dumps(state, protocol=2))
        for name, content in further.items():
            archive.writestr(f"a/{name}", content)


F32 = struct.Struct("<f").pack

# name → (what the program leaves next to a log that repeats, further lines of the recipe)
ATTACKS: dict[str, tuple[Any, str]] = {
    # --- the log itself
    "one bit of the last value": (
        lambda o, r: lines(o, "log.jsonl", '{"step":0,"loss":0.1}', f'{{"step":1,"loss":0.{r}}}'),
        "",
    ),
    "minus zero": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":1,"loss":{"-" * (r - 1)}0.0}}'),
        "",
    ),
    "an integer and a float of a large integer": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"loss":{9007199254740992 + r}}}'),
        "",
    ),
    "true and 1": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":1,"b":{["true", "1"][r - 1]}}}'),
        "",
    ),
    "null and absent": (
        lambda o, r: lines(o, "log.jsonl", ['{"step":0,"a":1,"b":null}', '{"step":0,"a":1}'][r - 1]),
        "",
    ),
    "NaN in one run": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":1,"b":{["NaN", "0"][r - 1]}}}'),
        "",
    ),
    "the sign of infinity": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":1,"b":{["-", ""][r - 1]}Infinity}}'),
        "",
    ),
    "a number and its text": (
        lambda o, r: lines(o, "log.jsonl", ['{"step":0,"b":1}', '{"step":0,"b":"1"}'][r - 1]),
        "",
    ),
    "a list within a list": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":1,"b":[[{r}]]}}'),
        "",
    ),
    "an empty list and an empty object": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":1,"b":{["[]", "{}"][r - 1]}}}'),
        "",
    ),
    "composed and decomposed letters": (
        lambda o, r: lines(o, "log.jsonl", ['{"step":0,"é":1}', '{"step":0,"e\u0301":1}'][r - 1]),
        "",
    ),
    "a letter that looks alike": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"x":1,"{["a", "а"][r - 1]}":1}}'),
        "",
    ),
    "another step": (
        lambda o, r: lines(o, "log.jsonl", '{"step":0,"a":1}', f'{{"step":{r},"a":1}}'),
        "",
    ),
    "a step that is a float": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":{r}.5,"a":1}}'),
        "",
    ),
    "two records swapped": (
        lambda o, r: lines(o, "log.jsonl", *['{"step":0,"a":1}', '{"step":0,"a":2}'][:: 3 - 2 * r]),
        "",
    ),
    "one record more": (
        lambda o, r: lines(o, "log.jsonl", *['{"step":0,"a":1}'] * r),
        "",
    ),
    "a text for the step hides another metric": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":"run {r}","step_":1,"a":1}}'),
        "",
    ),
    "records that are steps alone": (
        lambda o, r: lines(o, "log.jsonl", '{"step":0,"a":1}', f'{{"step":{r}}}'),
        "",
    ),
    "a key twice": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":{r},"a":1}}'),
        "",
    ),
    "a torn last line": (
        lambda o, r: (o / "log.jsonl").write_text('{"step":0,"a":1}\n{"step":1,"a":' + str(r)),
        "",
    ),
    "two values on a line": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":1}}{{"step":1,"a":{r}}}'),
        "",
    ),
    "a blank line before a tail": (
        lambda o, r: lines(o, "log.jsonl", '{"step":0,"a":1}', "", f'{{"step":1,"a":{r}}}'),
        "",
    ),
    "a line end of another kind before a tail": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":1}}\r{{"step":1,"a":{r}}}'),
        "",
    ),
    "a NUL byte before a tail": (
        lambda o, r: lines(o, "log.jsonl", '{"step":0,"a":1}', f'\0{{"step":1,"a":{r}}}'),
        "",
    ),
    "a line that is longer than any": (
        lambda o, r: lines(o, "log.jsonl", '{"step":0,"a":1,"b":"' + "x" * (5 << 20) + f'{r}"}}'),
        "",
    ),
    "a number that overflows": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":1,"b":{r}e999}}'),
        "",
    ),
    "an integer of 30,000 digits": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":1,"b":{r}{"0" * 30_000}}}'),
        "",
    ),
    "an object 100 deep": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"a":1,"b":{"[" * 100}{r}{"]" * 100}}}'),
        "",
    ),
    "text only, which differs": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"note":"run {r}"}}'),
        "",
    ),
    "text that is not UTF-8": (
        lambda o, r: lines(o, "log.jsonl", b'{"step":0,"a":1,"b":"' + bytes([0xFE + r - 1]) + b'"}'),
        "",
    ),
    "only NaN": (lambda o, r: lines(o, "log.jsonl", '{"step":0,"loss":NaN}'), ""),
    "only infinities": (lambda o, r: lines(o, "log.jsonl", '{"step":0,"loss":Infinity}'), ""),
    "only null": (lambda o, r: lines(o, "log.jsonl", '{"step":0,"loss":null}'), ""),
    "NaN deep in lists": (lambda o, r: lines(o, "log.jsonl", '{"step":0,"loss":[[NaN],{"a":NaN}]}'), ""),
    "only empty lists": (lambda o, r: lines(o, "log.jsonl", '{"step":0,"loss":[]}'), ""),
    "only steps": (lambda o, r: lines(o, "log.jsonl", '{"step":0}', '{"step":1}'), ""),
    "an empty log": (lambda o, r: lines(o, "log.jsonl"), ""),
    "no log": (lambda o, r: None, ""),
    # --- where logs lie
    "a second log": (lambda o, r: (good(o), log(o, "eval.jsonl", r)), ""),
    "a second log in one run alone": (lambda o, r: (good(o), r == 2 and log(o, "eval.jsonl", r)), ""),
    "a log in a hidden folder": (lambda o, r: (good(o), log(o, ".hidden/.log.jsonl", r)), ""),
    "a log in capitals": (lambda o, r: (good(o), log(o, "EVAL.JSONL", r)), ""),
    "two logs whose names differ in case": (lambda o, r: (good(o), log(o, "LOG.jsonl", r)), ""),
    "a log called timing.jsonl": (lambda o, r: (good(o), log(o, "timing.jsonl", r)), ""),
    "a log called trace.jsonl": (lambda o, r: (good(o), log(o, "trace.jsonl", r)), ""),
    "a log called metrics.jsonl": (lambda o, r: (good(o), log(o, "metrics.jsonl", r)), ""),
    "a log in checkpoints/ beside a run.json": (
        lambda o, r: (good(o), lines(o, "run.json", "{}"), log(o, "checkpoints/log.jsonl", r)),
        "",
    ),
    "a log in source/ beside a run.json": (
        lambda o, r: (good(o), lines(o, "run.json", "{}"), log(o, "source/log.jsonl", r)),
        "",
    ),
    "a log in output/ beside a run.json": (
        lambda o, r: (
            good(o),
            lines(o, "run.json", '{"plain_command": []}'),
            log(o, "output/log.jsonl", r),
        ),
        "",
    ),
    "a log in golden/": (lambda o, r: (good(o), log(o, "golden/log.jsonl", r)), ""),
    "a log in runs/": (lambda o, r: (good(o), log(o, "runs/log.jsonl", r)), ""),
    "a log in .work/": (lambda o, r: (good(o), log(o, ".work/log.jsonl", r)), ""),
    "a log 70 folders deep": (lambda o, r: (good(o), log(o, "d/" * 70 + "log.jsonl", r)), ""),
    "a log whose name is not UTF-8": (
        lambda o, r: (good(o), log(o, os.fsdecode(b"log\xff.jsonl"), r)),
        "",
    ),
    "a log whose name has a newline": (lambda o, r: (good(o), log(o, "a\nb.jsonl", r)), ""),
    "a log behind a link": (
        lambda o, r: (good(o), log(o, "data.bin", r), (o / "eval.jsonl").symlink_to("data.bin")),
        "",
    ),
    "a log behind two links": (
        lambda o, r: (
            good(o),
            log(o, "data.bin", r),
            (o / "b").symlink_to("data.bin"),
            (o / "eval.jsonl").symlink_to("b"),
        ),
        "",
    ),
    "a log behind a link out of the run": (
        lambda o, r: (
            good(o),
            log(o.parents[1], f"far-{r}/x.bin", r),
            (o / "eval.jsonl").symlink_to(o.parents[1] / f"far-{r}" / "x.bin"),
        ),
        "",
    ),
    "a folder behind a link out of the run": (
        lambda o, r: (
            good(o),
            log(o.parents[1], f"off-{r}/x.jsonl", r),
            (o / "logs").symlink_to(o.parents[1] / f"off-{r}"),
        ),
        "",
    ),
    "a dangling link for a log": (
        lambda o, r: (good(o), r == 2 and (o / "eval.jsonl").symlink_to("gone")),
        "",
    ),
    "a pipe for a log": (lambda o, r: (good(o), os.mkfifo(o / "eval.jsonl")), ""),
    "a folder for a log": (
        lambda o, r: (good(o), log(o, "eval.jsonl/inner.jsonl", r)),
        "",
    ),
    "a log as a table": (lambda o, r: (good(o), lines(o, "eval.csv", "step,b", f"0,{r}")), ""),
    "a table with a ragged row": (
        lambda o, r: (good(o), lines(o, "eval.csv", "step,b", "0,1", f"1,1,{r}")),
        "",
    ),
    "a table with a column twice": (
        lambda o, r: (good(o), lines(o, "eval.csv", "step,b,b", f"0,{r},1")),
        "",
    ),
    "a table with quotes over lines": (
        lambda o, r: (good(o), lines(o, "eval.csv", "step,b", f'0,"x\n{r}"')),
        "",
    ),
    "a torn event file": (
        lambda o, r: (good(o), (o / "events.out.tfevents.1.a").write_bytes(b"\x10" + bytes([r]) * 40)),
        "",
    ),
    "an empty event file": (
        lambda o, r: (good(o), r == 2 and (o / "events.out.tfevents.1.a").write_bytes(b"")),
        "",
    ),
    # --- what reprokit itself writes
    "its own COMPLETE": (lambda o, r: (lines(o, "COMPLETE", "{}"), log(o, "log.jsonl", r)), ""),
    "its own run.json": (
        lambda o, r: (lines(o, "run.json", '{"outcome":"completed","seed":3}'), log(o, "log.jsonl", r)),
        "",
    ),
    "its own environment.json": (
        lambda o, r: (lines(o, "environment.json", '{"inside":{"packages":{}}}'), log(o, "log.jsonl", r)),
        "",
    ),
    "its own golden": (lambda o, r: (good(o, "golden/metrics.jsonl"), log(o, "log.jsonl", r)), ""),
    "the host's metrics.jsonl": (
        lambda o, r: (good(o.parent, "metrics.jsonl"), log(o, "log.jsonl", r)),
        "",
    ),
    "the host's COMPLETE": (
        lambda o, r: (lines(o.parent, "COMPLETE", "{}"), log(o, "log.jsonl", r)),
        "",
    ),
    "the host's run.json replaced": (
        lambda o, r: (good(o), lines(o.parent, "run.json", '{"outcome":"completed","exit_code":0}')),
        "",
    ),
    "the host's run.json removed": (lambda o, r: (good(o), (o.parent / "run.json").unlink()), ""),
    "the files that it was given": (
        lambda o, r: (good(o), lines(o.parent, "source/program/train.py", f"print({r})")),
        "",
    ),
    "a file added to those that it was given": (
        lambda o, r: (good(o), lines(o.parent, "source/program/more.py", f"print({r})")),
        "",
    ),
    "a file that it was given removed": (
        lambda o, r: (good(o), (o.parent / "source/program/train.py").unlink()),
        "",
    ),
    "a link in place of a file that it was given": (
        lambda o, r: (
            good(o),
            (o.parent / "source/program/train.py").rename(o / "train.py"),
            (o.parent / "source/program/train.py").symlink_to(o / "train.py"),
        ),
        "",
    ),
    "output/ replaced by a link": (
        lambda o, r: (
            o.rmdir(),
            log(o.parents[1], f"else-{r}/log.jsonl", r),
            o.symlink_to(o.parents[1] / f"else-{r}"),
        ),
        "",
    ),
    # --- output files that the recipe declares
    "an output": (lambda o, r: (good(o), lines(o, "a.bin", str(r))), _OUT),
    "an output in one run alone": (
        lambda o, r: (good(o), lines(o, "a.bin", "1"), r == 2 and lines(o, "b.bin", "1")),
        _OUT.replace(", '*.pt', '*.safetensors'", ""),
    ),
    "outputs without metrics": (lambda o, r: lines(o, "a.bin", str(r)), "outputs: ['*.bin']\n"),
    "an output that is a link": (
        lambda o, r: (
            good(o),
            lines(o, "a.bin", "1"),
            lines(o, "hidden", str(r)),
            (o / "b.bin").symlink_to("hidden"),
        ),
        "outputs: ['*.bin']\n",
    ),
    "an output that is a pipe": (
        lambda o, r: (good(o), lines(o, "a.bin", "1"), r == 2 and os.mkfifo(o / "b.bin")),
        "outputs: ['*.bin']\n",
    ),
    "the output after the ten thousandth": (
        lambda o, r: (
            good(o),
            [(o / f"{n:06}.bin").write_bytes(b"") for n in range(10_000)],
            lines(o, "last.bin", str(r)),
        ),
        "outputs: ['*.bin']\n",
    ),
    "an output 1,500 folders deep": (
        lambda o, r: (good(o), lines(o, "a.bin", "1"), _deep(o, 1_500, r)),
        "outputs: ['*.bin']\n",
    ),
    "an output whose name is not UTF-8": (
        lambda o, r: (good(o), lines(o, os.fsdecode(b"\xff.bin"), str(r))),
        "outputs: ['*.bin']\n",
    ),
    "an output that takes the place of a tensor": (
        lambda o, r: (
            good(o),
            safetensors(o / "a.safetensors", {"w": ("F32", [1], F32(r))}),
            lines(o, "a.safetensors:w", "1"),
        ),
        "outputs: ['*.safetensors', '*:w']\n",
    ),
    "a tensor": (
        lambda o, r: (good(o), safetensors(o / "a.safetensors", {"w": ("F32", [1], F32(r))})),
        "outputs: ['*.safetensors']\n",
    ),
    "the type of a tensor": (
        lambda o, r: (good(o), safetensors(o / "a.safetensors", {"w": (["F32", "I32"][r - 1], [1], F32(0))})),
        "outputs: ['*.safetensors']\n",
    ),
    "the shape of a tensor": (
        lambda o, r: (
            good(o),
            safetensors(o / "a.safetensors", {"w": ("F32", [[2, 1], [1, 2]][r - 1], F32(1) * 2)}),
        ),
        "outputs: ['*.safetensors']\n",
    ),
    "minus zero in a tensor": (
        lambda o, r: (
            good(o),
            safetensors(o / "a.safetensors", {"w": ("F32", [1], F32([0.0, -0.0][r - 1]))}),
        ),
        "outputs: ['*.safetensors']\n",
    ),
    "the text beside the tensors": (
        lambda o, r: (
            good(o),
            safetensors(o / "a.safetensors", {"w": ("F32", [1], F32(1))}, note=f"run {r}"),
        ),
        "outputs: ['*.safetensors']\n",
    ),
    "a checkpoint without a tensor": (
        lambda o, r: (good(o), safetensors(o / "a.safetensors", {}, note=f"run {r}")),
        "outputs: ['*.safetensors']\n",
    ),
    "a number in a checkpoint": (
        lambda o, r: (good(o), checkpoint(o / "a.pt", {"w": [1, {"lr": r}]})),
        "outputs: ['*.pt']\n",
    ),
    "a key in a checkpoint": (
        lambda o, r: (good(o), checkpoint(o / "a.pt", {"w": 1, f"k{r}": 1})),
        "outputs: ['*.pt']\n",
    ),
    "keys of a checkpoint that read alike": (
        lambda o, r: (good(o), checkpoint(o / "a.pt", [{"a": {"b": 1}}, {"a.b": 1}][r - 1])),
        "outputs: ['*.pt']\n",
    ),
    "two values of a checkpoint under one path": (
        lambda o, r: (good(o), checkpoint(o / "a.pt", {"a": {"b": r}, "a.b": 1})),
        "outputs: ['*.pt']\n",
    ),
    "a key of a checkpoint that is a number": (
        lambda o, r: (good(o), checkpoint(o / "a.pt", {1: r, "1": 1})),
        "outputs: ['*.pt']\n",
    ),
    "a pickle that runs code": (
        lambda o, r: (good(o), checkpoint(o / "a.pt", {"w": _Evil(r)})),
        "outputs: ['*.pt']\n",
    ),
    "an output called as a log": (
        lambda o, r: (good(o), lines(o, "x.bin", str(r))),
        _ALL,
    ),
    "an output of an unlikely name": (
        lambda o, r: (good(o), lines(o, "step", str(r))),
        _ALL,
    ),
    # --- what is printed
    "what is printed": (
        lambda o, r: printed(o, f"loss {r}"),
        _PRINTED,
    ),
    "what is printed to the other stream": (
        lambda o, r: (printed(o, "loss 1"), printed(o, f"loss {r}", stream="stderr.log")),
        _PRINTED,
    ),
    "a printed integer of 5,000 digits": (
        lambda o, r: printed(o, "loss 1", f"loss {r}{'0' * 5_000}"),
        _PRINTED,
    ),
    "a printed number that overflows": (
        lambda o, r: printed(o, "loss 1", f"loss {r}e999"),
        _PRINTED,
    ),
    "what is printed after 1 MiB of a line": (
        lambda o, r: printed(o, "loss 1", "x" * (1 << 20) + f" loss {r}"),
        _PRINTED,
    ),
    "a number that 1 MiB of a line cut in two": (
        lambda o, r: printed(o, "x" * ((1 << 20) - 8) + f" loss 1.{r}"),
        _PRINTED,
    ),
    "printed bytes that are not UTF-8": (
        lambda o, r: printed(o, "loss 1", b"loss " + bytes([0xFD + r])),
        _PRINTED,
    ),
    "printed, drawn over": (
        lambda o, r: printed(o, f"loss 1\rloss {r}\rloss 1"),
        _PRINTED,
    ),
    "a printed number in other digits": (
        lambda o, r: printed(o, "loss 1", f"loss {['١', '٢'][r - 1]}"),
        _PRINTED,
    ),
    "a printed number with a decimal comma": (
        lambda o, r: printed(o, "loss 1", f"loss {['1,5', '15'][r - 1]}"),
        _PRINTED,
    ),
    # --- volatile
    "a metric beside a volatile one": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"time":{r},"timed":{r},"a":1}}'),
        "volatile: [{metric: time, because: the clock}]\n",
    ),
    "everything volatile": (
        lambda o, r: log(o, "log.jsonl", r),
        "volatile: [{metric: '*', because: none repeats}]\n",
    ),
    "everything but NaN volatile": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"loss":{r},"other":NaN}}'),
        "volatile: [{metric: loss, because: it does not repeat}]\n",
    ),
    "a volatile pattern of brackets": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"[ab]":{r},"c":1}}'),
        "volatile: [{metric: '[ab]', because: brackets}]\n",
    ),
    "volatile in other letters": (
        lambda o, r: lines(o, "log.jsonl", f'{{"step":0,"TIME":{r},"c":1}}'),
        "volatile: [{metric: time, because: the clock}]\n",
    ),
    # --- results next to the program
    "a file that is in the way of a result": (
        lambda o, r: (
            good(o, ".work/results/log.jsonl"),
            lines(o, "results", "a file in the way of a folder"),
        ),
        "collect: [results/]\n",
    ),
    "a result that another one covers": (
        lambda o, r: (good(o, "results/log.jsonl"), log(o, ".work/results/log.jsonl", r)),
        "collect: [results/]\n",
    ),
    "a result": (lambda o, r: log(o, ".work/results/log.jsonl", r), "collect: [results/]\n"),
    "a result 1,500 folders deep": (
        lambda o, r: (good(o), _deep(o / ".work", 1_500, r)),
        "collect: [d/]\n",
    ),
    "a result that is a link": (
        lambda o, r: (
            good(o),
            log(o, ".work/far.bin", r),
            (o / ".work/results").mkdir(),
            (o / ".work/results/log.jsonl").symlink_to("../far.bin"),
        ),
        "collect: [results/]\n",
    ),
    "results behind a link in place of the copy": (
        lambda o, r: (
            (o / ".work").rename(o.parents[1] / f"work-{r}"),
            (o / ".work").symlink_to(o.parents[1] / f"work-{r}"),
            log(o, ".work/results/log.jsonl", r),
            good(o),
        ),
        "collect: [results/]\n",
    ),
    # --- how it ends
    "an exit code of 1": (lambda o, r: (good(o), ended(code=1))[1], ""),
    "no exit code": (lambda o, r: (good(o), ended(code=None))[1], ""),
    "an exit code that is true": (lambda o, r: (good(o), ended(code=True))[1], ""),
}


class _Evil:
    def __init__(self, run: int) -> None:
        self.run = run

    def __reduce__(self) -> Any:
        return os.system, (f"echo {self.run} > /dev/null",)


def _deep(folder: Path, depth: int, run: int) -> None:
    """Folders nested so deep, a file in the last; opened one from another, for no path is so long."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    file = os.open("deep.bin", os.O_CREAT | os.O_WRONLY, dir_fd=at)
    os.write(file, str(run).encode())
    os.close(file)
    os.close(at)


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_is_not_taken_for_two_runs_that_agree(lab, attack):
    body, recipe = ATTACKS[attack]

    def program(output: Path, run: int) -> Any:
        left = body(output, run)
        return left if hasattr(left, "exit_code") else None

    folders = lab.runs(program, recipe)
    try:
        report = judge_again(folders, Request(), project=lab.here)
    except ReprokitError:
        return  # said in one line, with an exit code that is not 0
    assert report.exit_code != 0
    if report.verdict == "NO_GOLDEN":  # they agree in what was compared, and may never become a golden
        with pytest.raises(GoldenError):
            lab.promote(folders)
    else:
        assert report.verdict in _SAFE, (report.verdict, report.sentence)


def test_a_program_that_repeats_is_reproduced(lab):
    """Without this, every attack would hold because nothing here ever agrees."""
    assert lab.report(lambda output, run: good(output)).verdict == "NO_GOLDEN"
    lab.promote(lab.runs(lambda output, run: good(output)))
    assert lab.report(lambda output, run: good(output)).verdict == "REPRODUCED"
