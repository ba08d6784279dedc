"""How the files look that rebuild an environment; ``export`` sees to it that every text is harmless in them.

Source: the manuals of pip (requirements files), conda (environment.yml), Docker (Dockerfile reference),
Apptainer (definition files) and containers.dev (devcontainer.json).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: PyTorch's own indexes: they alone have the builds that carry ``+cpu`` or ``+cu130`` in their version.
_TORCH_INDEX = "https://download.pytorch.org/whl"
_LOCAL = re.compile(r"\+(cpu|cu\d+)$")
_ENVIRONMENT = "/opt/environment"
_CONTEXT = "/opt/export"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What goes into files; ``hashed``: whether the pins in ``requirements`` carry hashes."""

    python: str
    base: str
    settings: Mapping[str, str]
    requirements: str
    hashed: bool


def _requirements(facts: Facts) -> str:
    """The pins, with the one address that PyTorch's own builds need."""
    builds = sorted(
        {
            found[1]
            for line in facts.requirements.splitlines()
            if (found := _LOCAL.search(line.split(" ", 1)[0]))
        }
    )
    lines = [f"--extra-index-url {_TORCH_INDEX}/{build}" for build in builds]
    return "\n".join([*lines, facts.requirements.strip(), ""])


def _as_requirements(facts: Facts) -> tuple[dict[str, str], tuple[str, ...]]:
    lines = (f"export {name}={shlex.quote(value)}" for name, value in facts.settings.items())
    files = {
        "requirements.txt": _requirements(facts),
        ".python-version": f"{facts.python}\n",
        "settings.sh": "# Before Python starts: . ./settings.sh\n" + "".join(f"{line}\n" for line in lines),
    }
    minor = ".".join(facts.python.split(".")[:2])
    return files, (
        f"python{minor} -m venv environment",
        f"environment/bin/pip install {_options(facts)} --requirement requirements.txt",
        ". ./settings.sh",
    )


def _as_conda(facts: Facts) -> tuple[dict[str, str], tuple[str, ...]]:
    settings = [f"  {name}: {json.dumps(value)}" for name, value in facts.settings.items()]
    lines = [
        "name: reprokit",
        "channels: [conda-forge, nodefaults]",
        "dependencies:",
        f"  - python={facts.python}",
        "  - pip",
        "  - pip:",
        "      - --requirement requirements.txt",
        *(["variables:", *settings] if settings else []),
    ]
    files = {
        "environment.yml": "".join(f"{line}\n" for line in lines),
        "requirements.txt": _requirements(facts),
    }
    return files, ("conda env create --file environment.yml", "conda activate reprokit")


def _as_dockerfile(facts: Facts) -> tuple[dict[str, str], tuple[str, ...]]:
    files = {"Dockerfile": _dockerfile(facts), "requirements.txt": _requirements(facts)}
    return files, ("docker build --tag environment .",)


def _as_devcontainer(facts: Facts) -> tuple[dict[str, str], tuple[str, ...]]:
    described = {
        "name": "reprokit",
        "build": {"dockerfile": "Dockerfile"},
        "remoteEnv": dict(facts.settings),
        "customizations": {
            "vscode": {"settings": {"python.defaultInterpreterPath": f"{_ENVIRONMENT}/bin/python"}}
        },
    }
    files = {
        ".devcontainer/devcontainer.json": json.dumps(described, indent=2) + "\n",
        ".devcontainer/Dockerfile": _dockerfile(facts),
        ".devcontainer/requirements.txt": _requirements(facts),
    }
    return files, ("devcontainer up --workspace-folder .",)


def _as_apptainer(facts: Facts) -> tuple[dict[str, str], tuple[str, ...]]:
    lines = [
        "Bootstrap: docker",
        f"From: {_by_digest(facts.base)}",
        "",
        "%files",
        f"    requirements.txt {_CONTEXT}/requirements.txt",
        "",
        "%post",
        *(f"    {line}" for line in _install(facts)),
        f"    rm -r {_CONTEXT}",
        "",
        "%environment",
        f"    export PATH={_ENVIRONMENT}/bin:$PATH",
        *(f"    export {name}={shlex.quote(value)}" for name, value in facts.settings.items()),
        "",
        "%runscript",
        '    exec python "$@"',
    ]
    files = {
        "environment.def": "".join(f"{line}\n" for line in lines),
        "requirements.txt": _requirements(facts),
    }
    return files, (
        "apptainer build environment.sif environment.def",
        "apptainer run --cleanenv environment.sif",
    )


def _dockerfile(facts: Facts) -> str:
    """Wheels that lie in ``wheels/`` next to it are used first: then it builds without a network."""
    settings = [f'{name}="{value}"' for name, value in facts.settings.items()]
    variables = " \\\n    ".join([f"PATH={_ENVIRONMENT}/bin:$PATH", *settings])
    install = " \\\n && ".join(_install(facts))
    return "\n".join(
        [
            f"ARG BASE={facts.base}",
            "",
            "FROM ${BASE} AS install",
            f"COPY requirements.txt wheel[s] {_CONTEXT}/",
            f"RUN {install}",
            "",
            "FROM ${BASE}",
            f"COPY --from=install {_ENVIRONMENT} {_ENVIRONMENT}",
            f"ENV {variables}",
            'CMD ["python"]',
            "",
        ]
    )


def _by_digest(base: str) -> str:
    """Apptainer takes a tag or a digest, never both."""
    name, at, digest = base.removeprefix("docker.io/library/").partition("@")
    return f"{name.partition(':')[0]}@{digest}" if at else name


def _install(facts: Facts) -> tuple[str, str]:
    pip = f"{_ENVIRONMENT}/bin/python -m pip install --no-cache-dir {_options(facts)}"
    return (
        f"python3 -m venv {_ENVIRONMENT}",
        f"{pip} --find-links {_CONTEXT} --requirement {_CONTEXT}/requirements.txt",
    )


def _options(facts: Facts) -> str:
    return "--no-deps --require-hashes" if facts.hashed else "--no-deps"


#: Name of a form → how it is written.
FORMS: Mapping[str, Callable[[Facts], tuple[dict[str, str], tuple[str, ...]]]] = {
    "requirements": _as_requirements,
    "conda": _as_conda,
    "dockerfile": _as_dockerfile,
    "apptainer": _as_apptainer,
    "devcontainer": _as_devcontainer,
}
