"""Long texts: the share of each position in a sentence vector, and chunks pooled from one run over the whole text.

Late chunking: Günther et al. 2024, Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding Models.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.errors import Progress, TextError, no_progress
from bertviz_core.hidden_states.geometry import cosine, unit
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.sentences.analysis.results import ChunkVectors, LateChunks, PositionShares
from bertviz_core.sentences.encoding import (
    SentenceRow,
    limited,
    model_states,
    plan_layer,
    prompt_tokens,
    read_text,
    sentence_tokens,
    sentence_vectors,
)
from bertviz_core.sentences.plan import POOLING_PHRASES, adapted
from bertviz_core.sentences.pooling import applied, is_sum, pooled, token_mask, token_parts
from bertviz_core.sentences.results import ADDITIVE_POOLINGS, SentencePlan
from bertviz_core.text import counted, repair_surrogates
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer, TokenLimit, tokenize
from bertviz_core.trace.verification import check_recording, model_inputs, pooler_output

CHUNK_TOKENS = 128
"""Default number of tokens of a chunk."""
MOST_CHUNKS = 2_000
WINDOW_OVERLAP = 4
"""Two neighbouring windows share one token in so many."""
TRIED, SAME = 12, 1e-4
"""Tokens of the run that shows whether a token reads later ones, and largest relative difference where it does not."""
SENTENCE_END = re.compile(r"(?:(?<![.!?…؟।])[.!?…؟।]+[\"'”’»)\]]*(?=\s)|[。！？｡]+[」』”’）]*|\n)\s*")
SENTENCE, SPACE, WORD, CHARACTER = 4, 3, 2, 1
"""What begins at a token: a sentence, what follows a space, a word of the tokenizer, a character."""
SINGLE_POOLINGS = ("cls", "pooler")
"""Poolings that read one token of the whole text, which a chunk of it lacks."""


def long_tokens(tokenizer: TextTokenizer, text: str, plan: SentencePlan) -> Tokens:
    """Tokenize a whole text under a plan, beyond the limit of the model."""
    return tokenize(replace(tokenizer, limit=TokenLimit(None, "")), read_text(plan, checked_text(text)))


def checked_text(text: str) -> str:
    """The text without spaces around it."""
    text = repair_surrogates(text).strip()
    if not text:
        raise TextError("The text is empty; give a text of a few sentences.")
    return text


def position_shares(loaded: LoadedModel, tokenizer: TextTokenizer, text: str, plan: SentencePlan) -> PositionShares:
    """Split the vector of a text into the shares of its tokens.

    The vector is a sum v = sum_i u_i of one part per token (`token_parts`), and the share of a token is
    <u_i, v> / <v, v>. For a pooling without such a sum, the shares are those of the mean of the same layer; with dense
    layers that are not linear, those of the vector in front of them.
    """
    tokens = sentence_tokens(tokenizer, checked_text(text), plan)
    _check_length(tokens)
    layer, start = plan_layer(loaded, plan), min(prompt_tokens(tokenizer, plan), len(tokens) - 1)
    hidden, from_pooler = _states(loaded, tokens, layer, plan.pooling == "pooler")
    parts = token_parts(hidden, plan, start)
    vector = parts.sum(axis=0)
    length = float(vector @ vector)
    uniform = np.zeros(len(tokens))
    uniform[start:] = 1 / (len(tokens) - start)
    exact = is_sum(plan)
    return PositionShares(
        model=loaded.name,
        tokens=tokens.tokens,
        special=tokens.special,
        shares=parts @ vector / length if length else uniform.copy(),
        uniform=uniform,
        pooling=plan.pooling if plan.pooling in ADDITIVE_POOLINGS else "mean",
        layer=layer,
        exact=exact,
        note=EXACT if exact else _approximation(plan, hidden, from_pooler, vector, start),
        cut=tokens.tokens_cut[0],
        cut_side=tokenizer.cut_side,
        notices=(*loaded.notices, *tokens.notices, *plan.notices),
    )


EXACT = (
    "The vector is a sum of one part per token; the share of a token is the dot product of its part and the vector, "
    "over the vector's squared length, and all shares add up to 1."
)
OF_MEAN = (
    "An approximation: the model's vector is {what}, which is no sum over tokens, so the shares are those of the mean "
    "of the same layer, whose cosine with it is {cosine:.4f}."
)
BEFORE_DENSE = (
    "An approximation: the model's dense layers are not linear, so the shares are those of the vector in front of them."
)


def _approximation(
    plan: SentencePlan,
    hidden: Float[np.ndarray, "seq hidden"],
    from_pooler: Float[np.ndarray, " pooled"] | None,
    mean: Float[np.ndarray, " hidden"],
    start: int,
) -> str:
    if plan.pooling in ADDITIVE_POOLINGS:
        return BEFORE_DENSE
    own = hidden[-1 if plan.pooling == "lasttoken" else start] if from_pooler is None else from_pooler
    if own.shape != mean.shape:
        return OF_MEAN.partition(", whose")[0].format(what=POOLING_PHRASES[plan.pooling]) + "."
    return OF_MEAN.format(what=POOLING_PHRASES[plan.pooling], cosine=float(cosine(own, mean)))


def _check_length(tokens: Tokens) -> None:
    if sum(sequence == 0 for sequence in tokens.sequence) < 2:
        raise TextError("The text has a single token, which is all of its vector; give a longer text.")


def _states(
    loaded: LoadedModel, row: SentenceRow | Tokens, layer: int, with_pooler: bool = False
) -> tuple[Float[np.ndarray, "seq hidden"], Float[np.ndarray, " pooled"] | None]:
    """Hidden states of one layer, without those of others where it is the last; and the pooler's output."""
    inside = layer < loaded.num_hidden_layers
    with RUN_LOCK, torch.inference_mode():
        check_recording(loaded)
        output, _ = model_states(loaded, model_inputs(loaded, [row]), [len(row)], 0, None, inside)
        states = output["hidden_states"][layer] if inside else output["last_hidden_state"]
        vector = pooler_output(loaded, output)[0].float().cpu().numpy() if with_pooler else None
        return states[0].float().cpu().numpy(), vector


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A whole text as tokens, the special ones and the prompt around it included."""

    tokens: Tokens
    first: int
    """Position of the first token of the text."""
    count: int
    """Number of tokens of the text."""
    spans: Int[np.ndarray, "count 2"]
    """First character of each of these tokens, and one after the last."""
    start: int
    """Position of the first pooled token."""
    beginning: int
    """First character of the text, behind the prompt."""

    @property
    def around(self) -> int:
        """Number of tokens around the text."""
        return len(self.tokens) - self.count

    def window(self, start: int, end: int) -> SentenceRow:
        """Some tokens of the text between those that stand around it."""
        places = np.arange(len(self.tokens))
        behind = self.first + self.count
        chosen = np.r_[places[: self.first], places[self.first + start : self.first + end], places[behind:]]
        types = self.tokens.token_type_ids
        others = {name: values[chosen] for name, values in self.tokens.other_inputs.items()}
        return SentenceRow(
            self.tokens.input_ids[chosen], None if types is None else types[chosen], others, end - start < self.count
        )


def whole_text(tokenizer: TextTokenizer, text: str, plan: SentencePlan) -> Whole:
    """Tokenize a whole text, and find the place of each token in it."""
    tokens = long_tokens(tokenizer, text, plan)
    if tokens.offsets is None:
        raise TextError(
            f"The tokenizer of {tokenizer.name!r}, which is written in Python, does not say where in the text a token "
            "stands, so the text cannot be cut into chunks; choose a model with a fast tokenizer."
        )
    beginning = len(read_text(plan, ""))
    spans = [(0, 0) if span is None else span for span in tokens.offsets]
    own = [at for at, each in enumerate(tokens.sequence) if each == 0 and spans[at][1] > beginning]
    if len(own) < 2:
        raise TextError("The text has a single token, which is all of its vector; give a longer text.")
    first, behind = own[0], own[-1] + 1
    places = np.array(spans[first:behind], dtype=np.int64)
    # A token without characters of its own stands where the one before it ends.
    places[:, 0] = np.where(places[:, 1] > 0, places[:, 0], 0)
    ends = np.maximum.accumulate(np.maximum(places[:, 1], beginning))
    starts = np.where(places[:, 1] > 0, places[:, 0], np.r_[beginning, ends[:-1]])
    start = min(prompt_tokens(tokenizer, plan), first)
    return Whole(tokens, first, behind - first, np.column_stack([starts, ends]), start, beginning)


def boundaries(whole: Whole) -> Int[np.ndarray, " count"]:
    """What begins at each token of a text: SENTENCE, SPACE, WORD, CHARACTER, or 0 inside a character."""
    text, spans, ids = whole.tokens.text, whole.spans, whole.tokens.word_ids
    starts, ends = spans.T
    levels = np.zeros(whole.count, dtype=np.int64)
    for at in range(1, whole.count):
        start = int(starts[at])
        if start < ends[at - 1]:
            continue
        place = whole.first + at
        spaced = text[start - 1 : start].isspace() or text[start : start + 1].isspace()
        other = ids is not None and ids[place] is not None and ids[place] != ids[place - 1]
        levels[at] = SPACE if spaced else WORD if other else CHARACTER
    for match in SENTENCE_END.finditer(text, whole.beginning):
        at = int(np.searchsorted(ends, match.end(), side="right"))
        if 0 < at < whole.count and levels[at] and not text[starts[at] : match.end()].strip():
            levels[at] = SENTENCE
    return levels


def cut_tokens(levels: Int[np.ndarray, " count"], size: int, overlap: int = 0) -> list[tuple[int, int]]:
    """Cut tokens into chunks of at most `size`, as ranges of positions.

    A chunk ends at the last sentence end in its second half; without one at the last space there, then at the last
    word, otherwise after its last whole character. The next begins at the first sentence within the overlap, or else
    at the first space.

    Args:
        levels: what begins at each token, as `boundaries` says.
        overlap: most tokens that a chunk repeats of the one before.
    """
    count, start, end = len(levels), 0, 0
    chunks = []
    while end < count:
        end = _end(levels, start, size, end)
        chunks.append((start, end))
        least = max(end - overlap, start + 1)
        begins = [least + np.flatnonzero(levels[least:end] >= level) for level in (SENTENCE, SPACE)]
        start = next((int(each[0]) for each in begins if len(each)), end)
    return chunks


def _end(levels: Int[np.ndarray, " count"], start: int, size: int, before: int) -> int:
    """Where a chunk ends that begins at `start`, behind the end of the one before it."""
    count, last = len(levels), start + size
    if last >= count:
        return count
    half = max(start + (size + 1) // 2, before + 1)
    for level, least in ((SENTENCE, half), (SPACE, half), (WORD, half), (CHARACTER, before + 1)):
        ends = least + np.flatnonzero(levels[least : last + 1] >= level)
        if len(ends):
            return int(ends[-1])
    behind = last + np.flatnonzero(levels[last:] >= CHARACTER)  # one character has more tokens than a chunk
    return int(behind[0]) if len(behind) else count


def windows(count: int, room: int) -> list[tuple[int, int, int, int]]:
    """Windows over a text: first token and one after the last, and the same of the tokens that are pooled from it.

    Two neighbours share at least a quarter of their tokens, and all nearly as many; each of these is pooled from the
    window in which it stands farther from an edge.
    """
    if count <= room:
        return [(0, count, 0, count)]
    steps = -(-(count - room) // max(1, room - room // WINDOW_OVERLAP))
    starts = [step * (count - room) // steps for step in range(steps + 1)]
    middles = [(start + room + following) // 2 for start, following in pairwise(starts)]
    return [
        (start, start + room, own, behind)
        for start, own, behind in zip(starts, [0, *middles], [*middles, count], strict=True)
    ]


def chunk_plan(plan: SentencePlan) -> SentencePlan:
    """The plan for chunks: a model's own, with the mean in place of a pooling of one token of the whole text."""
    return adapted(plan, "mean", plan.layer) if plan.pooling in SINGLE_POOLINGS else plan


