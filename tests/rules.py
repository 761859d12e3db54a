"""Rules of how the code is written, as functions over the syntax trees; `python -m tests.rules [ROOM]` prints what breaks them."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
ROOMS = ("assets", "models", "papers", "pipelines", "simulator", "sql", "traces", "tracehouse", "warehouse")
MOST_LINES = 59
MOST_PARAMETERS = 8
MOST_FILE_LINES = 420
MOST_FILES = 15
ONE_FILE_EACH = "tracehouse/cli/commands"
"""A folder whose files are as many as the commands."""
MOST_FMT_SKIPS = 20
VAGUE_NAMES = ("found", "told", "known")
HEAVY = frozenset({"torch", "sklearn", "xgboost", "matplotlib"})
"""Packages that are imported inside the functions that need them, and so are the modules that import them."""
HEAVY_FOR_COMMANDS = HEAVY | {"dagster", "duckdb", "numba", "compilation", "polars", "scipy"}
"""For the command line, whose help must answer at once, and for the public face, whose import must; `compilation` loads numba."""

LAZY_FACE = "tracehouse"
"""The public face names its parts for type checkers, and imports each when one of its names is first asked for."""


class CodeBase:
    """The modules of the rooms: dotted name -> file and syntax tree."""

    def __init__(self, root: Path = PROJECT) -> None:
        self.root = root
        self.files: dict[str, Path] = {}
        for room in ROOMS:
            for file in sorted((root / room).rglob("*.py")):
                if "__pycache__" not in file.parts:
                    parts = file.relative_to(root).with_suffix("").parts
                    self.files[".".join(parts).removesuffix(".__init__")] = file
        self.trees = {name: ast.parse(file.read_text()) for name, file in self.files.items()}

    def functions(self, module: str) -> Iterator[tuple[str, ast.FunctionDef]]:
        """(qualified name, function) of every function and method, nested ones included."""
        yield from _functions_in(self.trees[module].body, "")


def _functions_in(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = f"{prefix}{node.name}"
            if isinstance(node, ast.FunctionDef):
                yield name, node
            yield from _functions_in(node.body, f"{name}.")


def long_functions(code: CodeBase) -> dict[str, int]:
    """module:function -> its lines, where there are too many."""
    return {
        f"{module}:{name}": function.end_lineno - function.lineno + 1  # type: ignore[operator]
        for module in code.trees
        for name, function in code.functions(module)
        if function.end_lineno - function.lineno + 1 > MOST_LINES  # type: ignore[operator]
    }


def wide_functions(code: CodeBase) -> dict[str, int]:
    """module:function -> its parameters, without self, where there are too many. Commands have one for each option."""
    counts = {}
    for module in code.trees:
        for name, function in code.functions(module):
            arguments = function.args
            names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
            count = len([x for x in names if x not in ("self", "cls")])
            is_command = any("click" in ast.unparse(decorator) for decorator in function.decorator_list)
            if count > MOST_PARAMETERS and not is_command:
                counts[f"{module}:{name}"] = count
    return counts


def undocumented_functions(code: CodeBase) -> list[str]:
    """Public functions, and public methods of public classes, without a docstring."""
    return [
        f"{module}:{name}"
        for module, tree in code.trees.items()
        for name, function in _public_functions(tree)
        if ast.get_docstring(function) is None
    ]


def _public_functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    yield f"{node.name}.{member.name}", member


def modules_without_tests(code: CodeBase) -> list[str]:
    """Modules with no test file of their name: tests/a/b/test_c.py, or test_c_aspect.py, for a.b.c. A file for several modules names them
    in its first line: "Tests of a/b: c, d." or "Tests of a: b/c, e.\""""
    missing = []
    for module, file in code.files.items():
        if file.name == "__init__.py":
            continue
        folder = code.root / "tests" / file.relative_to(code.root).parent
        own = [*folder.glob(f"test_{file.stem}.py"), *folder.glob(f"test_{file.stem}_*.py")]
        if not own and not _is_named(file.relative_to(code.root).with_suffix(""), code.root):
            missing.append(module)
    return missing


def _is_named(module: Path, root: Path) -> bool:
    """Whether a test file for several modules, of the module's folder or of one above it, names it."""
    for folder in module.parents:
        name = module.relative_to(folder).as_posix()
        named = [each for test in (root / "tests" / folder).glob("test_*.py") for each in _named_in(test, root)]
        if any(each == name or each.startswith(f"{name}_") for each in named):
            return True
    return False


@cache
def _named_in(test: Path, root: Path) -> list[str]:
    """What a test file for several modules names in its first sentence."""
    text = " ".join((ast.get_docstring(ast.parse(test.read_text())) or "").split())
    names = re.match(rf"Tests of {test.parent.relative_to(root / 'tests')}: ([a-z_/, ]+)\.", text)
    return names[1].split(", ") if names else []


def tests_without_modules(code: CodeBase) -> list[str]:
    """Test files in a room's folder whose name begins with no module of the mirrored folder, nor with that folder's own, or that name
    something else in their first line."""
    strays = []
    for room in ROOMS:
        for file in sorted((code.root / "tests" / room).rglob("test_*.py")):
            mirrored = code.root / file.parent.relative_to(code.root / "tests")
            modules = [module.relative_to(mirrored).with_suffix("") for module in mirrored.rglob("*.py")]
            stems = [module.as_posix() for module in modules] + [mirrored.name]
            for name in (file.stem.removeprefix("test_"), *_named_in(file, code.root)):
                if not any(name == stem or name.startswith(f"{stem}_") for stem in stems):
                    strays.append(str(file.relative_to(code.root)))
    return strays


