"""The language model: it learns, repeats, continues after any update, and each setting does what it says."""

import io
import json
import math
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recipes.parts.characters import Corpus  # noqa: E402
from recipes.parts.flat_adamw import FlatAdamW  # noqa: E402
from reprokit.runtime import config  # noqa: E402
from reprokit.runtime.launch import load_trainer  # noqa: E402
from reprokit.runtime.ranks import Ranks  # noqa: E402
from reprokit.runtime.run import Run  # noqa: E402
from reprokit.runtime.samples import sample_contents  # noqa: E402
from reprokit.runtime.trace import Trace  # noqa: E402

PROJECT = Path(__file__).resolve().parents[3]
WORDS = "to be or not to be that is the question whether it is nobler in the mind to suffer\n"
TEXTS = {name: "".join(WORDS[start:] for start in range(40)) for name in "abc"} | {"d": WORDS * 3}
BASE = {
    "texts": {"archive": "texts.tar", "members": "*.txt", "validation": ["d"]},
    "model": {"num_layers": 2, "num_heads": 2, "width": 16, "block_size": 8},
    "training": {"total_timesteps": 6, "batch_size": 4, "lr_warmup_steps": 2},
    "logging": {
        "save_interval": 1,
        "trace_interval": 3,
        "eval_interval": 3,
        "eval_blocks": 10,
        "final_eval_blocks": 12,
        "num_samples": 2,
        "sample_length": 12,
    },
}
# Each of them on its own must change the numbers, or it does nothing.
SETTINGS = {
    "gradient accumulation": ("training", {"gradient_accumulation_steps": 2}),
    "gradient clipping": ("training", {"max_grad_norm": 0.01}),
    "no warm-up": ("training", {"lr_warmup_steps": 0}),
    "a lowest learning rate": ("training", {"min_learning_rate": 5e-4}),
    "no weight decay": ("training", {"weight_decay": 0.0}),
    "another mean": ("training", {"beta1": 0.8}),
    "another mean square": ("training", {"beta2": 0.95}),
    "another epsilon": ("training", {"adam_epsilon": 1e-3}),
    "more heads": ("model", {"num_heads": 4}),
    "longer blocks": ("model", {"block_size": 9}),
    "another text held out": ("texts", {"validation": ["a"]}),
}


@pytest.fixture(scope="module")
def gpt():
    return load_trainer(PROJECT / "recipes" / "trainers" / "gpt.py")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "texts.tar"
    with tarfile.open(path, "w") as tar:
        for name, text in TEXTS.items():
            member = tarfile.TarInfo(f"{name}.txt")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return {"texts.tar": path}


@pytest.fixture(scope="module")
def train(gpt, data):
    def train(folder, section=None, changes=None, *, seed=7, **how):
        given = {name: dict(values) for name, values in BASE.items()}
        if section:
            given[section].update(changes)
        folder.mkdir(parents=True)
        with Run.open(folder, seed=seed, device="cpu", clock=time.perf_counter, data=data, **how) as run:
            gpt.train(config.build(gpt.Config, given), run)
        return folder

    return train


@pytest.fixture(scope="module")
def base(train, tmp_path_factory):
    return train(tmp_path_factory.mktemp("base") / "run")


def told(folder, name="metrics.jsonl"):
    return (folder / name).read_text()


def records(folder, name="metrics.jsonl"):
    return [json.loads(line) for line in told(folder, name).splitlines()]


FILES = ("metrics.jsonl", "trace.jsonl", "checkpoints/MANIFEST.json", "samples.txt")


def test_a_seed_repeats_and_another_one_does_not(train, base, tmp_path):
    again, other = train(tmp_path / "again"), train(tmp_path / "other", seed=8)
    for name in FILES:
        assert told(again, name) == told(base, name) != told(other, name), name


@pytest.mark.parametrize("called", SETTINGS)
def test_a_setting_changes_the_training(train, base, tmp_path, called):
    changed = train(tmp_path / "run", *SETTINGS[called])
    assert records(changed, "trace.jsonl")[-1]["parameters"] != records(base, "trace.jsonl")[-1]["parameters"]


