"""Published tables: stored as they are made, and written into the pages from there.

    make results                                  the tables that come from the warehouse
    python -m studies results verdicts ...     runs studies and stores the tables that they print
    python -m studies results "vasp table_3"   the same of a part of one
    python -m studies results --pages          writes the pages from what is stored
    python -m studies results --csv "searched_orders, on {cluster}"     prints a stored table

docs/results.json holds every table with its command, its day and the versions of what computed it. A page names a table in a comment,
`<!-- results: NAME -->`, and the table ends with `<!-- end -->`. Long tables are on a page of their own, docs/results/tables/PAGE.md,
with a heading for each: the page names them in a comment `<!-- tables: NAME; NAME -->`. Those that nobody reads row by row have the
heading and the command that prints them there. Tables with the same columns may be one: in
`verdicts, {log}` the braces match any text, which becomes the first column, `log`. A test fails where a page differs.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import platform
import re
import shlex
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from assets.common.storage import open_warehouse
from simulator.compiled import SOURCE_HASH
from simulator.metrics.metrics import SEMANTICS
from studies.publishing.differences import paper_systems, with_differences
from studies.publishing.warehouse_tables import warehouse_tables

PROJECT = Path(__file__).resolve().parents[2]
RESULTS = PROJECT / "docs" / "results.json"
PAGES = (
    PROJECT / "README.md",
    *sorted(page for page in (PROJECT / "docs").rglob("*.md") if page.parent.name != "tables"),
)
PRINTED = (
    "verdicts", "backlogs", "guarded_keys", "promotion", "requested_keys", "hpcopt", "uses",
    "deep_back_filling", "split_windows", "inspector", "agents", "published", "coverage", "prediction predictors", "prediction starts",
    "vasp table_3", "vasp completion", "vasp networks", "faults",
    "backfills", "bounds", "allocation", "closed_loop", "neural_annealing", "neural_annealing exact",
    "placements", "periods", "placing_rules",
    "hop_sensitivity", "looking_ahead", "integer_program", "annealing_steps", "annealing_steps exact", "best_repair",
    "fidelity", "walltimes", "more_data", "as_published", "dbf_as_published", "steady_state",
    "repositories", "confirmed", "agreement", "engine", "identified", "limited", "planted_grades", "planted_rules",
    "learning", "learning tried", "learned_program", "learned_program tried", "learned_on_all", "learned_on_all tried",
    "bundled",
    "pbs_decisions", "pbs_free_replays", "pbs_reasons", "searched", "searched_orders",
    "slurm_decisions", "slurm_passes", "slurm_priorities", "slurm_reasons", "slurm_free_runs", "slurm_repeats",
    "slurm_cycle_times",
    "slurm_micro_cluster", "slurm_hpc_week", "what_if_changes", "start_times", "tuned mason", "tuned planted", "tuned ub_hpc",
    "users_react", "reacting_grades", "queue_starts",
)  # fmt: skip
"""Those whose printed tables are published, the fault campaign and the speed of replays. A second word is a part of a study."""
OF_PAPERS = {
    "as_published": "rlscheduler.as_published",
    "annealing_steps": "neural_annealing.annealing_steps",
    "best_repair": "neural_annealing.best_repair",
    "dbf_as_published": "deep_back_filling.as_published",
    "deep_back_filling": "deep_back_filling.study",
    "inspector": "schedinspector.study",
    "integer_program": "neural_annealing.integer_program",
    "neural_annealing": "neural_annealing.study",
    "periods": "neural_annealing.periods",
    "published": "rlscheduler.study",
    "split_windows": "deep_back_filling.split_windows",
    "vasp completion": "rlschert.study completion",
    "vasp table_3": "rlschert.study table_3",
    "vasp networks": "rlschert.study networks",
}
"""Of these, the modules below papers that print them instead."""
OF_STUDIES = {
    "queue_starts": "queue_starts --moments 15",
    "annealing_steps exact": "exact_repairs steps --networks FCN-3 --updates 300",
    "neural_annealing exact": "exact_repairs table_3 --networks FCN-3 --variants paper --updates 300",
}
"""Of these, the studies that have another name."""
MOST_ROWS_SHOWN, MOST_WORDS_SHOWN = 30, 400
"""A table with more of both is printed by --csv alone."""
PACKAGES = ("tracehouse", "numpy", "numba", "polars", "duckdb", "torch", "scikit-learn", "xgboost")
MARK = re.compile(r"<!-- results: (?P<name>[^>]+?) -->\n\n(?P<table>.*?)\n*<!-- end -->", re.S)
TABLES_MARK = re.compile(r"<!-- tables:(?P<names>[^>]+?)-->")
TABLE = re.compile(r"^\|.*\|\n\|[ :|-]+\|\n(?:\|.*\|(?:\n|\Z))*", re.M)


@dataclass(frozen=True)
class PublishedTable:
    """command: what makes it. made: its day, ISO. versions: of the packages and of the rules. lines: Markdown, heading first."""

    command: str
    made: str
    versions: dict[str, str]
    lines: list[str]


def published(command: str, markdown: str) -> PublishedTable:
    """A table that was made now."""
    versions = {name: version(name) for name in PACKAGES}
    versions |= {"python": platform.python_version(), "semantics": str(SEMANTICS), "simulator": SOURCE_HASH}
    return PublishedTable(command, datetime.now(UTC).date().isoformat(), versions, markdown.strip().splitlines())


def stored(file: Path = RESULTS) -> dict[str, PublishedTable]:
    """The tables by name."""
    return {name: PublishedTable(**facts) for name, facts in json.loads(file.read_text()).items()}


def store(tables: dict[str, PublishedTable], file: Path = RESULTS) -> None:
    """Puts tables into the file, where they replace those of the same names."""
    before = stored(file) if file.exists() else {}
    facts = {name: asdict(table) for name, table in sorted((before | tables).items())}
    file.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


def tables_of(printed: str) -> dict[str, str]:
    """The Markdown tables of what a study printed, by the last line of text before each; the only one may have none."""
    titled = {}
    for match in TABLE.finditer(printed):
        before = [line for line in printed[: match.start()].splitlines() if line.strip() and not line.startswith("|")]
        titled[before[-1].strip() if before else ""] = match.group().strip()
    return titled


def module_of(name: str) -> str:
    """The module, with its arguments, of one of PRINTED."""
    if name in OF_PAPERS:
        return f"papers.{OF_PAPERS[name]}"
    return f"benchmarks.{name}" if name in ("faults", "engine") else f"studies {OF_STUDIES.get(name, name)}"


def run_study(name: str) -> dict[str, PublishedTable]:
    """Runs a study, shows what it prints, and returns its tables."""
    lines = []
    command = module_of(name)
    with subprocess.Popen(
        [sys.executable, "-m", *command.split()], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        sys.exit(f"{command} ended with {process.returncode}: none of its tables is stored")
    return {
        f"{name}, {title}" if title else name: published(f"python -m {command}", table)
        for title, table in tables_of("".join(lines)).items()
    }


def rewritten(page: str, tables: dict[str, PublishedTable]) -> str:
    """A page with its tables as they are stored. Raises KeyError for a table that is not."""

    def table_of(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in tables:
            raise KeyError(f"no table {name!r} is stored: run what makes it with python -m studies results")
        return "\n\n".join([f"<!-- results: {name} -->", "\n".join(tables[name].lines), "<!-- end -->"])

    return MARK.sub(table_of, page)


def tables_page(page: Path, tables: dict[str, PublishedTable]) -> tuple[Path, str] | None:
    """The page with the long tables of a page, and its text. Raises KeyError for a table that is not stored."""
    text = page.read_text()
    names = marked_tables(text)
    if not names:
        return None
    title = text.partition("\n")[0].lstrip("# ").partition(":")[0]
    parts = [f"# Tables: {title}", f"The numbers behind [the page](../{page.name})."]
    for name in names:
        table = table_of_place(name, tables)
        by = [f"Made by `{table.command}` on {table.made}."] if table.command else []
        text, rows = "\n".join(table.lines), len(table.lines) - 2
        if rows > MOST_ROWS_SHOWN and len(text.split()) > MOST_WORDS_SHOWN:
            text = f"{rows:,} rows: `python -m studies results --csv {shlex.quote(name)}`"
        parts += [f"## {heading_of(name)}", *by, text]
    return page.parent / "tables" / page.name, "\n\n".join(parts) + "\n"


def marked_tables(page: str) -> list[str]:
    """The names of tables that a page leaves to its page of tables."""
    return [name for mark in TABLES_MARK.finditer(page) for name in " ".join(mark["names"].split()).split("; ")]


def heading_of(name: str) -> str:
    """The heading of a table in a page of tables: `verdicts by log` for `verdicts, {log}`."""
    return re.sub(r",? ?\{(\w+)\}", r" by \1", name).replace("`", "")


def names_of_place(name: str, tables: dict[str, PublishedTable]) -> dict[str, str]:
    """The tables that a mark names, each by the text that the mark's braces match. Raises KeyError where none is stored."""
    before, _, after = name.partition("{")
    after = after.partition("}")[2]
    names = {
        each.removeprefix(before).removesuffix(after): each
        for each in tables
        if each == name or ("{" in name and each.startswith(before) and each.endswith(after))
    }
    if not names:
        raise KeyError(f"no table {name!r} is stored: run what makes it with python -m studies results")
    return names


