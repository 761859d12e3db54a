"""Values of Slurm's configuration with their units: times, memory, resources.

Syntax: Slurm's man pages slurm.conf(5), gres.conf(5) and sacctmgr(1).
"""

from __future__ import annotations

import re

from traces.cluster.description import Setting
from traces.cluster.notes import Entry, integer_of

_DAYS = re.compile(r"(\d{1,7})-(\d{1,9})(?::(\d{1,2})(?::(\d{1,2}))?)?")
_CLOCK = re.compile(r"(\d{1,9})(?::(\d{1,2})(?::(\d{1,2}))?)?")
_NO_LIMIT = ("unlimited", "infinite", "none", "-1", "n/a", "(null)", "")
_MIB = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_COUNTED = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
_COUNTED_KINDS = ("cpu", "mem", "nodes", "gpu")
_YES, _NO = ("yes", "true", "up", "1"), ("no", "false", "down", "0")


def is_unset(text: str) -> bool:
    """Whether a value says that there is none, or no limit."""
    return text.strip().lower() in _NO_LIMIT


def span_s(entry: Entry) -> int | None:
    """Seconds of a time such as 90 (minutes), 01:30:00 or 7-0. None for no limit. Raises ConfigurationError for another text."""
    text = entry.value.strip()
    if is_unset(text):
        return None
    if match := _DAYS.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if match := _CLOCK.fullmatch(text):
        first, second, third = match.groups()
        if third is not None:
            return int(first) * 3600 + int(second) * 60 + int(third)
        return int(first) * 60 + int(second or 0)
    raise entry.refuse("a time such as 90 (minutes), 01:30:00 or 7-00:00:00")


def plain_seconds(entry: Entry) -> int | None:
    """Seconds of a plain number, or of a time with colons. None for no limit. Raises ConfigurationError for another text."""
    text = entry.value.strip()
    return int(text) if re.fullmatch(r"\d{1,12}", text) else span_s(entry)


def yes_or_no(entry: Entry) -> bool:
    """Raises ConfigurationError for a text that is neither YES nor NO."""
    word = entry.value.strip().lower()
    if word not in (*_YES, *_NO):
        raise entry.refuse("YES or NO")
    return word in _YES


