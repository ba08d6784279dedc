"""What breaks the schema, and how it is told: with its line, its near miss, and all at once."""

from __future__ import annotations

import pytest

PLATFORM = "a platform such as cpu-x86_64, cpu-aarch64, cuda-h200, tpu-v5e or xla-cpu"
NO_WINDOW = "14: expected.evaluation/return.window must be the name of a window"
ALL_WINDOWS = (
    "last, best_high, best_low, auc, auc_mean, mean_last_N, first_step_at_least_X, first_step_at_most_X"
)
UNQUOTE = "write it without quotes, underscores or units"


def replace_key(folder, line: str) -> None:
    """Put another line in place of the one that has the same key."""
    key = line.partition(":")[0]
    old = next(one for one in folder.file.read_text().splitlines() if one.startswith(f"{key}:"))
    folder.edit(f"{old}\n", f"{line}\n")


def test_every_mistake_of_a_file_is_told_with_its_line(folder):
    folder.write("""\
schema: 1
name: cart pole
titel: PPO on CartPole
variant: gpu
trainer: ppo
seeds: [42, -1, true]
platforms: [cpu]
environment:
  num_envs: "8"
  nam: x
training:
  learning_rate: 0
gamma: 3
limits: 5
expected:
  evaluation/return: {valu: 489.5, atol: -8.2}
""")
    told = folder.refusal().replace("  cartpole/recipe.yaml:", "").splitlines()
    assert told == [
        "cartpole/recipe.yaml: 15 mistakes",
        "1: title is missing",
        "2: name must be a plain name: up to 64 letters, digits, - and _. got the text 'cart pole'",
        "3: unknown key 'titel'. Hint: did you mean 'title'?",
        "6: seeds.1 must be at least 0. got -1",
        "6: seeds.2 must be a whole number. got true",
        f"7: platforms.0 must be {PLATFORM}. got the text 'cpu'",
        f"9: environment.num_envs must be a whole number. got the text '8'. Hint: {UNQUOTE}",
        "10: unknown key 'nam' in environment. Hint: did you mean 'name'?",
        "11: training.total_timesteps is missing",
        "12: training.learning_rate must be more than 0. got 0",
        "13: unknown key 'gamma'. Hint: did you mean 'training.gamma'?",
        "14: limits must be a section with keys of its own. got 5",
        "16: expected.evaluation/return.value is missing",
        "16: unknown key 'valu' in expected.evaluation/return. Hint: did you mean 'value'?",
        "16: expected.evaluation/return.atol must be at least 0. got -8.2",
    ]


@pytest.mark.parametrize("key", ["schema", "name", "title", "variant", "seeds", "platforms"])
def test_a_key_that_every_recipe_needs_is_missed(folder, key):
    lines = folder.file.read_text().splitlines(keepends=True)
    folder.write("".join(line for line in lines if not line.startswith(f"{key}:")))
    assert f"{key} is missing" in folder.refusal()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("schema: 0", "1: schema must be 1. got 0"),
        ("schema: 2", "1: recipe.yaml was written by a newer version of reprokit, with schema 2"),
        ("schema: true", "1: schema must be a whole number. got true"),
        ("schema: '1'", "1: schema must be a whole number. got the text '1'"),
        ("name: ../cartpole", "2: name must be a plain name"),
        ("title: ' '", "3: title must be text that is not blank"),
        ('title: "a\\nb"', "3: title must be one line"),
        ("title: 7", "3: title must be text. got 7"),
        (f"title: {'x' * 201}", "3: title must be at most 200 characters"),
        ("variant: cpu\ndevice: cuda", "5: the device cuda is not in the variant cpu. expected cpu"),
        ("variant: cuda\ndevice: tpu", "5: the device tpu is not in the variant cuda. expected cpu or cuda"),
        ("variant: cpu\nnumerics: fast", "5: numerics must be 'portable' or 'native'"),
        ("seeds: 42", "6: seeds must be a list. got 42"),
        ("seeds: []", "6: seeds must be a list of at least 1"),
        ("seeds: [1, 4294967296]", "6: seeds.1 must be less than 4294967296. got 4294967296"),
        ("seeds: [1.0]", "6: seeds.0 must be a whole number. got 1.0"),
        ("seeds:\n  - 7\n  - 8\n  - 7", "6: seeds must be a list without repeats (7 is there twice)"),
        ("seeds:\n  - 7\n  - x", "8: seeds.1 must be a whole number. got the text 'x'"),
        ("platforms: [cpu-x86_64, cpu-x86_64]", "7: platforms must be a list without repeats"),
        ("platforms: [cpu-arm]", "7: platforms.0 must be a platform such as cpu-x86_64"),
        ("platforms: [cpu-../x]", "7: platforms.0 must be a platform such as cpu-x86_64"),
    ],
)
def test_each_rule_of_a_key_that_every_recipe_has_is_told_with_its_line(folder, line, told):
    replace_key(folder, line)
    assert folder.refusal().startswith(f"cartpole/recipe.yaml:{told}")


