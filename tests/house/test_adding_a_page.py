"""Following docs/adding-a-page.md in a copy of the repository gives a page that opens and draws.

The page asks how many characters each token has; its files are small, and stand in every place that the guide names.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.house import layout, mirror
from tests.house.test_documents import missing

ROOT = Path(__file__).parents[2]
GUIDE = "docs/adding-a-page.md"
COPIED = ("benchmarks", "bertviz_core", "ui", "pages", "docs", "tests", "README.md", "CHANGELOG.md", "pyproject.toml")
TEXT = "I love my pet python."

NEW = {
    "bertviz_core/hidden_states/piece_lengths.py": '''"""How many characters each token has."""

from bertviz_core.hidden_states.results import PieceLengths
from bertviz_core.trace.results import Tokens


def piece_lengths(tokens: Tokens) -> PieceLengths:
    """Characters of every token, without the mark of a continued word; their sum is that of the pieces."""
    return PieceLengths(tokens.tokens, tuple(len(token.removeprefix("##")) for token in tokens.tokens))
''',
    "bertviz_core/figures/piece_lengths.py": '''"""Lengths of tokens as bars."""

import plotly.graph_objects as go

from bertviz_core.figures.base.style import Theme
from bertviz_core.hidden_states.results import PieceLengths


def length_bars(lengths: PieceLengths, theme: Theme) -> go.Figure:
    """A bar per token, as high as its number of characters."""
    bars = go.Bar(x=list(range(len(lengths.tokens))), y=list(lengths.characters), marker_color=theme.text)
    return go.Figure(bars, layout={"paper_bgcolor": theme.paper})
''',
    "ui/views/lengths/__init__.py": '"""What the lengths page shows."""\n',
    "ui/views/lengths/texts.py": '"""Words of the lengths page."""\n\nQUESTION = "How long is a token?"\n',
    "ui/views/lengths/views.py": '''"""The lengths page\'s one view."""

import streamlit as st

from bertviz_core.figures.base.style import theme_named
from bertviz_core.figures.piece_lengths import length_bars
from bertviz_core.hidden_states.piece_lengths import piece_lengths
from bertviz_core.trace.results import Tokens
from ui import session


def bars(tokens: Tokens) -> None:
    """Draw the bars of a text."""
    st.plotly_chart(length_bars(piece_lengths(tokens), theme_named(session.theme_name())), key="lengths_bars")
''',
    "pages/lengths.py": '''"""Lengths: how long is a token?"""

from ui.cache import models
from ui.views.lengths import texts, views
from ui.widgets import controls
from ui.widgets.errors import shown_to_user
from ui.widgets.formatting import heading

name_model = heading("Lengths", texts.QUESTION)
with shown_to_user():
    name, text, pair = controls.model_name(), controls.text(), controls.pair()
    tokens = models.tokens(name, text, pair)
name_model(name, f"{len(tokens):,} tokens")
views.bars(tokens)
''',
    "tests/hidden_states/test_piece_lengths.py": '"""Characters of pieces add up to those of the text."""\n',
    "tests/figures/test_piece_lengths.py": '"""The drawn bars are the lengths."""\n',
    "tests/pages/test_lengths.py": '"""The lengths page.\n\nCovers `ui/views/lengths/*.py`.\n"""\n',
    "tests/browser/test_lengths.py": '"""The lengths page in a browser."""\n',
}
"""Path -> what is written there."""
APPENDED = {
    "bertviz_core/hidden_states/results.py": '''

@dataclass(frozen=True, slots=True)
class PieceLengths:
    """How many characters each token has."""

    tokens: tuple[str, ...]
    """The tokens."""
    characters: tuple[int, ...]
    """Their characters."""
''',
    "docs/images/pictures.yaml": "lengths:\n  title: Lengths\n  alt: A bar for each token\n",
    "docs/glossary.md": "| piece | a word or a part of one that stands in the vocabulary |\n",
}
"""Path -> what is written at its end."""
AFTER = {
    "ui/shell.py": (
        r'    +st\.Page\("\.\./pages/sentences\.py".*\n',
        '        st.Page("../pages/lengths.py", title="Lengths"),\n',
    ),
    "pages/overview.py": (
        r'    PageLink\("Tokens: .*\n',
        '    PageLink("Lengths: how long is a token?", "lengths", "straighten"),\n',
    ),
    "README.md": (r"\| Sentences \|.*\n", "| Lengths | How long is a token? | a bar per token |\n"),
    "docs/lessons.md": (r"(?=`sentences` \|)|(?=`sentences`)", "`lengths` or "),
    "CHANGELOG.md": (r"### Added\n", "- **Lengths**: how many characters each token has.\n"),
}
"""Path -> (what is there, what is written after it)."""
SCRIPT = """
import json
from streamlit.testing.v1 import AppTest
at = AppTest.from_file("ui/shell.py", default_timeout=120)
at.switch_page("../pages/lengths.py")
at.query_params["text"] = "I love my pet python."
at.run()
charts = [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]
errors, titles = [str(error.value) for error in at.exception], [title.value for title in at.title]
print(json.dumps({"exceptions": errors, "titles": titles, "charts": charts}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the page in it."""
    place = tmp_path_factory.mktemp("page") / "repository"
    place.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, place)
    for name, text in NEW.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    for name, text in APPENDED.items():
        with open(place / name, "a", encoding="utf-8") as file:
            file.write(text)
    for name, (before, after) in AFTER.items():
        text = (place / name).read_text(encoding="utf-8")
        changed = re.sub(before, lambda found, after=after: found[0] + after, text, count=1)
        assert changed != text, name
        (place / name).write_text(changed, encoding="utf-8")
    return place


def opened(place: Path) -> dict[str, Any]:
    """What the page shows, opened by a process that knows the copy alone."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=place, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    page: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return page


def test_the_page_opens_and_draws(copy: Path) -> None:
    page = opened(copy)
    assert page["exceptions"] == []
    assert page["titles"] == ["Lengths"]
    (chart,) = page["charts"]
    lengths = chart["data"][0]["y"]
    assert sum(lengths) == len("[CLS][SEP]") + len(TEXT.replace(" ", ""))


def test_the_house_stays_in_order(copy: Path) -> None:
    assert layout.crowded_folders(copy) == []
    assert layout.repeated_names(copy) == []
    assert mirror.uncovered(copy) == []
    assert missing(copy / GUIDE, copy) == []


def test_the_guide_names_every_place() -> None:
    guide = (ROOT / GUIDE).read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./<>-]+)`", guide))
    patterns = [re.escape(name).replace("<page>", "lengths").replace("<package>", "hidden_states") for name in named]
    patterns = [pattern.replace("<subject>", "piece_lengths") for pattern in patterns]
    for path in (*NEW, *APPENDED, *AFTER):
        if not path.endswith("__init__.py"):
            assert any(re.fullmatch(pattern, path) for pattern in patterns), path
