"""SchedInspector (Zhang et al., HPDC 2022): inspectors by its own rules and by ours.

Its event loop is RLScheduler's, whose inspector is `papers/rlscheduler/inspecting.py`. The asset is `inspector.py`, the study `study.py`.
"""

from papers.paper_tables import printed_table, table_of_agents

_PAPER = "SchedInspector"

TABLES = (
    table_of_agents("inspector", _PAPER, "inspectors beside several policies, and by the paper's own rules"),
    printed_table(
        "inspector-rules",
        _PAPER,
        "its sixteen bases under its rules, without learning",
        "at most 18 minutes",
        "schedinspector.study",
    ),
)
