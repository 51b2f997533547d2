"""Smaller vectors are those of sentence-transformers, their nearest those of usearch, their order that of SciPy."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sentence_transformers.util.quantization import quantize_embeddings, semantic_search_usearch

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.sentences.analysis.bits import (
    FORMATS,
    Sizes,
    bits_comparison,
    codes,
    format_nbytes,
    ranges,
    restored,
    scores,
    usual_cuts,
)
from bertviz_core.sentences.analysis.results import BitsComparison, SmallerVectors, VectorFormat
from bertviz_core.sentences.dimensions import MOST_SENTENCES, dimension_curve


def made(count: int, dimensions: int, seed: int = 0) -> np.ndarray:
    """Normalised vectors; one dimension is larger than the others and is never negative."""
    values = np.random.default_rng(seed).normal(size=(count, dimensions))
    values[:, dimensions // 3] = 5 + values[:, dimensions // 3] * 4
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def listed(count: int) -> list[str]:
    """Sentences by their numbers."""
    return [str(place) for place in range(count)]


def row(found: BitsComparison, name: str, rescored: bool, dimensions: int) -> SmallerVectors:
    """One format at one number of dimensions."""
    (only,) = (
        each for each in found.formats if (each.format, each.rescored, each.dimensions) == (name, rescored, dimensions)
    )
    return only


def normalised(vectors: np.ndarray) -> np.ndarray:
    """The vectors with length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def shared(exact: list[list[int]], nearest: list[list[int]]) -> float:
    """Recall: the mean share of the nearest that are among those of another list."""
    return float(np.mean([len({*one} & {*other}) / len(one) for one, other in zip(exact, nearest, strict=True)]))


def pairs_of(matrix: np.ndarray) -> np.ndarray:
    """The entries above the diagonal."""
    return np.asarray(matrix[np.triu_indices(len(matrix), 1)])


@pytest.mark.parametrize("calibrating", [90, 30])
@pytest.mark.parametrize("name", ["int8", "uint8", "binary"])
def test_numbers_are_those_of_sentence_transformers(name: VectorFormat, calibrating: int) -> None:
    vectors = made(90, 53)
    limits = ranges(vectors[:calibrating])
    stored = codes(name, vectors, limits)
    if name == "binary":
        packed = np.packbits(stored, axis=1)
        assert np.array_equal(packed, quantize_embeddings(vectors, "ubinary"))
        assert np.array_equal((packed.astype(np.int16) - 128).astype(np.int8), quantize_embeddings(vectors, "binary"))
        assert format_nbytes(name, 53) == packed.shape[1] == 7
        assert set(np.unique(restored(name, stored, limits))) == {-1.0, 1.0}
        return
    expected = quantize_embeddings(vectors, name, calibration_embeddings=vectors[:calibrating])
    assert stored.dtype == expected.dtype
    assert np.array_equal(stored, expected)
    steps = (vectors[:calibrating].max(axis=0) - vectors[:calibrating].min(axis=0)) / 255
    inside = (vectors >= limits[0]) & (vectors < limits[1])  # others are clipped
    assert (np.abs(restored(name, stored, limits) - vectors) <= steps * 1.001)[inside].all()
    assert inside.mean() > 0.9


def test_bits_are_compared_by_their_hamming_distance() -> None:
    queries, texts = made(7, 53, 1), made(40, 53, 2)
    bits = [np.unpackbits(quantize_embeddings(each, "ubinary"), axis=1) for each in (queries, texts)]
    hamming = (bits[0][:, None, :] != bits[1][None, :, :]).sum(axis=2)
    assert np.array_equal(scores("binary", queries, texts), -hamming)
    signs = [np.where(each > 0, 1.0, -1.0) for each in (queries, texts)]
    assert scores("binary", queries, texts, rescored=True) == pytest.approx(queries @ signs[1].T, abs=1e-5)


