"""What the reference says of the code, from the code: `python -m docs.reference_pages` writes it into the pages.

It is between the lines `<!-- generated: NAME -->` and `<!-- end of NAME -->` of a page, NAME one of GENERATED, so that a page can be read
in the checkout, too. As a Sphinx extension this also writes what the site has in its place, where that is more: see ON_SITE.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import click
import dagster as dg
import duckdb
from pydantic import BaseModel

import tracehouse
from pipelines.definitions import build_definitions
from tracehouse.cli.main import COMMANDS, load_command, main
from traces.catalogue.catalogue import Readers, VaspSource
from traces.catalogue.sources import Source
from traces.synthetic.centre import CentreOptions
from traces.synthetic.workload import WorkloadOptions
from traces.vasp.synthetic import SyntheticOptions
from warehouse.schema import SCHEMAS, create_schema

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGES = Path(__file__).parent / "reference"
BLOCK = re.compile(r"^<!-- generated: (\w+) -->\n(?:.*?^<!-- end of \1 -->\n)?", re.MULTILINE | re.DOTALL)
JSON_KEYS = tomllib.loads(Path(__file__).with_name("json_keys.toml").read_text())
"""What answers have: `shared`, the meaning of each key that they share, and `answers`, the keys of each command."""
HELP_WIDTH = 100
"""Letters of a line of a command's help."""
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
    """Puts what the site shows into the text of a page, which is the one entry of `source`. Raises KeyError for an unknown name."""
    source[0] = BLOCK.sub(lambda mark: "\n".join((GENERATED | ON_SITE)[mark[1]]()) + "\n", source[0])


def generated_page(text: str) -> str:
    """The text of a page with its generated parts as the code has them now. Raises KeyError for an unknown name."""

    def block(mark: re.Match[str]) -> str:
        lines = re.sub(r"\n{3,}", "\n\n", "\n".join(GENERATED[mark[1]]()).strip())
        return f"<!-- generated: {mark[1]} -->\n\n{lines}\n\n<!-- end of {mark[1]} -->\n"

    return BLOCK.sub(block, text)


def write_pages() -> list[Path]:
    """Brings all pages up to date. Returns those that were not."""
    written = []
    for page in sorted(PAGES.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = generated_page(text)
        if new != text:
            page.write_text(new, encoding="utf-8")
            written.append(page)
    return written


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


def relations_of(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], tuple[str, str]]:
    """(schema, name) of every table and view -> (its comment, "table" or "view")."""
    return {
        row[:2]: (row[2] or "", row[3])
        for kind in ("table", "view")
        for row in connection.execute(
            f"SELECT schema_name, {kind}_name, comment, '{kind}' FROM duckdb_{kind}s() WHERE NOT internal"
        ).fetchall()
    }


def table_list() -> list[str]:
    """All tables and views by schema, with what each is, and where their columns are."""
    with duckdb.connect(":memory:") as connection:
        create_schema(connection)
        relations = relations_of(connection)
    lines = []
    for schema in SCHEMAS:
        rows = [
            (code(f"{schema}.{name}"), ("A view. " if kind == "view" else "") + text_of(comment))
            for (of_schema, name), (comment, kind) in sorted(relations.items())
            if of_schema == schema
        ]
        files = [f"sql/{kind}s/{schema}.sql" for kind in ("table", "view")]
        links = [f"[{file}](../../{file})" for file in files if (PAGES.parents[1] / file).is_file()]
        lines += ["", f"## {schema}", "", f"{ABOUT_SCHEMAS[schema]} Columns: {', '.join(links)}."]
        lines += table(("table", "what it has"), rows)
    return lines


def table_pages() -> list[str]:
    """All tables and views by schema, with their columns, from the comments that every warehouse has in it."""
    with duckdb.connect(":memory:") as connection:
        create_schema(connection)
        relations = relations_of(connection)
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
                    ("A view. " if kind == "view" else "") + text_of(comment),
                ]
                lines += table(("column", "type", "meaning"), columns[schema, name])
    return lines


# --- commands


def command_list() -> list[str]:
    """A list of all commands."""
    return table(
        ("command", "what it does"),
        [(f'<a href="#tracehouse-{name}">{name}</a>', about) for name, about in sorted(COMMANDS.items())],
    )


def shared_key_pages() -> list[str]:
    """The keys that answers of all commands share."""
    return table(("key", "meaning"), [(code(key), text_of(meaning)) for key, meaning in JSON_KEYS["shared"].items()])


