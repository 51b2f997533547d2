"""What the page Sentences shows of a long text: the shares of its positions, and its chunks alone and late."""

from collections.abc import Iterator
from dataclasses import replace

from bertviz_core.figures.sentences.chunks import (
    ROWS,
    late_chunks_figure,
    late_words,
    position_shares_figure,
    shares_words,
)
from bertviz_core.hidden_states.results import state_name
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, choice
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.texts.chunks import CHUNKS, OVERLAP, QUERY, TOKENS, chunk_vectors, late_chunks
from bertviz_core.questions.texts.chunks import position_shares as shares_of_positions
from bertviz_core.questions.texts.sentences import PLAN, POOLING, PROMPT, QUERY_PROMPT, STATE, sentence_plan
from bertviz_core.questions.view import Ask, Figure, Notices, Part, Section, Text
from bertviz_core.text import escape_markdown

LONG_TEXT = "Long text"
"""Title of the view, which reads one text in place of the list."""
LONG_FROM = choice("long_from", ("typed", "file"), "where the long text comes from", "Text")
SHARES = (
    "The vector v of a text is a sum of one part for each token that is pooled: of the mean, every hidden state over "
    "their number; of the weighted mean, every state by its weight; of the maximum, the dimensions in which a token is "
    "largest. A dense layer without an activation maps each part by itself. The share of a token is the dot product of "
    "its part and v over the squared length of v, so all shares add up to 1: a token with more than an equal share "
    "pulls the vector its own way, one below 0 pulls against it. Normalisation changes nothing of it. A share is what "
    "a position adds to the vector, and not what the model has understood of it: every hidden state has read the other "
    "tokens, too."
)
LATE = (
    "A chunk has at most so many tokens, without the special tokens around it: of 256 that a model reads, [CLS] and "
    "[SEP] leave 254. It ends at the last sentence end in its second half; without one at the last "
    "space there, otherwise at the last token. **Embedded alone**, it is a text of its own, with the prompt and the "
    "special tokens around it. **Late** (Günther et al. 2024, *Late Chunking*), the model reads the whole text first, "
    "and the hidden states of the chunk's tokens are pooled afterwards, so that a pronoun in it may know its noun. "
    "What stands before the text is pooled with the first chunk and what stands behind it with the last: a single "
    "chunk has the vector of the whole text in both ways, and the mean of all late chunks, each weighted by its "
    "tokens, is the mean of the whole text. Where the text is longer than the model reads at once, windows share at "
    "least a quarter of their tokens, and each token is taken from the window in which it stands farther from an edge. "
    "A late vector is nearer to its neighbours; whether that finds more depends on the text and the question, and only "
    "queries with known answers can tell."
)


def long_text_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The share of each position in the vector of a long text, and its chunks embedded alone and late."""
    plan = sentence_plan(opened, options)
    yield Text(escape_markdown(plan.reason), "caption")
    yield Notices(plan.notices)
    plain = options.only(*PLAN)
    answer = ask(shares_of_positions, plain)
    shares = answer.result
    if not shares.exact:
        yield Text(escape_markdown(shares.note), "warning")
    yield Text(f"**{escape_markdown(shares_words(shares))}**")
    below: list[Part] = [Text(escape_markdown(shares.note), "caption")] if shares.exact else []
    yield Figure.of(
        position_shares_figure,
        answer,
        f"shares of positions {shares.pooling} {state_name(shares.layer)} {opened.name}",
        formats={"share": "percent", "equal share": "percent"},
        below=[*below, Notices(shares.notices, "caption")],
        **explained(SHARES, shares_of_positions, opened, plain),
    )
    yield Text("Chunks, alone and late", "heading")
    yield Section((TOKENS, OVERLAP, QUERY, QUERY_PROMPT), _chunks)


def _chunks(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Both vectors of every chunk beside a query."""
    options = options.only(*late_chunks.params)
    ask(chunk_vectors, options.only(*CHUNKS))  # first, as it may take long
    answer = ask(late_chunks, options)
    late = answer.result
    yield Text(f"**{escape_markdown(late_words(late))}**")
    below: list[Part] = [Notices(answer.notices, "caption")]
    if (count := len(late.cosines)) > ROWS:
        words = f"The {ROWS} of {count:,} chunks with the best ranks in either way are drawn; the table has all."
        below.insert(0, Text(words, "caption"))
    yield Figure.of(
        late_chunks_figure,
        answer,
        f"chunks {late.chunks.pooling} {opened.name}",
        numbers="open",
        below=below,
        **explained(LATE, late_chunks, opened, options),
    )


PARAMS, FOLDED = (replace(POOLING, parts=True), STATE), (PROMPT,)  # not every pooling is that of a chunk
"""Controls of the view."""
