"""The checker of prose, on small texts, and the glossary that it reads."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests import prose
from tests.prose import Fault, Term
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

TERMS = [Term("wait", "The seconds from submission to start.", ("waiting time", "queue time"))]
GLOSSARY_TEXT = (prose.PROJECT / prose.GLOSSARY).read_text()


def kinds_of(page: str) -> list[str]:
    return [fault.kind for fault in prose.faults_in(passages_of_page(page), TERMS)]


def faults_of_module(text: str) -> list[Fault]:
    return prose.faults_in(passages_of_module(text), TERMS)


SENTENCE = "A job waits until enough processors are free. "
LONG = " ".join(["word"] * 41) + "."
LONGISH = " ".join(["word"] * 24) + ". "


@pytest.mark.parametrize(
    ("page", "kinds"),
    [
        (SENTENCE * 5, []),
        (LONG, ["long"]),
        (" ".join(["word"] * 40) + ".", []),
        (LONGISH * 4, []),
        (LONGISH * 5, ["average"]),
        (LONGISH * 5 + SENTENCE * 5, []),
        ("One; two; three.", ["chains"]),
        ("It has two parts: one is fast; one is slow.", ["chains"]),
        ("Three words before: one; two.", []),
        ("Three words before: one; two; three.", ["chains"]),
        ("One; two. Three; four. Five; six.", ["semicolons"]),
        ("It is slow (that is, slower (by half) than before).", ["brackets"]),
        ("It is slow (by half), and (later) fast.", []),
        ("The cost (a sum over f(x) and a[i (of all)]) falls.", ["brackets"]),
        ("The cost (a sum over f(x) and a[i]) falls in [a, b).", []),
        ("It has rows (of shape (jobs,), or (jobs, 8)).", []),
        ("Both cannot be told apart.", ["phrases"]),
        ("Each worker is told of it.", ["phrases"]),
        ("It stands in the table.", ["phrases"]),
        ("It stands in for the request.", []),
        ("The queue\ntimes are long.", ["terms"]),
        ("Waiting time matters.", ["terms"]),
    ],
)
def test_faults_of_a_page(page: str, kinds: list[str]) -> None:
    assert kinds_of(page) == kinds


@pytest.mark.parametrize(
    "page",
    [
        f"```text\n{LONG}\n```",
        f"```text\n{LONG}\nqueue time\n```",
        f"| column |\n| --- |\n| {LONG} |",
        f"So it is:\n\n    {LONG}\n    ([{{\n\nThen more.",
        f"# {LONG}",
        f"---\ntitle: {LONG}\n---\nShort.",
        f"`{LONG}` is code.",
        f"[a link](https://example.org/{'a-' * 60}) leads on.",
        f"https://example.org/{'a;b;' * 20} is an address.",
        "* one item\n" * 50,
        "Zhang et al. wrote it, e.g. for Lublin-1, cf. the page.",
    ],
)
def test_code_tables_headings_and_addresses_are_not_counted(page: str) -> None:
    assert kinds_of(page) == []


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("It waits 3 s, and 4 s, and 5.5 s.", 3),
        ("It waits 1,100 s, which is 1.5 % of 1 000 000 s.", 3),
        ("It falls by -0.5, 1e-6 and 10^6.", 3),
        ("Two of three are late.", 0),
        ("It was 12:30 on 5 March 2020, or on 2020-03-05 at 08:15, or in 1999-2001 and 2007.", 0),
        ("It takes 1 to 4 s, 5-6 s, 0.1 ... 0.9 s or 8 % to 9 %.", 4),
        ("It lies between 3 and 5 in [0, 1), and is 2 \u00b1 0.1 on 3 x 5 of 1/4.", 5),
        ("Sections 4.2 and 4.3, equation (7), figures 3 to 5, table II, step 2, line 18 and [12] say so.", 0),
        (
            "Version 7 of Python 3.11 and numba 0.60.0 on an H100 with float64, Lublin-1, SDSC-SP2 and nodes=2:ppn=12.",
            0,
        ),
        ("The 95 % interval, the 90th percentile and 64-bit integers.", 0),
        ("Its coverage is 95 %, not 90 % or 80 %.", 3),
        ("Sizes are written with units, such as 4h, 30min, 2d.", 0),
        ('"48 until 86400, then 64" is a plan of sizes.', 0),
    ],
)
def test_numbers_of_a_sentence_are_counted_without_names_and_dates_and_ranges_once(sentence: str, count: int) -> None:
    assert numbers(sentence) == count


@pytest.mark.parametrize(
    ("page", "kinds"),
    [
        ("It waits 3 s, and 4 s.", []),
        ("It waits 3 s, and 4 s, and 5 s.", ["numbers"]),
        ("It waits 3 s. Or 4 s, and 5 s.", []),
        ("* waits: 3 s, 4 s, 5 s\n* runs: 4 s, 5 s, 6 s", []),
        ("* An item. It waits 3 s, and 4 s, and 5 s.", ["numbers"]),
        ("* An item.\n\nIt waits 3 s, and 4 s, and 5 s.", ["numbers"]),
        ("| 3 s | 4 s | 5 s |", []),
        ("Write `f(1, 2, 3)`.", []),
    ],
)
def test_a_sentence_of_prose_has_two_numbers_at_most(page: str, kinds: list[str]) -> None:
    assert kinds_of(page) == kinds


def test_what_the_help_of_a_command_shows_as_it_is_is_no_prose() -> None:
    assert kinds_of(f"Does.\n\n\b\n{LONG}\n{LONG}\n\n{LONG}") == ["long"]


def test_an_indented_paragraph_of_a_list_is_no_code() -> None:
    assert kinds_of(f"1. First.\n\n    {LONG}\n\nText.\n\n    {LONG}") == ["long"]


def test_words_in_tables_and_headings_are_checked() -> None:
    assert kinds_of("# Queue time\n\n| queue time | anew |") == ["terms", "phrases", "terms"]


def test_sentences_end_at_a_full_stop_before_a_blank() -> None:
    text = "It took 3.5 s. Zhang et al. took 4 s ... and more! (Both did.) Why?"
    parts = [sentence for _, sentence in sentences(text)]
    assert parts == ["It took 3.5 s.", "Zhang et al. took 4 s ... and more!", "(Both did.)", "Why?"]


def test_a_fault_names_its_line_what_was_expected_and_what_to_write() -> None:
    page = f"# Title\n\nShort.\n{LONG}\n\nThe queue time\nis computed anew."
    faults = prose.faults_in(passages_of_page(page), TERMS)
    assert [(fault.line, fault.kind) for fault in faults] == [(4, "long"), (6, "terms"), (7, "phrases")]
    assert "41 words; expected 40 at most" in faults[0].advice
    assert "the glossary's term is: wait" in faults[1].advice
    assert '"anew"; write: again' in faults[2].advice


def test_docstrings_comments_and_messages_of_a_module_are_checked() -> None:
    module = '''"""Reads the queue time."""

LIMIT = 3
"""Computed anew."""


def f(x):
    """Does.

    x: how often.
    y: the queue time; none: nothing; no more.
    """
    if x > LIMIT:  # the waiting time
        raise ValueError(f"{x} is no queue time")
    # one line of a
    # waiting time
    name = "queue time"
    return name
'''
    assert [(fault.line, fault.kind) for fault in faults_of_module(module)] == [
        (1, "terms"), (4, "phrases"), (11, "chains"), (11, "terms"), (13, "terms"), (14, "terms"), (16, "terms"),
    ]  # fmt: skip


def test_comments_to_tools_and_examples_are_no_prose() -> None:
    module = f'''def f():
    """Returns 1.

    >>> f()  # queue time
    1
    """
    return 1  # type: ignore[queue time]  # noqa: {LONG}
'''
    assert faults_of_module(module) == []


def test_comments_of_a_statement_are_checked() -> None:
    statement = """-- One row per job; its
