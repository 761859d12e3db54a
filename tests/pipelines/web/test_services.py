"""`tracehouse ui` as it runs: a foreign page can do nothing, and a user in a browser can launch a run."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pipelines.web import services
from pipelines.web.guard import START_PAGE
from tests.browser import Browser

CATALOGUE = """
[sources.birch]
format = "swf"
procs = 64
generator = { jobs = 400, seed = 7, offered_load = 0.9, users = 12 }
[sources.larch]
format = "pbs"
procs = 64
generator = { jobs = 400, seed = 7, offered_load = 0.9, users = 12 }
"""
"""The two bundled sources, which are in every catalogue, but small."""
PATIENCE_S = 120.0
RUN_ID = "11111111-2222-3333-4444-555555555555"
LAUNCH = """mutation ($config: RunConfigData!) { launchRun(executionParams: {
  selector: {repositoryName: "__repository__", repositoryLocationName: "pipelines.definitions", jobName: "replay_runs"},
  runConfigData: $config, executionMetadata: {tags: [
    {key: "dagster/partition", value: "birch"}, {key: "tracehouse/from", value: "command line"}]}
}) { __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
DELETE = f'mutation {{ deletePipelineRun(runId: "{RUN_ID}") {{ __typename }} }}'
WIPE = """mutation { wipeAssets(assetPartitionRanges: [{assetKey: {path: ["core", "jobs"]}}]) { __typename } }"""


class RunningUI:
    """`tracehouse ui` on a home of its own."""

    def __init__(self, home: Path, port: int) -> None:
        self.home, self.port, self.address = home, port, f"http://127.0.0.1:{port}"

    def ask(self, method: str, target: str, body: str = "", **more: str) -> tuple[int, str]:
        """Status and content of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        headers = {name.replace("_", "-"): value for name, value in more.items()}
        connection.request(method, target, body or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")

    def graphql(self, query: str, **variables: Any) -> dict[str, Any]:
        """The data of a request as the UI's own pages send it."""
        body = json.dumps({"query": query, "variables": variables})
        own = {"origin": self.address, "sec_fetch_site": "same-origin"}
        status, text = self.ask("POST", "/graphql", body, content_type="application/json", **own)
        assert status == 200, text
        data: dict[str, Any] = json.loads(text)["data"]
        return data

    def upgrade(self, **more: str) -> int:
        """Status of the answer to a page that wants a websocket: 101 where it gets one."""
        wanted = {"connection": "Upgrade", "upgrade": "websocket", "sec_websocket_version": "13"}
        wanted |= {"sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ==", "sec_websocket_protocol": "graphql-ws"}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in (wanted | more).items())
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as caller:
            caller.sendall(f"GET /graphql HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{lines}\r\n".encode())
            return int(caller.recv(4096).split()[1])

    def run(self) -> dict[str, Any] | None:
        """The newest run that is not of the command line, once it has ended, with the messages of its errors."""
        runs = self.graphql(
            """{ runsOrError(limit: 1) { ... on Runs { results { runId status jobName tags { key value } eventConnection { events {
              ... on ExecutionStepFailureEvent { error { message } } } } } } } }"""
        )["runsOrError"]["results"]
        newest = next(iter(runs), None)
        return newest if newest and newest["status"] in ("SUCCESS", "FAILURE") else None


def eventually(look: Any, what: str) -> Any:
    """What `look` gives once it gives something."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        seen = look()
        if seen:
            return seen
        time.sleep(0.2)
    raise AssertionError(f"not after {PATIENCE_S:.0f} s: {what}")


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningUI]:
    home = tmp_path_factory.mktemp("home")
    (home / "sources.toml").write_text(CATALOGUE)
    own = {"TRACEHOUSE_HOME": str(home), "TRACEHOUSE_SOURCES": str(home / "sources.toml"), "DAGSTER_HOME": str(home)}
    for name in ("assets", "models", "sql", "traces", "warehouse"):  # as folders of a home may be called
        (home / name).mkdir()
        (home / name / "__init__.py").write_text("raise ImportError('a folder of the home is no package')\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-P",
        "-m",
        "tracehouse.cli.main",
    ]  # -P: as the installed command, which only this process is
    ingest = [*command, "run", "birch", "--job", "ingest"]
    subprocess.run(ingest, env=os.environ | own, check=True, capture_output=True, timeout=PATIENCE_S)
    command += ["ui", "--port", str(port)]
    with (home / "ui.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=home, env=os.environ | own, stdout=log, stderr=log, start_new_session=True
        )
    running = RunningUI(home, port)

    def answers() -> bool:
        assert process.poll() is None, (home / "ui.log").read_text()
        try:
            return running.ask("GET", "/server_info")[0] == 200
        except OSError:
            return False

    try:
        eventually(answers, "the UI answers")
        yield running
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_no_folder_of_the_home_hides_a_package(ui: RunningUI) -> None:
    """The UI is started in its home, which has folders that are called as our packages are."""
    (location,) = ui.graphql(
        "{ workspaceOrError { ... on Workspace { locationEntries { name locationOrLoadError { __typename } } } } }"
    )["workspaceOrError"]["locationEntries"]
    assert location["locationOrLoadError"] == {"__typename": "RepositoryLocation"}
    assert "is no package" not in (ui.home / "ui.log").read_text()


def test_a_foreign_page_does_nothing(ui: RunningUI) -> None:
    """What a page of another site makes a browser send, as seen in an attack on a server without the guard, where all of it worked."""
    plug_in = ui.home / "download.py"
    plug_in.write_text(f"open({str(ui.home / 'executed')!r}, 'w').close()\ndef first(submit): return submit\n")
    config = {"ops": {"replay__runs": {"config": {"runs": [{"name": "x", "policy": f"{plug_in}:first"}]}}}}
    before = ui.run()
    form = {"content_type": "text/plain", "origin": "https://evil.example", "sec_fetch_site": "cross-site"}
    for document in (DELETE, WIPE, LAUNCH):
        values = {"query": document, "variables": {"config": config}}
        address = f"/graphql?query={quote(document)}&variables={quote(json.dumps(values['variables']))}"
        assert ui.ask("GET", address, sec_fetch_site="cross-site", sec_fetch_mode="no-cors")[0] == 403
        assert ui.ask("GET", address)[0] == 403  # an old browser, which says nothing of the sender
        assert ui.ask("POST", "/graphql", json.dumps(values), **form)[0] == 403
        assert ui.ask("POST", address, content_type="text/plain")[0] == 403
        for foreign in ({"origin": "https://evil.example"}, {"origin": "null"}, {"host": f"evil.example:{ui.port}"}):
            assert ui.ask("POST", "/graphql", json.dumps(values), content_type="application/json", **foreign)[0] == 403
    assert ui.ask("POST", "/report_asset_materialization/core/jobs?partition=birch")[0] == 403
    assert ui.upgrade(origin="https://evil.example") == 403
    assert ui.upgrade(origin=ui.address) == 101
    assert ui.run() == before and before is not None
    assert not (ui.home / "executed").exists()


def test_a_run_of_the_ui_takes_no_plug_in(ui: RunningUI) -> None:
    """Nor does it by a tag of the command line's runs, which anybody may set."""
    plug_in = ui.home / "download.py"
    plug_in.write_text(f"open({str(ui.home / 'executed')!r}, 'w').close()\ndef first(submit): return submit\n")
    config = {"ops": {"replay__runs": {"config": {"runs": [{"name": "x", "policy": f"{plug_in}:first"}]}}}}
    launched = ui.graphql(LAUNCH, config=config)["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    run_id = launched["run"]["runId"]
    ended = eventually(lambda: (ui.run() or {}).get("runId") == run_id and ui.run(), "the run ends")
    assert ended["status"] == "FAILURE"
    assert "runs of the UI use no plug-in, since no folder is named for them" in json.dumps(ended)
    assert not (ui.home / "executed").exists()


def test_a_user_launches_a_run_in_the_browser(ui: RunningUI) -> None:
    before = ui.run()
    with Browser() as browser:
        browser.visit(f"{ui.address}/")
        eventually(
            lambda: browser.value("document.body.innerText").find("Global asset lineage") >= 0, "the asset graph"
        )
        assert browser.value("location.pathname") == START_PAGE
        browser.visit(f"{ui.address}/assets/raw/log")
        for words in ("Materialize", "Missing", "Launch"):  # of the sources that have no jobs yet
            eventually(lambda words=words: browser.press(words), f"a button {words}")  # type: ignore[misc]
        eventually(lambda: ui.run() not in (None, before), "the run ends")
        ended = ui.run() or {}
        (partition,) = (tag["value"] for tag in ended["tags"] if tag["key"] == "dagster/partition")
        assert ended["status"] == "SUCCESS" and partition in ("birch", "larch")
        browser.visit(f"{ui.address}/runs/{ended['runId']}")
        eventually(lambda: "Success" in browser.value("document.body.innerText"), "the page of the run says so")
        assert not [fault for fault in browser.faults() if "403" in fault]


def test_a_dagster_that_starts_its_server_otherwise_does_not_start_it_unguarded() -> None:
    with pytest.raises(RuntimeError, match="without the guard"):
        services.start_guarded([sys.executable, "-c", "pass"])
