"""What the words of sacct mean, as expressions over the columns `in_...` that hold them.

Each is null where a word means nothing.
"""

from __future__ import annotations

import polars as pl

from traces.common.log import LARGEST_S

MOST_KB = 1e15
"""A larger amount of memory is a fault of the log: an exabyte."""
_KILOBYTES_OF = {"K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3, "P": 1024.0**4}
_PER_CPU = 2.0**31
"""Old sacct prints the flag that says "per CPU" as part of the number of megabytes."""


def text_of(name: str) -> pl.Expr:
    """A word without blanks around it, null for an empty one. name: of a column, without `in_`."""
    value = pl.col(f"in_{name}").str.strip_chars()
    return pl.when(value != "").then(value)


def unix_seconds(text: pl.Expr) -> pl.Expr:
    """A plain number of Unix seconds. Null for other texts."""
    unix = text.str.strip_chars().str.extract(r"^(\d{9,11})$", 1).cast(pl.Int64)
    return pl.when(unix.is_between(0, LARGEST_S)).then(unix)


def local_time(text: pl.Expr) -> pl.Expr:
    """The local time `2024-01-15T10:00:00`. Null for other texts."""
    return text.str.strip_chars().str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="ms")


def zoned_seconds(text: pl.Expr) -> pl.Expr:
    """Unix seconds of a time with its offset, `2024-01-15T10:00:00+0100` or `2024-01-15 10:00:00 UTC+0100`. Null for other texts."""
    form = r"^\s*(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)\s*(?:UTC|GMT)?\s*(?:Z|([+-])(\d\d):?(\d\d))\s*$"
    parts = text.str.extract_groups(form)
    day, clock, sign, hours, minutes = (parts.struct.field(str(k)) for k in range(1, 6))
    local = pl.concat_str(day, clock, separator="T").str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="ms")
    offset_s = (hours.cast(pl.Int64) * 60 + minutes.cast(pl.Int64)).fill_null(0) * 60
    return local.dt.epoch("s") - pl.when(sign == "-").then(-offset_s).otherwise(offset_s)


def is_relative_time(text: pl.Expr) -> pl.Expr:
    """Whether SLURM_TIME_FORMAT=relative shows a time so: `14:00:00`, `Ystday 14:00`, `Mon 14:00`, `29 Apr 14:00`, `3 Mar 2024`."""
    clock, day = r"\d\d:\d\d", r"\d{1,2} \p{L}+\.?"
    return text.str.contains(rf"^\s*(?:(?:\p{{L}}{{2,6}}\.?|{day}) {clock}|{clock}:\d\d|{day} \d{{4}})\s*$")


def duration_seconds(text: pl.Expr) -> pl.Expr:
    """Seconds of `[D-]H:M:S[.fraction]`, `M:S` or `D-H[:M]`, as float. Null for other texts."""
    text = text.str.strip_chars()
    form = r"^(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?(\.\d+)?$"
    parts = text.str.extract_groups(form)
    days, first, second, third, fraction = (parts.struct.field(str(k)).cast(pl.Float64) for k in range(1, 6))
    after_days = first * 3600 + second.fill_null(0) * 60 + third.fill_null(0)
    plain = pl.when(third.is_not_null()).then(after_days).when(second.is_not_null()).then(first * 60 + second)
    seconds = pl.when(days.is_not_null()).then(days * 86400 + after_days).otherwise(plain) + fraction.fill_null(0)
    return pl.when(seconds <= LARGEST_S).then(seconds)


def positive_count(name: str) -> pl.Expr:
    """A whole number above 0, null for anything else."""
    return pl.when(whole_number(name) > 0).then(whole_number(name))


def whole_number(name: str, digits: int = 9) -> pl.Expr:
    """A whole number of up to so many digits."""
    return pl.col(f"in_{name}").str.extract(rf"^\s*(\d{{1,{digits}}})\s*$", 1).cast(pl.Int64)


def tres_count(name: str, resource: str) -> pl.Expr:
    """The amount of one trackable resource in a list such as `cpu=8,mem=4G,node=2`."""
    return pl.col(f"in_{name}").str.extract(rf"(?:^|,){resource}=(\d{{1,9}})(?:,|$)", 1).cast(pl.Int64)


def gpu_count(name: str) -> pl.Expr:
    """The number in `gres/gpu=4`, or the sum of `gres/gpu:a100=2,gres/gpu:v100=1`. Null where there are no trackable resources at all."""
    text = pl.col(f"in_{name}")
    typed = text.str.extract_all(r"gres/gpu:[^=,]+=\d{1,9}").list.eval(
        pl.element().str.extract(r"=(\d+)$", 1).cast(pl.Int64)
    )
    return pl.when(text != "").then(pl.coalesce(tres_count(name, "gres/gpu"), typed.list.sum()))


def gres_count(name: str) -> pl.Expr:
    """GPUs of a list of generic resources, as sacct printed it before it had trackable resources: `gpu:2`, `gpu:a100:2`, `gpu`."""
    part = pl.element()
    count = part.str.extract(r":(\d{1,9})(?:\(.*)?$", 1).cast(pl.Int64).fill_null(1)
    counts = (
        pl.col(f"in_{name}")
        .str.split(",")
        .list.eval(pl.when(part.str.contains(r"^(?:gres:)?gpu(?:[:(]|$)")).then(count).otherwise(0))
    )
    return pl.when(pl.col(f"in_{name}") != "").then(counts.list.sum())


