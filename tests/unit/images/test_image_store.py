"""The engine as the place where images lie: what is found, and which failure is which."""

from __future__ import annotations

import docker.errors
import pytest
import requests

from reprokit import docker_sdk
from reprokit.errors import EngineError, ImageError
from reprokit.images.building import image_store
from reprokit.images.building.architecture import architecture


class Client:
    def __init__(self, *rows: dict[str, object]) -> None:
        self.rows = list(rows)
        self.api = self
        self.closed = False

    def images(self, *, filters, all):  # noqa: A002  (as the SDK calls it)
        self.hidden = all
        (wanted,) = filters["label"]
        key, _, value = wanted.partition("=")
        return [row for row in self.rows if (row["Labels"] or {}).get(key) == value]

    def close(self) -> None:
        self.closed = True


def row(name: str, *tags: str, created: int = 1, **labels: str) -> dict[str, object]:
    return {"Id": name, "RepoTags": list(tags) or None, "Labels": labels, "Size": 5, "Created": created}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    one = Client()
    monkeypatch.setattr(docker_sdk, "knock", lambda **_: None)
    monkeypatch.setattr(docker, "from_env", lambda **_: one)
    return one


def test_an_image_is_found_by_its_label_and_its_own_tag():
    client = Client(
        row("top", "somebody/else:1", created=9, content="1"),
        row("ours", "reprokit/cpu:1", created=1, content="1"),
        row("other", "reprokit/cpu:1", created=5, content="2"),
    )
    assert image_store.find(client, "content", "1", tag="reprokit/cpu:1").id == "ours"
    assert image_store.find(client, "content", "3", tag="reprokit/cpu:1") is None


def test_a_tag_that_was_moved_to_another_image_finds_nothing():
    client = Client(row("moved", "reprokit/cpu:1", content="2"), row("ours", content="1"))
    assert image_store.find(client, "content", "1", tag="reprokit/cpu:1") is None


def test_an_image_that_is_known_is_found_by_its_id_whatever_its_name_and_no_other_is():
    client = Client(
        row("forged", "reprokit/cpu:1", created=9, content="1"),
        row("ours", created=1, content="1"),
        row("known but other", content="2"),
    )
    known = {"ours", "known but other"}.__contains__
    assert image_store.find_known(client, "content", "1", is_known=known).id == "ours"
    assert client.hidden
    assert image_store.find_known(client, "content", "1", is_known={"forged by another"}.__contains__) is None


def test_the_name_that_podman_gives_is_the_same_name():
    client = Client(row("ours", "localhost/reprokit/cpu:1", content="1"))
    assert image_store.find(client, "content", "1", tag="reprokit/cpu:1").id == "ours"


def test_no_engine_is_an_engine_error_with_a_way_round(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    with pytest.raises(EngineError, match="does not answer") as caught, image_store.connected():
        pytest.fail("nothing to connect to")
    assert caught.value.exit_code == 3
    assert "--backend local" in caught.value.fix


def use(error: Exception) -> None:
    with image_store.connected():
        raise error


def test_an_engine_that_goes_away_is_told_from_one_that_refuses(client):
    with pytest.raises(EngineError, match="went away"):
        use(requests.ConnectionError("gone"))
    with pytest.raises(ImageError, match=r"refused\. got no space left"):
        use(docker.errors.APIError("500", explanation="no space left"))
    assert client.closed


def test_faults_of_the_caller_pass_through(client):
    with pytest.raises(FileNotFoundError):
        use(FileNotFoundError("mine"))


def test_machines_have_two_names(monkeypatch):
    client = Client()
    client.version = lambda: {"Arch": "arm64"}
    assert image_store.machine(client) == "aarch64"
    assert architecture("x86_64") == "amd64"
