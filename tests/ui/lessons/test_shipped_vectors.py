"""The lesson on vectors of another program: each number in its texts, from hidden states pooled by hand."""

from itertools import combinations

import numpy as np
from jaxtyping import Float

from bertviz_core.models.sources import resolve
from bertviz_core.sentences.encoding import limited, sentence_vectors
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.ui.lessons.shipped import lesson, model, number_texts, numbers, run, vector
from ui.examples import EXAMPLES

STEPS = lesson("why-are-my-vectors-different").steps
LINES = EXAMPLES["paraphrases"][1].split("\n")
OWN = np.array([vector(line) for line in LINES])


def states(layer: int) -> list[Float[np.ndarray, "seq hidden"]]:
    return [run(line).hidden_states[layer].astype(np.float64) for line in LINES]


def cosines(vectors: list[np.ndarray], others: list[np.ndarray]) -> np.ndarray:
    pairs = zip(vectors, others, strict=True)
    return np.array([one @ other / np.linalg.norm(one) / np.linalg.norm(other) for one, other in pairs])


def mean(each: np.ndarray) -> np.ndarray:
    return np.asarray(each.mean(axis=0))


def weighted(each: np.ndarray) -> np.ndarray:
    return np.asarray(np.arange(1, len(each) + 1) @ each)


def four(value: float) -> str:
    return f"{value:.4f}"


def test_another_pooling() -> None:
    first = [each[0] for each in states(-1)]
    earlier = [[each[0] for each in states(layer)] for layer in range(6)]
    nearest = max(cosines(first, each).mean() for each in earlier)
    assert numbers(STEPS[0]) == [four(cosines(first, list(OWN)).mean()), "1.000000", four(nearest)]


def test_one_layer_earlier() -> None:
    before = [mean(each) for each in states(-2)]
    runner_up = cosines(before, [weighted(each) for each in states(-2)]).mean()
    assert numbers(STEPS[1]) == ["2", four(cosines(before, list(OWN)).mean()), four(runner_up)]


def test_not_normalised() -> None:
    lengths = [float(np.linalg.norm(mean(each))) for each in states(-1)]
    assert max(lengths) > 1.1 * min(lengths)
    assert numbers(STEPS[2]) == ["1.000000", "1"]


def test_texts_cut_off() -> None:
    tokenizer = load_tokenizer(resolve(DEFAULT_MODEL, Settings.from_environment()), Settings.from_environment())
    plan = SentencePlan("mean", max_seq_length=7)
    assert max(len(tokenize(limited(tokenizer, plan), line)) for line in LINES) == 7
    found = cosines(list(sentence_vectors(model(), tokenizer, LINES, plan).vectors.astype(np.float64)), list(OWN))
    assert numbers(STEPS[3]) == number_texts(7, 256, four(found.mean()), four(found.min()))


def test_an_unknown_prompt() -> None:
    found = cosines([vector(f"Represent this text: {line}") for line in LINES], list(OWN))
    assert numbers(STEPS[4]) == [four(found.mean())]


def test_heights() -> None:
    places = list(combinations(range(len(LINES)), 2))
    first = np.array([each[0] / np.linalg.norm(each[0]) for each in states(-1)])
    means = [float(np.mean([each[i] @ each[j] for i, j in places])) for each in (OWN, first)]
    assert numbers(STEPS[5]) == [f"{each:.3f}" for each in means]
