"""The shipped lesson says nothing but the truth: each number in its notes, counted or computed anew.

Covers `ui/examples.py`.
"""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.attention.probabilities import attention_probs
from bertviz_core.hidden_states.embeddings import pooler_check
from bertviz_core.hidden_states.geometry import token_paths
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.results import Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from ui.examples import EXAMPLES
from ui.lessons.reading import Step, read_lesson

FILE = Path(__file__).parents[3] / "ui" / "lessons" / "bert-from-the-outside-in.yaml"
PAGES = [path.stem for path in (Path(__file__).parents[3] / "pages").glob("[a-z]*.py")]
LESSON = read_lesson(FILE, PAGES)
TEXT = "Sinan loves a beautiful day"
VOCABULARY, POSITIONS, TYPES = 30_522, 512, 2
"""BERT's, also the bundled model's (Devlin et al. 2019)."""


def embeddings(hidden: int) -> int:
    return (VOCABULARY + POSITIONS + TYPES + 2) * hidden


def attention(hidden: int) -> int:
    return 4 * (hidden * hidden + hidden)


def feed_forward(hidden: int) -> int:
    return 2 * hidden * 4 * hidden + 5 * hidden


def layer(hidden: int) -> int:
    return attention(hidden) + feed_forward(hidden) + 4 * hidden


def pooler(hidden: int) -> int:
    return hidden * hidden + hidden


def total(hidden: int, layers: int) -> int:
    return embeddings(hidden) + layers * layer(hidden) + pooler(hidden)


def numbers(step: Step) -> list[str]:
    """Every number in a note, in its order."""
    return re.findall(r"\d[\d,]*(?:\.\d+)?%?(?<!,)", step.note.replace(DEFAULT_MODEL, "").replace("tanh;", ""))


def said(*found: int | str) -> list[str]:
    return [f"{each:,}" if isinstance(each, int) else each for each in found]


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    settings = Settings.from_environment()
    return load_model(resolve(DEFAULT_MODEL, settings), settings)


@pytest.fixture(scope="module")
def run(model: LoadedModel) -> Trace:
    settings = Settings.from_environment()
    return trace(model, tokenize(load_tokenizer(resolve(DEFAULT_MODEL, settings), settings), TEXT))


def test_ten_steps_lead_from_the_counts_to_the_sentences() -> None:
    assert [step.page for step in LESSON.steps] == [
        *("overview", "parameters", "parameters", "tokens", "representations", "representations"),
        *("heads", "attention", "representations", "sentences"),
    ]
    assert all(step.question for step in LESSON.steps)
    assert all(2 <= len(re.findall(r"[.](?:\s|$)", step.note)) <= 4 for step in LESSON.steps)
    assert {step.text for step in LESSON.steps} == {None, TEXT}


def test_counts_of_bert_base() -> None:
    first, second, third = LESSON.steps[:3]
    assert {step.query["model"] for step in (first, second, third)} == {("bert-base-uncased",)}
    assert total(768, 12) == 109_482_240  # as the source documents print it
    assert numbers(first) == said(total(768, 12), 12, 768)
    whole = (embeddings(768), 12 * layer(768), pooler(768), total(768, 12))
    assert numbers(second) == said(*whole, 30_522, 768, 30_522, 768, 30_522 * 768)
    parts = (attention(768), 768, 768, 768, feed_forward(768), 4 * 768)
    assert numbers(third) == said(12, layer(768), *parts)
    assert round(feed_forward(768) / attention(768), 2) == 2.0


def test_tokens(run: Trace) -> None:
    assert run.tokens.tokens == ("[CLS]", "sin", "##an", "loves", "a", "beautiful", "day", "[SEP]")
    assert run.tokens.input_ids[1:3].tolist() == [8254, 2319]
    assert numbers(LESSON.steps[3]) == said(VOCABULARY, "8254", "2319", 8, 6, total(384, 6))


def test_hidden_states(run: Trace) -> None:
    assert run.hidden_states.shape == (7, 8, 384)
    assert numbers(LESSON.steps[4]) == said(384)
    share = token_paths(run.hidden_states).explained.sum()
    assert numbers(LESSON.steps[5]) == said(6, 7, 8, f"{share:.1%}")
    before, after = run.hidden_states[:-1], run.hidden_states[1:]
    cosines = (before * after).sum(-1) / np.linalg.norm(before, axis=-1) / np.linalg.norm(after, axis=-1)
    assert cosines.mean(-1).argmin() == 5  # the question of the step has an answer: the last


def test_heads(model: LoadedModel, run: Trace) -> None:
    assert tuple(model.model.get_parameter("encoder.layer.0.attention.self.query.weight").shape) == (384, 384)
    assert numbers(LESSON.steps[6]) == said(12, 384, 384, 12, 384, 12, 384 // 12, 12, 768 // 12)


def test_attention(run: Trace) -> None:
    step = LESSON.steps[7]
    assert step.query == {"at": ("1",), "head": ("8",)}
    weights = attention_probs(run, 1, 8)
    assert numbers(step) == said(6, 12, 6 * 12, 1, 1, 8, f"{weights[1, 2]:.2f}")
    words = range(1, 6)
    assert all(weights[place].argmax() == place + 1 for place in words)
    other = attention_probs(run, 1, 9)
    assert sum(other[place].argmax() == place - 1 for place in range(2, 7)) >= 3  # head 9 looks back


def test_pooler(model: LoadedModel, run: Trace) -> None:
    assert numbers(LESSON.steps[8]) == said(384)
    check = pooler_check(model, run)
    assert check is not None
    assert check.max_difference < 1e-6
    assert np.abs(check.output).max() < 0.5  # the question of the step has an answer: no


def test_sentences(model: LoadedModel) -> None:
    step = LESSON.steps[9]
    settings = Settings.from_environment()
    tokenizer = load_tokenizer(resolve(DEFAULT_MODEL, settings), settings)
    lines = EXAMPLES[step.query["example"][0]][1].split("\n")
    runs = [trace(model, tokenize(tokenizer, line)) for line in lines]
    vectors = np.stack([each.hidden_states[-1].mean(0) for each in runs])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = {pair: float(vectors[pair[0]] @ vectors[pair[1]]) for pair in combinations(range(len(lines)), 2)}
    inside = [value for (one, other), value in cosines.items() if one // 2 == other // 2]
    between = [value for (one, other), value in cosines.items() if one // 2 != other // 2]
    assert numbers(step) == said(384, len(lines), "0.57", "0.14")
    assert "normalised to unit length" in step.note
    assert min(inside) > 0.57
    assert max(between) < 0.14
