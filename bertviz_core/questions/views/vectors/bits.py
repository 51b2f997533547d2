"""What the page Sentences shows of vectors with fewer bits and dimensions."""

from collections.abc import Iterator
from dataclasses import replace

from bertviz_core.figures.sentences.bits import (
    asking_words,
    bits_figure,
    candidate_words,
    format_rows,
    kept_words,
    widest_words,
)
from bertviz_core.figures.sentences.similarity import dimensions_figure
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.texts.bits import (
    CALIBRATION,
    NEAREST,
    OVERSAMPLING,
    QUERY_LINES,
    compared_queries,
    fewer_bits,
    query_options,
)
from bertviz_core.questions.texts.dimensions import fewer_dimensions
from bertviz_core.questions.texts.sentences import QUERY_PROMPT, sentence_vectors, vector_options
from bertviz_core.questions.view import Ask, Figure, Notices, Part, Text
from bertviz_core.questions.views.texts import sentences as texts
from bertviz_core.questions.views.vectors.plan import made_by, vectors_used
from bertviz_core.sentences.analysis.results import BitsComparison
from bertviz_core.sentences.two_models import LEAST_SENTENCES

BITS = (
    "Every vector is cut to its first dimensions, normalised, and stored in a format. float16 rounds each number. int8 "
    "and uint8 divide the range of each dimension, from its least to its greatest number in the sentences for the "
    "ranges, into 255 steps, as `quantize_embeddings` of sentence-transformers does; numbers outside are put at the "
    "ends. Two such vectors are compared by the product of their whole numbers, in which every dimension has the same "
    "range and its offset enters, too: that loses more than the rounding. Binary keeps the sign of each number, eight "
    "to a byte, and compares by the number of different signs (the Hamming distance). Rescored: of some times k "
    "candidates by these numbers, the product of the float32 query with their restored numbers (of signs 1 and -1) "
    "decides, as in `semantic_search_usearch`; the memory is that of the small vectors. Recall is the mean share of "
    "the k nearest by the cosine of the full float32 vectors that are among the k nearest; ties are by the order of "
    "the list. The rank correlation is Spearman's over all pairs. Among many texts the nearest lie closer together, so "
    "recall is lower than among these."
)
READ = (
    "A line is a format, and its marks from the right are vectors of {dimensions} dimensions: further left is smaller, "
    "higher is better. {queries} {rescored}"
)


def smaller_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Recall over the bytes of a vector by format, and what fewer dimensions keep."""
    yield from vectors_used(opened, ask, options)
    plain = vector_options(opened, options)
    vectors = ask(sentence_vectors, plain).result
    yield Notices(vectors.notices, "caption")
    if len(vectors.sentences) < LEAST_SENTENCES:
        yield Text(texts.FEW, "notice")
        return
    queries = compared_queries(options)
    if queries:  # first, as it may take long
        ask(sentence_vectors, query_options(opened, options, queries))
    own = _values(options, bool(queries))
    of_bits = replace(plain, values={**plain.values, **own})
    answer = ask(fewer_bits, of_bits)
    comparison = answer.result
    yield Text(f"**{kept_words(comparison)}**")
    yield Figure.of(
        bits_figure,
        answer,
        f"smaller vectors {made_by(vectors)}",
        texts=comparison.sentences,
        formats={"recall": "percent"},
        below=[
            Text(_reading(comparison)),
            Text(widest_words(comparison), "caption"),
            Notices(comparison.notices, "caption"),
        ],
        **explained(BITS, fewer_bits, opened, of_bits),
    )
    yield Text("Fewer dimensions", "heading")
    cut = ask(fewer_dimensions, plain)
    yield Figure.of(
        dimensions_figure,
        cut,
        f"dimensions {made_by(vectors)}",
        texts=cut.result.sentences,
        formats={"neighbours kept": "percent"},
        below=[Notices([each for each in cut.result.notices if each not in comparison.notices], "caption")],
        **explained(texts.CUT, fewer_dimensions, opened, replace(plain, texts=cut.result.sentences)),
    )


def _values(options: Options, queries: bool) -> dict[str, str]:
    """The values of the options that the question reads and that are not its own."""
    keys = [NEAREST.key, OVERSAMPLING.key, CALIBRATION.key, *((QUERY_LINES.key, QUERY_PROMPT.key) if queries else ())]
    return {key: options.values[key] for key in keys if options.get(key)}


def _reading(comparison: BitsComparison) -> str:
    counts = [f"{each.dimensions:,}" for each in format_rows(comparison)[0]]
    return READ.format(
        dimensions=" and ".join([", ".join(counts[:-1]), counts[-1]] if counts[1:] else counts),
        queries=asking_words(comparison),
        rescored=candidate_words(comparison),
    )
