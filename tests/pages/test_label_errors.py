"""The view Label errors: the numbers of the library, the links of a model with the classes, one sentence for bad lists.

Covers `bertviz_core/questions/views/labelled/label_errors.py`, `ui/views/predictions.py`.
"""

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.models.catalog import TEXTS_FILE
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.view import Cell
from bertviz_core.questions.views.labelled.label_errors import joint_parts, suspects_by_cell
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.two_tokenizers import opened_model
from tests.pages.opened import opened, visible_text
from tests.pages.snippets import chart, printed

CLASSES = {0: "neutral", 1: "good", 2: "bad"}
WORDS = ("I love my pet", "the river bank", "python", "my pets", "two rivers", "coding in python", "One bank.")
TEXTS = [f"{word} {place}" for place in range(3) for word in WORDS]
LABELS = [("good", "bad")[(place % len(WORDS) > 3) != (place in (2, 12))] for place in range(len(TEXTS))]
"""By the word but for two."""
LINES = "\n".join(f"{label}\t{text}" for label, text in zip(LABELS, TEXTS, strict=True))

MODEL = "negations/checkpoint-80"

pytestmark = pytest.mark.usefixtures("patience")


def page(models_dir: Path, **query: str) -> AppTest:
    save_tiny_head("bert", "sequence-classification", models_dir / "classes", num_labels=3, id2label=CLASSES)
    typed = {"labelled": "typed", "labelled_texts": LINES, **query}
    at = opened("predictions", model="classes", view="Label errors", **typed)
    assert not at.exception
    return at


def test_the_button_names_the_file_whose_texts_are_shown() -> None:
    """Also where another model brings other texts, and with the first look at a file."""
    at = opened("predictions", model=MODEL, view="Label errors")

    def named(key: str) -> str:
        (button,) = [each for each in at.get("popover") if key in each.proto.id]
        return visible_text(button.proto.popover.label)

    assert named("labelled_box") == f"Texts: {TEXTS_FILE}"
    at.selectbox(key="model").set_value("all-MiniLM-L6-v2").run()
    assert named("labelled_box") == "Texts"
    lines = "".join(f"{label},{text}\n" for label, text in zip(LABELS, TEXTS, strict=True))
    at.segmented_control(key="labelled").set_value("file").run()
    at.file_uploader(key="labelled_upload").upload("mine.csv", f"label,text\n{lines}".encode(), "text/csv").run()
    assert named("labelled_box") == "Texts: mine.csv"
    assert not at.exception


def links(at: AppTest) -> list[str]:
    """What the links of the open suspect hold."""
    found = [
        each.proto for each in at.get("bidi_component") if each.proto.id.endswith("-predictions_label_errors_open")
    ]
    return [each.json for each in found]


@pytest.mark.parametrize("source", ["probe", "head"])
def test_the_view_shows_the_numbers_of_the_library(models_dir: Path, source: str) -> None:
    at = page(
        models_dir, probabilities_from=source, suspects_by="noise rate", predictions_label_errors_explained="true"
    )
    assert not at.error
    result = open_model(models_dir / "classes").label_errors(
        TEXTS, LABELS, probabilities_from=source, suspects_by="noise rate"
    )
    suspects, data = result.to_pandas(), result.data
    assert len(suspects)
    (cells,) = [trace for trace in chart(at, "predictions_label_errors") if trace["type"] == "heatmap"]
    np.testing.assert_array_equal(np.array(cells["z"]).reshape(data.joint.counts.shape), data.joint.counts)
    (edited,) = [each.value for each in at.dataframe if "decision" in each.value] or [None]
    if edited is not None:
        assert edited["text"].tolist() == suspects["text"].tolist()
    words = " ".join(visible_text(each.value) for each in at.markdown)
    own = [data.probabilities[data.gold == place, place] for place in range(len(data.classes))]
    thresholds = np.array([of.mean() if len(of) else np.inf for of in own])
    assert data.uncounted == int((data.probabilities < thresholds - 1e-6).all(axis=1).sum())
    asked = {"probe": "probe", "head": "task head"}[source]
    assert (
        f"{len(suspects)} of 21 labels of 'The list' are suspect; by the {asked}, confident learning estimates "
        f"{result.estimated} (" in words
    )
    assert f"row {suspects['row'][0]}: given **{suspects['given'][0]}**" in words
    neighbours = next(each.value for each in at.dataframe if list(each.value)[:2] == ["label", "cosine"])
    near = data.neighbours[0][data.neighbours[0] >= 0]
    assert neighbours["text"].tolist() == [TEXTS[place] for place in near]
    assert any("target_class" in each for each in links(at))
    values = printed(at.code[-1].value)
    np.testing.assert_array_equal(values[0], data.suspects)