@pytest.mark.parametrize(
    "line",
    [
        "title: NO",
        "variant: cuda\ndevice: cpu",
        "variant: tpu\nnumerics: native",
        "seeds: [0, 4294967295]",
        "platforms: [cpu-x86_64-noavx2, cuda-h200, tpu-v5e, xla-cpu]",
    ],
)
def test_what_the_schema_allows_is_taken(folder, line):
    replace_key(folder, line)
    assert folder.load().name == "cartpole"


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("limits: {memory_gib: 0}", "2: limits.memory_gib must be more than 0"),
        ("limits: {timeout_s: -5}", "2: limits.timeout_s must be more than 0"),
        ("limits: {pids: 1.5}", "2: limits.pids must be a whole number"),
        ("limits:", "2: limits must be a section with keys of its own. got nothing (null)"),
        ("data: 3", "2: data must be 'none', a list, or a section of files by name. got 3"),
        ("nondeterminism: ['']", "2: nondeterminism.0 must be text that is not blank"),
        ("nondeterminism: threads", "2: nondeterminism must be a list"),
        ("tolerances: {default: {rtol: -1}}", "2: tolerances.default.rtol must be at least 0"),
        ("tolerances: {default: {rtol: 1e-400}}", "2: 1e-400 does not fit into a 64-bit float"),
        ("tolerances: {metrics: {'': {}}}", "2: tolerances.metrics. must be text that is not blank"),
        ("tolerances: {metric: {}}", "2: unknown key 'metric' in tolerances. Hint: did you mean 'metrics'?"),
        (
            "tolerances: {metrics: {a: {mean_of: 0, rtol: 1}}}",
            "2: tolerances.metrics.a.mean_of must be at",
        ),
        (
            "tolerances: {metrics: {a: {mean_of: 9.5, rtol: 1}}}",
            "2: tolerances.metrics.a.mean_of must be a",
        ),
        (
            "tolerances: {metrics: {a: {mean_of: 10}}}",
            "2: tolerances.metrics.a must be given an rtol",
        ),
        ("tolerances: {default: {mean_of: 10}}", "2: unknown key 'mean_of' in tolerances.default"),
        (
            "tolerances: {metrics: {a: {rtl: 1}}}",
            "2: unknown key 'rtl' in tolerances.metrics.a. Hint: did you",
        ),
        ("checks: {relax: [{check: a}]}", "2: checks.relax.0.because is missing"),
        ("checks: {relax: [{check: a, because: ' '}]}", "2: checks.relax.0.because must be text that is not"),
        ("checks: {relax: [a]}", "2: checks.relax.0 must be a section with keys of its own"),
        ("checks: {relax: [{check: repeatable, because: x}]}", "2: checks.relax.0.check must be another row"),
        ("checks: {require: [Hardened]}", "2: checks.require.0 must be the id of a row"),
        ("checks: {require: [a, a]}", "2: checks.require must be a list without repeats"),
        ("checks:\n  relax:\n  - &r {check: a, because: x}\n  - *r", "5: the row 'a' is relaxed twice"),
        ("checks: {relax: [{check: a, because: x}], require: [a]}", "2: the row 'a' is relaxed and required"),
    ],
)
def test_each_rule_of_the_other_sections_is_told_with_its_line(folder, section, told):
    folder.edit("schema: 1\n", f"schema: 1\n{section}\n")
    assert folder.refusal().startswith(f"cartpole/recipe.yaml:{told}")


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("{value: 1, atol: .inf}", "14: .inf is not a finite number"),
        ("{value: 1, rtol: -1}", "14: expected.evaluation/return.rtol must be at least 0. got -1"),
        ("{value: '1'}", "14: expected.evaluation/return.value must be a number. got the text '1'"),
        ("{value: 1, atol: true}", "14: expected.evaluation/return.atol must be a number. got true"),
        (
            "{value: 1, window: mean_of_last_5}",
            f"{NO_WINDOW} (did you mean 'mean_last_5'?). got the text 'mean_of_last_5'",
        ),
        ("{value: 1, window: final}", f"{NO_WINDOW} ({ALL_WINDOWS}). got the text 'final'"),
        ("{value: 1, window: mean_last_0}", f"{NO_WINDOW} ({ALL_WINDOWS}). got the text 'mean_last_0'"),
        ("{value: 1, window: 5}", "14: expected.evaluation/return.window must be text. got 5"),
        ("489.5", "14: expected.evaluation/return must be a section with keys of its own. got 489.5"),
    ],
)
def test_each_rule_of_an_expected_result_is_told_with_its_line(folder, entry, told):
    folder.edit("{value: 489.5, atol: 8.2}", entry)
    assert folder.refusal().startswith(f"cartpole/recipe.yaml:{told}")


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("gamma: '0.9'", f"13: training.gamma must be a number. got the text '0.9'. Hint: {UNQUOTE}"),
        ("gamma: yes", "13: training.gamma must be a number. got the text 'yes'"),
        ("hidden_sizes: [64, '32']", "13: training.hidden_sizes.1 must be a whole number. got the text '32'"),
        ("hidden_sizes: 64", "13: training.hidden_sizes must be a list. got 64"),
        ("activation: relue", "13: training.activation must be 'tanh' or 'relu'. got the text 'relue'"),
        ("anneal: NO", "13: training.anneal must be true or false. got the text 'NO'"),
        ("gamma: null", "13: training.gamma must be a number. got nothing (null)"),
        ("gama: 1", "13: unknown key 'gama' in training. Hint: did you mean 'gamma'?"),
        ("num_envs: 1", "13: unknown key 'num_envs' in training. Hint: did you mean 'environment.num_envs'?"),
    ],
)
def test_each_rule_of_the_trainer_is_told_with_the_recipe_s_line(folder, setting, told):
    folder.edit("learning_rate: 3e-4\n", f"learning_rate: 3e-4\n  {setting}\n")
    assert folder.refusal().startswith(f"cartpole/recipe.yaml:{told}")