def chunk_vectors(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    text: str,
    plan: SentencePlan,
    size: int | None = None,
    overlap: int = 0,
    progress: Progress = no_progress,
) -> ChunkVectors:
    """Cut a text into chunks, and make the vector of each in both ways.

    Args:
        plan: recipe of the vectors, which `chunk_plan` adapts.
        size: most tokens of a chunk; None for 128, or for as many as the model reads if these are less.
        overlap: most tokens that a chunk repeats of the one before.
    """
    own, plan = plan, chunk_plan(plan)
    layer, whole = plan_layer(loaded, plan), whole_text(tokenizer, text, plan)
    room = text_room(tokenizer, plan, whole)
    size = min(CHUNK_TOKENS, room) if size is None else size
    _check_size(size, overlap, room, limited(tokenizer, plan).limit)
    ranges = cut_tokens(boundaries(whole), size, overlap)
    if len(ranges) > MOST_CHUNKS:
        raise TextError(
            f"The text makes {len(ranges):,} chunks of {counted(size, 'token')}; at most {MOST_CHUNKS:,} are compared. "
            "Give more tokens a chunk, or a shorter text."
        )
    texts = _texts(whole, ranges)
    runs = windows(whole.count, room)
    hidden = _window_states(loaded, whole, runs, layer, progress, len(ranges))
    spans = [(whole.first + start, whole.first + end) for start, end in ranges]
    spans[0] = (whole.start, spans[0][1])
    spans[-1] = (spans[-1][0], len(whole.tokens))
    alone = sentence_vectors(
        loaded, tokenizer, texts, plan, progress=lambda done, _: progress(len(runs) + done, len(runs) + len(texts))
    )
    starts, ends = np.array(ranges, dtype=np.int64).T
    return ChunkVectors(
        model=loaded.name,
        text=whole.tokens.text[whole.beginning :],
        size=size,
        overlap=overlap,
        texts=texts,
        starts=starts.copy(),
        ends=ends.copy(),
        pooled=np.array([end - start for start, end in spans]),
        alone=alone.vectors,
        late=np.concatenate(
            [
                _pooled(hidden[:end], plan, start) if start == whole.start else _pooled(hidden[start:end], plan)
                for start, end in spans
            ]
        ),
        pooling=plan.pooling,
        windows=len(runs),
        notices=_notices(loaded, tokenizer, own, plan, whole, runs, alone.notices),
    )


