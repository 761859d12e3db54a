"""The text of a configuration file, plain or packed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from traces.cluster.remarks import ConfigurationError


@dataclass(frozen=True)
class TextFile:
    """name: as messages say it. text: its content."""

    name: str
    text: str

    def lines(self, comment: str = "#") -> Iterable[tuple[int, str]]:
        """Number, from 1, and text of each line that is not blank and does not begin with `comment`."""
        for number, line in enumerate(self.text.splitlines(), 1):
            stripped = line.strip()
            if stripped and not stripped.startswith(comment):
                yield number, line.rstrip()


def read_text_file(path: Path) -> TextFile:
    """A file of text, plain or packed with gzip. Raises ConfigurationError where it cannot be read."""
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigurationError(path.name, 0, f"a file that can be read, but: {error}", "Copy it again") from error
    return TextFile(path.name.removesuffix(".gz"), content.decode("utf-8-sig", errors="replace"))
