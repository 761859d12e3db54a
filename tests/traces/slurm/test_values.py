"""What the words of sacct mean."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

from traces.slurm.clock import seconds_of_local
from traces.slurm.values import (
    array_tasks,
    duration_seconds,
    gpu_count,
    gres_count,
    local_time,
    memory_per,
    positive_count,
    requested_memory,
    size_kilobytes,
    text_of,
    tres_count,
    unix_seconds,
    whole_number,
)


def value(expression: pl.Expr, **words: str | int) -> object:
    return (
        pl.DataFrame({f"in_{name}" if isinstance(word, str) else name: [word] for name, word in words.items()})
        .select(expression)
        .item()
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("01:00:00", 3600),
        ("2-03:04:05", 2 * 86400 + 3 * 3600 + 245),
        ("05:30", 330),
        ("00:01.250", 1.25),
        ("1-2", 86400 + 7200),
        ("UNLIMITED", None),
        ("", None),
        ("999999-00:00:00", 999999 * 86400),
        ("9999999-00:00:00", None),
    ],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert value(duration_seconds(pl.col("in_x")), x=text) == seconds


@pytest.mark.parametrize(
    ("text", "zone", "time"),
    [
        ("2024-01-15T10:00:00", "UTC", datetime(2024, 1, 15, 10, tzinfo=UTC)),
        ("2024-01-15T10:00:00", "Europe/Berlin", datetime(2024, 1, 15, 9, tzinfo=UTC)),
        ("2024-10-27T02:30:00", "Europe/Berlin", datetime(2024, 10, 27, 0, 30, tzinfo=UTC)),  # the first of two
        ("2024-03-31T02:30:00", "Europe/Berlin", datetime(2024, 3, 31, 1, 30, tzinfo=UTC)),  # left out by the clock
        ("1705312800", "Asia/Tokyo", datetime(2024, 1, 15, 10, tzinfo=UTC)),
        ("Unknown", "UTC", None),
        ("2024-13-15T10:00:00", "UTC", None),
    ],
)
def test_times(text: str, zone: str, time: datetime | None) -> None:
    local = seconds_of_local(local_time(pl.col("in_x")), zone)
    assert value(pl.coalesce(local, unix_seconds(pl.col("in_x"))), x=text) == (time and time.timestamp())


@pytest.mark.parametrize(
    ("text", "tasks"),
    [("12", 1), ("12_[1-3]", 3), ("12_[1,5]", 2), ("12_[0-9:3%2]", 4), ("12_[1-3,7,...]", 4), ("12_4", 1)],
)
def test_array_tasks(text: str, tasks: int) -> None:
    assert value(array_tasks(pl.col("in_x")), x=text) == tasks


@pytest.mark.parametrize(
    ("text", "kilobytes"), [("48000M", 48000 * 1024), ("1.50G", 1.5 * 1024**2), ("7", 7), ("x", None)]
)
def test_sizes(text: str, kilobytes: float | None) -> None:
    assert value(size_kilobytes(pl.col("in_x"), bare=1.0), x=text) == kilobytes


@pytest.mark.parametrize(
    ("memory", "kilobytes"),
    [("4G", 4 << 20), ("4Gn", 8 << 20), ("1Gc", 6 << 20), ("2147484648", 6000 * 1024), ("", 5 << 20), ("?", 5 << 20)],
)
def test_memory_per_node_and_per_cpu(memory: str, kilobytes: int) -> None:
    assert value(requested_memory(), reqmem=memory, reqtres="cpu=6,mem=5G", procs=6, nodes=2) == kilobytes


@pytest.mark.parametrize(
    ("memory", "line", "per"),
    [
        ("4Gn", "", "node"),
        ("1Gc", "", "cpu"),
        ("2147484648", "", "cpu"),
        ("4G", "sbatch --mem=4G run.sh", "node"),
        ("4G", "sbatch -n 4 --mem-per-cpu 1G run.sh", "cpu"),
        ("4G", "sbatch --mem-per-gpu=1G run.sh", "gpu"),
        ("4G", "sbatch --mem-bind=local run.sh", None),
        ("", "", None),
    ],
)
def test_what_memory_is_asked_for(memory: str, line: str, per: str | None) -> None:
    assert value(memory_per(), reqmem=memory, submitline=line) == per


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gpu:2", 2),
        ("gres:gpu:2", 2),
        ("gpu:a100:2,craynetwork:1", 2),
        ("gpu", 1),
        ("gpu:a100:1,gpu:v100:2", 3),
        ("mic:1", 0),
        ("gpu:2(S:0)", 2),
        ("", None),
    ],
)
def test_gres_of_old_logs(text: str, gpus: int | None) -> None:
    assert value(gres_count("x"), x=text) == gpus


def test_counts() -> None:
    assert value(whole_number("x"), x=" 12 ") == 12 and value(whole_number("x"), x="1.5") is None
    assert value(positive_count("x"), x="0") is None and value(positive_count("x"), x="3") == 3
    assert value(tres_count("x", "node"), x="cpu=8,node=2") == 2 and value(tres_count("x", "pu"), x="cpu=8") is None
    assert value(text_of("x"), x=" a ") == "a" and value(text_of("x"), x="  ") is None


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("cpu=1,gres/gpu=4", 4),
        ("gres/gpu:a100=2,gres/gpu:v100=1", 3),
        ("cpu=1", 0),
        ("", None),
        ("gres/gpu=4,gres/gpu:a=4", 4),
    ],
)
def test_gpus(text: str, gpus: int | None) -> None:
    assert value(gpu_count("x"), x=text) == gpus
