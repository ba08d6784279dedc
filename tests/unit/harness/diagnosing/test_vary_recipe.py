"""Training again under different conditions: which runs are made, what is read back, whose fault it is."""

import json
from dataclasses import replace

import pytest

from reprokit.core.records import Outcome
from reprokit.core.verdicts.comparability import KEYS, VARIED
from reprokit.errors import GoldenError
from reprokit.golden import Promotion
from reprokit.harness import Request
from reprokit.harness.curation import newest_pair, promote
from reprokit.harness.diagnosing import vary_recipe
from reprokit.harness.judging import varied_evidence as judged_runs
from reprokit.harness.judging.varied_evidence import varied_evidence
from reprokit.harness.running.engine import Engine
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.plan import plan_recipe
from reprokit.harness.running.run_kinds import WATCH
from reprokit.harness.running.varying import apply_variations
from reprokit.records import run_json
from reprokit.session import Session


def trace(folder, unshown):
    """What the hook leaves of a run in which everything is in force that was ordered, but one variation."""
    seen = {"varies": [], "variables": {}}
    for name, one in json.loads((folder / "varied-orders.json").read_text())["expected"].items():
        if name != unshown:
            seen["varies"] += one["varies"]
            seen["variables"] |= one["variables"]
            seen |= {key: values[0] for key, values in one["shows"].items()}
            seen |= {key: "another one" for key in one["differs"] if key not in seen}
    return {"facts": {"conditions 0": seen}, "sites": {}, "files": {}}


def program(hangs_on, programs, *, watch=True, crashes=False, unshown="", refuses=""):
    """A training whose numbers hang on some conditions, as the words of its command show them."""

    def train(spec, output, on_tick):
        words = " ".join(spec.command)
        guilty = all(one in words for one in hangs_on) if hangs_on else False
        programs["training"](loss=lambda step: (2 if guilty else 1) / step)(spec, output, on_tick)
        if "REPROKIT_HOOK" in spec.environment and watch:
            (output / WATCH).mkdir()
            (output / WATCH / "trace-0.json").write_text(json.dumps(trace(output.parent, unshown)))
        if refuses and refuses in words:
            line = f"reprokit: this cannot be changed here: {refuses}: there is no other one\n"
            (output.parent / "stderr.log").write_text(line)
            return programs["ended"](Outcome.CRASHED, 125, "exit code 125")
        if guilty and crashes:
            return programs["ended"](Outcome.CRASHED, 1, "exit code 1")
        return None

    return train


@pytest.fixture
def lab(make, here, recipe, told, fake, programs, monkeypatch):
    """Makes two plain runs, then whatever `vary` asks for; tells which."""

    class Lab:
        def vary(self, immune_to, hangs_on=(), *, cores=(), **options):
            self.recipe, self.asked = replace(recipe, immune_to=tuple(immune_to)), []
            self.kinds = []
            plain = programs["training"]()
            self.pair = make.of_recipe(plain, plain, cores=cores)

            def run_recipe(recipe, request, kind, *, session):
                self.kinds.append((type(kind).__name__, request.seed))
                plan = plan_recipe(
                    recipe,
                    kind,
                    seed=request.seed_of([42]),
                    environment=Environment(
                        realisation=programs["realisation"],
                        backend="local",
                        runs_dir=here.runs_dir,
                        cores=getattr(kind, "cores", ()),
                    ),
                    stamp=f"20261120T1020{len(self.kinds):02d}Z-bbbb",
                )
                self.asked.append(tuple(one.name for one in getattr(kind, "chosen", ())))
                self.limits = {*getattr(self, "limits", ()), request.timeout_s}
                backend = fake(program(hangs_on, programs, **options))
                host = programs["host"]
                engine = Engine(backend=backend, runs_dir=here.runs_dir, host=host, progress=told)
                return engine.make(plan)

            monkeypatch.setattr(vary_recipe, "run_recipe", run_recipe)
            monkeypatch.setattr(vary_recipe, "backend_of", lambda recipe, request: "local")
            self.folders = vary_recipe.vary(
                self.recipe, self.pair, Request(), session=Session(project=here, progress=told)
            )
            return self.folders

    return Lab()


def seen(lab):
    return varied_evidence(lab.pair[0], lab.folders)


def test_all_are_varied_in_one_run_and_all_are_innocent_where_it_is_equal(lab):
    lab.vary(["umask", "process_id", "time_zone"])
    assert lab.asked == [("time_zone", "umask", "process_id")]
    assert seen(lab).runs[0].is_equal


def test_the_guilty_one_is_isolated_and_the_rest_is_tried_without_it(lab):
    lab.vary(["umask", "process_id", "time_zone", "locale"], hangs_on=["--umask"])
    told = seen(lab).runs
    assert lab.asked[0] == ("time_zone", "locale", "umask", "process_id")
    assert {run.names for run in told if not run.is_equal and len(run.names) == 1} == {("umask",)}
    assert ("time_zone", "locale", "process_id") in {run.names for run in told if run.is_equal}
    assert () in lab.asked


def test_two_that_are_guilty_only_together_are_named_together(lab):
    lab.vary(["umask", "process_id", "time_zone"], hangs_on=["--umask", "--processes"])
    least = min((run for run in seen(lab).runs if not run.is_equal), key=lambda run: len(run.names))
    assert set(least.names) == {"umask", "process_id"}


