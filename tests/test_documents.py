"""The documents' examples work: every SQL block and every `tracehouse` command of README and docs is run.

They run on tiny traces under the names of bundled sources, in a home in which every run that the documents save is saved, and the
experiment that needs no source has run with few jobs.
Files that a document shows under their name are there. Of a run of the whole pipeline, which has made that home with quick
settings, options and settings are checked. Trainings are of one epoch where they do not say how
many. `make` verbs are checked to exist (CI and the README's own quick start run them), servers only explain themselves.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml
from click.testing import Result

import sql
from tests.pipelines.command_line import call, use_home
from tests.tiny import SOURCE, Home
from tracehouse.cli.main import load_command
from traces.common.pseudonyms import read_key

FEW_JOBS_OF_LARCH = """
[sources.larch]
format = "slurm"
cluster = "larch"
generator = { site = "larch", seed = 1, jobs = 400 }
"""
"""In place of the bundled source, for commands that need nothing trained."""
PROJECT = Path(__file__).resolve().parents[1]
DOCUMENTS = ["README.md", *sorted(str(path.relative_to(PROJECT)) for path in (PROJECT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    """(document, text) of every fenced block in a language."""
    found = []
    for document in DOCUMENTS:
        text = (PROJECT / document).read_text()
        found += [
            (document, block) for block in re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        ]
    return found


def commands() -> list[tuple[str, str]]:
    lines = [(document, line.strip()) for document, block in blocks("sh") for line in block.splitlines()]
    return [
        (document, line.partition(" #")[0].strip()) for document, line in lines if line and not line.startswith("#")
    ]


def write_shown_files(folder: Path) -> None:
    """Writes every file whose text stands in a document, in a block below a line that is nothing but its name."""
    for document in DOCUMENTS:
        text = (PROJECT / document).read_text()
        for name, content in re.findall(r"^`([\w-]+\.\w+)`\n\n```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            (folder / name).write_text(content)


def run_in(home: Home, folder: Path, arguments: list[str], patch: pytest.MonkeyPatch) -> Result:
    """Runs a command in this process, in a working folder."""
    use_home(patch, home.folder)
    patch.chdir(folder)
    return call(*arguments)


def saves_runs(command: str) -> bool:
    return "--save" in command or ("--job replay_runs" in command and "--config" in command)


@pytest.fixture(scope="module")
def home(finished: Home, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A finished home of its own, with the runs that the documents save."""
    folder = tmp_path_factory.mktemp("documents")
    shutil.copytree(finished.folder, folder / "home")
    own = Home(folder / "home")
    read_key(own.folder / "pseudonym.key")  # as if a PBS log had been loaded
    with (own.folder / "sources.toml").open("a") as catalogue:
        catalogue.write(FEW_JOBS_OF_LARCH)
    write_shown_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        done = run_in(own, folder, ["run", "larch", "--job", "ingest"], patch)
        assert done.exit_code == 0, done.stderr
        for document, command in commands():
            if saves_runs(command):
                done = run_in(own, folder, shlex.split(command)[1:], patch)
                assert done.exit_code == 0, f"{document}: {command}: {done.stderr}"
        (folder / "few.yaml").write_text("ops: {experiments__topology: {config: {epochs: 1, windows: 2, jobs: 9}}}\n")
        done = run_in(own, folder, ["run", "--job", "topology", "--config", "few.yaml"], patch)
        assert done.exit_code == 0, done.stderr
    return own


