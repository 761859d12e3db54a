"""Declared, found and unknown rules of a source, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.replay.limits.origins import origin_words, origins_text

HEAD = 'name = "mine"\n[[nodes]]\nnames = "n1"\ncores = 4\n'
LIMIT = (
    '[[limits]]\nowner = "cluster"\nowner_name = ""\ncounts = "running"\neach = "user"\nresource = "jobs"\nbound = 5\n'
)
FOUND = LIMIT + 'origin = "found"\n'


@pytest.mark.parametrize(
    ("declared", "seen", "words"),
    [
        (LIMIT, None, ""),
        (LIMIT, FOUND, "rules: 1 declared, 1 found in the log and not adopted (tracehouse cluster adopt log)"),
        (LIMIT + FOUND, FOUND, "rules: 1 declared, 1 found in the log and adopted"),
        (None, "", "rules: none declared, none found in the log, what else held jobs back is unknown"),
    ],
)
def test_words(
    declared: str | None, seen: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")
    (tmp_path / "clusters" / "found").mkdir(parents=True)
    cluster = "" if declared is None else 'cluster = "mine"\n'
    (tmp_path / "sources.local.toml").write_text(f'[sources.log]\nformat = "swf"\npath = "a.swf"\n{cluster}')
    if declared is not None:
        (tmp_path / "clusters" / "mine.toml").write_text(HEAD + declared)
    if seen is not None:
        (tmp_path / "clusters" / "found" / "log.toml").write_text(HEAD + seen)
    assert origins_text("log") == words
    assert origin_words("log") == words.removeprefix("rules: ") or (
        seen is None and origin_words("log").startswith("1 declared, others unknown, since nobody looked")
    )
