"""Of a source's rules, which are declared, which were found in its log, and what nobody knows, in words."""

from __future__ import annotations

from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import clusters_of_source
from traces.catalogue.found_rules import load_found, rule_counts


def origins_text(source: str) -> str:
    """Such as "rules: 3 declared, 1 found in the log and adopted". "" where nobody has looked for rules in the log."""
    return "" if load_found(source) is None else f"rules: {origin_words(source)}"


def origin_words(source: str) -> str:
    """Such as "3 declared, 1 found in the log and adopted"."""
    entry = load_catalogue(may_be_missing=True).sources.get(source)
    clusters = () if entry is None else clusters_of_source(entry)
    seen = load_found(source)
    declared, adopted = rule_counts(clusters[-1]) if clusters else (0, 0)
    words = [f"{declared:,} declared" if clusters else "none declared"]
    if adopted:
        words.append(f"{adopted:,} found in the log and adopted")
    elif seen is None:
        words.append(f"others unknown, since nobody looked for them in the log (tracehouse cluster identify {source})")
    elif rule_counts(seen)[1]:
        words.append(f"{rule_counts(seen)[1]:,} found in the log and not adopted (tracehouse cluster adopt {source})")
    else:
        words.append("none found in the log, what else held jobs back is unknown")
    return ", ".join(words)