def table_of_place(name: str, tables: dict[str, PublishedTable]) -> PublishedTable:
    """The table of a mark. Where the mark has braces, it is the rows of all tables that it names, behind a column that tells which.

    Raises ValueError where these have other columns.
    """
    names = names_of_place(name, tables)
    if "{" not in name:
        return tables[name]
    first = next(iter(names.values()))
    heading, ruler, *_ = tables[first].lines
    others = [each for each in names.values() if tables[each].lines[0] != heading]
    if others:
        raise ValueError(f"{name!r}: {first!r} and {others[0]!r} have other columns")
    column = name.partition("{")[2].partition("}")[0]
    rows = [f"| {part} {line}" for part, each in names.items() for line in tables[each].lines[2:]]
    return replace(tables[first], lines=[f"| {column} {heading}", f"| --- {ruler}", *rows])


def csv_of(table: PublishedTable) -> str:
    """The table without its ruler."""
    text = io.StringIO()
    rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.lines)
    csv.writer(text, lineterminator="\n").writerows(row for k, row in enumerate(rows) if k != 1)
    return text.getvalue()


def write_pages() -> None:
    """Writes the stored tables into the pages. A page that names a table which is not stored stays as it is, and that is printed."""
    for page in PAGES:
        before = page.read_text()
        try:
            after = with_differences(rewritten(before, stored()), paper_systems())
            beside = tables_page(page, stored())
        except KeyError as error:
            print(f"{page.relative_to(PROJECT)}: {error.args[0]}")
            continue
        if after != before:
            page.write_text(after)
            print(f"{page.relative_to(PROJECT)}: written")
        if beside and not (beside[0].exists() and beside[0].read_text() == beside[1]):
            beside[0].parent.mkdir(exist_ok=True)
            beside[0].write_text(beside[1])
            print(f"{beside[0].relative_to(PROJECT)}: written")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("studies", nargs="*", help=f"of {', '.join(PRINTED)}; none: the tables of the warehouse")
    parser.add_argument("--pages", action="store_true", help="only write the pages")
    parser.add_argument("--csv", metavar="TABLE", help="only print a stored table, by the name that its page has")
    asked = parser.parse_args()
    if asked.csv:
        try:
            print(csv_of(table_of_place(asked.csv, stored())), end="")
        except KeyError as error:
            parser.error(error.args[0])
        return
    unknown = set(asked.studies) - set(PRINTED)
    if unknown:
        parser.error(f"no such study: {', '.join(sorted(unknown))}; expected {', '.join(PRINTED)}")
    if not asked.pages:
        for name in asked.studies:
            store(run_study(name))
        if not asked.studies:
            made = {name: published(*parts) for name, parts in warehouse_tables(open_warehouse()).items()}
            store(made)
            print(f"{len(made)} tables of the warehouse stored: {', '.join(made) or 'it has no such rows yet'}")
    write_pages()
