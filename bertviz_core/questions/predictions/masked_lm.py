"""Predictions of a masked-LM head: words at masks, surprise, logit lens, term expansion."""

from dataclasses import replace

import numpy as np

from bertviz_core.errors import Named, TextError
from bertviz_core.figures.predictions.masked_lm import HOVERED_WORDS, MEASURES
from bertviz_core.predictions.classes import table_weights
from bertviz_core.predictions.classes import term_ledger as ledger_of
from bertviz_core.predictions.classes import term_weights as weights_of
from bertviz_core.predictions.masked_lm import (
    MAX_MASKS,
    MaskedReading,
    compared_word,
    mask_id,
    read_masked,
    shift_position,
    words_of,
)
from bertviz_core.predictions.masked_lm import logit_lens as lens_of
from bertviz_core.predictions.masked_lm import word_shift as shift_of
from bertviz_core.predictions.results import (
    ComparedWord,
    LogitLens,
    PseudoLikelihood,
    TermLedger,
    TermWeights,
    WordPrediction,
    WordShift,
)
from bertviz_core.predictions.scoring import pseudo_likelihood
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, AnswerCost, Job, long_question, question
from bertviz_core.questions.texts.sentences import (
    MEASURE,
    QUERY,
    QUERY_PROMPT,
    VECTORS,
    neighbours,
    own_plan,
    query_reader,
    sentence_plan,
)
from bertviz_core.questions.texts.tokens import EDITED, EDITED_PAIR, edited_tokens, tokens
from bertviz_core.sentences.encoding import sentence_tokens
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.text import escape_controls
from bertviz_core.trace.pieces import text_pieces
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import longest_piece

TOP, MOST_TERMS, FIRST_TERMS = 10, 50, 12
"""Number of words at a position; maximum and default number of terms to draw."""
TASK, NO_MASK = "masked-lm", "none"
"""Task of the head; value of MASK to mask nothing."""
MASK = Param(
    "mask",
    "text",
    "positions that are masked, with commas between them, or none",
    label="Masked tokens",
    values=lambda opened, options: _maskable(opened, options),
    bounds=lambda opened, options: (0, max(MAX_MASKS - len(_typed(opened, _read(opened, options))), 1), 0),
)
POSITION = Param(
    "position",
    "position",
    "the position whose words are listed, the first mask by default",
    label="Position",
    bounds=lambda opened, options: _positions(opened, options),
    listed=True,
)
COMPARE = Param("compare", "text", "a word of one's own at the position", label="A word of your own")
LENS = choice("lens", MEASURES, "what the cells are coloured by", "Coloured by")
TERMS_OF = ("both texts", "the first text", "the second text")
TERMS = choice("terms", TERMS_OF, "the terms that are drawn", "Terms of")
SHOWN = Param(
    "shown",
    "whole",
    "terms that are drawn",
    label="Terms shown",
    bounds=lambda opened, options: (1, min(_term_count(opened, options), MOST_TERMS), FIRST_TERMS),
)
GUESS = Param(
    "guess",
    "position",
    "the token that is guessed in both versions",
    label="Guessed token",
    bounds=lambda opened, options: _guesses(opened, options),
    listed=True,
)


@question(figures=("masked-text",), params=(MASK, POSITION))
def masked_words(opened: Opened, options: Options) -> Answer[WordPrediction]:
    """Most likely words at every position."""
    read = tokens(opened, options)
    reading = _reading(opened, options, read.result)
    key = (__name__, "every_word", read.result.text, read.result.pair, reading.masked)
    prediction = opened.get_or_compute(key, lambda: words_of(opened.head(TASK), reading, TOP))
    position = _position(opened, options, reading)
    drawn = {"text_pieces": text_pieces(read.result), "word_position": position}
    return read.of(prediction, prediction.notices, word_prediction=prediction, **drawn)


@question(figures=("masked-words",), params=(MASK, POSITION, COMPARE))
def words_at_position(opened: Opened, options: Options) -> Answer[WordPrediction]:
    """Most likely words at one position only, and a word to compare with."""
    answer = tokens(opened, options)
    reading = _reading(opened, options, answer.result)
    position = _position(opened, options, reading)
    prediction = words_of(opened.head(TASK), reading, TOP, (position,))
    compared = own_word(opened, options).result if options.get(COMPARE.key).strip() else None
    best = opened.tokenizer.spelled(prediction.top_ids[position].tolist())
    drawn = {"best_words": best, "word_position": position, "compared_word": compared}
    return answer.of(prediction, prediction.notices, word_prediction=prediction, **drawn)


