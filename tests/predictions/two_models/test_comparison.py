"""Predictions of two models for one text: those of transformers run plainly, matched by names, words and characters.

Covers `bertviz_core/predictions/masks_of_two_models.py`, `bertviz_core/questions/predictions/two_models.py`,
`bertviz_core/questions/models/checkpoints.py`, `bertviz_core/questions/tables/two_models/predictions.py`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoTokenizer

from bertviz_core.errors import BertvizError, TextError, UnsupportedModelError
from bertviz_core.figures.predictions.classes import comparison_frame
from bertviz_core.models.skeleton import TASK_CLASSES
from bertviz_core.predictions.results import NO_ANSWER, PredictionComparison
from bertviz_core.predictions.two_models import SAME_MODEL
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.masked_lm import words_at_position
from bertviz_core.questions.predictions.two_models import VIEWS, compared_predictions
from bertviz_core.questions.tables.two_models.predictions import COMPARED_PREDICTIONS, MAX_ROWS, what_changed
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import TEXT
from tests.helpers.two_tokenizers import MASKS, MIXED, opened_model, save_byte_head
from tests.pages.labels import CONTEXT, NAMES, QUESTION, TAGS, named

ROUNDED = "itself, rounded to bfloat16"
TASKS = {
    "classes": ("sequence-classification", named(*NAMES)),
    "tags": ("token-classification", named(*TAGS)),
    "answers": ("question-answering", {}),
    "words": ("masked-lm", {}),
}
"""Folder -> task and changes of the config."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For each task a model that reads pieces of words, one that reads bytes; and other labels, number, no head."""
    place = tmp_path_factory.mktemp("two")
    for name, (task, changes) in TASKS.items():
        save_tiny_head("bert", task, place / name, **changes)
        save_byte_head(task, place / f"byte-{name}", **(named(*NAMES[::-1]) if name == "classes" else changes))
    save_tiny_head("bert", "sequence-classification", place / "others", **named("Neutral", "joy", "entailment"))
    save_tiny_head("bert", "sequence-classification", place / "number", num_labels=1)
    save_tiny_head("bert", "pretraining", place / "pretraining")
    save_tiny_head("bert", "masked-lm", place / "deep", num_hidden_layers=5)
    return place


def compare(place: Path, first: str, second: str, text: str = TEXT, **more: Any) -> PredictionComparison:
    """Ask for both."""
    values = {"other": str(place / second) if (place / second).exists() else second}
    values |= {key: value for key, value in more.items() if key not in ("pair", "task")}
    options = Options((text,), more.get("pair"), more.get("task"), values)
    return compared_predictions(opened_model(place / first), options).result


