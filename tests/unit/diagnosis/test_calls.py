"""Which of two runs' calls cannot be explained by what they were given."""

import pytest

from reprokit.diagnosis.calls import first_of, inexplicable, makers, place_of, read_calls
from reprokit.errors import CannotJudgeError

FILE = "/home/me/train.py"


class Recording:
    """The record of a run, as the hook writes it."""

    def __init__(self, folder):
        self.folder, self.at = folder, 0
        folder.mkdir()

    def call(self, line, given, made, *, after="=", receiver="", thread=0, process="0", at=None, name="f"):
        self.at += 1
        words = ["C", thread, f"{FILE}:{line}:0-9", 1, name, receiver, given, made, after, at or self.at, "0"]
        return self._write(process, words)

    def round(self, line, number, variables="", process="0"):
        self.at += 1
        return self._write(process, ["T", f"{FILE}:{line}:0:For", number, variables, self.at])

    def _write(self, process, words):
        with (self.folder / f"calls-{process}.tsv").open("a") as stream:
            stream.write("\t".join(map(str, words)) + "\n")
        return self


@pytest.fixture
def runs(tmp_path):
    return Recording(tmp_path / "one"), Recording(tmp_path / "other")


def unlike(runs):
    return inexplicable(*(read_calls(run.folder) for run in runs))


def lines(runs):
    return [one.line for one in unlike(runs).candidates]


def test_equal_inputs_and_another_result_are_inexplicable_and_what_follows_is_explained(runs):
    for run, made in zip(runs, ("x", "y"), strict=True):
        run.call(1, "a", "b").call(2, "b", made).call(3, made, "z" + made)
    assert lines(runs) == [2]


def test_another_state_afterwards_is_inexplicable_too(runs):
    for run, after in zip(runs, ("x", "y"), strict=True):
        run.call(1, "a", "none", receiver="r", after=f"{after},a")
    assert lines(runs) == [1]


def test_what_a_call_washes_out_is_no_difference(runs):
    for run, state in zip(runs, ("x", "y"), strict=True):
        run.call(1, "a", "none", receiver=state, after="seeded,a").call(2, "b", "c", receiver="seeded")
    assert lines(runs) == []
    assert unlike(runs).first is None


def test_a_receiver_that_differs_at_first_holds_a_state_that_nothing_explains(runs):
    for run, state in zip(runs, ("x", "y"), strict=True):
        run.call(1, "a", "b" + state, receiver=state, after=f"{state}2,a").call(2, "b" + state, "c" + state)
    (found,) = unlike(runs).candidates
    assert (found.line, found.hidden) == (1, True)


def test_arguments_that_differ_at_first_are_told_as_where_it_begins_and_accuse_no_line(runs):
    for run, given in zip(runs, ("x", "y"), strict=True):
        run.call(1, "a", "b").call(4, given, "z" + given)
    assert lines(runs) == []
    assert unlike(runs).first.line == 4


def test_beyond_the_place_where_the_runs_do_other_things_nothing_is_compared(runs):
    one, other = runs
    one.call(1, "a", "b").call(2, "a", "b").call(3, "a", "x")
    other.call(1, "a", "b").call(5, "a", "b").call(3, "a", "y")
    assert lines(runs) == []


def test_candidates_come_in_the_order_in_which_calls_end_over_all_processes(runs):
    for run, made in zip(runs, ("x", "y"), strict=True):
        run.call(7, "pool", made, at=100)
        run.call(3, "a", made, process="0.s1", at=50)
    assert lines(runs) == [3, 7]


@pytest.mark.parametrize(("thread", "process"), [(1, "0"), (0, "0.s1"), (0, "0.f1")])
def test_other_threads_and_processes_are_compared_by_what_they_were_given(runs, thread, process):
    one, other = runs
    where = {"thread": thread, "process": process}
    one.call(1, "a", "A", **where).call(1, "b", "B", **where)
    other.call(1, "b", "B", **where).call(1, "a", "A", **where)
    assert lines(runs) == []
    one.call(2, "c", "x", **where)
    other.call(2, "c", "y", **where)
    (found,) = unlike(runs).candidates
    assert (found.line, found.elsewhere, found.hidden) == (2, True, False)


def test_a_rank_is_compared_in_order(runs):
    for run, made in zip(runs, ("x", "y"), strict=True):
        run.call(1, "a", "b", process="0.r1").call(1, "a", made, process="0.r1")
    (found,) = unlike(runs).candidates
    assert not found.elsewhere


def test_a_worker_whose_receiver_is_never_alike_draws_on_a_state_of_its_own(runs):
    for run, state in zip(runs, "xy", strict=True):
        run.call(1, "n", state, receiver=state, process="0.s1")
    (found,) = unlike(runs).candidates
    assert (found.hidden, found.elsewhere) == (True, True)