def test_a_run_that_does_not_finish_is_a_difference(lab):
    lab.vary(["umask", "time_zone"], hangs_on=["--umask"], crashes=True)
    least = min((run for run in seen(lab).runs if not run.is_equal), key=lambda run: len(run.names))
    assert (least.names, least.failure) == (("umask",), "exit code 1")


def test_a_watch_that_was_not_loaded_varied_nothing(lab):
    lab.vary(["clock"], watch=False)
    assert "the watch was not loaded" in seen(lab).runs[0].problem
    assert len(lab.asked) == 1


def test_a_variation_that_the_run_does_not_show_is_not_made(lab):
    lab.vary(["umask", "time_zone"], unshown="time_zone")
    told = seen(lab)
    assert (told.runs[0].names, list(told.unmade)) == (("umask",), ["time_zone"])
    assert told.unmade["time_zone"].startswith("it was not in force in the program: the variable TZ was None")


@pytest.mark.parametrize(("before", "after", "reason"), [(2, 1, None), (1, 1, "1 thread in both runs")])
def test_threads_that_a_library_did_not_take_are_not_varied(lab, monkeypatch, before, after, reason):
    lab.vary(["threads"], cores=(0,))

    def number(folder, place):
        return {"inside.numpy.openblas.threads": after if folder in lab.folders else before}.get(place)

    monkeypatch.setattr(judged_runs.environment_json, "recorded", lambda folder: folder)
    monkeypatch.setattr(judged_runs, "fact", number)
    told = seen(lab)
    assert told.runs[0].names == (() if reason else ("threads",))
    assert (reason or "") in told.unmade.get("threads", "")
    assert bool(reason) == ("threads" in told.unmade)


def test_what_the_starter_could_not_change_is_no_fault_of_the_program(lab):
    lab.vary(["umask", "locale"], refuses="--locale")
    assert seen(lab).runs[0].problem.endswith("it cannot be changed here: --locale: there is no other one")
    assert not seen(lab).runs[0].failure


def test_what_earlier_runs_left_is_varied_by_a_run_with_another_seed_before(lab):
    lab.vary(["leftovers"])
    assert lab.kinds == [("WholeRun", 43), ("VariedRun", None)]
    assert not seen(lab).unmade


def test_a_run_of_before_that_recorded_no_conditions_is_judged_as_it_was(lab):
    (folder,) = lab.vary(["umask"], unshown="umask")
    assert "umask" in seen(lab).unmade
    orders = folder / "varied-orders.json"
    old = {name: one for name, one in json.loads(orders.read_text()).items() if name != "expected"}
    orders.write_text(json.dumps(old))
    assert "umask" not in seen(lab).unmade


def test_varied_runs_have_the_cores_of_the_runs_that_they_are_compared_to(lab):
    lab.vary(["umask"], cores=(0, 1))
    assert run_json.read(lab.folders[0]).limits.cpus == (0,)


def test_where_runs_have_one_core_each_their_number_is_varied(lab, monkeypatch):
    monkeypatch.setattr(apply_variations, "usable_cores", lambda: (0, 1))
    lab.vary(["umask", "cpu_affinity"], cores=(0, 1))
    assert run_json.read(lab.folders[0]).limits.cpus is None
    told = json.loads((lab.folders[0] / "varied-orders.json").read_text())
    assert told["expected"]["cpu_affinity"]["shows"] == {"cores": [[0, 1]]}
    assert seen(lab).runs[0].names == ("umask", "cpu_affinity")


def test_a_training_that_hangs_under_a_variation_is_not_waited_for_for_ever(lab):
    lab.vary(["umask"])
    assert lab.limits == {60.0}


def test_what_cannot_be_varied_here_is_kept_with_its_reason(lab):
    lab.vary(["gpu_index"])
    assert lab.asked == [()]
    assert seen(lab).unmade == {"gpu_index": "there is no GPU here"}


def test_a_recipe_that_names_nothing_makes_no_run(lab):
    assert lab.vary([]) == ()


def test_the_other_path_is_the_run_folders_own(lab):
    (folder,) = lab.vary(["run_folder"])
    assert folder.name.endswith("-varied1-x")


@pytest.mark.parametrize("changed", ["metrics.jsonl", "run.json"])
def test_a_varied_run_that_was_touched_is_no_evidence(lab, changed):
    (folder,) = lab.vary(["umask"])
    path = folder / changed
    path.write_bytes(path.read_bytes() + b" ")
    assert not seen(lab).runs[0].is_equal


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_a_run_that_is_not_comparable_with_the_first_is_no_evidence(lab, plant, key):
    (folder,) = lab.vary(["umask"])
    plant(folder, key.path)
    (one,) = seen(lab).runs
    assert one.is_equal == (key.path in VARIED.may_differ)
    if not one.is_equal:
        assert f"runs are not comparable: {key.plural} differ" in one.problem


def test_a_varied_run_is_never_blessed_nor_one_of_a_pair(lab, here):
    (folder,) = lab.vary(["umask"])
    with pytest.raises(GoldenError, match="varied on purpose"):
        promote(
            (lab.pair[0], folder),
            project=here,
            promotion=Promotion(reason="x", created_at="2026-11-20T10:15:00+00:00", allow_dirty=True),
        )
    assert newest_pair(here.runs_dir, "cartpole_baseline", seed=None) == tuple(sorted(lab.pair))
