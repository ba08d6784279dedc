"""A signed report: the chain from the key to every file, and where each break of it is found."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from reprokit import reports
from reprokit.features.signing import signing
from reprokit.golden import Promotion
from reprokit.harness import Request, audit, judge_again
from reprokit.harness.curation import promote
from reprokit.reports.formats import to_json

pytestmark = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="needs ssh-keygen (openssh-client)"
)


@pytest.fixture
def keys(tmp_path):
    """The private keys of two people, each with its public half next to it."""
    folder = tmp_path / "keys"
    folder.mkdir()
    for name in ("ada", "eve"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"{name}@example.org", "-f", folder / name],
            check=True,
        )
    return folder


@pytest.fixture
def key(keys):
    return keys / "ada"


def sign(report, key):
    with signing.signing_key(key, may_ask=False) as usable:
        return signing.sign_report(report, key=usable)


@pytest.fixture
def signed(here, make, programs, key):
    """A report of two runs that are equal to their golden, signed; its file, and the runs."""
    folders = make.of_recipe(programs["training"](), programs["training"]())
    promote(
        folders,
        project=here,
        promotion=Promotion(
            reason="first", created_at="2026-11-20T10:15:00+00:00", allow_dirty=True, allow_failed=True
        ),
    )
    folder = here.reports_dir / "cartpole_baseline" / "T"
    reports.render_all(judge_again(folders, Request(), project=here), folder)
    sign(folder / "report.json", key)
    return folder / "report.json", folders


def audited(report, here, key):
    """The audit of a report of which a signature is asked for."""
    signature = signing.check(report, signers=key.with_suffix(".pub"))
    return audit(report, project=here, found_already=(signature.problem,) if signature.problem else ())


def signer(report, key):
    return signing.check(report, signers=key.with_suffix(".pub")).by


def test_a_signed_report_stands_and_says_whose_it_is(signed, here, key):
    found = audited(signed[0], here, key)
    assert (found.follows, found.exit_code, signer(signed[0], key)) == (True, 0, "ada@example.org")


def test_a_missing_signature_is_found(signed, here, key):
    signing.signature_of(signed[0]).unlink()
    found = audited(signed[0], here, key)
    assert found.exit_code == 1
    assert "is not signed" in found.findings[0]


def test_a_foreign_signature_is_found(signed, here, keys):
    found = audited(signed[0], here, keys / "eve")
    assert (found.exit_code, signer(signed[0], keys / "eve")) == (1, "")
    assert "not among those who may sign" in found.findings[0]


def test_a_report_made_good_after_signing_is_found_even_where_all_else_fits(signed, here, key):
    report = signed[0]
    told = json.loads(report.read_text())
    report.write_text(json.dumps({**told, "created_at": "2020-01-01T00:00:00+00:00"}))
    reports.render_all(to_json.load(report), report.parent)
    assert audit(report, project=here).follows  # nothing but the signature could tell
    found = audited(report, here, key)
    assert found.exit_code == 1
    assert "incorrect signature" in found.findings[0]


def test_a_signature_of_another_report_is_found(signed, here, key, tmp_path):
    other = tmp_path / "report.json"
    other.write_text("{}")
    shutil.copy(sign(other, key), signing.signature_of(signed[0]))
    assert audited(signed[0], here, key).exit_code == 1


def golden_of(here):
    return next(here.golden_dir.rglob("provenance.json")).parent


@pytest.mark.parametrize(
    "break_it",
    [
        lambda runs, golden: (runs[0] / "metrics.jsonl").write_text('{"step": 1, "x": 2}\n'),
        lambda runs, golden: (runs[1] / "environment.json").write_text("{}"),
        lambda runs, golden: (runs[1] / "note.txt").write_text("x"),
        lambda runs, golden: (golden / "metrics.jsonl").write_text('{"step": 1, "x": 2}\n'),
        lambda runs, golden: (golden / "trace.jsonl").write_text(""),
        lambda runs, golden: (golden / "provenance.json").write_text(
            (golden / "provenance.json").read_text().replace("first", "second")
        ),
    ],
    ids=["metrics", "environment", "more files", "golden numbers", "golden trace", "golden why"],
)
def test_evidence_that_was_edited_under_a_good_signature_is_found(signed, here, key, break_it):
    report, runs = signed
    break_it(runs, golden_of(here))
    found = audited(report, here, key)
    assert (found.follows, found.exit_code) == (False, 1)
    assert signer(report, key) == "ada@example.org"


def test_gone_evidence_of_a_signed_report_cannot_be_judged(signed, here, key):
    shutil.rmtree(signed[1][0])
    assert audited(signed[0], here, key).exit_code == 4


def test_gone_evidence_does_not_excuse_a_false_signature(signed, here, keys):
    shutil.rmtree(signed[1][0])
    assert audited(signed[0], here, keys / "eve").exit_code == 1


def test_a_private_key_leaves_nothing_in_report_or_signature(signed, key):
    body = b"".join(key.read_bytes().splitlines()[1:-1])[-60:]
    for path in signed[0].parent.iterdir():
        assert body not in path.read_bytes()