@pytest.mark.parametrize("setting", ["gamma: 1", "target_kl: null", "hidden_sizes: []"])
def test_what_the_trainer_allows_is_taken(folder, setting):
    folder.edit("learning_rate: 3e-4\n", f"learning_rate: 3e-4\n  {setting}\n")
    assert folder.load().name == "cartpole"


def test_sections_without_any_setting_left_out_are_not_missed(folder):
    folder.edit("environment:\n  num_envs: 8\n", "")
    assert folder.load().training_config["environment"] == {"name": "CartPole-v1", "num_envs": 8}


def test_a_long_wrong_text_is_cut(folder):
    folder.edit("3e-4", "x" * 5000)
    assert len(folder.refusal()) < 300


def test_a_recipe_says_what_it_must_be_immune_to(folder):
    folder.edit("seeds:", "immune_to: [umask, hash_seed]\nseeds:")
    assert folder.load().immune_to == ("umask", "hash_seed")


def test_a_variation_that_does_not_exist_is_told_with_its_line_and_the_nearest_name(folder):
    folder.edit("seeds:", "immune_to: [umask, hash_sed]\nseeds:")
    line = next(at for at, text in enumerate(folder.file.read_text().splitlines(), 1) if "immune_to" in text)
    told = folder.refusal()
    assert f"recipe.yaml:{line}: immune_to.1 must be the name of a variation" in told
    assert "did you mean 'hash_seed'?" in told


def test_a_variation_is_named_once(folder):
    folder.edit("seeds:", "immune_to: [umask, umask]\nseeds:")
    assert "without repeats" in folder.refusal()


@pytest.mark.parametrize("limit", ["memory_gib: 1e300", "timeout_s: 1e300", "memory_gib: 2e6"])
def test_a_limit_that_no_system_takes_is_refused(folder, limit):
    folder.edit("seeds: [42, 123]", f"limits: {{{limit}}}\nseeds: [42, 123]")
    assert f"limits.{limit.partition(':')[0]}" in folder.refusal()


def test_a_recipe_says_what_becomes_of_machines_that_do_not_compute_alike(folder):
    plain = folder.load()
    assert (plain.machines, "machines" in plain.as_data()) == ("refuse", False)
    folder.edit("seeds:", "machines: mark\nseeds:")
    marked = folder.load()
    assert (marked.machines, marked.as_data()["machines"]) == ("mark", "mark")
    assert marked.digest == plain.digest
    folder.edit("machines: mark", "machines: maybe")
    assert "machines must be" in folder.refusal()


def test_ranks_that_one_process_starts_for_another_number_of_shards_are_told(folder):
    rule = "ranks must be given powers of two for `fixed_order`, with as many shards as ranks or more"
    for number in (3, 8):
        told = folder.refusal(f"ranks={{world_size: {number}, reduction: fixed_order}}")
        assert told.endswith(f"{rule}; these are {number} ranks and 4 shards")
    assert "only there a batch has shards" in folder.refusal("ranks={world_size: 2, shards: 4}")


def test_ranks_are_part_of_what_the_numbers_stand_on_and_their_patience_is_not(folder):
    digests = {
        given: folder.load(*([f"ranks={given}"] if given else [])).digest
        for given in ("", "{world_size: 1}", "{world_size: 2}", "{world_size: 2, reduction: fixed_order}")
    }
    assert len(set(digests.values())) == len(digests)
    patient = folder.load("ranks={world_size: 2, timeout_s: 100}")
    assert patient.digest == digests["{world_size: 2}"]
    assert patient.as_data()["ranks"]["timeout_s"] == 100
    assert "ranks" not in folder.load().as_data()


def test_ranks_are_given_at_least_a_second(folder):
    told = folder.refusal("ranks={world_size: 2, timeout_s: 0.5}")
    assert "ranks.timeout_s must be at least 1. got 0.5" in told