@pytest.mark.parametrize("step", range(1, 6))
def test_a_training_goes_on_after_any_update(train, base, tmp_path, step):
    stopped = base / "checkpoints" / f"checkpoint_{step}.pt"
    resumed = train(tmp_path / "run", resume_from=stopped)
    for name in ("metrics.jsonl", "trace.jsonl"):
        assert told(base, name).endswith(told(resumed, name))
        assert len(records(resumed, name)) == 6 - step
    assert told(resumed, "samples.txt") == told(base, "samples.txt")


def test_evaluating_and_writing_draw_nothing_that_training_draws_from(train, base, tmp_path):
    often = {"eval_interval": 1, "eval_blocks": 7, "num_samples": 3, "sample_length": 20}
    watched = train(tmp_path / "run", "logging", often)
    assert told(watched, "trace.jsonl") == told(base, "trace.jsonl")
    for one, other in zip(records(base)[1:], records(watched)[1:], strict=True):
        assert one["loss/train"] == other["loss/train"]


def test_what_the_model_wrote_is_in_the_last_record_by_its_digest(train, base, tmp_path):
    hotter = train(tmp_path / "run", "logging", {"temperature": 2.0})
    assert told(hotter, "samples.txt") != told(base, "samples.txt")
    assert records(hotter)[-1]["final/sample_digest"] != records(base)[-1]["final/sample_digest"]
    first, second = told(base, "samples.txt").split("\n----\n")
    assert (len(first), len(second)) == (12, 12)
    assert first != second


def test_the_trace_knows_the_samples_of_every_update_and_what_arrived_for_them(train, gpt, base, tmp_path):
    corpus = Corpus(TEXTS, held_out=["d"], block_size=8)
    seen = [record["samples"] for record in records(base, "trace.jsonl")]
    assert len({one["digest"] for one in seen}) == 6
    for one in seen:
        ids = torch.tensor([int(number) for number in one["ids"].split(",")])
        assert len(ids) == one["count"] == 4
        contents = sample_contents(*corpus.blocks_at(ids, corpus.training))
        assert contents.astype(">u8").tobytes().hex() == one["contents"]
    parts = train(tmp_path / "run", *SETTINGS["gradient accumulation"])
    assert [record["samples"] for record in records(parts, "trace.jsonl")] == seen


def test_an_untrained_model_is_as_good_as_guessing(base):
    first, second = records(base)[:2]
    chance = math.log(len(set("".join(TEXTS.values()))))
    assert first["initial/chance_loss"] == chance
    assert first["initial/loss"] == pytest.approx(chance, rel=0.01)
    assert second["loss/train"] == pytest.approx(chance, rel=0.01)


def test_it_memorises_one_batch(train, tmp_path):
    changes = {"overfit_batch": True, "total_timesteps": 100, "learning_rate": 1e-2}
    run = train(tmp_path / "run", "training", changes)
    assert len({record["samples"]["digest"] for record in records(run, "trace.jsonl")}) == 1
    assert records(run)[-1]["loss/train"] < 0.1


def test_memorising_one_batch_goes_on_with_that_batch(train, tmp_path):
    changes = {"overfit_batch": True}
    whole = train(tmp_path / "whole", "training", changes)
    stopped = whole / "checkpoints" / "checkpoint_3.pt"
    resumed = train(tmp_path / "resumed", "training", changes, resume_from=stopped)
    assert told(whole, "trace.jsonl").endswith(told(resumed, "trace.jsonl"))


def test_it_learns_a_text_that_it_was_not_shown(train, tmp_path):
    changes = {"total_timesteps": 200, "learning_rate": 1e-2, "batch_size": 8}
    run = train(tmp_path / "run", "training", changes)
    first, last = records(run)[0], records(run)[-1]
    assert last["final/loss"] < first["initial/loss"] / 2


