"""Late interaction: vectors of tokens, and their scores."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.errors import CheckpointError, Progress, TextError, no_progress
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.late_interaction_plan import InteractionPlan, TextSide
from bertviz_core.predictions.results import LateInteraction
from bertviz_core.sentences.encoding import SentenceRow, batches, edge_tokens, model_states, sentence_tokens, tokenized
from bertviz_core.sentences.pooling import applied
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.text import quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.verification import check_recording, input_table, model_inputs


class TokenVectors(NamedTuple):
    """The tokens of a text that are scored."""

    ids: Int[np.ndarray, " scored"]
    """Their indices in the vocabulary."""
    vectors: Float[np.ndarray, "scored dimensions"]
    expanded: Bool[np.ndarray, " scored"]
    """Whether a token fills the query up."""
    skipped: Int[np.ndarray, " skipped"]
    """Indices in the vocabulary of the tokens that are left out."""
    truncated: bool
    """Whether the text was cut."""


class _Row(NamedTuple):
    """A text as the input of the model."""

    row: SentenceRow
    """Its tokens, with those that fill it up."""
    real: int
    """Number of its own tokens."""


class InteractionEncoder:
    """A model prepared to encode queries and documents by one plan."""

    def __init__(self, loaded: LoadedModel, tokenizer: TextTokenizer, plan: InteractionPlan) -> None:
        """Look up the markers, the skip list and the filling token in the vocabulary."""
        self.loaded, self.tokenizer, self.plan = loaded, tokenizer, plan
        sides = (plan.query, plan.document)
        filler = plan.expansion.token if plan.expansion else ""
        named = any((*plan.skiplist, filler, *(side.marker for side in sides)))
        self._ids = vocabulary(loaded, tokenizer) if named else {}
        self._first = int(edge_tokens(tokenizer).first is not None)
        self._skiplist = np.array([self._ids[word] for word in plan.skiplist if word in self._ids], dtype=np.int64)
        self._filler = self._filling_token()
        with RUN_LOCK:
            check_recording(loaded)

    def query(self, text: str) -> TokenVectors:
        """Encode a query, filled up as the plan says."""
        (row,) = self._rows([text], self.plan.query)
        expansion, real = self.plan.expansion, len(row)
        if expansion is not None and real < expansion.length:
            row = _padded(row, expansion.length - real, self._filler)
        attended = len(row) if expansion is not None and expansion.attend else real
        (vectors,) = self._run([_Row(row, attended)])
        return self._scored(row, vectors, real, self.plan.query.skips)

    def documents(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[TokenVectors]]]:
        """Yield indices of documents and their vectors, in batches of similar length."""
        rows = self._rows(texts, self.plan.document)
        for batch in batches(self.loaded, [len(row) for row in rows]):
            vectors = self._run([_Row(rows[index], len(rows[index])) for index in batch])
            scored = [
                self._scored(rows[index], each, len(rows[index]), self.plan.document.skips)
                for index, each in zip(batch, vectors, strict=True)
            ]
            empty = next((index for index, each in zip(batch, scored, strict=True) if not len(each.ids)), None)
            if empty is not None:
                raise TextError(
                    f"No token of the document {quoted(texts[empty], 40)} is scored: all are in the checkpoint's skip "
                    "list; write a word."
                )
            yield batch, scored

    def document_tokens(self, text: str) -> Tokens:
        """The tokens of a document as they are run, with the marker."""
        side = self.plan.document
        tokens, marker = sentence_tokens(self.tokenizer, text, self._reading(side)), self._marker(side)
        return tokens if marker is None else _marked(tokens, self._first, marker, self._marker_word(side))

    def is_scored(self, input_ids: Int[np.ndarray, " seq"]) -> Bool[np.ndarray, " seq"]:
        """Whether each token of a document is scored: it is not in the skip list."""
        scored = ~np.isin(input_ids, self._skiplist if self.plan.document.skips else [])
        scored[..., :1] &= not self.plan.skips_first
        return scored

    def _rows(self, texts: Sequence[str], side: TextSide) -> list[SentenceRow]:
        """Tokens of texts, with the marker and within the length of the side."""
        marker = self._marker(side)
        rows = [row for chunk in tokenized(self.tokenizer, texts, self._reading(side)) for row in chunk]
        return rows if marker is None else [_with_marker(row, self._first, marker) for row in rows]

    def _reading(self, side: TextSide) -> SentencePlan:
        """How a text of a side is tokenized, apart from the marker."""
        prompt, limit = side.prompt, self.tokenizer.limit.tokens
        length = side.length if limit is None else min(side.length or limit, limit)
        if self._marker(side) is not None:
            prompt, length = prompt.removeprefix(self._marker_word(side)), None if length is None else length - 1
        return SentencePlan("mean", prompt=prompt, max_seq_length=length, lower_case=self.plan.lower_case)

    def _marker_word(self, side: TextSide) -> str:
        """The marker as the vocabulary has it: with a space at its end, or without; "" for no such token."""
        candidates = (side.marker, *side.marker.split(None, 1)[:1])
        return next((each for each in candidates if each.strip() and each in self._ids), "")

    def _marker(self, side: TextSide) -> int | None:
        return self._ids.get(self._marker_word(side))

    def _filling_token(self) -> int:
        """Index of the token that fills queries up."""
        expansion, limit = self.plan.expansion, self.tokenizer.limit
        if expansion is None:
            return 0
        if limit.tokens is not None and expansion.length > limit.tokens:
            raise CheckpointError(
                f"The checkpoint fills queries up to {expansion.length:,} tokens, and {limit.reason}; its files do not "
                "belong together, or that limit must be raised."
            )
        backend = self.tokenizer.tokenizer
        own = backend.mask_token_id if backend.mask_token_id is not None else backend.eos_token_id
        filler = self._ids.get(expansion.token) if expansion.token else own
        if filler is None:
            what = quoted(expansion.token, 30) if expansion.token else "a mask"
            raise CheckpointError(
                f"The checkpoint fills queries up with {what}, which the vocabulary of {self.loaded.name!r} lacks."
            )
        return int(filler)

    def _run(self, batch: Sequence[_Row]) -> list[Float[np.ndarray, "_ dimensions"]]:
        """Vectors of all tokens of a batch, projected and normalised."""
        inputs = model_inputs(self.loaded, [each.row for each in batch])
        if "attention_mask" in inputs:
            for place, each in enumerate(batch):
                inputs["attention_mask"][place, each.real :] = 0
        lengths = [len(each.row) for each in batch]
        with RUN_LOCK, torch.inference_mode():
            output, _ = model_states(self.loaded, inputs, lengths, 0, None, inside=False)
            states = output["last_hidden_state"].float()
            rows = applied(states.reshape(-1, states.shape[-1]), self.plan.dense).reshape(*states.shape[:2], -1)
            vectors = rows.cpu().numpy()
        token_vectors = [vectors[place, :length] for place, length in enumerate(lengths)]
        return [unit(each) for each in token_vectors] if self.plan.normalize else token_vectors

    def _scored(
        self, row: SentenceRow, vectors: Float[np.ndarray, "seq dimensions"], real: int, skips: bool
    ) -> TokenVectors:
        scored = ~np.isin(row.input_ids, self._skiplist) if skips else np.ones(len(row), dtype=bool)
        scored[:1] &= not self.plan.skips_first
        expanded = np.arange(len(row)) >= real
        return TokenVectors(
            row.input_ids[scored], vectors[scored], expanded[scored], row.input_ids[~scored], bool(row.truncated)
        )


def vocabulary(loaded: LoadedModel, tokenizer: TextTokenizer) -> dict[str, int]:
    """Token -> its index in the vocabulary, also for tokens that were added to it."""
    table = input_table(loaded.model)
    count = max(len(tokenizer.tokenizer), 0 if table is None else len(table))
    pieces = tokenizer.tokenizer.convert_ids_to_tokens(list(range(count)))
    return {str(piece): index for index, piece in enumerate(pieces) if piece is not None}


def _padded(row: SentenceRow, count: int, token_id: int) -> SentenceRow:
    """The row with `count` more tokens at its end."""
    return replace(
        row,
        input_ids=np.append(row.input_ids, np.full(count, token_id, dtype=np.int64)),
        token_type_ids=None
        if row.token_type_ids is None
        else np.append(row.token_type_ids, np.zeros(count, dtype=int)),
        other_inputs={name: np.append(each, np.zeros(count, dtype=int)) for name, each in row.other_inputs.items()},
    )


def _with_marker(row: SentenceRow, at: int, token_id: int) -> SentenceRow:
    """The row with one more token behind its leading special token."""
    return replace(
        row,
        input_ids=np.insert(row.input_ids, at, token_id),
        token_type_ids=None if row.token_type_ids is None else np.insert(row.token_type_ids, at, 0),
        other_inputs={name: np.insert(each, at, 0) for name, each in row.other_inputs.items()},
    )


def _marked(tokens: Tokens, at: int, token_id: int, marker: str) -> Tokens:

    def inserted(values: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        return (*values[:at], value, *values[at:])

    return replace(
        tokens,
        tokens=inserted(tokens.tokens, marker),
        input_ids=np.insert(tokens.input_ids, at, token_id),
        token_type_ids=None if tokens.token_type_ids is None else np.insert(tokens.token_type_ids, at, 0),
        word_ids=None if tokens.word_ids is None else inserted(tokens.word_ids, None),
        offsets=None if tokens.offsets is None else inserted(tokens.offsets, None),
        sequence=inserted(tokens.sequence, None),
        special=np.insert(tokens.special, at, True),
        unknown=np.insert(tokens.unknown, at, False),
        other_inputs={name: np.insert(each, at, 0) for name, each in tokens.other_inputs.items()},
    )


DOT_PRODUCT = "The checkpoint does not normalise its vectors, so the numbers are dot products, not cosines."
MEAN = "The checkpoint's score is the mean over the tokens of the query, not the sum."


class InteractionScores(NamedTuple):
    """Scores of a query with each document of a list."""

    scores: Float[np.ndarray, " documents"]
    truncated: int
    """Number of documents that were cut."""
    notices: tuple[str, ...]


def late_interaction(encoder: InteractionEncoder, query: str, document: str) -> LateInteraction:
    """Compare every token of a query with every token of a document."""
    plan, spelled = encoder.plan, encoder.tokenizer.spelled
    first = encoder.query(query)
    ((_, (second,)),) = encoder.documents([document])
    cosines = np.asarray(first.vectors @ second.vectors.T)
    cut = [name for name, each in (("query", first), ("document", second)) if each.truncated]
    return LateInteraction(
        model=encoder.loaded.name,
        query=query,
        document=document,
        query_tokens=spelled(first.ids.tolist()),
        expanded=first.expanded,
        document_tokens=spelled(second.ids.tolist()),
        skipped=spelled(second.skipped.tolist()),
        cosines=cosines,
        normalized=plan.normalize,
        mean=plan.mean,
        dimensions=int(first.vectors.shape[1]),
        trained=plan.trained,
        notices=(*_notices(encoder), *(f"The {name} was cut to the length that the model reads." for name in cut)),
    )


def interaction_scores(
    encoder: InteractionEncoder, query: str, documents: Sequence[str], progress: Progress = no_progress
) -> InteractionScores:
    """Score a query with each document."""
    first = encoder.query(query)
    scores, truncated, done = np.zeros(len(documents), dtype=np.float32), 0, 0
    for batch, made in encoder.documents(documents):
        scores[batch] = max_sims(first.vectors, [each.vectors for each in made])
        truncated += sum(each.truncated for each in made)
        done += len(batch)
        progress(done, len(documents))
    if encoder.plan.mean:
        scores /= np.float32(len(first.ids))
    scores.setflags(write=False)
    return InteractionScores(scores, truncated, _notices(encoder))


def max_sims(
    query: Float[np.ndarray, "tokens dimensions"], documents: Sequence[Float[np.ndarray, "_ dimensions"]]
) -> Float[np.ndarray, " documents"]:
    """Sum, over the tokens of a query, of the largest dot product with a token of each document.

    Args:
        documents: vectors of each document, at least one token each.
    """
    starts = np.cumsum([0, *map(len, documents[:-1])])
    # By torch: the threads of NumPy's product wait busily for more, and slow down the run of the next documents.
    products = (torch.from_numpy(query) @ torch.from_numpy(np.concatenate(documents)).T).numpy()
    return np.asarray(np.maximum.reduceat(products, starts, axis=1).sum(axis=0))


def _notices(encoder: InteractionEncoder) -> tuple[str, ...]:
    """What to know about the model and its plan."""
    plan = encoder.plan
    prompts = [
        f"The checkpoint puts {quoted(side.prompt, 40)} in front of {name}."
        for name, side in (("a query", plan.query), ("a document", plan.document))
        if side.prompt and not side.marker
    ]
    own = [] if plan.normalize else [DOT_PRODUCT]
    own += [MEAN] if plan.mean else []
    return (*encoder.loaded.notices, plan.reason, *prompts, *own)
