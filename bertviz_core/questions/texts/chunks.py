"""Questions about a long text: the share of each position in its vector, and its chunks in both ways."""

from dataclasses import replace

from bertviz_core.errors import Named, TextError
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import MOST_DIGITS, Options, Param
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, Job, long_question, question
from bertviz_core.questions.texts.sentences import (
    PLAN,
    QUERY_PROMPT,
    check_dense,
    check_width,
    encoded_query,
    sentence_plan,
)
from bertviz_core.sentences.analysis.chunks import (
    CHUNK_TOKENS,
    Whole,
    chunk_plan,
    first_sentence,
    text_room,
    whole_text,
    windows,
)
from bertviz_core.sentences.analysis.chunks import chunk_vectors as vectors_of_chunks
from bertviz_core.sentences.analysis.chunks import late_chunks as compared_chunks
from bertviz_core.sentences.analysis.chunks import position_shares as shares_of_positions
from bertviz_core.sentences.analysis.results import ChunkVectors, LateChunks, PositionShares
from bertviz_core.sentences.encoding import sentence_tokens
from bertviz_core.text import quoted, repair_surrogates

EXAMPLE = (
    "The lighthouse on the northern cape was built in 1871, after three ships had been lost on the rocks in one "
    "winter. It is forty metres high, and its lamp can be seen from a distance of thirty kilometres. The first keeper, "
    "Anna Lindqvist, lived there for twenty-six years with her two sons. Every evening she carried oil up the two "
    "hundred and twelve steps, and every morning she cleaned the glass. Since 1964 the lamp has been electric, and "
    "nobody has lived in the tower.\n"
    "The harbour below it was once known for herring. In a good autumn, eighty boats brought in their catch, which was "
    "salted in barrels and sold as far away as Lisbon. In the 1920s the shoals stayed away, and most of the families "
    "who had lived from them moved to the city. Today a dozen boats are left. They fish for crab, which restaurants "
    "buy for a good price. The old salting house is a museum, where a film shows how nets were mended.\n"
    "Visitors come for the birds. In May some nine thousand puffins nest in the cliffs, each pair in a burrow of its "
    "own, where it raises a single chick. They dive for sand eels, and can hold twenty of them in the beak at once. As "
    "the sea grows warmer the eels move north, and the colony has lost a third of its nests in twenty years. The best "
    "place to watch them is a wooden hide above the bay, which has room for eight.\n"
    "Getting there takes some patience. A bus leaves the railway station at eight in the morning and returns at five; "
    "on Sundays it does not run. The last four kilometres are a footpath, which is closed when the wind is strong. A "
    "ticket for the tower costs six euros, and children under twelve pay nothing. Bread, cheese and coffee are sold in "
    "the former engine room, but only from June to August."
)
"""A text about four subjects."""
EXAMPLE_QUERY = "Who lived in the tower?"
TOKENS = Param(
    "chunk_tokens",
    "whole",
    "most tokens of a chunk, without special ones",
    label="Tokens of a chunk",
    bounds=lambda opened, options: (1, most_tokens(opened, options), min(CHUNK_TOKENS, most_tokens(opened, options))),
)
OVERLAP = Param(
    "chunk_overlap",
    "whole",
    "most tokens that a chunk repeats of the one before",
    label="Overlap",
    bounds=lambda opened, options: (0, max(_count(options, TOKENS, 1) - 1, 0), 0),
)
QUERY = Param(
    "chunk_query",
    "text",
    "what the chunks are compared with, by default the first sentence of the text",
    (),
    "Query",
    lambda opened, options: (usual_query(options),),
)
CHUNKS = (*PLAN, TOKENS, OVERLAP)


def most_tokens(opened: Opened, options: Options) -> int:
    """Most tokens of a chunk of a text."""
    whole, plan = _whole(opened, options), chunk_plan(sentence_plan(opened, options))
    return min(whole.count, text_room(opened.tokenizer, plan, whole))


