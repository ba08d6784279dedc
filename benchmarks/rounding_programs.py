"""Small real trainings with switches: changes that only round, and changes of what is computed.

Every program takes ``what``, the changes that are on, and returns metric → values. Data are made up from a
generator of their own, models are small, and one thread computes: a training takes less than a second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional

What = Mapping[str, Any]
Metrics = dict[str, list[float]]
_STEPS = 60


class Linear(nn.Linear):
    """A linear layer that can sum in another order."""

    what: ClassVar[What] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (…, in) → (…, out)."""
        how = Linear.what.get("linear")
        if how == "matmul":
            return x @ self.weight.t().contiguous() + self.bias
        if how == "einsum":
            return torch.einsum("...i,oi->...o", x, self.weight) + self.bias
        if how == "halves":
            half = x.shape[-1] // 2
            first = functional.linear(x[..., :half], self.weight[:, :half])
            return first + functional.linear(x[..., half:], self.weight[:, half:], self.bias)
        return super().forward(x)


class Convolution(nn.Conv2d):
    """A convolution that can be computed as a product of matrices."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, in, height, width) → (batch, out, height, width)."""
        if Linear.what.get("convolution") != "unfold":
            return super().forward(x)
        batch, _, height, width = x.shape
        patches = functional.unfold(x, 3, padding=1)
        out = self.weight.flatten(1) @ patches
        return out.view(batch, -1, height, width) + self.bias.view(1, -1, 1, 1)


class HandWrittenAdam:
    """Adam with decoupled decay, written from its equations; has what the loop needs of an optimizer."""

    def __init__(self, parameters: Any, **how: Any) -> None:
        self.inner = torch.optim.SGD(list(parameters), lr=how["lr"])  # so that hooks of optimizers see steps
        self.how, self.count = how, 0
        self.first = [torch.zeros_like(one) for one in self._all()]
        self.second = [torch.zeros_like(one) for one in self._all()]
        self.param_groups = self.inner.param_groups

    def _all(self) -> list[torch.Tensor]:
        return list(self.inner.param_groups[0]["params"])

    def zero_grad(self) -> None:
        """Forget the gradients."""
        self.inner.zero_grad()

    @torch.no_grad()
    def step(self) -> None:
        """One update: SGD takes the direction that is computed here."""
        self.count += 1
        beta1, beta2 = self.how["betas"]
        for one, first, second in zip(self._all(), self.first, self.second, strict=True):
            first.mul_(beta1).add_(one.grad * (1 - beta1))
            second.mul_(beta2).add_(one.grad * one.grad * (1 - beta2))
            mean, scale = first / (1 - beta1**self.count), second / (1 - beta2**self.count)
            one.grad = mean / (scale.sqrt() + self.how["eps"]) + self.how["weight_decay"] * one
        self.inner.step()


def _optimizer(parameters: Any, what: What, *, kind: str, rate: float) -> Any:
    rate *= what.get("rate", 1.0)
    decay = 1e-2 * what.get("decay", 1.0)
    if kind == "sgd":
        momentum = what.get("momentum", 0.9)
        how = {"momentum": momentum, "nesterov": bool(what.get("nesterov")), "weight_decay": decay / 10}
        return torch.optim.SGD(parameters, lr=rate, foreach=what.get("foreach"), **how)
    betas = (what.get("beta1", 0.9), what.get("beta2", 0.999))
    how = {"lr": rate, "betas": betas, "eps": 1e-8 * what.get("eps", 1.0), "weight_decay": decay}
    if what.get("by_hand"):
        return HandWrittenAdam(parameters, **how)
    implementation = {"fused": True} if what.get("fused") else {"foreach": what.get("foreach")}
    return torch.optim.AdamW(parameters, **how, **implementation)


def _cross_entropy(scores: torch.Tensor, wanted: torch.Tensor, what: What) -> torch.Tensor:
    smoothing = what.get("smoothing", 0.0)
    if what.get("loss") == "by_hand":
        log_p = scores - scores.logsumexp(-1, keepdim=True)
        return -log_p.gather(-1, wanted[:, None]).mean()
    return functional.cross_entropy(scores, wanted, label_smoothing=smoothing)


def _parts(batch: torch.Tensor, what: What) -> Iterator[tuple[torch.Tensor, float]]:
    """Parts of a batch and the weight of each: one part, or accumulation, right or wrong."""
    if "uneven" in what or "uneven_wrong" in what:
        cut = len(batch) // 4
        parts = [batch[:cut], batch[cut:]]
        right = "uneven" in what
        yield from ((part, len(part) / len(batch) if right else 0.5) for part in parts)
        return
    count = what.get("accumulate", 1)
    yield from ((part, 1 / count) for part in batch.chunk(count))


