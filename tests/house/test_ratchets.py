"""The house does not grow; a step that makes it smaller lowers its figure here."""

from pathlib import Path

import pytest

from tests.house.ratchets import entered_files, house

ROOT = Path(__file__).parents[2]
MOST_LINES, MOST_FILES, MOST_FIGURES, MOST_TABLES = 111_532, 540, 8, 2
MOST_ENTERED = {"sunburst to treemap": 36, "similarity, clustered": 50, "another head": 40, "values of the layers": 36}
MOST_IN_FRAME = 26
"""Files that every click enters."""


def test_the_sources_do_not_grow() -> None:
    now = house(ROOT)
    assert now.lines <= MOST_LINES
    assert now.files <= MOST_FILES
    assert now.figures <= MOST_FIGURES
    assert now.tables <= MOST_TABLES


def test_what_grows_is_counted(tmp_path: Path) -> None:
    (tmp_path / "ui").mkdir()
    (tmp_path / "app.py").write_text("\n")
    text = '"""A\n\ntext."""\nfrom bertviz_core.figures.heads import a_figure, words\n\n'
    text += "x = pd.DataFrame({})\ny = pandas.DataFrame()\n"
    for name in ("one", "two"):
        (tmp_path / "ui" / f"{name}.py").write_text(text)
    now = house(tmp_path)
    assert now == ({"ui": 14, "app.py": 1}, {"docstrings": 6, "imports": 2, "blank": 5}, 3, 1, 4)
    assert now.lines == 15
    assert str(now).splitlines() == [
        "production: 15 lines in 3 files (ui 14, app.py 1)",
        "of these: docstrings 6, imports 2, blank 5",
        "figures that ui calls by itself instead of asking the question: 1; tables that ui builds: 4",
    ]


@pytest.mark.slow
def test_a_click_enters_few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    entered = entered_files(ROOT)
    assert {name: len(files) for name, files in entered.items() if len(files) > MOST_ENTERED[name]} == {}
    frame = set.intersection(*entered.values())
    assert len(frame) <= MOST_IN_FRAME, sorted(frame)
    assert "ui/shell.py" in frame
