"""A golden beyond the limit of its project is compressed, and read by everything that reads goldens."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from reprokit import adapters, golden
from reprokit.cli import main
from reprokit.core.provenance import Provenance
from reprokit.errors import GoldenError
from reprokit.project import Project
from reprokit.reports.pages.golden_list import size_lines
from support.command_recipe import PROGRAM

GOLDEN = "golden/train/cpu-x86_64/seed-3"
LIMIT = "[tool.reprokit]\ngolden_limit_mb = 0.0001\n"  # 100 bytes


@pytest.fixture
def small(repository):
    """A project whose goldens may hardly weigh anything."""
    (repository.root / "pyproject.toml").write_text(LIMIT)
    repository.commit()
    return repository


@pytest.fixture
def compressed(small):
    small.promote(small.reproduce())
    return small


def place(repository) -> Path:
    return repository.root / GOLDEN


def names(repository) -> list[str]:
    return sorted(path.name for path in place(repository).iterdir())


def packed(repository) -> Path:
    return place(repository) / "metrics.jsonl.gz"


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as raised:
        main(list(words))
    return int(raised.value.code or 0)


def test_below_the_limit_it_is_plain(repository):
    repository.promote(repository.reproduce())
    assert names(repository) == ["metrics.jsonl", "provenance.json"]


def test_beyond_the_limit_it_is_compressed_whole_and_reproduced(compressed):
    assert names(compressed) == [
        "metrics.jsonl.gz",
        "provenance.json",
    ]
    report = compressed.reproduce()
    assert (report.verdict, report.comparisons.golden.records_compared) == ("REPRODUCED", 4)
    assert "golden" in {one.label for series in report.curves.values() for one in series}
    told = json.loads((place(compressed) / "provenance.json").read_text())
    assert told["sizes"] == {"metrics": len(gzip.decompress(packed(compressed).read_bytes()))}


def test_a_regression_is_found_in_it(compressed):
    compressed.write(train_py=PROGRAM.replace("RATE * random", "2 * RATE * random"))
    assert compressed.reproduce().verdict == "REGRESSION"


def test_every_verb_on_goldens_reads_it(compressed, capsys, monkeypatch):
    monkeypatch.chdir(compressed.root)
    run = min(Path("runs/train").glob("*-seed3-1"))
    assert ended("golden", "list") == 0
    assert ended("golden", "show", GOLDEN) == 0
    assert ended("golden", "diff", f"HEAD:{GOLDEN}", GOLDEN) == 0
    assert ended("diff", GOLDEN, str(run)) == 0
    assert ended("diff", str(run), GOLDEN) == 0
    assert "unreadable" not in capsys.readouterr().out
    ended("golden", "lint")
    assert "unreadable" not in capsys.readouterr().out


def test_promote_says_that_it_compressed(small, capsys, monkeypatch):
    runs = small.reproduce().runs
    monkeypatch.chdir(small.root)
    assert ended("golden", "promote", *runs, "--reason", "first") == 0
    assert "over golden_limit_mb, so its files are compressed: 0.00 MB" in capsys.readouterr().err


@pytest.mark.slow
def test_promote_warns_of_one_that_stays_over_the_limit_compressed(small, capsys, monkeypatch):
    runs = small.reproduce().runs
    (small.root / "pyproject.toml").write_text(LIMIT.replace("0.0001", "0.00001"))
    monkeypatch.chdir(small.root)
    assert ended("golden", "promote", *runs, "--reason", "first", "--allow-dirty") == 0
    said = capsys.readouterr().err
    assert f"Warning: {place(small)}: 0.00 MB compressed, over golden_limit_mb = 1e-05 still." in said
    assert "raise golden_limit_mb under [tool.reprokit]" in said


@pytest.mark.parametrize(("limit_mb", "lines"), [(0.001, 2), (0.003, 1)])
def test_only_what_is_over_the_limit_compressed_too_is_warned_of(tmp_path, limit_mb, lines):
    (tmp_path / "metrics.jsonl.gz").write_bytes(bytes(2000))

    def lines_of(provenance):
        metrics = tmp_path / "metrics.jsonl.gz"
        found = golden.Golden(path=tmp_path, provenance=provenance, document={}, metrics=metrics, trace=None)
        return list(size_lines(found, limit_mb=limit_mb))

    assert len(lines_of(Provenance(sizes={"metrics": 9000}))) == lines
    assert lines_of(Provenance()) == []


@pytest.mark.slow
def test_promoting_again_names_the_golden_before_and_leaves_no_second_file(compressed):
    before = json.loads((place(compressed) / "provenance.json").read_text())
    (compressed.root / "pyproject.toml").unlink()
    compressed.write(settings_py="RATE = 0.2\n")
    compressed.promote(compressed.reproduce())
    after = json.loads((place(compressed) / "provenance.json").read_text())
    assert after["previous"] == before["digests"]["metrics"]
    assert names(compressed) == ["metrics.jsonl", "provenance.json"]


@pytest.mark.parametrize("kept", [0.5, 0.0])
def test_one_that_is_cut_short_is_an_error_that_names_it(compressed, kept):
    data = packed(compressed).read_bytes()
    packed(compressed).write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(GoldenError, match=r"damaged|differs from the one that was promoted"):
        compressed.reproduce()


def test_one_that_unpacks_to_more_than_was_promoted_is_refused(compressed):
    packed(compressed).write_bytes(gzip.compress(bytes(1 << 24)))
    with pytest.raises(GoldenError, match="unpacks to more than"):
        compressed.reproduce()


def test_two_files_for_one_are_refused(compressed):
    (place(compressed) / "metrics.jsonl").write_bytes(gzip.decompress(packed(compressed).read_bytes()))
    with pytest.raises(GoldenError, match="there twice"):
        golden.load(place(compressed))


@pytest.mark.slow
def test_sizes_that_mean_nothing_are_refused(compressed):
    file = place(compressed) / "provenance.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "sizes": {"metrics": 1 << 40}}))
    with pytest.raises(GoldenError, match="'sizes' is malformed"):
        golden.load(place(compressed))


@pytest.mark.slow
def test_a_damaged_one_is_no_metrics_file_either(compressed, tmp_path):
    packed(compressed).write_bytes(b"nothing")
    with pytest.raises(Exception, match="cannot be read"):
        adapters.summarise(place(compressed) / "metrics.jsonl")
    assert Project.around(compressed.root).golden_dir.is_dir()
