"""A checker of prose: pages, and the docstrings, comments and messages of product code, comments of SQL too.

`python -m tests.prose` compares every file with the exceptions in `tests/prose_exceptions.toml`. That list may only shrink:
a file fails with more faults than its number, and also with fewer, until the number is lowered.

    python -m tests.prose             check everything, as `make lint` does
    python -m tests.prose FILE ...    print every fault of these files, excepted or not
    python -m tests.prose --update    lower the numbers to what the files have now; never raises one
    python -m tests.prose --init      write the list afresh, after a merge of many branches

The wrong variants of terms are in `docs/glossary.md`, and only there.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.prose_passages import (
    Passage,
    cleaned,
    numbers,
    passages_of_module,
    passages_of_page,
    passages_of_statement,
    sentences,
    words,
)
from tests.rules import PROJECT, ROOMS

GLOSSARY = "docs/glossary.md"
EXCEPTIONS = PROJECT / "tests" / "prose_exceptions.toml"
CODE_ROOMS = tuple(dict.fromkeys((*ROOMS, "compilation")))
MOST_WORDS_ON_AVERAGE = 20
MOST_WORDS = 40
FEWEST_SENTENCES = 5
"""A file with fewer sentences has no average."""
FEWEST_WORDS = 4
"""Shorter fragments, as comments beside a line of code are, do not count in the average."""
WORDS_PER_SEMICOLON = 100
"""Two semicolons are free; a long text may have one for so many words."""
MOST_COLONS = 1
"""Of colons and semicolons in one sentence."""
MOST_NUMBERS = 2
"""Of numbers in one sentence. An item of a list, or a note on a column, that is one sentence is a row and may have more."""

BANNED_PHRASES = {
    r"(?:is|are|was|were) told": "has, is reported, is shown",
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
    r"scheduler (?:then )?believe[sd]?": "the estimate is, the scheduler uses",
    r"made again": "recomputed",
    r"goes on on": "continues on",
}
"""Pattern -> what to write instead (STYLE: "Say it the usual way")."""

KINDS = {
    "average": "sentences too long on average",
    "long": f"sentences of more than {MOST_WORDS} words",
    "semicolons": "too many semicolons",
    "chains": "chains of colons and semicolons",
    "brackets": "brackets in brackets",
    "numbers": f"sentences with more than {MOST_NUMBERS} numbers",
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


def read_glossary(text: str) -> list[Term]:
    """The rows of the glossary's table: term, definition, wrong variants in italics."""
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.*?) \| (.*?) \|$", text, re.MULTILINE)
    return [Term(name, definition, tuple(re.findall(r"\*(.+?)\*", wrong))) for name, definition, wrong in rows]


# --- what is wrong


def faults_in(passages: list[Passage], terms: list[Term]) -> list[Fault]:
    """All faults of a file, by line."""
    faults: list[Fault] = []
    counts = []
    semicolons: list[int] = []
    for passage in passages:
        text = cleaned(passage.text)
        faults += _wrong_words(passage, text, terms)
        if passage.is_prose:
            faults += _nested_brackets(passage, text)
            semicolons += [passage.line_at(match.start()) for match in re.finditer(";", text)]
            parts = sentences(text)
            for start, sentence in parts:
                counts.append(words(sentence))
                begin = " ".join(passage.text[start : start + 80].replace("*", "").split()[:6])
                faults += _long_or_chained(passage.line_at(start), sentence, begin)
                if len(parts) > 1 or not passage.is_item:
                    faults += _too_many_numbers(passage.line_at(start), sentence, begin)
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


LABEL = re.compile(r"\A(?:\S+ ){0,2}\S+:\s")
"""One to three words and a colon at the beginning: the name of a field, or whom a message is about."""


def _long_or_chained(line: int, sentence: str, begin: str) -> Iterator[Fault]:
    if words(sentence) > MOST_WORDS:
        advice = f'{words(sentence)} words; expected {MOST_WORDS} at most: split the sentence "{begin} ..."'
        yield Fault("long", line, advice)
    marks = len(re.findall(r";|:(?=\s)", LABEL.sub("", sentence.rstrip(":"))))
    if marks > MOST_COLONS:
        advice = f'{marks} colons and semicolons; expected {MOST_COLONS}: write sentences, or a list, "{begin} ..."'
        yield Fault("chains", line, advice)


def _too_many_numbers(line: int, sentence: str, begin: str) -> Iterator[Fault]:
    count = numbers(sentence)
    if count > MOST_NUMBERS:
        advice = f'{count} numbers; expected {MOST_NUMBERS} at most: make a table, or leave some out, "{begin} ..."'
        yield Fault("numbers", line, advice)


def _nested_brackets(passage: Passage, text: str) -> Iterator[Fault]:
    """Brackets in brackets. Those of a call or an index, as in f(x), and shapes, as (jobs, 8), do not count."""
    is_of_prose: list[bool] = []
    text = re.sub(r"\(\w+,(?: \w+,)*(?: \w+)?\)", lambda match: "X" * len(match.group()), text)
    for offset, character in enumerate(text):
        if character in "([":
            is_of_prose.append(not text[:offset][-1:].strip())
            if is_of_prose[-1] and any(is_of_prose[:-1]):
                advice = "a bracket in a bracket; expected one at most: write a sentence of its own"
                yield Fault("brackets", passage.line_at(offset), advice)
        elif character in ")]" and is_of_prose:
            is_of_prose.pop()


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
    """README, pages of docs/, and modules and statements of the product's rooms."""
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    code = [
        file for room in CODE_ROOMS for file in sorted((root / room).rglob("*.*")) if file.suffix in (".py", ".sql")
    ]
    return [file for file in pages + code if file.exists() and "__pycache__" not in file.parts]


def faults_of(file: Path, terms: list[Term]) -> list[Fault]:
    """All faults of a page, module or statement.

    The glossary has to name wrong variants, so there they are none. Notes on columns, in SQL, may have a semicolon each.
    """
    text = file.read_text()
    if file.suffix == ".py":
        return faults_in(passages_of_module(text), terms)
    if file.suffix == ".sql":
        return _without(("semicolons",), faults_in(passages_of_statement(text), terms))
    return _without(("terms", "phrases") if file.match(GLOSSARY) else (), faults_in(passages_of_page(text), terms))


def _without(kinds: tuple[str, ...], faults: list[Fault]) -> list[Fault]:
    return [fault for fault in faults if fault.kind not in kinds]


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
