"""The page of `tracehouse app`, served on this machine alone: settings of a source, and what other values of them would do."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from assets.pages.look.templates import fill
from assets.pages.scenario_page import scenario_page
from assets.replaying.scenarios.columns import RANKS_ALONE, hours, percent
from assets.replaying.scenarios.paced import differ
from assets.replaying.scenarios.pairing import most_changed
from assets.replaying.scenarios.scenario_file import BASE
from models.judging.fidelity import FIGURE_WORDS, NO_FIGURES, promise_of
from pipelines.web.guard import AllowedNames, Guard
from tracehouse.app.controls import controls_of, scenario_of
from tracehouse.app.queue_page import queue_page
from tracehouse.queue import queue_now
from tracehouse.scenarios import WhatIf, what_if
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.sources import CatalogueError
from traces.common.log import LogError
from traces.common.pseudonyms import PseudonymError
from warehouse import WarehouseError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from assets.replaying.running.grade import SourceGrade

HOST = "127.0.0.1"
CHANGED = "your change"
"""The scenario, as the page of all figures names it."""
TOP = 3
"""Groups of a kind whose waits grow and shrink most."""
_SHOWN_FIGURES = {
    "mean": ("paired_base_wait_h", "paired_wait_h"),  # over all runs, where the scheduler is replayed in several phases
    "median": ("median_wait_h", "median_wait_h"),
    "p95": ("p95_wait_h", "p95_wait_h"),
}
"""Columns of the row that has the value of today, and of the value changed."""
_POLICY = "; ".join(
    (
        *("default-src 'none'", "style-src 'unsafe-inline'", "script-src 'nonce-{}'", "connect-src 'self'"),
        *("frame-ancestors 'none'", "base-uri 'none'"),
    )
)


class WhatIfPage:
    """The application. token: whoever has it may ask. It comes with the address, and stays as a cookie. One answer is computed at a
    time."""

    def __init__(self, source: str, token: str, port: int) -> None:
        self.source, self.token, self.cookie = source, token, f"tracehouse-{port}"
        self.controls = controls_of(source)
        self.has_queue = bool(load_catalogue().source(source).queue_command)
        self.answers: dict[tuple[tuple[str, Any], ...], str] = {}
        self.lock, self.queue_lock = Lock(), Lock()

    @property
    def guarded(self) -> Guard:
        """The application behind the guard of `tracehouse ui`, which refuses foreign names and pages."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        routes = [Route("/", self.page), Route("/queue", self.queue), Route("/answer", self.answer, methods=["POST"])]
        return Guard(Starlette(routes=routes), AllowedNames.parse(""), start_page=None)

    def _has_token(self, given: str | None) -> bool:
        return given is not None and secrets.compare_digest(given.encode(), self.token.encode())

    async def page(self, request: Request) -> Response:
        """The settings. With the token in its address it leads to the page itself, so that no history has the token."""
        from starlette.responses import HTMLResponse, RedirectResponse

        if self._has_token(request.query_params.get("token")):
            there = RedirectResponse("/", 303)
            there.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
            return there
        if not self._has_token(request.cookies.get(self.cookie)):
            return self._refusal()
        nonce = secrets.token_urlsafe(16)
        text = fill("app.html", source=self.source, controls=self.controls, has_queue=self.has_queue, nonce=nonce)
        return HTMLResponse(text, headers=_headers(nonce))

    async def queue(self, request: Request) -> Response:
        """When the jobs that wait now start, by the queue_command of the source."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import HTMLResponse, PlainTextResponse

        if not self._has_token(request.cookies.get(self.cookie)):
            return self._refusal()
        try:
            text = await run_in_threadpool(self._queue_now)
        except (CatalogueError, LogError, PseudonymError, WarehouseError, ValueError, OSError) as error:
            return PlainTextResponse(f"{error}\n", 503, headers=_headers(""))
        return HTMLResponse(text, headers=_headers(""))

    def _queue_now(self) -> str:
        with self.queue_lock:
            answer = queue_now(load_catalogue().source(self.source))
        return queue_page(self.source, answer.lines, answer.rows)

    async def answer(self, request: Request) -> Response:
        """What the values that are sent would do, as a part of the page."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import HTMLResponse

        if not self._has_token(request.cookies.get(self.cookie)):
            return self._refusal()
        try:
            scenario = scenario_of(self.controls, await request.json())
            text = await run_in_threadpool(self._answer_to, scenario)
        except ValueError as error:
            text = fill("app_answer.html", fault=str(error))
        return HTMLResponse(text, headers={"cache-control": "no-store"})

    def _refusal(self) -> Response:
        from starlette.responses import PlainTextResponse

        return PlainTextResponse("open the whole address that `tracehouse app` has printed, with its token\n", 403)

    def _answer_to(self, scenario: dict[str, Any]) -> str:
        if not scenario:
            raise ValueError("everything is as today: move a slider, or choose something")
        key = tuple(sorted((name, repr(value)) for name, value in scenario.items()))
        with self.lock:
            if key not in self.answers:
                self.answers[key] = answer_text(self.source, scenario, what_if({CHANGED: scenario}, self.source))
            return self.answers[key]


