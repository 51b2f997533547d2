"""The gallery of the documentation site: a figure's line of Python and its command draw what its picture shows.

Covers docs/site/gallery.py.
"""

import shlex
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import bertviz_core
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.figures import all_figures
from docs.site import gallery
from docs.site.gallery import Example, command_line, drawn, example_of, python_line, sections, write_pictures
from tests.cli.conftest import Command, command, drawn_figures, models_in_memory
from tests.cli.test_figure import alike, as_sent

__all__ = ["models_in_memory", "command", "drawn_figures"]  # fixtures of the command line
DRAWN = sorted(name for name, figure in all_figures().items() if not example_of(figure).needs)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.sample(1)
def test_the_line_and_the_command_draw_the_picture(
    name: str, command: Command, drawn_figures: list[FigureSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    example = example_of(all_figures()[name])
    picture = as_sent(drawn(name, example)[0].drawn(LIGHT))
    figure = eval(python_line(name, example), vars(bertviz_core).copy())
    assert alike(as_sent(figure), picture)
    words = shlex.split(command_line(name, example))
    assert words[:4] == ["python", "-m", "bertviz_core", "figure"]
    assert words[-2:] == ["-o", f"{name}.svg"]
    done = command(*words[3:-1], str(tmp_path / words[-1]))
    assert done.returncode == 0, done.stderr
    assert alike(as_sent(drawn_figures[0].drawn(LIGHT)), picture)


def test_lines_have_pair_task_and_options_as_they_are_spelled() -> None:
    example = Example("my model", ("It's",), "a\tb", {"layer": "3", "other": "itself"}, "masked-lm")
    assert command_line("attention-compared", example) == (
        "python -m bertviz_core figure attention-compared 'my model' 'It'\"'\"'s' --pair 'a\tb' --task masked-lm "
        "--layer 3 --set other=itself -o attention-compared.svg"
    )
    assert eval(f"lambda open_model: {python_line('attention-compared', example)}")(Recorded) == (
        ("my model", {"task": "masked-lm"}),
        ("attention-compared", "It's"),
        {"pair": "a\tb", "layer": 3, "other": "itself"},
    )


class Recorded:
    """Stands for an open model, and returns how it was called."""

    def __init__(self, name: str, **options: str) -> None:
        self.opened = name, options

    def figure(self, *texts: str, **options: Any) -> Any:
        return self.opened, texts, options


def test_every_example_is_of_a_figure_or_page() -> None:
    assert set(gallery.EXAMPLES) <= set(all_figures())
    assert set(gallery.BY_PAGE) <= set(PAGES)


def test_what_no_bundled_model_can_draw_says_what_it_needs() -> None:
    text = sections(None)
    assert "No picture: it needs a model with a head for tags, which is not bundled." in text
    for part in text.split("\n### ")[1:]:
        assert ("No picture: " in part) == ("models/my" in part or "corpora/mine" in part)


@pytest.mark.slow
@pytest.mark.browser
def test_a_picture_has_the_width_of_the_page_and_its_alternative_text(tmp_path: Path) -> None:
    figure = drawn("components", example_of(all_figures()["components"]))
    write_pictures({"components": figure}, tmp_path)
    with Image.open(tmp_path / "components.webp") as picture:
        assert (picture.width, picture.format) == (gallery.PIXELS, "WEBP")
        assert picture.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
    image = gallery.image("components", 'a "b" <c>', tmp_path)
    assert 'alt="a &quot;b&quot; &lt;c&gt;"' in image
