"""Digests of a loop's variables: methods of the program that are asked for them never end it."""

from types import SimpleNamespace

from reprokit.instrumentation.reprokit_hook.loop_variables import remembering


class Broken:
    def state_dict(self):
        raise AttributeError("no state yet")


def test_an_object_that_cannot_tell_its_state_is_left_out():
    watch = SimpleNamespace(facts={})
    remembering(watch)({"loader": Broken(), "step": 3}, "train.py", 7, "main")
    assert [*watch.facts["loops"]["train.py|7|main"][0]] == ["step"]


def test_a_loop_inside_a_variables_own_method_is_not_recorded_within_it():
    watch = SimpleNamespace(facts={})
    remember = remembering(watch)

    class Looping:
        def state_dict(self):
            remember({"self": self}, "own.py", 1, "state_dict")
            return {"a": 1}

    remember({"one": Looping()}, "train.py", 7, "main")
    assert watch.facts["loops"]["own.py|1|state_dict"] == []
    assert [*watch.facts["loops"]["train.py|7|main"][0]] == ["one"]
