"""What the tests of all readers share."""

from __future__ import annotations

from pathlib import Path

from traces.common.log import ParsedLog


def written(folder: Path, content: bytes | str, name: str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def assert_adds_up(log: ParsedLog) -> None:
    """Every line of the file counts once."""
    assert log.lines == log.accepted + log.kept + sum(log.ignored.values()) + log.rejected
    assert log.lines == log.line_counts().total()
    assert len(set(log.records["line"].to_list()) | set(log.rejects["line"].to_list())) == log.accepted + log.rejected
