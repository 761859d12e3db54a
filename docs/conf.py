"""Sphinx's settings for the documentation: `make docs` builds it into docs/_build/html. Nothing is fetched."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

sys.path.insert(0, str(Path(__file__).parent))

project = "tracehouse"
author = "The tracehouse authors"
project_copyright = "the tracehouse authors, Apache-2.0"
release = metadata.version("tracehouse")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "reference_pages",  # the one beside this file
]
exclude_patterns = ["_build"]
nitpicky = True
# Types of other packages, and of modules behind the public face, are no links: no page here has them.
nitpick_ignore_regex = [(r"py:.*", r"(?!tracehouse\.\w+$).*")]

myst_heading_anchors = 4
myst_links_external_new_tab = True
highlight_language = "none"
lexers["csv"] = TextLexer()

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"tracehouse {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

smartquotes = False  # two hyphens of an option must stay two
