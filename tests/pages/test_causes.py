"""The page on heads that matter: its numbers against models with changed weights, and one message for every refusal.

Covers `pages/causes.py`, `bertviz_core/questions/views/causes.py`, `ui/views/causes.py`.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core.models.catalog import SPLADE
from bertviz_core.models.sources import resolve
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import decimals
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny
from tests.pages.conftest import Gate
from tests.pages.labels import NAMES, save_heads
from tests.pages.opened import SHELL, metrics, opened, page_text, views, visible_text
from ui.session import SECOND_TEXT, TRAINED_PROBE, settings
from ui.widgets import run_model as answers

TEXT = "I love my pet python."
LAYERS, HEADS, SIZE = 6, 12, 32


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)


def shown(**address: str) -> AppTest:
    """Open the page without an error, with the bundled model, which has no head, and a second text for the cosine."""
    at = opened("causes", **({} if "model" in address else {"pair": SECOND_TEXT}) | address)
    assert not at.exception
    return at


def charts(at: AppTest) -> dict[str, Any]:
    """Key of each chart -> the chart as sent to the browser."""
    return {each.key: each.figure for each in sent_charts(at)}


def cells(at: AppTest, key: str) -> np.ndarray:
    """The cells of a map."""
    (found,) = (each["z"] for each in charts(at)[key]["data"] if each["type"] == "heatmap")
    return np.array(found, dtype=float)


def cosine_without(*places: tuple[int, int], second: str = SECOND_TEXT, text: str = TEXT) -> float:
    """The cosine of transformers' own runs, with the columns of some heads in the output projections set to 0.

    The second text is fixed: it is run by the unchanged model.
    """
    folder = resolve(DEFAULT_MODEL, settings()).folder
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    def vector(text: str) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        return found

    fixed = vector(second)
    for layer, head in places:
        weight = model.encoder.layer[layer].attention.output.dense.weight
        weight.data[:, head * SIZE : (head + 1) * SIZE] = 0
    return float(torch.nn.functional.cosine_similarity(vector(text), fixed, dim=0))


@pytest.mark.slow
def test_the_map_has_the_effects_of_a_model_without_each_head() -> None:
    at = shown()
    assert views(at) == ["One head at a time", "Several heads", "Patch", "Many sentences"]
    values = cells(at, "causes_effects")
    assert values.shape == (LAYERS, 3 * (HEADS + 2) + 2)
    assert np.isnan(values[:, [HEADS + 2, 2 * HEADS + 5]]).all()
    clean = cosine_without()
    for layer, head in ((0, 4), (3, 0), (5, 3)):
        assert values[layer, head] == pytest.approx(cosine_without((layer, head)) - clean, abs=1e-5)
    layer, head = np.unravel_index(np.abs(values[:, :HEADS]).argmax(), (LAYERS, HEADS))
    assert f"Layer {layer}, head {head}:" in page_text(at)
    assert f"is **{decimals(clean, 3)}** with all heads" in page_text(at)
    assert f"taken away **{decimals(cosine_without((int(layer), int(head))), 3)}**" in page_text(at)
    zero, mean, gradient = (values[:, start : start + HEADS].ravel() for start in (0, HEADS + 3, 2 * HEADS + 6))
    matrix = np.corrcoef([zero, mean, gradient])
    said_of = (
        ("zero and mean", matrix[0, 1]),
        ("zero and gradient", matrix[0, 2]),
        ("mean and gradient", matrix[1, 2]),
    )
    for words, value in said_of:
        assert f"{words} **{decimals(float(value), 2)}**" in page_text(at)
    rows = at.dataframe[0].value
    assert len(rows) == LAYERS * (HEADS + 2)
    assert rows["taken away"].abs().is_monotonic_decreasing


@pytest.mark.slow
def test_rows_that_are_done_are_drawn_while_the_rest_runs(gate: Gate) -> None:
    partly, end = gate.pages(4, partial(shown, text="Rows that are done are drawn."))
    values = cells(partly, "causes_effects_so_far")
    assert "Rows that are not done yet are empty." in page_text(partly)
    known = ~np.isnan(values)
    assert known.any(axis=1).tolist() == [True] * 4 + [False] * 2
    assert not known[:, HEADS + 2 :].any()
    marks = [each for each in charts(partly)["causes_effects_so_far"]["layout"]["shapes"] if each["type"] == "rect"]
    assert [each["x0"] < HEADS for each in marks] == [True]
    np.testing.assert_array_equal(values[known], cells(end, "causes_effects")[known])
    assert "not done yet" not in page_text(end)
    assert not np.isnan(cells(end, "causes_effects")[:, :HEADS]).any()


@pytest.mark.slow
def test_sentences_that_are_done_are_averaged_while_the_rest_runs(gate: Gate) -> None:
    lines = ("It rained for days.", "She reads a book.", "Nobody called.")
    address = {"view": "Many sentences", "effect_list": "my own list"}
    partly, end = gate.pages(1, partial(shown, effect_sentences="\n".join(lines), **address))
    assert "Mean over the sentences that are done." in page_text(partly)
    alone = shown(effect_sentences="\n".join(lines[:2]), **address)
    first, whole = ([each["z"] for each in charts(at)["causes_spread"]["data"]] for at in (alone, end))
    seen = [each["z"] for each in charts(partly)["causes_spread_so_far"]["data"]]
    np.testing.assert_array_equal(seen[0], first[0])
    assert not np.array_equal(first[0], whole[0])


@pytest.mark.slow
def test_a_chosen_head_is_marked_told_and_linked() -> None:
    at = shown(changed_head="layer 2, head 7")
    assert at.selectbox(key="changed_head").value == "layer 2, head 7"
    marks = [each for each in charts(at)["causes_effects"]["layout"]["shapes"] if each["type"] == "rect"]
    assert [(each["x0"], each["y0"]) for each in marks] == [(start + 6.5, 1.5) for start in (0, 15, 30)]
    assert f"taken away **{decimals(cosine_without((2, 7)), 3)}**" in page_text(at)
    (link,) = [each.proto for each in at.get("bidi_component") if each.proto.id.endswith("-causes_attention")]
    assert "attention?layer=2&head=7" in link.json
    other = shown(changed_head="layer 9, head 1")
    assert other.selectbox(key="changed_head").value == ""


@pytest.mark.slow
def test_removing_a_head_is_told_of_every_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_heads(tmp_path / "heads")
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(folder))
    at = shown(model="classes", target="class", measure="probability", changed_head="layer 1, head 0")
    tokenizer = AutoTokenizer.from_pretrained(folder / "classes")
    model = AutoModelForSequenceClassification.from_pretrained(folder / "classes").eval()
    inputs = tokenizer(TEXT, return_tensors="pt")
    size = model.config.hidden_size // model.config.num_attention_heads
    frame = next(each.value for each in at.dataframe if "class" in each.value.columns)
    assert list(frame["class"]) == list(NAMES)
    with torch.no_grad():
        clean = model(**inputs).logits[0].softmax(-1)
        model.bert.encoder.layer[1].attention.output.dense.weight.data[:, :size] = 0
        without = model(**inputs).logits[0].softmax(-1)
    np.testing.assert_allclose(frame["probability with all heads"], clean, atol=1e-5)
    np.testing.assert_allclose(frame["probability without this head"], without, atol=1e-5)
    best = int(clean.argmax())
    effect = cells(at, "causes_effects")[1, 0]
    assert effect == pytest.approx(float(without[best] - clean[best]), abs=1e-5)


@pytest.mark.slow
def test_heads_removed_together_are_beside_the_sum_of_single_effects() -> None:
    at = shown(view="Several heads", count="3")
    line = next(each for each in charts(at)["causes_removal"]["data"] if each.get("name") == "greedy")
    frame = at.dataframe[0].value
    places = [(int(layer), int(head)) for layer, head in zip(frame["layer"], frame["head"], strict=True)]
    clean = cosine_without()
    values = [cosine_without(*places[:count]) for count in range(4)]
    np.testing.assert_allclose(line["y"], values, atol=1e-5)
    assert metrics(at)["Joint effect"].lstrip("+") == decimals(values[-1] - clean)
    alone = [cosine_without(place) - clean for place in places]
    np.testing.assert_allclose(frame["effect alone"], alone, atol=1e-5)
    assert metrics(at)["Sum of single effects"].lstrip("+") == decimals(float(frame["effect alone"].sum()))


@pytest.mark.slow
def test_chosen_heads_are_removed_together_and_at_their_means() -> None:
    at = shown(view="Several heads", which="my choice")
    assert "Choose the heads to remove above. Until then" in at.info[0].value
    at.multiselect(key="removed_heads").set_value(["layer 0, head 1", "layer 5, head 3"]).run()
    expected = cosine_without((0, 1), (5, 3)) - cosine_without()
    assert metrics(at)["Joint effect"].lstrip("+") == decimals(expected)
    assert "with nothing in their place" in page_text(at)
    mean = shown(view="Several heads", which="my choice", removed_for="its mean")
    mean.multiselect(key="removed_heads").set_value(["layer 0, head 1", "layer 5, head 3"]).run()
    assert metrics(mean)["Joint effect"] != metrics(at)["Joint effect"]
    assert "at their means" in page_text(mean)


@pytest.mark.slow
def test_patches_of_two_texts_are_shares_between_their_numbers() -> None:
    at = shown(view="Patch")
    values = cells(at, "causes_states")
    assert values.shape == (LAYERS, 8)
    same = [0, 1, 2, 5, 6, 7]
    np.testing.assert_allclose(values[0, same], 0, atol=1e-5)  # below the first layer only two tokens differ
    assert "3 **my** / **coding**, 4 **pet** / **in**." in page_text(at)
    assert f"is **{decimals(cosine_without())}** for the text and **1.0000** for the second one." in page_text(at)
    layer, place = np.unravel_index(np.abs(values).argmax(), values.shape)
    assert f"the state of token {place} (pet) that goes into layer {layer} brings back" in page_text(at)
    assert cells(shown(view="Patch", patched="heads"), "causes_heads").shape == (LAYERS, HEADS)


@pytest.mark.slow
def test_a_patch_has_an_example_of_as_many_tokens_where_the_second_text_has_others() -> None:
    assert not shown(pair="A river.").error
    at = shown(view="Patch", pair="A river.")
    assert not at.error
    assert "Example: second text “I love my pet river.”" in page_text(at).replace("**", "")
    assert "yours has 5 where the text has 8" in page_text(at)
    assert at.session_state["pair"] == "A river."
    same = shown(view="Patch", pair="I love my pet river.")
    np.testing.assert_array_equal(cells(at, "causes_states"), cells(same, "causes_states"))
    assert "Example" not in page_text(same)


@pytest.mark.slow
def test_a_patch_of_texts_that_the_target_does_not_tell_apart_offers_another_one() -> None:
    at = shown(view="Patch", pair=TEXT)
    assert not at.error
    assert "there is no difference that a patch could bring back" in visible_text(at.info[0].value)
    at.button(key="put_example").click().run()
    assert not at.info
    assert cells(at, "causes_states").shape == (LAYERS, 8)


@pytest.mark.slow
def test_a_gradient_that_needs_too_much_memory_is_told_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_MAX_GRADIENT_BYTES", "1000000")
    at = shown(text="One more python, please.")
    assert cells(at, "causes_effects").shape == (LAYERS, 2 * (HEADS + 2) + 1)
    assert "so it is left out" in at.warning[0].value
    several = shown(text="One more python, please.", view="Several heads", count="2")
    assert "The order by gradients is left out" in page_text(several)


def test_a_model_without_heads_to_change_is_refused_in_a_sentence(models_dir: Path) -> None:
    save_tiny("fnet", models_dir / "fnet")
    at = shown(model="fnet", pair=SECOND_TEXT)
    assert "no attention heads whose output could be changed" in visible_text(at.error[0].value)


def test_a_word_is_a_target() -> None:
    at = shown(model=SPLADE, target="word", text="The capital of France is [MASK].", target_word="paris")
    folder = resolve(SPLADE, settings()).folder
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).eval()
    (paris,) = tokenizer("paris", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        log_p = model(**tokenizer("The capital of France is [MASK].", return_tensors="pt")).logits[0].log_softmax(-1)
    assert f"is **{decimals(float(log_p[6, paris]), 3)}** with all heads" in page_text(at)
    assert "target_word" not in at.query_params


@pytest.mark.slow
def test_effects_over_many_sentences_are_mean_and_deviation_of_single_ones() -> None:
    sentences = ("I love my pet python.", "The bank lends money.", "Rain fell all night.")
    at = shown(view="Many sentences", effect_list="my own list", effect_sentences="\n".join(sentences))
    mean, deviation = (
        np.array(each["z"], dtype=float) for each in charts(at)["causes_spread"]["data"] if each["type"] == "heatmap"
    )
    assert mean.shape == deviation.shape == (LAYERS, HEADS)
    clean = [cosine_without(text=text) for text in sentences]
    for place in ((0, 4), (5, 3)):
        effects = [cosine_without(place, text=text) - one for text, one in zip(sentences, clean, strict=True)]
        assert mean[place] == pytest.approx(np.mean(effects), abs=1e-5)
        assert deviation[place] == pytest.approx(np.std(effects, ddof=1), abs=1e-5)
    assert f"**{decimals(float(np.mean(clean)))}** on average" in page_text(at)
    assert f"from {decimals(min(clean))} to {decimals(max(clean))}" in page_text(at)
    assert f"For **{int((np.abs(mean) > deviation).sum())}** of 72 heads" in page_text(at)
    frame = at.dataframe[0].value
    assert len(frame) == LAYERS * HEADS
    assert frame["mean effect"].abs().is_monotonic_decreasing
    assert "needs labelled sentences" in page_text(at)
    assert "effect_sentences" not in at.query_params


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", "Write at least two sentences"),
        ("One sentence.", "has one text, which has no spread"),
        ("\n".join(f"Sentence {place}." for place in range(101)), "has 101 sentences; at most 100"),
    ],
)
def test_a_list_that_has_no_spread_or_is_too_long_is_told(typed: str, words: str) -> None:
    at = shown(view="Many sentences", effect_list="my own list", **({"effect_sentences": typed} if typed else {}))
    assert words in " ".join(visible_text(each.value) for each in (*at.info, *at.error))
    assert not charts(at)


@pytest.mark.slow
def test_right_answers_are_those_of_a_model_without_the_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_heads(tmp_path / "heads")
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(folder))
    labels, sentences = (NAMES[0], NAMES[1], NAMES[2], NAMES[1]), ("the bank", "my pet", "river bank python", "i love")
    lines = [f"{text}\t{label}" for text, label in zip(sentences, labels, strict=True)]
    address = {"effect_list": "my own list", "target": "class", "count": "2", "causes_accuracy_table": "true"}
    at = shown(model="classes", view="Many sentences", effect_sentences="\n".join([*lines, "no label"]), **address)
    greedy = next(each for each in charts(at)["causes_accuracy"]["data"] if each.get("name") == "greedy")
    frame = next(each.value for each in at.dataframe if "head of greedy" in each.value.columns)
    tokenizer = AutoTokenizer.from_pretrained(folder / "classes")
    model = AutoModelForSequenceClassification.from_pretrained(folder / "classes").eval()
    size = model.config.hidden_size // model.config.num_attention_heads
    shares = []
    for name in frame["head of greedy"]:
        if name:
            layer, head = (int(word.split()[-1]) for word in name.split(", "))
            weight = model.bert.encoder.layer[layer].attention.output.dense.weight
            weight.data[:, head * size : (head + 1) * size] = 0
        with torch.no_grad():
            best = [int(model(**tokenizer(text, return_tensors="pt")).logits[0].argmax()) for text in sentences]
        shares.append(np.mean([NAMES[place] == label for place, label in zip(best, labels, strict=True)]))
    assert len(shares) == 3
    np.testing.assert_allclose(greedy["y"], shares, atol=1e-6)
    assert "right answers to 4 labelled texts" in str(charts(at)["causes_accuracy"]["layout"]["title"])


@pytest.mark.slow
def test_right_answers_of_a_probe_are_those_of_its_weights_on_pooled_states() -> None:
    weight = np.random.default_rng(0).normal(size=(2, 384)).astype(np.float32)
    source = resolve(DEFAULT_MODEL, settings())
    probe = Probe(
        DEFAULT_MODEL,
        source.revision,
        "mean",
        6,
        ("no", "yes"),
        weight,
        np.zeros(2, np.float32),
        "mine",
        4,
        0,
        0.5,
        0.1,
    )
    sentences = ("The bank raised its rates.", "My pet is asleep.", "It rained all night.", "We won the match.")
    at = AppTest.from_file(str(SHELL), default_timeout=120)
    at.switch_page("../pages/causes.py")
    at.session_state[TRAINED_PROBE] = probe
    lines = [f"{text}\t{label}" for text, label in zip(sentences, ("no", "yes", "no", "yes"), strict=True)]
    address = {"view": "Many sentences", "target": "probe", "effect_list": "my own list", "count": "1"}
    at.query_params.update({**address, "effect_sentences": "\n".join(lines)})
    at.run()
    assert not at.exception
    assert not at.error
    tokenizer, model = AutoTokenizer.from_pretrained(source.folder), AutoModel.from_pretrained(source.folder).eval()
    answers = []
    for text in sentences:
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        answers.append(("no", "yes")[int((weight @ states.mean(dim=0).numpy()).argmax())])
    right = np.mean([answer == label for answer, label in zip(answers, ("no", "yes", "no", "yes"), strict=True)])
    for curve in charts(at)["causes_accuracy"]["data"]:
        if curve.get("name"):
            assert curve["y"][0] == pytest.approx(right)
