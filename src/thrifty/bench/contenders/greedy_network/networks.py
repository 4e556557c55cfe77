"""The predictor and the policy: both read the known values and which columns are known.

1. The predictor is trained on random sets of purchases.
2. For each temperature, from high to low, both are trained on the states that the policy visits. From a state with the
   known columns m, the policy draws a relaxed choice s from the concrete distribution with its logits:

       s = softmax((logits + g) / temperature),   g from the Gumbel distribution
       m' = max(m, s columns)

   and the loss l of the predictor falls from l(m) to l(m'). Descent maximises the mean of

       (l(m) - l(m')) sum_p s_p / price_p

   where l(m) is a constant. The row then makes the purchase with the largest logit + g.
3. Each temperature keeps the networks with the least area under the loss against the spend, on held-out rows that buy
   the purchase with the largest logit until they have everything.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from thrifty.bench.contenders.contender import Training
from thrifty.bench.contenders.greedy_network.purchases import Purchases
from thrifty.bench.contenders.greedy_network.trace import Trace
from thrifty.tuning.problem import Task

WIDTH, DROPOUT, LEARNING_RATE = 64, 0.0, 3e-3
TEMPERATURES = np.geomspace(0.5, 0.03, 4).tolist()
LEAST_BATCH, MOST_BATCH = 128, 1024
BATCHES = 16  # in an epoch
RANDOM_STEPS, OWN_STEPS = 3000, 480  # of gradient descent on random sets, and at all temperatures together
LEAST_EPOCHS = 4
CHECKS = 8  # of held-out rows, at each temperature
MOST_PURCHASES = 20  # of a row in training
HELD_OUT = 0.2
ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, eq=False)
class Data:
    """Standardised values with 0 for missing ones, and targets."""

    X: torch.Tensor
    y: torch.Tensor

    @property
    def batch_size(self) -> int:
        """The number of rows in a batch; many rows have large batches, so that they take as many steps as few rows."""
        return min(max(len(self.y) // BATCHES, LEAST_BATCH), MOST_BATCH)

    def batches(self) -> Iterator["Data"]:
        """Yield all rows once, in random order."""
        order = torch.randperm(len(self.y), device=self.y.device)
        for part in order.split(self.batch_size):
            yield Data(self.X[part], self.y[part])


@dataclass(eq=False)
class Networks:
    """The two networks, what can be bought, and how rows become inputs."""

    predictor: nn.Module
    policy: nn.Module
    purchases: Purchases
    centre: np.ndarray
    scale: np.ndarray
    total: float
    task: Task
    device: torch.device

    def values(self, X: np.ndarray) -> torch.Tensor:
        """Return standardised values; 0 for missing ones."""
        return torch.as_tensor(np.nan_to_num((X - self.centre) / self.scale), dtype=torch.float32, device=self.device)

    def raw(self, network: nn.Module, X: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
        """Return what a network says of rows with known columns."""
        return network(torch.cat([X * known, known], dim=1))

    def losses(self, data: Data, known: torch.Tensor) -> torch.Tensor:
        """Return the loss of the predictor on each row."""
        raw = self.raw(self.predictor, data.X, known)
        if self.task is Task.RANKING:
            return (raw[:, 0] - data.y) ** 2
        return functional.cross_entropy(raw, data.y, reduction="none")

    def logits(self, X: torch.Tensor, paid: torch.Tensor) -> torch.Tensor:
        """Return the logits of the purchases; minus infinity where nothing is left to pay."""
        raw = self.raw(self.policy, X, self.purchases.known(paid))
        return raw.masked_fill(self.purchases.price(paid) <= 0, -torch.inf)

    def nothing(self, n_rows: int) -> torch.Tensor:
        """Return what rows have paid in the beginning."""
        return torch.zeros(n_rows, len(self.purchases.prices), device=self.device)

    def after(self, paid: torch.Tensor, choice: torch.Tensor) -> torch.Tensor:
        """Return what rows have paid after a purchase."""
        return torch.maximum(paid, self.purchases.units[choice])

    @torch.no_grad()
    def trace(self, X: np.ndarray) -> Trace:
        """Return what rows buy if nothing stops them."""
        self.eval()
        parts = [self._trace(X[start : start + ROWS_AT_A_TIME]) for start in range(0, len(X), ROWS_AT_A_TIME)]
        return Trace(*(np.concatenate([getattr(part, each.name) for part in parts], axis=1) for each in fields(Trace)))

    def _trace(self, rows: np.ndarray) -> Trace:
        X, paid = self.values(rows), self.nothing(len(rows))
        steps = [self._step(X, paid)]
        for _ in range(self.purchases.n):
            logits = self.logits(X, paid)
            can_buy = torch.isfinite(logits).any(dim=1, keepdim=True)
            paid = torch.where(can_buy, self.after(paid, logits.argmax(dim=1)), paid)
            steps.append(self._step(X, paid))
        return Trace(*(np.stack([part.cpu().numpy() for part in each]) for each in zip(*steps, strict=True)))

    def _step(self, X: torch.Tensor, paid: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the known columns, the spend, the prediction and its confidence."""
        known = self.purchases.known(paid)
        spend = self.total * (paid @ self.purchases.prices)
        raw = self.raw(self.predictor, X, known)
        if self.task is Task.RANKING:
            return known > 0, spend, raw[:, 0], torch.zeros_like(spend)
        confidence, predicted = raw.softmax(dim=1).max(dim=1)
        return known > 0, spend, predicted, confidence

    def eval(self) -> None:
        """Switch dropout off."""
        self.predictor.eval()
        self.policy.eval()

    def train(self) -> None:
        """Switch dropout on."""
        self.predictor.train()
        self.policy.train()


