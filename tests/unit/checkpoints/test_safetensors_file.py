"""Checkpoints as safetensors: nothing is lost on the way there and back, and nothing unsound is taken."""

import base64
import json
import math
import struct

import numpy as np
import pytest

from reprokit import checkpoints
from reprokit.checkpoints import Tensor, safetensors_file, torch_file
from reprokit.errors import CheckpointError

# Written by the safetensors library 0.8.0: w = arange(6) float32 [2, 3], b = [True, False], n = 7 int64.
REAL = (
    "yAAAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJ3aG8iOiJsaWJyYXJ5In0sIm4iOnsiZHR5cGUiOiJJNjQiLCJzaGFwZSI6W10sImRhdGFf"
    "b2Zmc2V0cyI6WzAsOF19LCJ3Ijp7ImR0eXBlIjoiRjMyIiwic2hhcGUiOlsyLDNdLCJkYXRhX29mZnNldHMiOls4LDMyXX0sImIiOnsi"
    "ZHR5cGUiOiJCT09MIiwic2hhcGUiOlsyXSwiZGF0YV9vZmZzZXRzIjpbMzIsMzRdfX0gIAcAAAAAAAAAAAAAAAAAgD8AAABAAABAQAAA"
    "gEAAAKBAAQA="
)


def state():
    weights = Tensor(dtype="float32", shape=(2, 3), values=np.arange(6, dtype="<f4").reshape(2, 3))
    return {
        "schema": 1,
        "step": 5,
        "model": {"w": weights, 0: Tensor(dtype="int64", shape=(), values=np.array(7))},
        "model.w": Tensor(dtype="bool", shape=(2,), values=np.array([1, 0], dtype="u1")),
        "big": 2**127 + 1,
        "low": -(2**63),
        "nan": math.nan,
        "inf": -math.inf,
        "zero": -0.0,
        "text": "ä\ud800",
        "tuple": (1, (), [[], {}]),
        "none": None,
        "yes": True,
        "": {"": 1},
        "empty": Tensor(dtype="float16", shape=(0, 3), values=np.empty((0, 3), dtype="<f2")),
    }


def laid_out(path, header, data=b"", *, claims=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if claims is None else claims) + text + data)
    return path


def entry(begin, end, *, dtype="F32", shape=None):
    shape = [(end - begin) // 4] if shape is None else shape
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def same(one, other):
    assert checkpoints.content_digest(one) == checkpoints.content_digest(other)
    assert repr(_bare(one)) == repr(_bare(other))


def _bare(value):
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_bare, value))
    return (value.dtype, value.shape) if isinstance(value, Tensor) else value


def test_there_and_back_no_value_type_or_key_is_lost(tmp_path):
    safetensors_file.write(state(), tmp_path / "a.safetensors")
    same(checkpoints.read(tmp_path / "a.safetensors"), state())
    torch_file.write(checkpoints.read(tmp_path / "a.safetensors"), tmp_path / "a.pt")
    same(checkpoints.read(tmp_path / "a.pt"), state())


def test_equal_contents_give_equal_bytes(tmp_path):
    for write, name in ((safetensors_file.write, "a.safetensors"), (torch_file.write, "a.pt")):
        write(state(), tmp_path / name)
        first = (tmp_path / name).read_bytes()
        write(checkpoints.read(tmp_path / name), tmp_path / name)
        assert (tmp_path / name).read_bytes() == first


def test_what_torch_saved_comes_back_into_torch_bit_for_bit(tmp_path):
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
        "uint64",
        "complex64",
        "float8_e4m3fn",
    ]
    saved = {kind: torch.arange(6).reshape(2, 3).to(getattr(torch, kind)) for kind in kinds}
    model = torch.nn.Linear(3, 2)
    adam = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    adam.step()
    torch.save({**saved, "model": model.state_dict(), "adam": adam.state_dict()}, tmp_path / "a.pt")
    safetensors_file.write(checkpoints.read(tmp_path / "a.pt"), tmp_path / "a.safetensors")
    torch_file.write(checkpoints.read(tmp_path / "a.safetensors"), tmp_path / "b.pt")
    back = torch.load(tmp_path / "b.pt", weights_only=True)
    for kind in kinds:
        assert back[kind].dtype == saved[kind].dtype
        assert torch.equal(back[kind].view(torch.uint8), saved[kind].view(torch.uint8)), kind
    model.load_state_dict(back["model"])
    adam.load_state_dict(back["adam"])
    assert back["adam"]["param_groups"] == adam.state_dict()["param_groups"]


def test_a_file_of_the_library_is_read_and_not_taken_for_sealed(tmp_path):
    path = tmp_path / "real.safetensors"
    path.write_bytes(base64.b64decode(REAL))
    found = checkpoints.read(path)
    np.testing.assert_array_equal(found["w"].values, np.arange(6, dtype="f4").reshape(2, 3))
    assert (found["n"].values.item(), found["b"].values.tolist()) == (7, [1, 0])
    assert not safetensors_file.is_sealed(path)
    safetensors_file.write(found, tmp_path / "ours.safetensors")
    assert safetensors_file.is_sealed(tmp_path / "ours.safetensors")


