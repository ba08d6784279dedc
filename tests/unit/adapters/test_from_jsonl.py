"""What reading and comparing whole files does beyond single lines."""

import pytest

from reprokit import adapters
from reprokit.adapters import from_jsonl
from reprokit.adapters.jsonl import quick_json
from reprokit.adapters.jsonl.jsonl_walk import Pace
from reprokit.core.comparison import exit_code

LINE = b'{"step":%d,"loss":0.5}\n'


def lines(count):
    return b"".join(LINE % at for at in range(count))


@pytest.fixture
def files(tmp_path):
    def write(left, right):
        paths = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
        for path, data in zip(paths, (left, right), strict=True):
            path.write_bytes(data)
        return paths

    return write


def kinds(comparison):
    return {problem.kind for problem in comparison.problems}


def test_a_file_of_nothing_but_rubbish_is_not_read_to_its_end(files):
    paths = files(b"\n" * 100_000, b"\n" * 100_000)
    comparison = from_jsonl.compare(*paths)
    assert exit_code(comparison) == 2
    assert kinds(comparison) == {"blank_line", "too_many_errors"}
    assert len(list(from_jsonl.read(paths[0]))) == 1002
    assert adapters.summarise(paths[0]).num_records == 0


def test_a_line_without_end_is_named_and_nothing_after_it_is_read(files):
    paths = files(lines(3) + b"x" * (9 << 20), lines(3))
    comparison = from_jsonl.compare(*paths)
    assert exit_code(comparison) == 2
    first = comparison.problems[0]
    assert (first.kind, first.side, first.line) == ("line_too_long", "expected", 4)
    assert [reading.notes for reading in from_jsonl.read(paths[0])][3:] == [(("line_too_long", ""),)]


def test_lines_that_were_not_parsed_are_counted(files):
    data = lines(5000)
    paths = files(data, data.replace(b'{"step":2500,"loss":0.5}', b'{"step":2500,"loss":0.7}'))
    pace = Pace(parse_all_bytes=0, edge_bytes=100, block_bytes=1000, segment_bytes=256)
    comparison = from_jsonl.compare(*paths, pace=pace)
    assert (comparison.divergence.record, comparison.records_compared) == (2500, 5000)
    assert kinds(comparison) == {"not_parsed"}
    assert "of 5,000 were not" in comparison.problems[0].message
    assert from_jsonl.compare(*paths).problems == ()


def test_what_was_asked_for_is_looked_for_in_the_lines_that_were_skipped(files):
    data = lines(2000) + b'{"step":2000,"rare":1.5}\n' + lines(2000)
    pace = Pace(parse_all_bytes=0, edge_bytes=100, block_bytes=1000, segment_bytes=256)
    comparison = from_jsonl.compare(*files(data, data), metrics=["rare"], pace=pace)
    assert exit_code(comparison) == 0
    assert comparison.metrics_compared == 1
    assert "not_parsed" not in kinds(comparison)


def test_values_are_looked_for_in_the_lines_that_were_skipped(files):
    nothing = b'{"step":1}\n' * 500
    pace = Pace(parse_all_bytes=0, edge_bytes=100, block_bytes=1000, segment_bytes=256)
    assert exit_code(from_jsonl.compare(*files(nothing, nothing), pace=pace)) == 2
    some = nothing + LINE % 1 + nothing
    assert exit_code(from_jsonl.compare(*files(some, some), pace=pace)) == 0


@pytest.mark.parametrize(
    "odd", [b'{"step":1,"loss":\x00}\n', b"\n", b'{"step":1,"\xff":1}\n', b'{"step":1,\t"loss":}\n']
)
def test_an_odd_byte_deep_in_equal_bytes_is_named_though_equal_lines_are_skipped(files, odd):
    data = lines(3000) + odd + lines(3000)
    pace = Pace(parse_all_bytes=0, edge_bytes=100, block_bytes=1000, segment_bytes=256)
    assert exit_code(from_jsonl.compare(*files(data, data), pace=pace)) == 2


@pytest.mark.parametrize("parser", ["quick", "Python's own"])
def test_a_file_that_is_written_to_meanwhile_cannot_be_compared(files, monkeypatch, parser):
    if parser != "quick":
        monkeypatch.setattr(quick_json, "_loads", None)
    paths = files(lines(10), lines(10))

    def written_to():
        with paths[1].open("ab") as other:
            other.write(b"\n")

    class Meddler(from_jsonl.Comparer):
        def add_table(self, *tables, **options):
            written_to()
            super().add_table(*tables, **options)

        def add(self, *records, **options):
            written_to()
            super().add(*records, **options)

    monkeypatch.setattr(from_jsonl, "Comparer", Meddler)
    comparison = from_jsonl.compare(*paths)
    assert exit_code(comparison) == 2
    assert "file_changed" in kinds(comparison)


@pytest.mark.parametrize("extra", [1, 7, 4000])
@pytest.mark.parametrize("longer", [0, 1])
def test_the_records_of_the_longer_file_are_counted(files, extra, longer):
    sides = [lines(2000), lines(2000)]
    sides[longer] += b"".join(LINE % at for at in range(2000, 2000 + extra))
    for pace in (None, Pace(parse_all_bytes=0, edge_bytes=100, block_bytes=1000, segment_bytes=256)):
        comparison = from_jsonl.compare(*files(*sides), pace=pace)
        assert exit_code(comparison) == 1
        assert (comparison.divergence.record, comparison.divergence.step) == (2000, 2000)
        assert f"{2000 + extra:,}" in comparison.divergence.what


def test_a_torn_end_of_the_longer_file_is_named(files):
    pace = Pace(parse_all_bytes=0, edge_bytes=100, block_bytes=1000, segment_bytes=256)
    paths = files(lines(2000), lines(4000)[:-5])
    assert exit_code(from_jsonl.compare(*paths, pace=pace)) == 2


def test_differences_may_be_dense_sparse_and_of_any_length(files):
    left = [LINE % at for at in range(3000)]
    right = list(left)
    for at in (0, 5, *range(100, 900), 901, 2000, 2999):
        right[at] = b'{"step":%d,"loss":%d.25}\n' % (at, 10 ** (at % 9))
    paths = files(b"".join(left), b"".join(right))
    pace = Pace(parse_all_bytes=0, edge_bytes=10, block_bytes=300, segment_bytes=64)
    found = from_jsonl.compare(*paths, pace=pace)
    plain = from_jsonl.compare(*paths)
    assert found.per_metric == plain.per_metric
    assert found.divergence == plain.divergence
    assert found.per_metric["loss"].mismatches == 805
