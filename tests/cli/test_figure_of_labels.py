"""The command figure draws what heads that label say as their page draws it; what is missing is one sentence."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from bertviz_core.cli.figure import command as figure_command
from bertviz_core.cli.figure.registry import all_figures
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import LIGHT
from tests.cli.conftest import Command
from tests.pages.labels import CONTEXT, FIGURES, QUESTION, TEXT, save_heads
from tests.pages.opened import _decoded, opened
from ui.views.causes import cache as causes_cache
from ui.views.words import cache as words_cache


@pytest.fixture(scope="session")
def head_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_heads(tmp_path_factory.mktemp("heads"))


@pytest.fixture(autouse=True)
def heads(head_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(head_folder))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")


@pytest.mark.parametrize("words", FIGURES)
def test_a_file_has_the_picture_of_the_page(
    words: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, texts, address = FIGURES[words]
    name, *options = shlex.split(words)
    taken: list[FigureSpec] = []

    def keep(ending: str, picture: Any, *_: Any) -> bytes:
        taken.append(picture)
        return b"kept"

    monkeypatch.setattr(figure_command, "file_content", keep)
    done = command("figure", name, model, *texts, *options, "-o", str(tmp_path / "a.svg"))
    assert done.returncode == 0, done.stderr
    for cache in (causes_cache, words_cache):
        monkeypatch.setattr(cache, "PATIENCE_S", 120.0)
    at = opened(all_figures()[name].chart.partition("_")[0], model=model, text=texts[0], **address)
    assert not at.exception
    (chart,) = (each for each in at.get("plotly_chart") if each.proto.id.endswith(f"-{all_figures()[name].chart}"))
    shown, written = _decoded(json.loads(chart.proto.spec)), _decoded(json.loads(taken[0].drawn(LIGHT).to_json()))
    parts = [json.dumps([each["data"], each["layout"]], sort_keys=True) for each in (shown, written)]
    assert parts[0] == parts[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (f"classes-change classes '{TEXT}'", "give --set edited=TEXT"),
        (f"accuracy classes '{TEXT}' '{QUESTION}'", "give each text its label behind a tab"),
        (f"effect-spread words '{TEXT}' '{QUESTION}' --set target=word:pet@3", "is of many texts"),
        (f"answers answers '{QUESTION}'", "The context is empty"),
        (f"next-sentence pretraining '{TEXT}' --task next-sentence", "give the second text"),
        (f"tags classes '{TEXT}'", "asks for token-classification"),
        (f"answer-map answers '{QUESTION}' --pair '{CONTEXT}' --set window=7", "There is no window=7"),
    ],
)
def test_what_is_missing_is_one_sentence(words: str, told: str, command: Command, tmp_path: Path) -> None:
    done = command("figure", *shlex.split(words), "-o", str(tmp_path / "a.svg"))
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