def trained(
    training: Training, width: int = WIDTH, dropout: float = DROPOUT, learning_rate: float = LEARNING_RATE
) -> Networks:
    """Return networks that are trained on rows."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(training.seed)
        networks = _untrained(training, width, dropout, device)
        fitted, held_out = _parts(training, networks)
        _train_on_random_sets(networks, fitted, held_out, learning_rate)
        for temperature in TEMPERATURES if networks.purchases.n else ():
            _train_on_own_states(networks, fitted, held_out, learning_rate, temperature)
    return networks


def _untrained(training: Training, width: int, dropout: float, device: torch.device) -> Networks:
    X = training.rows.X
    known = ~np.isnan(X)
    count = np.maximum(known.sum(axis=0), 1)
    centre = np.where(known, X, 0.0).sum(axis=0) / count
    scale = np.sqrt((np.where(known, X - centre, 0.0) ** 2).sum(axis=0) / count)
    found = Purchases.of(training.costs)
    purchases = Purchases(*(torch.as_tensor(getattr(found, each.name), device=device) for each in fields(Purchases)))
    predictor = _layers(X.shape[1], width, dropout, max(1, training.n_classes)).to(device)
    policy = _layers(X.shape[1], width, dropout, max(1, found.n)).to(device)
    total = training.costs.total
    return Networks(predictor, policy, purchases, centre, np.where(scale > 0, scale, 1.0), total, training.task, device)


def _layers(n_columns: int, width: int, dropout: float, n_outputs: int) -> nn.Module:
    hidden = [nn.Linear(2 * n_columns, width), nn.ReLU(), nn.Dropout(dropout)]
    hidden += [nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*hidden, nn.Linear(width, n_outputs))


def _parts(training: Training, networks: Networks) -> tuple[Data, Data]:
    """Return rows to fit and held-out rows."""
    rows = training.rows
    kind = torch.float32 if training.task is Task.RANKING else torch.int64
    order = np.random.default_rng(training.seed).permutation(len(rows))
    cut = max(1, round(HELD_OUT * len(rows)))

    def data(index: np.ndarray) -> Data:
        return Data(networks.values(rows.X[index]), torch.as_tensor(rows.y[index], dtype=kind, device=networks.device))

    return data(order[cut:]), data(order[:cut])


def _train_on_random_sets(networks: Networks, fitted: Data, held_out: Data, learning_rate: float) -> None:
    optimiser = torch.optim.Adam(networks.predictor.parameters(), lr=learning_rate)
    paid = _random_sets(networks, len(held_out.y))  # the same sets for all checks

    def step(batch: Data) -> None:
        loss = networks.losses(batch, networks.purchases.known(_random_sets(networks, len(batch.y)))).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def check() -> float:
        return float(networks.losses(held_out, networks.purchases.known(paid)).mean())

    _descend(networks, fitted, RANDOM_STEPS, step, check)


def _random_sets(networks: Networks, n_rows: int) -> torch.Tensor:
    """Return what rows paid for random sets of purchases; all numbers of purchases are equally likely."""
    n, device = networks.purchases.n, networks.device
    share = torch.randint(0, n + 1, (n_rows, 1), device=device)
    place = torch.rand(n_rows, n, device=device).argsort(dim=1).argsort(dim=1)
    return ((place < share).float() @ networks.purchases.units).clamp(max=1.0)


def _train_on_own_states(
    networks: Networks, fitted: Data, held_out: Data, learning_rate: float, temperature: float
) -> None:
    parameters = [*networks.predictor.parameters(), *networks.policy.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=learning_rate)

    def step(batch: Data) -> None:
        optimiser.zero_grad()
        _follow(networks, batch, temperature)
        optimiser.step()

    _descend(networks, fitted, OWN_STEPS // len(TEMPERATURES), step, lambda: _area(networks, held_out))


def _follow(networks: Networks, batch: Data, temperature: float) -> None:
    """Let rows buy, and add the gradients of all steps."""
    purchases, paid = networks.purchases, networks.nothing(len(batch.y))
    usual = purchases.price(paid[:1]).mean()
    n_steps = min(purchases.n, MOST_PURCHASES)
    for _ in range(n_steps):
        known, price = purchases.known(paid), purchases.price(paid)
        can_buy = (price > 0).any(dim=1)
        if not can_buy.any():
            break
        batch = Data(batch.X[can_buy], batch.y[can_buy])
        paid, known, price = (each[can_buy] for each in (paid, known, price))
        with torch.no_grad():
            before = networks.losses(batch, known)
        noisy = networks.logits(batch.X, paid)
        noisy = noisy - torch.log(-torch.log(torch.rand_like(noisy).clamp(1e-20, 1 - 1e-7)))
        relaxed = (noisy / temperature).softmax(dim=1)
        after = networks.losses(batch, torch.maximum(known, relaxed @ purchases.columns))
        per_price = (relaxed * torch.where(price > 0, usual / price, 0.0)).sum(dim=1)
        (((after - before) * per_price).mean() / n_steps).backward()
        paid = networks.after(paid, noisy.argmax(dim=1))


@torch.no_grad()
def _area(networks: Networks, data: Data) -> float:
    """Return the mean area under the loss against the spend."""
    purchases, paid = networks.purchases, networks.nothing(len(data.y))
    area = torch.zeros_like(paid[:, :1].sum(dim=1))
    for _ in range(min(purchases.n, MOST_PURCHASES)):
        logits, price = networks.logits(data.X, paid), purchases.price(paid)
        choice = logits.argmax(dim=1, keepdim=True)
        area += networks.losses(data, purchases.known(paid)) * price.gather(1, choice)[:, 0]
        paid = networks.after(paid, choice[:, 0])
    left = 1.0 - paid @ purchases.prices
    return float((area + left * networks.losses(data, purchases.known(paid))).mean())


def _descend(
    networks: Networks, fitted: Data, n_steps: int, step: Callable[[Data], None], check: Callable[[], float]
) -> None:
    """Run epochs, and keep the networks that are best on held-out rows."""
    n_batches = -(-len(fitted.y) // fitted.batch_size)
    n_epochs = max(LEAST_EPOCHS, n_steps // n_batches)
    best, kept = _checked(networks, check), _state(networks)
    for epoch in range(n_epochs):
        networks.train()
        for batch in fitted.batches():
            step(batch)
        if (epoch + 1) % max(1, n_epochs // CHECKS) and epoch + 1 < n_epochs:
            continue
        if (found := _checked(networks, check)) < best:
            best, kept = found, _state(networks)
    networks.predictor.load_state_dict(kept[0])
    networks.policy.load_state_dict(kept[1])


@torch.no_grad()
def _checked(networks: Networks, check: Callable[[], float]) -> float:
    networks.eval()
    return check()


def _state(networks: Networks) -> Any:
    return deepcopy((networks.predictor.state_dict(), networks.policy.state_dict()))
