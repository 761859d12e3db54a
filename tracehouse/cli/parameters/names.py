"""Names that shells complete: policies, backfilling rules and assets. None of them takes long to load."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from simulator.jobs.words import BACKFILLING, POLICY_WORDS

ASSET_NAMES = (
    *("core/jobs", "core/vasp_jobs"),
    *(
        "experiments/backfilling",
        "experiments/curves",
        "experiments/ddppo",
        "experiments/ddppo_transfer",
        "experiments/held_out",
    ),
    *(
        "experiments/inspector",
        "experiments/published",
        "experiments/rlschert",
        "experiments/topology",
        "experiments/transfer",
    ),
    *("features/job_features", "features/similar_jobs", "features/user_habits"),
    *("marts/job_wait_causes", "marts/leaderboard", "marts/operations"),
    *("marts/prediction_error", "marts/report", "marts/trace_health"),
    *(
        "policies/agents",
        "policies/population",
        "policies/priority_key",
        "policies/scheduling_policy",
        "policies/trajectory_filter",
    ),
    *("predictions/remaining_time_evaluation", "predictions/remaining_time_model", "predictions/remaining_times"),
    *(
        "predictions/runtime_evaluation",
        "predictions/runtime_model",
        "predictions/runtime_predictions",
        "predictions/wait_times",
    ),
    *("raw/log", "raw/vasp_runs"),
    *("replay/evaluation", "replay/fidelity", "replay/placement"),
    *("replay/runs", "replay/usual_changes"),
)
"""All assets of the definitions, which a shell cannot wait for."""

Completing = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(names: Iterable[str]) -> Completing:
    """What completes one of these names, in any case, at the end of what is typed: a selection such as +marts/rep goes on."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        head = begun[: len(begun) - len(begun.lstrip("+*"))]
        start = begun[len(head) :].lower()
        return [CompletionItem(head + name) for name in names if name.lower().startswith(start)]

    return complete


complete_policies = completing((*POLICY_WORDS, "learned"))
complete_backfilling = completing((*BACKFILLING, "learned"))
complete_assets = completing(ASSET_NAMES)
