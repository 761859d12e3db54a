"""RLSchert's predictor of remaining time: a recurrent encoder of the step series and a dense encoder of the parameters.

Guo et al. 2021, section 3.2 and figure 2. The paper gives neither sizes nor loss. Here it is a GRU over the last electronic steps, and
two dense layers over the parameters. They give quantiles of the remaining time in steps of the run's own duration, with the pinball loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.remaining.predictors import InputsOnly, StoredPredictor, held_out_groups, seconds_left, steps_left
from models.remaining.runs import FloatArray, IntArray, Runs
from models.remaining.snapshots import REMAINING_LEVELS, Moments, Snapshots, drawn, snapshots_at

SERIES = 48
"""Electronic steps that the recurrent encoder reads. They are the last ones."""
CHANNELS = 6
NETWORK_SNAPSHOTS = 8
EPOCHS, MINIBATCH, RATE = 20, 256, 3e-3


class Multimodal(StoredPredictor):
    """The network. Before the first step, its prediction comes from the parameters alone."""

    name = "multimodal"

    def __init__(self) -> None:
        self._before = InputsOnly()
        self._network: Any = None
        self._shift = np.zeros(len(REMAINING_LEVELS))
        self._centre = self._spread = np.zeros(0)

    def _fit(self, runs: Runs, which: IntArray, seed: int) -> None:
        self._before.fit(runs, which, seed)
        moments = drawn(runs, which, NETWORK_SNAPSHOTS, np.random.default_rng(seed))
        seen = snapshots_at(runs, moments)
        begun = np.flatnonzero(seen.seen > 0)
        moments, seen = _some(moments, seen, begun)
        target = steps_left(runs, moments, seen)
        self._centre, self._spread = _scales(_log_inputs(runs, which))
        inputs, series = self._encoded(runs, moments, seen)
        group = runs.group[moments.run]
        held = held_out_groups(group, seed)[0]  # one part: with all of them it would take FOLDS times as long
        first = _learn(inputs[~held], series[~held], target[~held], seed)
        missed = target[held, None] - _quantiles(first, inputs[held], series[held])
        self._shift = np.array([np.quantile(missed[:, k], level) for k, level in enumerate(REMAINING_LEVELS)])
        self._network = _learn(inputs, series, target, seed)

    def predict(self, runs: Runs, moments: Moments) -> FloatArray:
        """See `RemainingPredictor.predict`."""
        quantiles = self._before.predict(runs, moments)
        seen = snapshots_at(runs, moments)
        begun = np.flatnonzero(seen.seen > 0)
        if len(begun):
            some, seen = _some(moments, seen, begun)
            steps = np.sort(_quantiles(self._network, *self._encoded(runs, some, seen)) + self._shift, axis=1)
            quantiles[begun] = seconds_left(steps, seen.step_s)
        return quantiles

    def state(self) -> dict[str, Any]:
        """See `StoredPredictor.state`."""
        tensors = {name: value.numpy().tolist() for name, value in self._network.state_dict().items()}
        scales = {"shift": self._shift.tolist(), "centre": self._centre.tolist(), "spread": self._spread.tolist()}
        return {"network": tensors, "before": self._before.state()} | scales

    def restore(self, state: dict[str, Any]) -> None:
        """See `StoredPredictor.restore`."""
        import torch

        self._before.restore(state["before"])
        self._shift, self._centre, self._spread = (np.array(state[name]) for name in ("shift", "centre", "spread"))
        self._network = _new_network(2 * len(self._centre) + 2)
        self._network.load_state_dict({name: torch.tensor(values) for name, values in state["network"].items()})
        self._network.eval()

    def _encoded(
        self, runs: Runs, moments: Moments, seen: Snapshots
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Parameters, `(moments, 2 * inputs + 2)`, and series, `(moments, SERIES, CHANNELS)`.

        Parameters: first scaled, then whether each is given, then the time used and the steps seen. Series: the last step is last."""
        given = ~np.isnan(runs.inputs[moments.run])
        scaled = np.clip((_log_inputs(runs, moments.run) - self._centre) / self._spread, -5, 5)
        used = np.log1p(moments.used_s / seen.step_s)
        parameters = np.column_stack([np.where(given, scaled, 0.0), given, used, np.log1p(seen.seen)])
        return parameters.astype(np.float32), _series(runs, moments, seen)


