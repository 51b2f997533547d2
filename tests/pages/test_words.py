"""The page on words that matter: its numbers equal runs of transformers itself, and refusals are one message.

Covers `pages/words.py`, `bertviz_core/questions/views/words.py`, `ui/views/words.py`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from transformers import AutoModel, AutoModelForSequenceClassification, AutoModelForTokenClassification, AutoTokenizer

from bertviz_core.models.sources import resolve
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import decimals, escape_markdown
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.opened import SHELL, metrics, opened, page_text, views, visible_text
from tests.pages.snippets import save_models
from ui.session import SECOND_TEXT, TRAINED_PROBE, settings
from ui.widgets import run_model as answers

TEXT = "I love my pet python."


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)


def shown(**address: str) -> AppTest:
    """Open the page without an error, with the bundled model, which has no head, and a second text for the cosine."""
    at = opened("words", **({} if "model" in address else {"pair": SECOND_TEXT}) | address)
    assert not at.exception
    return at


def charts(at: AppTest) -> dict[str, Any]:
    """Key of each chart -> the chart as sent to the browser."""
    return {each.key: each.figure for each in sent_charts(at)}


def folded(at: AppTest, key: str) -> Any:
    """The folded table below the chart of this key."""
    (place,) = [each for each in at.expander if each.proto.query_param_key == f"{key}_table"]
    return place.dataframe[0].value


def vector(text: str, masked: tuple[int, ...] = (), dropped: tuple[int, ...] = ()) -> torch.Tensor:
    """The mean vector of a text from transformers' own run, with some tokens masked or dropped."""
    folder = resolve(DEFAULT_MODEL, settings()).folder
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    ids = [tokenizer.mask_token_id if at in masked else each for at, each in enumerate(tokenizer(text)["input_ids"])]
    row_ids = torch.tensor([[each for at, each in enumerate(ids) if at not in dropped]])
    with torch.no_grad():
        state: torch.Tensor = model(input_ids=row_ids, attention_mask=torch.ones_like(row_ids)).last_hidden_state[0]
    return torch.nn.functional.normalize(state.mean(dim=0), dim=0)


@pytest.mark.slow
def test_each_word_has_the_difference_of_two_runs() -> None:
    at = shown(words_shares_table="true")
    assert views(at) == ["Words", "Remove word by word", "Pairs"]
    other = vector(SECOND_TEXT)
    clean = float(vector(TEXT) @ other)
    expected = [clean - float(vector(TEXT, (place,)) @ other) for place in range(1, 7)]
    frame = folded(at, "words_shares")
    assert list(frame["word"]) == ["I", "love", "my", "pet", "python", "."]
    np.testing.assert_allclose(frame["share"], expected, atol=1e-5)
    (bars,) = charts(at)["words_bars"]["data"]
    np.testing.assert_allclose(bars["x"], sorted(expected, reverse=True), atol=1e-5)
    assert metrics(at)["With all words"] == decimals(clean)
    assert metrics(at)["Without any word"] == decimals(float(vector(TEXT, tuple(range(1, 7))) @ other))
    assert [each.value for each in at.caption].count(
        escape_markdown(f"Texts: “{TEXT}” and “{SECOND_TEXT}”")
    ) == 2  # below each figure
    assert "**python** adds more to the" in page_text(at)
    weakest = int(np.argmin(expected))
    assert expected[weakest] < 0
    assert f"**{frame['word'][weakest]}** takes more away from the" in page_text(at)


@pytest.mark.slow
def test_a_dropped_word_and_a_piece_of_a_word_alone() -> None:
    other = vector(SECOND_TEXT)
    at = shown(text="He tokenized it", units="tokens", in_place="nothing", words_shares_table="true")
    frame = folded(at, "words_shares")
    clean = float(vector("He tokenized it") @ other)
    places = range(1, len(frame) + 1)
    expected = [clean - float(vector("He tokenized it", (), (place,)) @ other) for place in places]
    np.testing.assert_allclose(frame["share"], expected, atol=1e-5)
    whole = folded(shown(text="He tokenized it", words_shares_table="true"), "words_shares")
    assert list(whole["word"]) == ["He", "tokenized", "it"]
    assert len(frame) > len(whole)


@pytest.mark.slow
def test_integrated_gradients_add_up_and_say_by_how_much_they_do_not() -> None:
    at = shown(method="integrated gradients", words_shares_table="true")
    other, every = vector(SECOND_TEXT), tuple(range(1, 7))
    difference = float(vector(TEXT) @ other) - float(vector(TEXT, every) @ other)
    missed = abs(float(folded(at, "words_shares")["share"].sum()) - difference)
    assert missed < 1e-3 * abs(difference) + 1e-5
    title = charts(at)["words_shares"]["layout"]["title"]["text"].replace("<br>", " ")
    assert "(completeness error" in title
    assert float(metrics(at)["Error of the sum"].replace("\N{MINUS SIGN}", "-")) == pytest.approx(missed, abs=2e-5)
    rough = shown(method="gradient x input")
    assert float(metrics(rough)["Error of the sum"].replace("\N{MINUS SIGN}", "-")) > 100 * missed
    assert not [each for each in rough.segmented_control if each.key == "in_place"]


