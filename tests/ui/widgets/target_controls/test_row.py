"""The choice of a target: kinds that a model offers and lacks, and the opened target is the chosen one.

Covers `ui/widgets/target_controls.py`, `ui/widgets/target_controls.py`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

from bertviz_core.models.catalog import SPLADE
from bertviz_core.models.sources import resolve
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.trace.run import trace
from tests.pages.labels import CONTEXT, NAMES, QUESTION, TAGS, TEXT, save_heads
from tests.pages.opened import visible_text
from ui import session
from ui.cache import models


@pytest.fixture(scope="module")
def head_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models with every head."""
    return save_heads(tmp_path_factory.mktemp("heads"))


@pytest.fixture(autouse=True)
def saved_heads(head_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use them as models of the test's dashboard, without a network."""
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(head_folder))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")


def target_page(name: str, alone: bool) -> None:
    import streamlit as st

    from bertviz_core.interventions.runs import InterventionRuns
    from bertviz_core.questions.interventions.targets import target as target_of
    from ui.widgets.run_model import shown_to_user
    from ui.widgets.target_controls import folded_row, shared_model_of, target_options, target_row

    with shown_to_user():
        chosen = target_row(name, folded_row(), alone)
        target = target_of(shared_model_of(name), target_options(chosen)).result
        st.text(target.title)
        st.text(target.unit)
        st.text(repr(InterventionRuns(target).clean))


def named_page() -> None:
    import streamlit as st

    from tests.ui.widgets.target_controls.test_row import target_page

    target_page(st.session_state["named"], False)


def chosen(
    name: str, text: str = TEXT, pair: str = "", alone: bool = False, probe: Any = None, **address: str
) -> AppTest:
    """Open the row on its own page, by an address."""
    at = AppTest.from_function(target_page, args=(name, alone), default_timeout=60)
    at.session_state["text"], at.session_state["pair"] = text, pair
    if probe is not None:
        at.session_state[session.TRAINED_PROBE] = probe
    for key, value in address.items():
        at.query_params[key] = value
    at.run()
    assert not at.exception
    return at


def shown(at: AppTest) -> tuple[str, str, float]:
    """Title, unit and value of the opened target."""
    title, unit, clean = (each.value for each in at.text)
    return title, unit, float(clean)


def kinds(at: AppTest) -> list[str]:
    """The kinds offered by the row."""
    return [str(each.content) for each in at.get("button_group")[0].proto.options]


def logits(name: str, head_folder: Path, *texts: str) -> torch.Tensor:
    """Class logits of transformers' own run."""
    folder = head_folder / name
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        found: torch.Tensor = model(**tokenizer(*texts, return_tensors="pt")).logits[0]
    return found


def cosine(first: str, second: str) -> float:
    """The cosine of two texts' sentence vectors by the bundled model."""
    source = resolve(DEFAULT_MODEL, session.settings())
    plan = recommended(source, session.settings())
    base, tokenizer = models.loaded(DEFAULT_MODEL), models.tokenizer(DEFAULT_MODEL)
    one, other = sentence_vectors(base, tokenizer, [first, second], plan).vectors
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def test_without_a_second_text_the_cosine_is_to_an_example() -> None:
    at = chosen(DEFAULT_MODEL)
    assert not at.error
    (line,) = [visible_text(each.value) for each in at.markdown if "**Example:**" in each.value]
    assert f"second text “{session.SECOND_TEXT}”" in line
    assert kinds(at) == ["cosine", "state", "direction"]
    assert f"would need a task head: {DEFAULT_MODEL} has no head for it." in visible_text(
        at.get("button_group")[0].help
    )
    title, unit, value = shown(at)
    assert (at.session_state["text"], at.session_state["pair"]) == (TEXT, "")
    assert unit == "cosine"
    assert session.SECOND_TEXT in title
    assert value == pytest.approx(cosine(TEXT, session.SECOND_TEXT), abs=1e-5)


def test_the_cosine_is_to_the_second_text_of_the_sidebar() -> None:
    at = chosen(DEFAULT_MODEL, pair="The river is long.")
    assert shown(at)[2] == pytest.approx(cosine(TEXT, "The river is long."), abs=1e-5)
    assert "Target: **cosine to 'The river is long.'**" in visible_text(at.markdown[0].value)


