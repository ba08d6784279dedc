"""What is fetched is whole and as declared, or it is not there; a download that is cut continues."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reprokit import data
from reprokit.data import partial_file
from reprokit.errors import DataError, DiskFullError, MissingExtraError
from support.data_server import serving

CONTENT = b"".join(b"%d,%d\n" % (row, row * row) for row in range(60_000))


def test_a_file_is_fetched_whole_and_read_only_under_its_digest(fetching, server, make):
    one = make(f"{server.url}/good")
    path = fetching(one)
    assert path.read_bytes() == CONTENT
    assert (path.name, path.stat().st_mode & 0o777) == (one.hex_digits, 0o444)
    assert fetching.left == [one.hex_digits]


def test_what_is_there_is_not_fetched_again(fetching, server, make):
    fetching(make(f"{server.url}/good"))
    fetching(make(f"{server.url}/good"))
    assert len(server.asked) == 1


def test_a_connection_that_is_cut_twenty_times_brings_the_whole_file(fetching, server, make):
    path = fetching(make(f"{server.url}/cut"))
    assert path.read_bytes() == CONTENT
    assert len(server.asked) == 21
    assert all(
        before < after for (_, before), (_, after) in zip(server.asked, server.asked[1:], strict=False)
    )


def test_a_server_that_knows_no_ranges_is_read_from_the_beginning(fetching, server, make):
    one = make(f"{server.url}/whole")
    left = fetching.cache / "data" / f".{one.hex_digits}.partial"
    left.parent.mkdir(parents=True)
    left.write_bytes(CONTENT[:1000])
    assert fetching(one).read_bytes() == CONTENT
    assert server.asked == [("/whole", 1000)]


def test_what_an_earlier_attempt_left_of_another_file_is_thrown_away(fetching, server, make):
    one = make(f"{server.url}/good")
    left = fetching.cache / "data" / f".{one.hex_digits}.partial"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"x" * 1000)
    assert fetching(one).read_bytes() == CONTENT
    assert [offset for _, offset in server.asked] == [1000, 0]


def _linked_to_nowhere(path, elsewhere):
    path.symlink_to(elsewhere.with_name("nowhere"))


def _folder_with_a_file(path, elsewhere):
    path.mkdir()
    (path / "x").write_text("x")


@pytest.mark.parametrize(
    "put",
    [
        lambda path, elsewhere: path.symlink_to(elsewhere),
        _linked_to_nowhere,
        lambda path, elsewhere: path.hardlink_to(elsewhere),
        lambda path, elsewhere: os.mkfifo(path),
        _folder_with_a_file,
    ],
    ids=["a link", "a link to nowhere", "a hard link", "a pipe", "a folder"],
)
def test_what_lies_where_a_download_grows_and_is_not_its_own_is_replaced(
    fetching, server, make, tmp_path, put
):
    one, elsewhere = make(f"{server.url}/good"), tmp_path / "elsewhere"
    elsewhere.write_bytes(b"somebody's")
    left = fetching.cache / "data" / f".{one.hex_digits}.partial"
    left.parent.mkdir(parents=True)
    put(left, elsewhere)
    assert fetching(one).read_bytes() == CONTENT
    assert elsewhere.read_bytes() == b"somebody's"
    assert not os.path.lexists(left)


def test_a_server_that_is_busy_is_asked_again(fetching, server, make):
    assert fetching(make(f"{server.url}/busy")).read_bytes() == CONTENT


def test_mirrors_are_tried_in_their_order(fetching, server, make):
    places = (f"{server.url}/gone", f"{server.url}/other", f"{server.url}/good")
    assert fetching(make(*places)).read_bytes() == CONTENT
    assert [path for path, _ in server.asked] == ["/gone", "/other", "/good"]


REFUSED = {
    "gone": "the server answered 404",
    "other": "not the declared file",
    "more": "it sends more than",
    "html": r"expected [\d,]+ bytes, the place has 26 \(a web page",
    "to/file:///etc/passwd": "the server redirects from http to file:///etc/passwd, which is not followed",
    "to/gopher://here": "which is not followed",
}


@pytest.mark.parametrize("path", REFUSED)
def test_what_is_not_the_declared_file_is_refused_and_nothing_of_it_stays(fetching, server, make, path):
    with pytest.raises(DataError, match=REFUSED[path]):
        fetching(make(f"{server.url}/{path}"))
    assert fetching.left == []


def test_a_redirect_to_another_http_url_is_followed(fetching, server, make):
    assert fetching(make(f"{server.url}/to/{server.url}/good")).read_bytes() == CONTENT


def test_redirects_in_a_circle_end(fetching, server, make):
    with pytest.raises(DataError, match="more than 10 redirects"):
        fetching(make(f"{server.url}/circle"))


def test_a_server_that_is_not_there_is_said_after_a_few_attempts(fetching, make):
    with serving(b"") as gone:
        url = gone.url
    with pytest.raises(DataError, match="the connection failed: ConnectionError, 5 times in a row"):
        fetching(make(f"{url}/good"))


@pytest.mark.parametrize("size", [1, 10**6])
def test_a_wrong_size_is_refused_before_anything_is_read(fetching, server, make, size):
    with pytest.raises(DataError, match=rf"expected {size:,} bytes, the place has {len(CONTENT):,}"):
        fetching(make(f"{server.url}/good", num_bytes=size))


def test_a_local_file_is_copied_into_the_cache(fetching, write, make):
    assert fetching(make(write("train.csv", CONTENT)), offline=True).read_bytes() == CONTENT


@pytest.mark.parametrize("kind", ["fifo", "folder", "absent", "device"])
@pytest.mark.timeout(20)
def test_only_a_plain_local_file_is_read(fetching, tmp_path, make, kind):
    path = Path("/dev/zero") if kind == "device" else tmp_path / kind
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(DataError, match=r"is not a plain file|cannot be read"):
        fetching(make(path.as_uri()))


def test_offline_asks_no_server(fetching, server, make):
    with pytest.raises(DataError, match="is not asked: offline"):
        fetching(make(f"{server.url}/good"), offline=True)
    assert server.asked == []


def test_offline_uses_what_is_there(fetching, server, make):
    one = make(f"{server.url}/good")
    fetching(one)
    assert fetching(one, offline=True).read_bytes() == CONTENT


def test_fsspec_reads_other_places(fetching, make):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe("/datasets/train.csv", CONTENT)
    assert fetching(make("memory://datasets/train.csv"), offline=True).read_bytes() == CONTENT


def test_without_fsspec_the_way_to_get_it_is_told(fetching, make, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=r"fsspec is not installed.*reprokit-verify\[remote\]"):
        fetching(make("s3://bucket/train.csv"))


def test_a_file_of_the_cache_that_was_edited_is_found_and_replaced(fetching, server, make):
    one = make(f"{server.url}/good")
    path = fetching(one)
    path.chmod(0o644)
    path.write_bytes(CONTENT[:-2] + b"9\n")
    assert data.check(one, cache=fetching.cache).status is data.SourceStatus.CHANGED
    assert data.glance(one, cache=fetching.cache).status is data.SourceStatus.READY  # it reads nothing
    assert fetching(one).read_bytes() == CONTENT


@pytest.mark.parametrize("made", ["link", "folder", "fifo"])
@pytest.mark.timeout(20)
def test_a_cache_that_holds_something_else_in_its_place_is_found(fetching, server, make, write, made):
    one = make(f"{server.url}/good")
    path = fetching(one)
    path.unlink()
    if made == "link":
        path.symlink_to(fetching.cache.parent / "elsewhere")
        (fetching.cache.parent / "elsewhere").write_bytes(CONTENT)
    elif made == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    assert data.check(one, cache=fetching.cache).status is data.SourceStatus.CHANGED
    assert fetching(one).read_bytes() == CONTENT


FETCH = """
import sys
from pathlib import Path
from reprokit import data
def told(source, num_bytes, what):
    print(num_bytes, flush=True)
    if num_bytes > 100_000: sys.stdin.read()
