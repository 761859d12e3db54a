"""The command `tracehouse place`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assets.common.progress import say_if_slow
from simulator.jobs.words import one_of
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_text
from tracehouse.cli.parameters.amounts import DurationType
from traces.cluster.hostlists import compress_names

if TYPE_CHECKING:
    from models.allocation.methods import PlaceMethod
    from models.allocation.window import Allocation, Window

METHOD_WORDS = "scas|dcas|free|anneal|nsa|tree"


@click.command()
@click.argument("window")
@click.option("--method", "-m", metavar=METHOD_WORDS, required=True, help="How nodes are chosen.")
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The trained network of `nsa`. `python -m papers.neural_annealing.study` trains some.",
)
@click.option(
    "--seconds",
    type=DurationType(at_least=0, is_whole=False),
    metavar="DURATION",
    default=60.0,
    show_default="60s",
    help="Time limit, about, of `free`, and of `scas` with many jobs. The others have a fixed amount of work.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=1,
    show_default=True,
    help="Of what is random: `free`, `anneal`, `nsa`, and `scas` with many jobs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nodes in the order of the jobs.")
@plain_errors
def place(window: str, method: str, policy: Path | None, seconds: float, seed: int, as_json: bool) -> None:
    """Which idle nodes should jobs get that start together? WINDOW is a JSON file, or - for standard input.

    \b
    - `{"tree": "16x8x4", "idle": [0, 1, 2, 17, 18], "jobs": [2, 3]}`
    - `{"tree": {"nodes_per_leaf": 16, "leaves_per_pod": 8, "pods": 4, "hops": [2, 4, 6]}, ...}`
    - `{"tree": "topology.conf", "idle": ["n1", "n[4-9]"], "jobs": [2, 3]}`

    A job costs the hops between its nodes, over ordered pairs, divided by its nodes. The cost is the sum over the jobs. No placement
    costs less than the bound, or with `scas`, no placement of its kind.

    \b
    - scas gives each job consecutive idle nodes, at the least cost of these.
    - dcas takes the widest job first, each on consecutive nodes of those left.
    - free searches among all placements.
    - anneal moves jobs 500 times, by simulated annealing.
    - nsa does the same with a trained network, which is named with --policy.
    - tree is Slurm's best fit, one job after another.
    """
    from models.allocation.methods import place_window

    check_policy_option(method, policy)
    problem = _read(window)
    with say_if_slow("placing the jobs"):
        repair = None
        if policy is not None:
            from models.allocation.neural.repair_policy import load_repair_policy

            repair, _ = load_repair_policy(policy)
        allocation = place_window(problem, _method(method), seconds, seed, repair)
    click.echo(
        json_text(placed_json(problem, method, allocation)) if as_json else placed_text(problem, method, allocation)
    )


def check_policy_option(method: str, policy: Path | None) -> None:
    """Raises ValueError for the method nsa without a policy, and for a policy beside another method."""
    if method == "nsa" and policy is None:
        raise ValueError(
            "the method nsa needs --policy FILE, a trained network. Make one with `python -m papers.neural_annealing.study --tree paper "
            "--variants paper --networks CNN-3 --checkpoints FOLDER`: it writes FOLDER/*.json"
        )
    if method != "nsa" and policy is not None:
        raise ValueError(f"--policy is for the method nsa, and {method} uses no network: leave it out")


def _method(text: str) -> "PlaceMethod":
    from models.allocation.methods import PLACE_METHODS

    one_of("method", text, PLACE_METHODS)
    return next(method for method in PLACE_METHODS if method == text)


def _read(window: str) -> "Window":
    from models.allocation.window_file import read_window, window_of_json

    if window == "-":
        return window_of_json(sys.stdin.buffer.read(), "standard input", Path())
    return read_window(Path(window))


def placed_json(window: "Window", method: str, allocation: "Allocation") -> dict[str, Any]:
    """What `tracehouse place --json` prints. Costs are in hops, the gap is a share of the cost, and times are in seconds."""
    names = window.tree.node_names
    nodes = [sorted(job.tolist()) for job in allocation.nodes]
    return {
        "method": method,
        "cost": allocation.cost,
        "bound": allocation.bound,
        "gap": allocation.gap,
        "proven": allocation.proven,
        "seconds": allocation.seconds,
        "nodes": [[names[node] for node in job] for job in nodes] if names else nodes,
    }


def placed_text(window: "Window", method: str, allocation: "Allocation") -> str:
    """A table of the jobs in the order given, and a line on all of them."""
    from simulator.topology.tree import hop_cost

    lines = []
    if allocation.nodes:
        lines += [f"{'job':>5}  {'size':>6}  {'cost':>10}  {'leaves':>6}  nodes"]
    for job, nodes in enumerate(allocation.nodes, start=1):
        leaves = len(set(window.tree.switch[0, nodes].tolist()))
        text = compress_names(window.tree.name_of(node) for node in nodes.tolist())
        text = text if window.tree.node_names else text.strip("[]")
        lines.append(f"{job:>5}  {len(nodes):>6}  {hop_cost(window.tree, nodes):>10,.2f}  {leaves:>6}  {text}")
    bound = "no bound" if allocation.bound is None else f"bound {allocation.bound:,.2f}, gap {allocation.gap:.2%}"
    what = "the least cost of consecutive nodes" if method == "scas" else "the least cost of all placements"
    proven = f" ({what}, proven)" if allocation.proven else ""
    return "\n".join([*lines, f"{method}: cost {allocation.cost:,.2f}, {bound}, {allocation.seconds:.2f} s{proven}"])
