"""Assets that are made in parts: steps that any executor of Dagster runs side by side, on one machine or on many.

Such an asset has three kinds of steps. The first, `count`, says how many parts there are. Then each part is a step `part` of its own. The
last step, `whole`, puts the parts together, and its result is the asset. A part whose process is killed is repeated alone. Between the
steps are Parquet files in the data folder, which machines that share a warehouse share, too.
"""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import Parameter, Signature
from shutil import rmtree
from typing import Any, get_type_hints

import dagster as dg
import polars as pl
from upath import UPath

from assets.common.asset import deps_of, plain_failures, what_all_have
from assets.common.progress import progress_logged_by
from assets.common.storage import KEPT_UNUSED_S, artefacts_folder, file_time, write_whole
from warehouse import Warehouse

PART_RETRIES = 2
"""How often a part is repeated whose process was killed."""
_FILES = "part_files"


def asset_of_parts(
    key: str,
    *,
    count: Callable[..., int],
    part: Callable[..., pl.DataFrame],
    table: str | None = "",
    **options: Any,
) -> Callable[[Callable[..., dg.MaterializeResult]], dg.AssetsDefinition]:
    """As `assets.common.asset.asset`, for a function that takes (context, config, warehouse, parts).

    count: (config, warehouse, source) -> how many parts there are. part: (context, config, warehouse, number) -> its rows; it may write
    to the warehouse what no other part writes. parts: the rows of all parts, by their numbers. All three are given the same configuration.
    """

    def made(function: Callable[..., dg.MaterializeResult]) -> dg.AssetsDefinition:
        config = get_type_hints(function)["config"]
        inputs = {"__".join(dep.key.path): dep.key for dep in deps_of(function, options)}
        options.pop("deps", None)
        name = key.replace(".", "__")
        first = _count_step(f"{name}__count", list(inputs), config, count).alias("count")
        each = _part_step(f"{name}__part", config, part).alias("part")
        last = _whole_step(f"{name}__whole", config, function).alias("whole")

        def graph(**upstream: Any) -> Any:
            return last(first(**upstream).map(lambda number: each(number)).collect())

        parameters = [Parameter(input_name, Parameter.KEYWORD_ONLY) for input_name in inputs]
        graph.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dg.BetaWarning)  # of this (pinned) Dagster
            return dg.graph_asset(
                ins={name: dg.AssetIn(upstream, dagster_type=dg.Nothing) for name, upstream in inputs.items()},
                config=dg.ConfigMapping(_same_for_all_steps, config.to_config_schema()),
                resource_defs={_FILES: _PART_FILES},
                description=function.__doc__,
                **what_all_have(function, key, table) | options,
            )(graph)

    return made


class PartFiles(dg.UPathIOManager):
    """The rows of parts as Parquet files, by run and step, where all machines find them. A repeated run finds those of the run before."""

    extension = ".parquet"

    def __init__(self) -> None:
        super().__init__(UPath("parts"))

    def dump_to_path(self, context: dg.OutputContext, obj: pl.DataFrame, path: UPath) -> None:
        """Writes the rows of a part."""
        content = io.BytesIO()
        obj.write_parquet(content)
        write_whole(artefacts_folder() / str(path), content.getvalue())

    def load_from_path(self, context: dg.InputContext, path: UPath) -> pl.DataFrame:
        """The rows of a part."""
        return pl.read_parquet((artefacts_folder() / str(path)).read_bytes())

    def make_directory(self, path: UPath) -> None:
        """Nothing: whoever writes makes the folder."""


_PART_FILES = dg.IOManagerDefinition.hardcoded_io_manager(PartFiles())
"""One for all assets: Dagster compares them."""


def _same_for_all_steps(config: Any) -> dict[str, Any]:
    return {step: {"config": config} for step in ("count", "part", "whole")}


def _count_step(name: str, upstream: list[str], config_class: Any, count: Callable[..., int]) -> dg.OpDefinition:
    @dg.op(name=name, ins=dict.fromkeys(upstream, dg.In(dg.Nothing)), out=dg.DynamicOut(dg.Nothing))
    def count_step(
        context: dg.OpExecutionContext,
        config: config_class,
        warehouse: dg.ResourceParam[Warehouse],
    ) -> Iterator[dg.DynamicOutput]:
        _remove_old_files()
        with plain_failures(context):
            numbers = range(count(config, warehouse, context.partition_key))
        yield from (dg.DynamicOutput(None, mapping_key=str(number)) for number in numbers)

    return count_step


def _part_step(name: str, config_class: Any, part: Callable[..., pl.DataFrame]) -> dg.OpDefinition:
    @dg.op(
        name=name,
        ins={"number": dg.In(dg.Nothing)},
        out=dg.Out(pl.DataFrame, io_manager_key=_FILES),
        retry_policy=dg.RetryPolicy(max_retries=PART_RETRIES),
    )
    def part_step(
        context: dg.OpExecutionContext,
        config: config_class,
        warehouse: dg.ResourceParam[Warehouse],
    ) -> pl.DataFrame:
        with plain_failures(context), progress_logged_by(context.log.info):
            return part(context, config, warehouse, int(context.get_mapping_key() or 0))

    return part_step


def _whole_step(name: str, config_class: Any, whole: Callable[..., dg.MaterializeResult]) -> dg.OpDefinition:
    @dg.op(name=name, out=dg.Out(dg.Nothing))
    def whole_step(
        context: dg.OpExecutionContext,
        config: config_class,
        warehouse: dg.ResourceParam[Warehouse],
        parts: list[pl.DataFrame],
    ) -> None:
        with plain_failures(context), progress_logged_by(context.log.info):
            metadata = dict(whole(context, config, warehouse, parts).metadata or {})
        context.add_output_metadata(metadata)

    return whole_step


def _remove_old_files() -> None:
    """Those of runs that nobody repeats any more."""
    parts = artefacts_folder() / "parts"
    now = file_time(parts)
    for folder in parts.glob("*"):
        with suppress(FileNotFoundError):  # another run has just removed it
            if now - folder.stat().st_mtime > KEPT_UNUSED_S:
                rmtree(folder, ignore_errors=True)
