"""The lesson on sentences: each number in its texts, from vectors averaged by hand."""

from itertools import combinations

import numpy as np

from tests.ui.lessons.shipped import cosine, lesson, number_texts, numbers, run, vector
from ui.examples import EXAMPLES

STEPS = lesson("what-makes-two-sentences-alike").steps
PAIRS = (0, 2, 4, 6)


def lines(example: str) -> list[str]:
    """The sentences of an example."""
    return EXAMPLES[example][1].split("\n")


def all_pairs(sentences: list[str]) -> list[tuple[int, int]]:
    """Indices of all pairs."""
    return list(combinations(range(len(sentences)), 2))


def cells(first: str, second: str) -> np.ndarray:
    """Contribution of each pair of tokens to the cosine of two sentences."""
    one, other = (run(text).hidden_states[-1].astype(np.float64) for text in (first, second))
    lengths = np.linalg.norm(one.mean(0)) * np.linalg.norm(other.mean(0))
    return np.asarray(one @ other.T / (len(one) * len(other) * lengths))


def test_one_number() -> None:
    sentences = lines("paraphrases")
    inside = [cosine(*sentences[place : place + 2]) for place in PAIRS]
    others = [cosine(sentences[i], sentences[j]) for i, j in all_pairs(sentences) if i // 2 != j // 2]
    assert numbers(STEPS[0]) == number_texts(384, f"{min(inside):.2f}", f"{max(inside):.2f}", "0.14")
    assert max(others) < 0.14


def test_the_sum() -> None:
    first, second = STEPS[1].sentences or ()
    added = cells(first, second)
    one, other = (run(text).tokens.tokens for text in (first, second))
    largest = np.argsort(added, axis=None)[::-1][:2]
    places = [np.unravel_index(place, added.shape) for place in largest]
    assert [(one[i], other[j]) for i, j in places] == [("film", "movie"), ("wonderful", "enjoyed")]
    top = [f"{added[place]:.4f}" for place in places]
    special = added[0].sum(), added[-1].sum()
    answer = (*(f"{each:.3f}" for each in special), f"{sum(special) / added.sum():.0%}")
    assert numbers(STEPS[1]) == number_texts(7, 10, f"{added.sum():.4f}", *top, added.size, *answer)
    assert abs(added.sum() - cosine(first, second)) < 1e-5


def test_negation() -> None:
    sentences = lines("negation")
    opposites = [cosine(*sentences[place : place + 2]) for place in PAIRS]
    alike = [cosine(*lines("paraphrases")[place : place + 2]) for place in PAIRS]
    assert min(opposites) >= 0.74
    assert sum(min(opposites) > each for each in alike) == 4
    added = cells(*sentences[:2])
    words = run(sentences[1]).tokens.tokens
    columns = [f"{added[:, words.index(word)].sum():.3f}" for word in ("not", "restaurant")]
    note = (f"{opposites[0]:.2f}", f"{opposites[3]:.2f}", "0.74")
    assert numbers(STEPS[2]) == number_texts(*note, columns[0], f"{opposites[0]:.3f}", columns[1])


def test_word_order() -> None:
    sentences = lines("word order")
    last = f"{cosine(*sentences[:2]):.4f}"
    answer = (f"{cosine(*sentences[:2], layer=0):.4f}", last)
    assert numbers(STEPS[3]) == number_texts(last, f"{cosine(*sentences[6:]):.4f}", *answer)


def test_homonyms() -> None:
    sentences = lines("homonyms")
    found = [f"{cosine(sentences[i], sentences[j]):.4f}" for i, j in ((1, 2), (2, 3), (4, 5), (6, 7))]
    assert numbers(STEPS[4]) == number_texts(*found)
    assert found[0] > found[1]
    for python in (6, 7):
        others = [cosine(sentences[python], sentences[place]) for place in range(6)]
        assert max(others) < cosine(sentences[6], sentences[7])


def test_poolings() -> None:
    sentences = lines("paraphrases")
    states = [run(sentence).hidden_states[-1] for sentence in sentences]
    means = []
    for pooled in ([each.mean(0) for each in states], [each[0] for each in states], [each.max(0) for each in states]):
        unit = [each / np.linalg.norm(each) for each in pooled]
        means.append(f"{np.mean([unit[i] @ unit[j] for i, j in all_pairs(sentences)]):.3f}")
    assert numbers(STEPS[5]) == number_texts(len(all_pairs(sentences)), *means, "0.7")


def test_the_map() -> None:
    vectors = np.stack([vector(sentence) for sentence in lines("paraphrases")])
    spread = np.linalg.svd(vectors - vectors.mean(0), compute_uv=False) ** 2
    assert numbers(STEPS[6]) == number_texts(f"{spread[:2].sum() / spread.sum():.1%}")
