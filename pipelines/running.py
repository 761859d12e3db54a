"""Running jobs from the command line: the same jobs and records as the UI's, with one line a step."""

import fcntl
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import click
import dagster as dg
import yaml
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph  # not exported; an annotation
from dagster._core.errors import DagsterAssetCheckFailedError  # not exported, and what a blocking check raises
from dagster._core.storage import local_compute_log_manager  # copies output of steps, without Ctrl-C (below)

from assets.common.asset import FROM_COMMAND_LINE
from assets.common.storage import write_whole
from assets.common.writing.locks import works_on
from assets.sharing.readers_copy import refresh_readers
from pipelines.definitions import defs
from pipelines.faults import kept_fault, shows_tracebacks
from pipelines.nights import register_sources
from pipelines.processes import close_dead_runs, this_process
from pipelines.step_log import StepWatch, asset_name, saying_what_runs
from pipelines.terminal import printable
from simulator.policies.plugins import free_plugins
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.places import PROJECT, home
from warehouse import DiskError, WarehouseError, disk_fault

KEPT = "what is done is kept, and the same command goes on from there"
"""What an interrupted command prints."""
_MIRROR = local_compute_log_manager.mirror_stream_to_file
DAGSTERS_FAULT = "Exception while writing logger call to event log"

REPOSITORY_TAG, REPOSITORY = ".dagster/repository", "__repository__@pipelines.definitions"
"""The tag by which the UI lists runs of a job, and shows them in its timeline. Dagster sets it for runs that the UI starts."""


def dagster_instance() -> dg.DagsterInstance:
    """The Dagster instance of `home()`. Its first use writes its settings there."""
    settings = home() / "dagster.yaml"
    if not settings.exists():
        write_whole(settings, (PROJECT / "dagster.yaml").read_bytes())
    os.environ["DAGSTER_HOME"] = str(home())
    with (home() / ".dagster-setup.lock").open("w") as lock:
        # two first runs at once would both create Dagster's tables, and one would fail
        fcntl.flock(lock, fcntl.LOCK_EX)
        instance = dg.DagsterInstance.get()
        instance.get_runs_count()
        instance.get_dynamic_partitions("sources")
        instance.all_instigator_state()
        return instance


class _StderrOfOurs:
    """Standard error without what Dagster writes when it cannot keep its records, since the error itself also comes here."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return len(text) if text.startswith(DAGSTERS_FAULT) else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def without_dagsters_faults() -> Iterator[None]:
    """Keeps SQL statements of Dagster's off the screen when its records cannot be written."""
    with redirect_stderr(_StderrOfOurs(sys.stderr)):
        yield


@contextmanager
def _copied_without_ctrl_c(stream: Any, filepath: Any) -> Iterator[Any]:
    """Keeps the output of a step as Dagster does. But the processes that copy it end with the step, and not, with a traceback, at
    Ctrl-C."""
    with ExitStack() as copied:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes inherit it
        try:
            processes = copied.enter_context(_MIRROR(stream, filepath))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield processes


@contextmanager
def _quiet_copies() -> Iterator[None]:
    """Inside, output of steps is copied by processes that Ctrl-C does not reach."""
    before = local_compute_log_manager.mirror_stream_to_file
    if before is _MIRROR:
        local_compute_log_manager.mirror_stream_to_file = _copied_without_ctrl_c
    try:
        yield
    finally:
        local_compute_log_manager.mirror_stream_to_file = before


class SelectedAssets(NamedTuple):
    """Assets that run together. partitions: the names by which they are partitioned, "sources" or "vasp", None for neither."""

    keys: tuple[dg.AssetKey, ...]
    partitions: str | None


PLAIN_NAME = re.compile(r"(?P<before>\d*\+|)(?P<name>[\w.-]+(?:/[\w.-]+)*)(?P<behind>\+\d*|)")
"""An asset by its name alone, with what is above it (`+marts/report`) or below it."""


