"""`make test ROOM=…`: which tests are a room's, and what is said of a room that is not there."""

import pytest

import rooms

FILES = {
    "cli/test_cli_diagnose.py": "",
    "diagnosis/test_causes.py": "",
    "harness/diagnosing/test_experiments.py": "",
    "harness/judging/test_wording.py": "",
    "reports/test_diagnosis_page.py": "",
    "harness/test_gate.py": "from reprokit.harness import (\n    reproduce,\n    verify,\n)\n",
}


@pytest.fixture
def unit(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("room", "found"),
    [
        (
            "diagnose",
            [
                "cli/test_cli_diagnose.py",
                "diagnosis",
                "harness/diagnosing",
                "reports/test_diagnosis_page.py",
            ],
        ),
        ("judging", ["harness/judging"]),
        ("harness/judging", ["harness/judging"]),
        ("reprokit.harness.judging", ["harness/judging"]),
        ("verify", ["harness/test_gate.py"]),
        ("harness", ["harness"]),
        ("nonsense", []),
        ("harness/nonsense", []),
    ],
)
def test_a_room_is_found_by_the_names_of_folders_files_and_verbs(unit, room, found):
    assert [path.relative_to(unit).as_posix() for path in rooms.places_of(room, unit=unit)] == found


def test_a_room_that_is_not_there_is_2_and_the_rooms_are_listed(capsys):
    assert rooms.main(["nonsense"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "no room 'nonsense' with tests. Rooms: " in told.err
    assert {"diagnose", "harness/judging", "reports", "verify"} <= {
        *told.err.split("Rooms: ")[1].strip().split(", ")
    }
