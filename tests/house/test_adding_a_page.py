"""Following docs/adding-a-page.md in a copy of the repository creates a page, and then a view of another page.

The page counts the characters of each token; page, command, library and figure show the same numbers. The view draws
the parameters of each number format of a checkpoint. The written files are those listed in the guide.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import layout
from tests.house.test_documents import missing

ROOT = Path(__file__).parents[2]
GUIDE = "docs/adding-a-page.md"
COPIED = ("benchmarks", "bertviz_core", "ui", "pages", "docs", "tests", "CHANGELOG.md", "pyproject.toml")
MOST_FOR_A_PAGE, MOST_FOR_A_VIEW = 8, 3
EVERYWHERE = {"CHANGELOG.md"}
"""What every change has."""

NEW = {
    "bertviz_core/figures/lengths.py": '''"""Lengths of tokens as bars."""

from functools import partial

import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import token_text
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, layout
from bertviz_core.hidden_states.results import PieceLengths


def length_bars(lengths: PieceLengths, title: str, theme: Theme) -> go.Figure:
    """Draw a bar for each token, as high as its number of characters."""
    places = list(range(len(lengths.tokens)))
    figure = go.Figure(go.Bar(x=places, y=list(lengths.characters)), layout=layout(theme, title))
    return figure.update_xaxes(tickvals=places, ticktext=[token_text(token) for token in lengths.tokens])


def lengths_frame(lengths: PieceLengths) -> pd.DataFrame:
    """A row per token."""
    return pd.DataFrame({"token": lengths.tokens, "characters": lengths.characters})


@figure("lengths", "lengths_bars", "characters of each token", reported=True, table=lengths_frame)
def lengths_figure(lengths: PieceLengths) -> FigureSpec:
    """The bars of a text."""
    title = "Characters of each token"
    return FigureSpec(title, f"{title}: a bar for each", partial(length_bars, lengths, title))
''',
    "bertviz_core/questions/views/lengths.py": '''"""The page Lengths: how long tokens are."""

from collections.abc import Iterator, Sequence

from bertviz_core.figures.lengths import lengths_figure
from bertviz_core.hidden_states.results import PieceLengths
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, flag
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.tokens import tokens
from bertviz_core.questions.view import Ask, Figure, Part, View

MARKS = flag("marks", "count the mark of a continued word, too", "Count marks")
HOW = "The text is cut into tokens, and the characters of each are counted."
CODE = """from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained({model!r})
tokens = tokenizer.convert_ids_to_tokens(tokenizer({text!r}).input_ids)
print([len(token) for token in tokens])"""


@question(figures=("lengths",), params=(MARKS,))
def lengths(opened: Opened, options: Options) -> Answer[PieceLengths]:
    """Characters of every token of a text."""
    read = tokens(opened, options)
    result = PieceLengths.of(read.result, options.flag(MARKS))
    return read.of(result, lengths=result)


def about_lengths(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """How many tokens the text has."""
    return f"{len(ask(tokens, options).result)} tokens", ()


def lengths_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """A bar for each token."""
    answer = ask(lengths, options)
    code = CODE.format(model=opened.source.pretrained_name, text=options.text())
    yield Figure.of(lengths_figure, answer, f"lengths {opened.name}", explanation=HOW, code=code)


VIEWS = (View("Lengths", (MARKS,), lengths_view),)
''',
    "pages/lengths.py": '''"""Lengths: how long is a token?"""

from bertviz_core.questions.views.lengths import VIEWS, about_lengths
from ui.engine import show_page

show_page("lengths", VIEWS, about_lengths)
''',
    "tests/pages/test_lengths.py": '''"""Characters of tokens add up; every face shows the same numbers.