def hidden_imports(code: CodeBase) -> list[str]:
    """First-party imports inside functions, or for type checkers only, of modules that load no heavy package."""
    hidden = []
    graph, packages = _import_graph(code)
    for module, tree in code.trees.items():
        if module == LAZY_FACE:
            continue
        heavy = HEAVY_FOR_COMMANDS if module.startswith(("tracehouse", "papers.reproduce")) else HEAVY
        at_top = {id(node) for node in _top_statements(tree.body)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and id(node) not in at_top and _room(node.module) in ROOMS:
                for target in _targets(node, code):
                    loaded = {package for name in _reachable(target, graph) for package in packages[name]}
                    if not loaded & heavy:
                        hidden.append(f"{module}:{node.lineno} {target}")
    return hidden


def _room(module: str | None) -> str:
    return (module or "").split(".")[0]


def _top_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.Try):
            yield from _top_statements(node.body)


def _targets(node: ast.ImportFrom, code: CodeBase) -> list[str]:
    names = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name if name in code.files else str(node.module) for name in names]


def _import_graph(code: CodeBase) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """(first-party modules, outside packages) that each module imports when it is loaded."""
    graph: dict[str, set[str]] = defaultdict(set)
    packages: dict[str, set[str]] = defaultdict(set)
    for module, tree in code.trees.items():
        for node in _top_statements(tree.body):
            if isinstance(node, ast.ImportFrom) and _room(node.module) in ROOMS:
                graph[module] |= set(_targets(node, code))
            elif isinstance(node, ast.ImportFrom):
                packages[module].add(_room(node.module))
            elif isinstance(node, ast.Import):
                packages[module] |= {_room(alias.name) for alias in node.names}
    return graph, packages


def _reachable(module: str, graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph[name]
    return seen


def repeated_names(code: CodeBase) -> dict[str, list[str]]:
    """Public class, function or constant -> the modules that define it, where there are several."""
    places: dict[str, list[str]] = defaultdict(list)
    for module, tree in code.trees.items():
        # the face has the words of what it calls: replay, compare, leaderboard
        if module.startswith(LAZY_FACE) and not module.startswith(f"{LAZY_FACE}.cli"):
            continue
        for node in tree.body:
            names = []
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Assign):
                names = [t.id for t in node.targets if isinstance(t, ast.Name) and t.id.isupper()]
            for name in names:
                if not name.startswith("_"):
                    places[name].append(module)
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def vague_names(code: CodeBase) -> dict[str, int]:
    """module -> how often a variable, parameter or field has a name that says neither role nor type."""
    counts: dict[str, int] = {}
    for module, tree in code.trees.items():
        stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        stored += [n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)]
        count = sum(name in VAGUE_NAMES for name in stored)
        if count:
            counts[module] = count
    return counts


def large_files(code: CodeBase) -> dict[str, int]:
    """module -> its lines, where there are too many."""
    lines = {module: len(file.read_text().splitlines()) for module, file in code.files.items()}
    return {module: count for module, count in lines.items() if count > MOST_FILE_LINES}


def crowded_folders(code: CodeBase) -> dict[str, int]:
    """folder -> its modules, where there are too many."""
    counts: dict[str, int] = defaultdict(int)
    for file in code.files.values():
        if file.name != "__init__.py":
            counts[str(file.parent.relative_to(code.root))] += 1
    return {folder: count for folder, count in counts.items() if count > MOST_FILES and folder != ONE_FILE_EACH}


def unformatted(code: CodeBase) -> dict[str, int]:
    """module -> statements that are kept from the formatter."""
    counts = {module: len(re.findall(r"# fmt: (?:skip|off)", file.read_text())) for module, file in code.files.items()}
    return {module: count for module, count in counts.items() if count}


def misplaced_assets(code: CodeBase) -> list[str]:
    """Assets `GROUP/NAME` that are neither in `assets/GROUP/NAME.py` nor in `NAME.py` of a paper."""
    wrong = []
    for module, file in code.files.items():
        for key in re.findall(r'^@asset(?:_of_parts)?\(\s*"?([\w.]+)', file.read_text(), re.MULTILINE):
            if module != f"assets.{key}" and not (module.startswith("papers.") and file.stem == key.split(".")[-1]):
                wrong.append(f"{module}: {key.replace('.', '/')}")
    return wrong


def main() -> None:
    code = CodeBase()
    room = sys.argv[1] if len(sys.argv) > 1 else ""
    for check in (
        long_functions, wide_functions, undocumented_functions, modules_without_tests, tests_without_modules, hidden_imports,
        repeated_names, vague_names, large_files, crowded_folders, unformatted, misplaced_assets,
    ):  # fmt: skip
        broken = check(code)
        lines = [f"{k} {v}" for k, v in broken.items()] if isinstance(broken, dict) else broken
        lines = [line for line in lines if room.replace("/", ".") in line.replace("/", ".")]
        print(f"\n{check.__name__}: {len(lines)}", *lines, sep="\n  ")


if __name__ == "__main__":
    main()