-- queue time.
CREATE TABLE core.jobs (
    wait_s BIGINT, -- waiting time, '--' where unknown
    status BIGINT, -- 1 for done, 0 for failed, 5 for cancelled
    name TEXT DEFAULT '-- queue time'
)
"""
    faults = prose.faults_in(passages_of_statement(statement), TERMS)
    assert [(fault.line, fault.kind) for fault in faults] == [(2, "terms"), (4, "terms")]


FAULTS = {"a.md": [Fault("long", 3, "split"), Fault("long", 9, "split"), Fault("terms", 1, "write")]}


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ({"a.md": {"long": 2, "terms": 1}}, []),
        ({"a.md": {"long": 1, "terms": 1}}, ["a.md: 2 sentences of more than 40 words, 1 allowed"]),
        ({}, ["a.md: 2 sentences of more than 40 words, 0 allowed", "a.md: 1 wrong variants of a term, 0 allowed"]),
        ({"a.md": {"long": 3, "terms": 1}}, ["a.md: 2 sentences of more than 40 words, 3 in the list: lower it"]),
        ({"a.md": {"long": 2, "terms": 1}, "gone.md": {"long": 1}}, ["gone.md: 0 sentences"]),
    ],
)
def test_a_file_has_as_many_faults_as_the_list_says(allowed: prose.Counts, expected: list[str]) -> None:
    lines = [line for line in prose.differences(FAULTS, allowed) if not line.startswith("  ")]
    assert len(lines) == len(expected)
    assert all(line.startswith(begin) for line, begin in zip(lines, expected, strict=True))


def test_every_fault_of_a_kind_above_its_number_is_shown_with_its_line() -> None:
    lines = prose.differences(FAULTS, {"a.md": {"terms": 1}})
    assert lines[1:] == ["  a.md:3: split", "  a.md:9: split"]


def test_numbers_of_the_list_may_only_fall() -> None:
    allowed = {"a.md": {"long": 3, "terms": 1}, "b.md": {"long": 1}}
    now = {"a.md": {"long": 1, "terms": 4}, "c.md": {"long": 2}}
    assert prose.lowered(allowed, now) == {"a.md": {"long": 1, "terms": 1}}


def test_the_list_is_read_as_it_was_written() -> None:
    counts = {"b.md": {"terms": 2, "long": 1}, "a/b.py": {"chains": 3}}
    assert tomllib.loads(prose.written(counts)) == counts


def test_the_list_names_files_and_kinds_that_exist() -> None:
    allowed = tomllib.loads(prose.EXCEPTIONS.read_text())
    for kinds in allowed.values():
        assert set(kinds) <= set(prose.KINDS)
        assert all(count > 0 for count in kinds.values())


def test_a_new_fault_makes_the_command_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "glossary.md").write_text("| **wait** | Seconds. | *queue time* |\n")
    page = tmp_path / "README.md"
    monkeypatch.setattr(prose, "PROJECT", tmp_path)
    monkeypatch.setattr(prose, "EXCEPTIONS", tmp_path / "exceptions.toml")
    monkeypatch.setattr(prose, "checked_files", lambda: [page])
    page.write_text("The queue time.\n")
    assert prose.main(["--init"]) == 0
    assert prose.main([]) == 0
    page.write_text("The queue time.\n\nThe queue times.\n")
    assert prose.main([]) == 1
    assert "README.md:3:" in capsys.readouterr().out
    assert prose.main(["--update"]) == 1  # never raises a number
    page.write_text("The wait.\n")
    assert prose.main([]) == 1  # the number has to be lowered
    assert prose.main(["--update"]) == 0
    assert prose.main([]) == 0
    assert prose.main([str(page)]) == 0


def test_the_glossary_is_alphabetical_and_defines_each_term_once() -> None:
    names = [term.name for term in prose.read_glossary(GLOSSARY_TEXT)]
    assert len(names) == len(re.findall(r"^\| (?!term |---)", GLOSSARY_TEXT, re.MULTILINE)) > 50
    assert names == sorted(names, key=str.casefold)
    assert len({name.casefold() for name in names}) == len(names)


@pytest.mark.parametrize("term", prose.read_glossary(GLOSSARY_TEXT), ids=lambda term: term.name)
def test_every_row_of_the_glossary_is_a_term_in_plain_english(term: Term) -> None:
    terms = prose.read_glossary(GLOSSARY_TEXT)
    text = cleaned(term.definition)
    assert 1 <= len([s for _, s in sentences(text) if words(s) > 1]) <= 3
    for text in (term.name, term.definition):  # what the glossary itself says is no wrong variant
        assert prose.faults_in([Passage(text, (1,))], terms) == []
    for variant in term.wrong_variants:
        faults = prose.faults_in(passages_of_page(f"The {variant} is short."), terms)
        assert [fault.advice.rpartition(": ")[2] for fault in faults] == [term.name]