@pytest.mark.slow
def test_curves_fall_from_the_text_to_its_masks() -> None:
    at = shown(view="Remove word by word", words_curves_table="true")
    frame, other = folded(at, "words_curves"), vector(SECOND_TEXT)
    shares = folded(shown(words_shares_table="true"), "words_shares")["share"].to_numpy()
    order = np.argsort(-shares, kind="stable") + 1
    for count in range(7):
        first, rest = tuple(order[:count].tolist()), tuple(order[count:].tolist())
        row = frame.iloc[count]
        assert row["leave-one-out, without"] == pytest.approx(float(vector(TEXT, first) @ other), abs=1e-5)
        assert row["leave-one-out, alone"] == pytest.approx(float(vector(TEXT, rest) @ other), abs=1e-5)
        assert (
            row["random, without, least"] - 1e-6
            <= row["random, without, mean"]
            <= row["random, without, greatest"] + 1e-6
        )
    area = float((frame["leave-one-out, without"].iloc[0] - frame["leave-one-out, without"]).mean())
    assert f"leave-one-out: comprehensiveness **{decimals(area, 3)}**" in page_text(at)
    names = {each.get("name") for each in charts(at)["words_curves"]["data"]} - {None}
    assert names == {"random order, mean and band", "leave-one-out", "integrated gradients"}


def test_no_method_is_refused_in_a_sentence() -> None:
    at = shown(view="Remove word by word")
    at.multiselect(key="methods").set_value([]).run()
    assert "choose at least one" in visible_text(at.error[0].value)


@pytest.mark.slow
def test_the_ledger_of_the_sidebars_two_texts_is_their_cosine() -> None:
    for texts in ((TEXT, ""), ("It's not an exchange or return", "It's an exchange or return")):
        at = shown(view="Pairs", text=texts[0], pair=texts[1])
        first, second = map(vector, (texts[0], texts[1] or SECOND_TEXT))
        cells = next(each["z"] for each in charts(at)["words_pairs"]["data"] if each["type"] == "heatmap")
        numbers = metrics(at)
        assert numbers["Cosine"] == decimals(float(first @ second))
        assert numbers["All pairs"] == decimals(float(np.sum(cells)))
        terms = float(str(numbers["Reference terms"]).replace("−", "-"))
        assert float(np.sum(cells)) + terms == pytest.approx(float(first @ second), abs=2e-4)
        assert float(numbers["Error of the sum"].replace("\N{MINUS SIGN}", "-")) <= 1e-5


@pytest.mark.parametrize("measure", ["logit", "probability"])
def test_words_by_classes_are_runs_of_the_head_of_transformers(
    measure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    folder = save_tiny_head("bert", "sequence-classification", tmp_path / "three", num_labels=3)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    ids = tokenizer(TEXT)["input_ids"]

    def numbers(masked: tuple[int, ...]) -> np.ndarray:
        row_ids = [tokenizer.mask_token_id if at in masked else each for at, each in enumerate(ids)]
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([row_ids])).logits[0]
        found: np.ndarray = (logits.softmax(dim=-1) if measure == "probability" else logits).numpy()
        return found

    at = shown(view="Classes", model="three", classes_by=measure, words_classes_table="true", units="tokens")
    frame, clean = folded(at, "words_classes"), numbers(())
    labels = [f"LABEL_{place}" for place in np.argsort(-clean)]
    assert list(frame.columns) == ["word", "position", *(f"share: {label}" for label in labels)]
    for _, row in frame.iterrows():
        expected = clean - numbers((int(row["position"]),))
        np.testing.assert_allclose([row[f"share: LABEL_{place}"] for place in range(3)], expected, atol=1e-5)
    np.testing.assert_array_equal(charts(at)["words_classes"]["data"][0]["z"], frame[frame.columns[2:]])
    best = frame.loc[frame[f"share: {labels[0]}"].idxmax(), "word"]
    assert (
        f"{labels[0]}**, {measure} {decimals(float(clean.max()))}: **{best}** speaks for it most of all words"
        in page_text(at)
    )
    one = shown(view="Classes", model="three", classes="LABEL_1", words_classes_table="true")
    assert list(folded(one, "words_classes").columns[2:]) == ["share: LABEL_1"]
    one.multiselect(key="classes").set_value([]).run()
    assert "choose at least one" in visible_text(one.error[0].value)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("view", "key"), [("Words", "words_shares"), ("Remove word by word", "words_curves")])
