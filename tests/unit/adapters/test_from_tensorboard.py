"""TensorBoard event files, written here byte by byte from the format's description."""

import contextlib
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprokit import adapters
from reprokit.adapters import from_tensorboard
from reprokit.adapters.wire.tensorboard_event import parse
from reprokit.core.comparison import exit_code

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


def test_nothing_but_the_standard_parts_is_needed(tmp_path, monkeypatch):
    path = write(tmp_path / "x.tfevents.1", event(0, loss=0.5))
    for name in ("tensorboard", "google.protobuf"):
        monkeypatch.setitem(sys.modules, name, None)
    assert next(from_tensorboard.read(path)).record == {"step": 0, "loss": 0.5}


def text(step, **values):
    found = event_pb2.Event(step=step)
    for tag, value in values.items():
        made = found.summary.value.add(tag=tag)
        made.metadata.plugin_data.plugin_name = "text"
        made.tensor.dtype = 7
        made.tensor.string_val.append(value.encode())
        made.tensor.tensor_shape.dim.add(size=1)
    return found.SerializeToString()


def test_a_text_is_compared_as_it_is(tmp_path):
    path = write(tmp_path / "x.tfevents.1", text(0, hyperparameters="|lr|0.1|\n|name|é|"))
    assert next(from_tensorboard.read(path)).record["hyperparameters"] == "|lr|0.1|\n|name|é|"


@given(
    step=st.integers(-(2**63), 2**63 - 1),
    values=st.lists(st.tuples(st.text(max_size=9), st.floats(width=32)), max_size=4),
    dtype=st.sampled_from([1, 2, 3, 9]),
    numbers=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
    dims=st.integers(0, 2),
)
def test_events_are_read_as_protobuf_reads_them(step, values, dtype, numbers, dims):
    made = event_pb2.Event(step=step, wall_time=1.5)
    for tag, value in values:
        made.summary.value.add(tag=tag, simple_value=value, node_name="node")
    tensor = made.summary.value.add(tag="tensor").tensor
    tensor.dtype, tensor.version_number = dtype, 1
    field = {1: "float_val", 2: "double_val", 3: "int_val", 9: "int64_val"}[dtype]
    getattr(tensor, field).extend(numbers)
    for _ in range(dims):
        tensor.tensor_shape.dim.add(size=3, name="n")
    found = parse(made.SerializeToString())
    assert found.step == step
    assert str(found.values[:-1]) == str(
        tuple((one.tag, one.simple_value) for one in made.summary.value[:-1])
    )
    scalar = getattr(tensor, field)[0] if len(numbers) == 1 and not dims else None
    assert found.values[-1][1] == (made.summary.value[-1].SerializeToString() if scalar is None else scalar)


@given(st.binary(max_size=60))
def test_any_bytes_are_an_event_or_refused(data):
    with contextlib.suppress(ValueError):
        parse(data)


def test_a_text_that_holds_the_runs_folder_is_no_difference(tmp_path):
    for run in ("a", "b"):
        told = text(0, hyperparameters=f"|logdir|{tmp_path / run / 'output'}|")
        write(tmp_path / run / "tb" / "events.out.tfevents.1.host.7.0", told, event(0, loss=0.5))
    assert adapters.compare_runs(tmp_path / "a", tmp_path / "b").identical


def test_an_event_with_two_values_where_there_is_one_is_refused(tmp_path):
    """protobuf counts the last one, or puts them together; no writer makes such an event."""
    value = event_pb2.Event().summary.value.add(tag="loss", simple_value=0.5).SerializeToString()
    image = b'"\x05"\x03png'
    inside = value + image
    for made in (
        event(1, loss=0.5) + b'"\x03png',  # graph_def after the summary takes its place
        event(1, loss=0.5) + event(1, loss=0.25),
        b"\x10\x01*" + bytes([len(inside) + 2]) + b"\n" + bytes([len(inside)]) + inside,
    ):
        assert words(write(tmp_path / "x.tfevents.1", made)) == ["corrupt_event"]


def restart(step):
    start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    return event_pb2.Event(step=step, wall_time=1.0, session_log=start).SerializeToString()


@pytest.mark.parametrize("apart", [True, False], ids=["in a file of its own", "in the same file"])
def test_what_a_restart_makes_void_is_left_out_as_tensorboard_does(tmp_path, apart):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    before = [version(), event(0, loss=0.5), event(1, loss=0.4), event(2, loss=0.3)]
    after = [restart(1), event(1, loss=0.35), event(2, loss=0.25)]
    files = [before, [version(), *after]] if apart else [before + after]
    for number, events in enumerate(files):
        write(tmp_path / "logs" / f"events.out.tfevents.{number}.host.2.0", *events)
    read = [reading.record for reading in from_tensorboard.read(tmp_path / "logs")]
    shown = accumulator.EventAccumulator(str(tmp_path / "logs")).Reload().Scalars("loss")
    assert [(one["step"], one["loss"]) for one in read] == [(one.step, one.value) for one in shown]
    assert [one["step"] for one in read] == [0, 1, 2]


def test_a_session_that_ends_makes_nothing_void(tmp_path):
    stop = event_pb2.SessionLog(status=event_pb2.SessionLog.STOP)
    ended = event_pb2.Event(step=0, wall_time=1.0, session_log=stop).SerializeToString()
    path = write(tmp_path / "events.out.tfevents.1.host.2.0", version(), event(0, loss=0.5), ended)
    assert [reading.record for reading in from_tensorboard.read(path)] == [{"step": 0, "loss": 0.5}]


def test_a_restart_in_a_damaged_event_is_named_and_not_hidden(tmp_path):
    path = write(tmp_path / "events.out.tfevents.1.host.2.0", version(), event(1, loss=0.5), restart(0))
    data = bytearray(path.read_bytes())
    data[-5] ^= 0xFF
    path.write_bytes(data)
    assert words(path) == ["corrupt_event"]