Covers `bertviz_core/questions/views/lengths.py`.
"""

import json
import sys
from pathlib import Path

import pytest
from bertviz_core import open_model
from bertviz_core.cli.app import main
from tests.pages.snippets import BUNDLED, check_view, chart

TEXT = "Sinan loves a beautiful day"


def command(*words: str) -> None:
    """Run a command."""
    sys.argv = ["inside-bert", *words]
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code


def test_characters_add_up_and_all_faces_show_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shown = []
    check = {"lengths_bars": lambda at, printed: shown.extend((chart(at, "lengths_bars")[0]["y"], printed[0]))}
    check_view("lengths", BUNDLED, check, text=TEXT, marks="true")
    command("table", "lengths", BUNDLED, TEXT, "--set", "marks=true", "--json")
    shown.append([row["characters"] for row in json.loads(capsys.readouterr().out)["rows"]])
    model = open_model(BUNDLED)
    shown.append(model.table("lengths", TEXT, marks=True)["characters"])
    shown.append(model.figure("lengths", TEXT, marks=True).data[0].y)
    command("figure", "lengths", BUNDLED, TEXT, "--set", "marks=true", "-o", str(tmp_path / "lengths.svg"))
    assert "Characters of each token" in (tmp_path / "lengths.svg").read_text(encoding="utf-8")
    counts = [list(each) for each in shown]
    assert sum(counts[0]) == len("[CLS][SEP]") + len(TEXT.replace(" ", "")) + len("##")
    assert sum(model.table("lengths", TEXT)["characters"]) == sum(counts[0]) - len("##")
    assert counts == counts[:1] * 5
''',
}
"""Path -> content of a new file."""
APPENDED = {
    "bertviz_core/hidden_states/results.py": '''

from bertviz_core.trace.results import Tokens


@dataclass(frozen=True, slots=True)
class PieceLengths:
    """How many characters each token has."""

    tokens: tuple[str, ...]
    """The tokens."""
    characters: tuple[int, ...]
    """Their characters."""

    @classmethod
    def of(cls, tokens: Tokens, marks: bool) -> "PieceLengths":
        """Count the characters of every token, the mark of a continued word only on request."""
        pieces = tokens.tokens if marks else [token.removeprefix("##") for token in tokens.tokens]
        return cls(tokens.tokens, tuple(map(len, pieces)))
'''
}
"""Path -> text appended to a file."""
AFTER = {
    "bertviz_core/figures/pages.py": (
        r'    PageEntry\("tokens".*\n',
        '    PageEntry("lengths", "Lengths", "How long is a token?", READS, "straighten", ()),\n',
    ),
    "ui/address/registry.py": (r'    \*_on\("tokens".*\n', '    *_on("lengths", lengths.MARKS),\n'),
    "CHANGELOG.md": (r"### Added\n", "- **Lengths**: how many characters each token has.\n"),
}
"""Path -> (existing text, text inserted after it)."""
IMPORTS = {
    "ui/address/registry.py": (
        "views import answered, causes, checkpoint, corpus, parameters, representations, words",
        "views import answered, causes, checkpoint, corpus, lengths, parameters, representations, words",
    )
}
"""Path -> (existing text, its replacement)."""
VIEW_APPENDED = {
    "bertviz_core/figures/parameters.py": '''

def format_sizes(ledger: Ledger) -> dict[str, int]:
    """Parameters in each number format."""
    rows = [row for row in ledger.parameters if row.tied_to is None]
    return {kind: sum(row.numel for row in rows if row.dtype == kind) for kind in sorted({row.dtype for row in rows})}


def format_bars(ledger: Ledger, title: str, theme: Theme) -> go.Figure:
    """Draw a bar of parameters for each number format."""
    sizes = format_sizes(ledger)
    return go.Figure(go.Bar(x=list(sizes), y=list(sizes.values())), layout=layout(theme, title))


def formats_frame(ledger: Ledger) -> pd.DataFrame:
    """A row per number format."""
    return pd.DataFrame(list(format_sizes(ledger).items()), columns=["format", "parameters"])


@figure("formats", "parameters_formats", "parameters of each number format", table=formats_frame)
def formats_figure(ledger: Ledger) -> FigureSpec:
    """The parameters of a model by number format."""
    title = f"Parameters by number format of {ledger.model}"
    return FigureSpec(title, f"{title}: a bar for each", partial(format_bars, ledger, escape(title)))
''',
    "bertviz_core/questions/views/parameters.py": '''

from bertviz_core.questions.question import Answer, question


@question(figures=("formats",))
def formats(opened: Opened, options: Options) -> Answer[Ledger]:
    """The parameters of a model by number format."""
    return parameters(opened, options)


def formats_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Bars of the number formats."""
    from bertviz_core.figures.parameters import formats_figure

    yield Figure.of(formats_figure, ask(formats, Options(task=options.task)), f"formats {opened.name}")


