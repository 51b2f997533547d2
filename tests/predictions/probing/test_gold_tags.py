"""Gold tags: entities and scores equal seqeval's, labels and predictions those of transformers; refusals.

Covers `bertviz_core/predictions/probing/gold_tags.py`, `bertviz_core/questions/predictions/gold_tags.py`.
"""

import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
import torch
from seqeval.metrics import accuracy_score, sequence_labeling, v1
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import IOB2, IOBES
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import AutoModelForTokenClassification, AutoTokenizer, RobertaTokenizer

from bertviz_core import open_model
from bertviz_core.errors import BertvizError
from bertviz_core.models.sources import folder_source
from bertviz_core.predictions.probing.gold_tags import parted, spans, tag_errors, tag_scores
from bertviz_core.predictions.probing.results import TaggedSpan, WordTags
from bertviz_core.questions.predictions import gold_tags as question
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer, tokenize_words
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_tokenizers import metaspace

TYPES = ("PER", "LOC", "ORG")
LABELS = ("O", *(f"{mark}-{name}" for name in TYPES for mark in "BI"))
WORDS = [["I", "love", "pythons", "in", "languages", "."], ["The", "river"], ["my", "pets", ",", "and", "one", "pet"]]
GOLD = [["O", "O", "B-PER", "O", "B-LOC", "O"], ["B-ORG", "I-ORG"], ["O", "B-PER", "O", "O", "O", "I-LOC"]]
SPACE = "add_prefix_space is off"


