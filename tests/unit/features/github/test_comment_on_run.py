"""Comments on pull requests, against a GitHub of our own on this machine."""

from __future__ import annotations

import http.server
import io
import json
import re
import threading
import urllib.parse
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprokit.core.checklist import Verdict
from reprokit.errors import CannotRunError, UsageError
from reprokit.features.github import pull_request_comment
from reprokit.features.github.comment_on_run import comment_on_run
from reprokit.reports.formats import to_json
from reprokit.reports.gate_record import GATE_FILE, GateRecord, GateRow, gate_json
from support.sample_report import sample_report

COMMIT = "0123456789abcdef0123456789abcdef01234567"
BOT = "github-actions[bot]"
TOKEN = "t0ken"  # noqa: S105  (of no one)


class Forge:
    """As much of GitHub as a comment needs. The store of artifacts is another host, as GitHub's is."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.pulls = [self.pull(5)]
        self.artifacts = [self.artifact(1, "reprokit")]
        self.archive = archive(Verdict.REGRESSION)
        self.comments: list[dict] = []
        self.asked: list[tuple[str, str, dict, str | None]] = []
        self.status = 200

    def pull(self, number: int, *, sha: str = COMMIT, base: str = "owner/project") -> dict:
        return {"number": number, "head": {"sha": sha}, "base": {"repo": {"full_name": base}}}

    def artifact(self, number: int, name: str, *, size: int = 1000, expired: bool = False) -> dict:
        return {"id": number, "name": name, "size_in_bytes": size, "expired": expired}

    def answer(self, method: str, path: str, query: dict, body: dict) -> object:
        repository = "/repos/owner/project/"
        assert path.startswith(repository), path
        rest = path.removeprefix(repository)
        if rest == "pulls":
            assert query == {"state": ["open"], "head": ["fork:branch & more"], "per_page": ["100"]}
            return self.pulls
        if rest == "actions/runs/77/artifacts":
            return {"artifacts": self.artifacts}
        if method == "GET" and re.fullmatch(r"issues/\d+/comments", rest):
            page = int(query["page"][0])
            return self.comments[(page - 1) * 100 : page * 100]
        if method == "POST":
            self.comments.append(
                {"id": 1000 + len(self.comments), "user": {"login": BOT}, "body": body["body"]}
            )
            return {"html_url": f"{self.url}/new"}
        assert method == "PATCH", (method, rest)
        [one] = [one for one in self.comments if f"issues/comments/{one['id']}" == rest]
        one["body"] = body["body"]
        return {"html_url": f"{self.url}/renewed"}


def archive(verdict: Verdict, **more: bytes) -> bytes:
    report = sample_report(verdict)
    row = GateRow(
        recipe=report.recipe,
        seed=report.seed,
        verdict=verdict,
        exit_code=report.exit_code,
        report="reports/a/report.json",
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as found:
        found.writestr(GATE_FILE, gate_json(GateRecord(exit_code=report.exit_code, recipes=(row,))))
        found.writestr("reports/a/report.json", to_json.to_json(report))
    return stream.getvalue()


@pytest.fixture
def forge() -> Iterator[Forge]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            url = urllib.parse.urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            found.asked.append((self.command, url.path, body, self.headers.get("Authorization")))
            if found.status != 200:
                self.send_error(found.status)
            elif url.path.endswith("/zip"):
                self.send_response(302)
                self.send_header("Location", f"http://localhost:{port}/store")
                self.end_headers()
            else:
                content = found.archive
                if url.path != "/store":
                    query = urllib.parse.parse_qs(url.query)
                    content = json.dumps(found.answer(self.command, url.path, query, body)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_POST = do_PATCH = handle_any  # noqa: N815  (as http.server calls them)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port = server.server_address[1]
    found = Forge(f"http://127.0.0.1:{port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


def event(tmp_path: Path, **changes: object) -> Path:
    run = {
        "id": 77,
        "event": "pull_request",
        "conclusion": "failure",
        "head_sha": COMMIT,
        "head_branch": "branch & more",
        "head_repository": {"owner": {"login": "fork"}},
        "pull_requests": [],
    }
    path = tmp_path / "event.json"
    path.write_text(json.dumps({"repository": {"full_name": "owner/project"}, "workflow_run": run | changes}))
    return path


@pytest.fixture
def post(forge: Forge, tmp_path: Path):
    def call(*, token: str = TOKEN, **changes: object):
        return comment_on_run(
            event(tmp_path, **changes),
            api_url=forge.url,
            server_url="https://github.com",
            token=token,
            artifact="reprokit",
            author=BOT,
        )

    return call


def test_the_first_comment_is_written_and_then_renewed(forge: Forge, post):
    first = post()
    assert (first.urls, first.exit_code) == ((f"{forge.url}/new",), 0)
    assert "REGRESSION" in forge.comments[0]["body"]
    assert "https://github.com/owner/project/actions/runs/77" in forge.comments[0]["body"]

    forge.archive = archive(Verdict.REPRODUCED)
    assert post(conclusion="success").urls == (f"{forge.url}/renewed",)
    assert len(forge.comments) == 1
    assert "## ✅ reprokit: 1 REPRODUCED" in forge.comments[0]["body"]


def test_the_token_goes_to_github_and_not_to_the_store_of_artifacts(forge: Forge, post):
    post()
    tokens = {path: token for _, path, _, token in forge.asked}
    assert tokens.pop("/store") is None
    assert set(tokens.values()) == {"Bearer t0ken"}


def test_a_comment_with_our_marker_by_somebody_else_is_left_alone(forge: Forge, post):
    forge.comments = [
        {"id": 3, "user": {"login": "mallory"}, "body": f"{pull_request_comment.MARKER}\n## ✅ all is well"}
    ]
    assert post().urls == (f"{forge.url}/new",)
    assert forge.comments[0]["body"].endswith("all is well")


def test_our_comment_is_found_behind_hundreds_of_others(forge: Forge, post):
    others = [{"id": number, "user": {"login": "x"}, "body": "x"} for number in range(250)]
    forge.comments = [
        *others,
        {"id": 999, "user": {"login": BOT}, "body": pull_request_comment.MARKER},
        *others[:20],
    ]
    assert post().urls == (f"{forge.url}/renewed",)


def test_the_pull_request_is_the_events_whatever_the_artifact_says(forge: Forge, post):
    forge.pulls = [forge.pull(8), forge.pull(9, sha="f" * 40), forge.pull(10, base="other/project")]
    post()
    assert [path for method, path, _, _ in forge.asked if method == "POST"] == [
        "/repos/owner/project/issues/8/comments"
    ]


@pytest.mark.parametrize(
    "changes",
    [{"event": "push"}, {"head_repository": None}, {"head_branch": None}],
    ids=["push", "fork gone", "branch gone"],
)
def test_where_there_is_no_pull_request_nothing_is_written(forge: Forge, post, changes):
    answer = post(**changes)
    assert (answer.urls, answer.exit_code) == ((), 0)
    assert answer.nothing
    assert forge.comments == []


def test_a_run_of_a_commit_that_is_not_the_newest_any_more_writes_nothing(forge: Forge, post):
    forge.pulls = [forge.pull(5, sha="a" * 40)]
    assert "newest" in post().nothing
    assert forge.comments == []


@pytest.mark.parametrize(
    "kind", ["none", "other name", "expired", "huge by name", "huge", "no zip", "empty zip"]
)
def test_an_artifact_that_is_missing_or_refused_replaces_an_earlier_green_comment(
    forge: Forge, post, kind, monkeypatch
):
    forge.comments = [
        {"id": 1, "user": {"login": BOT}, "body": f"{pull_request_comment.MARKER}\n## ✅ reprokit"}
    ]
    if kind == "none":
        forge.artifacts = []
    elif kind == "other name":
        forge.artifacts = [forge.artifact(1, "other")]
    elif kind == "expired":
        forge.artifacts = [forge.artifact(1, "reprokit", expired=True)]
    elif kind == "huge by name":
        forge.artifacts = [forge.artifact(1, "reprokit", size=1 << 40)]
    elif kind == "huge":
        monkeypatch.setattr("reprokit.features.github.collected.MAX_ARCHIVE_BYTES", 100_000)
        forge.archive = b"P" * 1_000_000
    elif kind == "no zip":
        forge.archive = b"no zip"
    else:
        stream = io.BytesIO()
        zipfile.ZipFile(stream, "w").close()
        forge.archive = stream.getvalue()
    answer = post(conclusion="success")
    assert answer.exit_code in {2, 4}
    assert answer.problem
    assert len(forge.comments) == 1
    assert "✅" not in forge.comments[0]["body"]
    assert "nothing is known about this commit" in forge.comments[0]["body"]


def test_a_fault_of_ours_leaves_no_earlier_green_comment(forge: Forge, post, monkeypatch):
    forge.comments = [
        {"id": 1, "user": {"login": BOT}, "body": f"{pull_request_comment.MARKER}\n## ✅ reprokit"}
    ]

    def broken(*_: object, **__: object) -> str:
        raise TypeError("planted")

    monkeypatch.setattr(pull_request_comment, "comment", broken)
    with pytest.raises(TypeError, match="planted"):
        post()
    assert "✅" not in forge.comments[0]["body"]


def test_of_two_artifacts_of_one_name_the_newest_counts(forge: Forge, post):
    forge.artifacts = [
        forge.artifact(2, "reprokit"),
        forge.artifact(30, "reprokit"),
        forge.artifact(4, "reprokit"),
    ]
    post()
    assert "/repos/owner/project/actions/artifacts/30/zip" in [path for _, path, _, _ in forge.asked]


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_refusal_of_github_is_an_error_that_names_the_rights(forge: Forge, post, status):
    forge.status = status
    with pytest.raises(CannotRunError, match=str(status)) as caught:
        post()
    assert "t0ken" not in str(caught.value)


def test_without_a_token_nothing_is_asked(forge: Forge, post):
    with pytest.raises(UsageError, match="GITHUB_TOKEN"):
        post(token="")
    assert forge.asked == []


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "77"},
        {"id": -1},
        {"id": True},
        {"id": None},
        {"head_sha": "../../x"},
        {"head_sha": None},
        {"conclusion": "failure)](javascript:x"},
        {"conclusion": None},
        {"event": "pull request"},
        {"head_repository": {"owner": {"login": "a/../b"}}},
    ],
)
def test_an_event_of_another_form_is_refused_before_anything_is_asked(forge: Forge, post, changes):
    with pytest.raises(UsageError):
        post(**changes)
    assert forge.asked == []
