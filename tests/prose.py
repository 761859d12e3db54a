"""A checker of prose: pages, and the docstrings, comments and messages of product code.

`python -m tests.prose` compares every file with the exceptions in `tests/prose_exceptions.toml`. That list may only shrink:
a file fails with more faults than its number, and also with fewer, until the number is lowered.

    python -m tests.prose             check everything, as `make lint` does
    python -m tests.prose FILE ...    print every fault of these files, excepted or not
    python -m tests.prose --update    lower the numbers to what the files have now; never raises one
    python -m tests.prose --init      write the list afresh, after a merge of many branches

The wrong variants of terms stand in `docs/glossary.md`, and only there.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import textwrap
import tokenize
import tomllib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.rules import PROJECT, ROOMS

GLOSSARY = "docs/glossary.md"
EXCEPTIONS = PROJECT / "tests" / "prose_exceptions.toml"
CODE_ROOMS = (*ROOMS, "compilation")
MOST_WORDS_ON_AVERAGE = 20
MOST_WORDS = 45
FEWEST_SENTENCES = 5
"""A file with fewer sentences has no average."""
FEWEST_WORDS = 4
"""Shorter fragments, as comments beside a line of code are, do not count in the average."""
WORDS_PER_SEMICOLON = 100
"""Two semicolons are free; a long text may have one for so many words."""
MOST_COLONS = 1
"""Of colons and semicolons in one sentence."""

BANNED_PHRASES = {
    r"(?:is|are|was|were) told with": "has",
    r"in one piece": "the whole trace, as a whole",
    r"what learns believes": "the policy uses",
    r"(?:cannot|could not|can not) be told apart": "no significant difference",
    r"how far one replay is an accident": "variation between perturbed copies",
    r"anew": "again, recomputed",
    r"stand(?:s|ing)? in(?! for\b)": "is in",
    r"there and back": "and back",
    r"to and fro": "back and forth",
    r"beyond noise": "significantly (the 95 % interval excludes 0)",
    r"reckon(?:s|ed|ing)?": "assume, compute, use",
    r"fare[sd]?": "how good it was",
    r"the other way round": "and vice versa",
    r"by an accident": "by chance",
    r"gives? way": "is replaced",
}
"""Pattern -> what to write instead (STYLE: "Say it the usual way")."""

KINDS = {
    "average": "sentences too long on average",
    "long": f"sentences of more than {MOST_WORDS} words",
    "semicolons": "too many semicolons",
    "chains": "chains of colons and semicolons",
    "brackets": "brackets in brackets",
    "phrases": "banned phrases",
    "terms": "wrong variants of a term",
}


@dataclass(frozen=True)
class Term:
    """A row of the glossary."""

    name: str
    definition: str
    wrong_variants: tuple[str, ...]


@dataclass(frozen=True)
class Fault:
    """What is wrong at a line, and what to write instead. `kind` is a key of KINDS."""

    kind: str
    line: int
    advice: str


@dataclass(frozen=True)
class Passage:
    """A paragraph, list item, docstring paragraph, comment or message.

    text: lines joined by line breaks. lines: of each line of the text, its number in the file. is_prose: False for headings
    and rows of tables, whose words are checked but not counted.
    """

    text: str
    lines: tuple[int, ...]
    is_prose: bool = True

    def line_at(self, offset: int) -> int:
        """The number in the file of the line that holds a character of the text."""
        ends = [match.start() for match in re.finditer("\n", self.text)]
        return self.lines[bisect_left(ends, offset)]


# --- reading pages and modules


def read_glossary(text: str) -> list[Term]:
    """The rows of the glossary's table: term, definition, wrong variants in italics."""
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.*?) \| (.*?) \|$", text, re.MULTILINE)
    return [Term(name, definition, tuple(re.findall(r"\*(.+?)\*", wrong))) for name, definition, wrong in rows]


LIST_ITEM = re.compile(r"(?:[-*+]|\d+\.)\s+")


