"""The page Journey: the message for its drawing, for every state in an address, and refusals.

Covers `bertviz_core/questions/views/journey.py`, `ui/views/journey.py` and `ui/components/journey/__init__.py`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.questions.views.journey import PURPOSE
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened, page_text, visible_text
from ui.session import DEFAULT_TEXT, SECOND_TEXT
from ui.widgets import run_model
from ui.widgets import run_model as answers


def header(at: AppTest) -> Any:
    """The header of the message for the drawing."""
    assert not at.exception
    (view,) = [each for each in at.get("bidi_component") if each.proto.component_name == "journey_view"]
    length = int.from_bytes(view.proto.bytes[:4], "little")
    return json.loads(view.proto.bytes[4 : 4 + length])


def test_the_drawing_begins_closed_at_the_longest_word_with_its_numbers_in_a_table() -> None:
    at = opened("journey", journey_table="true")
    sent = header(at)
    assert sent["labels"][sent["path"]["token"]] == "python"
    assert sent["path"]["open"] == ""
    assert sent["parts"] == []
    (frame,) = at.dataframe
    assert frame.value["turn"].tolist()[5] == pytest.approx(0.3557, abs=1e-4)
    assert frame.value.loc[0, "strongest key"] == "4 pet"  # head 2 looks one token back
    assert frame.value.loc[0, "strongest head"] == 2
    assert len(sent["stages"]) == 8


def test_heads_of_an_open_layer_and_the_next_layer_are_sent_before_they_are_opened() -> None:
    sent = [each.proto.bytes for each in opened("journey", layer="4").get("bidi_component") if "parts" in name_of(each)]
    headers = [json.loads(each[4 : 4 + int.from_bytes(each[:4], "little")]) for each in sent]
    kinds = [[(part["kind"], part["layer"]) for part in each["parts"]] for each in headers]
    assert kinds == [[("head", 4)] * 12, [("layer", 5), *[("head", 5)] * 12]]
    (last,) = [each for each in opened("journey", layer="5").get("bidi_component") if "next" in each.proto.id]
    assert json.loads(last.proto.bytes[4 : 4 + int.from_bytes(last.proto.bytes[:4], "little")])["parts"] == []


def name_of(component: Any) -> str:
    return str(component.proto.component_name)


def edit(at: AppTest, text: str) -> None:
    (field,) = [each for each in at.text_area if each.label == "The edited text"]
    field.set_value(text)
    (button,) = [each for each in at.button if each.label == "Compare"]
    button.click().run()


def edited_texts(at: AppTest) -> list[str]:
    return [each.value for each in at.text_area if each.label == "The edited text"]


def test_what_was_typed_for_a_replaced_text_is_no_edit_of_the_new_one() -> None:
    at = opened("journey")
    (field,) = [each for each in at.text_area if each.label == "The edited text"]
    field.set_value("Cats bark loudly.")
    at.text_area(key="text").set_value("Dogs bark loudly.").run()
    assert header(at)["change"] is None
    assert header(at)["text"] == "Dogs bark loudly."
    assert edited_texts(at) == ["Dogs bark loudly."]
    edit(at, "Cats bark loudly.")
    assert header(at)["change"]["sentence"].startswith("The text is edited: “Dogs” → “Cats”")
    assert edited_texts(at) == ["Cats bark loudly."]


def test_the_table_has_the_strongest_key_before_and_after_a_change() -> None:
    masked = open_model("all-MiniLM-L6-v2").trace("I love my [MASK] python.")
    (frame,) = opened("journey", journey_table="true", change="mask-4").dataframe
    for layer in range(6):
        row = masked.attention(layer)[:, 5]
        head, key = np.unravel_index(row.argmax(), row.shape)
        assert frame.value.loc[layer, "strongest head after"] == head
        assert frame.value.loc[layer, "strongest key after"].startswith(f"{key} ")
    assert frame.value.loc[0, "strongest key before"] == "4 pet"
    (frame,) = opened("journey", journey_table="true", change="layer-1").dataframe
    assert frame.value["strongest head after"].isna().tolist() == [False, True, False, False, False, False]
    (frame,) = opened(
        "journey", journey_table="true", change="text", edited="I love my red python.", query="5"
    ).dataframe
    assert frame.value.loc[0, "strongest key after"] == "4 red"
    assert "strongest key before" not in frame.value


def test_an_address_opens_a_head_at_its_strongest_key() -> None:
    sent = header(opened("journey", layer="3", head="5", query="5"))
    assert [part["kind"] for part in sent["parts"]] == ["layer", "head"]
    assert sent["parts"][1]["key"] == 0
    assert sent["parts"][1]["weight"] == pytest.approx(0.8104, abs=1e-4)


@pytest.mark.parametrize(
    ("query", "open_", "head"),
    [
        ({"layer": "9"}, "", None),
        ({"layer": "2", "head": "12"}, "2", None),
        ({"layer": "2", "head": "1", "key": "99"}, "2", 1),
        ({"layer": "embeddings", "head": "1"}, "embeddings", None),
        ({"query": "99"}, "", None),
    ],
)
def test_what_the_model_does_not_have_is_left_out(query: dict[str, str], open_: str, head: int | None) -> None:
    sent = header(opened("journey", **query))
    assert (sent["path"]["open"], sent["path"]["head"], sent["path"]["key"]) == (open_, head, None)
    assert sent["path"]["token"] == 5


def test_the_answer_is_followed_back_to_layers_heads_and_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 60)
    at = opened("journey", rests_on="true", pair="I love coding in python.")
    sent = header(at)
    assert sent["ending"]["value"] == pytest.approx(0.5802, abs=1e-4)
    assert sent["ending"]["layers"]["shape"] == [6]
    assert sent["ending"]["heads"]["shape"] == [6, 12]
    assert sent["ending"]["tokens"]["shape"] == [8]
    assert len(sent["labels"]) == 8  # the cosine reads the text without the second one
    model = open_model("all-MiniLM-L6-v2")

    def cosine(text: str) -> float:
        first, second = (
            model.trace(each).hidden_states[-1].mean(axis=0) for each in (text, "I love coding in python.")
        )
        return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))

    without = array(at, sent["ending"]["tokens"])
    for token, masked in ((1, "[MASK] love my pet python."), (5, "I love my pet [MASK].")):
        assert without[token] == pytest.approx(cosine(masked) - cosine(DEFAULT_TEXT), abs=1e-5)


def test_where_every_word_moves_the_number_alike_the_mask_is_suspected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 60)
    text = "The gardener forgot her umbrella at the laundromat."
    at = opened("journey", rests_on="true", text=text, pair=SECOND_TEXT)
    changes = [change for change in array(at, header(at)["ending"]["tokens"]).tolist() if change]
    assert min(changes) > 0
    assert np.median(changes) > 0.4 * max(changes)
    said = "The number rises without 9 of 9 words: much of that may be the mask in their place"
    assert said in page_text(at)
    assert said in page_text(opened("words", text=text, pair=SECOND_TEXT))
    assert "may be the mask" not in page_text(opened("journey", rests_on="true", pair=SECOND_TEXT))


def test_without_a_second_text_the_drawing_ends_with_the_cosine_to_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    at = opened("journey", rests_on="true")
    assert any("**Example:**" in each.value for each in at.markdown)
    assert header(at)["ending"] == header(opened("journey", rests_on="true", pair=SECOND_TEXT))["ending"]
    assert header(at)["ending"] is not None


def test_the_drawing_stays_while_the_page_asks_whether_to_compute_what_the_answer_rests_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answers, "agreed_cost", lambda *arguments: run_model.agreed_work("work", "It takes minutes."))
    at = opened("journey", rests_on="true", target="state", text="A text that nobody has traced back before.")
    assert [each.value for each in at.info] == ["It takes minutes."]
    assert [each.label for each in at.button if each.key == "start_work"] == ["Begin"]
    assert header(at)["ending"] is None
    assert header(at)["labels"][1:3] == ["a", "text"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("task", "target", "behind"),
    [
        ("sequence-classification", "class", ["pooler", "task head"]),
        ("masked-lm", "word", ["task head"]),
        ("sequence-classification", "state", []),
        ("masked-lm", "cosine", []),
    ],
)
def test_the_number_at_the_end_names_the_stages_that_it_passes(
    task: str, target: str, behind: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_tiny_head("bert", task, tmp_path / "headed")
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    monkeypatch.setattr(answers, "PATIENCE_S", 60)
    at = opened("journey", model="headed", text="i love", pair="my pet", rests_on="true", target=target)
    assert header(at)["ending"]["behind"] == behind


@pytest.mark.slow
def test_the_number_that_is_traced_back_is_of_the_chosen_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 60)
    chosen, own = (opened("journey", rests_on="true", target="state", query=token) for token in ("2", "6"))
    assert "token 2" in header(chosen)["ending"]["title"]
    assert "token 6" in header(own)["ending"]["title"]
    state = open_model("all-MiniLM-L6-v2").trace(DEFAULT_TEXT).hidden_states[6]
    for at, token in ((chosen, 2), (own, 6)):
        assert header(at)["ending"]["value"] == pytest.approx(float(state[token, 0]), abs=1e-5)
    elsewhere = opened("journey", rests_on="true", target="state", query="2", target_at="4")
    assert "token 4" in header(elsewhere)["ending"]["title"]


def test_the_line_below_the_title_says_when_both_texts_are_in_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 60)
    second = "I love coding in python."
    joined, alone = (opened("journey", pair=second, **query) for query in ({}, {"rests_on": "true"}))
    written = ["both texts in one run" in each.markdown[0].value for each in (joined, alone)]
    assert written == [len(header(joined)["labels"]) > 8, len(header(alone)["labels"]) > 8] == [True, False]


@pytest.mark.slow
def test_a_model_without_weights_offers_no_comparison() -> None:
    def labels(model: str) -> list[str]:
        return [each.label for each in opened("journey", model=model).button]

    assert "Compare" in labels("all-MiniLM-L6-v2")
    without = labels("bert-base-uncased")
    assert "Compare" not in without
    assert "Continue with all\\-MiniLM\\-L6\\-v2" in without


def array(at: AppTest, place: Any) -> Any:
    """An array of the message, by its description in the header."""
    (view,) = [each for each in at.get("bidi_component") if each.proto.component_name == "journey_view"]
    start = 4 + int.from_bytes(view.proto.bytes[:4], "little") + place["at"]
    count = int(np.prod(place["shape"]))
    return np.frombuffer(view.proto.bytes, np.dtype(place["type"]), count, start).reshape(place["shape"])


def test_a_link_restores_a_change_and_the_table_has_both_numbers() -> None:
    at = opened("journey", change="head-3.5", removed_for="its mean", journey_table="true", journey_explained="true")
    sent = header(at)["change"]
    assert (sent["name"], sent["mean"]) == ("head-3.5", True)
    assert "(mean ablation)" in sent["sentence"]
    expected = open_model("all-MiniLM-L6-v2").journey(DEFAULT_TEXT).changed("head-3.5", mean=True)
    own = expected.query("token == 5")
    (frame,) = at.dataframe
    for name in ("turn", "length", "entropy"):
        assert frame.value[name].tolist() == pytest.approx(own[name].tolist(), abs=1e-6)
        assert frame.value[f"{name} after"].tolist() == pytest.approx(own[f"{name}_after"].tolist(), abs=1e-6)
        assert frame.value[f"{name} difference"].tolist() == pytest.approx(own[f"{name}_difference"].tolist(), abs=1e-6)
        (place,) = [each for each in sent["measures"] if each["key"] == name]
        assert array(at, place).ravel() == pytest.approx(expected[f"{name}_after"].to_numpy(), abs=1e-6)
    (code,) = at.code
    assert "way.changed('head-3.5', mean=True)" in code.value


EDITED = "I really love my cat, snake - “x” 😀 שלום."


@pytest.mark.slow
def test_a_link_restores_a_comparison_with_an_edited_text(capsys: pytest.CaptureFixture[str]) -> None:
    at = opened("journey", change="text", edited=EDITED, journey_table="true", journey_explained="true", layer="1")
    sent = header(at)
    assert sent["text"] == EDITED
    assert sent["labels"][:5] == ["[CLS]", "i", "really", "love", "my"]
    assert sent["change"]["origin"][:6] == [0, 1, -1, 2, 3, -1]
    assert sent["change"]["gone"] == [[5, "pet"], [5, "python"]]
    assert sent["path"]["token"] == 2, "the first new token"
    expected = open_model("all-MiniLM-L6-v2").journey(DEFAULT_TEXT).changed("text", edited=EDITED)
    for sides, column in ((sent["measures"], "turn"), (sent["change"]["measures"], "turn_after")):
        numbers = array(at, next(each for each in sides if each["key"] == "turn")).ravel()
        assert numbers == pytest.approx(expected[column].to_numpy(), abs=1e-6, nan_ok=True)
    (part,) = sent["parts"]
    alone = header(at_edited := opened("journey", text=EDITED, layer="1", query="2"))["parts"][0]
    assert (array(at, part["rows"]) == array(at_edited, alone["rows"])).all(), "an opened part is of the edited text"
    (code,) = at.code
    exec(code.value, {})  # the reader's own use of these lines
    assert f"[{len(expected)} rows x 13 columns]" in capsys.readouterr().out


def test_a_masked_token_is_not_masked_in_another_text() -> None:
    at = opened("journey", change="mask-5")
    (opens,) = [link["address"] for link in tries(at) if link["label"].startswith("Open layer")]
    assert "change=mask-5" in opens, "what is masked stays masked"
    assert "python" in header(at)["change"]["sentence"]
    at.text_area(key="text").set_value("I love the river and the sea.").run()
    assert "change" not in at.query_params
    assert header(at)["change"] is None


def test_a_text_that_is_not_edited_is_not_kept_as_an_edited_one() -> None:
    """After a reload the browser gives the texts back; another text is then no edit of the first."""
    at = opened("journey").text_area(key="text").set_value("A dog ran fast.").run()
    (kept,) = [each.proto.json for each in at.get("bidi_component") if each.proto.id.endswith("-tab_texts")]
    assert json.loads(kept)["texts"] == {"text": "A dog ran fast."}


def test_the_chosen_token_is_there_after_another_page_and_stays_where_its_word_does() -> None:
    at = opened("journey", query="3")
    for page in ("overview", "journey"):
        at.query_params.clear()
        at.switch_page(f"../pages/{page}.py").run()
    assert header(at)["path"]["token"] == 3
    for text, token in (("You saw my green elephants.", 3), ("You saw the green elephants.", 5)):
        at.text_area(key="text").set_value(text).run()
        assert header(at)["path"]["token"] == token, text


def test_an_edited_text_is_compared_by_a_button_until_the_text_is_another_one() -> None:
    at = opened("journey")
    edit(at, "I love my pet.")
    assert at.query_params["change"] == "text"
    assert "edited" not in at.query_params
    assert header(at)["change"]["gone"] == [[5, "python"]]
    at.text_area(key="text").set_value("I love the river.").run()
    assert "change" not in at.query_params
    assert header(at)["change"] is None
    edit(at, "I love my pet.")
    assert header(at)["change"]["sentence"].startswith("The text is edited: “the river” → “my pet”")
    edit(at, "I love the river.")
    assert header(at)["change"] is None, "an edit to the text itself is none"
    at = opened("journey", change="head-1.2")
    edit(at, DEFAULT_TEXT)
    assert header(at)["change"]["name"] == "head-1.2", "an unchanged text undoes no other change"


def test_a_link_without_its_edited_text_is_one_sentence() -> None:
    assert "The text is not edited" in header(opened("journey", change="text"))["change"]["refused"]


def test_the_lines_of_the_page_print_the_numbers_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    at = opened("journey", change="layer-1", journey_explained="true")
    (code,) = at.code
    exec(code.value, {})  # the reader's own use of these lines
    assert "[48 rows x 13 columns]" in capsys.readouterr().out


def test_undo_restores_the_very_message_of_the_unchanged_run() -> None:
    at = opened("journey", layer="2")
    clean = [each.proto.bytes for each in at.get("bidi_component") if each.proto.component_name == "journey_view"]
    at.query_params["change"] = "layer-1"
    assert header(at.run())["change"]["name"] == "layer-1"
    del at.query_params["change"]
    at.run()
    assert [
        each.proto.bytes for each in at.get("bidi_component") if each.proto.component_name == "journey_view"
    ] == clean


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"change": "head-6.0"}, "There is no layer 6"),
        ({"change": "head-0.12"}, "There is no head 12"),
        ({"change": "mask-8"}, "There is no token 8 in the text"),
        ({"change": "<img src=x onerror=alert(1)>"}, "There is no change '<img src=x onerror=a'"),
        ({"change": "layer-1", "removed_for": "noise"}, "choose nothing, its mean"),
    ],
)
def test_a_change_that_is_not_there_is_one_sentence_and_the_drawing_stays(query: dict[str, str], sentence: str) -> None:
    at = opened("journey", **query)
    sent = header(at)
    assert sentence in sent["change"]["refused"]
    assert "measures" not in sent["change"]
    assert len(sent["measures"]) == 3
    assert not at.error


def test_the_answer_has_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 60)
    pair = {"rests_on": "true", "pair": "I love coding in python."}
    ending = header(opened("journey", change="layer-3", **pair))["ending"]
    effects = header(at := opened("journey", **pair))["ending"]
    assert effects["changed"] is None
    assert ending["value"] == effects["value"]
    assert ending["changed"] - ending["value"] == pytest.approx(array(at, effects["layers"])[3], abs=1e-5)


@pytest.mark.slow
def test_the_answer_of_an_edited_text_is_that_of_the_text_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 60)
    pair = {"rests_on": "true", "pair": "I love coding in python."}
    ending = header(opened("journey", change="text", edited=EDITED, **pair))["ending"]
    alone = header(opened("journey", text=EDITED, **pair))["ending"]
    assert ending["changed"] == pytest.approx(alone["value"], abs=1e-5)
    assert ending["tokens"] is None


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("family", "change", "refused"),
    [
        ("bert", "head-1.1", ""),
        ("gpt2", "layer-2", ""),
        ("modernbert", "head-1.1", ""),
        ("fnet", "mask-2", ""),
        ("fnet", "head-1.0", "no heads"),
        ("fnet", "layer-1", ""),
        ("xlnet", "head-1.0", "XLNet applies its output projection"),
        ("xlnet", "layer-1", ""),
    ],
)
def test_a_family_is_changed_or_refuses_in_one_sentence(
    family: str, change: str, refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_tiny(family, tmp_path / family)
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    sent = header(opened("journey", model=family, change=change, text="i love my pet python"))
    assert refused in sent["change"]["refused"]
    assert ("measures" in sent["change"]) == (refused == "")
    assert len(sent["stages"]) >= 4


@pytest.mark.sample(1)
@pytest.mark.parametrize("family", ["fnet", "funnel", "t5"])
def test_families_that_lack_something_are_drawn_with_one_sentence(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_tiny(family, tmp_path / family)
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    at = opened("journey", model=family, layer="1", text="i love my pet python")
    sent = header(at)
    assert sent["layers"] == 3
    for part in sent["parts"] if family == "fnet" else ():
        assert part["feedForward"]["shape"] == [12], "its blocks are shown without attention, too"
        assert part["rows"]["shape"][0] == 0
    assert len(sent["parts"]) == (family == "fnet") or family == "t5"
    assert ("Fourier" in sent["attention_note"]) == (family == "fnet")
    words = visible_text(" ".join(each.value for each in [*at.markdown, *at.caption, *at.warning])) + sent["missing"]
    assert {"fnet": "Fourier", "funnel": "one row", "t5": "T5"}[family] in words
    assert words.count("Fourier") == (family == "fnet"), "the drawing has the sentence too, so the page has it once"


def tries(at: AppTest) -> list[dict[str, Any]]:
    """The links below the drawing to what can be tried."""
    found = [each for each in at.get("bidi_component") if "journey_try" in each.proto.id]
    return [link for each in found for link in json.loads(each.proto.json)["links"]]


def test_one_field_has_the_text_and_three_things_can_be_tried() -> None:
    at = opened("journey")
    assert [each.key for each in at.text_area if "edits" not in each.key] == ["text", "pair"]
    at.text_area(key="text").set_value("The river bank was steep.").run()
    sent = header(at)
    assert sent["text"] == "The river bank was steep."
    place, first = sent["path"]["token"], tries(at)
    assert [each["label"].split()[0] for each in first] == ["Open", "Mask", "See"]
    turns = open_model("all-MiniLM-L6-v2").journey("The river bank was steep.").data.turn[:, place]
    assert f"layer={int(turns.argmax())}" in first[0]["address"]
    assert f"change=mask-{place}" in first[1]["address"]
    assert PURPOSE in at.main.markdown[0].value  # below the title, before the drawing


def test_without_a_mask_token_a_layer_is_switched_off(models_dir: Path) -> None:
    save_tiny("gpt2", models_dir / "tiny")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        file = models_dir / "tiny" / name
        file.write_text(file.read_text().replace("[MASK]", "[NONE]"))
    settings = json.loads((models_dir / "tiny" / "tokenizer_config.json").read_text())
    settings.pop("mask_token")
    (models_dir / "tiny" / "tokenizer_config.json").write_text(json.dumps(settings))
    labels = [each["label"] for each in tries(opened("journey", model="tiny"))]
    assert labels[1].startswith("Switch layer")


def test_in_a_lesson_the_page_is_the_drawing_alone() -> None:
    at = opened("journey", lesson="your-text-through-the-model", step="1")
    assert not tries(at)
    assert not [each for each in at.text_area if each.key == "text_on_page"]


def test_the_text_stays_beside_the_reason_why_nothing_is_drawn(models_dir: Path) -> None:
    weights = save_tiny("bert", models_dir / "tiny") / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    at = opened("journey", model="tiny")
    assert len(at.error) == 1
    assert not at.exception
    assert at.text_area(key="text").value == DEFAULT_TEXT
