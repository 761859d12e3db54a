"""Tests of tracehouse/app: controls, queue_page, server."""

from __future__ import annotations

import http.client
import json
import re
import shlex
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import uvicorn

from assets.replaying.configuring.configuration import edited_cluster
from models.judging.fidelity import NO_REACTION
from tests.assets.replaying.own.homes import CLUSTER, MANY, PBS_CLUSTER, SUBMITTED, own_home
from tests.browser import Browser
from tests.pipelines.command_line import fail, use_home
from tests.tiny import Home
from tracehouse.app import server
from tracehouse.app.controls import Control, controls_of, scenario_of
from tracehouse.app.server import HOST, WhatIfPage
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import load_cluster
from traces.cluster.differing import changed_values

# controls: What a source offers. Each value is one that the readers of configurations take.

LIMIT = '[[limits]]\nowner = "{}"\nowner_name = "{}"\ncounts = "running"\neach = "{}"\nresource = "{}"\nbound = {}\nsource = "{}"\n'
SLURM = CLUSTER.replace(
    'prioritytype = "priority/basic"',
    'prioritytype = "priority/multifactor"\npriorityweightage = 1000\npriorityweightfairshare = 5000',
)
SLURM += '[[qualities]]\nname = "normal"\n' + "".join(
    LIMIT.format("qos", "normal", "user", resource, bound, "qos.psv:2 MaxTRESPU")
    for resource, bound in (("cpu", 4), ("jobs", 6))
)
PBS = PBS_CLUSTER.replace('prioritytype = "priority/basic"', "strict_ordering = true\nbackfill_depth = 5")
PBS += LIMIT.format("partition", "main", "user", "jobs", 6, "qmgr.txt:5 max_run")
PBS += LIMIT.format("cluster", "", "all", "cpu", 6, "qmgr.txt:6 max_run_res.ncpus")
EXPECTED = {
    "slurm": {"policy", "priorityweightage", "priorityweightfairshare", "half_life", "bf_max_job_test", "bf_interval", "nodes"}
    | {"limit0", "limit1", "load"},
    "pbs": {"policy", "backfill_depth", "strict_ordering", "nodes", "limit0", "limit1", "load"},
}  # fmt: skip


def ends_of(control: Control) -> list[str | int]:
    """Values that are not as today."""
    return [value for value, _ in control.choices[1:]] or [
        each for each in (control.low, control.high) if each != control.now
    ]


@pytest.mark.parametrize(("scheduler", "text"), [("slurm", SLURM), ("pbs", PBS)])
def test_every_value_is_a_line_that_is_read(
    scheduler: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_home(tmp_path, MANY, monkeypatch, text)
    controls, cluster = controls_of("mine"), load_cluster("two").description
    assert {each.name for each in controls} == EXPECTED[scheduler]
    for control in controls:
        for value in ends_of(control):
            scenario = scenario_of(controls, {control.name: value})
            assert len(scenario) == 1, control.name
            for edits in [scenario["edits"]] if "edits" in scenario else []:
                assert changed_values(cluster, edited_cluster(cluster, edits)), control.name
    sliders = {each.name: each.low for each in controls if not each.choices}
    edits = scenario_of(controls, sliders)["edits"]  # all at once: no edit takes another one back
    changed = [str(each) for each in changed_values(cluster, edited_cluster(cluster, edits))]
    assert sum("limit" in each for each in changed) == 2, changed
    assert (
        scenario_of(controls, {})
        == scenario_of(controls, {each.name: each.now for each in controls if not each.choices})
        == {}
    )


def test_two_amounts_of_one_list_are_one_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path, MANY, monkeypatch, SLURM.replace('resource = "jobs"', 'resource = "nodes"'))
    controls = controls_of("mine")
    assert scenario_of(controls, {"limit0": 2, "limit1": 3}) == {"edits": ["qos.normal.maxtrespu=cpu=2,node=3"]}


