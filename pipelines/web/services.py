"""The services of `tracehouse ui`: code location, daemon, and the web server behind the guard. `python -m pipelines.web.services`.

They are those of `dagster dev`, except for the guard.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from subprocess import Popen
from typing import Any

from dagster._cli import dev  # not exported
from dagster._cli.workspace.cli_target import WorkspaceOpts  # what dev takes

from traces.catalogue.places import PROJECT

DAGSTERS, OURS = "dagster_webserver", "pipelines.web.server"
_START_PROCESS = dev.open_ipc_subprocess


def start_guarded(parts: Sequence[str], **options: Any) -> Popen[Any]:
    """Starts a service. In place of Dagster's web server ours is started. parts: the words of its command."""
    words = [OURS if word == DAGSTERS else word for word in parts]
    if words == list(parts) and "dagster._daemon" not in words:
        raise RuntimeError(f"this Dagster starts its web server in another way, without the guard: {' '.join(parts)}")
    return _START_PROCESS(words, **options)


def start_services(host: str, port: str) -> None:
    """Serves until it is stopped."""
    dev.open_ipc_subprocess = start_guarded
    dev.dev_command_impl(
        code_server_log_level="warning",
        log_level="info",
        log_format="colored",
        port=port,
        host=host,
        use_legacy_code_server_behavior=False,
        shutdown_pipe=None,
        verbose=False,
        # Dagster looks for packages there first, and by default in the folder in which the UI was started
        workspace_opts=WorkspaceOpts(module_name=("pipelines.definitions",), working_directory=str(PROJECT)),
    )


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):  # before the services know it
        start_services(*sys.argv[1:])
