"""`tracehouse distil`: a trained policy as a formula."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from assets.common.storage import open_warehouse
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import print_json
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.text.training_text import FCFS_WITH_EASY, print_ratios
from traces.catalogue.catalogue import load_catalogue


@click.command()
@click.argument("policy", type=click.Path(path_type=Path))
@source_argument("The source whose decisions are copied.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the decisions that are met.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plain_errors
def distil(policy: Path, source: str, seed: int, as_json: bool) -> None:
    """Write a trained policy as a short formula, as a PBS job_sort_formula would have it, and show what is lost.

    The formula is fitted to the policy's choices in the first third of the source; both are replayed on the second half.

    \b
    tracehouse distil birch-ppo.json birch
    """
    from assets.common.trace import load_trace
    from assets.policies.training import PolicyTask, arena_of_task, split_of
    from assets.policies.verdicts import JudgedRule, judge_rules
    from assets.replaying.judged_orders import JudgedOrders
    from assets.replaying.starts import on_site
    from models.scheduling.distil import fit_formula
    from models.scheduling.policy_file import load_policy

    weights, card = load_policy(policy)
    names = ("goal", "backfill", "estimates", "rules", "window_jobs")
    if card.get("rules", "standard") != "standard":
        raise ValueError(
            f"{policy}: trained under the RLScheduler rules, which cannot follow a formula that looks at waits: distil a policy "
            "of the standard rules"
        )
    place = on_site(open_warehouse(), load_catalogue().source(source).name)
    trace = load_trace(open_warehouse(), place.site.source, labels=place.settings.labels)
    task = PolicyTask(**{name: card[name] for name in names if name in card})
    arena, split = arena_of_task(trace, task), split_of(trace, task.window_jobs)
    fitted = fit_formula(arena, weights, split.learn.thinned(100), seed)
    rules = (
        JudgedRule("SAF", "SAF", task.backfill, task.estimates),
        JudgedRule("policy", "learned", task.backfill, task.estimates, weights=weights),
        JudgedRule("formula", fitted.formula, task.backfill, task.estimates),
    )
    if (described := place.site.scheduler.described) is not None:
        orders = JudgedOrders(place.settings, place.policy, trace, split.trained_jobs, described.name)
        judged = orders.judged_rules(rules)
    else:
        judged = judge_rules(trace, rules, split.trained_jobs)
    if as_json:
        shown = (
            {"source": source}
            | asdict(fitted)
            | {"verdicts": {name: str(judgement.verdict) for name, judgement in judged.judgements.items()}}
        )
        print_json(shown)
        return
    click.echo(f"{fitted.formula}\n\nmakes {100 * fitted.agreement:.0f} % of the policy's {fitted.decisions:,} choices")
    incumbent = place.order_words if place.site.is_described else FCFS_WITH_EASY
    print_ratios(judged, trace.rows.height - split.trained_jobs, incumbent)
    if "policy" not in judged.judgements:
        click.echo(f"the policy itself has no line: {place.order_words} takes no order that changes while a job waits")
    click.echo(f'\nreplay it: tracehouse replay {source} --policy "{fitted.formula}"')
