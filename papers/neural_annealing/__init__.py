"""Neural Simulated Annealing (Lan et al. 2023): its protocol, the training of its networks, its tables and figures.

The annealer and its networks are `models/allocation/neural/`, since `tracehouse place` has them. Here are the asset `topology.py` with
`protocol.py`, `training.py`, and the studies: `study.py`, `annealing_steps.py`, `best_repair.py`,
`integer_program.py` and `periods.py`.
"""

from papers.paper_tables import CHECKPOINTS, printed_table

_PAPER = "Neural Simulated Annealing"

TABLES = (
    printed_table(
        "nsa-table3",
        _PAPER,
        "Table III and Figure 4: annealing with trained networks",
        "not measured",
        "neural_annealing.study",
        "--checkpoints",
        CHECKPOINTS,
        goes_on="from the last checkpoint",
    ),
    printed_table(
        "nsa-table4", _PAPER, "Table IV, the integer program", "10 minutes", "neural_annealing.integer_program"
    ),
    printed_table(
        "nsa-figure5",
        _PAPER,
        "Figure 5, networks and numbers of steps",
        "30 minutes",
        "neural_annealing.annealing_steps",
        "--checkpoints",
        CHECKPOINTS,
        goes_on="from the last checkpoint",
    ),
    printed_table(
        "nsa-best-repair",
        _PAPER,
        "what any repair step could gain: every repair tried, on 300 windows",
        "5 minutes",
        "neural_annealing.best_repair",
    ),
    printed_table(
        "nsa-figure6",
        _PAPER,
        "Figure 6, wait and cost by the length of the period",
        "1 minute",
        "neural_annealing.periods",
    ),
)
