"""Prose as the checker reads it: passages of pages, modules and statements, cleaned of code and marks, and their sentences.

How many numbers a sentence has, for the checker of prose: a sentence with more than two should be a table.

Counted are numbers in digits. What only looks like one, or belongs to a name, is not counted: see NO_NUMBERS.
Several numbers that say one thing, as a range does, are counted once: see ONE_NUMBER.
"""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Passage:
    """A paragraph, list item, docstring paragraph, comment or message.

    text: lines joined by line breaks. lines: of each line of the text, its number in the file. is_prose: False for headings
    and rows of tables, whose words are checked but not counted. is_item: whether it is an item of a list,
    or the note on a column of a table.
    """

    text: str
    lines: tuple[int, ...]
    is_prose: bool = True
    is_item: bool = False

    def line_at(self, offset: int) -> int:
        """The number in the file of the line that holds a character of the text."""
        ends = [match.start() for match in re.finditer("\n", self.text)]
        return self.lines[bisect_left(ends, offset)]


LIST_ITEM = re.compile(r"(?:[-*+]|\d+\.)\s+")


def passages_of_page(text: str, first_line: int = 1) -> list[Passage]:
    """Passages of a Markdown text, without front matter, blocks of code and pictures that stand alone."""
    passages: list[Passage] = []
    pending: list[tuple[int, str]] = []
    is_item = False

    def finish() -> None:
        if pending:
            passages.append(replace(_joined(pending), is_item=is_item))
            pending.clear()

    for number, line in _lines_without_code(text, first_line):
        stripped = line.strip()
        item = LIST_ITEM.match(stripped)
        if not stripped or item or stripped[0] in "|#":
            finish()
            is_item = bool(item)
        if stripped and stripped[0] in "|#":
            passages.append(Passage(stripped, (number,), is_prose=False))
        elif stripped:
            pending.append((number, stripped[item.end() :] if item else stripped.lstrip("> ")))
    finish()
    return passages


AS_IT_IS = "\b"
"""click's mark of a paragraph whose lines the help shows unchanged: examples and tables."""


def _lines_without_code(text: str, first_line: int) -> Iterator[tuple[int, str]]:
    """(number, line). Lines of code, of front matter, and what the help of a command shows as it is, come as empty ones."""
    fence = ""
    is_example = is_indented = is_list = False
    before = ""
    lines = text.split("\n")
    front = lines.index("---", 1) if lines[0] == "---" and "---" in lines[1:] else -1
    is_generated = False
    for index, line in enumerate(lines):
        stripped = line.strip()
        is_generated = stripped.startswith("<!-- generated: ") or (is_generated and not stripped.startswith("<!-- end"))
        if is_generated:  # of the code, where it is checked
            line, stripped = "", ""
        if stripped and not line.startswith(" "):
            is_list = bool(LIST_ITEM.match(stripped))
        opening = re.match(r"```+|~~~+", stripped)
        is_example = bool(stripped) and (is_example or stripped.startswith(">>>") or line.strip(" ") == AS_IT_IS)
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


def passages_of_statement(text: str) -> list[Passage]:
    """Comments of a SQL statement, which become those of the tables and columns in the database."""
    passages: list[Passage] = []
    pending: list[tuple[int, str]] = []
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        code, _, comment = re.sub(r"'[^']*'", "''", line).partition("--")
        if re.fullmatch(r" \[\w+\]", comment):  # the name of the statement
            comment = ""
        if pending and (code.strip() or not comment):
            passages.append(_joined(pending))
            pending = []
        if comment.strip() and code.strip():
            passages.append(Passage(comment.strip(), (number,), is_item=True))
        elif comment.strip():
            pending.append((number, comment.strip()))
    return passages


def _joined(lines: list[tuple[int, str]]) -> Passage:
    return Passage("\n".join(line for _, line in lines), tuple(number for number, _ in lines))


