"""TensorBoard event files, written here byte by byte from the format's description."""

import builtins
import importlib
import struct

import pytest

from reprokit import adapters
from reprokit.adapters import from_tensorboard
from reprokit.core.comparison import exit_code
from reprokit.errors import MetricsError

event_pb2 = pytest.importorskip("tensorboard.compat.proto.event_pb2")


def crc32c(data):
    """Bit by bit, as the polynomial is defined: slow, and shares nothing with the adapter's table."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 * (crc & 1))
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def framed(data):
    header = struct.pack("<Q", len(data))
    return header + struct.pack("<I", crc32c(header)) + data + struct.pack("<I", crc32c(data))


def event(step, wall_time=1.0, **values):
    found = event_pb2.Event(step=step, wall_time=wall_time)
    for tag, value in values.items():
        found.summary.value.add(tag=tag, simple_value=value)
    return found.SerializeToString()


def version(wall_time=1.0):
    return event_pb2.Event(wall_time=wall_time, file_version="brain.Event:2").SerializeToString()


def write(path, *events):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(framed, events)))
    return path


def words(path):
    return [kind for reading in from_tensorboard.read(path) for kind, _ in reading.notes]


def test_the_checksum_is_the_one_of_the_standard():
    assert crc32c(b"123456789") == (((0xE3069283 >> 15) | (0xE3069283 << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def test_scalars_are_records_and_the_time_is_not(tmp_path):
    path = write(
        tmp_path / "events.out.tfevents.1.host.2.0",
        version(),
        event(0, loss=0.5),
        event(1, loss=0.25, kl=1.0),
    )
    assert [reading.record for reading in from_tensorboard.read(path)] == [
        {"step": 0, "loss": 0.5},
        {"step": 1, "loss": 0.25, "kl": 1.0},
    ]


def test_scalars_written_as_tensors_are_numbers(tmp_path):
    found = event_pb2.Event(step=3)
    for tag, dtype, field, value in (
        ("a", 1, "float_val", 0.5),
        ("b", 2, "double_val", 0.1),
        ("c", 9, "int64_val", 7),
    ):
        tensor = found.summary.value.add(tag=tag).tensor
        tensor.dtype = dtype
        getattr(tensor, field).append(value)
    content = found.summary.value.add(tag="d").tensor
    content.dtype, content.tensor_content = 2, struct.pack("<d", 0.1)
    path = write(tmp_path / "x.tfevents.1", found.SerializeToString())
    assert next(from_tensorboard.read(path)).record == {"step": 3, "a": 0.5, "b": 0.1, "c": 7, "d": 0.1}


def test_whatever_is_no_scalar_is_compared_by_its_digest(tmp_path):
    paths = []
    for number, picture in enumerate((b"one", b"one", b"two")):
        found = event_pb2.Event(step=1)
        found.summary.value.add(tag="picture").image.encoded_image_string = picture
        paths.append(write(tmp_path / f"{number}.tfevents.1", found.SerializeToString()))
    assert exit_code(adapters.compare(paths[0], paths[1])) == 0
    comparison = adapters.compare(paths[0], paths[2])
    assert comparison.divergence.metric == "picture"
    assert comparison.divergence.expected.startswith("sha256:")


def test_two_runs_with_other_times_and_names_are_equal(tmp_path):
    write(tmp_path / "a" / "tb" / "events.out.tfevents.100.host.7.0", version(1.0), event(0, 1.0, loss=0.5))
    write(tmp_path / "b" / "tb" / "events.out.tfevents.200.host.8.0", version(2.0), event(0, 2.0, loss=0.5))
    comparison = adapters.compare_runs(tmp_path / "a", tmp_path / "b")
    assert exit_code(comparison) == 0
    assert comparison.problems == ()


def test_the_event_files_of_a_folder_are_one_source_in_the_order_they_were_begun(tmp_path):
    write(tmp_path / "events.out.tfevents.1000.host.7.0", event(9, loss=2.0))
    write(tmp_path / "events.out.tfevents.999.host.7.0", event(1, loss=1.0))
    source = adapters.find(tmp_path)
    assert (source.path, source.name) == (tmp_path, "tensorboard events")
    assert [reading.record["step"] for reading in from_tensorboard.read(source.path)] == [1, 9]
    assert adapters.summarise(source.path).last_step == 9


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda data: data[:-1], "torn_line"),
        (lambda data: data[:-20], "torn_line"),
        (lambda data: data + b"\x05", "torn_line"),
        (lambda data: data[:-5] + bytes([data[-5] ^ 1]) + data[-4:], "corrupt_event"),
        (lambda data: bytes([data[0] ^ 1]) + data[1:], "corrupt_event"),
        (lambda data: data + framed(b"\xff\xff\xff"), "corrupt_event"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, damage, word):
    path = write(tmp_path / "x.tfevents.1", event(0, loss=0.5), event(1, loss=0.25))
    path.write_bytes(damage(path.read_bytes()))
    assert words(path) == [word]
    assert exit_code(adapters.compare(path, path)) == 2


def test_a_tag_that_comes_twice_in_an_event_is_an_error(tmp_path):
    found = event_pb2.Event(step=1)
    found.summary.value.add(tag="a", simple_value=1.0)
    found.summary.value.add(tag="a", simple_value=2.0)
    assert words(write(tmp_path / "x.tfevents.1", found.SerializeToString())) == ["duplicate_key"]


def test_without_the_package_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    path = write(tmp_path / "x.tfevents.1", event(0, loss=0.5))

    def refuse(name, package=None):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(MetricsError, match=r"pip install 'reprokit\[tensorboard\]'") as error:
        next(from_tensorboard.read(path))
    assert error.value.kind == "missing_reader"
    assert builtins.__import__ is not refuse
