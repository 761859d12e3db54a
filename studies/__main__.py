"""Runs a study: `python -m studies NAME`. Without a name it lists them.

A study answers one question, mostly on the archive's logs, and prints its tables in Markdown. docs/results has what came out.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from pathlib import Path

from papers.archive import SHARED

STUDIES = {
    "agents": "judging.agents",
    "agreement": "judging.agreement",
    "allocation": "of_papers.single_windows",
    "annealing_picture": "of_papers.annealing_picture",
    "backfills": "judging.backfills",
    "backlogs": "judging.backlogs",
    "bounds": "judging.bounds",
    "bundled": "planted.bundled",
    "closed_loop": "of_papers.closed_loop",
    "confirmed": "publishing.confirmed",
    "coverage": "judging.coverage",
    "dbf_agents": "of_papers.dbf_agents",
    "ddppo_pictures": "of_papers.ddppo_pictures",
    "ddppo_policies": "of_papers.ddppo_policies",
    "exact_repairs": "of_papers.exact_repairs",
    "fidelity": "judging.fidelity",
    "guarded_keys": "judging.guarded_keys",
    "hop_sensitivity": "placing.hop_sensitivity",
    "hpcopt": "judging.hpcopt",
    "identified": "judging.identified",
    "learned_on_all": "judging.learned_on_all",
    "learned_program": "judging.learned_program",
    "learning": "judging.learning",
    "limited": "judging.limited",
    "looking_ahead": "placing.looking_ahead",
    "more_data": "more_data.training",
    "pbs_decisions": "pbs.decisions",
    "pbs_free_replays": "pbs.free_replays",
    "pbs_reasons": "pbs.reasons",
    "placements": "placing.placements",
    "placing_rules": "placing.placing_rules",
    "planted_grades": "planted.planted_grades",
    "planted_rules": "planted.planted_rules",
    "prediction": "predicting.prediction",
    "promotion": "judging.promotion",
    "queue_starts": "predicting.queue_starts",
    "reacting_grades": "planted.reacting_grades",
    "repositories": "predicting.repositories",
    "requested_keys": "judging.requested_keys",
    "results": "publishing.results",
    "rlscheduler_train": "of_papers.rlscheduler_training",
    "rlschert_networks": "of_papers.rlschert_networks",
    "search_policies": "judging.search_policies",
    "searched": "judging.searched",
    "searched_orders": "slurm.searched_orders",
    "slurm_cycle_times": "slurm.cycle_times",
    "slurm_decisions": "slurm.decisions",
    "slurm_free_runs": "slurm.free_runs",
    "slurm_hpc_week": "slurm.hpc_week",
    "slurm_micro_cluster": "slurm.micro_cluster",
    "slurm_passes": "slurm.passes",
    "slurm_priorities": "slurm.priorities",
    "slurm_reasons": "slurm.reasons",
    "slurm_repeats": "slurm.repeats",
    "slurm_usage": "slurm.usage",
    "split_pictures": "of_papers.split_pictures",
    "start_times": "predicting.start_times",
    "steady_state": "of_papers.steady_state",
    "tuned": "judging.tuned",
    "users_react": "planted.users_react",
    "uses": "predicting.uses",
    "verdicts": "judging.verdicts",
    "walltimes": "predicting.walltimes",
    "what_if_changes": "planted.what_if_changes",
}
"""By name: the module below `studies` whose `main` runs it."""
TITLE = re.compile(r"[:?.;] ?`|\n")
"""Where the title of a docstring ends."""
WITHOUT_ARCHIVE = (
    "agreement",
    "allocation",
    "annealing_picture",
    "backfills",
    "bundled",
    "closed_loop",
    "confirmed",
    "coverage",
    "dbf_agents",
    "ddppo_pictures",
    "ddppo_policies",
    "exact_repairs",
    "learning",
    "pbs_decisions",
    "pbs_free_replays",
    "pbs_reasons",
    "planted_grades",
    "planted_rules",
    "promotion",
    "queue_starts",
    "reacting_grades",
    "repositories",
    "results",
    "rlschert_networks",
    "slurm_cycle_times",
    "slurm_decisions",
    "slurm_free_runs",
    "slurm_hpc_week",
    "slurm_micro_cluster",
    "slurm_passes",
    "slurm_priorities",
    "slurm_reasons",
    "slurm_repeats",
    "start_times",
    "tuned",
    "users_react",
    "what_if_changes",
)
"""Those that need none of the archive's logs, or say themselves which are missing."""


def main() -> None:
    """Runs the study that the command line names."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in ("", "-h", "--help"):
        for each, module in STUDIES.items():
            file = Path(__file__).parent / f"{module.replace('.', '/')}.py"
            about = ast.get_docstring(ast.parse(file.read_text())) or ""
            print(f"{each:<20}{TITLE.split(about)[0].rstrip('.')}")
        return
    if name not in STUDIES:
        sys.exit(f"no study {name!r}: expected one of {', '.join(STUDIES)}")
    if name not in WITHOUT_ARCHIVE and not SHARED.exists():
        sys.exit(f"{SHARED}: the archive logs are not there; name the folder above with TRACEHOUSE_SHARED")
    del sys.argv[1]
    importlib.import_module(f"studies.{STUDIES[name]}").main()


if __name__ == "__main__":
    main()
