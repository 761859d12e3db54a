"""The pages that show Python code with what it prints: the guide and the notebook; `python -m tests.tracehouse.pages` writes
the output into both again, in the home of TRACEHOUSE_HOME, which needs `tracehouse run birch`."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
GUIDE = PROJECT / "docs" / "guides" / "python.md"
NOTEBOOK = PROJECT / "docs" / "guides" / "notebooks" / "first-replay.ipynb"
NEEDS_MODELS = "## Ask the warehouse"
"""From this heading on, the guide asks a warehouse in which the pipeline has run."""
AGAIN = "## Errors"
"""From this one on, not any more."""
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def run_cell(code: str, namespace: dict[str, Any]) -> tuple[str, str | None]:
    """(what is printed, the value of a last line that is an expression, as a notebook shows it)."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    shown, printed = None, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
            shown = None if value is None else repr(value)
    return printed.getvalue(), shown


def notebook_outputs(namespace: dict[str, Any]) -> list[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """By code cell: (outputs that are stored, outputs of running it now)."""
    outputs = []
    count = 0
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        printed, shown = run_cell("".join(cell["source"]), namespace)
        now: list[dict[str, Any]] = []
        if printed:
            now.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
        if shown is not None:
            data = {"text/plain": shown.splitlines(keepends=True)}
            now.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
        outputs.append((cell["outputs"], now))
    return outputs


def write_guide() -> None:
    """Runs the guide from top to bottom and writes what is printed below each block."""
    namespace: dict[str, Any] = {}

    def with_output(match: re.Match[str]) -> str:
        printed, _ = run_cell(match["code"], namespace)
        return f"```python\n{match['code']}```\n" + (f"\n```text\n{printed}```\n" if printed else "")

    GUIDE.write_text(BLOCK.sub(with_output, GUIDE.read_text()))


def write_notebook() -> None:
    """Runs the notebook and stores the outputs of its cells."""
    outputs = iter(notebook_outputs({}))
    notebook = json.loads(NOTEBOOK.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, start=1):
        cell["outputs"], cell["execution_count"] = next(outputs)[1], number
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write_guide()
    write_notebook()
