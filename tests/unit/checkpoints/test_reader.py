"""Checkpoints read without torch: what torch wrote comes back, and nothing of a hostile file ever runs."""

import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from reprokit import checkpoints
from reprokit.errors import CheckpointError

ARCHIVE = {"archive/byteorder": b"little", "archive/version": b"3\n"}


def archive(path, contents, *, packed=zipfile.ZIP_STORED, **others):
    """A file laid out as ``torch.save`` lays it out, with any list of contents."""
    with zipfile.ZipFile(path, "w", packed) as file:
        for name, data in {"archive/data.pkl": contents, **ARCHIVE, **others}.items():
            file.writestr(name, data)
    return path


def test_plain_data_come_back_as_they_were(tmp_path):
    state = {"step": 5, "none": None, "yes": True, "big": 2**127 + 1, "x": -0.5, "t": (1, "ä"), "l": [[], {}]}
    path = archive(tmp_path / "a.pt", pickle.dumps(state, protocol=2))
    assert checkpoints.read(path) == state


def test_what_torch_saves_comes_back_bit_for_bit(tmp_path):
    torch = pytest.importorskip("torch")
    kinds = [
        "float32",
        "float64",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
        "uint16",
        "uint32",
        "complex64",
    ]
    state = {
        "model": OrderedDict(
            (kind, torch.arange(6).reshape(2, 3).to(getattr(torch, kind))) for kind in kinds
        ),
        "turned": torch.arange(12.0).reshape(3, 4).T[1:, ::2],
        "empty": torch.empty(0, 3),
        "scalar": torch.tensor(2.5),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "module": torch.nn.Linear(2, 1).state_dict(),
    }
    torch.save(state, tmp_path / "a.pt")
    read = checkpoints.read(tmp_path / "a.pt")
    for kind in kinds:
        assert read["model"][kind].dtype == kind
        assert read["model"][kind].shape == (2, 3)
        raw = state["model"][kind].contiguous().view(torch.uint8).numpy().tobytes()
        assert np.ascontiguousarray(read["model"][kind].values).tobytes() == raw
    np.testing.assert_array_equal(read["turned"].values, state["turned"].numpy())
    assert read["empty"].shape == (0, 3)
    assert read["scalar"].values.item() == 2.5
    np.testing.assert_array_equal(read["parameter"].values, np.ones(2, dtype=np.float32))
    assert list(read["module"]) == ["weight", "bias"]


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path):
    path = archive(tmp_path / "a.pt", pickle.dumps({"step": 5}, protocol=2))
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError):
            checkpoints.read(path)


def test_a_flipped_bit_of_the_data_is_found(tmp_path):
    path = archive(tmp_path / "a.pt", pickle.dumps({"text": "x" * 200}, protocol=2))
    content = bytearray(path.read_bytes())
    content[150] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="Bad CRC"):
        checkpoints.read(path)


class Calls:
    """Unpickled, it would run a function."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "enemy",
    [Calls(os.system, "touch ran"), Calls(eval, "open('ran', 'w')"), Calls(Path, "ran"), Calls(bytearray, 9)],
)
def test_a_pickle_that_runs_code_is_refused_and_does_not_run(tmp_path, monkeypatch, enemy, protocol):
    monkeypatch.chdir(tmp_path)
    path = archive(tmp_path / "a.pt", pickle.dumps({"model": enemy}, protocol=protocol))
    with pytest.raises(CheckpointError, match="could run code"):
        checkpoints.read(path)
    assert not (tmp_path / "ran").exists()


def test_a_file_that_claims_more_than_it_holds_or_is_packed_is_refused(tmp_path):
    contents = pickle.dumps({"step": 5}, protocol=2)
    packed = archive(tmp_path / "packed.pt", contents, packed=zipfile.ZIP_DEFLATED)
    with pytest.raises(CheckpointError, match="is compressed"):
        checkpoints.read(packed)
    path = archive(tmp_path / "claims.pt", contents)
    whole = bytearray(path.read_bytes())
    at = whole.index(b"PK\x01\x02")
    whole[at + 20 : at + 28] = struct.pack("<II", 1 << 30, 1 << 30)
    path.write_bytes(whole)
    with pytest.raises(CheckpointError, match="claims 1,073,741,824 bytes in a file of"):
        checkpoints.read(path)
    with zipfile.ZipFile(tmp_path / "twice.pt", "w") as file:
        file.writestr("archive/data.pkl", contents)
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("archive/data.pkl", contents)
    with pytest.raises(CheckpointError, match="the same name"):
        checkpoints.read(tmp_path / "twice.pt")


def test_entries_that_lie_over_one_another_are_refused(tmp_path):
    contents = pickle.dumps({"step": 5}, protocol=2)
    names = [f"archive/data/{key}" for key in range(4)]
    path = archive(tmp_path / "overlap.pt", contents, **dict.fromkeys(names, bytes(1000)))
    assert checkpoints.read(path) == {"step": 5}
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        start, end = (file.getinfo(name).header_offset for name in (names[1], names[3]))
        at = file.start_dir
    moved = bytearray(whole[:start] + whole[end:])  # all four now read what is left of the last
    gone = end - start
    ending = moved.rindex(b"PK\x05\x06")
    struct.pack_into("<I", moved, ending + 16, at - gone)
    for name in names[1:]:
        entry = moved.index(name.encode(), at - gone) - 46
        struct.pack_into("<I", moved, entry + 42, start)
    path.write_bytes(moved)
    with pytest.raises(CheckpointError, match="overlap"):
        checkpoints.read(path)


@pytest.mark.parametrize("times", [3, 100_000])
def test_one_storage_may_be_seen_a_few_times_and_not_without_end(tmp_path, times):
    tensor = (
        b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
        b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuM\x00\x04tQK\x00M\x00\x04\x85K\x01\x85\x89"
        b"ccollections\nOrderedDict\n)RtRq\x00"
    )
    contents = b"\x80\x02}X\x01\x00\x00\x00a](" + tensor + b"h\x00" * (times - 1) + b"es."
    path = archive(tmp_path / "views.pt", contents, **{"archive/data/0": bytes(4096)})
    if times == 3:
        assert len(checkpoints.read(path)["a"]) == 3
    else:
        with pytest.raises(CheckpointError, match="its tensors expand to 409,600,000 bytes"):
            checkpoints.read(path)


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_a_pipe_and_a_device_are_refused_and_never_waited_for(tmp_path, suffix):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"endless{suffix}").symlink_to("/dev/zero")
    for name in ("pipe", "endless"):
        with pytest.raises(CheckpointError, match="not a regular file"):
            checkpoints.read(tmp_path / f"{name}{suffix}")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip archive", b"\x80\x02}q\x00."])
def test_what_is_no_archive_is_refused(tmp_path, content):
    path = tmp_path / "a.pt"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="not a whole checkpoint"):
        checkpoints.read(path)


def test_what_is_not_there_is_refused_with_its_name(tmp_path):
    with pytest.raises(CheckpointError, match=r"nowhere\.pt: the checkpoint cannot be read: No such file"):
        checkpoints.read(tmp_path / "nowhere.pt")