def own(folder: Path, task: str, text: str, pair: str | None = None) -> tuple[Any, Any, Any]:
    """The outputs of transformers' own class, its encoding and its model."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(text, pair, return_tensors="pt", return_offsets_mapping=True)
    spans = inputs.pop("offset_mapping")[0].tolist()
    model = getattr(transformers, TASK_CLASSES[task]).from_pretrained(folder).eval()
    with torch.no_grad():
        return model(**inputs), (inputs, spans, tokenizer), model


def test_classes_are_those_of_transformers_matched_by_name(place: Path) -> None:
    found = compare(place, "classes", "byte-classes", MIXED)
    for folder, numbers in (("classes", found.first_numbers), ("byte-classes", found.second_numbers)):
        output, _, model = own(place / folder, "sequence-classification", MIXED)
        expected = dict(zip(model.config.id2label.values(), output.logits[0].softmax(-1).tolist(), strict=True))
        np.testing.assert_allclose(numbers, [expected[name] for name in found.names], atol=1e-6)
        side = 0 if folder == "classes" else 1
        assert found.answers[side] == max(expected, key=expected.__getitem__)
    assert found.names == NAMES
    np.testing.assert_array_equal(found.difference, found.second_numbers - found.first_numbers)
    assert not any("label" in notice for notice in found.notices)


def test_a_label_of_one_model_is_listed_and_the_case_of_a_name_does_not_matter(place: Path) -> None:
    found = compare(place, "classes", "others")
    assert found.names == (*NAMES, "joy")
    assert np.isnan(found.second_numbers).tolist() == [True, False, False, False]
    assert np.isnan(found.difference).tolist() == [True, False, False, True]
    assert found.changed.tolist() == [True, False, False, True]
    assert f"1 label only of {place / 'classes'}: 'contradiction'." in found.notices
    assert f"1 label only of {place / 'others'}: 'joy'." in found.notices
    frame = comparison_frame(found)
    assert list(frame) == ["class", "first", "second", "difference"]
    assert COMPARED_PREDICTIONS.to_json(found)["rows"][0]["second"] is not None


def test_tags_are_those_of_the_first_token_of_each_word(place: Path) -> None:
    text = "I love my pet python, Café."
    found = compare(place, "tags", "byte-tags", text)
    for folder, labels, numbers in (
        ("tags", found.first_answers, found.first_numbers),
        ("byte-tags", found.second_answers, found.second_numbers),
    ):
        output, (_, spans, _), model = own(place / folder, "token-classification", text)
        rows, at = output.logits[0].softmax(-1), 0
        for name, label, number in zip(found.names, labels, numbers.tolist(), strict=True):
            start = text.index(name, at)
            at = start + len(name)
            first = next(place for place, (begin, end) in enumerate(spans) if begin <= start < end)
            best = int(rows[first].argmax())
            assert label == model.config.id2label[best]
            assert number == pytest.approx(float(rows[first, best]), abs=1e-6)
    differ = np.array(found.first_answers) != np.array(found.second_answers)
    np.testing.assert_array_equal(np.isnan(found.difference), differ)
    assert found.changed.tolist() == differ.tolist()


def test_answers_meet_by_their_characters_and_have_the_scores_of_transformers(place: Path) -> None:
    found = compare(place, "answers", "byte-answers", QUESTION, pair=CONTEXT)
    assert found.kind == "answers"
    for folder, numbers in (("answers", found.first_numbers), ("byte-answers", found.second_numbers)):
        output, (inputs, spans, _), _ = own(place / folder, "question-answering", QUESTION, CONTEXT)
        places = [at for at, of in enumerate(inputs.sequence_ids(0)) if of == 1]
        none = [0] if inputs.sequence_ids(0)[0] is None else []  # a special token in front
        start, end = (logits[0][[*none, *places]].softmax(-1) for logits in (output.start_logits, output.end_logits))
        scores: dict[str, list[float]] = {NO_ANSWER: [float(start[0] * end[0])]}
        start, end = start[len(none) :], end[len(none) :]
        for one, first in enumerate(places):
            for other in range(one, min(one + 30, len(places))):
                text = CONTEXT[spans[first][0] : spans[places[other]][1]].strip()
                scores.setdefault(text, []).append(float(start[one] * end[other]))
        for name, number in zip(found.names, numbers.tolist(), strict=True):
            if not np.isnan(number):
                close = scores[name.partition(" (")[0]]
                assert any(number == pytest.approx(score, rel=1e-4) for score in close), (folder, name, number, close)
    assert (~np.isnan(found.first_numbers)).sum() >= 5
    assert (~np.isnan(found.second_numbers)).sum() >= 5


@pytest.mark.slow
def test_masked_words_are_those_of_the_single_question_and_of_transformers(place: Path) -> None:
    found = compare(place, "words", "deep", mask="5", position="5")
    assert found.where in TEXT
    for folder, numbers in (("words", found.first_numbers), ("deep", found.second_numbers)):
        alone = words_at_position(
            opened_model(place / folder), Options((TEXT,), values={"mask": "5", "position": "5"})
        ).result
        tokenizer = AutoTokenizer.from_pretrained(place / folder)
        inputs = tokenizer(TEXT, return_tensors="pt")
        inputs["input_ids"][0, 5] = tokenizer.mask_token_id
        model = transformers.AutoModelForMaskedLM.from_pretrained(place / folder).eval()
        with torch.no_grad():
            p = model(**inputs).logits[0, 5].softmax(-1)
        ids = tokenizer.convert_tokens_to_ids(list(found.names))
        np.testing.assert_allclose(numbers, p[ids], rtol=1e-4)
        top = dict(zip(alone.top_ids[5].tolist(), np.exp(alone.top_log_probability[5]).tolist(), strict=True))
        shared = [(number, top[token]) for number, token in zip(numbers.tolist(), ids, strict=True) if token in top]
        assert len(shared) == 10
        assert all(number == pytest.approx(single, rel=1e-6) for number, single in shared)


@pytest.mark.parametrize("text", [TEXT, f"I love my {MASKS[0]} python."])
def test_a_mask_stands_at_the_same_characters_of_the_other_tokenizer(place: Path, text: str) -> None:
    found = compare(place, "words", "byte-words", text, **({} if MASKS[0] in text else {"mask": "3", "position": "3"}))
    tokenizer = AutoTokenizer.from_pretrained(place / "byte-words")
    written = text.replace(MASKS[0], MASKS[1]) if MASKS[0] in text else text.replace("my", MASKS[1])
    inputs = tokenizer(written, return_tensors="pt")
    at = inputs["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    model = transformers.AutoModelForMaskedLM.from_pretrained(place / "byte-words").eval()
    with torch.no_grad():
        p = model(**inputs).logits[0, at].softmax(-1)
    best = p.topk(10).values.tolist()
    second = sorted(each for each in found.second_numbers.tolist() if not np.isnan(each))[::-1]
    np.testing.assert_allclose(second[:10], best, rtol=1e-4)
    assert (MASKS[0] in text) != any("one mask of its own takes its place" in notice for notice in found.notices)


def test_a_place_without_a_partner_is_refused_in_one_sentence(place: Path) -> None:
    with pytest.raises(TextError, match="no single token"):
        compare(place, "words", "byte-words", mask="none", position="2")
    with pytest.raises(TextError, match="covers no characters"):
        compare(place, "words", "byte-words", mask="none", position="0")


def test_surprise_is_summed_over_the_same_characters(place: Path) -> None:
    found = compare(place, "words", "byte-words", MIXED, view="surprise")
    assert "".join(found.names) == MIXED.replace(" ", "")
    for folder, numbers in (("words", found.first_numbers), ("byte-words", found.second_numbers)):
        tokenizer = AutoTokenizer.from_pretrained(place / folder)
        inputs = tokenizer(MIXED, return_tensors="pt", return_special_tokens_mask=True)
        own_tokens = [at for at, special in enumerate(inputs.pop("special_tokens_mask")[0].tolist()) if not special]
        model = transformers.AutoModelForMaskedLM.from_pretrained(place / folder).eval()
        total = 0.0
        for at in own_tokens:
            ids = inputs["input_ids"].clone()
            ids[0, at] = tokenizer.mask_token_id
            with torch.no_grad():
                logits = model(**{**inputs, "input_ids": ids}).logits[0, at]
            total -= float(logits.log_softmax(-1)[inputs["input_ids"][0, at]])
        assert float(numbers.astype(np.float64).sum()) == pytest.approx(total, rel=1e-5)


@pytest.mark.slow
def test_the_lens_ends_in_the_prediction_and_a_deeper_model_has_more_rows(place: Path) -> None:
    found = compare(place, "words", "deep", view="lens")
    words = compare(place, "words", "deep")
    assert found.names[:2] == ("embeddings", "after layer 0")
    assert len(found.names) == 6
    assert np.isnan(found.first_numbers).tolist() == [False] * 4 + [True] * 2
    assert found.answers == words.answers
    for side, last in ((words.first_numbers, found.first_numbers[3]), (words.second_numbers, found.second_numbers[5])):
        assert float(last) == pytest.approx(float(np.nanmax(side)), rel=1e-5)
    assert any("has 3 layers" in notice for notice in found.notices)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "view"), [*((name, VIEWS[0]) for name in TASKS), *(("words", view) for view in VIEWS[1:-1])]
)
def test_the_same_model_twice_is_exact_zeros_and_says_so(place: Path, name: str, view: str) -> None:
    pair = CONTEXT if name == "answers" else None
    found = compare(place, name, name, QUESTION if pair else TEXT, pair=pair, view=view)
    assert not np.any(found.difference)
    assert not found.changed.any()
    assert found.notices[0] == SAME_MODEL
    assert found.answers[0] == found.answers[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", TASKS)
def test_a_rounded_copy_differs_a_little(place: Path, name: str) -> None:
    pair = CONTEXT if name == "answers" else None
    found = compare(place, name, ROUNDED, QUESTION if pair else TEXT, pair=pair)
    assert found.second == f"{place / name} in bfloat16"
    assert 0 < np.nanmax(np.abs(found.difference)) < 0.1


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("classes", "tags", "predicts tags and"),
        ("classes", "words", "predicts words at masks and"),
        ("classes", "number", "returns a number"),
        ("classes", "all-MiniLM-L6-v2", "has no task head"),
        ("classes", "no-such-model", "No model 'no-such-model' found"),
    ],
)
def test_another_task_is_refused_in_one_sentence(
    place: Path, first: str, second: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    with pytest.raises(BertvizError, match=words) as refused:
        compare(place, first, second)
    assert "\n" not in str(refused.value)
    assert str(refused.value).count(". ") == 0


@pytest.mark.slow
def test_a_class_with_two_heads_is_compared_by_the_requested_one(place: Path) -> None:
    found = compare(place, "pretraining", "words", task="masked-lm")
    assert found.kind == "words"
    assert compare(place, "pretraining", "pretraining", pair=CONTEXT, task="next-sentence").kind == "classes"
    with pytest.raises(UnsupportedModelError, match="whether texts follow"):
        compare(place, "pretraining", "words", pair=CONTEXT, task="next-sentence")


@pytest.mark.slow
def test_a_sentence_and_a_table_say_what_changed(place: Path) -> None:
    classes = compare(place, "classes", "byte-classes", MIXED)
    same = classes.answers[0] == classes.answers[1]
    assert ("Both models answer" in what_changed(classes)) == same
    assert all(name in " ".join(COMPARED_PREDICTIONS.to_lines(classes)) for name in NAMES)
    tags = compare(place, "tags", "byte-tags", "the bank " * 8)
    assert f"{tags.changed.sum()} of 16 words have another tag" in what_changed(tags)
    surprise = compare(place, "words", "deep", view="surprise")
    assert what_changed(surprise).count("nats") == 2
    assert len(COMPARED_PREDICTIONS.to_lines(surprise)) <= MAX_ROWS + 4
    assert "“" in what_changed(compare(place, "words", "deep"))
    assert "states" in what_changed(compare(place, "words", "deep", view="lens"))