def test_a_log_without_a_scheduler_of_its_own_has_orders_and_processors(
    finished: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_home(monkeypatch, finished.folder)
    controls = controls_of("birch")
    asked = {"policy": "SAF", "backfill": "none", "procs": 10, "load": -5}
    assert {each.name for each in controls} == asked.keys()
    assert scenario_of(controls, asked) == {"policy": "SAF", "backfill": "none", "procs": "+10%", "load": "-5%"}
    for given in (
        {"policy": "../x.py:f"},
        {"procs": 51},
        {"procs": "10"},
        {"procs": True},
        {"edits": ["a=b"]},
        {"load": 1.5},
    ):
        with pytest.raises(ValueError, match=r"no value of it|no setting"):
            scenario_of(controls, given)


# server: Who may ask, and what is answered.


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WhatIfPage]:
    """The page of a source of Slurm, served, with `port` in its attribute of this name."""
    with pytest.MonkeyPatch.context() as patch:
        own_home(tmp_path_factory.mktemp("app"), MANY, patch, SLURM)
        page = WhatIfPage("mine", "secret", 0)
        running = uvicorn.Server(uvicorn.Config(page.guarded, HOST, 0, log_level="warning"))
        thread = threading.Thread(target=running.run)
        thread.start()
        while not running.started:
            assert thread.is_alive()
            time.sleep(0.05)
        page.port = running.servers[0].sockets[0].getsockname()[1]  # type: ignore[attr-defined]
        yield page
        running.should_exit = True
        thread.join()


def ask(page: WhatIfPage, target: str, values: object = None, **more: str) -> tuple[int, str, dict[str, str]]:
    """Status, content and headers of an answer. values: sent as JSON."""
    connection = http.client.HTTPConnection(HOST, page.port, timeout=120)  # type: ignore[attr-defined]
    headers = {"content-type": "application/json"} if values is not None else {}
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    connection.request(
        "GET" if values is None else "POST", target, None if values is None else json.dumps(values), headers
    )
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), {name.lower(): value for name, value in answer.getheaders()}


def test_only_who_has_the_token_may_ask(page: WhatIfPage) -> None:
    cookie = f"{page.cookie}=secret"
    for status, target, values, more in (
        (403, "/", None, {}),
        (403, "/?token=other", None, {}),
        (403, "/answer", {"nodes": -50}, {}),
        (403, "/answer", {"nodes": -50}, {"cookie": f"{page.cookie}=other"}),
        (403, "/", None, {"cookie": cookie, "host": "evil.example"}),
        (403, "/answer", {"nodes": -50}, {"cookie": cookie, "origin": "https://evil.example"}),
        (403, "/answer", {"nodes": -50}, {"cookie": cookie, "content_type": "text/plain"}),
        (403, "/answer", [], {"cookie": cookie}),
        (405, "/answer", None, {"cookie": cookie}),
        (200, "/", None, {"cookie": cookie}),
    ):
        assert ask(page, target, values, **more)[0] == status, (target, values, more)
    status, _, headers = ask(page, "/?token=secret")
    assert (status, headers["location"]) == (303, "/")
    assert (
        headers["set-cookie"].startswith(cookie)
        and "HttpOnly" in headers["set-cookie"]
        and "SameSite=strict" in headers["set-cookie"]
    )
    assert page.answers == {}