def _headers(nonce: str) -> dict[str, str]:
    return {"content-security-policy": _POLICY.format(nonce), "cache-control": "no-store"}


def answer_text(source: str, scenario: Mapping[str, Any], answer: WhatIf) -> str:
    """An answer as a part of the page: the change first, then each figure with its grade, who gains and who pays, and what to trust."""
    results = answer.results
    configuration = results.plan.configuration
    rows = {row["scenario"]: row for row in results.rows.iter_rows(named=True)}
    row, groups = rows[CHANGED], results.groups.filter(scenario=CHANGED)
    has_figures = configuration.has_figures
    lines = [*scenario.get("edits", ()), *(f"{key}={value}" for key, value in scenario.items() if key != "edits")]
    words = [f"tracehouse what-if {shlex.quote(source)}", *(f"--set {shlex.quote(line)}" for line in lines)]
    return fill(
        "app_answer.html",
        fault="",
        headline=_headline(row, has_figures),
        figures=_figures(rows[BASE], row, configuration.grade) if has_figures else [],
        remarks=[
            text[0].upper() + text[1:] for text in (each.removeprefix(f"{CHANGED}: ") for each in results.remarks)
        ],
        parts=most_changed(groups, TOP) if has_figures else [],
        changed_lines=results.plan.changed_lines.get(CHANGED, ()),
        trust=configuration.trust,
        command=" ".join(words),
        page=scenario_page(results),
        hours=hours,
    )


def _headline(row: Mapping[str, Any], has_figures: bool) -> str:
    if not has_figures:
        return f"Mean wait: {row['direction']}. {RANKS_ALONE}"
    if row["change_share"] is None:
        return "Nobody waits today"
    verdict = f": {row['verdict']}" if row["verdict"] else ""
    before, after = hours(row["paired_base_wait_h"]), hours(row["paired_wait_h"])
    change, paced = row["change_share"], row["pace_change_share"]
    both = f", {percent(paced, '+')} where users keep their pace" if differ(change, paced) else ""
    return f"Jobs wait {after} h on average instead of {before} h ({percent(change, '+')}{both}){verdict}"


def _figures(
    base: Mapping[str, Any], row: Mapping[str, Any], grade: SourceGrade | None
) -> list[tuple[str, str, str, str]]:
    """Name, value today, value changed, and the grade in words, of each figure that has no D."""
    figures = []
    for figure, (before, after) in _SHOWN_FIGURES.items():
        letter = None if grade is None else grade.letters.get(figure)
        said = (
            "no grade" if grade is None or letter is None else f"{letter}: {promise_of(letter, figure, grade.reacting)}"
        )
        if letter == NO_FIGURES:
            figures.append((FIGURE_WORDS[figure], "", "", said))
            continue
        today = (row if figure == "mean" else base)[before]
        figures.append((FIGURE_WORDS[figure], f"{hours(today)} h", f"{hours(row[after])} h", said))
    for name, column in (("started within an hour", "started_within_1h_share"), ("processors in use", "utilisation")):
        figures.append((name, percent(base[column]), percent(row[column]), "no grade"))
    return figures


def serve(source: str, port: int, token: str) -> None:
    """Serves the page of a source until it is stopped. Raises CatalogueError where there is no such source."""
    import uvicorn

    page = WhatIfPage(source, token, port)
    uvicorn.run(page.guarded, host=HOST, port=port, log_level="warning", timeout_graceful_shutdown=1)
