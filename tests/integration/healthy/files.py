"""A database, the locale, a program that is called, folders that are changed: everything as a program may."""

import contextlib
import json
import locale
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

if __name__ == "__main__":
    locale.setlocale(locale.LC_ALL, "")
    output = os.path.abspath(sys.argv[1])
    connection = sqlite3.connect(os.path.join(output, "results.sqlite"))
    with connection:
        connection.execute("CREATE TABLE results (step INTEGER, loss REAL)")
        connection.executemany("INSERT INTO results VALUES (?, ?)", [(n, n / 2) for n in range(5)])
    (loss,) = connection.execute("SELECT SUM(loss) FROM results").fetchone()
    connection.close()
    done = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True)
    loss += int(done.stdout)
    began = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pathlib.Path("here").write_text("é", encoding="utf-8")
        loss += len(pathlib.Path(os.getcwd(), "here").read_text(encoding="utf-8"))
        shutil.copy("here", "there")
        loss += len(sorted(os.listdir(os.getcwd())))
    os.chdir(began)
    home = pathlib.Path.home() / ".cache" / "healthy"
    home.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, os.sched_getaffinity(0))
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    signal.signal(signal.SIGUSR1, lambda *_: None)
    os.kill(os.getpid(), signal.SIGUSR1)
    with open(os.path.join(output, "metrics.jsonl"), "w") as out:
        told = {"logdir": f"events are in {output}/tb", "cache": str(home)}
        out.write(json.dumps({"step": 0, "loss": float(loss), **told}) + "\n")
