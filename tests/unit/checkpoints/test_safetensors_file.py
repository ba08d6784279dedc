"""Checkpoints as safetensors: nothing is lost on the way there and back, and nothing unsound is taken."""

import base64
import json
import math
import os
import struct

import numpy as np
import pytest
import safetensors

from reprokit import checkpoints
from reprokit.checkpoints import Tensor, safetensors_file, torch_writer
from reprokit.errors import CheckpointError

# Written by the safetensors library 0.8.0: w = arange(6) float32 [2, 3], b = [True, False], n = 7 int64.
REAL = (
    "yAAAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJ3aG8iOiJsaWJyYXJ5In0sIm4iOnsiZHR5cGUiOiJJNjQiLCJzaGFwZSI6W10sImRhdGFf"
    "b2Zmc2V0cyI6WzAsOF19LCJ3Ijp7ImR0eXBlIjoiRjMyIiwic2hhcGUiOlsyLDNdLCJkYXRhX29mZnNldHMiOls4LDMyXX0sImIiOnsi"
    "ZHR5cGUiOiJCT09MIiwic2hhcGUiOlsyXSwiZGF0YV9vZmZzZXRzIjpbMzIsMzRdfX0gIAcAAAAAAAAAAAAAAAAAgD8AAABAAABAQAAA"
    "gEAAAKBAAQA="
)


