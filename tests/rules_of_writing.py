"""Which functions write files, found in the syntax trees: a result goes through `assets.common.writing.outputs` alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.rules import CodeBase

TEXTS = frozenset(("write_text", "write_bytes", "write_whole", "written_beside"))
TABLES = frozenset(
    f"{verb}_{kind}" for verb in ("write", "sink") for kind in ("csv", "parquet", "json", "ndjson", "ipc", "html")
)
OTHERS = frozenset(("savefig", "write_image", "tofile", "save", "savez", "savez_compressed", "dump"))
COPIES = frozenset(("copyfile", "copyfileobj", "copy2", "copytree", "move", "link", "hardlink_to"))
WRITING = TEXTS | TABLES | OTHERS | COPIES | {"to_csv", "to_parquet"}
"""Methods and functions whose first argument, or whose object, is a file that they write."""
OF_FRAMES = frozenset(("write_csv", "write_json", "write_ndjson"))
"""Of these, those that give text back where they are given no file."""
IN_MEMORY = frozenset(("BytesIO", "StringIO"))
DOORS = frozenset(("output_beside", "written_beside"))
MODES = frozenset("wax+")

OWN = {
    "traces.pbs.edits": "a list of nodes that a reader is given, in a temporary folder",
    "traces.slurm.edits": "a list of nodes that a reader is given, in a temporary folder",
    "assets.common.code.versions": "code versions that were computed before, in the cache of compiled modules",
    "assets.common.archive": "the archive of a backup, after assets.common.backup has asked the door",
    "assets.common.backup": "copies in the data folder, of which the archive is made",
    "assets.common.journal": "the journal of a restore",
    "assets.common.restore": "what a restore puts into the home",
    "assets.common.writing.outputs": "the door",
    "traces.catalogue.clusters": "configuration and file of a bundled cluster, in folders of their own",
    "traces.slurm.writer": "a generated log, in the folder of generated logs",
    "assets.common.parts": "rows of parts, in the data folder",
    "assets.replaying.own.alternatives": "what the report reads, in the data folder",
    "assets.replaying.tuning.tunable": "replays of a search, in the data folder",
    "assets.common.storage": "models, in the data folder",
    "assets.common.transfer": "model files of a warehouse whose file the door has let through",
    "assets.ingest.canonical_jobs": "rows that wait to be inserted, in the data folder",
    "assets.ingest.generated": "generated logs, in the data folder",
    "assets.ingest.staging": "rows that wait to be inserted, in the data folder",
    "pipelines.first_use": "the catalogue of a home that is thrown away",
    "assets.pages.index": "the list of reports, in the data folder",
    "assets.marts.report": "a report, in the data folder",
    "assets.policies.workers": "the folder of a training with workers, in the data folder",
    "models.scheduling.learning.checkpoint": "checkpoints beside a policy, whose name the command has checked",
    "models.scheduling.workers.launching": "the folder of a training with workers",
    "models.scheduling.workers.task_folder": "the folder of a training with workers",
    "models.scheduling.workers.worker": "the folder of a training with workers",
    "papers.deep_back_filling.split_trial": "the folder of a study",
    "papers.deep_back_filling.study": "the folder of a study",
    "papers.neural_annealing.study": "the folder of a study",
    "papers.reproduce": "what a study prints, in the data folder",
    "tracehouse.cli.commands.report": "a report of a period, in the data folder",
    "pipelines.faults": "a traceback, in the data folder or among temporary files",
    "pipelines.running": "Dagster's settings and a lock of the home",
    "traces.catalogue.editing": "the catalogue itself, and its lock",
    "traces.common.pseudonyms": "a new key of pseudonyms",
    "traces.pbs.writer": "generated logs, in the data folder",
    "traces.swf.writer": "generated logs, in the data folder",
    "traces.vasp.synthetic": "generated run folders, in the data folder",
    "warehouse.waiting": "locks",
}
"""Modules that write files of tracehouse's own, or temporary ones, and where. None takes the name of a file from a user,
but for a study its own folder."""


def writers(code: CodeBase) -> dict[str, list[str]]:
    """module -> the calls that write a file, but for those that write into memory or behind the door."""
    calls: dict[str, list[str]] = {}
    for module, tree in code.trees.items():
        scopes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Module)]
        harmless = {name for scope in scopes for name in _harmless_names(scope)}
        lines = [f"{call.lineno}: {ast.unparse(call)[:80]}" for call in _writing_calls(tree, harmless)]
        if lines:
            calls[module] = lines
    return calls


def _harmless_names(scope: ast.AST) -> Iterator[str]:
    """Variables that are files in memory, or paths that the door has given."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _called(node.value) in IN_MEMORY:
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        for item in node.items if isinstance(node, ast.With) else ():
            is_door = isinstance(item.context_expr, ast.Call) and _called(item.context_expr) in DOORS
            if is_door and isinstance(item.optional_vars, ast.Name):
                yield item.optional_vars.id


def _writing_calls(tree: ast.AST, harmless: set[str]) -> Iterator[ast.Call]:
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = _called(call)
        into = [each.id for each in (*call.args, _object_of(call)) if isinstance(each, ast.Name)]
        if any(each in harmless for each in into) or (name in OF_FRAMES and not call.args):
            continue
        if name in WRITING or (name == "open" and _opens_to_write(call)) or (name == "execute" and _copies(call)):
            yield call


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _object_of(call: ast.Call) -> ast.expr | None:
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _opens_to_write(call: ast.Call) -> bool:
    """`open` with a mode that writes, and `os.open` with flags that make a file."""
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    modes = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    is_mode = any(len(mode) <= 3 and MODES & set(mode) for mode in modes)
    return is_mode or any("O_CREAT" in ast.unparse(each) for each in call.args)


def _copies(call: ast.Call) -> bool:
    return any("COPY (" in ast.unparse(each) or "EXPORT DATABASE" in ast.unparse(each) for each in call.args)
