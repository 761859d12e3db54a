"""The command line, `tracehouse`: all commands. Each is loaded when it is asked for, so that help and completion answer at once."""

from __future__ import annotations

import gc
import importlib
import signal
from difflib import get_close_matches
from typing import Any, Never

import click
from click.shell_completion import CompletionItem

from pipelines.faults import no_traceback, show_tracebacks
from tracehouse.cli.interrupts import INTERRUPTED, one_line_after_ctrl_c, watch_for_ctrl_c

COMMANDS = {
    "sources": "List the sources of the catalogue.",
    "run": "Run the pipeline on sources, raw log to report.",
    "ingest": "Add a log as a source and load it.",
    "remove": "Remove a source from warehouse and catalogue.",
    "cluster": "Clusters: read a scheduler's configuration, show it.",
    "collect": "Print the script that collects logs and configuration of a site.",
    "health": "Print what looks wrong in a log.",
    "pseudonym": "Print the pseudonyms of names.",
    "export": "Write jobs as SWF, Parquet or for Evalys.",
    "publish": "Write a read-only copy for dashboards.",
    "metrics": "Print the last results for Prometheus.",
    "sql": "Run a read-only SQL query over the warehouse.",
    "report": "Write the HTML reports again.",
    "ui": "Open the Dagster UI.",
    "train": "Train a scheduling policy for a source.",
    "distil": "Write a trained policy as a formula.",
    "replay": "Replay a log or a source under a policy.",
    "compare": "Compare two saved runs of a source.",
    "periods": "Compare two periods: what got worse, for whom, since when.",
    "who": "Who waited, and who wasted: by user, account or queue.",
    "why": "Why jobs waited: hours by cause, of one job or of many.",
    "app": "Open a page of what-if questions on this machine.",
    "what-if": "Compare scenarios of a file with the source as it is.",
    "tune": "Search settings that serve users better, and confirm them.",
    "place": "Choose idle nodes for jobs that start together.",
    "wait": "How long would a job wait?",
    "queue": "When do the jobs that wait now start?",
    "walltime": "Which wall time should a job request?",
    "models": "List what became of a source's run-time models.",
    "rollback": "Make an earlier run-time model champion again.",
    "backup": "Write warehouse, models and key into an archive.",
    "restore": "Put an archive in the place of an empty home.",
    "warehouse": "Copy the warehouse to a lake or back; tidy a lake.",
    "reproduce": "Make a table of a paper, or list them.",
    "completion": "Print the script with which a shell completes names.",
    "vasp": "VASP run folders: what ran, and what remains.",
}
"""By name: what the list of commands says of it."""
ELSEWHERE = {
    "reproduce": "papers.reproduce",
    "restore": "tracehouse.cli.commands.backup",
    "rollback": "tracehouse.cli.commands.models",
}
"""The module of a command that is not in the one of its name, in tracehouse/cli/commands."""

GARBAGE = (50_000, 20, 20)
"""Python looks for garbage after so many new objects. Most objects of a command stay, such as those of what it imports, and need no
look at all."""


def load_command(name: str) -> click.Command:
    """The command of this name, one of COMMANDS."""
    module = importlib.import_module(ELSEWHERE.get(name, f"tracehouse.cli.commands.{name.replace('-', '_')}"))
    return next(each for each in vars(module).values() if isinstance(each, click.Command) and each.name == name)


class LazyCommands(click.Group):
    """Knows the names of all commands, and loads one when it is called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Never:
        """Runs the process's command and ends the process. Another Ctrl-C cannot disturb its last line."""
        gc.set_threshold(*GARBAGE)
        watch_for_ctrl_c()
        try:
            self.main(*args, **kwargs)
        except SystemExit as ended:
            if ended.code == INTERRUPTED:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise
        raise SystemExit(0)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """The context of a command line. Raises Interrupted."""
        with no_traceback(), one_line_after_ctrl_c():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """What the command returns. Raises Interrupted, and UnforeseenFault."""
        with no_traceback(), one_line_after_ctrl_c():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name, command and the rest of the line. Raises UsageError, with the names that are near, where there is none."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, COMMANDS, n=1)
            raise click.UsageError(f"No such command {name!r}. " + (f"Did you mean {near[0]!r}?" if near else ""), ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands whose names begin so, and options. Loads no command."""
        listed = [
            CompletionItem(name, help=COMMANDS[name]) for name in self.list_commands(ctx) if name.startswith(incomplete)
        ]
        return listed + click.Command.shell_complete(self, ctx, incomplete)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, None where there is none."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands, and loads none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="tracehouse")
@click.option("--debug", is_flag=True, help="Show the traceback of a fault, instead of keeping it in a file.")
@click.pass_context
def main(context: click.Context, debug: bool) -> None:
    """Batch cluster logs into one DuckDB warehouse: run-time predictions, learned scheduling policies, replays.

    Start with `tracehouse run` (the bundled sources, raw log to report), then `tracehouse sql "FROM marts.leaderboard"`.
    """
    show_tracebacks(debug)
    importlib.import_module("tracehouse.cli.session").begin_session(context)


if __name__ == "__main__":
    main()
