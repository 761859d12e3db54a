"""Which rules a described cluster names itself as left out."""

from __future__ import annotations

from traces.cluster.description import ClusterDescription


def is_left_out(cluster: ClusterDescription, *keys: str) -> bool:
    """Whether the description says itself that one of these keys is left out, as it does once a configuration was read."""
    heads = tuple(f"{key.lower()}=" for key in keys if key)
    return bool(heads) and any(word.startswith(heads) for word in cluster.left_out)
