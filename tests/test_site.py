"""The documentation builds strictly and without a network, and its reference shows all that there is."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import sql
import tracehouse
from tracehouse.cli.main import COMMANDS

PROJECT = Path(__file__).resolve().parents[1]
NEEDED = ("sphinx", "myst_parser", "furo", "sphinx_click")

pytestmark = pytest.mark.skipif(
    not all(find_spec(name) for name in NEEDED),
    reason="the documentation needs sphinx, myst-parser, furo and sphinx-click: pip install -e '.[docs]'",
)


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """A build in which a warning is an error, in a process of its own. No proxy leads out of it."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(out / "doctrees"), str(source)]
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    return subprocess.run(
        [*command, str(out / "html")],
        cwd=PROJECT,
        env=os.environ | nowhere,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built pages."""
    out = tmp_path_factory.mktemp("site")
    done = build(PROJECT / "docs", out)
    assert done.returncode == 0, done.stderr
    return out / "html"


def words_of(page: Path) -> str:
    """The text of a page without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text()))


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(PROJECT / "docs").with_suffix("") for path in (PROJECT / "docs").rglob("*.md")}
    built = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
    assert pages <= built


def test_pages_ask_no_other_host(site: Path) -> None:
    for page in site.rglob("*.html"):
        asked = re.findall(
            r'<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)="((?:https?:)?//[^"]*)"', page.read_text()
        )
        assert asked == [], page


def test_marks_of_published_tables_are_not_seen(site: Path) -> None:
    for page in (site / "results").glob("*.html"):
        assert "results: " not in words_of(page)
    assert "<td><p>WFP3</p></td>" in (site / "results" / "verdicts.html").read_text()


def test_all_tables_and_views_are_shown(site: Path) -> None:
    text = words_of(site / "reference" / "tables.html")
    names = [*sql.names("tables"), *sql.names("views")]
    assert len(names) > 50
    assert [name for name in names if not re.search(rf"^{re.escape(name)}", text, re.MULTILINE)] == []


def test_every_column_has_a_meaning(site: Path) -> None:
    page = (site / "reference" / "tables.html").read_text()
    assert page.count("<tr") > 500
    assert re.findall(r"<code[^>]*>.{1,60}?</code></p></td>\s*<td></td>", page) == []


def test_all_commands_are_shown_and_linked(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text()
    for name in COMMANDS:
        assert f'href="#tracehouse-{name}"' in page
        assert f'id="tracehouse-{name}"' in page


def test_all_public_names_are_shown(site: Path) -> None:
    page = (site / "reference" / "python.html").read_text()
    for name in tracehouse.__all__:
        assert f'id="tracehouse.{name}"' in page


def test_keys_of_the_catalogue_and_settings_of_assets_have_meanings(site: Path) -> None:
    page = (site / "reference" / "configuration.html").read_text()
    rows = [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in re.findall(r"<tr.*?</tr>", page, re.DOTALL)]
    catalogue = [row for row in rows if len(row) == 2]
    assert len(catalogue) > 30
    assert [row[0] for row in catalogue if not row[1]] == []
    settings = {re.sub("<[^>]+>", "", row[0]): row[3] for row in rows if len(row) == 4}
    assert {"ppo.epochs", "backfill", "predictors", "runs[].policy"} <= set(settings)
    assert [name for name, meaning in settings.items() if not meaning] == []


def test_headings_that_the_readme_links_to_exist(site: Path) -> None:
    targets = re.findall(r"\]\(docs/([\w/-]+)\.md#([\w-]+)\)", (PROJECT / "README.md").read_text())
    assert targets
    for page, heading in targets:
        assert f'id="{heading}"' in (site / f"{page}.html").read_text(), f"{page}.md has no heading {heading}"


def test_broken_links_and_headings_fail(tmp_path: Path) -> None:
    for name in ("conf.py", "json_keys.toml", "reference_pages.py"):
        (tmp_path / name).write_text((PROJECT / "docs" / name).read_text())
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "tables.css").write_text("")
    (tmp_path / "index.md").write_text("# Page\n\n[a](nowhere.md), [b](#nothing), ![c](none.png)\n")
    done = build(tmp_path, tmp_path / "out")
    assert done.returncode == 1
    for name in ("nowhere.md", "nothing", "none.png"):
        assert name in done.stderr


def test_the_reference_is_written_without_heavy_packages() -> None:
    code = (
        "import sys; sys.path.insert(0, 'docs'); import reference_pages; [f() for f in reference_pages.GENERATED.values()];"
        " sys.exit(' '.join({'torch', 'xgboost', 'sklearn', 'matplotlib'} & set(sys.modules)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
