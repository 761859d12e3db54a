"""What a function reaches: the functions, constants and statements that it names, and those that these name, as far as they are ours.

Texts are read, and nothing is imported. A function reaches a statement below sql/ by its name in a text, `"core.jobs_from_pbs"` or
`f"core.jobs_from_{log_format}"`, and a statement reaches the views that it reads. Tables are left out: what is in them is another asset's.
It reaches a template of the report by its name, and a template those that it names.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import sql

CODE_ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("assets", "models", "simulator", "traces", "warehouse", "compilation", "papers")
"""Whose code makes assets. What `sql` has is reached by name, and `pipelines` only starts assets."""
STATEMENTS = "sql"
"""The module of symbols that are statements."""
TEMPLATES = "assets/pages/look"
"""The module of symbols that are templates and styles."""
LOOSE = ""
"""The name of the symbol that has a module's other lines, such as a call at its top. All of a module's symbols reach them."""
_TEMPLATE_NAMES = re.compile(r'"(\w+\.(?:html|css))"')
_NAMES = re.compile(r"\b[a-z_]\w*(?:\.\w+)+\b")
_TOKENS = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|--[^\n]*|/\*.*?\*/|\w+|[^\w\s]""", re.DOTALL)


class Symbol(NamedTuple):
    """A function, class or constant of a module, or a statement below sql/."""

    module: str
    name: str


@dataclass(frozen=True)
class Part:
    """What one symbol is: a hash of its own text without comments, and what it reaches at once."""

    text: str
    reaches: frozenset[Symbol]


def reached_from(function: Symbol) -> set[Symbol]:
    """All that a function reaches, itself among them."""
    reached = {function}
    waiting = [function]
    while waiting:
        new = read_part(waiting.pop()).reaches - reached
        reached |= new
        waiting.extend(new)
    return reached


@cache
def read_part(symbol: Symbol) -> Part:
    """A symbol's own part. Of a name that a module only imports, or does not have, nothing but where it leads."""
    if symbol.module == STATEMENTS:
        text = essence(sql.load(symbol.name))
        return Part(digest_of([text]), frozenset(_views_in(text)) - {symbol})
    if symbol.module == TEMPLATES:
        text = (CODE_ROOT / TEMPLATES / symbol.name).read_text()
        return Part(digest_of([text]), frozenset(_templates_in(text)))
    module = _module(symbol.module)
    if symbol.name == LOOSE:
        return _read(module, module.loose)
    reaches = {Symbol(symbol.module, LOOSE)}
    if symbol.name in module.definitions:
        part = _read(module, module.definitions[symbol.name])
        return Part(part.text, part.reaches | reaches)
    if symbol.name in module.imports:
        reaches |= _target(module.imports[symbol.name])
    return Part("", frozenset(reaches))


@cache
def essence(statement: str) -> str:
    """The words and signs of a statement, without its comments, and one blank between them."""
    return " ".join(token for token in _TOKENS.findall(statement) if not token.startswith(("--", "/*")))


@dataclass
class _Module:
    """A module's text by symbol, and what its imported names are: (module, name), with None for the module itself."""

    name: str
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    loose: list[ast.stmt] = field(default_factory=list)


@cache
def _module(name: str) -> _Module:
    module = _Module(name)
    for statement in ast.parse(_file(name).read_bytes()).body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            module.definitions.setdefault(statement.name, []).append(statement)
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for node in (node for target in targets for node in ast.walk(target)):
                if isinstance(node, ast.Name):
                    module.definitions.setdefault(node.id, []).append(statement)
        elif not isinstance(statement, ast.Import | ast.ImportFrom) and not _is_text(statement):
            module.loose.append(statement)
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for node in ast.walk(statement):
                module.imports |= _imported(node)
    return module


def _imported(node: ast.AST) -> dict[str, tuple[str, str | None]]:
    """The names that an import statement of our code gives."""
    if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in ROOMS:
        names: dict[str, tuple[str, str | None]] = {}
        for each in node.names:
            whole = f"{node.module}.{each.name}"
            names[each.asname or each.name] = (whole, None) if _is_module(whole) else (node.module, each.name)
        return names
    if isinstance(node, ast.Import):
        return {
            each.asname or each.name: (each.name, None) for each in node.names if each.name.partition(".")[0] in ROOMS
        }
    return {}


def _target(imported: tuple[str, str | None]) -> set[Symbol]:
    """What a name stands for. A module that is used as a whole stands for all that it has."""
    module, name = imported
    if name is not None:
        return {Symbol(module, name)}
    return {Symbol(module, each) for each in (*_module(module).definitions, LOOSE)}


def _read(module: _Module, statements: list[ast.stmt]) -> Part:
    reader = _Reader(module)
    for statement in statements:
        reader.read(statement)
    return Part(digest_of(reader.words), frozenset(reader.reaches))


