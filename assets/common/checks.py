"""How asset checks are made: each stands beside its asset and must hold of every source. A failed error check stops what follows."""

import warnings
from typing import Any

import dagster as dg

import sql
from assets.common.partitions import SOURCES
from warehouse import Warehouse

# checks with partitions are a preview in this (pinned) Dagster; without them a check could not know its source
warnings.filterwarnings("ignore", category=dg.PreviewWarning, message=".*partitions_def on an AssetCheckSpec.*")


def row_check(
    asset: dg.AssetsDefinition,
    statement: str,
    description: str,
    warns: bool = False,
    partitions: dg.PartitionsDefinition = SOURCES,
) -> dg.AssetChecksDefinition:
    """A check that runs a statement of `sql/checks/` for one source: it passes when the statement gives no row. warns: what it
    finds is to be known, but stops nothing."""
    name = statement.removeprefix("checks.")

    @dg.asset_check(asset=asset, name=name, description=description, blocking=not warns, partitions_def=partitions)
    def check(context: dg.AssetCheckExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.AssetCheckResult:
        broken = broken_rows(warehouse, statement, context.partition_key)
        return dg.AssetCheckResult(
            passed=not broken,
            severity=dg.AssetCheckSeverity.WARN if warns else dg.AssetCheckSeverity.ERROR,
            description=_fault(description, broken) if broken else description,
            metadata={"broken_rows": len(broken)} | ({"first": str(broken[:5])} if broken else {}),
        )

    return check


def _fault(description: str, broken: list[dict[str, object]]) -> str:
    """One sentence of what should hold, and one of the rows that break it."""
    first = ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in broken[0].items()
    )
    return (
        f"not so: {description}. {len(broken)} {'row breaks' if len(broken) == 1 else 'rows break'} it, first {first}"
    )


def broken_rows(warehouse: Warehouse, statement: str, source: str) -> list[dict[str, Any]]:
    """Up to 100 rows that break a rule."""
    with warehouse.read() as connection:
        return connection.sql(sql.load(statement), params={"source": source}).limit(100).pl().to_dicts()
