"""The command `figure` draws answers of task heads like their page; missing input gives one message."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.models.sources import resolve
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.probing.scores import probe_bytes
from bertviz_core.questions.figures import all_figures
from tests.cli.conftest import Command
from tests.helpers.charts import decoded_arrays, sent_charts
from tests.helpers.tiny_models import HIDDEN
from tests.pages.labels import CONTEXT, FIGURES, LABELLED, NAMES, QUESTION, TEXT, save_heads
from tests.pages.opened import SHELL, opened
from ui.session import TRAINED_PROBE, settings
from ui.widgets import run_model as answers


@pytest.fixture(scope="session")
def head_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_heads(tmp_path_factory.mktemp("heads"))


@pytest.fixture(autouse=True)
def heads(head_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(head_folder))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")


@pytest.fixture
def no_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages compute without a confirmation."""
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)


@pytest.mark.parametrize("words", FIGURES)
@pytest.mark.slow
def test_a_file_has_the_picture_of_the_page(
    words: str, command: Command, drawn_figures: list[FigureSpec], no_standard_input: None, tmp_path: Path
) -> None:
    model, texts, address = FIGURES[words]
    name, *options = shlex.split(words)
    done = command("figure", name, model, *texts, *options, "-o", str(tmp_path / "a.svg"))
    assert done.returncode == 0, done.stderr
    at = opened(all_figures()[name].chart.partition("_")[0], model=model, text=(texts or (TEXT,))[0], **address)
    assert same_picture(at, name, drawn_figures[0])


@pytest.mark.parametrize(
    ("name", "options", "address"),
    [
        ("accuracy", "--set target=probe:{} --set count=2", {"view": "Many sentences", "count": "2"}),
        ("effect-spread", "--set target=probe:{}@entailment", {"view": "Many sentences", "target_class": "entailment"}),
        ("word-classes", "--set target=probe:{}", {"view": "Classes"}),
        ("effects", "--set target=probe:{} --set measure=margin", {"view": "One head at a time", "measure": "margin"}),
    ],
)
@pytest.mark.slow
def test_a_file_of_a_probe_has_the_picture_of_the_page(
    name: str,
    options: str,
    address: dict[str, str],
    command: Command,
    drawn_figures: list[FigureSpec],
    no_standard_input: None,
    tmp_path: Path,
) -> None:
    draw = np.random.default_rng(0)
    weight, bias = draw.normal(size=(3, HIDDEN)).astype(np.float32), draw.normal(size=3).astype(np.float32)
    revision = resolve("words", settings()).revision
    probe = Probe("words", revision, "mean", 2, NAMES, weight, bias, "own.csv", 30, 0, 0.8, 0.05)
    file = tmp_path / "probe.zip"
    file.write_bytes(probe_bytes(probe))
    listed = LABELLED if address["view"] == "Many sentences" else (TEXT,)
    done = command("figure", name, "words", *listed, *shlex.split(options.format(file)), "-o", str(tmp_path / "a.svg"))
    assert done.returncode == 0, done.stderr
    at = AppTest.from_file(str(SHELL), default_timeout=60)
    at.switch_page(f"../pages/{all_figures()[name].chart.partition('_')[0]}.py")
    at.session_state[TRAINED_PROBE] = probe
    typed = {"effect_list": "my own list", "effect_sentences": "\n".join(LABELLED)}
    at.query_params.update({"model": "words", "text": TEXT, "target": "probe", **typed, **address})
    assert same_picture(at.run(), name, drawn_figures[0])


def same_picture(at: AppTest, name: str, picture: FigureSpec) -> bool:
    """Whether the page shows the figure of a file."""
    assert not at.exception
    (chart,) = (each for each in sent_charts(at) if each.key == all_figures()[name].chart)
    shown, drawn_figures = chart.figure, decoded_arrays(json.loads(picture.drawn(LIGHT).to_json()))
    parts = [json.dumps([each["data"], each["layout"]], sort_keys=True) for each in (shown, drawn_figures)]
    return parts[0] == parts[1]


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"classes-change classes '{TEXT}'", "give --set edited=TEXT"),
        (f"accuracy classes '{TEXT}' '{QUESTION}'", "give each text its label behind a tab"),
        (f"effect-spread words '{TEXT}' '{QUESTION}' --set target=word:pet@3", "is of many texts"),
        (f"answers answers '{QUESTION}'", "The context is empty"),
        (f"next-sentence pretraining '{TEXT}' --task next-sentence", "give the second text"),
        (f"tags classes '{TEXT}'", "asks for token-classification"),
        (f"answer-map answers '{QUESTION}' --pair '{CONTEXT}' --set window=7", "There is no --window=7"),
        (f"effect-spread words '{TEXT}' '{QUESTION}' --set target=probe:nowhere.zip", "nowhere.zip' cannot be read"),
        (f"accuracy classes '{LABELLED[0]}' '{LABELLED[1]}' --set target=cosine", "is of all classes"),
    ],
)
def test_what_is_missing_is_one_sentence(words: str, message: str, command: Command, tmp_path: Path) -> None:
    done = command("figure", *shlex.split(words), "-o", str(tmp_path / "a.svg"))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