@question(params=(MASK, POSITION, COMPARE))
def own_word(opened: Opened, options: Options) -> Answer[ComparedWord]:
    """Probability of a given word at a position, which is masked for this."""
    read = tokens(opened, options)
    masked, word = masked_positions(opened, options, read.result), options.get(COMPARE.key).strip()
    position = shown_position(opened, options, read.result, masked)
    others = [place for place in masked if place != position]
    return read.of(compared_word(opened.head(TASK), opened.tokenizer, read.result, position, word, others))


def _surprise_cost(opened: Opened, options: Options) -> AnswerCost:
    read = tokens(opened, options).result
    count = int((~read.special).sum())
    return AnswerCost(count, read, count)


@long_question(_surprise_cost, figures=("surprise",), noun="tokens masked")
def surprise(opened: Opened, options: Options, job: Job[PseudoLikelihood]) -> Answer[PseudoLikelihood]:
    """Surprise of every token when only this token is masked."""
    read = tokens(opened, options)
    result = pseudo_likelihood(opened.head(TASK), opened.tokenizer, read.result, job)
    return read.of(result, result.notices, pseudo_likelihood=result, text_pieces=text_pieces(read.result))


@question(figures=("lens",), params=(MASK, LENS))
def lens(opened: Opened, options: Options) -> Answer[LogitLens]:
    """The head applied to the hidden states of every layer."""
    read = tokens(opened, options)
    masked = masked_positions(opened, options, read.result)
    head, spell = opened.head(TASK), opened.tokenizer.spelled
    key = (__name__, "every_layer", read.result.text, read.result.pair, tuple(masked))
    answer = opened.get_or_compute(key, lambda: lens_of(head, opened.tokenizer, read.result, masked, TOP))
    best = [[spell(cell) for cell in row] for row in answer.top_ids[..., :HOVERED_WORDS].tolist()]
    return read.of(answer, answer.notices, logit_lens=answer, lens_words=best, lens_measure=options.choice(LENS))


def own_weights(opened: Opened, text: str, plan: SentencePlan | None = None) -> TermWeights:
    """Term weights of a text; of a sparse encoder as its folder, or a plan made of that, says."""
    plan = plan or own_plan(opened)
    if plan.pooling == "idf":
        return table_weights(opened.loaded, sentence_tokens(opened.tokenizer, text, plan), plan)
    head = opened.head(TASK)
    if plan.sparse is None:
        return weights_of(head, opened.tokens(text, None))
    return weights_of(head, sentence_tokens(opened.tokenizer, text, plan), plan)


@question()
def term_weights(opened: Opened, options: Options) -> Answer[TermWeights]:
    """Term weights of the text; may be empty."""
    text = options.text()
    weights = own_weights(opened, text)
    return replace(answered(opened, weights, weights.notices), texts=(text,))


@question(figures=("terms",), params=(SHOWN,))
def terms(opened: Opened, options: Options) -> Answer[TermWeights]:
    """Terms with the largest weights."""
    answer = term_weights(opened, Options((options.text(),)))
    count, words = _shown(options, len(answer.result.ids)), opened.tokenizer.spelled(answer.result.ids.tolist())
    return answer.of(answer.result, term_weights=answer.result, term_words=words[:count], every_term=words)


@question()
def shared_terms(opened: Opened, options: Options) -> Answer[TermLedger]:
    """Score of two texts as a sum over their shared terms; may be empty."""
    if options.pair is None:
        what = "This figure compares two texts, and one came; give the second with "
        raise TextError(what, Named("pair"), ".")
    first, second = (term_weights(opened, Options((text,))) for text in (options.text(), options.pair))
    drawn = {"term_weights": first.result, "second_weights": second.result}
    notices = tuple(dict.fromkeys((*first.notices, *second.notices)))
    ledger = ledger_of(first.result, second.result)
    return Answer(ledger, first.models, (*first.texts, *second.texts), notices, drawn)


@question(figures=("term-score",), params=(SHOWN,))
def term_ledger(opened: Opened, options: Options) -> Answer[TermLedger]:
    """Score of two texts as a sum over terms."""
    answer = shared_terms(opened, options.only())
    count, words = _shown(options, len(answer.result.ids)), opened.tokenizer.spelled(answer.result.ids.tolist())
    drawn = {**answer.drawn, "term_ledger": answer.result, "ledger_words": words[:count], "every_term": words}
    return answer.of(answer.result, **drawn)


@question(params=(*VECTORS, QUERY, QUERY_PROMPT, MEASURE))
def query_terms(opened: Opened, options: Options) -> Answer[TermLedger]:
    """The dot product of a query and the sentence nearest to it as a sum over words, of a sparse encoder."""
    near, (reader, plan) = neighbours(opened, options), query_reader(opened, options)
    first = own_weights(reader, near.drawn["query"], plan)
    nearest = near.drawn["vectors"].sentences[near.result.index[0]]
    second = own_weights(opened, nearest, sentence_plan(opened, options))
    drawn = {"term_weights": first, "second_weights": second}
    return near.of(ledger_of(first, second), (*first.notices, *second.notices), **drawn)


