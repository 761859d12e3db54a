"""VASP runs from the warehouse, as predictors of remaining time read them."""

from models.remaining.runs import Runs, runs_of
from warehouse import Warehouse

PREDICTORS_HELP = (
    "inputs_only: the parameters alone; progress: boosted trees over the steps; multimodal: RLSchert's network"
)


def load_runs(warehouse: Warehouse, source: str, condition: str = "true") -> Runs:
    """The runs of a source that fulfil a condition in SQL, ordered by folder, file and launch."""
    order = "ORDER BY folder, outcar, launch"
    parameters = {"source": source}
    with warehouse.read() as connection:
        runs = connection.sql(
            f"SELECT * FROM raw.vasp_runs WHERE source = $source AND {condition} {order}", params=parameters
        ).pl()
        steps = [
            connection.sql(
                f"SELECT s.* FROM raw.{name} AS s SEMI JOIN (SELECT * FROM raw.vasp_runs WHERE source = $source AND {condition}) "
                "AS r ON s.source = r.source AND s.folder = r.folder AND s.outcar = r.outcar AND s.launch = r.launch "
                f"{order}, position",
                params=parameters,
            ).pl()
            for name in ("vasp_electronic_steps", "vasp_ionic_steps")
        ]
    return runs_of(runs, *steps)