@pytest.mark.parametrize("rescored", [False, True])
@pytest.mark.parametrize("cut", [64, 32])
def test_the_nearest_by_whole_numbers_are_those_of_usearch(rescored: bool, cut: int) -> None:
    texts, queries, k = made(120, 64, 3), made(9, 64, 4), 6
    sizes = Sizes([cut, 64], k, oversampling=3)
    found = row(bits_comparison("m", listed(120), texts, (listed(9), queries), sizes), "int8", rescored, cut)
    short = [normalised(each[:, :cut]) for each in (queries, texts)]
    hits, _ = semantic_search_usearch(
        short[0],
        corpus_embeddings=quantize_embeddings(short[1], "int8"),
        corpus_precision="int8",
        top_k=k,
        calibration_embeddings=short[1],
        rescore=rescored,
        rescore_multiplier=3,
    )
    nearest = [[int(hit["corpus_id"]) for hit in each] for each in hits]
    exact = np.argsort(-(queries.astype(np.float64) @ texts.T), axis=1)[:, :k].tolist()
    assert found.recall == pytest.approx(shared(exact, nearest))
    assert found.changed == sum(one[0] != other[0] for one, other in zip(exact, nearest, strict=True))


@pytest.mark.parametrize("cut", [64, 13])
def test_the_nearest_by_bits_have_the_distances_of_usearch(cut: int) -> None:
    texts, queries = made(120, 64, 3)[:, :cut], made(9, 64, 4)[:, :cut]
    stored = quantize_embeddings(texts, "ubinary")
    hits, _ = semantic_search_usearch(queries, stored, corpus_precision="ubinary", top_k=6, rescore=False)
    largest = -np.sort(-scores("binary", queries, texts), axis=1)[:, :6]
    assert [[-hit["score"] for hit in each] for each in hits] == largest.tolist()  # of equal ones usearch takes any


@pytest.mark.parametrize("oversampling", [1, 2, 4])
def test_bits_that_are_rescored_by_their_definition(oversampling: int) -> None:
    vectors, k = made(60, 40, 5), 5
    found = bits_comparison("m", listed(60), vectors, sizes=Sizes([40, 20], k, oversampling))
    for cut in (40, 20):
        bits = vectors[:, :cut] > 0
        exact, plain, again, pairs = [], [], [], []
        for place in range(60):
            others = [other for other in range(60) if other != place]
            cosines = vectors.astype(np.float64) @ vectors[place]
            exact.append(sorted(others, key=lambda other: -cosines[other])[:k])
            near = sorted(others, key=lambda other: (bits[other] != bits[place]).sum())
            plain.append(near[:k])
            products = np.where(bits, 1.0, -1.0) @ normalised(vectors[:, :cut])[place].astype(np.float64)
            again.append(sorted(sorted(near[: k * oversampling]), key=lambda other: -products[other])[:k])
            pairs += [(cosines[other], -(bits[other] != bits[place]).sum(), products[other]) for other in others]
        for place, (rescored, nearest) in enumerate(((False, plain), (True, again)), 1):
            each = row(found, "binary", rescored, cut)
            assert each.recall == pytest.approx(shared(exact, nearest))
            assert each.changed == sum(one[0] != other[0] for one, other in zip(exact, nearest, strict=True))
            by_scipy = spearmanr([pair[0] for pair in pairs], [pair[place] for pair in pairs]).statistic
            assert each.spearman == pytest.approx(by_scipy, abs=1e-6)


def test_float32_of_fewer_dimensions_is_the_curve_of_dimensions() -> None:
    vectors = made(50, 48, 6)
    curve = dimension_curve("m", listed(50), vectors, 5, [12, 24, 48])
    found = bits_comparison("m", listed(50), vectors, sizes=Sizes(neighbours=5))
    rows = [row(found, "float32", False, count) for count in (12, 24, 48)]
    assert [each.recall for each in rows] == pytest.approx(curve.shared.tolist())
    assert [each.spearman for each in rows] == pytest.approx(curve.spearman.tolist(), abs=1e-4)
    assert [each.nbytes for each in rows] == curve.nbytes.tolist()
    assert (rows[-1].recall, rows[-1].spearman, rows[-1].changed) == (1.0, pytest.approx(1.0), 0)
    halves = normalised(vectors).astype(np.float16).astype(np.float64)
    half = row(found, "float16", False, 48)
    expected = spearmanr(pairs_of(vectors @ vectors.T), pairs_of(halves @ halves.T))
    assert half.spearman == pytest.approx(expected.statistic, abs=1e-6)
    assert half.nbytes == 96