@question(figures=("words-change",), params=(EDITED, EDITED_PAIR, GUESS))
def word_shift(opened: Opened, options: Options) -> Answer[WordShift]:
    """Most likely words at a position before and after an edit."""
    read, edited = tokens(opened, options), edited_tokens(opened, options)
    default = shift_position(opened.tokenizer, read.result, edited.result)
    guess = options.whole(GUESS.key, len(read.result), default)
    shift = shift_of(opened.head(TASK), opened.tokenizer, read.result, edited.result, guess)
    drawn = {"word_shift": shift, "guessed_token": read.result.tokens[guess], "model_name": opened.source.name}
    return Answer(shift, read.models, (*read.texts, *edited.texts), (*read.notices, *shift.notices), drawn)


def _read(opened: Opened, options: Options) -> Tokens:
    return opened.tokens(options.text(), options.pair)


def _maskable(opened: Opened, options: Options) -> tuple[str, ...]:
    """The masks of the default, as in an address, and the positions that can be masked."""
    read = _read(opened, options)
    first, typed = masked_positions(opened, Options(), read), _typed(opened, read)
    return ",".join(map(str, first)) or NO_MASK, *(str(place) for place in range(len(read)) if place not in typed)


def _positions(opened: Opened, options: Options) -> tuple[int, int, int]:
    read = _read(opened, options)
    return 0, len(read) - 1, _first_position(opened, read, masked_positions(opened, options, read))


def _guesses(opened: Opened, options: Options) -> tuple[int, int, int]:
    read = _read(opened, options)
    return 0, len(read) - 1, shift_position(opened.tokenizer, read, edited_tokens(opened, options).result)


def terms_text(options: Options) -> Options:
    """The text whose terms are drawn, of two."""
    second = options.pair is not None and options.get(TERMS.key) == TERMS_OF[2]
    return Options((str(options.pair),) if second else options.texts)


def of_both(options: Options) -> bool:
    """Whether the terms of two texts are drawn together."""
    return options.pair is not None and options.get(TERMS.key, TERMS_OF[0]) == TERMS_OF[0]


def _term_count(opened: Opened, options: Options) -> int:
    answer = shared_terms(opened, options.only()) if of_both(options) else term_weights(opened, terms_text(options))
    return len(answer.result.ids)


def _typed(opened: Opened, read: Tokens) -> list[int]:
    return np.flatnonzero(read.input_ids == mask_id(opened.tokenizer)).tolist()


def masked_positions(opened: Opened, options: Options, read: Tokens) -> list[int]:
    """Positions to mask; defaults to the longest word unless the text contains a mask."""
    value, count, typed = options.get(MASK.key), len(read), _typed(opened, read)
    if MASK.key not in options.values:
        return [] if typed else [longest_piece(read)]
    places = value.split(",") if value != NO_MASK else []
    if not all(place in map(str, range(count)) for place in places):
        what = f"={escape_controls(value[:20])} here; give positions from 0 to {count - 1} with commas between "
        raise TextError("There is no ", Named(MASK.key), f"{what}them, or none.")
    return sorted({int(place) for place in places} - set(typed))


def _reading(opened: Opened, options: Options, read: Tokens) -> MaskedReading:
    """The run on the masked text, from which the head predicts at one or all positions."""
    masked = masked_positions(opened, options, read)
    key = (__name__, "reading", read.text, read.pair, tuple(masked))
    return opened.get_or_compute(key, lambda: read_masked(opened.head(TASK), opened.tokenizer, read, masked))


def shown_position(opened: Opened, options: Options, read: Tokens, masked: list[int]) -> int:
    """The position whose words are listed; defaults to the first mask, else to the longest word."""
    return options.whole(POSITION.key, len(read), _first_position(opened, read, masked))


def _position(opened: Opened, options: Options, reading: MaskedReading) -> int:
    return shown_position(opened, options, reading.tokens, list(reading.masked))


def _first_position(opened: Opened, read: Tokens, masked: list[int]) -> int:
    return (*_typed(opened, read), *masked, longest_piece(read))[0]


def _shown(options: Options, count: int) -> int:
    most = min(count, MOST_TERMS)
    if most == 0:
        raise TextError("No term of the vocabulary has a weight here, so nothing can be drawn; give other texts.")
    return options.whole(SHOWN.key, most + 1, min(FIRST_TERMS, most)) or 1
