"""How assets are made: as Dagster's own, and besides, what is expected to go wrong ends in one sentence, and sources that are too small
to learn from are passed over."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import dagster as dg

from assets.common.code.declared import CLUSTER, SOURCE_ENTRY
from assets.common.code.reach import Symbol
from assets.common.code.versions import code_version, reads_clusters
from assets.common.describe import table_metadata
from assets.common.learnable import nothing_to_learn
from assets.common.partitions import OWNERS, SOURCES
from assets.common.progress import progress_logged_by
from assets.common.writing.locks import works_on
from models import NothingToLearn
from models.scheduling.workers.launching import TrainingStopped
from simulator.policies.plugins import confined_plugins
from traces.catalogue.sources import CatalogueError
from traces.common.log import LogError
from traces.common.pseudonyms import PseudonymError
from warehouse import WarehouseBusy, WarehouseError

EXPECTED_ERRORS = (CatalogueError, LogError, PseudonymError, WarehouseError, TrainingStopped, ValueError)
"""Errors whose message tells the user what to do. Any other is a fault of tracehouse and keeps its traceback."""
RETRIES, RETRY_AFTER_S = 2, 60
"""Of a step that found the warehouse busy until it gave up."""
PASSED_OVER = "passed over"
"""Metadata of assets that nothing was learned for: why."""
FROM_COMMAND_LINE = "tracehouse/from"
"""Tag of runs that a command has started. Whoever waits for a command tries again himself."""


def asset(
    key: str, *, least_jobs: int = 0, table: str | None = "", **options: Any
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Dagster's decorator `asset`, with what all of ours have.

    key: its parts with dots between. table: of the warehouse, where that is not named as the asset is; None for none. least_jobs: it is
    passed over for a source with fewer, or with nothing to learn from, and where its function raises NothingToLearn. Then it is
    materialized without rows, and says why. Errors that are expected become `dagster.Failure` with their message alone. A busy warehouse
    is tried again.
    """

    def made(function: Callable[..., Any]) -> dg.AssetsDefinition:
        @functools.wraps(function)
        def run(context: dg.AssetExecutionContext, *arguments: Any, **named: Any) -> Any:
            with plain_failures(context):
                why_not = (
                    nothing_to_learn(named["warehouse"], context.partition_key, least_jobs) if least_jobs else None
                )
                if why_not is None:
                    try:
                        with progress_logged_by(context.log.info):
                            return function(context, *arguments, **named)
                    except NothingToLearn as error:
                        why_not = str(error)
                context.log.info(why_not)
                return dg.MaterializeResult(metadata=passed_over(why_not))

        return dg.asset(**what_all_have(function, key, table) | options | {"deps": deps_of(function, options)})(run)

    return made


@contextmanager
def plain_failures(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> Iterator[None]:
    """Expected errors of a step become `dagster.Failure` with their message alone. A busy warehouse is tried again. Runs that no command
    executes take plug-ins from one folder only. Nobody removes the source of the step meanwhile."""
    held = works_on(context.partition_key) if context.has_partition_key else nullcontext()
    try:
        with confined_plugins(), held:
            yield
    except WarehouseBusy as error:
        if not _may_retry(context):
            raise dg.Failure(str(error), allow_retries=False) from None
        context.log.warning(f"{error}; this step is tried again in {RETRY_AFTER_S} s")
        raise dg.RetryRequested(max_retries=RETRIES, seconds_to_wait=RETRY_AFTER_S) from error
    except EXPECTED_ERRORS as error:
        raise dg.Failure(str(error), allow_retries=False) from None


def passed_over(why_not: str) -> dict[str, Any]:
    """Metadata of an asset that has no rows, for this reason."""
    return {"dagster/row_count": 0, PASSED_OVER: why_not}


def what_all_have(function: Callable[..., Any], key: str, table: str | None) -> dict[str, Any]:
    """Options of an asset that say what it is called, its group, which is its folder unless it names the job that makes it, its table,
    where its code is and which version that is. There is one partition a source. The assets of a paper take hours."""
    room, folder = function.__module__.split(".")[:2]
    described = {} if table is None else table_metadata(table or key)
    return {
        "key": key.split("."),
        "group_name": "experiments" if room == "papers" else folder,
        "partitions_def": SOURCES,
        "tags": {"cost": "hours", "paper": folder} if room == "papers" else {},
        "owners": OWNERS,
        "metadata": described | {"dagster/code_references": _code_reference(function)},
        "code_version": code_version(Symbol(function.__module__, function.__name__)),
    }


def deps_of(function: Callable[..., Any], options: Mapping[str, Any]) -> list[Any]:
    """What an asset is made from: its `deps`, and of a source what the catalogue says of it, as far as its function reads that."""
    deps = list(options.get("deps", ()))
    if options.get("partitions_def", SOURCES) is SOURCES:
        deps.append(SOURCE_ENTRY)
        if reads_clusters(Symbol(function.__module__, function.__name__)):
            deps.append(CLUSTER)
    return deps


def _code_reference(function: Callable[..., Any]) -> dg.CodeReferencesMetadataValue:
    """File and line of an asset, which the UI links."""
    code = function.__code__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)  # of this (pinned) Dagster
        reference = dg.LocalFileCodeReference(file_path=code.co_filename, line_number=code.co_firstlineno)
        return dg.CodeReferencesMetadataValue(code_references=[reference])


def _may_retry(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> bool:
    return FROM_COMMAND_LINE not in context.run.tags and context.retry_number < RETRIES