@pytest.mark.parametrize(("document", "query"), blocks("sql"))
def test_sql_examples_run(
    home: Home, document: str, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run_in(home, tmp_path, ["sql", query, "--format", "csv"], monkeypatch)
    assert done.exit_code == 0, f"{document}: {done.stderr}"
    # an example about the user's own cluster has no rows here; one about the bundled source must have
    assert len(done.stdout.splitlines()) > 1 or "mycluster" in query, f"{document}: no rows"


# the guide's blocks build upon each other: tests/tracehouse runs them
@pytest.mark.parametrize(
    ("document", "code"), [block for block in blocks("python") if block[0] != "docs/guides/python.md"]
)
def test_python_examples_run(document: str, code: str, tmp_path: Path) -> None:
    home = os.environ | {"TRACEHOUSE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, env=home, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{document}: {done.stderr}"


def settings_above(document: str, command: str) -> str:
    """The last block of YAML before a command, which is the file that the command reads."""
    before = (PROJECT / document).read_text().partition(command)[0]
    return re.findall(r"^```yaml\n(.*?)^```", before, re.MULTILINE | re.DOTALL)[-1]


def assert_could_run(arguments: list[str], home: Home, patch: pytest.MonkeyPatch) -> None:
    """The pipeline takes these options, and the settings of the document's file, not the quick ones of the home."""
    use_home(patch, home.folder)
    from pipelines.definitions import build_definitions

    chosen = load_command("run").make_context("run", arguments[1:]).params
    assert chosen["names"] == (SOURCE,)
    settings = yaml.safe_load(chosen["config"].read_text()) if chosen["config"] else {}
    with dg.instance_for_test():  # another test may have closed the instance that Dagster remembers
        assert dg.validate_run_config(build_definitions().resolve_job_def(chosen["job"]), settings)


@pytest.mark.parametrize(
    ("document", "command"), [c for c in commands() if c[1].startswith("tracehouse ") and not saves_runs(c[1])]
)
def test_commands_run(home: Home, document: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shown_files(tmp_path)
    (tmp_path / "month.swf").write_text("; MaxProcs: 4\n1 0 5 60 1 -1 -1 1 90 -1 1 1 1 1 1 1 -1 -1\n")
    accounting = tmp_path / "accounting"
    accounting.mkdir()
    (accounting / "20260301").write_text(
        "03/01/2026 10:00:00;E;1.head;user=a group=g jobname=j queue=q ctime=1772355000 qtime=1772355000 "
        "etime=1772355000 start=1772355060 end=1772355600 Resource_List.ncpus=2 Resource_List.select=2:ncpus=1 "
        "Resource_List.walltime=01:00:00 Exit_status=0\n"
    )
    arguments = shlex.split(command)[1:]
    if arguments[0] in ("app", "ui"):
        arguments.append("--help")
    if arguments[0] in ("run", "what-if") and "mycluster" in arguments:
        arguments = ["sources"]  # the example's cluster is the reader's own; its ingest is what can be tried here
    if arguments[0] == "run" and "replay_runs" not in arguments:
        monkeypatch.chdir(tmp_path)
        if "--config" in arguments:
            Path(arguments[-1]).write_text(settings_above(document, command))
        assert_could_run(arguments, home, monkeypatch)
        return
    if arguments[0] == "train" and not {"--epochs", "--population"} & set(arguments):
        arguments += ["--epochs", "1", "--seeds", "1"]  # that many epochs and seeds as users train take ten seconds
    local = {"/path/to/accounting": str(accounting), "/path/to/month.swf": str(tmp_path / "month.swf")}
    local |= {"u01": "1"} if "birch" in arguments else {}  # users of the tiny log have numbers
    arguments = [local.get(argument, argument) for argument in arguments]
    if arguments[0] == "restore":
        assert run_in(home, tmp_path, ["backup", arguments[1]], monkeypatch).exit_code == 0
    # an ingest adds a source, and a restore needs an empty home: not in the shared one
    own = Home(tmp_path / "home") if arguments[0] in ("ingest", "restore") else home
    if arguments[0] == "restore":
        shutil.copy(home.folder / "sources.toml", own.folder)  # another catalogue would be refused
    done = run_in(own, tmp_path, arguments, monkeypatch)
    assert done.exit_code == 0, f"{document}: {command}: {done.stderr}"


@pytest.mark.parametrize(("document", "command"), [c for c in commands() if c[1].startswith("make ")])
def test_make_verbs_exist(document: str, command: str) -> None:
    done = subprocess.run([*shlex.split(command), "-n"], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{document}: {command}: {done.stderr}"


def test_every_command_is_of_a_kind_that_is_tried() -> None:
    others = [
        line for _, line in commands() if not line.startswith(("tracehouse ", "make ", "git clone", "cd ", "sudo apt"))
    ]
    assert others == []


def test_links_and_pictures_of_the_documents_exist() -> None:
    for document in DOCUMENTS:
        folder = (PROJECT / document).parent
        for target in re.findall(r"\]\(([^)#:]+)\)", (PROJECT / document).read_text()):
            assert (folder / target).exists(), f"{document} points to {target}"


def test_the_readme_is_short_and_begins_with_a_result() -> None:
    text = (PROJECT / "README.md").read_text()
    assert len(text.split()) <= 700
    assert "<!-- results:" not in text, "tables of results are in docs/results"
    shown = [command for document, command in commands() if document == "README.md"]
    assert shown[:3] == ["make run", "tracehouse why larch --user u01 --by queue", "make ui"]
    first_output = text[: text.index("```text")]
    assert len(first_output.splitlines()) <= 15


def test_statements_and_files_named_in_the_documents_exist() -> None:
    for document in DOCUMENTS:
        text = (PROJECT / document).read_text()
        for name in re.findall(
            r"`((?:assets|models|simulator|traces|pipelines|sql|warehouse|benchmarks|compilation|tests|docs)/[\w/]+\.\w+)`",
            text,
        ):
            assert (PROJECT / name).exists() or name.startswith("warehouse/data"), f"{document} names {name}"
        for name in re.findall(r"\b((?:raw|core|features|predictions|policies|replay|marts)\.[a-z_]+)\b", text):
            assert name in sql.names() or f"`{name}`" not in text, f"{document} names the table {name}"


def test_files_named_in_comments_exist() -> None:
    rooms = "assets|models|simulator|traces|tracehouse|pipelines|sql|warehouse|compilation|benchmarks|docs"
    examples = ("rules.py", "test_rules.py", "test_prose.py", "test_versions.py")
    for room in (*rooms.split("|"), "tests"):
        for file in (PROJECT / room).rglob("*.py"):
            text = "" if file.name in examples else file.read_text()
            for name in re.findall(rf"(?<![\w/.])(?:{rooms}|tests)/[\w/-]+\.(?:py|sql|md|toml|json)\b", text):
                is_data = name.startswith("warehouse/data")
                assert is_data or (PROJECT / name).exists(), f"{file.relative_to(PROJECT)} names {name}"


def test_every_line_of_the_security_page_has_a_test() -> None:
    text = (PROJECT / "docs" / "guides" / "security.md").read_text()
    threats = [
        row for row in re.findall(r"^\| (?!what \||threat \||---).*\|$", text, re.MULTILINE) if row.count(" | ") > 1
    ]
    assert len(threats) >= 30
    for row in threats:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, f"no test: {row}"
        for file, test in named:
            assert re.search(rf"^def {test}\(", (PROJECT / file).read_text(), re.MULTILINE), f"{file} has no {test}"


@pytest.mark.parametrize("settings", [text for _, text in blocks("yaml") if "policies__population" in text])
def test_settings_of_workers_on_clusters_are_taken(settings: str, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, home.folder)
    from pipelines.definitions import build_definitions

    with dg.instance_for_test():
        assert dg.validate_run_config(build_definitions().resolve_job_def("population"), yaml.safe_load(settings))
