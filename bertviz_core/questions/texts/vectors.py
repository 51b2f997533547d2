"""The question which recipe makes vectors that another program computed."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bertviz_core.errors import Named, TextError
from bertviz_core.models.sources import OWN_TOKENIZER
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, long_question
from bertviz_core.questions.texts.sentences import check_dense, option_sentences, own_plan
from bertviz_core.sentences.analysis.recipes import check_vectors, explain_vectors
from bertviz_core.sentences.analysis.results import TokenizerName, VectorExplanation
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.text import quoted
from bertviz_core.trace.tokenization import TextTokenizer

UNKNOWN_PROMPT = "Represent this text: "
MISTAKES: Mapping[str, Callable[[SentencePlan, int], SentencePlan]] = {
    "another pooling": lambda plan, last: replace(
        plan, pooling="cls" if plan.pooling != "cls" else "mean", dense=(), truncate_dim=None
    ),
    "the layer before": lambda plan, last: replace(
        plan, pooling="mean", layer=max(last - 1, 0), dense=(), truncate_dim=None
    ),
    "other lengths": lambda plan, last: replace(plan, normalize=not plan.normalize),
    "texts cut off": lambda plan, last: replace(plan, max_seq_length=7),
    "an unknown prompt": lambda plan, last: replace(plan, prompt=UNKNOWN_PROMPT),
}
"""Mistakes of a made-up other program, by their names."""
OUTSIDE = Param("outside", "text", "the vectors: base64 of their float32 numbers row by row, as embeddings APIs write")
TRIED_PROMPTS = Param("tried_prompts", "text", "prompts to try besides those of the model's folder, one a line")
OUTSIDE_FROM = choice(
    "outside_from", ("an example", "file"), "where vectors of another program come from", "Vectors", parts=True
)
MISTAKE = Param(
    "mistake",
    "choice",
    "what a made-up program does otherwise, where no vectors are there",
    tuple(MISTAKES),
    "Made-up mistake",
    lambda _, options: tuple(MISTAKES) if options.choice(OUTSIDE_FROM) == OUTSIDE_FROM.options[0] else (),
)
STEPS = 24
"""Estimate of the inputs that are tried."""


def outside_options(
    texts: Sequence[str], vectors: Float[np.ndarray, "texts dimensions"], prompts: Sequence[str] = ()
) -> Options:
    """Options for vectors of texts.

    Args:
        texts: the texts, one for each vector.
        vectors: the vectors.
        prompts: prompts to try besides those of the model's folder.
    """
    with np.errstate(over="ignore"):
        written = base64.b64encode(np.ascontiguousarray(vectors, dtype="<f4").tobytes()).decode()
    return Options(tuple(texts), values={OUTSIDE.key: written, TRIED_PROMPTS.key: "\n".join(prompts)})


def vector_rows(texts: Sequence[str], vectors: ArrayLike) -> Float[np.ndarray, "texts dimensions"]:
    """Check vectors from a program of the reader's."""
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TextError("vectors is no array of numbers; give one row of numbers for each text.") from error
    check_vectors(texts, rows)
    return rows


@long_question(
    lambda opened, options: AnswerCost(STEPS), figures=("vector-recipes",), params=(OUTSIDE, TRIED_PROMPTS, MISTAKE)
)
def explained_vectors(
    opened: Opened, options: Options, job: AnswerJob[Answer[VectorExplanation]]
) -> Answer[VectorExplanation]:
    """The recipe that makes vectors of another program: pooling, layer, prompt, length, padding and the rest."""
    texts, plan = option_sentences(options), own_plan(opened)
    check_dense(plan, "Recipes of vectors of other programs")
    notices = () if plan.from_checkpoint else (plan.reason,)
    if options.get(OUTSIDE.key):
        vectors = _decoded(options, len(texts))
    else:
        mistake = options.choice(MISTAKE)
        made_up = MISTAKES[mistake](plan, opened.loaded.num_hidden_layers)
        vectors = sentence_vectors(opened.loaded, opened.tokenizer, texts, made_up).vectors
        notices = (
            f"The vectors are made up for this example, by the model itself with a mistake: {mistake}.",
            *notices,
        )
    prompts = [each for each in options.get(TRIED_PROMPTS.key).splitlines() if each]
    explanation = explain_vectors(opened.loaded, plan, tokenizers(opened), texts, vectors, prompts, job)
    explanation = replace(explanation, notices=(*notices, *plan.notices))
    return replace(answered(opened, explanation, explanation.notices, vector_explanation=explanation), texts=texts)


def tokenizers(opened: Opened) -> dict[TokenizerName, TextTokenizer]:
    """The model's tokenizer, and the one of its two that reads texts otherwise, if any does."""
    by_file = opened.source.own_tokenizer
    own: TokenizerName = "tokenizer.json" if by_file else "AutoTokenizer"
    other: TokenizerName = "AutoTokenizer" if by_file else "tokenizer.json"
    every = {own: opened.tokenizer}
    if by_file or opened.tokenizer.tokens_by_file is not None:
        name = opened.name.removesuffix(OWN_TOKENIZER) if by_file else f"{opened.name}{OWN_TOKENIZER}"
        every[other] = opened.other(name).tokenizer
    return every


def _decoded(options: Options, rows: int) -> Float[np.ndarray, "texts dimensions"]:
    try:
        values = np.frombuffer(base64.b64decode(options.get(OUTSIDE.key), validate=True), dtype="<f4")
    except (binascii.Error, ValueError) as error:
        written = quoted(options.get(OUTSIDE.key), 20)
        raise TextError(f"{written} is no base64 of float32 numbers; give ", Named(OUTSIDE.key), "=BASE64.") from error
    if not len(values) or len(values) % rows:
        raise TextError(
            f"{len(values):,} numbers came for {rows:,} texts; give vectors of one length, one for each text."
        )
    return values.reshape(rows, -1).astype(np.float64)
