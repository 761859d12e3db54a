"""RLSchert (Guo et al. 2021): schedulers that learn to select jobs, and to kill them, where run times are predicted while jobs run.

`rules.py` and `view.py` are its cluster in compiled code, `cluster.py` many of them. `workload.py` draws jobs, `training.py` and
`ladder.py` train, `trials.py` and `tables.py` compare. The asset is `rlschert.py`.
"""

from papers.paper_tables import PaperStep, PaperTable, printed_table

_PAPER = "RLSchert"
_MADE = (
    "SELECT count(*) FROM experiments.rlschert WHERE source = $source AND experiment = 'main' AND policy = 'RLSchert'"
)


def _table(name: str, shows: str, experiment: str) -> PaperTable:
    return PaperTable(
        name,
        _PAPER,
        shows,
        "62 minutes, with all RLSchert tables",
        (PaperStep("experiments/rlschert", _MADE, {}, True),),
        "SELECT setting, policy, kill, avg(slowdown) AS slowdown, avg(completion) AS completion_time, avg(kills) AS kills "
        f"FROM experiments.rlschert WHERE source = $source AND part = 'test' AND experiment = '{experiment}' "
        "GROUP BY ALL ORDER BY ALL",
        partitions="vasp",
    )


TABLES = (
    _table("rlschert-main", "Tables 6 to 8 and 11: schedulers and ways to kill", "main"),
    _table("rlschert-table9", "Table 9, share of predictable jobs", "predictable"),
    _table("rlschert-figure10", "Figure 10, load", "load"),
    _table("rlschert-figure11", "Figure 11, size of the cluster", "resources"),
    printed_table(
        "rlschert-table3",
        _PAPER,
        "Table 3: what an iteration of its networks on images takes",
        "2 minutes",
        "rlschert.study",
        "table_3",
    ),
    printed_table(
        "rlschert-networks",
        _PAPER,
        "Table 3: its networks, trained with its settings, on the test sequences",
        "1 minute",
        "rlschert.study",
        "networks",
    ),
    printed_table(
        "rlschert-figure8",
        _PAPER,
        "Figure 8, convergence on completion time",
        "4 minutes",
        "rlschert.study",
        "completion",
    ),
)
