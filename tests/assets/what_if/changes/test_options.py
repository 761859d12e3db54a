"""What people write becomes the value of a field."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from assets.what_if.changes.options import Option, options_of, written_settings


class Few(BaseModel):
    factor: Annotated[float, Option(convert=float)] = Field(default=1.0, description="A factor.")
    name: Annotated[str | None, Option(short="n")] = None
    hidden: int = 3


def test_settings_of_what_is_written() -> None:
    assert list(options_of(Few)) == ["factor", "name"]
    assert written_settings(Few, {"factor": "1.5", "name": None, "other": 2}) == Few(factor=1.5)