def test_a_part_of_the_suspects_is_that_of_a_cell_and_leaves_all_decisions_in_the_file(models_dir: Path) -> None:
    at = page(models_dir, suspects_by="noise rate")
    result = open_model(models_dir / "classes").label_errors(TEXTS, LABELS, suspects_by="noise rate")
    every, data = result.to_pandas(), result.data
    part = at.selectbox(key="suspects_shown")
    assert part.value == "all"
    cells = {f"{data.gold[place]}.{likely}" for place, likely in zip(data.suspects, data.suggested, strict=True)}
    assert len(cells) == len(part.options) - 1 >= 2
    given, likely = chosen = max(cells).split(".")
    part.set_value(".".join(chosen)).run()
    assert not at.error
    names = [data.classes[int(each)] for each in (given, likely)]
    own = every[(every["given"] == names[0]) & (every["suggested"] == names[1])]
    words = " ".join(visible_text(each.value) for each in at.markdown)
    assert f"row {own['row'].iloc[0]}: given **{names[0]}**" in words
    assert f"suggested **{names[1]}**" in words
    fields = [field.max for field in at.number_input if field.key == "suspect_opened"]
    assert fields == [len(own)]
    assert len(own) < len(every)
    parts = suspects_by_cell(data)
    assert (parts["all"], sum(map(len, parts.values()))) == (list(range(len(every))), 2 * len(every))
    # A click on a cell chooses its part, one on a cell without suspects all.
    answer = Answer(data, drawn={"label_errors": data})
    figure, *_ = joint_parts(opened_model(models_dir / "classes"), answer, Options())
    (cell,) = [each for each in figure.below if isinstance(each, Cell)]
    assert (cell.value(int(given), int(likely)), cell.value(0, 0)) == (".".join(chosen), "all")


def test_a_model_without_the_classes_has_no_link_and_no_choice_of_probabilities(models_dir: Path) -> None:
    at = page(models_dir, labelled_texts=LINES.replace("bad", "awful"))
    assert not at.error
    assert links(at) == []
    assert not [each for each in at.button_group if each.label == "Probabilities of"]


def test_calibration_begins_with_the_head_unless_the_reader_chose_a_probe() -> None:
    def source(at: AppTest) -> str:
        assert not at.error
        return str(next(each.value for each in at.button_group if each.label == "Probabilities of"))

    def shown(at: AppTest, view: str) -> AppTest:
        at.query_params["view"] = view
        return at.run()

    at = opened("predictions", model=MODEL, view="Label errors")
    assert source(at) == "probe"
    assert source(shown(at, "Calibration")) == "head"
    at.button_group(key="probabilities_from").set_value("probe").run()
    assert any("+ probe (not the model's head) is" in visible_text(each.value) for each in at.markdown)
    (drawn,) = [each.figure for each in sent_charts(at) if each.key == "predictions_calibration"]
    assert " of a probe, not of the model's head, on 80" in str(drawn["layout"]["title"])
    for view in ("Label errors", "Calibration"):
        assert source(shown(at, view)) == "probe"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("a\tone\na\ttwo", "has one class, 'a'"),
        ("a\tone\nb\ttwo", "has a single text, such as 'a'"),
        ("a\tone\ntwo", "is no label and text"),
    ],
)
def test_a_list_that_cannot_be_checked_is_one_sentence(models_dir: Path, lines: str, message: str) -> None:
    at = page(models_dir, labelled_texts=lines)
    assert message in " ".join(visible_text(each.value) for each in at.error)


def test_the_first_list_is_that_whose_labels_are_the_classes_of_the_head(models_dir: Path) -> None:
    save_tiny_head("bert", "sequence-classification", models_dir / "classes", num_labels=3, id2label=CLASSES)
    at = opened("predictions", model="classes", view="Label errors")
    assert not at.exception
    assert at.session_state["labelled"] == TEXTS_FILE
    assert "80 labels" in " ".join(visible_text(each.value) for each in at.markdown)


def test_the_file_of_one_view_is_offered_by_another_and_nothing_of_it_is_lost(models_dir: Path) -> None:
    save_tiny_head("bert", "sequence-classification", models_dir / "classes", num_labels=3, id2label=CLASSES)
    rows = "\n".join(f"{text},{label}" for text, label in zip(TEXTS, LABELS, strict=True))
    at = opened("predictions", model="classes", view="Several texts", texts_from="file")
    at.file_uploader(key="many_upload").upload("own.csv", f"text,label\n{rows}\n".encode(), "text/csv").run()
    assert not [each for each in at.button if each.key == "many_file_offered"], "it is shown"
    at.session_state["view"] = "Label errors"
    at.query_params["view"] = "Label errors"
    at.run()
    (offered,) = [each for each in at.button if each.key == "labelled_file_offered"]
    assert visible_text(offered.label) == "Use own.csv"
    offered.click().run()
    assert at.query_params["labelled"] == "file"
    words = " ".join(visible_text(each.value) for each in at.markdown)
    assert "of 21 labels of 'own.csv'" in words
    assert not [each for each in at.button if each.key == "labelled_file_offered"]


def test_a_labelled_list_typed_in_several_texts_is_there_too(models_dir: Path) -> None:
    save_tiny_head("bert", "sequence-classification", models_dir / "classes", num_labels=3, id2label=CLASSES)
    at = opened("predictions", model="classes", view="Several texts")
    at.text_area(key="many_texts").set_value(LINES).run()
    at.query_params["view"], at.query_params["labelled"] = "Label errors", "typed"
    at.run()
    assert not at.error
    assert at.text_area(key="labelled_texts").value == LINES
    assert any("of 21 labels of" in visible_text(each.value) for each in at.markdown)
    at.text_area(key="labelled_texts").set_value(LINES.replace("python 0", "snake 0")).run()
    assert "snake 0" in at.text_area(key="labelled_texts").value  # what was changed here stays
