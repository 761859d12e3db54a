"""Every asset has one partition per source; keys are added at run time, so that a new source needs no code."""

from __future__ import annotations

import dagster as dg

SOURCES = dg.DynamicPartitionsDefinition(name="sources")

OWNERS = ["team:tracehouse"]

VASP = dg.DynamicPartitionsDefinition(name="vasp")
"""One partition for each folder of VASP runs, [vasp.NAME] in the catalogue."""