one = data.DataSource(name="x", sha256=sys.argv[2], num_bytes=int(sys.argv[3]), places=(sys.argv[4],))
data.fetch(one, cache=Path(sys.argv[1]), offline=False, on_progress=told)
"""


def test_two_processes_that_fetch_the_same_file_read_it_once(fetching, server, make):
    one = make(f"{server.url}/cut")
    words = [sys.executable, "-c", FETCH, str(fetching.cache), one.sha256, str(one.num_bytes), one.places[0]]
    both = [subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert data.check(one, cache=fetching.cache).status is data.SourceStatus.READY
    assert len(server.asked) == 21


def test_a_process_that_is_killed_leaves_what_the_next_one_appends_to(fetching, server, make):
    one = make(f"{server.url}/cut")
    words = [sys.executable, "-c", FETCH, str(fetching.cache), one.sha256, str(one.num_bytes), one.places[0]]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    while int(process.stdout.readline()) <= 100_000:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert data.check(one, cache=fetching.cache).status is data.SourceStatus.MISSING
    before = len(server.asked)
    assert fetching(one).read_bytes() == CONTENT
    assert server.asked[before][1] > 100_000


def test_a_disk_with_too_little_room_is_said_before_anything_is_read(fetching, server, make, monkeypatch):
    full = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(partial_file.shutil, "disk_usage", lambda _: full)
    with pytest.raises(DiskFullError, match="no space left"):
        fetching(make(f"{server.url}/good"))
    assert (server.asked, fetching.left) == ([], [])


def test_a_disk_that_fills_up_leaves_nothing_half(fetching, server, make, tmp_path, monkeypatch):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "reprokit-test", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a file system here: {mounted.stderr.decode().strip()}")
    try:
        roomy = shutil.disk_usage("/")
        monkeypatch.setattr(partial_file.shutil, "disk_usage", lambda _: roomy)  # filled by others meanwhile
        fetching.cache = disk / "cache"
        with pytest.raises(DiskFullError, match="no space left"):
            fetching(make(f"{server.url}/good"))
        assert fetching.left == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
