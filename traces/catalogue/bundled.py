"""The descriptions of the bundled clusters, read from their configuration as anybody's are."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from traces.cluster.remarks import DescribedCluster
from traces.pbs.configuration.folder import read_pbs_cluster
from traces.slurm.configuration.folder import read_slurm_cluster
from traces.synthetic.site_files import site_files
from traces.synthetic.sites import SITES


@cache
def bundled_cluster(name: str) -> DescribedCluster:
    """The cluster of a bundled site as its configuration has it, without the rule that is in none. Raises KeyError for another name."""
    site = SITES[name]
    read = read_pbs_cluster if site.scheduler == "pbs" else read_slurm_cluster
    with TemporaryDirectory(prefix="tracehouse-") as folder:
        paths = write_site_files(name, Path(folder))
        return read(paths, name, site.time_zone)


def write_site_files(name: str, folder: Path) -> list[Path]:
    """Writes the configuration of a bundled site into a folder."""
    paths = [folder / file for file in site_files(name)]
    for path, text in zip(paths, site_files(name).values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths
