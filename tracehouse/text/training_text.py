"""What `tracehouse train` and `distil` print for people: costs, and verdicts beside the incumbent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.judging.verdict import DOMINATES, plain_word
from tracehouse.text.tables import TableColumn, fitted_table, folded, terminal_width

if TYPE_CHECKING:
    from assets.policies.training import TrainingSetup
    from assets.policies.verdicts import JudgedRules
    from models.judging.chance import ChanceCloud

THIS_POLICY, ITS_RULE = "this policy", "its rule"
"""What `tracehouse train` calls what it has trained, and the rule that an agent starts from."""
FCFS_WITH_EASY, SLURMS_PRIORITY = "FCFS with EASY", "Slurm's own priority"
"""What policies are compared with, without and with a cluster."""
RATIO_NAMES = ("bounded_slowdown", "wait", "p99_wait", "area_wait", "wide_wait")
RATIO_COLUMNS = (
    TableColumn("", 14, right=False),
    TableColumn("bounded slowdown", 17),
    TableColumn("mean wait", 10),
    TableColumn("p99 wait", 10),
    TableColumn("wait by work", 13, last=1),
    TableColumn("wide jobs", 10, last=2),
    TableColumn("random orders as good", 21, last=3),
    TableColumn(" verdict", right=False),
)


def print_costs(setup: TrainingSetup, costs: dict[str, float]) -> None:
    """What is replayed, and a line for each policy: the goal on the jobs that judge."""
    from assets.replaying.site import site_of

    task, scored = setup.task, setup.judging.scored
    rules = f"{task.backfill}, {task.estimates} times"
    if task.cluster is not None:
        rules = f"under Slurm on the nodes of {task.cluster}"
    print(f"{task.goal} of {len(scored):,} held-out jobs in a replay of the log, {rules}\n")
    row_words = "" if task.cluster is not None else site_of(setup.trace.source).row_words
    if row_words:
        print(folded(f"{row_words}\n", terminal_width()))
    for name, cost in costs.items():
        print(f"{name:<22} {cost:>12.2f}")


def print_verdicts(setup: TrainingSetup, judged: JudgedRules) -> None:
    """A line for each rule, and what to use."""
    from assets.policies.verdicts import best_of, rivals_with
    from assets.replaying.own.slurm.training import OTHER_PHASE

    incumbent = FCFS_WITH_EASY if setup.task.cluster is None else SLURMS_PRIORITY
    print_ratios(judged, setup.trace.rows.height - setup.trained_jobs, incumbent)
    best = best_of({name: each for name, each in judged.judgements.items() if name != OTHER_PHASE})
    if not judged.cloud.carries_verdict:
        print(f"\nMost orders by lot dominate {incumbent} on this log, so that no verdict on it says anything")
    elif best is None:
        print(
            f"\nNone of them dominates {incumbent}: keep that. `python -m studies promotion` says which gains would have been seen"
        )
    elif setup.task.cluster is not None and best != THIS_POLICY:
        print(f"\nUse {best} instead of the trained policy: --policy slurm:ORDER --cluster {setup.task.cluster}")
    elif best != THIS_POLICY:
        options = {rule.name: rule.options for rule in rivals_with(setup.task.estimates)}
        how = f": tracehouse replay {setup.trace.source} {options[best]}" if best in options else ", below"
        print(f"\nUse {best} instead of the trained policy{how}")
    else:
        print(f"\nThe trained policy dominates {incumbent} by more than the others do")


def print_ratios(judged: JudgedRules, scored: int, incumbent: str = FCFS_WITH_EASY) -> None:
    """A line for each rule with its ratios and the verdict, one for random orders, and who pays. scored: how many jobs. incumbent: what
    all are compared with."""
    width, rows = terminal_width(), []
    for name, judgement in judged.judgements.items():
        shown = [getattr(judgement.verdict.ratios[0], ratio) for ratio in RATIO_NAMES]
        as_good = judgement.verdict.share_as_good
        cells = ["" if ratio is None else f"{ratio:.2f}" for ratio in shown]
        rows.append([name, *cells, "" if as_good is None else f"{as_good:.0%}", f" {judgement.verdict}"])
    rows.append(_random_orders(judged.cloud))
    over = f"\none replay of the whole log, over its later {scored:,} jobs; each over that of {incumbent}\n"
    print(folded(over, width))
    print("\n".join(fitted_table(RATIO_COLUMNS, rows, width, gap=" ")))
    print(folded(f"\n{judged.cloud}\n", width))
    for name, judgement in judged.judgements.items():
        if plain_word(judgement.verdict.word) == DOMINATES:
            print(folded(f"{name}: {judgement.who_pays}", width))


def _random_orders(cloud: ChanceCloud) -> list[str]:
    """Their row: means, and in place of a verdict what 5 to 95 % of them reach."""
    spreads = {name: cloud.spread(name) for name in RATIO_NAMES if getattr(cloud.ratios[0], name) is not None}
    cells = [f"{spreads[name][0]:.2f}" if name in spreads else "" for name in RATIO_NAMES]
    slowdown, wait = (f"{low:.2f} to {high:.2f}" for _, low, high in (spreads[name] for name in RATIO_NAMES[:2]))
    return ["random order", *cells, "", f" 5 to 95 %: {slowdown}, {wait}"]