def test_the_header_is_what_the_library_asks_for(tmp_path):
    safetensors_file.write(state(), tmp_path / "a.safetensors")
    content = (tmp_path / "a.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    assert length % 8 == 0
    assert all(isinstance(one, str) for one in header.pop("__metadata__").values())
    ends = sorted(tuple(one["data_offsets"]) for one in header.values())
    assert [begin for begin, _ in ends] == [0, *[end for _, end in ends[:-1]]]
    assert ends[-1][1] == len(content) - 8 - length


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors_file.write({"step": 5, "w": state()["model"]["w"]}, path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError):
            checkpoints.read(path)


def test_a_bit_flipped_anywhere_in_a_value_is_found(tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors_file.write({"step": 5, "w": state()["model"]["w"]}, path)
    whole = path.read_bytes()
    for at in range(len(whole) - 24, len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(CheckpointError, match="changed after it was written"):
            checkpoints.read(path)
    path.write_bytes(whole.replace(b'[\\"step\\",5]', b'[\\"step\\",6]'))
    with pytest.raises(CheckpointError, match="changed after it was written"):
        checkpoints.read(path)


@pytest.mark.parametrize(
    ("header", "data", "told"),
    [
        ({"a": entry(0, 8), "b": entry(4, 12)}, b"x" * 12, "overlaps"),
        ({"a": entry(0, 4), "b": entry(8, 12)}, b"x" * 12, "belong to nobody"),
        ({"a": entry(0, 4)}, b"x" * 8, "belong to nobody"),
        ({"a": entry(0, 8)}, b"x" * 4, "ends before its last tensor"),
        ({"a": entry(0, 8, shape=[3])}, b"x" * 8, "another size"),
        ({"a": entry(8, 0, shape=[2])}, b"x" * 8, "another size"),
        ({"a": entry(0, 0, shape=[2**62, 2**62])}, b"", "another size"),
        ({"a": entry(0, 8, shape=[-2])}, b"x" * 8, "no sound shape"),
        ({"a": entry(0, 8, shape=[True, 2])}, b"x" * 8, "no sound shape"),
        ({"a": entry(0, 4, shape=[1] * 33)}, b"x" * 4, "no sound shape"),
        ({"a": entry(0, 0, shape=[2**62, 2**62, 0])}, b"", "no sound shape"),
        ({"a": entry(0, 8, dtype="F99")}, b"x" * 8, "unknown type"),
        ({"a": {"dtype": "F32"}}, b"", "not described"),
        ({"__metadata__": {"a": 1}}, b"", "not text"),
        ({"__metadata__": {"reprokit": "["}}, b"", "torn"),
        ({"__metadata__": {"reprokit": "[1]"}}, b"", "torn"),
        ({"__metadata__": {"reprokit": '{"call": 1}'}}, b"", "torn"),
        ({"__metadata__": {"reprokit": '{"tensor": "a"}'}}, b"", "torn"),
        ({"__metadata__": {"reprokit": '{"dict": []}'}, "a": entry(0, 4)}, b"x" * 4, "does not name"),
        ({"__metadata__": {"reprokit": "5"}}, b"", "holds no dict"),
        (b'{"a": 1, "a": 2}', b"", "twice"),
        (b"[1]", b"", "no JSON object"),
        (b"{" * 90_000, b"", "no JSON"),
        (b"\xff\xfe", b"", "no JSON"),
    ],
)
def test_whatever_is_unsound_is_refused_in_words(tmp_path, header, data, told):
    with pytest.raises(CheckpointError, match=told):
        checkpoints.read(laid_out(tmp_path / "a.safetensors", header, data))


@pytest.mark.parametrize("claims", [1 << 30, 1 << 40, (1 << 64) - 1, 100_000_001])
def test_a_header_that_claims_a_gigabyte_is_refused_before_it_is_read(tmp_path, claims):
    path = laid_out(tmp_path / "a.safetensors", b"{}", claims=claims)
    with pytest.raises(CheckpointError, match=f"a header of {claims:,} bytes in a file of 10"):
        checkpoints.read(path)


def test_a_type_that_the_format_lacks_is_refused_before_anything_is_written(tmp_path):
    number = Tensor(dtype="complex128", shape=(1,), values=np.ones(1, dtype="c16"))
    with pytest.raises(CheckpointError, match="no type"):
        safetensors_file.write({"a": number}, tmp_path / "a.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", [safetensors_file.write, torch_file.write])
@pytest.mark.parametrize("value", [object(), b"bytes", {1, 2}, 1j])
def test_what_is_no_plain_data_is_refused(tmp_path, write, value):
    with pytest.raises(CheckpointError, match="no plain data"):
        write({"a": [value]}, tmp_path / "a")