@cache
def folder(model_type: str, prefix: bool = True) -> Path:
    """A tiny tagger with a tokenizer as its family has: WordPiece, byte-level BPE, or pieces with a leading space."""
    place = Path(mkdtemp()) / f"{model_type}-{prefix}"
    names = dict(enumerate(LABELS))
    save_tiny_head(model_type, "token-classification", place, num_labels=7, id2label=names, vocab_size=331)
    if model_type == "roberta":
        trained = Tokenizer(models.BPE())
        trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        trainer = trainers.BpeTrainer(
            vocab_size=290, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
        trained.train_from_iterator([" ".join(each) for each in WORDS] * 9, trainer)
        trained.model.save(str(place))
        for each in ("tokenizer.json", "tokenizer_config.json"):
            (place / each).unlink()
        made = RobertaTokenizer.from_pretrained(place, add_prefix_space=prefix)
        made.save_pretrained(place)
    if model_type == "deberta-v2":
        metaspace().save_pretrained(place)
    return place


def by_hand(place: Path, words: list[str], **options: Any) -> tuple[Any, np.ndarray]:
    """Encoding and probabilities of one sentence by transformers alone."""
    encoding = AutoTokenizer.from_pretrained(place)(words, is_split_into_words=True, return_tensors="pt", **options)
    with torch.no_grad():
        logits = AutoModelForTokenClassification.from_pretrained(place).eval()(**encoding).logits[0]
    return encoding, logits.double().softmax(-1).numpy()


def random_tags(seed: int, scheme: str) -> list[list[str]]:
    generator = np.random.default_rng(seed)
    tags = ["O", *(f"{mark}-{name}" for mark in scheme for name in TYPES[: 1 + seed % 3])]
    return [generator.choice(tags, size).tolist() for size in generator.integers(1, 19, 23)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("mode", "scheme"), [("default", "BI"), ("default", "BIES"), ("strict", "BI"), ("strict", "BIES")]
)
def test_entities_and_scores_are_seqevals(seed: int, mode: str, scheme: str) -> None:
    gold, predicted = random_tags(seed, scheme), [list(row) for row in random_tags(seed, scheme)]
    generator = np.random.default_rng(seed + 100)
    for row, other in zip(predicted, random_tags(seed, scheme)[::-1], strict=True):
        for at in range(min(len(row), len(other))):
            row[at] = other[at] if generator.random() < 0.2 else row[at]
    tagged = WordTags("made", LABELS, *(tuple(map(tuple, rows)) for rows in (gold, gold, predicted)))
    result = tag_scores(tagged, mode)
    strict = {"scheme": IOBES if "E" in scheme else IOB2} if mode == "strict" else {}
    measured = (v1 if strict else sequence_labeling).precision_recall_fscore_support
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_type, micro, macro = (
            measured(gold, predicted, average=average, **strict) for average in (None, "micro", "macro")
        )
    np.testing.assert_allclose(result.scores[:-2], np.stack(by_type[:3], axis=1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.scores[-2], micro[:3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.scores[-1], macro[:3], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(result.counts[:, 0], by_type[3])
    assert result.accuracy == pytest.approx(accuracy_score(gold, predicted))
    if mode == "default":
        for row in (*gold, *predicted):
            assert [(each.type, each.start, each.end - 1) for each in spans(row)] == get_entities(row)
    wrong = result.counts[:, 0].sum() - result.counts[:, 2].sum()
    assert sum(error.gold is not None for error in result.errors) == wrong
    assert (
        sum(error.predicted is not None for error in result.errors) == (result.counts[:, 1] - result.counts[:, 2]).sum()
    )


def test_bilou_is_iobes_by_other_names_and_a_tag_without_a_mark_continues() -> None:
    assert spans(["U-A", "U-A", "B-A", "L-A", "L-A"], "IOBES") == [
        TaggedSpan(0, 1, "A"), TaggedSpan(1, 2, "A"), TaggedSpan(2, 4, "A")
    ]  # fmt: skip
    assert spans(["NOUN", "NOUN", "X-Y", "O", "VERB"]) == [
        TaggedSpan(0, 2, "NOUN"), TaggedSpan(2, 3, "X-Y"), TaggedSpan(4, 5, "VERB")
    ]  # fmt: skip
    assert parted("B-A-B") == ("B", "A-B")


def test_each_error_has_one_kind() -> None:
    gold = [
        TaggedSpan(0, 2, "A"),
        TaggedSpan(3, 5, "A"),
        TaggedSpan(6, 9, "A"),
        TaggedSpan(10, 12, "A"),
        TaggedSpan(13, 14, "B"),
    ]
    others = ((0, 2, "B"), (4, 5, "A"), (6, 7, "A"), (7, 9, "B"), (11, 13, "C"), (20, 21, "A"))
    predicted = [TaggedSpan(*each) for each in others]
    kinds = [(error.kind, error.gold, error.predicted) for error in tag_errors(0, gold, predicted)]
    assert kinds == [
        ("wrong type", gold[0], predicted[0]),
        ("wrong boundary", gold[1], predicted[1]),
        ("wrong boundary", gold[2], predicted[2]),  # the type goes before the larger overlap
        ("spurious", None, predicted[3]),
        ("wrong type and boundary", gold[3], predicted[4]),
        ("missed", gold[4], None),
        ("spurious", None, predicted[5]),
    ]


@pytest.mark.parametrize("model_type", ["bert", "roberta", "deberta-v2"])
def test_predictions_and_labels_are_those_of_transformers(model_type: str) -> None:
    place = folder(model_type)
    result = open_model(place).tags(WORDS, GOLD)
    assert not [notice for notice in result.notices if SPACE in notice]
    for at, (words, gold) in enumerate(zip(WORDS, GOLD, strict=True)):
        encoding, probabilities = by_hand(place, words)
        ids = encoding.word_ids()
        first = [ids.index(word) for word in range(len(words))]
        assert result.data.predicted[at] == tuple(LABELS[each] for each in probabilities[first].argmax(axis=1))
        for aligned in ("first piece", "all pieces"):
            data = result.labels(at + 1, aligned).data
            np.testing.assert_allclose(data.probabilities, probabilities, atol=2e-6)
            expected, before = [], None
            for word in ids:  # run_ner.py of transformers, with label_all_tokens
                if word is None:
                    expected.append(-100)
                elif word != before:
                    expected.append(LABELS.index(gold[word]))
                else:
                    inside = gold[word].replace("B-", "I-")
                    expected.append(LABELS.index(inside) if aligned == "all pieces" else -100)
                before = word
            assert data.labels.tolist() == expected
            assert data.tokens == tuple(encoding.tokens())
    assert any(len(set(ids)) < len(ids) - 1 for ids in (by_hand(place, words)[0].word_ids() for words in WORDS))


def test_a_missing_prefix_space_is_said_and_can_be_put() -> None:
    off, on = folder("roberta", prefix=False), folder("roberta")
    result = open_model(off).tags(WORDS, GOLD)
    (notice,) = [notice for notice in result.notices if SPACE in notice]
    alone, spaced = ([by_hand(each, words)[0].tokens() for words in WORDS] for each in (off, on))
    assert alone != spaced
    assert "14 of 14 words become other tokens" in notice
    tokens = [result.labels(at).data.tokens for at in (1, 2, 3)]
    assert tokens == [tuple(each) for each in alone]
    put = open_model(off).tags(WORDS, GOLD, add_prefix_space=True)
    assert [put.labels(at).data.tokens for at in (1, 2, 3)] == [tuple(each) for each in spaced]
    assert put.data.predicted == open_model(on).tags(WORDS, GOLD).data.predicted
    assert not [notice for notice in put.notices if SPACE in notice]


@pytest.mark.parametrize("isolated", [False, True])
def test_words_are_tokens_in_a_process_of_their_own_too(isolated: bool) -> None:
    settings = replace(Settings.from_environment(any_folder=True), isolate_models=isolated)
    tokenizer = load_tokenizer(folder_source("mine", folder("bert")), settings)
    read = tokenize_words(tokenizer.limited(7, "a limit"), [*WORDS[2], "pythons"])
    encoding = AutoTokenizer.from_pretrained(folder("bert"))(
        [*WORDS[2], "pythons"], is_split_into_words=True, truncation=True, max_length=7
    )
    assert read.input_ids.tolist() == encoding["input_ids"]
    assert list(read.word_ids or ()) == encoding.word_ids()
    assert read.offsets is None


def test_words_that_are_cut_off_or_no_token_are_left_out_and_said(tmp_path: Path) -> None:
    save_tiny_head("bert", "token-classification", tmp_path / "m", num_labels=7, id2label=dict(enumerate(LABELS)))
    limit = AutoTokenizer.from_pretrained(tmp_path / "m")
    limit.model_max_length = 5
    limit.save_pretrained(tmp_path / "m")
    result = open_model(tmp_path / "m").tags(
        [["I", "love", "my", "pet", "river"], ["I", " ", "pet"]], [GOLD[0][:5], GOLD[0][:3]]
    )
    assert [len(row) for row in result.data.words] == [3, 2]
    assert result.data.gold == (("O", "O", "B-PER"), ("O", "B-PER"))
    text = " ".join(result.notices)
    assert "2 words left out at the end of texts: the tokenizer's model_max_length is 5." in text
    assert "1 word left out, of which the tokenizer makes no token" in text


def test_numbers_and_capitals_of_labels_are_read_and_unknown_types_are_said() -> None:
    model = open_model(folder("bert"))
    numbers = [[LABELS.index(tag) for tag in row] for row in GOLD]
    small = [[tag.lower() for tag in row] for row in GOLD]
    named = model.tags(WORDS, GOLD).data
    assert model.tags(WORDS, numbers).data.gold == model.tags(WORDS, small).data.gold == named.gold
    other = model.tags(WORDS, [*GOLD[:2], [*GOLD[2][:5], "B-MISC"]])
    assert "The task head has no label for gold entities of 'MISC', so it misses them all." in other.notices
    assert other.labels(3).labels[-2:].tolist() == [-100, -100]


@pytest.mark.parametrize(
    ("words", "labels", "message"),
    [
        ([["a", "b"]], [["O"]], "Sentence 1 has 2 words and 1 tag"),
        ([["a"], ["b"]], [["O"]], "words has 2 sentences and labels 1"),
        ([["a", "b"]], [["O", "O"]], "All words have the gold tag 'O'"),
        ([["a", "b"]], [["O", "X"]], "No gold tag ('X') is of the task head"),
        ([["a", "b"]], [["0", "7"]], "There is no label 7 in"),
        ([[]], [[]], "or one without words"),
        ([], [], "There is no sentence"),
    ],
)
def test_bad_lists_are_one_sentence(words: Any, labels: Any, message: str) -> None:
    with pytest.raises(BertvizError, match=message.replace("(", r"\(").replace(")", r"\)")) as caught:
        open_model(folder("bert")).tags(words, labels)
    assert str(caught.value).count(". ") == 0


def test_a_model_of_another_task_a_mode_and_a_sentence_that_are_not_there_are_refused(tmp_path: Path) -> None:
    save_tiny_head("bert", "sequence-classification", tmp_path / "classes")
    with pytest.raises(BertvizError, match="token-classification"):
        open_model(tmp_path / "classes").tags(WORDS, GOLD)
    model = open_model(folder("bert"))
    with pytest.raises(BertvizError, match="choose default, strict"):
        model.tags(WORDS, GOLD, tag_mode="loose")
    with pytest.raises(BertvizError, match="Sentences are counted from 1"):
        model.tags(WORDS, GOLD).labels(0)
    with pytest.raises(BertvizError, match="begins an entity"):
        tag_scores(WordTags("made", ("O", "PER"), (("a",),), (("PER",),), (("O",),)), "strict")


def test_of_a_long_list_a_sample_is_tagged_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from bertviz_core.predictions.probing import calibration

    monkeypatch.setattr(calibration, "MOST_TEXTS", 5)
    monkeypatch.setattr(question, "MOST_TEXTS", 5)
    result = open_model(folder("bert")).tags(WORDS * 4, GOLD * 4)
    assert len(result.data.words) == 5
    assert "A random sample of 5 of 12 sentences is tagged (seed 0), and counted from 1." in result.notices


def test_the_example_has_the_types_of_the_head(tmp_path: Path) -> None:
    names = {0: "O", 1: "I-person", 2: "I-Location", 3: "I-drug"}
    save_tiny_head("bert", "token-classification", tmp_path / "m", num_labels=4, id2label=names)
    model = open_model(tmp_path / "m")
    tagged = question.example(model._opened)
    assert tagged is not None
    assert {tag for row in tagged.tags for tag in row} == {"O", "B-person", "I-person", "B-Location"}
    labels = model.tags(tagged.words, tagged.tags).labels(1).labels
    assert {1, 2} < set(labels.tolist())  # a head without B- has I- for it
    save_tiny_head("bert", "token-classification", tmp_path / "n", num_labels=2, id2label={0: "NOUN", 1: "VERB"})
    assert question.example(open_model(tmp_path / "n")._opened) is None
