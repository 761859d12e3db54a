"""The text format of Prometheus, read by its grammar (Prometheus, "Exposition formats", text-based format 0.0.4)."""

from __future__ import annotations

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
VALUE = r"(?P<value>[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|Inf|NaN))"
ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read_exposition(text: str) -> Samples:
    """(name, labels) -> value. Fails where a line breaks the grammar, a sample comes twice or without HELP and TYPE above it, or the lines
    of a metric are not together."""
    assert text == "" or text.endswith("\n")
    samples: Samples = {}
    described: list[str] = []
    lines = text.split("\n")[:-1]
    for number, line in enumerate(lines):
        if line.startswith("# HELP "):
            name, meaning = re.fullmatch(rf"# HELP ({NAME}) (.+)", line).groups()  # type: ignore[union-attr]
            assert name not in described and re.fullmatch(r"(?:[^\\]|\\\\|\\n)*", meaning)
            described.append(name)
            assert lines[number + 1] == f"# TYPE {name} gauge"
        elif not line.startswith("# TYPE "):
            sample = re.fullmatch(rf"({NAME})\{{({LABEL}(?:,{LABEL})*)\}} ({VALUE})", line)
            assert sample, f"no sample: {line!r}"
            assert described and sample[1] == described[-1]
            labels = frozenset(
                (name, re.sub(r"\\.", lambda escape: ESCAPES[escape[0]], value))
                for name, value in re.findall(LABEL, sample[2])
            )
            assert (sample[1], labels) not in samples
            samples[sample[1], labels] = float(sample["value"])
    return samples
