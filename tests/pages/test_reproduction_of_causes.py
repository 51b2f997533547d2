"""Code of the page on heads that matter runs as it is and gives the page's numbers."""

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.models.sources import resolve
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.probing.scores import probe_bytes
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import decimals
from tests.pages.labels import NAMES, save_heads
from tests.pages.opened import SHELL, metrics, opened
from tests.pages.test_causes import HEADS, cells, charts
from ui.session import SECOND_TEXT, TRAINED_PROBE, settings
from ui.widgets import run_model as answers

OWN = {"effect_list": "my own list", "effect_sentences": "A river.\nThe bank lends."}


@pytest.mark.parametrize(
    ("view", "key"), [("One head at a time", "effects"), ("Several heads", "removal"), ("Patch", "states")]
)
@pytest.mark.slow
def test_the_code_of_each_view_gives_its_numbers(view: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    at = opened("causes", view=view, pair=SECOND_TEXT, **{f"causes_{key}_explained": "true"})
    assert not at.exception
    names = run(at.code[0].value)
    if view == "One head at a time":
        values = cells(at, "causes_effects")
        np.testing.assert_allclose(names["effects"].heads, values[:, 2 * HEADS + 6 : 3 * HEADS + 6], atol=1e-6)
    elif view == "Patch":
        np.testing.assert_allclose(names["result"].states, cells(at, "causes_states"), atol=1e-5)
    else:
        greedy = next(each for each in charts(at)["causes_removal"]["data"] if each.get("name") == "greedy")
        np.testing.assert_allclose(names["result"].curves[0].values[0], greedy["y"], atol=1e-5)
        assert metrics(at)["Joint effect"].lstrip("+") == decimals(names["result"].greedy.joint)


def run(code: str) -> dict[str, Any]:
    """Run code, and return its variables."""
    names: dict[str, Any] = {}
    with redirect_stdout(StringIO()):
        exec(code, names)
    return names


@pytest.mark.parametrize("more", [{}, {"removed_for": "its mean"}])
@pytest.mark.slow
def test_the_code_of_many_sentences_gives_its_maps(more: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    at = opened("causes", view="Many sentences", pair=SECOND_TEXT, causes_spread_explained="true", **OWN, **more)
    assert not at.exception
    names = run(at.code[0].value)
    maps = [each["z"] for each in charts(at)["causes_spread"]["data"] if each["type"] == "heatmap"]
    np.testing.assert_allclose(names["result"].mean, maps[0], atol=1e-5)
    np.testing.assert_allclose(names["result"].spread, maps[1], atol=1e-5)


@pytest.mark.slow
def test_the_code_of_right_answers_gives_their_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(save_heads(tmp_path / "heads")))
    lines = [f"{text}\t{label}" for text, label in zip(("the bank", "my pet", "i love"), NAMES, strict=True)]
    address = {"model": "classes", "target": "class", "count": "2", "effect_list": "my own list"}
    fold = {"causes_accuracy_explained": "true"}
    at = opened("causes", view="Many sentences", effect_sentences="\n".join(lines), **address, **fold)
    assert not at.exception
    names = run(at.code[0].value)
    lines_drawn = {each.get("name"): each["y"] for each in charts(at)["causes_accuracy"]["data"]}
    shares = names["result"]
    np.testing.assert_allclose(shares[0].values[0], lines_drawn["greedy"], atol=1e-6)
    np.testing.assert_allclose(shares[2].values.mean(axis=0), lines_drawn["random, mean of 20 orders"], atol=1e-6)


@pytest.mark.slow
def test_the_code_of_a_probes_right_answers_gives_their_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    monkeypatch.chdir(tmp_path)
    weight = np.random.default_rng(1).normal(size=(2, 384)).astype(np.float32)
    revision, bias = resolve(DEFAULT_MODEL, settings()).revision, np.zeros(2, np.float32)
    probe = Probe(DEFAULT_MODEL, revision, "mean", 6, ("no", "yes"), weight, bias, "mine", 4, 0, 0.5, 0.1)
    (tmp_path / "probe.zip").write_bytes(probe_bytes(probe))
    at = AppTest.from_file(str(SHELL), default_timeout=120)
    at.switch_page("../pages/causes.py")
    at.session_state[TRAINED_PROBE] = probe
    lines = "The bank raised its rates.\tno\nMy pet is asleep.\tyes\nIt rained all night.\tno"
    address = {"view": "Many sentences", "target": "probe", "effect_list": "my own list", "count": "1"}
    at.query_params.update({**address, "effect_sentences": lines, "causes_accuracy_explained": "true"})
    at.run()
    assert not at.exception
    names = run(at.code[0].value)
    shares = names["result"]
    lines_drawn = {each.get("name"): each["y"] for each in charts(at)["causes_accuracy"]["data"]}
    np.testing.assert_allclose(shares[0].values[0], lines_drawn["greedy"], atol=1e-6)
