"""Files that runs leave outside their folders are put back as they were before the first."""

from types import SimpleNamespace

from reprokit.diagnosis import OutsideFile
from reprokit.harness.diagnosing.leftovers import Leftovers, restore


def _left(path, *, existed=False, folder=False, kept=None):
    return OutsideFile(
        path=str(path),
        written=("train.py", 3, "main"),
        read=None,
        read_after_write=False,
        existed=existed,
        folder=folder,
        kept=str(kept) if kept else None,
    )


def test_a_file_that_was_not_there_goes_again(tmp_path):
    new = tmp_path / "cache.npy"
    new.write_text("left by a run")
    restore({str(new): _left(new)})
    assert not new.exists()


def test_a_file_that_was_there_gets_its_contents_back(tmp_path):
    file, kept = tmp_path / "count.txt", tmp_path / "kept"
    file.write_text("2")
    kept.write_text("1")
    restore({str(file): _left(file, existed=True, kept=kept)})
    assert file.read_text() == "1"


def test_a_file_that_was_there_and_of_which_no_copy_is_stays_as_it_is(tmp_path):
    file = tmp_path / "huge.bin"
    file.write_text("bytes")
    restore({str(file): _left(file, existed=True)})
    assert file.read_text() == "bytes"


def test_a_folder_that_a_run_made_goes_once_it_is_empty_and_not_before(tmp_path):
    folder, mine = tmp_path / "made", tmp_path / "made" / "run.txt"
    folder.mkdir()
    mine.write_text("left")
    left = {str(folder): _left(folder), str(mine): _left(mine)}
    (folder / "somebody's.txt").write_text("not left by a run")
    restore(left)
    assert [path.name for path in folder.iterdir()] == ["somebody's.txt"]
    (folder / "somebody's.txt").unlink()
    restore(left)
    assert not folder.exists()


def test_what_a_run_with_another_seed_left_is_put_back_wherever_it_went_since(tmp_path):
    folder, mine, old = tmp_path / "made", tmp_path / "made" / "cache.txt", tmp_path / "old.txt"
    old.write_text("before")
    kept = tmp_path / "kept"
    kept.write_text("before")
    files = {str(one): _left(one) for one in (folder, mine)} | {str(old): _left(old, existed=True, kept=kept)}
    leftovers = Leftovers(tmp_path / "copies")
    leftovers.note(SimpleNamespace(files=files))
    folder.mkdir()
    mine.write_text("another seed's")
    old.write_text("another seed's")
    leftovers.keep()

    leftovers.restore()
    assert (folder.exists(), old.read_text()) == (False, "before")
    leftovers.put()
    assert (mine.read_text(), old.read_text()) == ("another seed's", "another seed's")


def test_what_a_run_with_another_seed_removed_is_gone_again(tmp_path):
    file, kept = tmp_path / "lock", tmp_path / "kept"
    kept.write_text("there")
    leftovers = Leftovers(tmp_path / "copies")
    leftovers.note(SimpleNamespace(files={str(file): _left(file, existed=True, kept=kept)}))
    leftovers.keep()
    leftovers.restore()
    assert file.read_text() == "there"
    leftovers.put()
    assert not file.exists()