def array_tasks(job_id: pl.Expr) -> pl.Expr:
    """How many tasks a line represents, by its job id: `12_[1-3]` has three, `12_[1,5]` two, and `12_[0-9:3%2]` four.

    It is one for any other id. Where sacct has cut the list short, only the tasks that are written count."""
    listed = job_id.str.extract(r"_\[([\d,\-:]+?)(?:,?\.\.\.)?(?:%\d+)?\]$", 1).str.split(",")
    first = pl.element().str.extract(r"^(\d{1,9})", 1).cast(pl.Int64)
    last = pl.coalesce(pl.element().str.extract(r"^\d+-(\d{1,9})", 1).cast(pl.Int64), first)
    step = pl.coalesce(pl.element().str.extract(r":(\d{1,9})$", 1).cast(pl.Int64), pl.lit(1)).clip(1)
    return listed.list.eval((last - first) // step + 1).list.sum().fill_null(1).clip(1)


def size_kilobytes(text: pl.Expr, bare: float, largest: float = MOST_KB) -> pl.Expr:
    """Of `48000M` or `1.50G`, as float. bare: kilobytes of a number alone, 1. Null for texts that are not a size, or an impossible one."""
    parts = text.str.strip_chars().str.extract_groups(r"^(\d{1,15}(?:\.\d+)?|\.\d+)([KMGTP]?)$")
    unit = parts.struct.field("2").replace_strict(_KILOBYTES_OF | {"": bare}, default=None, return_dtype=pl.Float64)
    amount = (parts.struct.field("1").cast(pl.Float64) * unit).round()
    return pl.when(amount <= largest).then(amount)


def requested_memory() -> pl.Expr:
    """Kilobytes of the whole job: ReqMem, which may be per node (n) or per CPU (c), else mem of ReqTRES.

    Null for 0: that is all memory of the nodes, or Slurm does not keep track of memory.
    """
    text = pl.col("in_reqmem").str.strip_chars()
    of_tres = size_kilobytes(pl.col("in_reqtres").str.extract(r"(?:^|,)mem=([^,]*)", 1).fill_null(""), bare=1024.0)
    amount = size_kilobytes(text.str.strip_chars_end("cn"), bare=1024.0, largest=1e18)
    flagged = amount >= _PER_CPU * 1024
    per_cpu = text.str.ends_with("c") | flagged
    units = pl.when(per_cpu).then("procs").when(text.str.ends_with("n")).then("nodes").otherwise(1).fill_null(1)
    whole = (amount - pl.when(flagged).then(_PER_CPU * 1024).otherwise(0.0)) * units
    requested = pl.coalesce(pl.when(whole.is_between(0, MOST_KB, closed="right")).then(whole), of_tres)
    return pl.when(requested > 0).then(requested).cast(pl.Int64)


def memory_per() -> pl.Expr:
    """What ReqMem, or an option of the submission, asks memory for: "cpu", "gpu" or "node". Null where neither says so."""
    text, line = pl.col("in_reqmem").str.strip_chars(), pl.col("in_submitline")
    flagged = size_kilobytes(text, bare=1024.0, largest=1e18) >= _PER_CPU * 1024
    option = line.str.extract(r"(?:^|\s)--(mem-per-cpu|mem-per-gpu|mem)(?:=|\s)", 1)
    return (
        pl.when(text.str.ends_with("c") | flagged.fill_null(False))
        .then(pl.lit("cpu"))
        .when(text.str.ends_with("n"))
        .then(pl.lit("node"))
        .otherwise(option.replace_strict({"mem-per-cpu": "cpu", "mem-per-gpu": "gpu", "mem": "node"}, default=None))
    )


def submitted_dependency() -> pl.Expr:
    """The jobs that an option of the submission names, such as `afterok:12:13,afterany:14`. Null where it has none. What stands behind
    --wrap, whose command has no quotes here, counts as well where it looks like one."""
    line = pl.col("in_submitline")
    option = r"""\s(?:-[A-Za-z]*d|--dep(?:end(?:en(?:cy?)?)?)?)[\s=]*["']?((?i:after[a-z]*:\d|singleton)[^\s"']*)"""
    return line.str.extract(option, 1).str.to_lowercase()


def usage_amounts(text: pl.Expr) -> pl.Expr:
    """Pairs of resource and amount in a list such as `cpu=00:00:57,energy=0,mem=77460K`: seconds, kilobytes and plain numbers."""
    word = pl.element().str.extract(r"=(.*)$", 1)
    plain = word.str.extract(r"^(\d{1,18}(?:\.\d+)?)$", 1).cast(pl.Float64)
    amount = pl.coalesce(plain, duration_seconds(word), size_kilobytes(word, bare=1.0))
    pair = pl.struct(
        resource=pl.element().str.extract(r"^([^=]+)=", 1), amount=amount, is_size=word.str.contains(r"[KMGTP]$")
    )
    return text.str.strip_chars().str.split(",").list.eval(pair)
