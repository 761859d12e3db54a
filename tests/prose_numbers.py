"""How many numbers a sentence has, for the checker of prose: a sentence with more than two should be a table.

Counted are numbers in digits. What only looks like one, or belongs to a name, is not counted: see NO_NUMBERS.
Several numbers that say one thing, as a range does, are counted once: see ONE_NUMBER.
"""

from __future__ import annotations

import re

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