def test_the_facts_that_explain_a_loss() -> None:
    vectors = made(30, 24, 7)
    found = bits_comparison("m", listed(30), vectors, sizes=Sizes(calibration=10), trained=(16, 99))
    spans = np.ptp(vectors[::3], axis=0)
    assert found.calibration == 10
    assert found.widest.dimension == int(spans.argmax())
    assert (found.widest.range, found.widest.median_range) == pytest.approx((spans.max(), np.median(spans)))
    squares = (vectors[::3] ** 2).sum(axis=0)
    assert found.widest.share == pytest.approx(squares[spans.argmax()] / squares.sum())
    signs = np.sign(vectors)
    assert found.constant_signs == sum(len(np.unique(signs[:, place])) == 1 for place in range(24))
    assert found.trained == (16,)
    assert {each.dimensions for each in found.formats} == {16, 24}
    assert {each.format for each in found.formats} == {*FORMATS}


def test_usual_cuts() -> None:
    assert usual_cuts(384) == (96, 192, 384)
    assert usual_cuts(384, (64, 128, 384)) == (64, 128, 384)
    assert usual_cuts(3) == (1, 3)
    assert usual_cuts(1) == (1,)


def test_long_lists_and_equal_texts() -> None:
    long = bits_comparison("m", listed(900), made(900, 6), (listed(700), made(700, 6, 1)), Sizes([6]))
    assert len(long.sentences) == len(long.queries) == MOST_SENTENCES
    assert long.calibration == 900
    same = bits_comparison("m", listed(5), np.ones((5, 4), np.float32))
    assert {each.recall for each in same.formats} == {1.0}
    assert all(np.isnan(each.spearman) for each in same.formats)
    zeros = bits_comparison("m", listed(5), np.zeros((5, 4), np.float32))
    assert zeros.widest.share == 0
    assert zeros.constant_signs == 4


def test_hostile_input_is_one_sentence() -> None:
    vectors = made(6, 12)
    for few in (0, 1, 2):
        with pytest.raises(TextError, match="at least 3 sentences"):
            bits_comparison("m", listed(few), vectors[:few])
    for wrong in ([0], [13], []):
        with pytest.raises(TextError, match="have 12 dimensions"):
            bits_comparison("m", listed(6), vectors, sizes=Sizes(wrong))
    for wrong in (0, 6):
        with pytest.raises(TextError, match="give k from 1 to 5"):
            bits_comparison("m", listed(6), vectors, sizes=Sizes(neighbours=wrong))
    with pytest.raises(TextError, match="give k from 1 to 6"):
        bits_comparison("m", listed(6), vectors, (listed(2), vectors[:2]), Sizes(neighbours=7))
    for wrong in (1, 7):
        with pytest.raises(TextError, match="give 2 to 6"):
            bits_comparison("m", listed(6), vectors, sizes=Sizes(calibration=wrong))
    for wrong in (0, 21):
        with pytest.raises(TextError, match="give 1 to 20"):
            bits_comparison("m", listed(6), vectors, sizes=Sizes(oversampling=wrong))
    with pytest.raises(TextError, match="no queries"):
        bits_comparison("m", listed(6), vectors, ([], vectors[:0]))
    broken = vectors.copy()
    broken[2, 11] = np.nan
    for texts, queries in ((broken, None), (vectors, (listed(6), broken))):
        with pytest.raises(CheckpointError, match="NaN or infinity"):
            bits_comparison("m", listed(6), texts, queries)