def reasons(at: AppTest) -> list[str]:
    """The lines that say why a cosine is measured."""
    said = [visible_text(each.value) for each in (*at.markdown, *at.info, *at.caption)]
    return [each for each in said if "so what is measured is the cosine of two texts" in each]


@pytest.mark.parametrize("pair", ["", "The river is long."])
def test_a_cosine_in_place_of_an_answer_says_so_once(pair: str) -> None:
    (reason,) = reasons(chosen(DEFAULT_MODEL, pair=pair))
    assert f"{DEFAULT_MODEL} has no task head" in reason
    assert not reasons(chosen(DEFAULT_MODEL, pair=pair, target="state"))
    assert not reasons(chosen("classes", pair=pair, target="cosine")), "chosen by the reader"


@pytest.mark.parametrize(
    ("name", "text", "pair", "kind"),
    [
        ("classes", TEXT, "", "logit of '"),
        ("classes", TEXT, CONTEXT, "logit of '"),
        ("tags", TEXT, CONTEXT, "logit of '"),
        ("words", TEXT, "", "log-probability of 'python' at token 5, which is not masked"),
        ("pretraining", TEXT, "", "log-probability of 'python' at token 5, which is not masked"),
        ("answers", QUESTION, CONTEXT, "start + end logit of '"),
    ],
)
def test_the_first_number_is_what_the_model_answers(name: str, text: str, pair: str, kind: str) -> None:
    at = chosen(name, text, pair)
    assert not at.error
    assert shown(at)[0].startswith(kind)
    assert kinds(at)[0] != "cosine"
    assert not [each for each in at.caption if "probe" in each.value]


def test_another_model_begins_with_its_own_answer() -> None:
    at = AppTest.from_function(named_page, default_timeout=60)
    at.session_state["text"], at.session_state["pair"], at.session_state["named"] = TEXT, CONTEXT, DEFAULT_MODEL
    at.run()
    assert shown(at)[1] == "cosine"
    at.session_state["named"] = "classes"
    at.run()
    assert shown(at)[1] == "logit"
    at.segmented_control(key="target").set_value("state").run()
    at.session_state["named"] = "tags"
    at.run()
    assert shown(at)[1] == "(no unit)"


def test_a_tag_is_read_at_its_token(head_folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(head_folder / "tags")
    model = AutoModelForTokenClassification.from_pretrained(head_folder / "tags").eval()
    with torch.no_grad():
        own = model(**tokenizer(TEXT, return_tensors="pt")).logits[0]
    best = int(own[3].argmax())
    assert shown(chosen("tags", target_at="3"))[2] == pytest.approx(float(own[3, best]), abs=1e-5)
    title, unit, share = shown(chosen("tags", target_at="3", target_class="B-LOC", measure="probability"))
    assert (title, unit) == ("probability of 'B-LOC' at token 3", "probability")
    assert share == pytest.approx(float(own[3].softmax(-1)[TAGS.index("B-LOC")]), abs=1e-5)
    shares = own[1:-1].softmax(-1)[:, 1:]
    inside = [place for place in range(len(shares)) if int(own[place + 1].argmax()) > 0]
    surest = max(inside, key=lambda place: float(shares[place].max()))
    assert f"at token {surest + 1}" in shown(chosen("tags"))[0]


def test_a_class_is_read_as_its_logit_its_probability_or_its_margin(head_folder: Path) -> None:
    own = logits("classes", head_folder, TEXT)
    best = int(own.argmax())
    assert kinds(chosen("classes")) == ["class", "cosine", "state", "direction"]
    title, unit, value = shown(chosen("classes", target="class"))
    assert (title, unit) == (f"logit of '{NAMES[best]}'", "logit")
    assert value == pytest.approx(float(own[best]), abs=1e-5)
    for place, label in enumerate(NAMES):
        share = shown(chosen("classes", target="class", target_class=label, measure="probability"))[2]
        assert share == pytest.approx(float(own.softmax(-1)[place]), abs=1e-5)
        lead = shown(chosen("classes", target="class", target_class=label, measure="margin"))[2]
        others = [float(each) for other, each in enumerate(own) if other != place]
        assert lead == pytest.approx(float(own[place]) - max(others), abs=1e-5)


def test_a_head_reads_the_pair_unless_the_text_stands_alone(head_folder: Path) -> None:
    both, one = logits("classes", head_folder, TEXT, CONTEXT), logits("classes", head_folder, TEXT)
    address = {"target": "class", "target_class": NAMES[1]}
    assert shown(chosen("classes", pair=CONTEXT, **address))[2] == pytest.approx(float(both[1]), abs=1e-5)
    assert shown(chosen("classes", pair=CONTEXT, alone=True, **address))[2] == pytest.approx(float(one[1]), abs=1e-5)


def test_a_number_has_neither_probability_nor_margin() -> None:
    at = chosen("number", target="class")
    assert [str(each.content) for each in at.get("button_group")[1].proto.options] == ["logit"]


@pytest.mark.slow
def test_a_word_is_the_texts_own_or_the_readers() -> None:
    folder = resolve(SPLADE, session.settings()).folder
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).eval()
    inputs = tokenizer("The capital of France is [MASK].", return_tensors="pt")
    with torch.no_grad():
        log_p = model(**inputs).logits[0].log_softmax(dim=-1)
    masked = chosen(SPLADE, text="The capital of France is [MASK].", target="word")
    assert shown(masked)[1:] == ("nats", pytest.approx(float(log_p[6].max()), abs=1e-4))
    masked.text_input(key="target_word").set_value("paris").run()
    (paris,) = tokenizer("paris", add_special_tokens=False)["input_ids"]
    assert shown(masked)[2] == pytest.approx(float(log_p[6, paris]), abs=1e-4)
    own = chosen(SPLADE, text="The capital of France is [MASK].", target="word", target_at="2")
    assert shown(own)[2] == pytest.approx(float(log_p[2, inputs["input_ids"][0, 2]]), abs=1e-4)


