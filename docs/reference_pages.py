"""A Sphinx extension that writes the reference when the site is built, from the code that the reference is about.

A page says where by a line `<!-- generated: NAME -->`, NAME one of GENERATED. What is written there is Markdown.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import dagster as dg
import duckdb
from pydantic import BaseModel
from sphinx.application import Sphinx

import tracehouse
from pipelines.definitions import build_definitions
from tracehouse.cli.main import COMMANDS
from tracehouse.text.json_keys import ANSWERS, SHARED_KEYS
from traces.catalogue.catalogue import Readers, VaspSource
from traces.catalogue.sources import Source
from traces.synthetic.centre import CentreOptions
from traces.synthetic.workload import WorkloadOptions
from traces.vasp.synthetic import SyntheticOptions
from warehouse.schema import SCHEMAS, create_schema

MARK = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)
ABOUT_SCHEMAS = {
    "raw": "What was read, line by line.",
    "core": "One canonical row per job, and what is known of each cluster.",
    "features": "What was known of a job when it was submitted.",
    "predictions": "Models of run times, waits and remaining times, what they predict, and how good that is.",
    "policies": "Keys, networks and agents that were trained, and what became of them.",
    "replay": "Replays, and what they say.",
    "marts": "Results for people who decide.",
    "experiments": "Tables of papers, and policies on later jobs.",
}
"""What each schema of the warehouse is for."""
PYTHON_MODULES = {
    "logs": "Logs",
    "ingesting": "Adding sources",
    "replays": "Replays",
    "comparisons": "Comparisons",
    "scenarios": "What-if questions",
    "predictions": "Predictions",
    "learning.environments": "Learning",
    "learning.training": "Training",
    "learning.tuning": "Tuning settings",
    "policies": "Policies of your own",
    "queries": "The warehouse",
}
"""Modules of `tracehouse` in the order of the page, with their headings."""
MADE_OF_CODE = {"reference/tables", "reference/commands", "reference/python", "reference/configuration"}
"""Pages that may change though their files have not, so every build writes them again."""
ERRORS = ("CatalogueError", "LogError", "WarehouseError")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx when it loads this."""
    app.connect("source-read", write_generated)
    app.connect("env-get-outdated", lambda *_: sorted(MADE_OF_CODE))
    return {"parallel_read_safe": True}


def write_generated(app: Sphinx, page: str, source: list[str]) -> None:
    """Puts what is generated into the text of a page, which is the one entry of `source`. Raises KeyError for an unknown name."""
    source[0] = MARK.sub(lambda mark: "\n".join(GENERATED[mark[1]]()), source[0])


def text_of(comment: str) -> str:
    """A comment or description as Markdown: its pages are links, and nothing but what is between backticks is markup."""
    parts = re.split(r"(`[^`]+`)", " ".join(comment.split()))
    for place in range(0, len(parts), 2):
        escaped = re.sub(r"([\\*_<>\[\]$~^#])", r"\\\1", parts[place])
        parts[place] = re.sub(r"docs/((?:[\w-]+/)*([\w-]+)\.md)", r"[\2](../\1)", escaped)
    return "".join(parts).replace("|", r"\|")


def table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """The lines of a Markdown table. Cells are Markdown already."""
    return ["", *(f"| {' | '.join(row)} |" for row in (heading, ("---",) * len(heading), *rows)), ""]


def code(text: str) -> str:
    """Text as code in a cell of a table, empty where there is none."""
    return f"`{text}`".replace("|", r"\|") if text else ""


# --- tables of the warehouse