def passages_of_page(text: str, first_line: int = 1) -> list[Passage]:
    """Passages of a Markdown text, without front matter, blocks of code and pictures that stand alone."""
    passages: list[Passage] = []
    pending: list[tuple[int, str]] = []

    def finish() -> None:
        if pending:
            passages.append(Passage("\n".join(line for _, line in pending), tuple(number for number, _ in pending)))
            pending.clear()

    for number, line in _lines_without_code(text, first_line):
        stripped = line.strip()
        item = LIST_ITEM.match(stripped)
        if not stripped or item or stripped[0] in "|#":
            finish()
        if stripped and stripped[0] in "|#":
            passages.append(Passage(stripped, (number,), is_prose=False))
        elif stripped:
            pending.append((number, stripped[item.end() :] if item else stripped.lstrip("> ")))
    finish()
    return passages


def _lines_without_code(text: str, first_line: int) -> Iterator[tuple[int, str]]:
    """(number, line); lines of code and of front matter come as empty ones."""
    fence = ""
    is_example = is_indented = is_list = False
    before = ""
    lines = text.split("\n")
    front = lines.index("---", 1) if lines[0] == "---" and "---" in lines[1:] else -1
    for index, line in enumerate(lines):
        stripped = line.strip()
        if stripped and not line.startswith(" "):
            is_list = bool(LIST_ITEM.match(stripped))
        opening = re.match(r"```+|~~~+", stripped)
        is_example = bool(stripped) and (is_example or stripped.startswith(">>>"))
        is_indented = line.startswith("    ") and not is_list and (is_indented or not before)
        if opening and not fence:
            fence = opening.group()
        elif fence and stripped.startswith(fence):
            fence, line = "", ""
        yield first_line + index, "" if fence or is_example or is_indented or index <= front else line
        before = stripped


def passages_of_module(text: str) -> list[Passage]:
    """Docstrings, comments and messages of a Python module."""
    tree = ast.parse(text)
    passages = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            passages += passages_of_page(_with_fields_apart(node.value.value), node.lineno)
        else:
            passages += [Passage(message, (line,) * (message.count("\n") + 1)) for line, message in _messages(node)]
    return passages + list(_comments(text))


def _with_fields_apart(docstring: str) -> str:
    """Without indentation. A line that begins with `name:` begins a passage, as an item of a list does."""
    first, *others = docstring.split("\n")
    text = "\n".join([first, *textwrap.dedent("\n".join(others)).split("\n")]) if others else first
    return re.sub(r"^(\s*)(?=[A-Za-z_]\w*(?:, \w+)*: )", r"\1- ", text, flags=re.MULTILINE)


MESSAGE_CALLS = frozenset({"echo", "secho", "info", "warning", "error", "debug", "fail", "warn"})
MESSAGE_KEYWORDS = frozenset({"help", "description", "message", "reason"})


