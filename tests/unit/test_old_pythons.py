"""What runs inside someone else's program keeps to the syntax of Python 3.8."""

import ast
from pathlib import Path

import pytest

import reprokit

PACKAGE = Path(reprokit.__file__).parent
INSIDE_PROGRAMS = (
    *("runtime", "instrumentation/reprokit_hook", "probes", "data/step_launcher.py"),
    "harness/diagnosing/taps/inside",
    *sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("features/*/inside")),
)


def files_inside_programs() -> list[Path]:
    files: list[Path] = []
    for name in INSIDE_PROGRAMS:
        place = PACKAGE / name
        files += [place] if place.suffix else sorted(place.rglob("*.py"))
    return files


@pytest.mark.parametrize(
    "path", files_inside_programs(), ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_python_3_8_can_read_it(path):
    ast.parse(path.read_bytes(), filename=path.name, feature_version=(3, 8))


def test_syntax_of_a_later_python_is_seen():
    with pytest.raises(SyntaxError):
        ast.parse("match 1:\n    case _: pass\n", feature_version=(3, 8))