def test_a_number_of_a_hidden_state_is_the_models_own() -> None:
    at = chosen(DEFAULT_MODEL, target="state", target_layer="after layer 3", target_at="2", target_dimension="99")
    states = trace(models.loaded(DEFAULT_MODEL), models.tokens(DEFAULT_MODEL, TEXT, None)).hidden_states
    title = "value of dimension 99 of token 2, after layer 3"
    assert shown(at) == (title, "(no unit)", pytest.approx(float(states[4][2, 99]), abs=1e-5))
    at.number_input(key="target_dimension").set_value(384).run()
    assert "There is no dimension 384; here are dimensions 0 to 383" in visible_text(at.error[0].value)


@pytest.mark.parametrize(
    ("name", "words"), [("answers", "its answer is looked for"), ("pretraining", "needs two texts")]
)
def test_what_needs_a_second_text_reads_an_example(name: str, words: str) -> None:
    kind = "answer" if name == "answers" else "class"
    at = chosen(name, target=kind)
    (line,) = [visible_text(each.value) for each in at.markdown if "**Example:**" in each.value]
    assert words in line
    assert not at.error
    assert not chosen(name, text=QUESTION, pair=CONTEXT, target=kind).error
    assert kind not in kinds(chosen(name, pair=CONTEXT, alone=True))


def test_a_probe_of_the_session_is_a_target_on_its_own_model() -> None:
    source = resolve(DEFAULT_MODEL, session.settings())
    weight = np.random.default_rng(0).normal(size=(2, 384)).astype(np.float32)
    facts = {"texts": "mine", "count": 4, "accuracy": 0.5, "spread": 0.1, "seed": 0}
    probe = Probe(
        model=DEFAULT_MODEL,
        revision=source.revision,
        pooling="mean",
        layer=6,
        classes=("no", "yes"),
        weight=weight,
        bias=np.array([0.5, -0.5], dtype=np.float32),
        **facts,
    )
    at = chosen(DEFAULT_MODEL, probe=probe, target="probe", target_class="yes")
    assert kinds(at) == ["cosine", "probe", "state", "direction"]
    base = models.loaded(DEFAULT_MODEL)
    with torch.no_grad():
        inputs = AutoTokenizer.from_pretrained(source.folder)(TEXT, return_tensors="pt")
        mean = base.model(**inputs.to(base.device)).last_hidden_state[0].mean(0).cpu().numpy()
    assert shown(at)[2] == pytest.approx(float(weight[1] @ mean - 0.5), abs=1e-4)
    assert kinds(chosen(SPLADE, probe=probe)) == ["word", "cosine", "state", "direction"]


def test_a_target_that_the_model_lacks_falls_back_to_one_that_it_has() -> None:
    at = chosen(DEFAULT_MODEL, pair=CONTEXT, target="class", measure="odd")
    assert shown(at)[1] == "cosine"
