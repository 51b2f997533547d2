"""Helpers of the tests of shipped lessons: a lesson by name, the numbers in its texts, the model's own numbers."""

import re
from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.maps import attention_probs
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from ui.lessons.library import Lesson, Step, read_lesson

LESSONS = Path(__file__).parents[3] / "ui" / "lessons" / "shipped"
PAGES = [path.stem for path in (Path(__file__).parents[3] / "pages").glob("[a-z]*.py")]
SINAN = "Sinan loves a beautiful day"
VOCABULARY, POSITIONS, TYPES = 30_522, 512, 2
"""Sizes of BERT and of the bundled model (Devlin et al. 2019)."""


def lesson(name: str) -> Lesson:
    """The shipped lesson of this name."""
    return read_lesson(LESSONS / f"{name}.yaml", PAGES)


def numbers(step: Step) -> list[str]:
    """All numbers in the note, the question and the answer of a step, in order."""
    words = " ".join((step.note, step.question or "", step.answer or ""))
    return re.findall(r"\d[\d,]*(?:\.\d+)?%?(?<!,)", words.replace(DEFAULT_MODEL, ""))


def number_texts(*values: int | str) -> list[str]:
    """Numbers as written in a lesson: whole ones with separators, others unchanged."""
    return [f"{each:,}" if isinstance(each, int) else each for each in values]


@cache
def model() -> LoadedModel:
    """The bundled model."""
    settings = Settings.from_environment()
    return load_model(resolve(DEFAULT_MODEL, settings), settings)


@cache
def tokens(text: str, pair: str | None = None) -> Tokens:
    """Tokens of a text by the bundled model."""
    settings = Settings.from_environment()
    tokenizer = load_tokenizer(resolve(DEFAULT_MODEL, settings), settings)
    return tokenize(tokenizer, text) if pair is None else tokenize(tokenizer, text, pair)


@cache
def run(text: str) -> Trace:
    """The bundled model's run on a text."""
    return trace(model(), tokens(text))


def vector(text: str, layer: int = -1) -> Float[np.ndarray, " hidden"]:
    """A sentence's vector by hand: the mean of its tokens' hidden states, normalised."""
    mean: Float[np.ndarray, " hidden"] = run(text).hidden_states[layer].mean(0)
    return mean / np.linalg.norm(mean)


def cosine(first: str, second: str, layer: int = -1) -> float:
    """Cosine of two sentences."""
    return float(vector(first, layer) @ vector(second, layer))


def weights(layer: int, head: int, text: str = SINAN) -> Float[np.ndarray, "seq seq"]:
    """Attention of one head."""
    return attention_probs(run(text), layer, head)


def attention_parameters(hidden: int) -> int:
    """Number of a layer's attention parameters: four square matrices with biases."""
    return 4 * (hidden * hidden + hidden)


def layer_parameters(hidden: int) -> int:
    """Number of a layer's parameters: attention, a feed-forward block four times as wide, two layer norms."""
    return attention_parameters(hidden) + feed_forward_parameters(hidden) + 4 * hidden


def feed_forward_parameters(hidden: int) -> int:
    """Number of a layer's feed-forward parameters, four times as wide as the hidden size."""
    return 2 * hidden * 4 * hidden + 5 * hidden


def embedding_parameters(hidden: int) -> int:
    """Number of embedding parameters: three tables and a layer norm."""
    return (VOCABULARY + POSITIONS + TYPES + 2) * hidden


def total_parameters(hidden: int, layers: int) -> int:
    """Number of parameters of a BERT with a pooler."""
    return embedding_parameters(hidden) + layers * layer_parameters(hidden) + hidden * hidden + hidden
