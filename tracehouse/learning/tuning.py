"""Which settings of a cluster, or constants of an order, serve the users of a source better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from assets.common.progress import say_if_slow
from assets.common.storage import tuning_folder
from assets.replaying.scenarios.base_configuration import base_configuration
from assets.replaying.tuning.guards import Guards
from assets.replaying.tuning.knobs import knobs_text, read_knobs
from assets.replaying.tuning.paced_runs import PacedReplays
from assets.replaying.tuning.source_replays import tunable_source
from assets.replaying.tuning.tunable import StoredReplays
from assets.replaying.tuning.tuned import TRIALS, TunedSettings, tuned_settings
from tracehouse.text.tuning_text import headline, tuned_text

TEXT_WIDTH = 120


class Tuned:
    """What `tune` found. `print(tuned)` prints what `tracehouse tune` prints.

    Attributes
    ----------
    settings : TunedSettings
        Everything that was measured.
    """

    def __init__(self, settings: TunedSettings, trust: list[str]) -> None:
        self.settings, self.trust = settings, trust

    def __repr__(self) -> str:
        return f"Tuned({self.settings.source}: {headline(self.settings)})"

    def __str__(self) -> str:
        return tuned_text(self.settings, self.trust, TEXT_WIDTH)

    @property
    def edits(self) -> tuple[str, ...]:
        """The lines to change, as `tracehouse what-if --set` takes them. Empty where the present settings should stay."""
        return self.settings.edits if self.settings.is_better else ()

    @property
    def summary(self) -> dict[str, Any]:
        """What `tracehouse tune --json` prints."""
        tuned = self.settings
        compared = {"first_half": tuned.first, "later_half": tuned.later}
        return {
            "source": tuned.source,
            "headline": headline(tuned),
            "verdict": tuned.verdict,
            "edits": list(self.edits),
            "best_on_first_half": list(tuned.edits),
            "changes": list(tuned.changes),
            **{
                name: None
                if each is None or each.jobs_lost
                else {"ratios": [asdict(ratios) for ratios in each.ratios], "broken_guards": list(each.broken)}
                for name, each in compared.items()
            },
            "random_settings_as_good": tuned.share_as_good,
            "pace_change_share": None if tuned.paced is None else tuned.paced.change_share,
            "pace_verdict": None if tuned.paced is None else str(tuned.paced.judgement.verdict),
            "not_paced_because": tuned.not_paced or None,
            "candidates": tuned.tried,
            "candidates_that_keep_guards": tuned.kept,
            "replays_made": tuned.replays,
            "cpu_seconds": tuned.seconds,
            "trust": self.trust,
        }


def tune(
    source: str | Path,
    settings: str | Path | None = None,
    guards: Sequence[str] = (),
    trials: int = TRIALS,
    seed: int = 1,
    cluster: str | None = None,
    policy: str | None = None,
) -> Tuned:
    """Search for better settings by replays of the first half of the jobs, and confirm them on the later half, as `tracehouse tune`.

    Every replay is stored. The same call goes on where an earlier one was interrupted.

    Parameters
    ----------
    source
        A source, or the path of a log.
    settings
        A TOML file of what may be changed. By default what the source's cluster has, and the constants of an order where it has nothing.
    guards
        What a change may cost, such as `["qos=1.05", "p95=1.2"]`. docs/guides/tune.md lists them.
    trials
        How many candidates are tried.
    seed
        The same seed gives the same answer.
    cluster
        A cluster of the home, in place of the source's.
    policy
        Adapt the constants of this order (`searched:balanced`, `formula:TEXT`), in place of settings.

    Returns
    -------
    Tuned

    Raises
    ------
    LogError, CatalogueError, ValueError
        There is no such source, nothing of it can be searched, or Optuna is not installed.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.tune("birch", policy="searched:balanced", trials=3).summary["candidates"]
    3
    """
    name = str(source)
    guarded = Guards.of(guards)
    listed = None if settings is None else read_knobs(Path(settings))
    with say_if_slow("reading the jobs"):
        searched, knobs = tunable_source(name, cluster, policy, listed)
        tunable = replace(searched.tunable(), paced=PacedReplays(name, searched).run)
    replays = StoredReplays(tunable, tuning_folder(tunable.name))
    with say_if_slow(f"searching by replays of {len(tunable.jobs):,} jobs"):
        tuned = tuned_settings(replays, knobs, guarded, trials, seed)
    configuration = base_configuration(name).under(searched.settings, {}, searched.trace)
    return Tuned(tuned, (configuration if searched.order is None else configuration.graded_as(searched.order)).trust)


def tunable_settings(source: str | Path, cluster: str | None = None, policy: str | None = None) -> str:
    """The file of what `tune` may change by default, in TOML. Arguments and errors as those of `tune`."""
    return knobs_text(tunable_source(str(source), cluster, policy)[1])