def cleaned(text: str) -> str:
    """The text with code and addresses as one word each, and without comments and marks of emphasis and links. The length stays."""
    text = re.sub(r"(`+)(?!`).+?\1", lambda match: "X" * len(match.group()), text, flags=re.DOTALL)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", lambda match: " " * len(match.group()), text)
    text = re.sub(
        r"\[([^\[\]]*)\]\([^)\s]*\)", lambda m: f" {m[1]}".ljust(len(m[0])) if m[1] else " " * len(m[0]), text
    )
    text = re.sub(r"https?://[^\s)>,]*[^\s)>,.;:]", lambda match: "X" * len(match.group()), text)
    text = re.sub(r"</?\w[^>\n]*>|<!--.*?-->", lambda match: re.sub(r".", " ", match.group()), text, flags=re.DOTALL)
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


# --- prose numbers


MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:tember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
NUMBERED_PART = (
    r"(?:sections?|secs?\.?|§|chapters?|appendix|equations?|eqs?\.?|figures?|figs?\.?|tables?|algorithms?|alg\.?|pages?"
    r"|lines?|columns?|fields?|rows?|steps?|rules?|theorems?|issues?|RFC|ISO|versions?|releases?|layouts?|schemas?"
    r"|Python|Polars|DuckDB|Dagster|Slurm|PBS|Linux|torch|numba|semantics)"
)
"""What has a number as its name: a part of a paper or of a file, or a version of a program."""

NO_NUMBERS = (
    r'"[^"]*"',  # what is quoted
    r"\b(?:[Ss]uch as|[Ff]or example)\b[^;:()]*",  # examples of what may be written
    rf"\b\d{{1,2}}\.? {MONTH}(?: \d{{4}})?\b|\b{MONTH} \d{{1,2}}(?:, \d{{4}})?\b|\b{MONTH} \d{{4}}\b",  # 5 March 2020
    r"\b\d{4}-\d{2}(?:-\d{2})?(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?\b",  # 2020-03-05 12:30
    r"\b\d{1,2}:\d{2}(?::\d{2})?\b",  # 12:30
    r"(?<![\w.,-])(?:19|20)\d{2}(?![\w%]|[.,]\d)(?: ?[-\u2013] ?(?:19|20)?\d{2}(?!\w))?",  # 1999, 1999-2001
    rf"(?i:{NUMBERED_PART})\s+\(?\d[\w.]*(?:(?:, | and | to |-|\u2013)\d[\w.]*)*",  # section 4.2, equations 3 to 5
    r"\b\d+\.\d+\.\d[\w.]*",  # 2.13.0
    r"\[\d+\]",  # [3], a reference
    r"\b\d+(?:st|nd|rd|th)\b",  # 95th percentile
    r"\b\d+-bit\b",
    r"\b95 ?% (?=(?:confidence )?interval)",  # a term: which interval it is
    r"\b[^\W\d_][\w.+*/=:-]*\d[\w.+*/=:-]*",  # H100, float64, Lublin-1, nodes=2:ppn=12
)
"""Patterns of what holds digits, but is no number of its own."""

NUMBER = r"(?<![\w.])[-+\u2212]?\d+(?:[ ,\u202f]\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?:\^-?\d+)?"
UNIT = r"(?:\s?(?:%|[a-zA-Z\u00b5]{1,3}))?"
ONE_NUMBER = (
    rf"[\[(]{NUMBER}{UNIT}, {NUMBER}{UNIT}[\])]",  # [0, 1): an interval
    rf"\bbetween {NUMBER}{UNIT} and {NUMBER}",
    rf"{NUMBER}{UNIT}(?: ?(?:-|\u2013|\.\.\.?|/|:|x|\u00d7|\u00b1|\+-) ?{NUMBER}|(?: to {NUMBER}))+",  # 1 to 4, 3 x 5, 2 +- 1
)
"""Patterns of several numbers that count as one."""


def numbers(sentence: str) -> int:
    """How many numbers a cleaned sentence has: without dates, names, versions and numbers of parts, and a range as one."""
    for pattern in NO_NUMBERS:
        sentence = re.sub(pattern, "X", sentence)
    for pattern in ONE_NUMBER:
        sentence = re.sub(pattern, "1", sentence)
    return len(re.findall(NUMBER, sentence))
