"""The time zone of the machine, as its programs have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.common import zones
from traces.common.zones import machine_time_zone


@pytest.mark.parametrize(
    ("tz", "link", "text", "zone"),
    [
        ("Europe/Berlin", "Asia/Tokyo", "", "Europe/Berlin"),
        (":America/New_York", None, "", "America/New_York"),
        ("/usr/share/zoneinfo/Asia/Tokyo", None, "", "Asia/Tokyo"),
        ("", "Asia/Tokyo", "", "UTC"),
        ("<+03>-3", "Asia/Tokyo", "", "UTC"),
        (None, "Asia/Tokyo", "Europe/Berlin\n", "Asia/Tokyo"),
        (None, "posix/America/Argentina/Salta", "", "America/Argentina/Salta"),
        (None, "Etc/UTC", "", "UTC"),
        (None, None, "Europe/Berlin\n", "Europe/Berlin"),
        (None, None, "nothing\n", "UTC"),
        (None, None, None, "UTC"),
    ],
)
def test_the_zone_of_the_machine(
    tz: str | None,
    link: str | None,
    text: str | None,
    zone: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TZ", raising=False)
    if tz is not None:
        monkeypatch.setenv("TZ", tz)
    if link is not None:
        (tmp_path / "localtime").symlink_to(f"/usr/share/zoneinfo/{link}")
    if text is not None:
        (tmp_path / "timezone").write_text(text)
    monkeypatch.setattr(zones, "LOCALTIME", tmp_path / "localtime")
    monkeypatch.setattr(zones, "TIMEZONE", tmp_path / "timezone")
    assert machine_time_zone() == zone
