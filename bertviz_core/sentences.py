"""Sentences to vectors: each different one once, those of like length together, what is known from the store."""

import hashlib
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from bertviz_core.errors import TextError
from bertviz_core.loading import LoadedModel
from bertviz_core.results.sentences import SentenceDtype, SentencePlan, SentenceVectors
from bertviz_core.sentence_batches import Progress, SentenceRow, batches, limited, prompt_tokens, tokenized
from bertviz_core.sentence_database import StoredVector
from bertviz_core.sentence_kept import KeptVectors
from bertviz_core.sentence_run import SentenceRun, plan_layer
from bertviz_core.sentence_store import SentenceStore
from bertviz_core.tokenization import TextTokenizer
from bertviz_core.visible import counted


def sentence_vectors(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    sentences: Sequence[str],
    plan: SentencePlan,
    dtype: SentenceDtype = "float32",
    progress: Progress | None = None,
    store: SentenceStore | None = None,
) -> SentenceVectors:
    """One vector for every sentence; float32 whatever the run's format.

    Neither the order of the list nor what else is in it changes a vector, up to rounding. The model is free between
    batches, so that clicks elsewhere get their turn. What was computed before `progress` ended the work is in the
    store.

    Args:
        loaded: the model, in float32.
        tokenizer: its tokenizer.
        sentences: the texts.
        plan: how a sentence becomes a vector (bertviz_core.sentence_modules.recommended).
        dtype: number format of the run; "bfloat16" is quick only where sentence_run.fast_bfloat16 says so.
        progress: called as progress(done, total) in different sentences; what it raises ends the work.
        store: where vectors are looked up and kept; None for nowhere.

    Raises:
        TextError: no sentence, one that is too long or has no token, or a layer that the model does not have.
        UnsupportedModelError: the model has no pooler, or cannot be run on a text alone.
        CheckpointError: the plan's dense layers do not fit the model.
    """
    started, told = perf_counter(), store.renamed if store is not None else 0
    if not sentences:
        raise TextError("The list has no sentence; give at least one.")
    layer = plan_layer(loaded, plan)
    texts = list(dict.fromkeys(sentences))
    kept = KeptVectors(texts, fingerprint(loaded, tokenizer, plan, dtype), store)
    missing = kept.read()
    tell = progress or _nothing
    tell(len(texts) - len(missing), len(texts))
    try:
        if missing:
            _compute(loaded, tokenizer, plan, dtype, kept, missing, tell)
    finally:
        kept.write()
    places = {text: place for place, text in enumerate(texts)}
    vectors, counts, truncated = kept.arrays([places[text] for text in sentences])
    return SentenceVectors(
        sentences=tuple(sentences),
        vectors=vectors,
        token_counts=counts,
        truncated=truncated,
        model=loaded.name,
        revision=loaded.revision,
        pooling=plan.pooling,
        layer=layer,
        normalized=plan.normalize,
        prompt=plan.prompt,
        dtype=dtype,
        computed=len(missing),
        from_store=len(texts) - len(missing),
        seconds=perf_counter() - started,
        notices=(*_notices(tokenizer, plan, vectors, truncated), *(store.notices[told:] if store is not None else ())),
    )


def fingerprint(loaded: LoadedModel, tokenizer: TextTokenizer, plan: SentencePlan, dtype: SentenceDtype) -> bytes:
    """What sets all vectors made in one way apart from those made in another: model, plan, limit and format."""
    parts = (
        loaded.name, loaded.revision, loaded.model_type, dtype, plan.pooling, plan_layer(loaded, plan), plan.normalize,
        plan.prompt, plan.include_prompt, limited(tokenizer, plan).limit.tokens, plan.lower_case, plan.truncate_dim,
    )  # fmt: skip
    digest = hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace"))
    for dense in plan.dense:
        digest.update(repr((dense.weight.shape, dense.activation, dense.bias is None)).encode())
        for array in (dense.weight, dense.bias):
            digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _compute(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    plan: SentencePlan,
    dtype: SentenceDtype,
    kept: KeptVectors,
    missing: list[int],
    tell: Progress,
) -> None:
    """Run the model on the texts at some places, batch by batch."""
    total, before = len(kept.texts), len(kept.texts) - len(missing)
    rows: list[SentenceRow] = []
    for chunk in tokenized(tokenizer, [kept.texts[place] for place in missing], plan):
        rows += chunk
        tell(before, total)
    run = SentenceRun(loaded, plan, dtype, prompt_tokens(tokenizer, plan))
    done = before
    for batch in batches(loaded, [len(row) for row in rows]):
        found = run.vectors([rows[index] for index in batch])
        for index, vector in zip(batch, found, strict=True):
            kept.add(missing[index], StoredVector(vector, len(rows[index]), rows[index].truncated))
        done += len(batch)
        tell(done, total)


def _nothing(done: int, total: int) -> None:
    """Nobody wants to know."""


def _notices(tokenizer: TextTokenizer, plan: SentencePlan, vectors: Any, truncated: Any) -> tuple[str, ...]:
    notices = list(plan.notices)
    if cut := int(truncated.sum()):
        reason = limited(tokenizer, plan).limit.reason
        side = "beginning" if getattr(tokenizer.tokenizer, "truncation_side", "right") == "left" else "end"
        notices.append(f"{counted(cut, 'sentence')} cut off at the {side}: {reason}.")
    if broken := int((~np.isfinite(vectors).all(axis=1)).sum()):
        notices.append(f"{counted(broken, 'vector')} with NaN or infinity.")
    if zero := int((~vectors.any(axis=1)).sum()):
        notices.append(f"{counted(zero, 'vector')} of zeros: the cosine to it counts as 0.")
    return tuple(notices)