def mib_of(entry: Entry, text: str | None = None) -> int:
    """MiB of a size such as 64000 (MiB) or 64G. text: a part of the value instead. Raises ConfigurationError for another text."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d*)?)([KMGTP]?)B?", (entry.value if text is None else text).strip().upper())
    if match is None:
        raise entry.refuse("a size such as 64000 (MiB) or 64G")
    return round(float(match.group(1)) * _MIB[match.group(2) or "M"])


def counted(entry: Entry, text: str) -> int:
    """A number with a suffix such as 4 or 2K. Raises ConfigurationError for another text."""
    match = re.fullmatch(r"(\d{1,15})([KMGTP]?)", text.strip().upper())
    if match is None:
        raise entry.refuse("a number such as 4 or 2K")
    return int(match.group(1)) * _COUNTED[match.group(2)]


def words_of(text: str) -> tuple[str, ...]:
    """The words between commas. () for ALL and for nothing."""
    return (
        () if text.strip().upper() in ("ALL", "(NULL)", "N/A") else tuple(filter(None, map(str.strip, text.split(","))))
    )


def resource_named(tres: str) -> str:
    """A resource as limits name it: "nodes" for node, "gpu:a100" for gres/gpu:a100, "licence:matlab" for license/matlab."""
    name = tres.strip()
    kind, _, which = name.partition("/")
    kind = kind.lower()
    if kind == "gres":
        return which.lower() if which.lower() == "gpu" or not which.lower().startswith("gpu:") else f"gpu:{which[4:]}"
    if kind == "license":
        return f"licence:{which}"
    return {"node": "nodes"}.get(kind, kind) if not which else f"{kind}/{which}"


def tres_amounts(entry: Entry) -> dict[str, int]:
    """Amounts by resource of a list such as cpu=384,mem=800G,gres/gpu=8. -1 for one that is cleared.

    Raises ConfigurationError for another text."""
    amounts: dict[str, int] = {}
    for word in words_of(entry.value):
        tres, equals, text = word.partition("=")
        if not equals or not tres.strip():
            raise entry.refuse("resources such as cpu=384,mem=800G")
        resource = resource_named(tres)
        if text.strip() == "-1":
            amounts[resource] = -1
        else:
            amounts[resource] = mib_of(entry, text) if resource == "mem" else counted(entry, text)
    return amounts


def tres_weights(entry: Entry) -> dict[str, float]:
    """Weights by resource of a list such as CPU=1.0,Mem=0.25G,GRES/gpu=2. That of memory is for a MiB.

    Raises ConfigurationError for another text."""
    weights: dict[str, float] = {}
    for word in words_of(entry.value):
        match = re.fullmatch(r"([^=]+)=(-?(?:\d{1,15}(?:\.\d*)?|\.\d+))([KMGTP]?)B?", word, re.IGNORECASE)
        if match is None:
            raise entry.refuse("weights such as CPU=1.0,Mem=0.25G")
        unit = match.group(3).upper()
        weights[resource_named(match.group(1))] = float(match.group(2)) / (_MIB[unit] if unit else 1)
    return weights


def uncounted(entry: Entry) -> str:
    """The amounts of a list of resources that a replay does not count, with commas between: those of other things than CPUs, memory,
    nodes and GPUs."""
    kinds = {word: resource_named(word.partition("=")[0]).partition(":")[0] for word in words_of(entry.value)}
    return ",".join(word for word, kind in kinds.items() if kind not in _COUNTED_KINDS)


def gres_amounts(entry: Entry, text: str | None = None) -> tuple[dict[str, int], dict[str, int]]:
    """GPUs by type and other resources by name, of a list such as gpu:a100:4(S:0-1),mps:200. text: to read instead of the value.

    Raises ConfigurationError for another text."""
    gpus: dict[str, int] = {}
    others: dict[str, int] = {}
    whole = entry.value if text is None else text
    for word in words_of(re.sub(r"\([^)]*\)", "", whole)):
        name, *rest = word.split(":")
        rest = [part for part in rest if part.lower() != "no_consume"]
        count = 1
        if rest and re.fullmatch(r"\d+[KMGTPkmgtp]?", rest[-1]):
            count = counted(entry, rest.pop())
        if len(rest) > 1 or not re.fullmatch(r"[\w.\-/]+", name):
            raise entry.refuse("resources such as gpu:4 or gpu:a100:4")
        kind = rest[0] if rest else ""
        if name.lower() == "gpu":
            gpus[kind] = gpus.get(kind, 0) + count
        else:
            key = f"{name.lower()}:{kind}" if kind else name.lower()
            others[key] = others.get(key, 0) + count
    return gpus, others


def slurm_setting(entry: Entry, form: str) -> Setting:
    """The value of a setting in its form: "text", "words" and "weights" (in lower case), "bool", "int", "number", "span" and "seconds"
    (seconds, -1 for no limit) or "mib". Raises ConfigurationError for another form."""
    text = entry.value.strip()
    if form == "weights":
        tres_weights(entry)
    if form in ("text", "words", "weights"):
        return ",".join(word.strip() for word in text.lower().split(","))
    if form == "bool":
        return yes_or_no(entry)
    if form in ("span", "seconds"):
        seconds = span_s(entry) if form == "span" else plain_seconds(entry)
        return -1 if seconds is None else seconds
    if form == "mib":
        return mib_of(entry)
    if form == "number":
        if not re.fullmatch(r"-?(?:\d{1,15}(?:\.\d*)?|\.\d+)", text):
            raise entry.refuse("a number such as 0.5")
        return float(text)
    return integer_of(entry, least=None)