def usual_query(options: Options) -> str:
    """The query where none is given: the first sentence of the text, or the question about the example."""
    text = options.text()
    return EXAMPLE_QUERY if text == EXAMPLE else first_sentence(repair_surrogates(text))


def chunk_options(text: str, tokens: int | None, overlap: int, query: str | None) -> Options:
    """Options for the chunks of a text."""
    values = {
        TOKENS.key: "" if tokens is None else str(tokens),
        OVERLAP.key: str(overlap) if overlap else "",
        QUERY.key: query or "",
    }
    return Options((text,), values={key: value for key, value in values.items() if value})


def _count(options: Options, param: Param, default: int) -> int:
    value = options.get(param.key)
    digits = value.removeprefix("-")
    if value and not (digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS):
        raise TextError(f"{quoted(value, 20)} is no number of tokens; give ", Named(param.key), "=64.")
    return int(value) if value else default


def _whole(opened: Opened, options: Options) -> Whole:
    check_dense(sentence_plan(opened, options), "Chunks")
    text, plan = options.text(), chunk_plan(sentence_plan(opened, options))
    key = (__name__, "whole", text, plan.prompt)
    return opened.get_or_compute(key, lambda: whole_text(opened.tokenizer, text, plan))


def _shares_cost(opened: Opened, options: Options) -> AnswerCost:
    return AnswerCost(1, sentence_tokens(opened.tokenizer, options.text(), sentence_plan(opened, options)))


@long_question(_shares_cost, figures=("position-shares",), params=PLAN, noun="runs")
def position_shares(opened: Opened, options: Options, job: Job[PositionShares]) -> Answer[PositionShares]:
    """The vector of a long text as a sum over its tokens: the share of each position."""
    plan = sentence_plan(opened, options)
    check_dense(plan, "Shares of positions")
    shares = shares_of_positions(opened.loaded, opened.tokenizer, options.text(), plan)
    answer = answered(opened, shares, (plan.reason, shares.note, *shares.notices), position_shares=shares)
    return replace(answer, texts=options.texts)


def _chunks_cost(opened: Opened, options: Options) -> AnswerCost:
    whole, plan = _whole(opened, options), sentence_plan(opened, options)
    runs = len(windows(whole.count, text_room(opened.tokenizer, chunk_plan(plan), whole)))
    chunks = whole.count // max(_count(options, TOKENS, CHUNK_TOKENS), 1) + 1
    return AnswerCost(runs + chunks, sentence_tokens(opened.tokenizer, options.text(), plan), runs=2 * runs)


@long_question(_chunks_cost, params=CHUNKS, noun="runs and chunks")
def chunk_vectors(opened: Opened, options: Options, job: AnswerJob[Answer[ChunkVectors]]) -> Answer[ChunkVectors]:
    """The chunks of a text, each embedded alone, and each pooled from a run over the whole text."""
    plan = sentence_plan(opened, options)
    size = _count(options, TOKENS, 0) if options.get(TOKENS.key) else None
    overlap = _count(options, OVERLAP, 0)
    chunks = vectors_of_chunks(opened.loaded, opened.tokenizer, options.text(), plan, size, overlap, job)
    return replace(answered(opened, chunks, chunks.notices), texts=options.texts)


@question(figures=("late-chunks",), params=(*CHUNKS, QUERY, QUERY_PROMPT))
def late_chunks(opened: Opened, options: Options) -> Answer[LateChunks]:
    """Chunks embedded alone beside chunks pooled from the whole text: cosines with each other and with a query."""
    made = chunk_vectors(opened, options.only(*CHUNKS))
    shares = position_shares(opened, options.only(*PLAN)).result
    query = repair_surrogates(options.get(QUERY.key)).strip() or usual_query(options)
    vector = encoded_query(opened, options, query, chunk_plan(sentence_plan(opened, options)))
    check_width(opened, vector, made.result.alone.shape[1])
    compared = compared_chunks(made.result, shares, query, vector)
    return made.of(compared, late_chunks=compared)