VIEWS = (*VIEWS, View("Formats", (), formats_view))
''',
    "tests/pages/test_parameters.py": """

def test_formats_add_up_to_the_parameters_of_the_file() -> None:
    from bertviz_core import open_model

    at = opened("parameters", view="Formats")
    assert not at.exception
    assert sum(drawn(at)["data"][0]["y"]) == sum(bundled_counts().values())
    assert sum(open_model("all-MiniLM-L6-v2").table("formats")["parameters"]) == sum(bundled_counts().values())
""",
}
VIEW_AFTER = {"CHANGELOG.md": (r"### Added\n", "- Parameters > Formats: the parameters of each number format.\n")}
RUN = (
    "tests/pages/test_lengths.py",
    "tests/pages/test_parameters.py::test_formats_add_up_to_the_parameters_of_the_file",
    "tests/pages/test_reproduction_of_texts.py::test_no_view_is_left_out[lengths]",
    "tests/pages/test_one_answer.py::test_the_table_of_the_page_is_that_of_the_command_and_the_library[lengths]",
    "tests/pages/test_one_answer.py::test_the_table_of_the_page_is_that_of_the_command_and_the_library[formats]",
    "tests/pages/test_one_answer.py::test_every_view_with_a_table_is_among_them",
    "tests/ui/address/test_registry.py",
    "tests/cli/test_figure.py::test_a_file_of_a_figure_without_options_has_the_picture_of_a_view[lengths]",
    "tests/cli/test_figure.py::test_a_file_of_a_figure_without_options_has_the_picture_of_a_view[formats]",
    "tests/cli/test_report.py::test_what_is_offered_are_figures_of_a_model_and_its_text",
    "tests/figures/test_pages.py",
    "tests/ui/address/test_query.py::test_every_page_is_tried",
    "tests/api/test_arguments.py::test_each_kind_of_answer_is_among_them",
    "tests/api/test_public.py",
)
"""Tests of the page and the view, and those of all places of a page."""


def written(place: Path, appended: dict[str, str], after: dict[str, tuple[str, str]]) -> None:
    """Change files of the copy."""
    for name, text in appended.items():
        with open(place / name, "a", encoding="utf-8") as file:
            file.write(text)
    for name, (before, more) in after.items():
        text = (place / name).read_text(encoding="utf-8")
        changed = re.sub(before, lambda found, more=more: found[0] + more, text, count=1)
        assert changed != text, name
        (place / name).write_text(changed, encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the page and the view in it."""
    place = tmp_path_factory.mktemp("page") / "repository"
    place.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, place)
    for name, text in NEW.items():
        (place / name).write_text(text, encoding="utf-8")
    for name, (before, now) in IMPORTS.items():
        text = (place / name).read_text(encoding="utf-8")
        assert before in text, name
        (place / name).write_text(text.replace(before, now, 1), encoding="utf-8")
    written(place, APPENDED, AFTER)
    written(place, VIEW_APPENDED, VIEW_AFTER)
    subprocess.run([sys.executable, "-m", "docs.tables"], cwd=place, check=True, timeout=120)
    return place


@pytest.mark.timeout(900)
@pytest.mark.slow
def test_every_face_of_the_page_and_the_view_show_the_numbers(copy: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *RUN]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "skipped" not in done.stdout


def test_the_house_stays_in_order(copy: Path) -> None:
    assert layout.crowded_folders(copy) == []
    assert missing(copy / GUIDE, copy) == []


def listed(part: int) -> list[str]:
    """The paths in one of the two numbered lists of the guide, as patterns."""
    section = (ROOT / GUIDE).read_text(encoding="utf-8").split("\n## ")[part]
    patterns = [re.search(r"`([^`]+)`", line) for line in re.findall(r"(?m)^\d+\. .*", section)]
    names = [re.escape(found[1]) for found in patterns if found]
    return [re.sub(r"<(\w+)>", r"[\\w/]+", name) for name in names]


@pytest.mark.parametrize(
    ("part", "files", "most"),
    [
        (1, {*NEW, *APPENDED, *AFTER, *IMPORTS} - EVERYWHERE, MOST_FOR_A_PAGE),
        (2, {*VIEW_APPENDED, *VIEW_AFTER} - EVERYWHERE, MOST_FOR_A_VIEW),
    ],
    ids=["page", "view"],
)
def test_the_guide_lists_the_files_and_no_others(part: int, files: set[str], most: int) -> None:
    patterns = listed(part)
    assert len(files) == len(patterns) <= most
    for path in files:
        assert any(re.fullmatch(pattern, path) for pattern in patterns), path
    for pattern in patterns:
        assert any(re.fullmatch(pattern, path) for path in files), pattern


def test_the_guide_fits_on_a_screen() -> None:
    assert len((ROOT / GUIDE).read_text(encoding="utf-8").splitlines()) <= 60