def answer_pages() -> list[str]:
    """The commands that print JSON, with their keys."""
    rows = [(code(name), ", ".join(code(key) for key in keys)) for name, keys in sorted(JSON_KEYS["answers"].items())]
    return table(("command", "keys"), rows)


def command_help() -> list[str]:
    """The list, and what `--help` prints of each command."""
    lines = command_list()
    for name in sorted(COMMANDS):
        lines += help_of(load_command(name), f"tracehouse {name}", "##")
    return lines


def help_of(command: click.Command, called: str, heading: str) -> list[str]:
    """The help of a command below a heading, and of those in it. called: the words by which it is called."""
    widths = {"terminal_width": HELP_WIDTH, "max_content_width": HELP_WIDTH}
    names = main.context_settings["help_option_names"]  # as in the shell, where it is a part of `tracehouse`
    command = copy.copy(command)
    command._help_option = None  # click keeps what it made for the first context, which need not have these names
    context = click.Context(command, info_name=called, help_option_names=names, **widths)
    lines = ["", f"{heading} {called}", "", "```text", command.get_help(context), "```"]
    for name, inner in sorted(command.commands.items() if isinstance(command, click.Group) else ()):
        lines += help_of(inner, f"{called} {name}", f"{heading}#")
    return lines


def command_pages() -> list[str]:
    """The list, below which sphinx-click shows each command."""
    directive = [".. click:: tracehouse.cli.main:main", "   :prog: tracehouse", "   :nested: full"]
    return [*command_list(), "```{eval-rst}", *directive, "```"]


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


def public_names() -> Iterator[tuple[str, list[str]]]:
    """(module, "" for errors, its public names), in the order of the page. Raises ValueError for names of no module that is shown."""
    shown = []
    for module in PYTHON_MODULES:
        of_module = [
            name for name in tracehouse.__all__ if getattr(tracehouse, name).__module__ == f"tracehouse.{module}"
        ]
        shown += of_module
        yield module, of_module
    left = sorted(set(tracehouse.__all__) - set(shown))
    if left != sorted(ERRORS):
        raise ValueError(
            f"the page of the Python API does not show {', '.join(left)}: add its module to PYTHON_MODULES"
        )
    yield "", left


def python_list() -> list[str]:
    """Every public name of `tracehouse` with what it is, by module, and where that is."""
    lines = []
    for module, names in public_names():
        lines += ["", f"## {PYTHON_MODULES.get(module, 'Errors')}", ""]
        if module:
            file = f"tracehouse/{module.replace('.', '/')}.py"
            lines += [f"Arguments, results and examples: `help(tracehouse.{names[0]})`, or [{file}](../../{file})."]
        about = [(inspect.getdoc(getattr(tracehouse, name)) or "").split("\n\n")[0] for name in names]
        lines += table(
            ("name", "what it is"), [(code(name), text_of(text)) for name, text in zip(names, about, strict=True)]
        )
    return lines


def python_pages() -> list[str]:
    """Directives that show every public name of `tracehouse`, by module."""
    lines = []
    for module, names in public_names():
        lines += ["", f"## {PYTHON_MODULES.get(module, 'Errors')}", "", *directives(names)]
    return lines


def directives(names: Iterable[str]) -> list[str]:
    """Directives of autodoc for names of `tracehouse`."""
    lines = ["```{eval-rst}"]
    for name in names:
        is_class = isinstance(getattr(tracehouse, name), type)
        lines += [f".. auto{'class' if is_class else 'function'}:: tracehouse.{name}"]
        lines += ["   :members:"] * is_class + [""]
    return [*lines, "```"]


GENERATED: dict[str, Callable[[], list[str]]] = {
    "tables": table_list,
    "commands": command_help,
    "shared_keys": shared_key_pages,
    "answers": answer_pages,
    "assets": asset_pages,
    "catalogue": catalogue_pages,
    "python": python_list,
}
"""What is written into the pages. Each is Markdown."""
ON_SITE: dict[str, Callable[[], list[str]]] = {
    "tables": table_pages,
    "commands": command_pages,
    "python": python_pages,
}
"""What the site has instead: all columns, and what Sphinx makes of commands and of docstrings."""

if __name__ == "__main__":
    for page in write_pages():
        print(f"{page.relative_to(PAGES.parents[1])}: written again")