def select_assets(selections: Sequence[str]) -> SelectedAssets:
    """The assets of selections in Dagster's language, such as `marts/report`, `+marts/report` or `group:policies`, together.

    Raises ValueError, with the names that are near, for a selection of nothing, and where assets are partitioned in different ways.
    """
    graph = defs.resolve_asset_graph()
    keys: set[dg.AssetKey] = set()
    for text in selections:
        selected: AbstractSet[dg.AssetKey] = frozenset()
        with warnings.catch_warnings(), suppress(dg.DagsterError):
            warnings.simplefilter("ignore", dg.BetaWarning)
            selected = dg.AssetSelection.from_string(_with_key(text)).resolve(graph) & graph.materializable_asset_keys
        if not selected:
            raise ValueError(_no_assets(text, graph))
        keys |= selected
    kinds = {getattr(graph.get(key).partitions_def, "name", None) for key in keys}
    if len(kinds) > 1:
        raise ValueError(
            f"{' '.join(selections)}: assets of sources, of folders of VASP runs and of neither do not run together: select one kind"
        )
    return SelectedAssets(tuple(sorted(keys)), kinds.pop())


def _with_key(selection: str) -> str:
    """A selection that is a name with or without `+`, written as a key. Dagster takes `+NAME` for one layer above, and `+key:"NAME"` for
    all of them."""
    parts = PLAIN_NAME.fullmatch(selection.strip())
    return f'{parts["before"]}key:"{parts["name"]}"{parts["behind"]}' if parts else selection


def _no_assets(text: str, graph: BaseAssetGraph) -> str:
    names = sorted(key.to_user_string() for key in graph.materializable_asset_keys)
    groups = sorted({graph.get(key).group_name for key in graph.materializable_asset_keys})
    for kind, word in re.findall(r'(\w+:)?"?([\w/.-]+)', text):
        expected = groups if kind == "group:" else names
        near = get_close_matches(word, expected, n=1) or [name for name in expected if name.endswith(f"/{word}")]
        if word not in (*expected, "and", "or", "not") and near:
            return f"--select {text!r} selects no asset. Did you mean {kind}{near[0]}?"
    return f"--select {text!r} selects no asset: expected names and groups as in `--select +marts/report` or `--select group:policies`"


def run_job(
    job: str,
    sources: list[str],
    run_config: dict[str, Any] | None = None,
    partitions: str | None = "sources",
    assets: Sequence[dg.AssetKey] = (),
) -> dict[str, str]:
    """Runs a job for each source in turn. If one fails, the others still run.

    partitions: what the names are, "sources" or "vasp". None for a job without sources, which runs once under the one name.
    assets: what runs instead of a job of the definitions, under the name `job`. Returns what went wrong by source, empty
    when all is well. Raises KeyboardInterrupt where a step is interrupted.
    """

    failures: dict[str, str] = {}
    declared = _declared(partitions)
    with free_plugins(), without_dagsters_faults(), _quiet_copies(), dagster_instance() as instance:
        closed = close_dead_runs(instance)
        if closed:
            click.echo(f"{closed} run(s) of processes that died were closed as failed", err=True)
        for source in sources:
            click.secho(f"{source}: {job}" if partitions else job, bold=True, err=True)
            with works_on(source) if partitions else nullcontext():
                if source in declared - _declared(partitions):
                    failure: str | None = f"{source} was removed meanwhile"
                else:
                    failure = _failure_of(instance, _resolved(job, assets), job, source, run_config or {}, partitions)
            if failure is not None:
                failures[source] = failure
            if source in failures and len(sources) > 1:
                click.secho(f"  {printable(failures[source])}", fg="red", err=True)
    _refresh_readers()
    return failures


