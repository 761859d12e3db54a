"""The text of a formula (simulator/formula/parsing.py): which characters it may have, how Python reads it, and errors that point at it."""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings

from simulator.formula.machine import MAX_DEPTH

MAX_LENGTH = 1000  # characters

# What people write for an operator, or what a word processor makes of one.
MEANT = {"^": "**", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "²": "**2", "³": "**3", "√": "sqrt(...)"}
MEANT |= {"≤": "<=", "≥": ">=", "≠": "!=", "&": "and", "|": "or", "~": "not", "[": "(", "{": "(", "]": ")", "}": ")"}
MEANT |= {"\xa0": "a plain blank", "?": "a if condition else b", ":": "a if condition else b"}

# What Python's parser says, and how we say it.
SYNTAX_ERRORS = (
    ("never closed", "this parenthesis is never closed", "Add the missing `)`."),
    ("unmatched", "this parenthesis closes nothing", "Remove it, or add the missing `(`."),
    ("'else'", "an `if` without an `else`", "Write `a if condition else b`."),
    ("literal", "this is not a number", "Numbers look like 2, 0.5 or 1e6. Write 2*procs, not 2procs."),
    ("comma", "an operator or a comma is missing in what begins here", "Write 2*procs, not 2 procs."),
)


class FormulaError(ValueError):
    """A formula that cannot be understood or computed. Its message shows the formula with a caret, what is wrong and what to do.

    text: the formula. column: of the caret, counted from 1. problem, remedy: what is wrong, what to do.
    """

    def __init__(self, text: str, column: int, problem: str, remedy: str) -> None:
        super().__init__(text, column, problem, remedy)
        self.text, self.column, self.problem, self.remedy = text, column, problem, remedy

    def __str__(self) -> str:
        start = max(0, self.column - 60)  # a long formula is shown around the caret only, on one line of a terminal
        end = start + 100
        before, after = "..." * (start > 0), "..." * (end < len(self.text))
        shown = "".join(letter if letter.isprintable() else "?" for letter in self.text[start:end])
        caret = " " * (len(before) + self.column - 1 - start) + "^"
        return f"{self.problem} (column {self.column})\n  {before}{shown}{after}\n  {caret}\n{self.remedy}"


def check_characters(text: str) -> None:
    """Raises FormulaError for a text that is empty or too long, or has a character that no formula has."""
    if not text:
        raise FormulaError(text, 1, "the formula is empty", "Write one, for example 10*eligible_time/walltime + ncpus.")
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            text,
            MAX_LENGTH + 1,
            f"the formula has {len(text)} characters",
            f"At most {MAX_LENGTH} are read: shorten it.",
        )
    if stray := re.search(r"[^A-Za-z0-9_ .,()+*/%<>=!-]", text):
        letter = stray.group()
        name = unicodedata.name(letter, "a character")
        shown = f"`{letter}`" if letter.isprintable() and letter.isascii() else f"{name} (U+{ord(letter):04X})"
        remedy = (
            f"Did you mean `{MEANT[letter]}`?" if letter in MEANT else "A formula has numbers, names and operators."
        )
        raise FormulaError(text, stray.start() + 1, f"{shown} does not belong in a formula", remedy)
    if assignment := re.search(r"(?<![<>=!])=(?!=)", text):
        raise FormulaError(text, assignment.start() + 1, "a formula cannot set a value", "To compare, write `==`.")


def syntax_tree(text: str) -> ast.expr:
    """What Python makes of the text. Raises FormulaError where Python cannot read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of "1if", which it understands
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise _syntax_error(text, error) from None
    except (ValueError, MemoryError, RecursionError):  # Python's own limits
        raise too_deep(text, 1) from None


def _syntax_error(text: str, error: SyntaxError) -> FormulaError:
    column = error.offset or len(text) + 1  # Python says 0 where something is missing at the end
    if "too many nested" in error.msg:
        return too_deep(text, column)
    for said, problem, remedy in SYNTAX_ERRORS:
        if said in error.msg:
            return FormulaError(text, column, problem, remedy)
    if column > len(text):
        return FormulaError(text, column, "the formula ends too early", "Finish it, or remove what comes last.")
    return FormulaError(
        text, column, "this does not belong here", "Operators stand between two values: 2*procs + wait."
    )


def too_deep(text: str, column: int) -> FormulaError:
    """What to raise for a formula with too many nested operations. column: of the caret, counted from 1."""
    remedy = f"At most {MAX_DEPTH} operations may be nested or in one chain: group a long sum in parentheses."
    return FormulaError(text, column, "the formula is nested too deeply", remedy)
