"""`reprokit compare` in all its forms on repositories of other people, base against head of their history.

Each repository is cloned from a bare one that lies below `--sources`, at two neighbouring commits of its own,
to which a recipe and a lock are added. Prints a table, a line for each form: what was answered, and how long
it took. Exits 1 where an answer is not the expected one.

    python benchmarks/compare_foreign.py --sources DIR [--only NAME] [--commits] [--locks DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
RECIPE = """\
schema: 1
name: train
title: {name} as its authors have it
variant: theirs
command: {command}
seeds: [3]
platforms: [cpu-x86_64]
printed: ['{printed}']
{more}"""
STATISTICAL = "statistical: {{metric: '{}', window: last, margin: 0.05, direction: lower}}\n"


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """A repository, two of its commits, and what is asked of them.

    Attributes:
        head: The later commit.
        command: What trains.
        printed: Where the numbers are in what it prints.
        requirements: What it needs.
        file: The one whose text the working tree has otherwise.
        plain: Of two plain commands: the program, what its copy is called, and arguments; none for no such.
        more: Further lines of the recipe.
        base: What head is compared with; its parent where left out.
        forms: Words of `compare` → the expected answer; None for whichever it is.
        repository: Its owner and name, where there is another entry of it.
        folder: What alone is taken of it; "" for all.
    """

    head: str
    command: str
    printed: str
    requirements: str
    file: str
    forms: dict[str, str | None]
    more: str = ""
    base: str = ""
    plain: list[str] = field(default_factory=list)
    repository: str = ""
    folder: str = ""


TORCH = "torch\ntensorboard\nnumpy\nsetuptools\n"
COMMITS = "--a HEAD~1 --b HEAD"
REGRESSION: dict[str, str] = {
    "base": "fe8abc3",
    "head": "00ef8a7",
    "printed": r"Loss: (?P<loss>[\d.]+) after (?P<step>\d+) batches",
    "requirements": TORCH,
    "file": "regression/main.py",
    "repository": "pytorch/examples",
    "folder": "regression",
}
SEEDED = "import runpy, torch; torch.manual_seed({seed}); runpy.run_path('regression/main.py')"
FOREIGN = {
    "karpathy/makemore": Foreign(
        base="c079e1c",
        head="bf38625",
        command='[python, makemore.py, -o, "{run_dir}", --type, rnn, --max-steps, "41", -n, "0", '
        '--seed, "{seed}"]',
        printed=r"step (?P<step>\d+) \| loss (?P<loss>[\d.]+)",
        requirements=TORCH,
        file="makemore.py",
        more=STATISTICAL.format("stdout.log:loss"),
        forms={
            "--a HEAD~1 --b HEAD": "different",
            "": "equal",
            "--b-set env.ANY=1": "equal",
            "--b-args '--learning-rate 0.001'": "different",
            "--b-args '--top-k 5'": "equal",
            "--b-threads 2": None,
            "--b-cpu Haswell": None,
            "--b-with numpy==2.4.5": "equal",
            "--a HEAD~1 --b HEAD --seeds 4": None,
        },
        plain=[
            "makemore.py",
            "makemore2.py",
            "-o",
            "{run_dir}",
            "--type",
            "bigram",
            "--max-steps",
            "502",
            "-n",
            "0",
        ],
    ),
    "karpathy/makemore, another model added": Foreign(
        repository="karpathy/makemore",
        base="b697f43",
        head="c079e1c",
        command='[python, makemore.py, -o, "{run_dir}", --type, rnn, --max-steps, "41", -n, "0", '
        '--seed, "{seed}"]',
        printed=r"step (?P<step>\d+) \| loss (?P<loss>[\d.]+)",
        requirements=TORCH,
        file="makemore.py",
        forms={COMMITS: "equal"},
    ),
    "karpathy/minGPT, to its newest commit": Foreign(
        repository="karpathy/minGPT",
        base="d9ea878",
        head="37baab7",
        command="[python, -m, projects.adder.adder, --trainer.max_iters=40, "
        '--trainer.num_workers=0, "--system.seed={seed}"]',
        printed=r"iter (?P<step>\d+): train loss (?P<loss>[\d.]+)",
        requirements=TORCH,
        file="mingpt/trainer.py",
        more="collect: [out/]\n",
        forms={COMMITS: "equal"},
    ),
    "pytorch/examples, seeded": Foreign(
        command=f'[python, -c, "{SEEDED}"]', forms={COMMITS: "equal"}, **REGRESSION
    ),
    "pytorch/examples": Foreign(
        command="[python, regression/main.py]", forms={COMMITS: "unjudged"}, **REGRESSION
    ),
    "karpathy/minGPT": Foreign(
        head="c4c650e",
        command="[python, -m, projects.adder.adder, --trainer.max_iters=40, "
        '--trainer.num_workers=0, "--system.seed={seed}"]',
        printed=r"iter (?P<step>\d+): train loss (?P<loss>[\d.]+)",
        requirements=TORCH,
        file="mingpt/trainer.py",
        more=STATISTICAL.format("loss") + "collect: [out/]\n",
        forms={
            "--a HEAD~1 --b HEAD": "equal",
            "": "equal",
            "--b-args --trainer.learning_rate=0.001": "different",
            "--b-threads 2": None,
            "--a HEAD~1 --b HEAD --seeds 3": None,
        },
    ),
    "microsoft/LightGBM": Foreign(
        head="1b792e716",
        command="[python, examples/python-guide/simple_example.py]",
        printed=r"The RMSE of prediction is: (?P<rmse>\S+)",
        requirements="lightgbm\npandas\nscikit-learn\n",
        file="examples/python-guide/simple_example.py",
        more="sees: [examples/python-guide/, examples/regression/]\ncollect: [model.txt]\n",
        forms={
            "--a HEAD~1 --b HEAD": "equal",
            "": "equal",
            "--b-set env.ANY=1": "equal",
            "--b-threads 2": None,
            "--b-cpu Haswell": None,
            "--b-with lightgbm==4.5.0": None,
            "--b-with pandas==2.3.3": None,
            "--b-python 3.12": "equal",
        },
    ),
}


def git(folder: Path, *words: str) -> None:
    """Run git with a name of its own."""
    name = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


def reprokit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the tool of this tree."""
    return subprocess.run(
        [sys.executable, "-m", "reprokit", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )


def prepared(name: str, one: Foreign, folder: Path, *, sources: Path, locks: Path) -> None:
    """Clone it with two commits: base and head, each with the recipe and the lock."""
    bare = sources / (one.repository or name).replace("/", "+") / "repo"
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(bare), str(folder)], check=True)
    base = one.base or f"{one.head}~1"
    lock = locks / ("torch" if one.requirements == TORCH else name.partition("/")[2])
    for commit in (base, one.head):
        if one.folder:
            shutil.rmtree(folder / one.folder, ignore_errors=True)
            git(folder, "symbolic-ref", "HEAD", "refs/heads/compared")
            git(folder, "read-tree", "--empty")
            git(folder, "read-tree", "-u", f"--prefix={one.folder}/", f"{commit}:{one.folder}")
        elif commit == base:
            git(folder, "checkout", "--quiet", "--detach", commit)
        else:
            git(folder, "rm", "-rq", "--cached", ".")
            git(folder, "read-tree", "--reset", "-u", commit)
        recipe = folder / "recipes" / "train" / "recipe.yaml"
        recipe.parent.mkdir(parents=True, exist_ok=True)
        recipe.write_text(RECIPE.format(name=name, command=one.command, printed=one.printed, more=one.more))
        (folder / ".gitignore").write_text("runs/\nreports/\n*.pt\nmodel.txt\n")
        if not (lock / "images").is_dir():
            lock.mkdir(parents=True, exist_ok=True)
            (lock / "requirements.txt").write_text(one.requirements)
            words = ["image", "lock", "theirs", "--dependencies", "requirements.txt", "--python", "3.11"]
            done = reprokit(lock, *words)
            if done.returncode:
                raise SystemExit(done.stderr)
        shutil.copytree(lock / "images", folder / "images", dirs_exist_ok=True)
        git(folder, "add", "--all", "--force", "recipes", "images", ".gitignore")
        git(folder, "commit", "--quiet", "--allow-empty", "--message", f"{commit} with a recipe")


