"""Lines of slurm.conf: comments, continued lines, quotes, included files, and what is none."""

from __future__ import annotations

import pytest

from tests.traces.slurm.configuration.slurm_configurations import text_file
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration.lines import conf_lines

TEXT = 'A=1 # one\n\nNodeName=n1 \\\n  # not a line of its own\n  Feature=x \\\n  Reason="two words"\r\ninclude more.conf\nB = 2\n'


def test_each_key_has_its_own_line() -> None:
    more = text_file("more.conf", "C=3\\#4\n")
    lines = list(conf_lines(text_file("slurm.conf", TEXT), {"more.conf": more}.get))
    said = [(entry.file, entry.line, entry.key, entry.value) for line in lines for entry in line.entries]
    assert said[0] == ("slurm.conf", 1, "A", "1")
    assert ("slurm.conf", 3, "NodeName", "n1") in said
    assert said[-2:] == [("more.conf", 1, "C", "3\\#4"), ("slurm.conf", 8, "B", "2")]


def test_a_continued_line_is_one_line() -> None:
    text = 'NodeName=n1 \\\n  Feature=x \\\n  Reason="two words"\n'
    (line,) = conf_lines(text_file("slurm.conf", text))
    assert [(entry.line, entry.key, entry.value) for entry in line.entries] == [
        (1, "NodeName", "n1"),
        (2, "Feature", "x"),
        (3, "Reason", "two words"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "A=1\nSlurmctldHost={{ host }}\n",
            r"f:2: expected a configuration, but this is a template: .*Render it first",
        ),
        ("{% if x %}\n", r"f:1: expected a configuration, but this is a template"),
        ("A=1\nA=1 what is this\n", r"f:2: expected pairs such as CPUs=4 with blanks between, found 'what is this'"),
        (
            "A=1\nInclude /etc/slurm/no.conf\n",
            r"f:2: expected the file /etc/slurm/no.conf, .*Copy it next to slurm.conf",
        ),
        ("Include f\n", r"f:1: expected a file that does not include itself"),
    ],
)
def test_faults_have_file_and_line(text: str, message: str) -> None:
    file = text_file("f", text)
    with pytest.raises(ConfigurationError, match=message):
        list(conf_lines(file, {"f": file}.get))
