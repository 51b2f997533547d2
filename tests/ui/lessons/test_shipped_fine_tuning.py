"""The lesson on a fine-tuning: each number in its texts, from the weights and from vectors averaged by hand."""

from functools import cache

import numpy as np
import pytest
from safetensors.numpy import load_file

from bertviz_core.models.catalog import FINE_TUNED, WEIGHTS, bundled_folder
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.predictions.probing.reading import example_set
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.checkpoints.test_layer_similarity import plain_cka
from tests.ui.lessons.shipped import lesson, number_texts, numbers

STEPS = lesson("a-fine-tuning-that-collapsed").steps
MODELS = (DEFAULT_MODEL, FINE_TUNED)


@cache
def states(name: str, texts: tuple[str, ...]) -> np.ndarray:
    """Mean of the tokens' vectors of each text at every hidden state (states, texts, hidden)."""
    settings = Settings.from_environment()
    source = resolve(name, settings)
    loaded, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    runs = [trace(loaded, tokenize(tokenizer, text)).hidden_states.mean(axis=1) for text in texts]
    return np.stack(runs, axis=1)


def alike(vectors: np.ndarray) -> np.ndarray:
    """Cosines of all pairs of rows."""
    directions = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(directions @ directions.T)


def cosines(step: int, state: int = -1) -> list[np.ndarray]:
    """Cosines of the sentences of a step in both models."""
    texts = tuple(STEPS[step].sentences or ())
    return [alike(states(name, texts)[state]) for name in MODELS]


def mean(matrix: np.ndarray) -> str:
    return f"{matrix[np.triu_indices(len(matrix), 1)].mean():.2f}"


def nearest(matrix: np.ndarray, count: int = 1) -> np.ndarray:
    return np.argsort(-(matrix - 2 * np.eye(len(matrix))), axis=1)[:, :count]


def kept(both: list[np.ndarray]) -> int:
    return int((nearest(both[0]) == nearest(both[1])).sum())


def test_two_checkpoints() -> None:
    first, second = (load_file(bundled_folder(name) / WEIGHTS) for name in MODELS)
    moved = {name: float(np.linalg.norm(second[name] - first[name])) for name in second}
    whole = {name: float(np.linalg.norm(first[name])) for name in second}
    change = np.linalg.norm(list(moved.values())) / np.linalg.norm(list(whole.values()))
    shares = {name: moved[name] / whole[name] for name in second if whole[name]}
    most = max(shares, key=shares.__getitem__)
    assert most == "encoder.layer.5.attention.self.value.bias"
    assert numbers(STEPS[0]) == number_texts(len(second), f"{change:.2%}", f"{shares[most]:.1%}")


@pytest.mark.slow
def test_what_it_has_learned() -> None:
    base, tuned = cosines(1)
    assert numbers(STEPS[1]) == number_texts(f"{base[0, 1]:.2f}", f"{tuned[0, 1]:.2f}", mean(base), mean(tuned))
    assert nearest(tuned)[:, 0].tolist() == [1, 0, 3, 2, 5, 4]
    assert nearest(base)[:, 0].tolist() != [1, 0, 3, 2, 5, 4]


def test_a_sentence_from_elsewhere() -> None:
    base, tuned = cosines(2)
    with_python = {f"{tuned[0, 2]:.2f}", f"{tuned[1, 2]:.2f}"}
    assert with_python == {"0.80"}
    alone = (f"{matrix[place]:.2f}" for matrix, place in ((base, (0, 1)), (base, (0, 2)), (base, (1, 2))))
    assert numbers(STEPS[2]) == number_texts(*alone, f"{tuned[0, 1]:.2f}", *with_python, kept([base, tuned]), 3)
    assert nearest(tuned)[:2, 0].tolist() == [2, 2]


@pytest.mark.slow
def test_ten_sentences() -> None:
    both = cosines(3)
    assert numbers(STEPS[3]) == number_texts(*map(mean, both), kept(both), 10)


def test_one_layer_earlier() -> None:
    earlier, last = cosines(4, 5), cosines(4)
    means, ends = [mean(each) for each in earlier], [mean(each) for each in last]
    assert STEPS[4].sentences == STEPS[3].sentences
    assert numbers(STEPS[4]) == number_texts("4", *means, kept(earlier), 10, means[0], ends[0], means[1], ends[1])


@pytest.mark.slow
def test_since_which_layer() -> None:
    texts = example_set().texts
    first, second = (states(name, texts) for name in MODELS)
    means = [[mean(alike(vectors[state])) for vectors in (first, second)] for state in (5, 6)]
    near = [[nearest(alike(v[state]), 10) for v in (first, second)] for state in (1, 6)]
    shares = [np.mean([len({*a} & {*b}) / 10 for a, b in zip(one, other, strict=True)]) for one, other in near]
    written = numbers(STEPS[5])
    assert written[:7] == number_texts(len(texts), "4", *means[0], "5", *means[1])
    assert (written[7], written[9]) == (f"{shares[1]:.0%}", f"{shares[0]:.0%}")
    for state, number in ((6, written[8]), (1, written[10])):
        assert f"{plain_cka(first[state], second[state]):.2f}" == number
