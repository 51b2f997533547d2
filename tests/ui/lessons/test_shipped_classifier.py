"""The guide for a classifier that is wrong: it fits every classifier and file, and names controls that exist."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from cleanlab.filter import find_label_issues
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.models.catalog import EXAMPLE_RUN, OFFERED, TEXTS_FILE
from tests.ui.lessons.shipped import lesson, numbers
from tests.ui.lessons.test_shipped_training import LABELS, classifier, good, logits, rows
from ui.lessons.tour import ORDER, WRONG

STEPS = lesson(WRONG).steps
FILES = ("texts_from", "labelled", "answers_from")
"""Names of the controls that choose a file."""
ROOT = Path(__file__).parents[3]
NAMED = (
    "Open in {title}", '"Texts"', "Include the text", "Compare with", '"Texts by"', "Show in Journey", '"Report"',
)  # fmt: skip
"""Labels of controls that the notes name, as the source of the dashboard has them."""


def seen_by(model: str = "", text: str = "") -> tuple[list[dict[str, str]], list[str | None]]:
    """Queries and texts of all steps for a reader with this model and text."""

    def page() -> None:
        import streamlit as st

        from tests.ui.lessons.shipped import lesson
        from ui.lessons.tour import WRONG, Place

        views = [Place(lesson(WRONG), number).view for number in range(len(lesson(WRONG).steps))]
        st.session_state["seen"] = (
            [{key: ",".join(value) for key, value in each.query.items()} for each in views],
            [each.text for each in views],
        )

    at = AppTest.from_function(page, default_timeout=60)
    if model:
        at.query_params["model"] = model
    if text:
        at.session_state["text"] = text
    at.run()
    assert not at.exception
    seen: tuple[list[dict[str, str]], list[str | None]] = at.session_state["seen"]
    return seen


def test_it_keeps_the_readers_model_text_and_target() -> None:
    keeps = lesson(WRONG).keeps
    assert keeps == ("model", "other", "answered_by", "target", "target_class", "training", *FILES)
    queries, texts = seen_by("my-classifier", "My own text.")
    assert not any(set(keeps) & set(query) for query in queries)
    assert set(texts) == {None}
    assert [query.get("view") for query in queries] == [each.query["view"][0] for each in STEPS]


def test_whoever_has_chosen_no_model_sees_the_example_at_every_step() -> None:
    for model in ("", OFFERED[0]):
        queries, texts = seen_by(model)
        assert {query["model"] for query in queries} == {OFFERED[0]}
        lists = [next((query[name] for name in FILES if name in query), "") for query in queries]
        assert lists == [*[TEXTS_FILE] * 3, "", "", TEXTS_FILE, TEXTS_FILE, ""]
        assert [bool(text) for text in texts] == [step.page in ("words", "causes") for step in STEPS]
    assert set(seen_by(OFFERED[0], "A text that was opened from its mistakes.")[1]) == {None}


def test_whoever_has_no_classifier_takes_the_example_at_each_step() -> None:
    assert [len(step.trials) for step in STEPS] == [1, 2, 1, 1, 1, 1, 1, 1]
    first, labels, sure, word, head, beside, run, shown = (step.trials[0].query for step in STEPS)
    assert word["model"] == head["model"] == shown["model"] == (OFFERED[0],)
    assert labels["labelled"] == sure["texts_from"] == (TEXTS_FILE,)
    assert (first["model"], first["texts_from"]) == ((OFFERED[0],), (TEXTS_FILE,))
    assert (beside["other"], beside["answers_from"]) == ((f"{EXAMPLE_RUN}/checkpoint-40",), (TEXTS_FILE,))
    assert (run["training"], run["answers_from"]) == ((EXAMPLE_RUN,), (TEXTS_FILE,))


def test_it_goes_from_the_file_to_the_link_for_a_colleague() -> None:
    pages = [*["predictions"] * 3, "words", "causes", "checkpoint", "checkpoint", "words"]
    assert [step.page for step in STEPS] == pages
    assert WRONG in ORDER


@pytest.mark.parametrize("label", NAMED)
def test_the_controls_that_it_names_exist(label: str) -> None:
    files = [*(ROOT / "ui").rglob("*.*"), *(ROOT / "bertviz_core" / "questions").rglob("*.py")]
    sources = [path.read_text(encoding="utf-8") for path in files if path.suffix in (".py", ".js")]
    assert any(label in source for source in sources)


def without_head(head: int, heads: int, module: torch.nn.Module, inputs: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
    """What the output projection reads, with zeros in the place of a head."""
    parts = inputs[0].unflatten(-1, (heads, -1)).clone()
    parts[..., head, :] = 0
    return (parts.flatten(-2),)


@pytest.mark.slow
def test_its_example_is_a_mistake_because_of_one_word() -> None:
    """Each word exchanged for the mask, by transformers and peft."""
    mistake = STEPS[3].trials[0].text
    assert mistake == STEPS[4].trials[0].text == STEPS[7].trials[0].text
    (row,) = (row for row in rows() if row["text"] == mistake)
    assert (row["label"], row["negation"]) == ("bad", "yes")
    asked = [mistake, *(mistake.replace(word, "[MASK]") for word in ("clean", "not"))]
    model = classifier(80)
    whole, *without = logits(model, asked)[:, 1].tolist()
    assert numbers(STEPS[3])[-2:] == [f"{abs(whole - each):.2f}" for each in without]
    assert without[0] < whole < without[1]
    by_head = []
    for layer in model.base_model.model.bert.encoder.layer:
        for head in range(heads := model.config.num_attention_heads):
            hook = layer.attention.output.dense.register_forward_pre_hook(partial(without_head, head, heads))
            by_head.append(logits(model, [mistake])[0, 1].item())
            hook.remove()
    layer, strongest = divmod(int(np.argmax(np.abs(np.array(by_head) - whole))), heads)
    most = by_head[layer * heads + strongest]
    assert abs(most - whole) < abs(whole) / 2, "the page says of such a head that it carries the answer"
    assert numbers(STEPS[4])[-4:] == [str(strongest), str(layer), f"{whole:.2f}", f"{most:.2f}"]


@pytest.mark.slow
def test_its_example_disagrees_with_right_labels_and_is_too_sure() -> None:
    """The probabilities are those of transformers and peft, the suspects cleanlab's."""
    texts, negated = [row["text"] for row in rows()], np.array([row["negation"] == "yes" for row in rows()])
    gold = np.array([LABELS.index(row["label"]) for row in rows()])
    both = {step: np.stack([1 - good(step, texts), good(step, texts)], axis=1) for step in (40, 80)}
    suspects = find_label_issues(gold, both[80], filter_by="confident_learning")
    probes = open_model("negations/checkpoint-80").label_errors(texts, [row["label"] for row in rows()])
    by_probes = find_label_issues(gold, probes.data.probabilities, filter_by="confident_learning")
    counts = [suspects.sum(), len(texts), (suspects & negated).sum(), by_probes.sum()]
    assert numbers(STEPS[1])[-4:] == [str(count) for count in counts]

    def of(step: int) -> tuple[float, float, float]:
        """Accuracy, mean confidence and expected calibration error over fifteen bins of equal width."""
        sure, right = both[step].max(axis=1), both[step].argmax(axis=1) == gold
        bins = np.clip((sure * 15).astype(int), 0, 14)
        gaps = [abs(right[bins == each].sum() - sure[bins == each].sum()) for each in range(15)]
        return right.mean(), sure.mean(), sum(gaps) / len(texts)

    (accuracy, confidence, error), (before, _, small) = of(80), of(40)
    said = [f"{accuracy:.1%}", f"{confidence:.1%}", f"{error:.3f}", "40", f"{before:.1%}", f"{small:.3f}"]
    assert numbers(STEPS[2])[-6:] == said