def test_a_probe_of_the_session_is_a_target_of_other_views(view: str, key: str) -> None:
    weight = np.random.default_rng(0).normal(size=(2, 384)).astype(np.float32)
    revision = resolve(DEFAULT_MODEL, settings()).revision
    probe = Probe(
        DEFAULT_MODEL, revision, "mean", 6, ("no", "yes"), weight, np.zeros(2, np.float32), "mine", 4, 0, 1, 0
    )
    at = AppTest.from_file(str(SHELL), default_timeout=60)
    at.switch_page("../pages/words.py")
    at.session_state[TRAINED_PROBE] = probe
    at.query_params.update({"view": view, "target": "probe", "target_class": "yes"})
    at.run()
    assert not at.exception
    assert not at.error
    assert key in charts(at)
    assert "by a probe on after layer 5" in str(charts(at))


def test_words_by_the_classes_of_a_probe_of_the_session() -> None:
    weight = np.random.default_rng(0).normal(size=(2, 384)).astype(np.float32)
    bias = np.array([0.5, -0.5], dtype=np.float32)
    revision = resolve(DEFAULT_MODEL, settings()).revision
    probe = Probe(DEFAULT_MODEL, revision, "mean", 6, ("no", "yes"), weight, bias, "mine", 4, 0, 0.5, 0.1)
    at = AppTest.from_file(str(SHELL), default_timeout=60)
    at.switch_page("../pages/words.py")
    at.session_state[TRAINED_PROBE] = probe
    at.query_params.update({"view": "Classes", "classes_by": "probability", "words_classes_table": "true"})
    at.run()
    assert not at.exception
    assert not at.error
    frame = folded(at, "words_classes")
    assert len(frame) == 6
    assert np.abs(frame["share: yes"]).max() > 1e-6
    np.testing.assert_allclose(frame["share: yes"], -frame["share: no"], atol=1e-6)
    assert "mine" in page_text(at)


def test_a_model_without_a_mask_drops_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_models(tmp_path)
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(folder))
    address = {"model": "bytes", "text": "a river", "pair": "the bank"}
    at = shown(**address, words_shares_table="true", units="tokens")
    assert not at.error
    assert "nothing in its place" in page_text(at)
    frame = folded(at, "words_shares")
    dropped = shown(**address, words_shares_table="true", units="tokens", in_place="nothing", method="gradient x input")
    np.testing.assert_array_equal(folded(dropped, "words_shares")["share"], frame["share"])
    assert views(at) == ["Words"]
    assert "bytes has a tokenizer without a mask token" in page_text(at)
    placed = shown(**address, target="state")
    assert not placed.error
    assert "no mask token" in visible_text(placed.info[0].value)


def test_a_tagger_is_asked_for_its_tags(models_dir: Path) -> None:
    folder = save_tiny_head("bert", "token-classification", models_dir / "tags", num_labels=5)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForTokenClassification.from_pretrained(folder).eval()
    ids = tokenizer(TEXT)["input_ids"]

    def logits(masked: int | None, place: int) -> np.ndarray:
        row_ids = [tokenizer.mask_token_id if at == masked else each for at, each in enumerate(ids)]
        with torch.no_grad():
            found: np.ndarray = model(input_ids=torch.tensor([row_ids])).logits[0, place].numpy()
        return found

    at = shown(model="tags", words_shares_table="true", units="tokens", target_at="3")
    best = int(logits(None, 3).argmax())
    assert f"Target: **logit of 'LABEL_{best}' at token 3**" in page_text(at)
    expected = [float(logits(None, 3)[best] - logits(place, 3)[best]) for place in range(1, len(ids) - 1)]
    np.testing.assert_allclose(folded(at, "words_shares")["share"], expected, atol=1e-5)
    at = shown(model="tags", view="Classes", words_classes_table="true", units="tokens", target_at="3")
    assert "each tag at token 3" in page_text(at)
    frame = folded(at, "words_classes")
    for label in range(5):
        expected = [float(logits(None, 3)[label] - logits(place, 3)[label]) for place in range(1, len(ids) - 1)]
        np.testing.assert_allclose(frame[f"share: LABEL_{label}"], expected, atol=1e-5)


def test_a_gradient_that_needs_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_MAX_GRADIENT_BYTES", "1000")
    at = shown(method="integrated gradients", text="One more python, please.")
    assert "measure by leave-one-out instead" in visible_text(at.error[0].value)


def test_where_every_word_moves_the_number_alike_the_mask_is_suspected() -> None:
    address = {"text": "My grandmother rode her unicycle to the river bank.", "pair": "I love coding in python."}
    at = opened("words", **address, words_shares_table="true")
    shares = folded(at, "words_shares")["share"].dropna().to_numpy()
    falls, rises = int((shares > 0).sum()), int((shares < 0).sum())
    assert max(falls, rises) >= 0.8 * len(shares)
    words = f"The number {'falls' if falls > rises else 'rises'} without {max(falls, rises)} of {len(shares)} words"
    assert any(visible_text(each.value).startswith(words) for each in at.info)
    dropped = opened("words", **address, in_place="nothing")
    assert not any("without" in each.value for each in dropped.info)
    assert not any("masks, too" in each.value for each in dropped.caption)
