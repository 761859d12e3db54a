"""Deep Back-Filling (Wang, Harwood and Rodriguez, HPCC 2022): one agent that orders and backfills.

The mode of the paper is in `protocol.py`, `episodes.py`, `networks.py`, `training.py`, `trials.py` and `study.py`, and `way.py` is
`--backfill FILE`. Agents of our own mode are in the asset `backfilling.py` and in `split_windows.py`.
"""

from papers.paper_tables import CHECKPOINTS, printed_table, table_of_agents

_PAPER = "Deep Back-Filling"

TABLES = (
    printed_table(
        "dbf-rules",
        _PAPER,
        "Figures 4 to 6, rules that see a part of the queue",
        "1 minute",
        "deep_back_filling.study",
    ),
    printed_table(
        "dbf-windows",
        _PAPER,
        "Figures 4 to 7, agents of our own mode and inspectors",
        "1 hour",
        "deep_back_filling.split_windows",
        "--folder",
        CHECKPOINTS,
        goes_on="with the trainings that are missing",
    ),
    printed_table(
        "dbf-as-published",
        _PAPER,
        "Figure 3, and agents trained as published, in the test episodes",
        "2 minutes",
        "deep_back_filling.as_published",
    ),
    printed_table(
        "dbf-figure3",
        _PAPER,
        "Figure 3, learning curve of one seed, 5,000 episodes",
        "7 hours",
        "deep_back_filling.study",
        "--train",
        "--checkpoints",
        CHECKPOINTS,
        goes_on="from the last checkpoint",
    ),
    table_of_agents("backfilling", _PAPER, "agents that pick, and rules with their view, on whole logs"),
)
