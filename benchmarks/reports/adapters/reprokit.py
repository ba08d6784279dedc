"""`reprokit diagnose`, as anyone types it; where a report is about resuming, with `--resume`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from protocol import answer, environment, read_question

if __name__ == "__main__":
    asked = read_question()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "reprokit", "diagnose", "--json", "--seed", "0"]
        command += ["--budget", f"{asked['limit_s']:.0f}s"]
        command += ["--runs-dir", f"{folder}/runs", "--reports-dir", f"{folder}/reports"]
        if asked["stop"] is not None:
            resume = " ".join(asked["resume"]).replace("{stopped}", "{stopped_run_dir}")
            command += ["--resume", "--stop-args", " ".join(asked["stop"]), "--resume-args", resume]
        words = [word.replace("{out}", "{run_dir}") for word in asked["arguments"]]
        done = subprocess.run(
            [*command, "--", asked["python"], asked["program"], *words],
            cwd=folder,
            env=environment(asked["variables"][0]),
            capture_output=True,
            text=True,
            check=False,
        )
    told = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    cause = told.get("cause") or {}
    more = {key: cause.get(key) for key in ("line", "category", "confidence")} if cause else {}
    verdict = {0: "equal", 1: "differs"}.get(done.returncode, "crash")
    if verdict == "crash":
        more["why"] = done.stderr.replace(f"{folder}/", "")[-300:]
    answer(verdict, runs=told.get("runs"), **more)