# Written without the library: step = 5, w = bits [1, 2] of bfloat16, n = 7 int64.
EARLIER = (
    "SAEAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJmb3JtYXQiOiJwdCIsInJlcHJva2l0Ijoie1wiZGljdFwiOltbXCJzdGVwXCIsNV0sW1wi"
    "d1wiLHtcInRlbnNvclwiOlwid1wifV0sW1wiblwiLHtcInRlbnNvclwiOlwiblwifV1dfSIsInJlcHJva2l0LmNvbnRlbnQiOiJzaGEy"
    "NTY6OGFmZDliOTY4ZmI5NGViYmNhNGY2MGFhNzliMjdmMzkzYzk1MTRhOWEwNjY1YWYwYzI3NWUyMTcyZmNkNzc0YyJ9LCJuIjp7ImR0"
    "eXBlIjoiSTY0Iiwic2hhcGUiOltdLCJkYXRhX29mZnNldHMiOlswLDhdfSwidyI6eyJkdHlwZSI6IkJGMTYiLCJzaGFwZSI6WzJdLCJk"
    "YXRhX29mZnNldHMiOls4LDEyXX19ICAgBwAAAAAAAAABAAIA"
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


A = json.dumps(entry(0, 4))


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
    torch_writer.write(checkpoints.read(tmp_path / "a.safetensors"), tmp_path / "a.pt")
    same(checkpoints.read(tmp_path / "a.pt"), state())


def test_equal_contents_give_equal_bytes(tmp_path):
    for write, name in ((safetensors_file.write, "a.safetensors"), (torch_writer.write, "a.pt")):
        write(state(), tmp_path / name)
        first = (tmp_path / name).read_bytes()
        write(checkpoints.read(tmp_path / name), tmp_path / name)
        assert (tmp_path / name).read_bytes() == first


def test_the_order_of_the_metadata_is_not_left_to_chance(tmp_path):
    path, written = tmp_path / "a.safetensors", set()
    for _ in range(50):  # the library's order of three entries is one of six, again in each call
        safetensors_file.write(state(), path)
        written.add(path.read_bytes())
    assert len(written) == 1


def test_what_an_earlier_version_wrote_is_read(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(base64.b64decode(EARLIER))
    found = checkpoints.read(tmp_path / "a.safetensors")
    assert safetensors_file.is_sealed(tmp_path / "a.safetensors")
    assert (found["step"], found["w"].dtype, found["n"].values.item()) == (5, "bfloat16", 7)
    assert (list(found), found["w"].values.tolist()) == (["step", "w", "n"], [1, 2])


def test_the_library_reads_what_was_written(tmp_path):
    safetensors_file.write(state(), tmp_path / "a.safetensors")
    with safetensors.safe_open(tmp_path / "a.safetensors", framework="np") as file:
        assert set(file.keys()) == {"model.w", "model.0", "model.w#2", "empty"}
        assert file.metadata()["format"] == "pt"
        np.testing.assert_array_equal(file.get_tensor("model.w"), state()["model"]["w"].values)


def test_a_foreign_file_keeps_the_order_of_its_tensors(tmp_path):
    names = [f"t{number}" for number in range(20, 0, -1)]
    header = {name: entry(4 * at, 4 * at + 4) for at, name in enumerate(names)}
    path = laid_out(tmp_path / "a.safetensors", header, bytes(80))
    assert list(checkpoints.read(path)) == names


def test_a_name_that_is_not_valid_utf_8_is_written_and_read_back(tmp_path):
    weights = state()["model"]["w"]
    safetensors_file.write({"\ud800": weights, "\\ud800": weights}, tmp_path / "a.safetensors")
    same(checkpoints.read(tmp_path / "a.safetensors"), {"\ud800": weights, "\\ud800": weights})


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
        "float8_e5m2",
    ]
    saved = {kind: torch.arange(6).reshape(2, 3).to(getattr(torch, kind)) for kind in kinds}
    model = torch.nn.Linear(3, 2)
    adam = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    adam.step()
    torch.save({**saved, "model": model.state_dict(), "adam": adam.state_dict()}, tmp_path / "a.pt")
    safetensors_file.write(checkpoints.read(tmp_path / "a.pt"), tmp_path / "a.safetensors")
    torch_writer.write(checkpoints.read(tmp_path / "a.safetensors"), tmp_path / "b.pt")
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
    ("header", "data", "message"),
    [
        ({"a": entry(0, 8), "b": entry(4, 12)}, b"x" * 12, "'b' overlaps the tensor before it"),
        ({"a": entry(0, 4), "b": entry(8, 12)}, b"x" * 12, "'b' leaves a gap after the tensor before it"),
        ({"a": entry(4, 8)}, b"x" * 8, "'a' leaves a gap"),
        ({"a": entry(0, 4)}, b"x" * 8, "do not end where the file ends"),
        ({"a": entry(0, 8)}, b"x" * 4, "do not end where the file ends"),
        ({"a": entry(2**70, 2**70 + 8)}, b"x" * 8, "leaves a gap"),
        ({"a": entry(0, 8, shape=[3])}, b"x" * 8, "size of tensor 'a' does not match its shape"),
        ({"a": entry(8, 0, shape=[2])}, b"x" * 8, "size of tensor 'a' does not match its shape"),
        ({"a": entry(0, 0, shape=[2**62, 2**62])}, b"", "size of tensor 'a' does not match its shape"),
        ({"a": entry(0, 8, shape=[-2])}, b"x" * 8, r"'a\.shape\.0': Input should be greater"),
        ({"a": entry(0, 8, shape=[True, 2])}, b"x" * 8, r"'a\.shape\.0': Input should be a valid integer"),
        ({"a": entry(0, 8, shape=[2.0])}, b"x" * 8, r"'a\.shape\.0': Input should be a valid integer"),
        ({"a": entry(0, 8, shape=[math.nan])}, b"x" * 8, r"'a\.shape\.0': Input should be a valid integer"),
        ({"a": math.nan}, b"", "'a': Input should be a valid dictionary"),
        ({"a": entry(0, 4, shape=[1] * 33)}, b"x" * 4, r"'a\.shape': List should have at most 32 items"),
        ({"a": entry(0, 0, shape=[2**62, 2**62, 0])}, b"", "overflow"),
        ({"a": entry(0, 0, shape=[0, 2**62, 2**62])}, b"", "impossible shape"),
        ({"a": entry(0, 8, dtype="F99")}, b"x" * 8, "unknown type"),
        ({"a": entry(0, 4, dtype="F4", shape=[8])}, b"x" * 4, "unknown type"),
        ({"a": entry(0, 8, dtype=["F32"])}, b"x" * 8, r"'a\.dtype': Input should be a valid string"),
        ({"a": {"dtype": "F32"}}, b"", r"'a\.shape': Field required"),
        ({"a": {**entry(0, 4), "data_offsets": [0, 2, 4]}}, b"x" * 4, r"'a\.data_offsets': List should have"),
        ({"a": {**entry(0, 4), "extra": 1}}, b"x" * 4, r"'a\.extra': Extra inputs are not permitted"),
        ({"__metadata__": {"a": 1}}, b"", r"'__metadata__\.a': Input should be a valid string"),
        ({"__metadata__": None}, b"", "'__metadata__': Input should be a valid dictionary"),
        ({"__metadata__": {"reprokit": "["}}, b"", "corrupt"),
        ({"__metadata__": {"reprokit": "[1]"}}, b"", "corrupt"),
        ({"__metadata__": {"reprokit": "[" * 90_000}}, b"", "corrupt"),
        ({"__metadata__": {"reprokit": '{"call": 1}'}}, b"", "corrupt"),
        ({"__metadata__": {"reprokit": '{"tensor": "a"}'}}, b"", "corrupt"),
        ({"__metadata__": {"reprokit": '{"dict": []}'}, "a": entry(0, 4)}, b"x" * 4, "does not name"),
        ({"__metadata__": {"reprokit": "5"}}, b"", "does not hold a dict"),
        (f'{{"a": {A}, "a": {A}}}'.encode(), b"x" * 4, "is repeated"),
        (f'{{"a": {A[:-1]}, "shape": [1]}}}}'.encode(), b"x" * 4, "is repeated"),
        (b'{"__metadata__": {"a": "1", "a": "2"}}', b"", "is repeated"),
        (b"[1]", b"", "not a JSON object"),
        (b"{" * 90_000, b"", "not valid JSON"),
        (b'{"a":' * 90_000, b"", "not valid JSON"),
        (b"{} {}", b"", "not valid JSON"),
        (b"\xff\xfe", b"", "not valid JSON"),
        ("{}".encode("utf-16"), b"", "not valid JSON"),
        (f'{{"\\ud800": {A}}}'.encode(), b"x" * 4, "the safetensors library refuses it"),
    ],
)
def test_a_hostile_header_is_refused_with_its_reason(tmp_path, header, data, message):
    with pytest.raises(CheckpointError, match=f"^[^ ]*: the checkpoint is refused: .*{message}"):
        checkpoints.read(laid_out(tmp_path / "a.safetensors", header, data))


