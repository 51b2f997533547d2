"""Encode batches of sentences; the model is locked only while it runs."""

import copy
import hashlib
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from bertviz_core.errors import OutOfMemoryError, Progress, TextError, UnsupportedModelError, is_out_of_memory
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.loading import LoadedModel
from bertviz_core.sentences.batches import (
    SentenceRow,
    batch_notice,
    batches,
    edge_tokens,
    limited,
    prompt_tokens,
    read_text,
    tokenized,
)
from bertviz_core.sentences.pooling import applied, pooled, token_mask
from bertviz_core.sentences.results import Pooling, SentenceDtype, SentencePlan, SentenceVectors
from bertviz_core.sentences.store.filling import ListVectors
from bertviz_core.sentences.store.shards import StoredVectors
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.text import counted
from bertviz_core.trace.forward import forward, hidden_states, pooler_output
from bertviz_core.trace.inputs import model_inputs, reset_model_state
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import MOST_COMPARED, TextTokenizer, first_by_file
from bertviz_core.trace.verification import check_recording


def plan_layer(loaded: LoadedModel, plan: SentencePlan) -> int:
    """Return the index of the hidden state that a plan pools.

    Raises:
        TextError: the model has no such entry, or the pooler is requested below the last.
        UnsupportedModelError: the model has no pooler.
    """
    last = loaded.num_hidden_layers
    layer = last if plan.layer is None else plan.layer
    if not 0 <= layer <= last:
        raise TextError(f"There is no layer {layer} in {loaded.name!r}; give 0 (the embedding output) to {last}.")
    if plan.pooling == "pooler":
        if not loaded.has_pooler:
            raise UnsupportedModelError(f"{loaded.name!r} has no pooler; choose mean, cls or max.")
        if layer != last:
            raise TextError(f"The pooler reads the last layer ({last}) only; choose that, or mean, cls or max.")
    return layer


