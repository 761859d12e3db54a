"""The command `tracehouse walltime`."""

from typing import Any

import click

from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_text
from tracehouse.cli.parameters.amounts import ShareType
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.text.tables import duration
from traces.catalogue.catalogue import load_catalogue


@click.command()
@source_argument("A source that is in the warehouse.")
@click.option("--user", "-u", required=True, help="Whose job it is.")
@click.option(
    "--procs", "-n", type=click.IntRange(min=1), help="Processors: look at the user's jobs of this size, if enough."
)
@click.option("--executable", "-x", help="Executable or job name, as the log has it: look at these jobs, if enough.")
@click.option(
    "--risk",
    type=ShareType(0.005, 0.5),
    metavar="SHARE",
    default=0.05,
    show_default="5%",
    help="Largest acceptable risk of being killed at the limit, such as 2% or 0.02.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, times in seconds.")
@plain_errors
def walltime(source: str, user: str, procs: int | None, executable: str | None, risk: float, as_json: bool) -> None:
    """Which walltime to request, so that a job is killed with at most a given risk.

    The advice comes from the run times of the user's jobs that ended last. It is the rank of a conformal bound. It is corrected by the
    jobs that the same rule would have killed in the user's past, each advised from what had ended by then. The share of jobs that it
    would have killed, and what it would have saved, is printed with the advice.

    \b
    tracehouse walltime hpc2n --user 17 --procs 16 --risk 2%
    """
    from tracehouse.predictions import answer_walltime

    advice = answer_walltime(load_catalogue().source(source).name, user, procs, executable, risk)
    click.echo(json_text(advice) if as_json else walltime_text(advice))


def walltime_text(advice: dict[str, Any]) -> str:
    """advice: what `tracehouse walltime --json` prints."""
    lines = [
        f"{advice['source']}, user {advice['user']}: request {duration(advice['walltime_s'])}"
        + (f" aiming at a risk of {advice['risk']:.1%}" if advice["basis"] is None else ""),
        f"  from the last {advice['jobs']:,} ended jobs of the same {advice['same']}: they ran "
        f"{duration(advice['median_runtime_s'])} in the median"
        + (f" and requested {duration(advice['median_request_s'])}" if advice["median_request_s"] is not None else ""),
    ]
    if advice["basis"] is not None:
        lines.append(f"  {advice['basis']}")
    if advice["jobs_at_limit"]:
        lines.append(
            f"  {advice['jobs_at_limit']:,} of them ended at their limit: they may have needed more than this advice knows"
        )
    if advice["tried_jobs"]:
        lines.append(
            f"  tried on the user's last {advice['tried_jobs']:,} jobs, each with what was known then: "
            f"{advice['tried_killed_share']:.1%} would have been killed"
        )
        if not advice["keeps_risk"]:
            lines.append(
                f"  that is more than the {advice['risk']:.1%} that you want: these jobs change faster than a rule on past jobs. Request "
                "more than this, or give a smaller --risk"
            )
        if advice["tried_advised_by_requested"] is not None:
            lines.append(
                f"  advised {duration(advice['tried_median_advised_s'])} in the median where "
                f"{duration(advice['tried_median_requested_s'])} was requested, processor-hours advised by those requested: "
                f"{advice['tried_advised_by_requested']:.0%}"
                + (", so the user's own requests are smaller" if advice["tried_advised_by_requested"] > 1 else "")
            )
    elif advice["basis"] is None:
        lines.append(
            "  not tried on the user's past: whenever a job was submitted, too few had ended for this risk; a larger --risk takes fewer"
        )
    return "\n".join(lines)
