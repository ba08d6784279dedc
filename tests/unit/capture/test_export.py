"""Exported files: each form as its own reader reads it, and nothing of a hostile record in any."""

from __future__ import annotations

import json
import shlex

import pytest
from packaging.requirements import Requirement
from ruamel.yaml import YAML

from reprokit.capture.export import export
from reprokit.capture.export_formats import FORMS
from reprokit.cli.commands.env import export_record
from reprokit.errors import ReportError

DIGEST = "a" * 64
LOCK = "# solved\n" + "".join(
    f"{pin} \\\n    --hash=sha256:{DIGEST}\n" for pin in ("numpy==2.4.6", "torch==2.13.0+cpu")
)
BASE = f"docker.io/library/python:3.11-slim-bookworm@sha256:{DIGEST}"
SETTINGS = {"MKL_CBWR": "COMPATIBLE", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL", "PYTHONHASHSEED": "0"}


def record(**inside):
    return {
        "inside": {
            "python": {"version": "3.11.2", "minor": "3.11"},
            "os": {"name": "Debian GNU/Linux 12 (bookworm)"},
            "libc": {"name": "glibc", "version": "2.36"},
            "packages": {"torch": "2.13.0+cpu", "numpy": "2.4.6"},
            "variables": {**SETTINGS, "CUDA_VISIBLE_DEVICES": "1"},
            "numerics": {"profile": "portable"},
            **inside,
        }
    }


def test_a_name_in_the_command_line_is_a_form_and_the_other_way_round():
    [chosen] = [one for one in export_record.params if one.name == "form"]
    assert set(chosen.type.choices) == set(FORMS)


def test_pins_without_a_lock_are_requirements_that_say_they_have_no_hashes():
    made = export(record(), form="requirements")
    address, *pins = made.files["requirements.txt"].splitlines()
    assert address == "--extra-index-url https://download.pytorch.org/whl/cpu"
    assert [str(Requirement(pin)) for pin in pins] == ["numpy==2.4.6", "torch==2.13.0+cpu"]
    assert any("without hashes" in line for line in made.open)
    assert "--require-hashes" not in " ".join(made.commands)


@pytest.mark.parametrize("form", FORMS)
def test_the_record_s_own_lock_is_taken_as_it_is(form):
    made = export(record(), form=form, lock=LOCK)
    [text] = [text for name, text in made.files.items() if name.endswith("requirements.txt")]
    assert text.endswith(LOCK)
    assert not any("hashes" in line for line in made.open)


def test_a_build_that_the_common_index_has_names_no_address():
    made = export(record(packages={"numpy": "2.4.6"}), form="requirements")
    assert "http" not in made.files["requirements.txt"]


def test_conda_reads_python_pins_and_settings():
    told = YAML(typ="safe").load(export(record(), form="conda").files["environment.yml"])
    assert told["dependencies"] == ["python=3.11.2", "pip", {"pip": ["--requirement requirements.txt"]}]
    assert told["variables"] == {**SETTINGS, "REPROKIT_NUMERICS": "portable"}


def test_the_dockerfile_stands_on_the_base_by_digest_and_sets_what_was_set():
    lines = export(record(), form="dockerfile", base=BASE).files["Dockerfile"]
    assert lines.startswith(f"ARG BASE={BASE}\n")
    joined = lines.replace(" \\\n", " ")
    [setting] = [line for line in joined.splitlines() if line.startswith("ENV ")]
    told = dict(word.split("=", 1) for word in shlex.split(setting)[1:])
    assert {**SETTINGS, "REPROKIT_NUMERICS": "portable"}.items() <= told.items()
    assert "CUDA_VISIBLE_DEVICES" not in told


def test_without_a_base_by_digest_the_distribution_and_python_are_the_record_s():
    assert "python:3.11-slim-bookworm\n" in export(record(), form="dockerfile").files["Dockerfile"]
    assert "python:3.11-slim\n" in export(record(os={}), form="dockerfile").files["Dockerfile"]


def test_apptainer_reads_sections_and_a_digest_without_a_tag():
    text = export(record(), form="apptainer", base=BASE).files["environment.def"]
    head, *sections = text.split("\n%")
    assert head.splitlines() == ["Bootstrap: docker", f"From: python@sha256:{DIGEST}"]
    assert [one.split("\n", 1)[0] for one in sections] == ["files", "post", "environment", "runscript"]
    assert "From: python:3.11-slim-bookworm\n" in export(record(), form="apptainer").files["environment.def"]


def test_a_development_container_is_built_from_the_same_dockerfile():
    made = export(record(), form="devcontainer", base=BASE)
    told = json.loads(made.files[".devcontainer/devcontainer.json"])
    assert told["build"] == {"dockerfile": "Dockerfile"}
    assert told["remoteEnv"]["MKL_CBWR"] == "COMPATIBLE"
    assert (
        made.files[".devcontainer/Dockerfile"]
        == export(record(), form="dockerfile", base=BASE).files["Dockerfile"]
    )


HOSTILE = [
    {"packages": {"numpy": "2.4.6\nRUN curl evil"}},
    {"packages": {"numpy; touch x": "1"}},
    {"packages": {"-r": "/etc/passwd"}},
    {"packages": {"numpy": ["2.4.6"]}},
    {"packages": {}},
    {"packages": None},
    {"python": {"version": "3.11.2\nRUN true"}},
    {"python": None},
    {"variables": {"TZ": 'UTC"\nRUN true'}},
    {"variables": {"TZ": "$(touch x)"}},
    {"variables": {"TZ": "`touch x`"}},
    {"variables": {"TZ": "a\\"}},
    {"variables": {"TZ": 7}},
    {"numerics": {"profile": "x'; touch x"}},
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("inside", HOSTILE, ids=range(len(HOSTILE)))
def test_what_could_be_more_than_a_version_or_setting_is_refused(inside, form):
    with pytest.raises(ReportError):
        export(record(**inside), form=form)


@pytest.mark.parametrize("form", FORMS)
def test_a_variable_that_nobody_may_read_is_not_written(form):
    made = export(record(variables={"AWS_SECRET_ACCESS_KEY": "hunter2", "LD_PRELOAD": "x"}), form=form)
    assert not any("hunter2" in text or "LD_PRELOAD" in text for text in made.files.values())


@pytest.mark.parametrize("base", ["evil:latest", f"x@sha256:{DIGEST}\nRUN true", "$(x)"])
def test_a_base_that_is_no_image_by_digest_is_refused(base):
    with pytest.raises(ReportError):
        export(record(), form="dockerfile", base=base)


def test_what_no_file_can_promise_is_told():
    told = " ".join(
        export(
            record(sources={"mine": "editable"}, device={"kind": "cuda"}, numerics={"profile": "native"}),
            form="conda",
        ).open
    )
    for words in ("source tree", "mine", "driver", "native", "glibc 2.36"):
        assert words in told
    assert "glibc" not in " ".join(export(record(), form="dockerfile").open)


def test_no_record_at_all_is_refused():
    with pytest.raises(ReportError, match="which packages"):
        export({"host": {}}, form="conda")