class SentenceRun:
    """A model prepared to encode batches of tokenized sentences by one plan."""

    def __init__(self, loaded: LoadedModel, plan: SentencePlan, dtype: SentenceDtype, skipped: int) -> None:
        """Convert the weights if another format is requested.

        Args:
            loaded: the model, in float32.
            plan: pooling plan for sentence vectors.
            dtype: number format of the run.
            skipped: number of leading tokens of every sentence that are not pooled.
        """
        if loaded.dtype != "float32":
            raise ValueError(f"a model in {loaded.dtype}; load it in float32")
        self._loaded, self._plan, self._skipped = loaded, plan, skipped
        self._room: int | None = None
        plan_layer(loaded, plan)
        with RUN_LOCK:
            check_recording(loaded)
        self._model = loaded.model if dtype == "float32" else _converted(loaded.model, dtype)

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices about the batches, one sentence each."""
        if self._room is None:
            return ()
        return (f"Memory was short: batches were halved, to at most {counted(self._room, 'token')}.",)

    def vectors(self, batch: Sequence[SentenceRow]) -> Float[np.ndarray, "batch dimensions"]:
        """Compute the vectors of a batch; if memory runs out, this batch and later ones of its size are halved.

        Raises:
            BertvizError: the model cannot encode the sentences (see sentence_vectors).
        """
        tokens = len(batch) * max(map(len, batch))
        if len(batch) == 1 or self._room is None or tokens <= self._room:
            try:
                return self._vectors(batch)
            except (MemoryError, RuntimeError, OutOfMemoryError) as error:
                if len(batch) == 1 or not is_out_of_memory(error):
                    raise
                self._room = tokens // 2
        middle = len(batch) // 2  # outside the except block, whose frames hold the memory
        return np.concatenate([self.vectors(batch[:middle]), self.vectors(batch[middle:])])

    def _vectors(self, batch: Sequence[SentenceRow]) -> Float[np.ndarray, "batch dimensions"]:
        plan, inputs = self._plan, model_inputs(self._loaded, batch)
        with RUN_LOCK, torch.inference_mode():
            vectors = (
                plan_vectors(self._loaded, plan, inputs, _lengths(batch), self._skipped, self._model).cpu().numpy()
            )
        return (unit(vectors) if plan.normalize else vectors)[:, : plan.truncate_dim]

    def all_layers(
        self, batch: Sequence[SentenceRow], poolings: Sequence[Pooling], layers: Sequence[int]
    ) -> Float[np.ndarray, "poolings layers batch hidden"]:
        """Compute pooled vectors for every pooling and layer; NaN if undefined.

        Raises:
            BertvizError: the model cannot encode the sentences.
        """
        inputs = model_inputs(self._loaded, batch)
        last = self._loaded.num_hidden_layers
        with RUN_LOCK, torch.inference_mode():
            output, mask = model_states(self._loaded, inputs, _lengths(batch), self._skipped, self._model, inside=True)
            states = output["hidden_states"]
            vectors = np.full((len(poolings), len(layers), len(batch), states[0].shape[-1]), np.nan, dtype=np.float32)
            for row, pooling in enumerate(poolings):
                for column, layer in enumerate(layers):
                    if pooling != "pooler":
                        vectors[row, column] = pooled(states[layer], mask, pooling).cpu().numpy()
                    elif layer == last and (made := pooler_output(self._loaded, output)).shape[-1] == vectors.shape[-1]:
                        vectors[row, column] = made.float().cpu().numpy()
        return vectors


def plan_vectors(
    loaded: LoadedModel,
    plan: SentencePlan,
    inputs: "Mapping[str, torch.Tensor]",
    lengths: Sequence[int],
    skipped: int = 0,
    model: "transformers.PreTrainedModel | None" = None,
) -> "torch.Tensor":
    """Compute vectors (batch, dimensions) before normalisation and truncation; differentiable.

    The caller must hold RUN_LOCK and have called check_recording on the model.

    Args:
        loaded: the model.
        plan: pooling plan for sentence vectors.
        inputs: inputs of the model's forward (bertviz_core.trace.inputs.model_inputs).
        lengths: number of tokens of each row; one number if all are equal.
        skipped: number of leading tokens of every row that are not pooled.
        model: the same model in another number format; the loaded one by default.

    Raises:
        BertvizError: the model cannot encode the sentences.
    """
    layer = plan_layer(loaded, plan)
    inside = layer < loaded.num_hidden_layers
    output, mask = model_states(loaded, inputs, lengths, skipped, model, inside)
    if plan.pooling == "pooler":
        vectors = pooler_output(loaded, output).float()
    else:
        vectors = pooled(output["hidden_states"][layer] if inside else output["last_hidden_state"], mask, plan.pooling)
    return applied(vectors, plan.dense)


def model_states(
    loaded: LoadedModel,
    inputs: "Mapping[str, torch.Tensor]",
    lengths: Sequence[int],
    skipped: int,
    model: "transformers.PreTrainedModel | None",
    inside: bool,
) -> "tuple[Mapping[str, Any], torch.Tensor]":
    """Return the model's output, the states of all layers if `inside`, and the mask of pooled tokens.

    The caller must hold RUN_LOCK and have called check_recording on the model.

    Raises:
        BertvizError: the model cannot be run on these inputs, or does not return one vector per token.
    """
    seq = max(lengths)
    reset_model_state(model or loaded.model, seq)
    output = dict(forward(loaded, inputs, model, output_hidden_states=inside))
    if "last_hidden_state" not in output:  # a class that returns only its pooled vector
        output = dict(forward(loaded, inputs, model, output_hidden_states=True))
        output.setdefault("last_hidden_state", hidden_states(loaded, output)[-1])
    last = output["last_hidden_state"]
    shapes = {tuple(state.shape) for state in (*(output.get("hidden_states") or ()), last)}
    if len(shapes) > 1 or last.ndim != 3 or last.shape[1] != seq or len(lengths) not in (1, len(last)):
        raise UnsupportedModelError(f"{loaded.name!r} ({loaded.model_type}) does not keep one vector per token.")
    mask = token_mask(torch.tensor(lengths, device=last.device), seq, skipped)
    return output, mask.expand(len(last), seq)


def _lengths(batch: Sequence[SentenceRow]) -> list[int]:
    return [len(row) for row in batch]


def _converted(model: "transformers.PreTrainedModel", dtype: SentenceDtype) -> "transformers.PreTrainedModel":
    """Return a converted copy; faster than autocast, which converts the weights in every batch."""
    with RUN_LOCK:
        converted: transformers.PreTrainedModel = copy.deepcopy(model).to(getattr(torch, dtype)).eval()
    return converted


def sentence_vectors(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    sentences: Sequence[str],
    plan: SentencePlan,
    dtype: SentenceDtype = "float32",
    progress: Progress | None = None,
    store: SentenceStore | None = None,
    batch_tokens: int | None = None,
) -> SentenceVectors:
    """Compute one vector per sentence; float32 whatever the format of the run.

    A vector does not depend on the order or content of the list, up to rounding. The model is unlocked between batches,
    so that other requests can run. Vectors computed before a cancellation are in the store.

    Args:
        loaded: the model, in float32.
        tokenizer: tokenizer of the model.
        sentences: the texts.
        plan: pooling plan for sentence vectors (bertviz_core.sentences.plan.recommended).
        dtype: number format of the run; one of 16 bits is fast only if fast_formats has it.
        progress: called as progress(done, total) in distinct sentences; may raise to cancel.
        store: cache of vectors; None for no cache.
        batch_tokens: maximum number of tokens per batch, padding included; None for the default of the device. A batch
            that exceeds the memory is halved, with a notice.

    Raises:
        TextError: there is no sentence, one is too long or has no token, or the model lacks the layer.
        UnsupportedModelError: the model has no pooler, or cannot be run on a text alone.
        CheckpointError: the plan's dense layers do not fit the model.
    """
    started, notices_before = perf_counter(), store.happened if store is not None else 0
    if not sentences:
        raise TextError("The list has no sentence; give at least one.")
    layer = plan_layer(loaded, plan)
    texts = list(dict.fromkeys(sentences))
    stored = ListVectors(texts, fingerprint(loaded, tokenizer, plan, dtype), store)
    missing = stored.read()
    report = progress or _nothing
    report(len(texts) - len(missing), len(texts))
    short: tuple[str, ...] = ()
    try:
        if missing:
            short = _compute(loaded, tokenizer, plan, dtype, stored, missing, report, batch_tokens)
    finally:
        stored.write()
    position_of = {text: position for position, text in enumerate(texts)}
    vectors, counts, truncated = stored.arrays([position_of[text] for text in sentences])
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
        notices=tuple(
            dict.fromkeys(
                (
                    *loaded.notices,
                    *tokenizer.notices,
                    *first_by_file(tokenizer, [read_text(plan, text) for text in texts[:MOST_COMPARED]]),
                    *_notices(tokenizer, plan, vectors, truncated),
                    *batch_notice(loaded, counts.tolist()),
                    *(store.notices[notices_before:] if store is not None else ()),
                    *short,
                )
            )
        ),
        first_token=edge_tokens(tokenizer).first,
    )


def fingerprint(loaded: LoadedModel, tokenizer: TextTokenizer, plan: SentencePlan, dtype: SentenceDtype) -> bytes:
    """Return an identifier of the computation of vectors: model, plan, limit and format."""
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
    stored: ListVectors,
    missing: list[int],
    report: Progress,
    batch_tokens: int | None,
) -> tuple[str, ...]:
    """Encode the texts at some indices, batch by batch; return a notice if batches were halved."""
    total, before = len(stored.texts), len(stored.texts) - len(missing)
    rows: list[SentenceRow] = []
    for chunk in tokenized(tokenizer, [stored.texts[position] for position in missing], plan):
        rows += chunk
        report(before, total)
    encoder = SentenceRun(loaded, plan, dtype, prompt_tokens(tokenizer, plan))
    done = before
    for batch in batches(loaded, [len(row) for row in rows], batch_tokens):
        together = [rows[index] for index in batch]
        counts, truncated = zip(*((len(row), row.truncated) for row in together), strict=True)
        made = StoredVectors(encoder.vectors(together), np.array(counts), np.array(truncated))
        stored.add([missing[index] for index in batch], made)
        done += len(batch)
        report(done, total)
    return encoder.notices


def _nothing(done: int, total: int) -> None:
    """Ignore the progress."""


def _notices(
    tokenizer: TextTokenizer,
    plan: SentencePlan,
    vectors: Float[np.ndarray, "sentences dimensions"],
    truncated: Bool[np.ndarray, " sentences"],
) -> tuple[str, ...]:
    notices = list(plan.notices)
    if cut := int(truncated.sum()):
        reason = limited(tokenizer, plan).limit.reason
        notices.append(f"{counted(cut, 'sentence')} cut off at the {tokenizer.cut_side}: {reason}.")
    if broken := int((~np.isfinite(vectors).all(axis=1)).sum()):
        notices.append(f"{counted(broken, 'vector')} with NaN or infinity.")
    if zero := int((~vectors.any(axis=1)).sum()):
        notices.append(f"{counted(zero, 'vector')} of zeros: the cosine to it counts as 0.")
    return tuple(notices)
