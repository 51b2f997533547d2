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
MOST_FOR_A_PAGE, MOST_FOR_A_VIEW = 20, 6

NEW = {
    "bertviz_core/hidden_states/piece_lengths.py": '''"""How many characters each token has."""

from bertviz_core.hidden_states.results import PieceLengths
from bertviz_core.trace.results import Tokens


def piece_lengths(tokens: Tokens, marks: bool) -> PieceLengths:
    """Count the characters of every token, the mark of a continued word only on request."""
    pieces = tokens.tokens if marks else [token.removeprefix("##") for token in tokens.tokens]
    return PieceLengths(tokens.tokens, tuple(map(len, pieces)))
''',
    "tests/hidden_states/test_piece_lengths.py": '''"""Characters of tokens add up."""

from bertviz_core.hidden_states.piece_lengths import piece_lengths
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.tokenization import load_tokenizer, tokenize


def test_characters_add_up(settings: Settings) -> None:
    tokens = tokenize(load_tokenizer(resolve(DEFAULT_MODEL, settings), settings), "Sinan loves", None)
    pieces = [token.removeprefix("##") for token in tokens.tokens]
    assert sum(piece_lengths(tokens, marks=False).characters) == len("".join(pieces))
    assert sum(piece_lengths(tokens, marks=True).characters) == len("".join(tokens.tokens))
''',
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
    return pd.DataFrame({"tokens": lengths.tokens, "characters": lengths.characters})


@figure(
    "lengths",
    "lengths_bars",
    "characters of each token, also of marks (--set marks=true)",
    reported=True,
    table=lengths_frame,
)
def lengths_figure(lengths: PieceLengths) -> FigureSpec:
    """The bars of a text."""
    title = "Characters of each token"
    return FigureSpec(title, f"{title}: a bar for each", partial(length_bars, lengths, title))
''',
    "tests/figures/tokens/test_lengths.py": '''"""The drawn bars are the lengths."""

from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.lengths import length_bars
from bertviz_core.hidden_states.results import PieceLengths


def test_the_bars_are_the_lengths() -> None:
    figure = length_bars(PieceLengths(("a", "##bc"), (1, 2)), "Lengths", LIGHT)
    assert list(figure.data[0].y) == [1, 2]
''',
    "bertviz_core/questions/texts/lengths.py": '''"""How long tokens are: the question, its table and its JSON."""

from typing import Any

from bertviz_core.hidden_states.piece_lengths import piece_lengths
from bertviz_core.hidden_states.results import PieceLengths
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, flag
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.tables.lines import aligned
from bertviz_core.questions.texts.tokens import tokens

MARKS = flag("marks", "count the mark of a continued word, too")


@question(figures=("lengths",), params=(MARKS,))
def lengths(opened: Opened, options: Options) -> Answer[PieceLengths]:
    """Characters of every token of a text."""
    read = tokens(opened, options)
    result = piece_lengths(read.result, options.flag(MARKS))
    return read.of(result, lengths=result)


def lengths_json(result: PieceLengths) -> dict[str, Any]:
    """The object that the command prints."""
    return {"tokens": result.tokens, "characters": result.characters}


def lengths_lines(result: PieceLengths) -> list[str]:
    """The table that the command prints."""
    rows = zip(result.tokens, map(str, result.characters), strict=True)
    return aligned([("token", "characters"), *rows], "lr")
''',
    "pages/lengths.py": '''"""Lengths: how long is a token?"""

from bertviz_core.figures.lengths import lengths_figure
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.lengths import MARKS, lengths
from ui.address import widgets
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.widgets.run_model import shown_to_user
from ui.widgets.figure_block import figure_block
from ui.widgets.heading import heading, page_text
from ui.widgets.models import model_name

HOW = "The text is cut into tokens, and the characters of each are counted."
CODE = """from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained({model!r})
tokens = tokenizer.convert_ids_to_tokens(tokenizer({text!r}).input_ids)
print([len(token) for token in tokens])"""

name_model = heading("lengths")
with shown_to_user():
    name, text = model_name(), page_text()
    marks = widgets.toggle(MARKS, "Count marks")
    answer = lengths(SharedModel(name), Options((text,), values={MARKS.key: str(marks).lower()}))
    name_model(name, f"{len(answer.result.tokens)} tokens")
    code = CODE.format(model=models.source(name).pretrained_name, text=text)
    figure_block(lengths_figure.of(answer.drawn), f"lengths {name}", texts=answer.texts, explanation=(HOW, code))
''',
    "tests/pages/test_lengths.py": '''"""Page, its code, command, library and figure show the same numbers.

Covers `bertviz_core/questions/texts/lengths.py`.
"""

import json
import sys
from pathlib import Path

import pytest
from bertviz_core import open_model
from bertviz_core.cli.app import main
from tests.pages.opened import drawn
from tests.pages.snippets import BUNDLED, check_view, chart

TEXT = "Sinan loves a beautiful day"


def command(*words: str) -> None:
    """Run a command."""
    sys.argv = ["inside-bert", *words]
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code


def test_all_faces_show_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shown = []
    check = {"lengths_bars": lambda at, printed: shown.extend((chart(at, "lengths_bars")[0]["y"], printed[0]))}
    check_view("lengths", BUNDLED, check, text=TEXT, marks="true")
    command("lengths", BUNDLED, TEXT, "--marks", "--json")
    shown.append(json.loads(capsys.readouterr().out)["characters"])
    result = open_model(BUNDLED).lengths(TEXT, marks=True)
    shown += [result.to_json()["characters"], result.figure().data[0].y]
    command("figure", "lengths", BUNDLED, TEXT, "--set", "marks=true", "-o", str(tmp_path / "lengths.svg"))
    assert "Characters of each token" in (tmp_path / "lengths.svg").read_text(encoding="utf-8")
    counts = [list(each) for each in shown]
    assert sum(counts[0]) == len("[CLS][SEP]") + len(TEXT.replace(" ", "")) + len("##")
    assert counts == counts[:1] * 5
''',
}
"""Path -> content of a new file."""
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
    "bertviz_core/cli/texts.py": '''

@app.command()
def lengths(
    model: ModelArgument,
    text: TextArgument,
    marks: Annotated[bool, typer.Option("--marks", help="Count the mark of a continued word, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Count the characters of every token of a text."""
    from bertviz_core.questions.texts.lengths import lengths as ask_lengths
    from bertviz_core.questions.texts.lengths import lengths_json, lengths_lines

    answer = ask_lengths(opened_model(model), Options((text,), values={"marks": str(marks).lower()}))
    if as_json:
        print_json(lengths_json(answer.result))
    else:
        print_lines(lengths_lines(answer.result))
''',
    "bertviz_core/api/model.py": '''
    @checked
    def lengths(self, text: str, marks: bool = False) -> LengthsResult:
        """How many characters each token of a text has.

        Args:
            text: the text.
            marks: whether the mark of a continued word counts, too.

        Raises:
            BertvizError: the model has no tokenizer here, or the text has too many characters.
        """
        options = Options((text,), task=self.task, values={"marks": str(marks).lower()})
        return LengthsResult(token_lengths(self._opened, options).result, FigureSource(self._opened, options))
''',
    "bertviz_core/api/results/runs.py": '''

class LengthsResult(Result[PieceLengths]):
    """How many characters each token of a text has."""

    figures = ("lengths",)

    def to_pandas(self) -> pd.DataFrame:
        """A row for each token: tokens, characters."""
        return pd.DataFrame(self._json())

    def _json(self) -> dict[str, Any]:
        return lengths_json(self.data)

    def _lines(self) -> Sequence[str]:
        return lengths_lines(self.data)
''',
    "docs/images/pictures.yaml": "lengths:\n  title: Lengths\n  alt: A bar for each token\n",
}
"""Path -> text appended to a file."""
AFTER = {
    "bertviz_core/figures/pages.py": (
        r'    PageEntry\("tokens".*\n',
        '    PageEntry("lengths", "Lengths", "How long is a token?", READS, "straighten", ()),\n',
    ),
    "bertviz_core/cli/app.py": (
        r'    "tokens": Command.*\n',
        '    "lengths": Command("texts", "Count the characters of every token of a text."),\n',
    ),
    "bertviz_core/api/model.py": (
        r"from bertviz_core.api.results.runs import .*\n",
        "from bertviz_core.api.results.runs import LengthsResult\n"
        "from bertviz_core.questions.texts.lengths import lengths as token_lengths\n",
    ),
    "bertviz_core/api/results/runs.py": (
        r"import escape_controls\n|from bertviz_core.errors import TextError\n",
        "from bertviz_core.hidden_states.results import PieceLengths\n"
        "from bertviz_core.questions.texts.lengths import lengths_json, lengths_lines\n",
    ),
    "ui/address/registry.py": (
        r'    \*_on\("tokens".*\n',
        '    *_on("lengths", lengths.MARKS),\n',
    ),
    "docs/lessons.md": (
        r"\| `tokenizer` \| tokens .*\n",
        "| `marks` | lengths | `true` | count the mark of a continued word, too |\n",
    ),
    "docs/library.md": (
        r"\| `\.tokens\(.*\n",
        "| `.lengths(text, marks)` | characters of each token | `lengths` |\n",
    ),
    "docs/pages.md": (r"\| Tokens \|.*\n", "| Lengths | How long is a token? | a bar for each token |\n"),
    "CHANGELOG.md": (r"### Added\n", "- **Lengths**: how many characters each token has.\n"),
}
"""Path -> (existing text, text inserted after it)."""
IMPORTS = {
    "ui/address/registry.py": ("    journey,\n    number_formats,", "    journey,\n    lengths,\n    number_formats,")
}
"""Path -> (existing text, its replacement)."""
TAKEN = ("docs/images/lengths.webp",)
"""Images that `make screenshots` takes of the page."""
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
    "tests/figures/parameters/test_bars.py": """

def test_bars_of_formats_add_up_and_count_tied_parameters_once() -> None:
    from bertviz_core.figures.parameters import format_bars

    rows = (parameter("a", (2, 3), "encoder"), parameter("b", (5,), "pooler"), parameter("c", (2, 3), "encoder", "a"))
    assert list(format_bars(ledger("tiny", (), rows), "Formats", LIGHT).data[0].y) == [11]
""",
    "bertviz_core/questions/views/parameters.py": '''

def formats_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Bars of the number formats."""
    from bertviz_core.figures.parameters import formats_figure

    yield Figure.of(formats_figure, ask(parameters, Options(task=options.task)), f"formats {opened.name}")


VIEWS = (*VIEWS, View("Formats", (), formats_view))
''',
    "tests/pages/test_parameters.py": """

def test_formats_add_up_to_the_parameters_of_the_file() -> None:
    at = opened("parameters", view="Formats")
    assert not at.exception
    assert sum(drawn(at)["data"][0]["y"]) == sum(bundled_counts().values())
""",
}
VIEW_AFTER = {
    "bertviz_core/questions/models/architecture.py": (r'@question\(figures=\("components",', ' "formats"'),
    "CHANGELOG.md": (r"### Added\n", "- Parameters > Formats: the parameters of each number format.\n"),
}
RUN = (
    "tests/hidden_states/test_piece_lengths.py",
    "tests/figures/tokens/test_lengths.py",
    "tests/figures/parameters/test_bars.py::test_bars_of_formats_add_up_and_count_tied_parameters_once",
    "tests/pages/test_lengths.py",
    "tests/pages/test_parameters.py::test_formats_add_up_to_the_parameters_of_the_file",
    "tests/pages/test_reproduction_of_texts.py::test_no_view_is_left_out[lengths]",
    "tests/ui/address/test_registry.py",
    "tests/cli/test_figure.py::test_a_file_of_a_figure_without_options_has_the_picture_of_a_view[lengths]",
    "tests/cli/test_figure.py::test_a_file_of_a_figure_without_options_has_the_picture_of_a_view[formats]",
    "tests/cli/test_report.py::test_what_is_offered_are_figures_of_a_model_and_its_text",
    "tests/figures/test_pages.py",
    "tests/ui/address/test_query.py::test_every_page_is_tried",
    "tests/api/test_same_answers.py::test_command_library_and_question_give_the_same[lengths]",
    "tests/api/test_arguments.py::test_each_kind_of_answer_is_among_them",
    "tests/api/test_public.py::test_public_is_what_the_document_lists",
    "tests/api/test_public.py::test_the_document_names_every_method_with_its_options_and_figures",
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
        (1, {*NEW, *APPENDED, *AFTER, *IMPORTS, *TAKEN}, MOST_FOR_A_PAGE),
        (2, {*VIEW_APPENDED, *VIEW_AFTER}, MOST_FOR_A_VIEW),
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
