"""Tests of traces/catalogue: clusters, logs.

Faults in the tables of logs have file, line and remedy.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.traces.catalogue.catalogues import GENERATED, GOOD, fault
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import bundled_cluster, load_cluster

# Faults: the text after GOOD and a blank line (it starts on line 7), the line of the fault, what the message says.

BAD = '[sources.bad]\nformat = "swf"\n'  # lines 7 and 8

FAULTS = {
    "unknown key": (BAD + 'path = "x"\nproc = 3\n', 10, "unknown key 'proc': expected one of .*procs"),
    "unknown format": ('[sources.bad]\nformat = "lsf"\npath = "x"\n', 8, "unknown format 'lsf': .* swf, pbs, slurm"),
    "no format": ('[sources.bad]\npath = "x"\n', 7, "format"),
    "no format, but the next has": (
        '[sources.bad]\npath = "x"\n\n[sources.next]\nformat = "swf"\npath = "y"\n',
        7,
        "format",
    ),
    "path and generator": (
        BAD + 'path = "x"\nprocs = 4\ngenerator = { jobs = 3, seed = 1 }\n',
        7,
        "either `path` .* or `generator`",
    ),
    "neither path nor generator": (BAD, 7, "either `path` .* or `generator`"),
    "empty path": (BAD + 'path = ""\n', 9, "path"),
    "path is a number": (BAD + "path = 3\n", 9, "path must be a str"),
    "format is a list": ('[sources.bad]\nformat = ["swf"]\npath = "x"\n', 8, "format must be a str"),
    "procs is text": (BAD + 'path = "x"\nprocs = "4"\n', 10, "procs must be a .*found '4'"),
    "procs is a fraction": (BAD + 'path = "x"\nprocs = 4.5\n', 10, "procs must be a .*found 4.5"),
    "procs is true": (BAD + 'path = "x"\nprocs = true\n', 10, "procs must be a .*found True"),
    "procs is 0": (BAD + 'path = "x"\nprocs = 0\n', 10, "at least 1 processor, found 0"),
    "procs is negative": (BAD + 'path = "x"\nprocs = -8\n', 10, "at least 1 processor, found -8"),
    "drop_wider is text": (BAD + 'path = "x"\ndrop_wider = "yes"\n', 10, "drop_wider must be a bool"),
    "description is a number": (BAD + 'path = "x"\ndescription = 5\n', 10, "description must be a str"),
    "a tree of words": (
        BAD + 'path = "x"\ntopology = "16 by 8"\n',
        10,
        "nodes per leaf x .*'16x8x3', .*found '16 by 8'",
    ),
    "a cluster that is a number": (
        BAD + 'path = "x"\ncluster = 3\n',
        10,
        "expected the name of a cluster that `tracehouse cluster import`",
    ),
    "a cluster that is a path": (BAD + 'path = "x"\ncluster = ["a", "b/c"]\n', 10, r"found \[.a., .b/c.\]"),
    "a tree that is a number": (BAD + 'path = "x"\ntopology = 16\n', 10, "topology must be a str"),
    "more processors than any cluster has": (
        BAD + 'path = "x"\nprocs = 100000000000000\n',
        10,
        "at most 1,000,000,000",
    ),
    "more nodes than any cluster has": (
        BAD + 'path = "x"\nnodes = 99999999999999999999\n',
        10,
        "at most 1,000,000,000",
    ),
    "processors of a node": (
        BAD + 'path = "x"\nprocs_per_node = 0\n',
        10,
        "procs_per_node must be at least 1, found 0",
    ),
    "time zone": (BAD + 'path = "x"\ntime_zone = "Mars/Olympus"\n', 10, "'Mars/Olympus': .*Europe/Berlin"),
    "time zone is a folder": (BAD + 'path = "x"\ntime_zone = "Europe"\n', 10, "'Europe': .*Europe/Berlin"),
    "time zone is a number": (BAD + 'path = "x"\ntime_zone = 1\n', 10, "time zone 1: .*Europe/Berlin"),
    "time zone is empty": (BAD + 'path = "x"\ntime_zone = ""\n', 10, "time zone '': .*Europe/Berlin"),
    "path with a NUL": (BAD + 'path = "a\\u0000b"\n', 9, "path has a NUL character, .*'a.x00b'"),
    "name with a blank": (
        '[sources."bad name"]\nformat = "swf"\npath = "x"\n',
        7,
        "bad source name 'bad name': use letters",
    ),
    "name with a slash": ('[sources."a/b"]\nformat = "swf"\npath = "x"\n', 7, "bad source name 'a/b': use letters"),
    "name of dots": ('[sources."..."]\nformat = "swf"\npath = "x"\n', 7, "bad source name"),
    "empty name": ('[sources.""]\nformat = "swf"\npath = "x"\n', 7, "bad source name ''"),
    "array of tables": ('[[sources.bad]]\nformat = "swf"\n', 7, r"expected a table \[sources.bad\]"),
    "misspelt sources": ('[source.bad]\nformat = "swf"\npath = "x"\n', 7, "unknown key 'source': .*sources"),
    # The same key or name elsewhere in the file must not draw the error there.
    "after a comment on it": (BAD + 'path = "x"\n# procs = 8 was\nprocs = 0\n', 11, "at least 1 processor"),
    "after a text about it": (
        '[sources.bad]\ndescription = "with procs = 8"\nformat = "swf"\npath = "x"\nprocs = 0\n',
        11,
        "at least 1 processor",
    ),
    "after a longer name": (
        '[sources.bad-two]\nformat = "swf"\npath = "x"\nprocs = 8\n[sources.bad]\nformat = "swf"\npath = "x"\nprocs = 0\n',
        14,
        "at least 1 processor",
    ),
    "after a dotted name": (
        '[sources."bad.two"]\nformat = "swf"\npath = "x"\n[sources.bad]\nformat = "swf"\n',
        10,
        "path",
    ),
    "blanks in the header": (
        '  [ sources . "bad" ]  # mine\nformat = "swf"\npath = "x"\n  procs=0\n',
        10,
        "at least 1 processor",
    ),
    "quoted key": (BAD + 'path = "x"\n"procs" = 0\n', 10, "at least 1 processor"),
    "inline table": ('[sources]\nbad = { format = "swf", path = "x", procs = 0 }\n', 8, "at least 1 processor"),
}


@pytest.mark.parametrize(("text", "line", "says"), FAULTS.values(), ids=FAULTS)
def test_a_fault_names_file_line_and_remedy(catalogue: Path, text: str, line: int, says: str) -> None:
    message = fault(catalogue, f"{GOOD}\n{text}")
    assert message.startswith(f"{catalogue}:{line}:"), message
    assert re.search(says, message), message
    assert "None" not in message


GENERATOR_FAULTS = {
    "unknown option": ("{ jobs = 3, seed = 1, user = 2 }", "unknown generator option 'user': expected .*users"),
    "the cluster's size": ("{ jobs = 3, seed = 1, procs = 2 }", "unknown generator option 'procs'"),
    "no jobs": ("{ jobs = 0, seed = 1 }", "jobs is 0: ask for at least 1 job"),
    "load": ("{ jobs = 3, seed = 1, offered_load = 0 }", "offered_load is 0: use a number above 0"),
    "seed": ("{ jobs = 3, seed = -1 }", "seed is -1: use a whole number"),
    "class": ('{ jobs = 3, seed = 1, job_class = "night" }', "job_class is 'night': choose one of"),
    "date": ('{ jobs = 3, seed = 1, start_date = "1 May" }', "start_date is '1 May': write a date as YYYY-MM-DD"),
    "no table": ("3", "expected a table of generator options"),
    "option left out": ("{ jobs = 3 }", "seed"),
    "text for a number": ('{ jobs = "many", seed = 1 }', "jobs is 'many'"),
    "fraction for a count": ("{ jobs = 1.5, seed = 1 }", "jobs is 1.5"),
    "true for a count": ("{ jobs = true, seed = 1 }", "jobs is True"),
    "fraction for users": ("{ jobs = 3, seed = 1, users = 2.5 }", "users is 2.5"),
    "text for the load": ('{ jobs = 3, seed = 1, offered_load = "high" }', "offered_load is 'high'"),
    "list for the class": ("{ jobs = 3, seed = 1, job_class = [] }", r"job_class is \[\]"),
}


@pytest.mark.parametrize(("options", "says"), GENERATOR_FAULTS.values(), ids=GENERATOR_FAULTS)
def test_a_fault_in_generator_options_names_file_line_and_remedy(catalogue: Path, options: str, says: str) -> None:
    message = fault(catalogue, f"{GENERATED}generator = {options}\n")
    assert message.startswith(f"{catalogue}:4:"), message
    assert re.search(says, message), message
    assert "__init__" not in message and "not supported" not in message, message


def test_a_fault_in_a_table_of_generator_options_has_its_line(catalogue: Path) -> None:
    table = "[sources.bad.generator]\njobs = 3\nseed = 1\n"
    assert fault(catalogue, f"{GENERATED}{table}user = 2\n").startswith(f"{catalogue}:7:")
    assert fault(catalogue, GENERATED + table.replace("3", "0")).startswith((f"{catalogue}:4:", f"{catalogue}:5:"))


def test_a_generated_source_needs_the_size_of_its_cluster(catalogue: Path) -> None:
    message = fault(catalogue, '[sources.bad]\nformat = "swf"\ngenerator = { jobs = 3, seed = 1 }\n')
    assert message.startswith(f"{catalogue}:3:") and "needs `procs`" in message


def test_a_tree_is_words_or_a_file_beside_the_catalogue(catalogue: Path) -> None:
    catalogue.write_text(f'{GOOD}topology = "16x8x3" # 16 thin nodes a frame\nprocs_per_node = 2\n')
    good = load_catalogue().source("good")
    assert (good.topology, good.procs_per_node) == ("16x8x3", 2)
    for text, names in (('"mine"', ("mine",)), ('["old", "new"]', ("old", "new"))):
        catalogue.write_text(f"{GOOD}cluster = {text}\n")
        assert load_catalogue().source("good").cluster == names
    catalogue.write_text(f'{GOOD}topology = "slurm/topology.conf"\n')
    good = load_catalogue().source("good")
    assert (good.topology, good.procs_per_node) == (str(catalogue.parent / "slurm" / "topology.conf"), None)


def test_queues_own_processors(catalogue: Path) -> None:
    catalogue.write_text(f'{GOOD}partitions = {{ gpu = 2, "2" = 1 }}\n')
    assert load_catalogue().source("good").partitions == {"gpu": 2, "2": 1}
    catalogue.write_text(f"{GOOD}[sources.good.partitions]\ngpu = 4\n")
    assert load_catalogue().source("good").partitions == {"gpu": 4}
    for wrong in ("3", "{ gpu = 0 }", "{ gpu = true }", '{ gpu = "64" }'):
        assert "expected queues and the processors that each owns, such as { gpu = 64 }" in fault(
            catalogue, f"{GOOD}partitions = {wrong}\n"
        )
    assert "the queues own 12 processors, the cluster has 4" in fault(catalogue, f"{GOOD}partitions = {{ gpu = 12 }}\n")


MODEL_FAULTS = {
    "no such model": ('"swf"', "", '{ model = "eagle", seed = 1 }', 3, "model is 'eagle': choose one of falcon, lemhi"),
    "option of another": (
        '"swf"',
        "",
        '{ model = "lemhi", seed = 1, users = 3 }',
        3,
        "unknown generator option 'users': expected jobs, model",
    ),
    "seed left out": ('"swf"', "", '{ model = "lemhi" }', 3, "generator options are missing: seed"),
    "too many jobs": ('"swf"', "", '{ model = "lemhi", seed = 1, jobs = 400000 }', 3, "lemhi has 1 to 383845 jobs"),
    "another size": (
        '"swf"',
        "procs = 512",
        '{ model = "lemhi", seed = 1 }',
        3,
        "lemhi has 20160 processors, found 512",
    ),
    "another format": ('"pbs"', "", '{ model = "lemhi", seed = 1 }', 2, "is written as \"swf\", found 'pbs'"),
}


@pytest.mark.parametrize(("log_format", "procs", "options", "line", "says"), MODEL_FAULTS.values(), ids=MODEL_FAULTS)
def test_a_fault_in_a_model_names_file_line_and_remedy(
    catalogue: Path, log_format: str, procs: str, options: str, line: int, says: str
) -> None:
    message = fault(catalogue, f"[sources.bad]\nformat = {log_format}\ngenerator = {options}\n{procs}\n")
    assert message.startswith(f"{catalogue}:{4 if procs else line}:"), message
    assert re.search(says, message), message


def test_a_model_tells_its_cluster(catalogue: Path) -> None:
    catalogue.write_text('[sources.large]\nformat = "swf"\ngenerator = { model = "lemhi", seed = 1, jobs = 9 }\n')
    source = load_catalogue().source("large")
    assert (source.procs, source.nodes, source.time_zone) == (20_160, 504, "America/Boise")
    assert source.path is None and source.generator == {"model": "lemhi", "seed": 1, "jobs": 9}


# --- bundled


def test_a_bundled_cluster_comes_into_the_home_when_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    assert load_cluster("birch").description == bundled_cluster("birch").description
    assert (tmp_path / "clusters" / "birch" / "qmgr.txt").exists() and (tmp_path / "clusters" / "birch.toml").exists()
    with pytest.raises(ValueError, match="unknown cluster 'oak', the home has birch"):
        load_cluster("oak")