class _Reader:
    """Reads syntax trees into words without places and comments, and keeps what they name."""

    def __init__(self, module: _Module) -> None:
        self.module = module
        self.names = module.imports
        self.own: frozenset[str] = frozenset()  # names that the function binds, which hide those of the module
        self.words: list[str] = []
        self.reaches: set[Symbol] = set()

    def read(self, node: ast.AST) -> None:
        """One node and all below it."""
        if imported := _imported(node):
            self.names = self.names | imported  # from here on; a function that imports does so before it uses
        if isinstance(node, ast.Attribute) and self._attribute(node):
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self._name(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.reaches |= {*_statements_in(node.value), *_templates_in(f'"{node.value}"')}
            if node.value.startswith("papers.") and _is_module(node.value):  # of simulator.published
                self.reaches |= _target((node.value, None))
        elif isinstance(node, ast.JoinedStr):
            self.reaches |= set(_statements_like(node))
        self.words.append(type(node).__name__)
        outer = self.own
        for name in node._fields:  # not `ast.dump`, which writes empty fields in some versions of Python
            if name == "body":
                self.own = outer | _bound_in(node)
            value = getattr(node, name, None)
            if name == "ctx" or value in (None, []):
                continue
            self.words.append(name)
            for each in value if isinstance(value, list) else [value]:
                if not isinstance(each, ast.AST):
                    self.words.append(repr(each))
                elif not _is_text(each) and not _is_aside(each):
                    self.read(each)
        self.own = outer

    def _attribute(self, node: ast.Attribute) -> bool:
        """Whether the node is `module.name` of a module of ours."""
        parts, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id in self.own:
            return False
        parts.append(inner.id)
        parts.reverse()
        for count in range(len(parts) - 1, 0, -1):
            module, name = self.names.get(".".join(parts[:count]), (None, ""))
            if module is not None and name is None:
                self.reaches.add(Symbol(module, parts[count]))
                self.words.append(f"{module}.{'.'.join(parts[count:])}")
                return True
        return False

    def _name(self, name: str) -> None:
        if name in self.own:
            return
        if name in self.names:
            self.reaches |= _target(self.names[name])
        elif name in self.module.definitions:
            self.reaches.add(Symbol(self.module.name, name))


def _bound_in(node: ast.AST) -> frozenset[str]:
    """The names that a function binds: parameters, and what it assigns."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return frozenset()
    inside = list(ast.walk(node))
    assigned = {each.id for each in inside if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return frozenset(assigned | {each.arg for each in inside if isinstance(each, ast.arg)})


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a text alone, which is a comment."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_aside(node: ast.AST) -> bool:
    """Whether it is what an asset, check or setting says of itself, or which assets it is made from: they have their own versions."""
    return isinstance(node, ast.keyword) and node.arg in ("description", "deps")


def _statements_in(text: str) -> Iterator[Symbol]:
    """The statement that a text is the name of, or the views that it reads as a statement."""
    if text in _reachable_statements():
        yield Symbol(STATEMENTS, text)
    elif " " in text:
        yield from _views_in(text)


def _templates_in(text: str) -> Iterator[Symbol]:
    """The templates and styles that stand as names between quotes."""
    for name in _TEMPLATE_NAMES.findall(text):
        if (CODE_ROOT / TEMPLATES / name).is_file():
            yield Symbol(TEMPLATES, name)


def _views_in(statement: str) -> Iterator[Symbol]:
    for name in set(_NAMES.findall(statement.replace(" . ", "."))):
        if name in _views():
            yield Symbol(STATEMENTS, name)


def _statements_like(text: ast.JoinedStr) -> Iterator[Symbol]:
    """The statements whose name a text with gaps may be."""
    parts = [part.value if isinstance(part, ast.Constant) else None for part in text.values]
    if not isinstance(parts[0] if parts else None, str) or "." not in str(parts[0]) or " " in str(parts[0]):
        return
    pattern = re.compile("".join(r"\w+" if part is None else re.escape(str(part)) for part in parts))
    for name in _reachable_statements():
        if pattern.fullmatch(name):
            yield Symbol(STATEMENTS, name)


@cache
def _views() -> frozenset[str]:
    return frozenset(sql.names("views"))


@cache
def _reachable_statements() -> frozenset[str]:
    return frozenset(sql.names()) - frozenset(sql.names("tables"))


@cache
def _is_module(name: str) -> bool:
    place = CODE_ROOT.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def _file(module: str) -> Path:
    place = CODE_ROOT.joinpath(*module.split("."))
    package = place / "__init__.py"
    return package if package.is_file() else place.with_suffix(".py")


def digest_of(words: list[str]) -> str:
    """A short hash of words in this order."""
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
