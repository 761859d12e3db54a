"""Dagster's web server behind the guard: `python -m pipelines.web.server`, with the options of `dagster-webserver`.

TRACEHOUSE_UI_HOSTS holds the names, with commas between them, under which the UI may be opened beside those of this machine.
"""

from __future__ import annotations

import os
from typing import Any

from dagster_webserver import cli
from dagster_webserver.app import create_app_from_workspace_process_context

from pipelines.web.guard import HOSTS_VARIABLE, AllowedNames, Guard


def guarded_application(*arguments: Any, **options: Any) -> Guard:
    """Dagster's application behind the guard. Raises ValueError for names that are none."""
    names = AllowedNames.parse(os.environ.get(HOSTS_VARIABLE, ""))
    return Guard(create_app_from_workspace_process_context(*arguments, **options), names)


def serve_ui() -> None:
    """Serves until it is stopped."""
    # Dagster has no place for a layer of others: a version that makes its application elsewhere must not start without it
    assert cli.create_app_from_workspace_process_context is create_app_from_workspace_process_context
    cli.create_app_from_workspace_process_context = guarded_application  # type: ignore[assignment]
    cli.main()


if __name__ == "__main__":
    serve_ui()