def _failure_of(
    instance: dg.DagsterInstance,
    definition: dg.JobDefinition,
    job: str,
    source: str,
    run_config: dict[str, Any],
    partitions: str | None,
) -> str | None:
    """Runs a job for one source. Returns what went wrong, None where nothing did. Raises what the other sources would meet, too."""
    if partitions:
        register_sources(instance, [source], partitions)
    try:
        with saying_what_runs(_step_watch(instance, definition, source if partitions else None)):
            result = definition.execute_in_process(
                run_config=run_config | {"loggers": {"steps": {"config": {}}}},
                instance=instance,
                partition_key=source if partitions else None,
                tags=this_process() | {FROM_COMMAND_LINE: "command line", REPOSITORY_TAG: REPOSITORY},
                raise_on_error=True,
            )
    except dg.DagsterInvalidConfigError as error:
        raise ValueError(f"the run configuration does not fit the job {job!r}: {error}") from None
    except DagsterAssetCheckFailedError as error:
        return str(error).splitlines()[0]
    except dg.Failure as failure:
        if isinstance(failure.__context__, DiskError):
            raise failure.__context__ from None
        return failure.description or str(failure)
    except dg.DagsterExecutionInterruptedError:  # Ctrl-C
        raise KeyboardInterrupt(KEPT) from None
    except Exception as error:
        if shows_tracebacks() or isinstance(error, OSError | WarehouseError) or disk_fault(error, home()):
            raise
        return kept_fault(error)
    return None if result.success else f"run {result.run_id} failed: the UI (`make ui`) shows why"


def _declared(partitions: str | None) -> set[str]:
    """The names of sources, or of folders of VASP runs, in the catalogue as it is now."""
    catalogue = load_catalogue(may_be_missing=True) if partitions else None
    if catalogue is None:
        return set()
    return set(catalogue.vasp if partitions == "vasp" else catalogue.sources)


def _refresh_readers() -> None:
    """Writes what the catalogue wants for other tools. Failures are printed, and do not make the run fail."""
    try:
        refresh_readers()
    except (ValueError, OSError, WarehouseError) as error:
        click.secho(f"  ! for readers, nothing new was written: {printable(str(error))}", fg="yellow", err=True)


def _step_watch(instance: dg.DagsterInstance, definition: dg.JobDefinition, partition: str | None) -> StepWatch:
    """What tells how far a run is. It knows how long each asset took when the job last succeeded, for this source if it can."""
    names = sorted(key.to_user_string() for key in definition.asset_layer.selected_asset_keys)
    of_source = {"dagster/partition": partition} if partition else {}
    earlier: dict[str, float] = {}
    is_same = False
    for tags in (of_source, {}):
        succeeded = dg.RunsFilter(job_name=definition.name, tags=tags, statuses=[dg.DagsterRunStatus.SUCCESS])
        runs = instance.get_runs(filters=succeeded, limit=1)
        if runs:
            earlier, is_same = _seconds_of_assets(instance, runs[0].run_id), tags == of_source
            break
    return StepWatch(names, earlier, is_same, time.monotonic())


def _seconds_of_assets(instance: dg.DagsterInstance, run_id: str) -> dict[str, float]:
    """From the first step of each asset of a run to its last, seconds."""
    spans: dict[str, tuple[float, float]] = {}
    for step in instance.get_run_step_stats(run_id):
        if step.start_time is not None and step.end_time is not None:
            name = asset_name(step.step_key)
            first, last = spans.get(name, (step.start_time, step.end_time))
            spans[name] = min(first, step.start_time), max(last, step.end_time)
    return {name: last - first for name, (first, last) in spans.items()}


def _resolved(job: str, assets: Sequence[dg.AssetKey]) -> dg.JobDefinition:
    if not assets:
        return defs.resolve_job_def(job)
    return defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection=set(assets))


def has_partition(name: str, partitions: str = "sources") -> bool:
    """Whether Dagster knows a source, or a folder of VASP runs, by this name."""
    with dagster_instance() as instance:
        return name in instance.get_dynamic_partitions(partitions)


def read_config(path: Path | None) -> dict[str, Any]:
    """Run configuration from a YAML file, {} without one. Raises ValueError, naming the file."""
    if path is None:
        return {}
    try:
        config = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not valid YAML: {error}") from None
    except RecursionError:
        raise ValueError(f"{path}: not valid YAML: brackets are nested too deep") from None
    if not isinstance(config, dict):
        raise ValueError(
            f"{path}: expected a mapping such as `ops: {{policies__scheduling_policy: {{config: {{epochs: 5}}}}}}`"
        )
    return config
