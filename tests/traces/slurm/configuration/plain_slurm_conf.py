"""A second reader of slurm.conf, written from the man page slurm.conf(5) alone, and folders to try both on.

It knows nodes, their CPUs, memory, GPUs and weights, and partitions, and nothing else of a cluster.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

# --- the reader


@dataclass
class PlainCluster:
    """nodes: by name, in order: cpus, memory, weight and gpus by type. partitions: by name: nodes and is_default."""

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    partitions: dict[str, dict[str, Any]] = field(default_factory=dict)


def read_plainly(conf: Path) -> PlainCluster:
    """The cluster of a slurm.conf. An included file without a folder is next to the file that includes it."""
    cluster = PlainCluster()
    defaults: dict[str, dict[str, str]] = {"nodename": {}, "partitionname": {}}
    sets: dict[str, list[str]] = {}
    kept: list[dict[str, str]] = []
    for line in _lines(conf):
        words = _pairs(line)
        kind = next((key for key in ("nodename", "partitionname", "nodeset") if key in words), "")
        if kind == "nodeset":
            sets[words["nodeset"]] = _hosts(words["nodes"])
        elif kind and words[kind].upper() == "DEFAULT":
            defaults[kind] = {**defaults[kind], **words}
        elif kind == "nodename":
            whole = {**defaults[kind], **words}
            for name in _hosts(words["nodename"]):
                cluster.nodes[name] = _node(whole)
        elif kind == "partitionname":
            kept.append({**defaults[kind], **words})
    default = ""
    for words in kept:
        for name in words["partitionname"].split(","):
            cluster.partitions[name] = {"nodes": _of_partition(words.get("nodes", ""), cluster, sets)}
            if words.get("default", "no").lower() == "yes":
                default = name  # "changing default partition": the last one is
    for name, partition in cluster.partitions.items():
        partition["is_default"] = name == default
    return cluster


def _lines(path: Path) -> list[str]:
    """Lines without comments, continued ones joined, included ones in their place."""
    lines: list[str] = []
    joined = ""
    for raw in path.read_text().split("\n"):
        text = raw
        for place, letter in enumerate(raw):
            if letter == "#" and (place == 0 or raw[place - 1] != "\\"):
                text = raw[:place]
                break
        text = text.rstrip()
        if text.endswith("\\"):
            joined += text[:-1]
            continue
        whole, joined = (joined + text).strip(), ""
        if whole.lower().startswith("include") and "=" not in whole:
            lines += _lines(path.parent / whole.split()[1])
        elif whole:
            lines.append(whole)
    return lines


def _pairs(line: str) -> dict[str, str]:
    """Keys in lower case. A value in quotes ends at the quote that a blank or the end of the line follows."""
    pairs: dict[str, str] = {}
    rest = line
    while rest.strip():
        key, _, rest = rest.partition("=")
        quoted = re.match(r'"([^"]*)"(?:\s|$)', rest)
        if quoted:
            value, rest = quoted.group(1), rest[quoted.end() :]
        else:
            value, _, rest = rest.partition(" ")
        name = key.strip().lower()
        pairs["cpus" if name == "procs" else name] = value  # Procs is the old word
    return pairs


def _node(words: dict[str, str]) -> dict[str, Any]:
    """CPUs are those that are said, else boards x sockets x cores x threads."""
    boards = int(words.get("boards", 1))
    sockets = int(words["socketsperboard"]) * boards if "socketsperboard" in words else int(words.get("sockets", 1))
    product = sockets * int(words.get("corespersocket", 1)) * int(words.get("threadspercore", 1))
    return {
        "cpus": int(words.get("cpus", product)),
        "memory": int(words.get("realmemory", 1)),
        "weight": int(words.get("weight", 1)),
        "gpus": _gpus(words.get("gres", "")),
    }


def _gpus(text: str) -> dict[str, int]:
    """Of `gpu:a100:2(S:0-1),gpu:1,nic:2`. A name without a number is one."""
    counts: dict[str, int] = {}
    for word in re.sub(r"\([^)]*\)", "", text).split(","):
        name, *rest = word.split(":")
        if name != "gpu":
            continue
        count = int(rest.pop()) if rest and rest[-1].isdigit() else 1
        kind = rest[0] if rest else ""
        counts[kind] = counts.get(kind, 0) + count
    return {kind: count for kind, count in counts.items() if count}


def _hosts(text: str) -> list[str]:
    """Names of a list such as `r[1-2]n[01-03,7],login`. Brackets further left vary slowest."""
    names: list[str] = []
    for word in _divided(text):
        begun = [""]
        for plain, inside in re.findall(r"([^\[\]]*)(?:\[([^\]]*)\])?", word):
            numbers = [number for span in inside.split(",") for number in _span(span)] if inside else [""]
            begun = [name + plain + number for name in begun for number in numbers]
        names += begun
    return names


def _divided(text: str) -> list[str]:
    """The words between commas outside of brackets."""
    words, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            words.append("")
        else:
            words[-1] += letter
    return [word for word in words if word]


def _span(text: str) -> list[str]:
    first, _, last = text.partition("-")
    return [f"{number:0{len(first)}d}" for number in range(int(first), int(last or first) + 1)]


def _of_partition(text: str, cluster: PlainCluster, sets: dict[str, list[str]]) -> list[str]:
    if text.upper() == "ALL":
        return sorted(cluster.nodes)
    names: set[str] = set()
    for word in _divided(text):
        names |= set(sets.get(word) or _hosts(word))
    return sorted(names)


# --- folders


KEYS = (
    "NodeName",
    "CPUs",
    "RealMemory",
    "Weight",
    "Gres",
    "Sockets",
    "CoresPerSocket",
    "ThreadsPerCore",
    "PartitionName",
    "Nodes",
)
KINDS = ("a100", "v100", "h100_80gb")
SETTINGS = (
    'AuthInfo="cred_expire=1200","ttl=1500"',
    "SlurmctldParameters=enable_configless",
    'LaunchParameters="use_interactive_step"',
    "AccountingStorageTRES=gres/gpu,gres/gpu:a100",
    "SelectTypeParameters=CR_Core_Memory",
    "PriorityWeightAge=100 PriorityWeightQOS=7",
)


def write_folder(folder: Path, seed: int) -> Path:
    """Makes a slurm.conf with its included files, and gives its path."""
    random = Random(seed)
    has_shape = random.random() < 0.7  # else the defaults have it, since lines that mix both contradict themselves
    blocks = [_node_block(random, number, has_shape) for number in range(random.randint(1, 4))]
    nodes = [name for _, names in blocks for name in names]
    files = {"slurm.conf": ["# made", f"ClusterName=c{seed}", "SlurmctldHost=head(10.0.0.1)"]}
    files["slurm.conf"] += random.sample(SETTINGS, random.randint(0, 4))
    place = files["slurm.conf"]
    if random.random() < 0.5:
        files["nodes.conf"] = place = ["# nodes"]
        files["slurm.conf"].append(f"{random.choice(('Include', 'include', 'INCLUDE'))} nodes.conf")
    for number, (lines, _) in enumerate(blocks):
        if place is not files["slurm.conf"] and random.random() < 0.3:
            files[f"part{number}.conf"] = list(lines)
            place.append(f"Include part{number}.conf # one rack")
        else:
            place += lines
    files["slurm.conf"] += _partition_block(random, nodes, [names for _, names in blocks])
    for name, lines in files.items():
        (folder / name).write_text("\n".join(_disguised(random, line) for line in lines) + random.choice(("\n", "")))
    return folder / "slurm.conf"


def _node_block(random: Random, number: int, has_shape: bool) -> tuple[list[str], list[str]]:
    """Lines of nodes, maybe below defaults, and their names."""
    hosts = random.choice(
        ("c{k}[01-{n:02d}]", "c{k}n[1-{n}]", "c{k}[001-00{n},009]", "r{k}[1-2]n[1-{n}]", "c{k}a,c{k}b[1-{n}]", "c{k}x")
    ).format(k=number, n=random.randint(2, 5))
    lines = []
    if not has_shape:
        lines.append(f"NodeName=DEFAULT {_whole_shape(random)} Weight={random.randint(1, 50)}")
    elif random.random() < 0.4:
        lines.append(f"NodeName=DEFAULT RealMemory=2000 Weight={random.randint(1, 50)} Gres={_gres(random)}")
    words = [f"NodeName={hosts}", *([_shape(random)] if has_shape else [])]
    if random.random() < 0.7:
        words.append(f"RealMemory={random.choice((1000, 16_000, 512_000))}")
    if random.random() < 0.4:
        words.append(f"Weight={random.randint(1, 1000)}")
    if random.random() < 0.6:
        words.append(f"Gres={_gres(random)}")
    words += random.sample(("State=UNKNOWN", "Feature=ib,thin", 'Reason="a bad disk"'), random.randint(0, 3))
    return [*lines, " ".join(words)], _hosts(hosts)


def _whole_shape(random: Random) -> str:
    sockets, cores, threads = random.randint(1, 4), random.choice((4, 8, 64)), random.randint(1, 2)
    parts = f"Sockets={sockets} CoresPerSocket={cores} ThreadsPerCore={threads}"
    return f"CPUs={sockets * cores * threads} {parts}"


def _shape(random: Random) -> str:
    """All of CPUs, sockets, cores and threads, CPUs alone, or all but CPUs."""
    sockets, cores, threads = random.randint(1, 4), random.choice((4, 8, 64)), random.randint(1, 2)
    parts = f"Sockets={sockets} CoresPerSocket={cores} ThreadsPerCore={threads}"
    boards = f"Boards=1 SocketsPerBoard={sockets} CoresPerSocket={cores} ThreadsPerCore={threads}"
    cpus = random.choice(("CPUs", "Procs"))
    whole = f"CPUs={sockets * cores * threads} {random.choice((parts, boards))}"
    return random.choice((whole, f"{cpus}={sockets * cores}", parts))


def _gres(random: Random) -> str:
    kinds = random.sample(KINDS, 2)
    return random.choice(
        (
            f"gpu:{random.randint(1, 8)}",
            f"gpu:{kinds[0]}:{random.randint(1, 8)}",
            f"gpu:{kinds[0]}:2,gpu:{kinds[1]}:1",
            f"gpu:{kinds[0]}:4(S:0-1),nic:2",
            f"nic:1,gpu:{kinds[0]}:2",
            f"gpu:{kinds[0]}",
            "gpu",
        )
    )


def _partition_block(random: Random, nodes: list[str], groups: list[list[str]]) -> list[str]:
    lines = []
    if random.random() < 0.5:
        lines.append("PartitionName=DEFAULT MaxTime=1-0 State=UP" + random.choice(("", " Nodes=ALL")))
    if random.random() < 0.4:
        lines.append(f"NodeSet=some Nodes={','.join(groups[0])}")
        lines.append("PartitionName=ofset Nodes=some")
    for number in range(random.randint(1, 4)):
        chosen = random.choice(
            ("ALL", ",".join(random.choice(groups)), ",".join(random.sample(nodes, min(3, len(nodes)))))
        )
        default = random.choice(("", " Default=YES", " Default=NO", " default=yes"))
        lines.append(f"PartitionName=p{number} Nodes={chosen}{default} PriorityTier={random.randint(1, 9)}")
    return lines


def _disguised(random: Random, line: str) -> str:
    """The line with keys in other letters, comments, blanks and continued lines, which change nothing."""
    for key in KEYS:
        if random.random() < 0.2:
            line = re.sub(rf"\b{key}=", f"{random.choice((key.lower(), key.upper()))}=", line)
    words = line.split(" ")
    if len(words) > 2 and '"' not in line and not line.startswith(("#", "Include")) and random.random() < 0.3:
        cut = random.randint(1, len(words) - 1)
        line = " ".join(words[:cut]) + " \\\n    " + " ".join(words[cut:])
    if "#" not in line and random.random() < 0.2:
        line += "   # CPUs=1 Gres=gpu:9"
    return line if random.random() < 0.8 else f"\n  {line}"
