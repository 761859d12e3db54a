"""DD-PPO for scheduling (Sgambati et al. 2025): policies of large logs, judged on other logs.

The training is `models/scheduling/workers/`. Here are the assets `ddppo.py` and `ddppo_transfer.py`, and what keeps and draws results:
`policies.py` and `plots.py`.
"""

from papers.paper_tables import PaperStep, PaperTable

_ROWS = "FROM experiments.comparisons WHERE source = $source AND experiment LIKE 'ddppo%'"

TABLES = (
    PaperTable(
        "ddppo",
        "DD-PPO",
        "Tables 3 and 4: policies of large logs, judged on this one",
        "hours, of which the most for `falcon`",
        (PaperStep("experiments/ddppo_transfer", f"SELECT count(*) {_ROWS}"),),
        f"SELECT DISTINCT goal, policy, trained_on, seeds, cost {_ROWS} ORDER BY goal, cost, policy",
        goes_on="from the last checkpoint of `tracehouse run falcon --job ddppo`, or of another large log, which comes first",
    ),
)
