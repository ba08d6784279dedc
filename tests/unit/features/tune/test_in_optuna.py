"""A search in Optuna's own storage: the same trials, added once."""

from __future__ import annotations

import optuna
import pytest

from reprokit.errors import UsageError
from reprokit.features.tune.in_optuna import export, importances
from reprokit.features.tune.other_forms import must_be_storage
from reprokit.features.tune.studies import Trial, TrialState
from support.search import definition


def trial(number: int, **changed) -> Trial:
    rate = 10.0 ** -(1 + number % 5)
    params = {"rate": rate, "width": 8 + number % 3, "kind": [1, 2] if number % 2 else "a"}
    whole = {"params": params, "state": TrialState.COMPLETE, "value": rate, "curve": (1.0, rate)}
    return Trial(number=number, **{**whole, **changed})


TRIALS = [
    *(trial(number) for number in range(8)),
    trial(8, state=TrialState.FAIL, value=None, curve=(), message="crashed: exit code 1"),
    trial(9, state=TrialState.PRUNED, value=1.0, pruned_at=0, curve=(1.0,)),
]


def test_it_opens_in_optuna_with_every_trial(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    assert export(definition(), TRIALS, url=url) == 10
    storage = optuna.storages.RDBStorage(url)
    study = optuna.load_study(study_name=definition().name, storage=storage)
    assert [one.state.name for one in study.trials] == ["COMPLETE"] * 8 + ["FAIL", "PRUNED"]
    assert study.best_trial.number == 4
    assert study.trials[1].params == {"rate": 0.01, "width": 9, "kind": "[1, 2]"}
    assert study.trials[8].user_attrs["message"] == "crashed: exit code 1"
    assert study.trials[9].intermediate_values == {0: 1.0}
    storage.remove_session()
    storage.engine.dispose()


def test_trials_that_are_there_are_not_added_again(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    assert export(definition(), TRIALS[:4], url=url) == 4
    assert export(definition(), [*TRIALS, Trial(number=10, params={})], url=url) == 6
    assert export(definition(), TRIALS, url=url) == 0


def test_a_study_of_other_trials_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    export(definition(), TRIALS, url=url)
    with pytest.raises(UsageError, match="from trial 0 on"):
        export(definition(), [trial(1)], url=url)


@pytest.mark.parametrize("url", ["study.db", "postgresql://host/name", "sqlite:////no/such/folder/study.db"])
def test_another_place_than_a_file_is_refused(url):
    with pytest.raises(UsageError, match="no study can be written there"):
        must_be_storage(url)


def test_importances_sum_to_one_and_name_the_setting_that_matters():
    found = importances(definition(), TRIALS)
    assert sum(found.values()) == pytest.approx(1.0)
    assert next(iter(found)) == "rate"
    assert importances(definition(), TRIALS[:1]) == {}