def table_pages() -> list[str]:
    """All tables and views by schema, with their columns, from the comments that every warehouse has in it."""
    with duckdb.connect(":memory:") as connection:
        create_schema(connection)
        kinds = ("table", "view")
        relations = {
            row[:2]: row[2:]
            for kind in kinds
            for row in connection.execute(
                f"SELECT schema_name, {kind}_name, comment, '{kind}' FROM duckdb_{kind}s() WHERE NOT internal"
            ).fetchall()
        }
        columns: dict[tuple[str, str], list[tuple[str, ...]]] = {}
        for schema, name, column, kind, comment in connection.execute(
            "SELECT schema_name, table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal"
            " ORDER BY schema_name, table_name, column_index"
        ).fetchall():
            columns.setdefault((schema, name), []).append((code(column), code(kind), text_of(comment or "")))
    lines = []
    for schema in SCHEMAS:
        lines += ["", f"## {schema}", "", ABOUT_SCHEMAS[schema]]
        for (of_schema, name), (comment, kind) in sorted(relations.items()):
            if of_schema == schema:
                lines += [
                    "",
                    f"### {schema}.{name}",
                    "",
                    ("A view. " if kind == "view" else "") + text_of(comment or ""),
                ]
                lines += table(("column", "type", "meaning"), columns[schema, name])
    return lines


# --- commands


def command_pages() -> list[str]:
    """A list of all commands. sphinx-click shows each of them below it."""
    return table(
        ("command", "what it does"),
        [(f'<a href="#tracehouse-{name}">{name}</a>', about) for name, about in sorted(COMMANDS.items())],
    )


def shared_key_pages() -> list[str]:
    """The keys that answers of all commands share."""
    return table(("key", "meaning"), [(code(key), text_of(meaning)) for key, meaning in SHARED_KEYS.items()])


def answer_pages() -> list[str]:
    """The commands that print JSON, with their keys."""
    rows = [(code(name), ", ".join(code(key) for key in keys)) for name, keys in sorted(ANSWERS.items())]
    return table(("command", "keys"), rows)


# --- configuration of assets


def asset_pages() -> list[str]:
    """The settings of every asset that has some, as the launchpad and `--config` take them."""
    lines = []
    assets = [asset for asset in build_definitions().assets or [] if isinstance(asset, dg.AssetsDefinition)]
    for asset in sorted(assets, key=lambda asset: asset.node_def.name):
        settings = settings_class(asset)
        if settings is not None:
            keys = sorted(key.to_user_string() for key in asset.keys)
            lines += [
                "",
                f"### {asset.node_def.name}",
                "",
                "Of the asset " + ", ".join(f"`{key}`" for key in keys) + ".",
            ]
            lines += table(("setting", "type", "default", "meaning"), settings_of(settings))
    return lines


def settings_class(asset: dg.AssetsDefinition) -> type[BaseModel] | None:
    """The class of an asset's settings: what its function takes as `config`. The steps of an asset that is made in parts take the same."""
    made_by = asset.node_def
    step = made_by.node_defs[0] if isinstance(made_by, dg.GraphDefinition) else made_by
    assert isinstance(step, dg.OpDefinition)
    function = getattr(step.compute_fn, "decorated_fn", None)
    return get_type_hints(function).get("config") if function else None


def settings_of(settings: type[BaseModel], above: str = "") -> Iterator[tuple[str, ...]]:
    """A row for each setting. Nested ones follow their own, as `ppo.epochs`, and those of a list's entries as `runs[].policy`."""
    for name, field in settings.model_fields.items():
        inner, mark = nested(field.annotation)
        default = "required" if field.is_required() else "" if inner else code(shown_default(field.default))
        meaning = field.description or (first_sentence(inner) if inner else "")
        yield code(above + name), type_words(field.annotation), default, text_of(meaning)
        if inner:
            yield from settings_of(inner, f"{above}{name}{mark}.")


def nested(kind: Any) -> tuple[type[BaseModel] | None, str]:
    """The class of nested settings and what marks them: "" for one, "[]" for a list of them."""
    for each in (kind, *(get_args(kind) if get_origin(kind) is list else ())):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each, "" if each is kind else "[]"
    return None, ""


def first_sentence(settings: type[BaseModel]) -> str:
    """What nested settings are: of the docstring of the class, or of the options that it takes over."""
    ours = [each for each in settings.__mro__ if each.__module__.startswith(("assets.", "models."))]
    docstring = next((each.__doc__ for each in ours if each.__doc__), "") or ""
    return re.split(r"(?<=\.)\s+(?=[A-Z])", docstring.strip(), maxsplit=1)[0]


