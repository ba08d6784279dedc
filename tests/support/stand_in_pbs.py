"""The commands of a PBS of two nodes, in whose place processes of this machine run the jobs.

The real ones need a server that no package registry has. What they take and print is as in the reference of
OpenPBS 23; a job is a process, and its file says what became of it.
"""

from __future__ import annotations

import sys
from pathlib import Path

_PROGRAM = """#!{python}
import json, os, pathlib, signal, subprocess, sys
HOME = pathlib.Path({home!r})
name, words = pathlib.Path(sys.argv[0]).name, sys.argv[1:]

def jobs(wanted):
    for handle in wanted:
        file = HOME / handle
        if file.exists():
            told = json.loads(file.read_text())
            ended = HOME / (handle + ".ended")
            state = "F" if ended.exists() else "R"
            more = {{"Exit_status": int(ended.read_text() or 271)}} if ended.exists() else {{}}
            yield handle, {{"job_state": state, "exec_host": told["node"] + "/0", **more}}

if name == "pbsnodes":
    print(json.dumps({{"nodes": {{"node1": {{"state": "free"}}, "node2": {{"state": "free"}},
                                  "node3": {{"state": "down"}}}}}}))
elif name == "qsub":
    number = len(list(HOME.glob("*.pbs"))) + 1
    handle = str(number) + ".pbs"
    asked = [word for word in words if word.startswith("select=")][0]
    node = asked.partition(":host=")[2] or ["node1", "node2"][number % 2]
    log = words[words.index("-o") + 1]
    run = [sys.executable, __file__.replace("qsub", "run-job"), handle, log, words[-1]]
    env = {{**os.environ, "PBS_NODE": node, "PBS_JOBID": handle}}
    with open(log, "ab") as out:
        started = subprocess.Popen(run, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   start_new_session=True)
    (HOME / handle).write_text(json.dumps({{"node": node, "pid": started.pid}}))
    print(handle)
elif name == "run-job":
    job = subprocess.Popen(["/bin/sh", words[2]])
    (HOME / (words[0] + ".child")).write_text(str(job.pid))
    code = job.wait()
    (HOME / (words[0] + ".ended")).write_text(str(code if code >= 0 else 256 - code))
elif name == "qstat":
    print(json.dumps({{"Jobs": dict(jobs(words[words.index("json") + 1:]))}}))
elif name == "qdel":
    for handle in words:
        if not (HOME / (handle + ".ended")).exists():
            os.kill(int((HOME / (handle + ".child")).read_text()), signal.SIGTERM)
"""


def write_commands(folder: Path) -> Path:
    """Write them; returns the folder that belongs on PATH."""
    commands, home = folder / "bin", folder / "jobs"
    for one in (commands, home):
        one.mkdir(parents=True)
    for name in ("pbsnodes", "qsub", "qstat", "qdel", "run-job"):
        file = commands / name
        file.write_text(_PROGRAM.format(python=sys.executable, home=str(home)))
        file.chmod(0o755)
    return commands