def text_room(tokenizer: TextTokenizer, plan: SentencePlan, whole: Whole) -> int:
    """Most tokens of a text that the model reads at once, without special ones and the prompt."""
    limit = limited(tokenizer, plan).limit
    if limit.tokens is None:
        return whole.count
    if limit.tokens <= whole.around:
        raise TextError(
            f"No chunk can be read: prompt and special tokens are {counted(whole.around, 'token')}, and {limit.reason}."
        )
    return limit.tokens - whole.around


def _check_size(size: int, overlap: int, room: int, limit: TokenLimit) -> None:
    if not 1 <= size <= room:
        why = "" if limit.tokens is None else f": {limit.reason}, special ones included"
        raise TextError(f"Chunks of {counted(size, 'token')} cannot be embedded{why}; give 1 to {room:,} tokens.")
    if not 0 <= overlap < size:
        raise TextError(
            f"Chunks of {counted(size, 'token')} cannot overlap by {overlap:,}; give an overlap of 0 to {size - 1:,}."
        )


def _texts(whole: Whole, ranges: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """The texts of chunks; characters that no token covers stand with the token before them."""
    text = whole.tokens.text
    starts = [*whole.spans[:, 0].tolist(), len(text)]
    starts[0] = whole.beginning
    return tuple(text[starts[start] : starts[end]].strip() for start, end in ranges)


def _window_states(
    loaded: LoadedModel,
    whole: Whole,
    runs: Sequence[tuple[int, int, int, int]],
    layer: int,
    progress: Progress,
    chunks: int,
) -> Float[np.ndarray, "seq hidden"]:
    """Hidden states of all tokens of a text, those around it from the first and the last window."""
    states: list[np.ndarray] = []
    for done, (start, end, own, behind) in enumerate(runs):
        progress(done, len(runs) + chunks)
        hidden, _ = _states(loaded, whole.window(start, end), layer)
        first = 0 if done == 0 else whole.first + own - start
        last = len(hidden) if done == len(runs) - 1 else whole.first + behind - start
        states.append(hidden[first:last])
    return np.concatenate(states)


def _pooled(
    hidden: Float[np.ndarray, "seq hidden"], plan: SentencePlan, skipped: int = 0
) -> Float[np.ndarray, "1 dimensions"]:
    """The vector of some tokens of a run under a plan, without the first of them."""
    states = torch.from_numpy(hidden)[None]
    mask = token_mask(torch.tensor([len(hidden)]), len(hidden), skipped)
    vectors = applied(pooled(states, mask, plan.pooling), plan.dense).numpy()
    made: Float[np.ndarray, "1 dimensions"] = (unit(vectors) if plan.normalize else vectors)[:, : plan.truncate_dim]
    return made


def reads_ahead(loaded: LoadedModel, row: SentenceRow, layer: int) -> bool:
    """Whether the hidden state of a token depends on later ones, as a short run with and without the last shows."""
    count = min(len(row), TRIED)
    both = [
        SentenceRow(
            row.input_ids[:length],
            None if row.token_type_ids is None else row.token_type_ids[:length],
            {name: values[:length] for name, values in row.other_inputs.items()},
            True,
        )
        for length in (count, count - 1)
    ]
    whole, shorter = (_states(loaded, each, layer)[0][: count - 1] for each in both)
    return bool(np.abs(whole - shorter).max() > SAME * np.abs(whole).max())


CAUSAL = (
    "The model reads from left to right: the late vector of a chunk knows what stands before it, and nothing of what "
    "follows."
)
BEHIND_THE_REST = "The late vector of a chunk is that of its last token, which has read all of the text before it."
POOLED_BY_MEAN = (
    "The model's own vector is {what}, which only the whole text has; chunks are pooled by the mean of their tokens, "
    "in both ways."
)
ONE_WINDOW = "The whole text of {count} is read in one run, and the late vector of a chunk is pooled from its tokens."
SEVERAL_WINDOWS = (
    "The text has {count} and the model reads {room:,} at once, so chunks are pooled from {runs} runs over windows "
    "that share at least {shared}; each of these is taken from the window in which it stands farther from an edge."
)
EDGES = (
    "What stands before the text ({before}) is pooled with the first chunk, what stands behind it ({behind}) with the "
    "last."
)


def _notices(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    own: SentencePlan,
    plan: SentencePlan,
    whole: Whole,
    runs: Sequence[tuple[int, int, int, int]],
    of_alone: Sequence[str],
) -> tuple[str, ...]:
    count, room = counted(whole.count, "token"), runs[0][1]
    layer, tokens = plan_layer(loaded, plan), whole.tokens
    shared = min((one[1] - other[0] for one, other in pairwise(runs)), default=0)
    several = SEVERAL_WINDOWS.format(count=count, room=room, runs=len(runs), shared=counted(shared, "token"))
    notices = [POOLED_BY_MEAN.format(what=POOLING_PHRASES[own.pooling])] if own.pooling != plan.pooling else []
    notices.append(ONE_WINDOW.format(count=count) if len(runs) == 1 else several)
    before, behind = tokens.tokens[whole.start : whole.first], tokens.tokens[whole.first + whole.count :]
    if before or behind:
        before_words, behind_words = (" ".join(each) or "nothing" for each in (before, behind))
        notices.append(EDGES.format(before=before_words, behind=behind_words))
    if plan.pooling == "lasttoken":
        notices.append(BEHIND_THE_REST)
    if layer and not reads_ahead(loaded, whole.window(*runs[0][:2]), layer):
        notices.append(CAUSAL)
    return tuple(dict.fromkeys((*notices, *of_alone)))


def late_chunks(
    chunks: ChunkVectors, shares: PositionShares, query: str, vector: Float[np.ndarray, " dimensions"]
) -> LateChunks:
    """Compare both vectors of each chunk, and each with a query.

    Args:
        vector: vector of the query.
    """
    alone, late = (cosine(vectors, np.broadcast_to(vector, vectors.shape)) for vectors in (chunks.alone, chunks.late))
    return LateChunks(
        model=chunks.model,
        chunks=chunks,
        query=query,
        cosines=cosine(chunks.alone, chunks.late),
        alone_scores=alone,
        late_scores=late,
        alone_ranks=_ranks(alone),
        late_ranks=_ranks(late),
        shares=shares,
        notices=chunks.notices,
    )


def _ranks(scores: Float[np.ndarray, " chunks"]) -> Int[np.ndarray, " chunks"]:
    """Ranks from 1 for the largest; equal scores have the order of the text."""
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def first_sentence(text: str) -> str:
    """The first sentence of a text, as chunks are cut."""
    text = text.strip()
    end = next((match.end() for match in SENTENCE_END.finditer(text)), len(text))
    return text[:end].strip()
