"""A small GPT that learns to continue text, character by character: one file, top to bottom.

The decoder of Vaswani et al. (https://arxiv.org/abs/1706.03762) as GPT-2 arranges it: normalisation before
each layer, one matrix for reading and writing tokens. Warm-up and cosine schedule, AdamW that decays matrices
only, clipped gradients, gradient accumulation. What is left open is in docs/decisions/0062-char-gpt.md.

    $ python -m reprokit.runtime.launch --run-dir out --config config.yaml --seed 42 -- gpt.py
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from recipes.parts.attention import causal_attention
from recipes.parts.characters import Corpus, read_texts
from recipes.parts.computing import compute_in
from recipes.parts.devices import Adam, adamw_of, named_gradients
from recipes.parts.products import product
from recipes.parts.training_state import resume
from reprokit.runtime import checkpoint
from reprokit.runtime.config import Ge, Gt, Le, Lt, MinLen
from reprokit.runtime.ranks import Ranks
from reprokit.runtime.run import Run

# --- Settings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What is read.

    Attributes:
        archive: A data set of the recipe: a tar file, or one that is unpacked into a folder.
        members: Pattern of the texts' paths in it; a text's name is its file's without the ending.
        validation: The texts that are held out, by name: nothing in them is trained on.
    """

    archive: str
    members: str = "*.txt"
    validation: Annotated[tuple[str, ...], MinLen(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The network.

    Attributes:
        architecture: Transformer decoder.
        num_layers: Blocks of attention and perceptron.
        num_heads: Heads of an attention; divides ``width``.
        width: Length of the vector that stands for a position.
        block_size: How many characters it sees at most.
    """

    architecture: Literal["transformer"] = "transformer"
    num_layers: Annotated[int, Ge(1)] = 4
    num_heads: Annotated[int, Ge(1)] = 4
    width: Annotated[int, Ge(1)] = 128
    block_size: Annotated[int, Ge(1)] = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How it learns.

    Attributes:
        total_timesteps: Updates; a step is one update.
        batch_size: Blocks of text in an update.
        gradient_accumulation_steps: A batch is put through the network in so many parts of one size.
        learning_rate: At the end of the warm-up.
        min_learning_rate: At the end of the training.
        lr_warmup_steps: Updates over which the learning rate rises.
        beta1: How much of the gradients' mean an update keeps.
        beta2: How much of their mean square.
        adam_epsilon: Added to the root in Adam's denominator.
        weight_decay: Of matrices; the scales of a normalisation never decay.
        max_grad_norm: Longer gradients are scaled down to this.
        overfit_batch: Train on the first batch only, again and again: it must be memorised.
    """

    algorithm: Literal["gpt"] = "gpt"
    total_timesteps: Annotated[int, Ge(1)] = 300
    batch_size: Annotated[int, Ge(1)] = 12
    gradient_accumulation_steps: Annotated[int, Ge(1)] = 1
    learning_rate: Annotated[float, Gt(0)] = 1e-3
    min_learning_rate: Annotated[float, Ge(0)] = 1e-4
    lr_warmup_steps: Annotated[int, Ge(0)] = 100
    beta1: Annotated[float, Ge(0), Lt(1)] = 0.9
    beta2: Annotated[float, Ge(0), Lt(1)] = 0.99
    adam_epsilon: Annotated[float, Gt(0)] = 1e-8
    weight_decay: Annotated[float, Ge(0), Le(1)] = 0.1
    max_grad_norm: Annotated[float, Gt(0)] = 1.0
    overfit_batch: bool = False
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    compile: Literal["default", "reduce-overhead"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    """What is kept.

    Attributes:
        save_interval: Updates between checkpoints.
        trace_interval: Updates between digests of parameters, gradients, moments; the first 8 have them.
        eval_interval: Updates between evaluations.
        eval_blocks: Blocks of each split that an evaluation reads, the same ones every time.
        final_eval_blocks: The same for the evaluation after training.
        num_samples: Texts that the trained model writes.
        sample_length: Characters of each.
        temperature: Of the distribution that they are drawn from.
    """

    save_interval: Annotated[int, Ge(1)] = 100
    trace_interval: Annotated[int, Ge(1)] = 8
    eval_interval: Annotated[int, Ge(1)] = 50
    eval_blocks: Annotated[int, Ge(1)] = 240
    final_eval_blocks: Annotated[int, Ge(1)] = 1200
    num_samples: Annotated[int, Ge(1)] = 4
    sample_length: Annotated[int, Ge(1)] = 200
    temperature: Annotated[float, Gt(0)] = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that a recipe can set."""

    texts: Texts
    model: Model = Model()
    training: Training = Training()
    logging: Logging = Logging()


# --- Network -------------------------------------------------------------------------------------


class Block(nn.Module):
    """Attention, then one hidden layer; each reads a normalised copy of the stream and adds to it."""

    def __init__(self, settings: Model) -> None:
        super().__init__()
        width, self.num_heads = settings.width, settings.num_heads
        last = 0.02 / math.sqrt(2 * settings.num_layers)  # two layers of each block add to the stream
        self.attention_norm = nn.LayerNorm(width, bias=False)
        self.attention_in = nn.Parameter(0.02 * torch.randn(width, 3 * width))
        self.attention_out = nn.Parameter(last * torch.randn(width, width))
        self.hidden_norm = nn.LayerNorm(width, bias=False)
        self.hidden_in = nn.Parameter(0.02 * torch.randn(width, 4 * width))
        self.hidden_out = nn.Parameter(last * torch.randn(4 * width, width))

    def forward(self, stream: Tensor, shape: tuple[int, int]) -> Tensor:
        """The stream after it, float32 [blocks · positions, width]; ``shape`` is (blocks, positions)."""
        three = product(self.attention_norm(stream), self.attention_in)
        heads = three.view(*shape, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = causal_attention(*heads).transpose(1, 2).reshape(stream.shape)
        stream = stream + product(mixed, self.attention_out)
        hidden = functional.gelu(product(self.hidden_norm(stream), self.hidden_in))
        return stream + product(hidden, self.hidden_out)


class GPT(nn.Module):
    """From tokens to the logits of the next one at each position.

    Args:
        num_tokens: How many different ones there are.
        settings: Shape.
    """

    def __init__(self, num_tokens: int, settings: Model) -> None:
        super().__init__()
        self.token_embedding = nn.Parameter(0.02 * torch.randn(num_tokens, settings.width))
        self.position_embedding = nn.Parameter(0.02 * torch.randn(settings.block_size, settings.width))
        self.blocks = nn.ModuleList(Block(settings) for _ in range(settings.num_layers))
        self.norm = nn.LayerNorm(settings.width, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits, float32 [blocks, positions, num_tokens], of tokens, int64 [blocks, positions]."""
        shape = tokens.shape
        stream = functional.embedding(tokens, self.token_embedding) + self.position_embedding[: shape[1]]
        stream = stream.flatten(0, 1)
        for block in self.blocks:
            stream = block(stream, shape)
        return product(self.norm(stream), self.token_embedding.T).view(*shape, -1)


def loss_of(model: GPT, inputs: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of the next character, in nats, float32 []."""
    return functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


# --- Learning ------------------------------------------------------------------------------------


def learning_rate_at(step: int, settings: Training) -> float:
    """Of an update, counted from 1: a straight rise, then half a cosine (https://arxiv.org/abs/1608.03983)."""
    warmup, low, high = settings.lr_warmup_steps, settings.min_learning_rate, settings.learning_rate
    if step <= warmup:
        return high * step / (warmup + 1)
    done = (step - 1 - warmup) / (settings.total_timesteps - warmup)
    return low + (high - low) * 0.5 * (1 + math.cos(math.pi * done))


def update(
    model: GPT, adam: Adam, batch: Sequence[Tensor], settings: Training, ranks: Ranks, *, rate: float
) -> dict[str, Any]:
    """One step of the optimizer; the gradients of a batch are those of its parts, added up.

    Args:
        model: Changed in place.
        adam: Likewise.
        batch: Inputs and targets, int64 [batch_size, block_size].
        settings: Parts of a batch, longest gradient.
        ranks: The processes that take their part of the batch.
        rate: The learning rate of this update.

    Returns:
        The loss before the update, the gradient's norm before it was clipped, the learning rate.
    """
    num_parts = settings.gradient_accumulation_steps

    def of_part(part: slice) -> Tensor:
        losses, share = torch.zeros(1, device=batch[0].device), (part.stop - part.start) / settings.batch_size
        for inputs, targets in zip(*(tensor[part].chunk(num_parts) for tensor in batch), strict=True):
            loss = loss_of(model, inputs, targets) / num_parts * share
            torch.autograd.backward(adam.scaled(loss))
            losses += loss.detach()
        return losses

    loss = ranks.add_up(of_part, adam.gradients, count=settings.batch_size, num_measures=1)
    norm = adam.step(learning_rate=rate, max_norm=settings.max_grad_norm)
    return {"loss/train": loss, "optim/grad_norm": norm, "optim/learning_rate": rate, **adam.record()}


@torch.no_grad()
def evaluate(model: GPT, corpus: Corpus, *, num_blocks: int, batch_size: int) -> dict[str, float]:
    """Mean losses over blocks at even distances of either split: the same ones every time, none drawn."""
    losses = {}
    for name, split in (("loss", corpus.validation), ("train_loss", corpus.training)):
        offsets = torch.arange(num_blocks) * corpus.num_offsets(split) // num_blocks
        parts = [corpus.blocks_at(part, split) for part in torch.split(offsets, batch_size)]
        total = math.fsum(loss_of(model, *part).item() * len(part[0]) for part in parts)
        losses[name] = total / num_blocks
    return losses


@torch.no_grad()
def write_samples(model: GPT, corpus: Corpus, settings: Logging, generator: np.random.Generator) -> list[str]:
    """Texts that begin a new line, each character drawn from the model's distribution with this generator."""
    block_size, device = len(model.position_embedding), model.position_embedding.device
    tokens = np.full((settings.num_samples, 1), corpus.characters.index("\n"))
    for _ in range(settings.sample_length):
        logits = model(torch.from_numpy(tokens[:, -block_size:]).to(device))[:, -1].double().numpy(force=True)
        weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / settings.temperature)
        cumulative = weights.cumsum(axis=1)
        points = generator.random((settings.num_samples, 1)) * cumulative[:, -1:]
        tokens = np.hstack([tokens, (cumulative <= points).sum(axis=1, keepdims=True)])
    return ["".join(corpus.characters[token] for token in row[1:]) for row in tokens]


# --- Training ------------------------------------------------------------------------------------


def train(config: Config, run: Run) -> None:
    """Train a model as ``config`` says, and let it write; ``run`` has seeds, device, data and records."""
    settings, logging = config.training, config.logging
    num_parts = run.ranks.num_parts * settings.gradient_accumulation_steps
    if settings.batch_size % num_parts:
        raise ValueError(f"{num_parts} parts of one size do not divide batch_size {settings.batch_size}")
    run.seeding.seed_everything()
    corpus = Corpus(
        read_texts(run.data[config.texts.archive], config.texts.members),
        held_out=config.texts.validation,
        block_size=config.model.block_size,
        device=run.device,
    )
    sampler = run.seeding.torch_generator("batches", rank=0)
    with run.seeding.initialising():
        model = GPT(len(corpus.characters), config.model).to(run.device)
    compute_in(model, precision=settings.precision, mode=settings.compile)
    adam = adamw_of(
        model,
        weight_decay=settings.weight_decay,
        betas=(settings.beta1, settings.beta2),
        epsilon=settings.adam_epsilon,
        precision=settings.precision,
    )
    step = resume(run, model=model, optimizer=adam, generators={"batches": sampler})
    if step == 0:
        losses = evaluate(model, corpus, num_blocks=settings.batch_size, batch_size=settings.batch_size)
        chance = math.log(len(corpus.characters))
        run.metrics.write(step=0, **{"initial/loss": losses["loss"], "initial/chance_loss": chance})

    while step < settings.total_timesteps:
        step += 1
        source = run.seeding.torch_generator("batches", rank=0) if settings.overfit_batch else sampler
        num_offsets = corpus.num_offsets(corpus.training)
        samples = torch.randint(num_offsets, (settings.batch_size,), generator=source)
        batch = corpus.blocks_at(samples, corpus.training)
        rate, own = learning_rate_at(step, settings), run.ranks.share_of(settings.batch_size)
        record = update(model, adam, batch, settings, run.ranks, rate=rate)
        run.trace.update(
            step=step,
            parameters=model.named_parameters,
            gradients=partial(named_gradients, model),
            optimizer=adam.state_dict,
            generators={"batches": sampler},
            samples=samples[own],
            arrived=[tensor[own] for tensor in batch],
            every=logging.trace_interval,
        )
        if step % logging.eval_interval == 0:
            losses = evaluate(model, corpus, num_blocks=logging.eval_blocks, batch_size=settings.batch_size)
            record |= {f"eval/{name}": loss for name, loss in losses.items()}
        if step == settings.total_timesteps:
            record |= finish(model, corpus, config, run)
        run.metrics.write(step=step, **record)
        if step % logging.save_interval == 0:
            run.checkpoints.save(
                checkpoint.training_state(
                    step=step,
                    model=model,
                    optimizer=adam,
                    generators={"batches": sampler},
                    extra={"updates": run.trace.updates},
                )
            )
        run.timing.write(step=step, total_steps=settings.total_timesteps, phase="train")
    run.checkpoints.save_final(model)


def finish(model: GPT, corpus: Corpus, config: Config, run: Run) -> dict[str, float]:
    """The last evaluation, and what the model writes: in samples.txt, its digest (48 bits) in the record."""
    blocks, size = config.logging.final_eval_blocks, config.training.batch_size
    losses = evaluate(model, corpus, num_blocks=blocks, batch_size=size)
    texts = write_samples(model, corpus, config.logging, run.seeding.numpy_generator("samples", rank=0))
    content = "\n----\n".join(texts).encode("ascii")
    (run.dir / "samples.txt").write_bytes(content)
    digest = int.from_bytes(hashlib.blake2b(content, digest_size=6).digest())
    return {**{f"final/{name}": loss for name, loss in losses.items()}, "final/sample_digest": digest}