@pytest.mark.parametrize("name", ["metadata", "model_config", "dtype", "__class__", "", "ä"])
def test_a_tensor_may_have_any_name(tmp_path, name):
    path = laid_out(tmp_path / "a.safetensors", {name: entry(0, 4)}, b"abcd")
    assert checkpoints.read(path)[name].values.tobytes() == b"abcd"


@pytest.mark.parametrize("claims", [3, 1 << 30, 1 << 40, (1 << 64) - 1])
def test_a_header_that_claims_more_than_the_file_is_refused(tmp_path, claims):
    path = laid_out(tmp_path / "a.safetensors", b"{}", claims=claims)
    with pytest.raises(CheckpointError, match=f"a header of {claims:,} bytes in a file of 10"):
        checkpoints.read(path)


def test_a_header_of_more_than_100_mb_is_refused_before_it_is_read(tmp_path):
    path = laid_out(tmp_path / "a.safetensors", b"{}", claims=100_000_001)
    os.truncate(path, 100_000_009)  # a sparse file: as large as it claims to be
    with pytest.raises(CheckpointError, match="a header of 100,000,001 bytes in a file of 100,000,009"):
        checkpoints.read(path)


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (
            Tensor(dtype="complex128", shape=(1,), values=np.ones(1, dtype="c16")),
            'Unknown dtype "complex128"',
        ),
        (Tensor(dtype="float32", shape=(3,), values=np.ones(2, dtype="f4")), "invalid shape"),
        ("x" * 100_000_001, "header too large"),
    ],
    ids=["type", "size", "header"],
)
def test_what_the_format_cannot_hold_is_refused_before_anything_is_written(tmp_path, held, message):
    with pytest.raises(CheckpointError, match=f"{message}.*keep it as a .pt file"):
        safetensors_file.write({"a": held}, tmp_path / "a.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", [safetensors_file.write, torch_writer.write])
@pytest.mark.parametrize("value", [object(), b"bytes", {1, 2}, 1j])
def test_what_is_not_plain_data_is_refused(tmp_path, write, value):
    with pytest.raises(CheckpointError, match="not plain data"):
        write({"a": [value]}, tmp_path / "a")
