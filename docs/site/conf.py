"""Configure Sphinx: `make docs` builds the documents into site/, which opens from a folder without a network.

The documents are plain Markdown; `documents.py` adds at the build what is generated.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # Sphinx reads this file from wherever it was started

from bertviz_core.figures.base.style import LIGHT  # noqa: E402
from docs.site import documents  # noqa: E402
from ui.components.frame import mark  # noqa: E402

DRAWN = TemporaryDirectory()
"""Folder of the logo, which the dashboard draws."""
(Path(DRAWN.name) / "mark.svg").write_text(mark(LIGHT), encoding="utf-8")

project = html_title = "Inside BERT"
root_doc = documents.START
include_patterns = ["*.md", "docs/*.md"]
exclude_patterns = [each.name for each in ROOT.iterdir() if each.is_dir() and each.name != "docs"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

myst_heading_anchors = 4
default_role = "code"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 100
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_logo = html_favicon = str(Path(DRAWN.name) / "mark.svg")
html_static_path = ["style.css", str(ROOT / "bertviz_core/figures/base/fonts/source_sans.woff2")]
html_css_files = ["style.css"]
html_copy_source = html_show_sphinx = False
html_show_copyright = html_use_index = False
html_show_search_summary = False  # browsers refuse to load it for a page that is opened from a folder
html_theme_options = {
    "light_css_variables": documents.colours("light"),
    "dark_css_variables": documents.colours("dark"),
}
setup = documents.setup