def _supervised(
    model: nn.Module,
    inputs: torch.Tensor,
    wanted: torch.Tensor,
    what: What,
    *,
    kind: str,
    rate: float,
    size: int,
    precision: torch.dtype | None = None,
) -> Metrics:
    """Train on 3/4 of the data, and log loss, norm of the gradient and held-out loss."""
    optimizer = _optimizer(model.parameters(), what, kind=kind, rate=rate)
    generator = torch.Generator().manual_seed(5)
    held = len(inputs) // 4
    order = torch.randperm(len(inputs) - held, generator=generator) + held
    found: Metrics = {"loss": [], "norm": [], "held_out": []}
    clip = what.get("clip", 1.0)
    base = optimizer.param_groups[0]["lr"]
    for step in range(_STEPS):
        late = what.get("schedule_off") and step >= what["schedule_off"]
        optimizer.param_groups[0]["lr"] = base * _schedule(step + bool(late), what)
        if step == what.get("rate_once_at"):
            optimizer.param_groups[0]["lr"] *= what["rate_once"]
        start = step * size % (len(order) - size)
        batch = order[start : start + size]
        if what.get("permuted"):
            batch = batch.flip(0)
        if "duplicated" in what and step >= what["duplicated"]:
            batch = torch.cat([batch[:-1], batch[:1]])
        if step == what.get("skipped"):
            batch = order[:size]
        optimizer.zero_grad()
        loss = 0.0
        for part, weight in _parts(batch, what):
            with torch.autocast("cpu", precision or torch.bfloat16, enabled=precision is not None):
                scores = model(
                    inputs[part] + what.get("shift", 0.0) if inputs.is_floating_point() else inputs[part]
                )
            one = _cross_entropy(scores.float().flatten(0, -2), wanted[part].flatten(), what) * weight
            one.backward()
            loss += one.item()
        norm = _clip(model, clip, what)
        optimizer.step()
        found["loss"].append(loss)
        found["norm"].append(norm)
        if step % 10 == 9:
            found["held_out"].append(_held_out(model, inputs[:held], wanted[:held], what, precision))
    return found


def _schedule(step: int, what: What) -> float:
    if what.get("schedule") == "other_form":
        return 0.55 - 0.45 * -math.cos(math.pi * step / (_STEPS + 1))
    return 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * step / (_STEPS + 1)))


def _clip(model: nn.Module, most: float, what: What) -> float:
    if what.get("norm") == "by_hand":
        squares = [float(one.grad.double().pow(2).sum()) for one in model.parameters()]
        norm = math.sqrt(sum(squares))
        if norm > most:
            for one in model.parameters():
                one.grad.mul_(most / (norm + 1e-6))
        return norm
    return float(nn.utils.clip_grad_norm_(model.parameters(), most))


@torch.no_grad()
def _held_out(
    model: nn.Module, inputs: torch.Tensor, wanted: torch.Tensor, what: What, precision: torch.dtype | None
) -> float:
    model.train(bool(what.get("dropout_left_on")))
    with torch.autocast("cpu", precision or torch.bfloat16, enabled=precision is not None):
        scores = model(inputs)
    model.train()
    return float(functional.cross_entropy(scores.float().flatten(0, -2), wanted.flatten()))


def _table(classes: int = 10, width: int = 64, rows: int = 1_600) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(11)
    centres = torch.randn(classes, width, generator=generator)
    wanted = torch.randint(classes, (rows,), generator=generator)
    return centres[wanted] + 1.5 * torch.randn(rows, width, generator=generator), wanted


def mlp_sgd(what: What, seed: int) -> Metrics:
    """A perceptron with momentum."""
    inputs, wanted = _table()
    torch.manual_seed(seed)
    model = nn.Sequential(Linear(64, 96), nn.ReLU(), Linear(96, 48), nn.ReLU(), Linear(48, 10))
    return _supervised(model, inputs, wanted, what, kind="sgd", rate=0.05, size=32)


def mlp_adam(what: What, seed: int) -> Metrics:
    """A perceptron with dropout, layer normalisation and AdamW."""
    inputs, wanted = _table()
    torch.manual_seed(seed)
    model = nn.Sequential(
        Linear(64, 96),
        nn.LayerNorm(96),
        nn.GELU(),
        nn.Dropout(0.1),
        Linear(96, 48),
        nn.Tanh(),
        Linear(48, 10),
    )
    return _supervised(model, inputs, wanted, what, kind="adam", rate=2e-3, size=32)