def _messages(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts that a statement or call shows to people: errors, what is printed, help of options, descriptions."""
    values: list[ast.expr] = []
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        values = list(node.exc.args)
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        values = list(node.args) if name in MESSAGE_CALLS else []
        values += [keyword.value for keyword in node.keywords if keyword.arg in MESSAGE_KEYWORDS]
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.lineno, value.value
        elif isinstance(value, ast.JoinedStr):
            yield value.lineno, "".join(str(p.value) if isinstance(p, ast.Constant) else "X" for p in value.values)


def _comments(text: str) -> Iterator[Passage]:
    """Comments; whole lines of comments below each other are one passage."""
    pending: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            number, column = token.start
            comment = re.sub(r"#\s*(?:type:|noqa|fmt:|pragma|!).*", "", token.string).lstrip("# ")
            is_alone = not token.line[:column].strip()
            if pending and not (is_alone and pending[-1][0] == number - 1):
                yield _joined(pending)
                pending = []
            if comment:
                pending.append((number, comment))
            if pending and not is_alone:
                yield _joined(pending)
                pending = []
    if pending:
        yield _joined(pending)


def _joined(lines: list[tuple[int, str]]) -> Passage:
    return Passage("\n".join(line for _, line in lines), tuple(number for number, _ in lines))


# --- what is wrong


def cleaned(text: str) -> str:
    """The text with code and addresses as one word each, and without marks of emphasis and links. The length stays."""
    text = re.sub(r"(`+)(?!`).+?\1", lambda match: "X" * len(match.group()), text, flags=re.DOTALL)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", lambda match: " " * len(match.group()), text)
    text = re.sub(
        r"\[([^\[\]]*)\]\([^)\s]*\)", lambda m: f" {m[1]}".ljust(len(m[0])) if m[1] else " " * len(m[0]), text
    )
    text = re.sub(r"https?://[^\s)>,]*[^\s)>,.;:]", lambda match: "X" * len(match.group()), text)
    text = re.sub(r"</?\w[^>\n]*>", lambda match: " " * len(match.group()), text)
    return re.sub(r"\*+", lambda match: " " * len(match.group()), text)


ABBREVIATIONS = ("e.g", "i.e", "al", "cf", "vs", "fig", "no", "approx", "sec", "eq")


def sentences(text: str) -> list[tuple[int, str]]:
    """(where it begins, sentence) of a cleaned text."""
    parts = []
    begin = 0
    for match in re.finditer(r"[.!?]+[\"')\]]*(?=\s|$)", text):
        last_word = re.split(r"[\s(]", text[begin : match.start()])[-1].lower()
        is_pause = match.group().startswith("..") and not re.match(r"\s+[A-Z]", text[match.end() :])
        if last_word not in ABBREVIATIONS and not is_pause:
            parts.append((begin, text[begin : match.end()]))
            begin = match.end()
    parts.append((begin, text[begin:]))
    return [(start + len(part) - len(part.lstrip()), part.strip()) for start, part in parts if part.strip()]


def words(sentence: str) -> int:
    """How many words a sentence has; a number is a word, a dash is none."""
    return len(re.findall(r"\S*\w\S*", sentence))


def faults_in(passages: list[Passage], terms: list[Term]) -> list[Fault]:
    """All faults of a file, by line."""
    faults = []
    counts = []
    semicolons: list[int] = []
    for passage in passages:
        text = cleaned(passage.text)
        faults += _wrong_words(passage, text, terms)
        if passage.is_prose:
            faults += _nested_brackets(passage, text)
            semicolons += [passage.line_at(match.start()) for match in re.finditer(";", text)]
            for start, sentence in sentences(text):
                counts.append(words(sentence))
                begin = " ".join(passage.text[start : start + 80].replace("*", "").split()[:6])
                faults += _long_or_chained(passage.line_at(start), sentence, begin)
    return sorted(faults + _faults_of_whole(counts, semicolons), key=lambda fault: (fault.line, fault.kind))


def _faults_of_whole(counts: list[int], semicolons: list[int]) -> list[Fault]:
    """Faults of averages, told at line 1 or where the first semicolon too many is."""
    faults = []
    long_enough = [count for count in counts if count >= FEWEST_WORDS]
    average = sum(long_enough) / max(len(long_enough), 1)
    if len(long_enough) >= FEWEST_SENTENCES and average > MOST_WORDS_ON_AVERAGE:
        advice = (
            f"{average:.1f} words a sentence; expected {MOST_WORDS_ON_AVERAGE} or fewer on average: one idea a sentence"
        )
        faults.append(Fault("average", 1, advice))
    most = max(2, sum(counts) // WORDS_PER_SEMICOLON)
    if len(semicolons) > most:
        advice = f"{len(semicolons)} semicolons in {sum(counts)} words; expected {most} or fewer: write two sentences"
        faults.append(Fault("semicolons", semicolons[most], advice))
    return faults


def _long_or_chained(line: int, sentence: str, begin: str) -> Iterator[Fault]:
    if words(sentence) > MOST_WORDS:
        advice = f'{words(sentence)} words; expected {MOST_WORDS} at most: split the sentence "{begin} ..."'
        yield Fault("long", line, advice)
    marks = len(re.findall(r";|:(?=\s)", sentence.rstrip(":")))
    if marks > MOST_COLONS:
        advice = f'{marks} colons and semicolons; expected {MOST_COLONS}: write sentences, or a list, "{begin} ..."'
        yield Fault("chains", line, advice)


def _nested_brackets(passage: Passage, text: str) -> Iterator[Fault]:
    depth = 0
    for offset, character in enumerate(text):
        depth = max(depth + (character in "([") - (character in ")]"), 0)
        if character in "([" and depth == 2:
            advice = "a bracket in a bracket; expected one at most: write a sentence of its own"
            yield Fault("brackets", passage.line_at(offset), advice)


def _wrong_words(passage: Passage, text: str, terms: list[Term]) -> Iterator[Fault]:
    flat = text.replace("\n", " ")
    for pattern, instead in BANNED_PHRASES.items():
        for match in re.finditer(rf"\b(?:{pattern})\b", flat, re.IGNORECASE):
            yield Fault("phrases", passage.line_at(match.start()), f'"{match.group()}"; write: {instead}')
    for term in terms:
        for variant in term.wrong_variants:
            for match in re.finditer(rf"\b{re.escape(variant)}s?\b", flat, re.IGNORECASE):
                advice = f'"{match.group()}"; the glossary\'s term is: {term.name}'
                yield Fault("terms", passage.line_at(match.start()), advice)


# --- the whole tree, and its exceptions


def checked_files(root: Path = PROJECT) -> list[Path]:
    """README, pages of docs/, and modules of the product's rooms."""
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    modules = [file for room in CODE_ROOMS for file in sorted((root / room).rglob("*.py"))]
    return [file for file in pages + modules if file.exists() and "__pycache__" not in file.parts]


def faults_of(file: Path, terms: list[Term]) -> list[Fault]:
    """All faults of a page or module. The glossary has to name wrong variants, so there they are none."""
    text = file.read_text()
    if file.suffix == ".py":
        return faults_in(passages_of_module(text), terms)
    is_glossary = file.match(GLOSSARY)
    return [
        fault
        for fault in faults_in(passages_of_page(text), terms)
        if not (is_glossary and fault.kind in ("terms", "phrases"))
    ]


Counts = Mapping[str, Mapping[str, int]]
"""File -> kind -> number of faults."""


def counts_of(faults: Mapping[str, list[Fault]]) -> dict[str, dict[str, int]]:
    """How many faults of each kind every file has; files without faults are left out."""
    return {file: dict(Counter(fault.kind for fault in own)) for file, own in faults.items() if own}


def differences(faults: Mapping[str, list[Fault]], allowed: Counts) -> list[str]:
    """Lines that say where a file has more faults than its number, or fewer. Empty where all is well."""
    lines = []
    counts = counts_of(faults)
    for file in sorted({*counts, *allowed}):
        for kind, what in KINDS.items():
            count, most = counts.get(file, {}).get(kind, 0), allowed.get(file, {}).get(kind, 0)
            if count > most:
                lines.append(f"{file}: {count} {what}, {most} allowed")
                lines += [f"  {file}:{fault.line}: {fault.advice}" for fault in faults[file] if fault.kind == kind]
            elif count < most:
                lines.append(f"{file}: {count} {what}, {most} in the list: lower it by python -m tests.prose --update")
    return lines


def lowered(allowed: Counts, counts: Counts) -> dict[str, dict[str, int]]:
    """The list of exceptions with every number at most what it was, and at most what the file has now."""
    numbers = {
        file: {kind: min(most, counts.get(file, {}).get(kind, 0)) for kind, most in kinds.items()}
        for file, kinds in allowed.items()
    }
    kept = {file: {kind: count for kind, count in kinds.items() if count} for file, kinds in numbers.items()}
    return {file: kinds for file, kinds in kept.items() if kinds}


def written(counts: Counts) -> str:
    """The list of exceptions as TOML, a line for each file."""
    lines = [
        "# Faults of prose that are excepted, by file and kind. Numbers may only fall: python -m tests.prose --update"
    ]
    for file in sorted(counts):
        numbers = ", ".join(f"{kind} = {counts[file][kind]}" for kind in KINDS if kind in counts[file])
        lines.append(f'"{file}" = {{ {numbers} }}')
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Checks the tree, or does what the options say; 1 where something is wrong."""
    terms = read_glossary((PROJECT / GLOSSARY).read_text())
    files = [Path(argument).resolve() for argument in arguments if not argument.startswith("--")]
    faults = {str(file.relative_to(PROJECT)): faults_of(file, terms) for file in files or checked_files()}
    if files:
        print(*(f"{file}:{fault.line}: {fault.advice}" for file, own in faults.items() for fault in own), sep="\n")
        return int(any(faults.values()))
    if "--init" in arguments:
        EXCEPTIONS.write_text(written(counts_of(faults)))
        return 0
    allowed = tomllib.loads(EXCEPTIONS.read_text())
    if "--update" in arguments:
        allowed = lowered(allowed, counts_of(faults))
        EXCEPTIONS.write_text(written(allowed))
    lines = differences(faults, allowed)
    print(*lines or [f"prose: {len(faults)} files, {len(allowed)} of them with exceptions"], sep="\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
