"""The command `tracehouse compare`."""

from __future__ import annotations

from typing import Any

import click

from assets.common.storage import open_warehouse
from assets.replaying.running.scored_part import PartOptions
from tracehouse.cli.commands.replay import say_grade
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_text
from tracehouse.cli.parameters.settings import part_options, take_part
from tracehouse.cli.parameters.sources import complete_sources
from tracehouse.text.replay_text import compare_text, placements_text
from tracehouse.text.tables import terminal_width
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse


@click.command()
@click.argument("source", shell_complete=complete_sources)
@click.argument("run_a")
@click.argument("run_b")
@part_options()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plain_errors
def compare(source: str, run_a: str, run_b: str, as_json: bool, **others: Any) -> None:
    """Compare two saved runs of a source over the same jobs: is B worth adopting where A runs?

    The verdict is on the later half of the jobs of a whole trace. B dominates if bounded slowdown and mean wait fall and no group
    pays. It trades if a group pays, and harms if that is more than twofold. Intervals of 95 % are of the ratio in the typical of
    16 blocks of jobs. Every metric over all jobs follows, and B minus A job by job.

    Two saved placements, which are replays on nodes, are compared by hop cost and wait.
    """
    from assets.replaying.compare import compare_runs, policies_of_runs, saved_runs
    from assets.replaying.compare_placements import compare_placements, saved_placements

    part = PartOptions(**take_part(others))
    warehouse, name = open_warehouse(), load_catalogue().source(source).name
    if {run_a, run_b} <= set(saved_placements(warehouse, name)) - set(saved_runs(warehouse, name)):
        if not part.is_all:
            raise click.ClickException(
                "placements are compared as a whole: leave --period, --from, --to, --queue, --user, --account out"
            )
        placements = compare_placements(warehouse, name, run_a, run_b)
        click.echo(json_text(placements) if as_json else placements_text(placements, terminal_width()))
        return
    comparison = compare_runs(warehouse, name, run_a, run_b, part)
    click.echo(json_text(comparison) if as_json else compare_text(comparison, terminal_width()))
    if not as_json:
        _say_grades(warehouse, name, policies_of_runs(warehouse, name, run_a, run_b))


def _say_grades(warehouse: Warehouse, source: str, policies: dict[str, str]) -> None:
    """Says how far the runs can be trusted, each by itself where only one has the grade of its source. policies: by run."""
    from assets.replaying.running.grade import grade_of

    grade = grade_of(warehouse, source)
    if grade is None or len({grade.is_of(policy) for policy in policies.values()}) == 1:
        say_grade(source, next(iter(policies.values())))
        return
    for run, policy in policies.items():
        say_grade(source, policy, run)