def test_the_queue_of_now_is_a_page_beside_it(
    page: WhatIfPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cookie, waiting = f"{page.cookie}=secret", {"job_state": ["PENDING"], "cpus": 1, "time_limit": 60, "start_time": 0}
    job = {"job_id": 77, "user_name": "ann", "partition": "main", "submit_time": SUBMITTED + 60_000} | waiting
    (tmp_path / "queue.json").write_text(json.dumps({"last_update": SUBMITTED + 60_060, "jobs": [job]}))
    assert "/queue" not in ask(page, "/", cookie=cookie)[1] and ask(page, "/queue")[0] == 403
    status, text, _ = ask(page, "/queue", cookie=cookie)
    assert status == 503 and "queue_command" in text
    monkeypatch.setattr(page, "has_queue", True)
    declared = load_catalogue().source("mine")
    command = shlex.join(["cat", str(tmp_path / "queue.json")])
    monkeypatch.setattr(
        server, "load_catalogue", lambda: SimpleNamespace(source=lambda _: replace(declared, queue_command=command))
    )
    assert 'href="/queue"' in ask(page, "/", cookie=cookie)[1]
    status, text, headers = ask(page, "/queue", cookie=cookie)
    assert status == 200 and "Queue now: mine" in text and "<td>77</td>" in text and "what keeps it" in text
    assert "default-src 'none'" in headers["content-security-policy"] and headers["cache-control"] == "no-store"


def test_an_answer_has_the_change_its_grade_and_who_pays(page: WhatIfPage, monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = f"{page.cookie}=secret"
    status, text, _ = ask(page, "/answer", {"nodes": -50}, cookie=cookie)
    assert status == 200 and "<h2>Jobs wait " in text and "n2" in text and "who pays" in text.lower()
    assert "tracehouse what-if mine --set procs=-50%" in text and "how far to believe" in text
    with monkeypatch.context() as patch:
        patch.setattr(server, "what_if", lambda *_: pytest.fail("it has been asked before"))
        assert ask(page, "/answer", {"nodes": -50}, cookie=cookie)[1] == text
    for values, said in (
        ({}, "everything is as today"),
        ({"nodes": 7000}, "no value of it"),
        ({"x": 1}, "x: no setting"),
    ):
        status, text, _ = ask(page, "/answer", values, cookie=cookie)
        assert status == 200 and said in text and "No answer" in text


def test_the_grade_decides_what_is_shown(page: WhatIfPage) -> None:
    answer = server.what_if({server.CHANGED: {"procs": "-50%"}}, "mine")
    configuration = answer.results.plan.configuration

    class Graded:
        """A grade of its figures, as the source could have it."""

        def __init__(self, **letters: str) -> None:
            self.letters, self.grade, self.words = letters, letters["mean"], "graded"
            self.reacting = NO_REACTION

    def text_with(**letters: str) -> str:
        plan = replace(answer.results.plan, configuration=replace(configuration, grade=Graded(**letters), no_grade=""))  # type: ignore[arg-type]
        answer.results = replace(answer.results, plan=plan)
        return server.answer_text("mine", {"procs": "-50%"}, answer)

    good = text_with(mean="B", median="D", p95="C")
    assert (
        re.search("B: if users .*, predicted changes of the mean wait are within 30 %", good)
        and "within a factor of 2" in good
    )
    (median,) = [line for line in good.splitlines() if "median wait" in line and "D: " in line]
    assert "<td></td><td></td>" in median
    poor = text_with(mean="D")
    assert (
        "Grade D: no figure is to be trusted" in poor
        and "<th>today</th>" not in poor
        and "who gains" not in poor.lower()
    )


def test_an_answer_has_the_change_where_users_keep_their_pace(page: WhatIfPage) -> None:
    answer = server.what_if({server.CHANGED: {"procs": "-50%"}}, "mine")
    results, changed = answer.results, pl.col("scenario") == server.CHANGED

    def headline(paced: pl.Expr | float | None) -> str:
        rows = results.rows.with_columns(
            pace_change_share=pl.when(changed).then(paced), change_share=pl.when(changed).then(0.5)
        )
        answer.results = replace(results, rows=rows)
        return re.findall("<h2>(.*)</h2>", server.answer_text("mine", {"procs": "-50%"}, answer))[0]

    assert "(+50 %, +41 % where users keep their pace)" in headline(0.41)
    assert "(+50 %)" in headline(0.505) and "(+50 %)" in headline(None)


def test_the_command_says_where_the_page_is(finished: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, finished.folder)
    served: list[Any] = []
    monkeypatch.setattr(server, "serve", lambda *given: served.append(given))
    from tests.pipelines.command_line import call

    done = call("app", "birch", "--port", "4000")
    ((source, port, token),) = served
    assert (source, port) == ("birch", 4000) and len(token) > 20
    assert done.exit_code == 0 and f"http://127.0.0.1:4000/?token={token} " in done.stderr
    assert "unknown source 'lublin-25'" in fail("app", "lublin-25")


# A user in a browser, at a desk and on a phone.


@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser_a_slider_gives_an_answer(page: WhatIfPage, width: int) -> None:
    with Browser() as browser:
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        address = f"http://{HOST}:{page.port}"  # type: ignore[attr-defined]
        browser.visit(f"{address}/?token=secret")
        assert browser.value("location.href") == f"{address}/"
        slider = "document.querySelector('input[name=nodes]')"
        browser.value(f"{slider}.value = -50; {slider}.dispatchEvent(new Event('input', {{bubbles: true}}))")
        assert browser.value(f"{slider}.parentElement.querySelector('output').value") == "-50 %"
        assert browser.press("What would happen?")
        deadline = time.monotonic() + 120
        while "who gains, and who pays" not in browser.value("document.body.innerText").lower():
            assert time.monotonic() < deadline, browser.value("document.body.innerText")
            time.sleep(0.2)
        assert browser.value("document.querySelector('#answer h2').innerText").startswith("Jobs wait ")
        assert browser.value("document.documentElement.scrollWidth") <= width
        form, answer = (f"document.querySelector('{name}').getBoundingClientRect()" for name in ("form", "#answer"))
        assert browser.value(f"{answer}.left > {form}.right") == (width > 1000)
        assert browser.value(f"{answer}.top > {form}.bottom") == (width < 1000)
        assert browser.press("As today")
        time.sleep(0.2)
        assert browser.value("document.querySelectorAll('label.moved').length") == 0
        assert all(url.startswith(address) for url in browser.requests()) and browser.faults() == []
