"""The question what vectors of fewer bits and dimensions keep, on the reader's own texts and queries."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Named, TextError
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import MOST_DIGITS, Options, Param, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.dimensions import DIMENSIONS, NOT_TRAINED, TRAINED, chosen_dimensions
from bertviz_core.questions.texts.sentences import (
    AS_LIST,
    PROMPT,
    QUERY_PROMPT,
    VECTORS,
    check_dense,
    query_model,
    sentence_plan,
    sentence_vectors,
    vector_options,
)
from bertviz_core.sentences.analysis.bits import (
    LEAST_CALIBRATION,
    MOST_OVERSAMPLING,
    STEADY_CALIBRATION,
    USUAL_OVERSAMPLING,
    Sizes,
    bits_comparison,
    usual_neighbours,
)
from bertviz_core.sentences.analysis.results import BitsComparison
from bertviz_core.sentences.dimensions import MOST_SENTENCES, trained_dimensions
from bertviz_core.sentences.two_models import LEAST_SENTENCES, evenly_chosen
from bertviz_core.text import counted, escape_controls, repair_surrogates

QUERY_LINES = Param(
    "query_lines", "text", "queries, one a line; by default each sentence is one, for all others", label="Queries"
)
QUERIES_FROM = choice(
    "queries_from", ("the sentences", "my own list", "file"), "where queries come from", "Queries", parts=True
)


def own_queries(opened: object, options: Options) -> bool:
    """Whether a page has queries beside the sentences."""
    return options.choice(QUERIES_FROM) != QUERIES_FROM.options[0]


def _compared(options: Options) -> int:
    return min(len(options.texts), MOST_SENTENCES)


def _enough(opened: object, options: Options) -> bool:
    return len(options.texts) >= LEAST_SENTENCES


NEAREST = Param(
    "nearest",
    "whole",
    "number of nearest texts that are compared; 10, or half of a short list, by default",
    label="Nearest texts (k)",
    bounds=lambda _, options: (1, _compared(options) - 1, usual_neighbours(_compared(options))),
    applies=_enough,
)
OVERSAMPLING = Param(
    "oversampling",
    "whole",
    f"how many times k candidates are compared again where there is rescoring; {USUAL_OVERSAMPLING} by default",
    label="Candidates, times k",
    bounds=lambda _, options: (1, MOST_OVERSAMPLING, USUAL_OVERSAMPLING),
    applies=_enough,
)
CALIBRATION = Param(
    "calibration",
    "whole",
    "number of sentences, evenly spaced, whose vectors set the ranges of int8 and uint8; all by default",
    label="Sentences for the ranges",
    bounds=lambda _, options: (LEAST_CALIBRATION, len(options.texts), len(options.texts)),
    applies=_enough,
)


@question(
    figures=("bits",), params=(*VECTORS, QUERY_LINES, QUERY_PROMPT, NEAREST, OVERSAMPLING, CALIBRATION, DIMENSIONS)
)
def fewer_bits(opened: Opened, options: Options) -> Answer[BitsComparison]:
    """Recall, rank correlation and bytes of vectors as float16, int8, uint8 and signs, also in fewer dimensions."""
    check_dense(sentence_plan(opened, options), "Fewer bits and dimensions")
    made = sentence_vectors(opened, vector_options(opened, options))
    name, sentences, vectors = opened.source.name, made.result.sentences, made.result.vectors
    lines, chosen = query_lines(options), compared_queries(options)
    trained = trained_dimensions(opened.source, opened.settings)
    comparison = bits_comparison(
        name, sentences, vectors, encoded_queries(opened, options, chosen), _sizes(options), trained
    )
    notices = [NOT_TRAINED.format(model=name)]
    if comparison.trained:
        notices = [TRAINED.format(model=name, dimensions=", ".join(f"{each:,}" for each in comparison.trained))]
    for what, all_of_them, compared in (
        ("sentences", sentences, comparison.sentences),
        ("queries", lines, comparison.queries),
    ):
        if len(all_of_them) > len(compared):
            notices.append(
                f"{len(compared):,} of the {len(all_of_them):,} {what} are compared, evenly spaced in the list."
            )
    notices.append(_calibration_words(comparison, len(sentences)))
    comparison = replace(comparison, notices=tuple(notices))
    return made.of(comparison, comparison.notices, bits_comparison=comparison)


def query_lines(options: Options) -> tuple[str, ...]:
    """The queries of the options; () where each sentence is one."""
    lines = (repair_surrogates(each).strip() for each in options.get(QUERY_LINES.key).splitlines())
    return tuple(each for each in lines if each)


def compared_queries(options: Options) -> tuple[str, ...]:
    """The queries; of a long list evenly spaced ones."""
    lines = query_lines(options)
    return tuple(lines[place] for place in evenly_chosen(len(lines), MOST_SENTENCES))


def query_options(opened: Opened, options: Options, queries: tuple[str, ...]) -> Options:
    """Options for the vectors of queries, which may have a prompt of their own."""
    prompt = options.get(QUERY_PROMPT.key, AS_LIST)
    own = {} if prompt in ("", AS_LIST) else {PROMPT.key: prompt}
    return vector_options(opened, replace(options, texts=queries, values={**options.values, **own}))


def encoded_queries(
    opened: Opened, options: Options, queries: tuple[str, ...]
) -> tuple[tuple[str, ...], Float[np.ndarray, "queries dimensions"]] | None:
    """The queries and their vectors; None without any."""
    if not queries:
        return None
    reader = query_model(opened)
    return queries, sentence_vectors(reader, query_options(reader, options, queries)).result.vectors


def _sizes(options: Options) -> Sizes:
    factor = _number(options, OVERSAMPLING)
    return Sizes(
        chosen_dimensions(options),
        _number(options, NEAREST),
        USUAL_OVERSAMPLING if factor is None else factor,
        _number(options, CALIBRATION),
    )


def _number(options: Options, param: Param) -> int | None:
    """A whole number of the options; None where it is left to the question."""
    written = options.get(param.key).strip()
    if written and not (written.isascii() and written.isdigit() and len(written) <= MOST_DIGITS):
        raise TextError(f"{escape_controls(written[:20])!r} is no number from 0; give ", Named(param.key), "=10.")
    return int(written) if written else None


def _calibration_words(comparison: BitsComparison, sentences: int) -> str:
    which = "all" if comparison.calibration == sentences else f"{comparison.calibration:,} of the"
    words = f"The ranges of int8 and uint8 are those of {which} {counted(sentences, 'sentence')}"
    if comparison.calibration < STEADY_CALIBRATION:
        words += f"; below {STEADY_CALIBRATION}, sentence-transformers warns, they are unsteady"
    return f"{words}."
