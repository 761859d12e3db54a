"""`python -m benchmarks.faults [PART ...] [--quick] [--seed N]`: faults on purpose, and what they leave.

Exit code 1 where a part has found anything, where it has not done what it was asked for, and where a planted fault was not found.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.faults.results import Difference, Result

PARTS = ("kills", "damage", "disk", "traffic", "pairs", "upgrades", "large", "planted")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="a tenth or less of each, for development")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--folder", type=Path, help="where homes and logs are written, and left; default: a temporary one"
    )
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="tracehouse-faults-"))
    if options.quick:
        print("QUICK: a tenth or less of the campaign. These are not its figures.")
    results, began = [], time.monotonic()
    try:
        for part in options.parts or PARTS:
            results.append(_run(part, folder / part, options.seed, options.quick))
    finally:
        if not options.folder:
            shutil.rmtree(folder, ignore_errors=True)
    return _summary(results, time.monotonic() - began, options.quick)


def _run(part: str, folder: Path, seed: int, quick: bool) -> Result:
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    result: Result = getattr(importlib.import_module(f"benchmarks.faults.{part}"), part)(folder, seed, quick)
    print(f"\n{part}")
    print("\n".join(result.lines))
    print(f"\n{part} took {time.monotonic() - began:,.0f} s")
    for finding in result.findings:
        print(f"FOUND: {finding}")
    for what in result.undone:
        print(f"NOT DONE: {what}")
    sys.stdout.flush()
    return result


def _summary(results: list[Result], seconds: float, quick: bool) -> int:
    total = Difference()
    for result in results:
        total.add(result.difference)
    findings = sum(len(result.findings) for result in results)
    undone = sum(len(result.undone) for result in results)
    tracebacks = sum(result.tracebacks for result in results)
    print(f"\nThe campaign took {seconds / 60:.0f} minutes{' (QUICK)' if quick else ''}\n\nsummary\n")
    print(
        "| rows lost | doubled | wrong | tracebacks | findings | not done | exit code |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    code = int(bool(total or tracebacks or findings or undone))
    counts = (total.lost, total.doubled, total.wrong, tracebacks, findings, undone, code)
    print(f"| {' | '.join(f'{count:,}' for count in counts)} |")
    return code


if __name__ == "__main__":
    sys.exit(main())