def shown_default(value: Any) -> str:
    """A default as YAML would have it, shortened where it is long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = str(list(value) if isinstance(value, tuple) else value) or '""'
    return textwrap.shorten(text, 60, placeholder=" ...")


def type_words(kind: Any) -> str:
    """A type in words, such as `list of whole numbers`."""
    arguments = get_args(kind)
    if get_origin(kind) is Literal:
        return " or ".join(code(str(word)) for word in arguments)
    if get_origin(kind) is dict:
        return f"table of {type_words(arguments[1])}"
    if get_origin(kind) in (list, tuple):
        entry = type_words(arguments[0])
        return f"list of {entry}s" if entry.endswith("number") else f"list of {entry}"
    if arguments:
        return " or ".join(type_words(each) for each in arguments)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "settings"
    words = {"NoneType": "null", "str": "text", "bool": "true or false", "int": "whole number", "float": "number"}
    return words.get(kind.__name__, kind.__name__)


# --- keys of the catalogue


def catalogue_pages() -> list[str]:
    """The keys of each kind of table in a catalogue."""
    hidden = {"name", "declared_at", "first_start"}
    kinds: tuple[tuple[str, str, type], ...] = (
        ("[sources.NAME]", "One log each.", Source),
        ("[vasp.NAME]", "One folder of VASP runs each.", VaspSource),
        ("[readers]", "Files that are written for other people's tools after each run.", Readers),
        ("generator of a log", "Options of a synthetic log of Lublin and Feitelson's model.", WorkloadOptions),
        ("generator with a model", "Options of a synthetic log of a whole computing centre.", CentreOptions),
        ("generator of VASP runs", "Options of synthetic run folders.", SyntheticOptions),
    )
    lines = []
    for title, about, kind in kinds:
        notes = notes_of(kind)
        rows = [
            (code(field.name), text_of(notes.get(field.name, "")))
            for field in dataclasses.fields(kind)
            if field.name not in hidden
        ]
        heading = re.sub(r"([\[\]])", r"\\\1", title)
        lines += ["", f"### {heading}", "", about, *table(("key", "meaning"), rows)]
    return lines


def notes_of(kind: type) -> dict[str, str]:
    """What a dataclass says of each of its fields: in comments behind them, else in its docstring, as `name, name: text`."""
    names = [field.name for field in dataclasses.fields(kind)]
    notes = dict(re.findall(r"^    (\w+): [^#\n]*#\s*(.+)$", inspect.getsource(kind), re.MULTILINE))
    docstring = " ".join((inspect.getdoc(kind) or "").split())
    parts = re.split(rf"(?:^|(?<=[.;] ))((?:(?:{'|'.join(names)})(?:, )?)+): ", docstring)
    for fields, text in zip(parts[1::2], parts[2::2], strict=True):
        notes |= {name: text.strip() for name in fields.split(", ") if name not in notes}
    return {name: notes[name] for name in names if name in notes}


# --- Python


def python_pages() -> list[str]:
    """Directives that show every public name of `tracehouse`, by module."""
    lines = []
    shown = []
    for module, heading in PYTHON_MODULES.items():
        of_module = [
            name for name in tracehouse.__all__ if getattr(tracehouse, name).__module__ == f"tracehouse.{module}"
        ]
        shown += of_module
        lines += ["", f"## {heading}", "", *directives(of_module)]
    left = sorted(set(tracehouse.__all__) - set(shown))
    if left != sorted(ERRORS):
        raise ValueError(
            f"the page of the Python API does not show {', '.join(left)}: add its module to PYTHON_MODULES"
        )
    return [*lines, "", "## Errors", "", *directives(left)]


def directives(names: Iterable[str]) -> list[str]:
    """Directives of autodoc for names of `tracehouse`."""
    lines = ["```{eval-rst}"]
    for name in names:
        is_class = isinstance(getattr(tracehouse, name), type)
        lines += [f".. auto{'class' if is_class else 'function'}:: tracehouse.{name}"]
        lines += ["   :members:"] * is_class + [""]
    return [*lines, "```"]


GENERATED: dict[str, Callable[[], list[str]]] = {
    "tables": table_pages,
    "commands": command_pages,
    "shared_keys": shared_key_pages,
    "answers": answer_pages,
    "assets": asset_pages,
    "catalogue": catalogue_pages,
    "python": python_pages,
}