def test_a_line_of_workers_comes_before_the_call_that_waited_for_its_first_time(runs):
    """The digests of its first time are the same in both runs, those of a later one differ."""
    for run, made in zip(runs, ("x", "y"), strict=True):
        run.call(7, "a", "b", process="0.s1").call(3, "pool", made)
        run.call(7, "c", made, process="0.s1")
    assert lines(runs) == [7, 3]


def test_a_worker_that_did_more_of_the_same_is_no_difference(runs):
    one, other = runs
    one.call(1, "a", "A", process="0.s1")
    other.call(1, "a", "A", process="0.s1").call(1, "a", "A", process="0.s1")
    assert lines(runs) == []


def test_variables_of_a_round_in_a_worker_are_no_call(runs):
    for run, variables in zip(runs, ("x", "y"), strict=True):
        run.round(3, 0, variables, process="0.s1").call(4, "a", "b", process="0.s1")
    assert lines(runs) == []


def test_where_not_every_round_was_watched_the_last_one_before_the_difference_is_told(runs):
    for run, made in zip(runs, ("x", "y"), strict=True):
        run.round(1, 64).call(2, "a", "b").round(1, 128).call(2, made, made).round(1, 192)
    found = unlike(runs)
    assert (found.since, found.sampled_before) == ((f"{FILE}:1:0:For", 128), True)


def test_where_every_round_was_watched_there_is_nothing_more_to_look_at(runs):
    for run, made in zip(runs, ("x", "y"), strict=True):
        run.round(1, 63).call(2, "a", "b").call(3, "a", made)
    assert not unlike(runs).sampled
    assert lines(runs) == [3]


def test_where_rounds_were_left_out_after_the_difference_alone_nothing_before_it_was_missed(runs):
    for run, made in zip(runs, ("x", "y"), strict=True):
        run.call(2, "a", made).round(1, 64).call(3, made, made)
    assert (unlike(runs).sampled, unlike(runs).sampled_before) == (True, False)


def test_variables_that_differ_when_a_round_begins_narrow_the_stretch_and_accuse_no_line(runs):
    for run, total in zip(runs, ("x", "y"), strict=True):
        run.round(1, 64, "same").call(2, "a", "b").round(1, 128, total).call(2, "a", "b")
        run.call(9, total, total)
    assert unlike(runs).since == (f"{FILE}:1:0:For", 64)
    assert lines(runs) == []


def test_what_could_not_be_read_is_said_of_the_candidate(runs):
    for run, made in zip(runs, ("x", "y"), strict=True):
        run.call(1, "a?", made)
    assert unlike(runs).candidates[0].unseen


@pytest.mark.parametrize(
    ("site", "place"),
    [
        ("/a/b.py:12:4-20", ("/a/b.py", 12)),
        ("/a:1/b c.py:3:0-9+2", ("/a:1/b c.py", 3)),
        ("/a/b.py:7:0:While", ("/a/b.py", 7)),
    ],
)
def test_a_site_has_a_file_and_a_line(site, place):
    assert place_of(site) == place


def test_a_damaged_record_cannot_be_judged(tmp_path):
    (tmp_path / "calls-0.tsv").write_text("T\tplace\tmany\n")
    with pytest.raises(CannotJudgeError, match="damaged"):
        read_calls(tmp_path)


def test_a_record_that_was_cut_off_in_a_line_is_read_up_to_it(tmp_path):
    run = Recording(tmp_path / "run").call(1, "a", "b")
    with (run.folder / "calls-0.tsv").open("a") as stream:
        stream.write("C\t0\t/a.py:1:0")
    assert read_calls(run.folder).count == 1


def test_a_later_call_of_another_object_with_the_same_arguments_is_what_is_suspected_next(runs):
    for run, state in zip(runs, ("x", "y"), strict=True):
        run.call(1, "a", state).call(2, "b", "c" + state, receiver=state).call(3, state, "z" + state)
    assert lines(runs) == [1]
    assert [one.line for one in unlike(runs).followers] == [2]


def test_the_lines_that_made_or_changed_an_object_that_cannot_be_read_come_last_first(runs):
    one, _ = runs
    for run, made in zip(runs, ("x", "y"), strict=True):
        run.call(1, "a", "index?").call(2, "b", "none", receiver="index?").call(3, "b", "none")
        run.call(4, "q", made, receiver="index?")
    (found,) = unlike(runs).candidates
    assert [made.line for made in makers(read_calls(one.folder), found)] == [2, 1]


def test_of_an_object_that_can_be_read_no_maker_is_asked_for(runs):
    for run, made in zip(runs, ("x", "y"), strict=True):
        run.call(1, "a", "index").call(2, "q", made, receiver="index")
    (found,) = unlike(runs).candidates
    assert makers(read_calls(runs[0].folder), found) == ()


def test_the_first_call_at_some_lines_is_found_and_none_where_there_is_none(runs):
    calls = read_calls(runs[0].call(1, "a", "b").call(2, "a", "b").call(3, "a", "b").folder)
    assert first_of(calls, {f"{FILE}:3:0-9", f"{FILE}:2:0-9"}).line == 2
    assert first_of(calls, set()) is None