def convolution(what: What, seed: int) -> Metrics:
    """A convolutional network with batch normalisation."""
    inputs, wanted = _table(width=64)
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        Convolution(1, 12, 3, padding=1),
        nn.BatchNorm2d(12, momentum=what.get("batch_momentum", 0.1)),
        nn.ReLU(),
        Convolution(12, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        Linear(256, 10),
    )
    return _supervised(model, inputs, wanted, what, kind="adam", rate=2e-3, size=32)


class Attention(nn.Module):
    """Causal attention of four heads."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project, self.out = Linear(width, 3 * width), Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, time, width), the same out."""
        batch, time, width = x.shape
        query, key, value = self.project(x).view(batch, time, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        what = Linear.what
        if what.get("attention") == "by_hand" or "mask_off" in what:
            mask = torch.ones(time, time, dtype=torch.bool).tril(what.get("mask_off", 0))
            weights = (query @ key.transpose(-1, -2)) / math.sqrt(width // 4)
            mixed = weights.masked_fill(~mask, -math.inf).softmax(-1) @ value
        else:
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


class Block(nn.Module):
    """Attention and a perceptron, each after a normalisation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        eps = Linear.what.get("norm_eps", 1e-5)
        self.before, self.attention = nn.LayerNorm(width, eps=eps), Attention(width)
        self.between = nn.LayerNorm(width, eps=eps)
        self.inner = nn.Sequential(Linear(width, 4 * width), nn.GELU(), Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, time, width), the same out."""
        x = x + self.attention(self.before(x))
        return x + self.inner(self.between(x))


def transformer(what: What, seed: int, precision: torch.dtype | None = None) -> Metrics:
    """A transformer over characters of a made-up text."""
    generator = torch.Generator().manual_seed(12)
    table = torch.rand(16, 16, generator=generator).pow(4)
    letters = [0]
    for _ in range(400 * 25):
        letters.append(int(torch.multinomial(table[letters[-1]], 1, generator=generator)))
    text = torch.tensor(letters[:10_000]).view(400, 25)
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Embedding(16, 32), Block(32), Block(32), nn.LayerNorm(32), Linear(32, 16))
    how: dict[str, Any] = {"kind": "adam", "rate": 3e-3, "size": 16, "precision": precision}
    return _supervised(model, text[:, :-1], text[:, 1:], what, **how)


def transformer_bf16(what: What, seed: int) -> Metrics:
    """The same, computed in bfloat16 under autocast."""
    return transformer(what, seed, torch.bfloat16)


def policy_gradient(what: What, seed: int) -> Metrics:
    """A policy and a value, trained by clipped ratios on a made-up control problem."""
    torch.manual_seed(seed)
    policy = nn.Sequential(Linear(4, 32), nn.Tanh(), Linear(32, 2))
    value = nn.Sequential(Linear(4, 32), nn.Tanh(), Linear(32, 1))
    parameters = [*policy.parameters(), *value.parameters()]
    optimizer = _optimizer(parameters, what, kind="adam", rate=3e-3)
    generator = torch.Generator().manual_seed(seed + 1)
    gamma, found = what.get("gamma", 0.99), {"policy_loss": [], "value_loss": [], "entropy": []}
    for _ in range(_STEPS // 2):
        states, actions, rewards, log_ps = _episode(policy, generator)
        returns = torch.zeros(len(rewards) + 1, rewards.shape[1])
        for at in reversed(range(len(rewards))):
            returns[at] = rewards[at] + gamma * returns[at + 1]
        flat = (states.flatten(0, 1), actions.flatten(), returns[:-1].flatten(), log_ps.flatten())
        for _ in range(2):
            told = _clipped_update(policy, value, optimizer, flat, what)
        for name, one in told.items():
            found[name].append(one)
    return found


@torch.no_grad()
def _episode(policy: nn.Module, generator: torch.Generator) -> tuple[torch.Tensor, ...]:
    state = torch.randn(16, 4, generator=generator)
    kept: tuple[list[torch.Tensor], ...] = ([], [], [], [])
    for _ in range(20):
        p = policy(state).softmax(-1)
        action = torch.multinomial(p, 1, generator=generator)[:, 0]
        push = action.float() * 2 - 1
        reward = 1 - state.pow(2).mean(1) * 0.1
        for room, one in zip(
            kept, (state, action, reward, p.gather(1, action[:, None])[:, 0].log()), strict=True
        ):
            room.append(one)
        state = 0.9 * state.roll(1, 1) + 0.1 * push[:, None]
    states, actions, rewards, log_ps = map(torch.stack, kept)
    return states, actions, rewards, log_ps


def _clipped_update(
    policy: nn.Module, value: nn.Module, optimizer: Any, flat: tuple[torch.Tensor, ...], what: What
) -> dict[str, float]:
    states, actions, returns, before = flat
    bound = what.get("ratio_bound", 0.2)
    losses: dict[str, float] = {"policy_loss": 0.0, "value_loss": 0.0, "entropy": 0.0}
    optimizer.zero_grad()
    for part, weight in _parts(torch.arange(len(states)), what):
        log_p = policy(states[part]).log_softmax(-1)
        ahead = returns[part] - value(states[part])[:, 0]
        ratio = (log_p.gather(1, actions[part][:, None])[:, 0] - before[part]).exp()
        gain = torch.min(ratio * ahead.detach(), ratio.clamp(1 - bound, 1 + bound) * ahead.detach())
        entropy = -(log_p.exp() * log_p).sum(-1).mean()
        losses_now = {"policy_loss": -gain.mean(), "value_loss": ahead.pow(2).mean(), "entropy": entropy}
        total = losses_now["policy_loss"] + 0.5 * losses_now["value_loss"] - 0.01 * entropy
        (total * weight).backward()
        for name, one in losses_now.items():
            losses[name] += float(one) * weight
    optimizer.step()
    return losses


PROGRAMS: Mapping[str, Callable[[What, int], Metrics]] = {
    "mlp_sgd": mlp_sgd,
    "mlp_adam": mlp_adam,
    "convolution": convolution,
    "transformer": transformer,
    "transformer_bf16": transformer_bf16,
    "policy_gradient": policy_gradient,
}

_RATES = {f"rate_{by:g}": {"rate": 1 + by} for by in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)}
_LINEAR = {f"linear_{how}": {"linear": how} for how in ("matmul", "einsum", "halves")}


def harmless(name: str) -> dict[str, What]:
    """Changes that compute the same in another order."""
    found: dict[str, What] = {**_LINEAR, "foreach": {"foreach": False}}
    found |= {"accumulate_2": {"accumulate": 2}, "accumulate_4": {"accumulate": 4}, "uneven": {"uneven": 1}}
    if name != "mlp_sgd":
        found |= {"fused": {"fused": True}, "by_hand": {"by_hand": True}}
    if name == "convolution":
        found["unfold"] = {"convolution": "unfold"}
        for batched in ("accumulate_2", "accumulate_4", "uneven"):
            found.pop(batched)  # statistics of a batch are those of a part then
    if name == "mlp_adam":
        for drawn in ("accumulate_2", "accumulate_4", "uneven"):
            found.pop(drawn)  # dropout would draw otherwise
    if name != "policy_gradient":
        found |= {"loss_by_hand": {"loss": "by_hand"}, "norm_by_hand": {"norm": "by_hand"}}
        found["schedule_form"] = {"schedule": "other_form"}
        if name != "mlp_adam":
            found["permuted"] = {"permuted": True}
    if name.startswith("transformer"):
        found["attention_by_hand"] = {"attention": "by_hand"}
    pairs = [("linear_matmul", "foreach"), ("linear_halves", "foreach")]
    found |= {f"{one}+{two}": {**found[one], **found[two]} for one, two in pairs}
    return found


def real(name: str) -> dict[str, What]:
    """Changes of what is computed."""
    found: dict[str, What] = {**_RATES, "decay_twice": {"decay": 2.0}, "decay_1.01": {"decay": 1.01}}
    if name == "mlp_sgd":
        found |= {"momentum_.901": {"momentum": 0.901}, "nesterov": {"nesterov": True}}
    else:
        found |= {"beta1_.901": {"beta1": 0.901}, "beta2_.9991": {"beta2": 0.9991}, "eps_10": {"eps": 10.0}}
    if name not in ("mlp_adam", "convolution"):
        found["uneven_wrong"] = {"uneven_wrong": 1}
    if name == "policy_gradient":
        return found | {"gamma_.9901": {"gamma": 0.9901}, "bound_.201": {"ratio_bound": 0.201}}
    found |= {
        "smoothing_1e-3": {"smoothing": 1e-3},
        "clip_1.01": {"clip": 1.01},
        "skipped_20": {"skipped": 20},
    }
    found |= {"duplicated": {"duplicated": 0}, "duplicated_20": {"duplicated": 20}}
    found |= {"schedule_off_20": {"schedule_off": 20}, "rate_once": {"rate_once_at": 20, "rate_once": 1.01}}
    if not name.startswith("transformer"):
        found["shift_1e-4"] = {"shift": 1e-4}
    if name == "mlp_adam":
        found["dropout_left_on"] = {"dropout_left_on": True}
    if name == "convolution":
        found["batch_momentum"] = {"batch_momentum": 0.11}
    if name.startswith("transformer"):
        found |= {"mask_off": {"mask_off": 1}, "norm_eps": {"norm_eps": 1e-6}}
    return found