def environment(folder: Path) -> str:
    """The Python of its lock, made on the way."""
    from reprokit import images  # noqa: PLC0415

    return images.resolve("theirs", project=folder, kind="venv", on_progress=lambda _: None).python


def asked(folder: Path, words: list[str]) -> dict[str, object]:
    """One comparison, as `--json` answers it."""
    start = time.perf_counter()
    done = reprokit(folder, "compare", *words)
    took = time.perf_counter() - start
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {
            "answer": None,
            "sentence": done.stderr.strip().splitlines()[-1],
            "exit_code": done.returncode,
        }
    return {**answer, "seconds": took}


def row(name: str, form: str, expected: str | None, answer: dict[str, object]) -> str:
    """A line of the table."""
    sentence = str(answer["sentence"]).replace("|", "\\|")
    kinds = ", ".join(dict.fromkeys(str(one["kind"]) for one in answer.get("what_differs") or ()))  # type: ignore[attr-defined]
    right = "" if expected in {None, answer["answer"]} else " (expected: " + str(expected) + ")"
    form = form.replace("|", "\\|")
    return (
        f"| {name} | `{form or '(working tree)'}` | {answer['answer']}{right} | {sentence} | {kinds or '-'} "
        f"| {answer['seconds']:.0f} s |"
    )


def main() -> int:
    """Ask all, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=Path, required=True, help="OWNER+NAME/repo: bare repositories")
    parser.add_argument("--only", choices=FOREIGN, help="this repository alone")
    parser.add_argument("--commits", action="store_true", help="two commits alone, no other form")
    parser.add_argument("--locks", type=Path, help="keep the locks here, or use those that are here")
    options = parser.parse_args()
    wrong = 0
    print("| repository | asked | answer | sentence | what differs | took |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="reprokit-foreign-") as temporary:
        locks = options.locks or Path(temporary) / "locks"
        for name, one in FOREIGN.items():
            if options.only not in {None, name}:
                continue
            folder = Path(temporary) / name.replace("/", "+")
            prepared(name, one, folder, sources=options.sources, locks=locks)
            remarked = folder / one.file
            remarked.write_text(remarked.read_text() + "# a remark\n")
            python = environment(folder)
            forms = {form: to for form, to in one.forms.items() if form == COMMITS or not options.commits}
            for form, expected in forms.items():
                words = shlex.split(form)
                answer = asked(folder, ["train", *words, "--backend", "local", "--json"])
                wrong += expected not in {None, answer["answer"]}
                print(row(name, f"compare train {form}".strip(), expected, answer), flush=True)
            if one.plain and not options.commits:
                text = (folder / one.plain[0]).read_text()
                (folder / one.plain[1]).write_text(text + "# a remark\n")
                first, other = ([python, file, *one.plain[2:]] for file in one.plain[:2])
                answer = asked(folder, ["--json", "--", *first, "--vs", *other])
                wrong += answer["answer"] != "equal"
                shown = " ".join(["compare -- python", *first[1:], "--vs python", *other[1:]])
                print(row(name, shown, "equal", answer), flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
