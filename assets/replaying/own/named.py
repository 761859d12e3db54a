"""Which rules a described cluster names itself as left out."""

from __future__ import annotations

from traces.cluster.description import ClusterDescription

_MOST_VALUES = 3


def is_left_out(cluster: ClusterDescription, *keys: str) -> bool:
    """Whether the description says itself that one of these keys is left out, as it does once a configuration was read."""
    heads = tuple(f"{key.lower()}=" for key in keys if key)
    return bool(heads) and any(word.startswith(heads) for word in cluster.left_out)


def left_out_rules(cluster: ClusterDescription) -> list[str]:
    """What the description says that it leaves out, each key once with its values, such as `maxnodes=4, 8: jobs of more are refused`."""
    values: dict[tuple[str, str], list[str]] = {}
    for word in cluster.left_out:
        said, _, effect = word.partition(": ")
        key, _, value = said.partition("=")
        values.setdefault((key, effect), []).append(value)
    return [": ".join(filter(None, (f"{key}={_listed(of)}", effect))) for (key, effect), of in values.items()]


def _listed(values: list[str]) -> str:
    rest = len(values) - _MOST_VALUES
    return ", ".join(values[:_MOST_VALUES]) + (f" and {rest} more" if rest > 0 else "")