def _series(runs: Runs, moments: Moments, seen: Snapshots) -> NDArray[np.float32]:
    series = np.zeros((len(moments), SERIES, CHANNELS), dtype=np.float32)
    goal = np.log10(np.clip(runs.input("ediff"), 1e-12, None))
    aim = np.log10(np.clip(np.abs(runs.input("ediffg")), 1e-12, None))
    for k, run in enumerate(moments.run):
        last = runs.step[run] + seen.seen[k]
        steps = slice(max(last - SERIES, runs.step[run]), last)
        ionic = runs.step_ionic[steps]
        before = runs.ionic[run] + ionic - 1
        force = np.where(
            ionic > 0, runs.ionic_force[np.maximum(before, 0)] if len(runs.ionic_force) else np.nan, np.nan
        )
        rows = np.column_stack(
            [
                np.log(np.maximum(runs.step_s[steps], 1e-3) / seen.step_s[k]),
                runs.step_change[steps] - goal[run],
                runs.step_residual[steps],
                np.diff(ionic, prepend=ionic[0]),
                np.log10(np.clip(force, 1e-12, None)) - aim[run],
                np.ones(len(ionic)),
            ]
        )
        series[k, SERIES - len(rows) :] = np.clip(np.nan_to_num(rows), -12, 12)
    return series


def _learn(inputs: NDArray[np.float32], series: NDArray[np.float32], target: FloatArray, seed: int) -> Any:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    network = _new_network(inputs.shape[1])
    steps = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=1e-2)
    updates = EPOCHS * -(-len(target) // MINIBATCH)
    slower = torch.optim.lr_scheduler.OneCycleLR(steps, max_lr=RATE, total_steps=updates)
    rng, levels = np.random.default_rng(seed), torch.tensor(REMAINING_LEVELS)
    x, z, y = torch.from_numpy(inputs), torch.from_numpy(series), torch.from_numpy(target.astype(np.float32))
    network.train()
    for _ in range(EPOCHS):
        order = torch.from_numpy(rng.permutation(len(target)))
        for part in order.split(MINIBATCH):
            missed = y[part, None] - network(x[part], z[part])
            loss = torch.maximum(levels * missed, (levels - 1) * missed).mean()
            steps.zero_grad()
            loss.backward()
            steps.step()
            slower.step()
    return network.eval()


def _new_network(inputs: int) -> Any:
    import torch
    from torch import nn

    class Network(nn.Module):
        """(parameters (rows, inputs), series (rows, SERIES, CHANNELS)) -> quantiles (rows, len(REMAINING_LEVELS))."""

        def __init__(self) -> None:
            super().__init__()
            self.steps = nn.GRU(CHANNELS, 32, batch_first=True)
            self.parameters_ = nn.Sequential(
                nn.Linear(inputs, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 16), nn.ReLU()
            )
            self.head = nn.Sequential(
                nn.Linear(48, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, len(REMAINING_LEVELS))
            )

        def forward(self, parameters: Any, series: Any) -> Any:
            _, state = self.steps(series)
            return self.head(torch.cat([state[0], self.parameters_(parameters)], dim=1))

    return Network()


def _quantiles(network: Any, inputs: NDArray[np.float32], series: NDArray[np.float32]) -> FloatArray:
    import torch

    with torch.no_grad():
        quantiles = network(torch.from_numpy(inputs), torch.from_numpy(series)).numpy().astype(np.float64)
    return np.sort(quantiles, axis=1)


def _log_inputs(runs: Runs, which: IntArray) -> FloatArray:
    """Inputs on a scale where sizes differ by ratios, (runs, inputs), NaN where not given."""
    values = runs.inputs[which].astype(np.float64)
    return np.sign(values) * np.log1p(np.abs(values))


def _scales(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    with np.errstate(all="ignore"):
        given = ~np.isnan(values)
        count = np.maximum(given.sum(axis=0), 1)
        centre = np.where(given, values, 0.0).sum(axis=0) / count
        spread = np.sqrt(np.where(given, (values - centre) ** 2, 0.0).sum(axis=0) / count)
    return centre, np.maximum(spread, 1e-3)


def _some(moments: Moments, seen: Snapshots, rows: IntArray) -> tuple[Moments, Snapshots]:
    return (
        Moments(moments.run[rows], moments.used_s[rows]),
        Snapshots(seen.features[rows], seen.step_s[rows], seen.seen[rows]),
    )
