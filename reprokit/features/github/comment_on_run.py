"""Say on a pull request what became of it: find the artifact, the pull request and the comment; write it.

Which pull request it is follows from the event and from GitHub's list of open ones. The artifact, which the
code of the pull request wrote, says nothing but what stands in the comment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.errors import CannotJudgeError, ReportError, ReprokitError, UsageError
from reprokit.features.github import collected, pull_request_comment
from reprokit.features.github.rest_client import RestClient
from reprokit.features.github.workflow_run import WorkflowRun, read_event

_PER_PAGE = 100
_MAX_PAGES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """The comments that were written, and why the reports could not be posted; or why there is none.

    Attributes:
        urls: Each comment's address.
        problem: What is wrong with the reports; the comment says it too.
        nothing: Why no comment was due.
        exit_code: 0 unless there is a problem.
    """

    urls: tuple[str, ...] = ()
    problem: str = ""
    nothing: str = ""
    exit_code: int = 0


def comment_on_run(
    event: Path, *, api_url: str, server_url: str, token: str, artifact: str, author: str
) -> Posted:
    """Write or renew the one comment on each open pull request whose newest commit the run was of.

    Args:
        event: The file that ``GITHUB_EVENT_PATH`` names, of the run that ended.
        api_url: Where GitHub answers.
        server_url: Where people see GitHub, for the address of the run.
        token: Allowed to read actions and to write on pull requests.
        artifact: Name of the artifact with ``gate.json`` and the reports.
        author: Login that the token's comments have; no one else's comment is changed.

    Raises:
        UsageError: It is another event, or there is no token.
        CannotRunError: GitHub did not do what was asked.
    """
    run = read_event(event)
    if not token:
        raise UsageError("GITHUB_TOKEN is not set", fix="env: {GITHUB_TOKEN: ${{ github.token }}}")
    with RestClient(run.repository, api_url=api_url, token=token) as client:
        return _answer(run, client, server_url=server_url, artifact=artifact, author=author)


def _answer(run: WorkflowRun, client: RestClient, *, server_url: str, artifact: str, author: str) -> Posted:
    if run.trigger != "pull_request":
        return Posted(nothing=f"the run was triggered by {run.trigger}, not by a pull request")
    numbers = _pull_requests(run, client)
    if not numbers:
        return Posted(nothing="no open pull request has the run's commit as its newest")
    origin = pull_request_comment.ReportOrigin(
        commit=run.commit,
        url=f"{server_url.rstrip('/')}/{run.repository}/actions/runs/{run.run_id}",
        conclusion=run.conclusion,
    )
    problem, code = "", 0
    try:
        text = pull_request_comment.comment(
            collected.from_archive(_artifact(run, client, artifact)), origin=origin
        )
    except (CannotJudgeError, ReportError) as error:
        problem, code = str(error), error.exit_code
        text = pull_request_comment.no_answer(problem, origin=origin)
    except ReprokitError:
        raise
    except (
        Exception
    ):  # hostile reports may find a fault of ours: no earlier comment may stand for this commit
        text = pull_request_comment.no_answer("the reports could not be drawn", origin=origin)
        for number in numbers:
            _write(number, text, client, author)
        raise
    urls = tuple(_write(number, text, client, author) for number in numbers)
    return Posted(urls=urls, problem=problem, exit_code=code)


def _pull_requests(run: WorkflowRun, client: RestClient) -> list[int]:
    """Open ones of the run's branch whose newest commit is the run's.

    The event's own list is empty for forks: https://github.com/orgs/community/discussions/25220.
    """
    if not run.head_owner or not run.head_branch:
        return []
    head = f"{run.head_owner}:{run.head_branch}"
    found = client.get("pulls", state="open", head=head, per_page=_PER_PAGE)
    return sorted(
        one["number"]
        for one in found
        if one["head"]["sha"] == run.commit and one["base"]["repo"]["full_name"] == run.repository
    )


def _artifact(run: WorkflowRun, client: RestClient, name: str) -> bytes:
    """The newest artifact of that name, as a ZIP file."""
    listed = client.get(f"actions/runs/{run.run_id}/artifacts", name=name, per_page=_PER_PAGE)
    found = [one for one in listed["artifacts"] if one["name"] == name and not one["expired"]]
    if not found:
        raise CannotJudgeError(
            f"the workflow run left no artifact named {name}: the gate did not come to its end",
            fix="look at the log of the workflow run",
        )
    newest = max(found, key=lambda one: int(one["id"]))
    content = None
    if newest["size_in_bytes"] <= collected.MAX_ARCHIVE_BYTES:
        content = client.download(
            f"actions/artifacts/{int(newest['id'])}/zip", max_bytes=collected.MAX_ARCHIVE_BYTES
        )
    if content is None:
        limit = f"at most {collected.MAX_ARCHIVE_BYTES >> 20} MiB"
        raise ReportError("the artifact is too large", where=name, expected=limit)
    return content


def _write(number: int, text: str, client: RestClient, author: str) -> str:
    """Renew the comment of this author that has our marker, or write the first one; returns its address."""
    earlier = _earlier(number, client, author)
    if earlier is None:
        answer = client.send("POST", f"issues/{number}/comments", {"body": text})
    else:
        answer = client.send("PATCH", f"issues/comments/{earlier}", {"body": text})
    return str(answer["html_url"])


def _earlier(number: int, client: RestClient, author: str) -> int | None:
    for page in range(1, _MAX_PAGES + 1):
        found = client.get(f"issues/{number}/comments", per_page=_PER_PAGE, page=page)
        for one in found:
            if _is_ours(one, author):
                return int(one["id"])
        if len(found) < _PER_PAGE:
            break
    return None


def _is_ours(one: Mapping[str, Any], author: str) -> bool:
    """Anyone can write the marker; only the author's own comments are changed."""
    login = (one.get("user") or {}).get("login")
    return login == author and str(one.get("body") or "").startswith(pull_request_comment.MARKER)
