"""What the start of the command line costs does not depend on how many distributions are installed."""

import json
import subprocess
import sys

import pytest

from support.installed_extension import install

ASK = """\
import json, sys, sysconfig
opened, listed = [], []

def heard(event, args):
    if event == "open" and ".dist-info" in str(args[0]):
        opened.append(str(args[0]))
    if event in ("os.listdir", "os.scandir"):
        listed.append(str(args[0]))

site = sys.argv[1]
sysconfig.get_path = lambda name, *rest: site
sys.path.append(site)  # as a site-packages is
sys.addaudithook(heard)
from reprokit import cli
try:
    cli.main(["--help"])
except SystemExit as ended:
    assert not ended.code, ended.code
told = {"opened": opened, "listed": listed.count(site), "metadata": "importlib.metadata" in sys.modules}
print(json.dumps(told), file=sys.stderr)
"""


@pytest.mark.parametrize("others", [0, 200])
@pytest.mark.parametrize("named", [False, True])
def test_help_opens_no_file_of_a_distribution_that_the_project_does_not_name(tmp_path, named, others):
    site, project = tmp_path / "site-packages", tmp_path / "project"
    project.mkdir()
    about = install(site)
    for number in range(others):
        install(site, name=f"filler-{number}")
    listed = '["planted-one==1.0"]' if named else "[]"
    (project / "pyproject.toml").write_text(f"[tool.reprokit]\nextensions = {listed}\n")
    done = subprocess.run(
        [sys.executable, "-c", ASK, site], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stderr.splitlines()[-1])
    assert {file.rpartition("/")[0] for file in told["opened"]} == ({str(about)} if named else set())
    assert told["listed"] <= 1  # by Python itself, which looks there for modules
    assert told["metadata"] is False