@pytest.mark.parametrize(
    ("step", "expected"), [(1, 1 / 101), (100, 100 / 101), (101, 1.0), (200, 0.5), (300, 0.0)]
)
def test_the_learning_rate_rises_and_then_falls_along_a_cosine(gpt, step, expected):
    settings = gpt.Training(learning_rate=1.0, min_learning_rate=0.0)
    assert gpt.learning_rate_at(step, settings) == pytest.approx(expected, abs=0.01)
    raised = gpt.Training(learning_rate=1.0, min_learning_rate=0.5)
    assert gpt.learning_rate_at(300, raised) == pytest.approx(0.5, abs=1e-3)


def updated(gpt, trace, **changes):
    torch.manual_seed(1)
    model = gpt.GPT(10, gpt.Model(num_layers=1, num_heads=2, width=8, block_size=6))
    adam = FlatAdamW(model, weight_decay=0.1, betas=(0.9, 0.99), epsilon=1e-8)
    tokens = torch.randint(10, (12, 7))
    settings = gpt.Training(**changes)
    batch = (tokens[:, :-1], tokens[:, 1:])
    record = gpt.update(model, adam, batch, settings, Ranks(trace), rate=1e-2)
    return adam.gradients, record


@pytest.mark.parametrize("parts", [2, 3, 12])
def test_accumulated_gradients_are_those_of_the_whole_batch(gpt, parts, tmp_path):
    with Trace(tmp_path / "trace.jsonl") as trace:
        whole, one = updated(gpt, trace)
        added, other = updated(gpt, trace, gradient_accumulation_steps=parts)
    torch.testing.assert_close(added, whole, atol=1e-6, rtol=1e-4)
    for name in ("loss/train", "optim/grad_norm"):
        torch.testing.assert_close(other[name], one[name])


def test_a_character_changes_no_logit_before_it(gpt):
    torch.manual_seed(0)
    model = gpt.GPT(10, gpt.Model(num_layers=2, num_heads=2, width=8, block_size=6))
    tokens = torch.randint(10, (3, 6))
    before = model(tokens)
    tokens[:, 4] = (tokens[:, 4] + 1) % 10
    after = model(tokens)
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.equal(before[:, 4:], after[:, 4:])


def test_an_evaluation_is_the_mean_over_blocks_from_one_end_to_the_other(gpt):
    model = gpt.GPT(len(set("".join(TEXTS.values()))), gpt.Model(num_heads=2, width=8, block_size=8))
    corpus = Corpus(TEXTS, held_out=["d"], block_size=8)
    number = corpus.num_offsets(corpus.validation)
    losses = gpt.evaluate(model, corpus, num_blocks=number, batch_size=100)
    whole = gpt.loss_of(model, *corpus.blocks_at(torch.arange(number), corpus.validation))
    assert losses["loss"] == pytest.approx(whole.item(), rel=1e-5)
    assert losses["train_loss"] != losses["loss"]


def test_samples_follow_the_models_probabilities(gpt):
    corpus = Corpus({"a": "\nab" * 9, "d": "\nab" * 9}, held_out=["d"], block_size=2)

    class Decided(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.position_embedding = torch.zeros(2, 1)

        def forward(self, tokens):
            weights = torch.tensor([1e-30, 0.25, 0.75])
            return weights.log().expand(*tokens.shape, 3)

    settings = gpt.Logging(num_samples=50, sample_length=100, temperature=1.0)
    texts = gpt.write_samples(Decided(), corpus, settings, np.random.default_rng(0))
    written = "".join(texts)
    assert written.count("b") / len(written) == pytest.approx(0.75, abs=0.02)
    assert "\n" not in written


@pytest.mark.parametrize(
    ("section", "changes"),
    [("training", {"gradient_accumulation_steps": 3}), ("model", {"num_heads": 3})],
)
def test_shapes_that_do_not_come_out_even_are_refused(train, tmp_path, section, changes):
    with pytest.raises((ValueError, RuntimeError), match=r"divide|shape"):
        train(tmp_path / "run", section, changes)
