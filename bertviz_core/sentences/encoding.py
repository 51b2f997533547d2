"""Encode sentences in batches."""

import copy
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from random import Random
from time import perf_counter
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.errors import (
    BertvizError,
    OutOfMemoryError,
    Progress,
    TextError,
    UnsupportedModelError,
    is_out_of_memory,
    no_progress,
)
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.families import family
from bertviz_core.models.loading import BatchOf, LoadedModel, device_kind
from bertviz_core.sentences.pooling import applied, pooled, term_values, token_mask
from bertviz_core.sentences.results import (
    SPARSE_POOLINGS,
    EdgeTokens,
    Pooling,
    SentenceDtype,
    SentencePlan,
    SentenceVectors,
    SparsePooling,
    WordLogits,
)
from bertviz_core.sentences.store.shards import StoredVectors
from bertviz_core.sentences.store.vectors import ListVectors, SentenceStore
from bertviz_core.text import counted, repair_surrogates
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import (
    MOST_COMPARED,
    PYTHON_MAX_CHARACTERS,
    TextTokenizer,
    check_ids,
    check_room,
    first_by_file,
    tokenize,
)
from bertviz_core.trace.verification import (
    check_batches,
    check_recording,
    forward,
    hidden_states,
    left_padding_acts,
    model_inputs,
    pooler_output,
    reset_model_state,
)

CHUNK_SENTENCES = 512
"""Number of sentences tokenized in one call: enough to make its overhead negligible, few enough to cancel soon."""
MOST_WEIGHTS = 2**26
"""Maximum number of weights of a list of sentences in a sparse encoder: 256 MiB, 2,198 sentences and 30,522 words."""
MAX_BATCH_TOKENS: Mapping[str, int] = {"cpu": 1024, "cuda": 32_768, "mps": 8192}
"""Maximum number of tokens per batch, padding included. On a CPU, activations of this size still fit into the cache."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceRow:
    """A tokenized sentence, for bertviz_core.trace.verification.model_inputs."""

    input_ids: Int[np.ndarray, " seq"]
    token_type_ids: Int[np.ndarray, " seq"] | None
    """Token types; None if the tokenizer has none."""
    other_inputs: Mapping[str, np.ndarray]
    truncated: bool
    """Whether tokens were cut off at its end."""

    def __len__(self) -> int:
        return len(self.input_ids)


def limited(tokenizer: TextTokenizer, plan: SentencePlan) -> TextTokenizer:
    """Return the tokenizer with the plan's token limit, if it has one."""
    length = plan.max_seq_length
    return tokenizer.limited(length, f"the model's sentence vectors are made of at most {length or 0:,} tokens")


def sentence_tokens(tokenizer: TextTokenizer, sentence: str, plan: SentencePlan) -> Tokens:
    """Return the tokens of one sentence under a plan, with prompt and token limit; input for token_pair_shares."""
    return tokenize(limited(tokenizer, plan), read_text(plan, sentence))


def edge_tokens(tokenizer: TextTokenizer) -> EdgeTokens:
    """Return the special tokens that the tokenizer adds before and after a sentence."""
    try:
        tokens = tokenize(tokenizer, "a")
    except TextError:  # a static model's adds none, and may not know the letter
        return EdgeTokens(None, None)
    first, last = (tokens.tokens[at] if tokens.special[at] else None for at in (0, -1))
    return EdgeTokens(first, last)


def read_text(plan: SentencePlan, sentence: str) -> str:
    """Return the tokenizer's input: prompt and sentence, in lower case if the plan requires it."""
    text = repair_surrogates(plan.prompt + sentence)
    # Letter by letter, like the normaliser of the tokenizers: str.lower depends on the context for a Greek sigma.
    return "".join(map(str.lower, text)) if plan.lower_case else text


def prompt_tokens(tokenizer: TextTokenizer, plan: SentencePlan) -> int:
    """Return the number of leading tokens that the plan does not pool; 0 if it pools the prompt too."""
    if not plan.prompt or plan.include_prompt:
        return 0
    tokens = sentence_tokens(tokenizer, "", plan)
    return len(tokens) - int(len(tokens) > 1 and bool(tokens.special[-1]))


def tokenized(tokenizer: TextTokenizer, sentences: Sequence[str], plan: SentencePlan) -> Iterator[list[SentenceRow]]:
    """Yield the token ids of the sentences in chunks, in their order."""
    limited_tokenizer = limited(tokenizer, plan)
    max_characters = (
        limited_tokenizer.max_characters
        if limited_tokenizer.tokenizer.is_fast
        else min(limited_tokenizer.max_characters, PYTHON_MAX_CHARACTERS)
    )
    for start in range(0, len(sentences), CHUNK_SENTENCES):
        chunk = sentences[start : start + CHUNK_SENTENCES]
        for sentence in chunk:
            if len(sentence) > max_characters:
                raise TextError(
                    f"A sentence has {len(sentence):,} characters ({sentence[:40]!r}...); "
                    f"at most {max_characters:,} are read. Cut it into parts (or raise INSIDE_BERT_MAX_CHARACTERS)."
                )
        yield _rows(limited_tokenizer, [read_text(plan, sentence) for sentence in chunk])


def batch_of(loaded: LoadedModel) -> BatchOf:
    """Which texts can share a batch: what a short run shows, and what is known of the family."""
    with RUN_LOCK:
        together = check_batches(loaded)
    return "one length" if together == "any length" and family(loaded.model_type).padding_acts else together


def batch_notice(loaded: LoadedModel, tokenizer: TextTokenizer, lengths: Collection[int]) -> tuple[str, ...]:
    """A notice if a batch with padding gives other vectors, as other libraries run it."""
    together = batch_of(loaded) if len(set(lengths)) > 1 else "any length"
    if together == "any length":
        pads_left = len(set(lengths)) > 1 and getattr(tokenizer.tokenizer, "padding_side", "right") == "left"
        with RUN_LOCK if pads_left else nullcontext():
            if not pads_left or not left_padding_acts(loaded):
                return ()
        return (
            f"The tokenizer pads in front of a text, which moves the positions of this {loaded.model_type} model: each "
            "text is run without padding here, and what pads its batches, such as sentence-transformers, gives other "
            "vectors.",
        )
    alone = "with texts of its length" if together == "one length" else "alone"
    return (
        f"The other texts of a batch, or padding, change the vectors of this {loaded.model_type} model: each text is "
        f"run {alone} here, and what pads its batches, such as sentence-transformers, gives other vectors.",
    )


def batches(loaded: LoadedModel, lengths: Sequence[int], max_tokens: int | None = None) -> list[list[int]]:
    """Group indices of sentences of similar length into batches within a token budget.

    The longest sentences come first, so that insufficient memory shows at once; the rest in shuffled order, so that the
    elapsed time predicts the remaining time. Models with outputs that depend on padding get batches of equal length;
    models with outputs that depend on the rest of the batch get single texts.

    Args:
        max_tokens: maximum number of tokens per batch, padding included; None for the default of the device.
    """
    together = batch_of(loaded)
    budget = 0 if together == "one text" else max_tokens or MAX_BATCH_TOKENS[device_kind(loaded.device)]
    same_length = together != "any length"
    order = np.argsort(-np.asarray(lengths), kind="stable").tolist()
    groups: list[list[int]] = []
    for index in order:
        current = groups[-1] if groups else []
        longest = lengths[current[0]] if current else 0
        fits = bool(current) and longest * (len(current) + 1) <= budget
        if fits and (not same_length or lengths[index] == longest):
            current.append(index)
        else:
            groups.append([index])
    rest = groups[1:]
    Random(0).shuffle(rest)  # noqa: S311  # an order, no secret
    return groups[:1] + rest


def _rows(tokenizer: TextTokenizer, texts: list[str]) -> list[SentenceRow]:
    backend, limit = tokenizer.tokenizer, tokenizer.limit.tokens
    options: dict[str, Any] = {"return_attention_mask": False, "verbose": False}
    try:
        with tokenizer.lock:
            padding = "max_length" if tokenizer.pads else False
            encoding = backend(texts, truncation=limit is not None, padding=padding, max_length=limit, **options)
            if not backend.is_fast:
                check_ids(tokenizer.name, chain.from_iterable(encoding["input_ids"]))
            check_room(tokenizer, max(map(len, encoding["input_ids"]), default=0))
            at_limit = [index for index, ids in enumerate(encoding["input_ids"]) if len(ids) == limit]
            whole = backend([texts[index] for index in at_limit], **options)["input_ids"] if at_limit else []
    except BertvizError:
        raise
    except Exception as error:  # tokenizers raises undocumented errors
        raise TextError(f"The tokenizer of {tokenizer.name!r} cannot read these sentences: {error}") from error
    cut = {index for index, ids in zip(at_limit, whole, strict=True) if limit is not None and len(ids) > limit}
    columns = {name: values for name, values in encoding.items() if isinstance(values, list)}
    rows = [
        _row({name: values[index] for name, values in columns.items()}, index in cut) for index in range(len(texts))
    ]
    for row, text in zip(rows, texts, strict=True):
        if not len(row):
            raise TextError(
                f"The tokenizer of {tokenizer.name!r} makes no token of the sentence {text[:40]!r}; leave it out."
            )
    return rows


def _row(columns: Mapping[str, Any], truncated: bool) -> SentenceRow:
    ids = np.asarray(columns["input_ids"], dtype=np.int64)
    others = {
        name: np.asarray(values, dtype=np.int64)
        for name, values in columns.items()
        if name not in ("input_ids", "token_type_ids", "special_tokens_mask") and len(values) == len(ids)
    }
    types = columns.get("token_type_ids")
    return SentenceRow(ids, None if types is None else np.asarray(types, dtype=np.int64), others, truncated)


def plan_layer(loaded: LoadedModel, plan: SentencePlan) -> int:
    """Return the index of the hidden state that a plan pools."""
    last = loaded.num_hidden_layers
    layer = last if plan.layer is None else plan.layer
    if not 0 <= layer <= last:
        raise TextError(f"There is no layer {layer} in {loaded.name!r}; give 0 (the embedding output) to {last}.")
    if plan.pooling == "pooler":
        if not loaded.has_pooler:
            raise UnsupportedModelError(f"{loaded.name!r} has no pooler; choose mean, cls or max.")
        if layer != last:
            raise TextError(f"The pooler reads the last layer ({last}) only; choose that, or mean, cls or max.")
    if plan.pooling == "splade" and layer != last:
        raise TextError(f"The head of a sparse encoder reads the last layer ({last}) only; choose that, or mean.")
    return layer


class SentenceRun:
    """A model prepared to encode batches of tokenized sentences by one plan."""

    def __init__(
        self, loaded: LoadedModel, plan: SentencePlan, dtype: SentenceDtype, skipped: int, model: Any = None
    ) -> None:
        """Convert the weights if another format is requested; another `model` runs instead of the loaded one."""
        if loaded.dtype != "float32":
            raise ValueError(f"a model in {loaded.dtype}; load it in float32")
        self._loaded, self._plan, self._skipped = loaded, plan, skipped
        self._room: int | None = None
        plan_layer(loaded, plan)
        with RUN_LOCK:
            check_recording(loaded)
        self._model = model or (loaded.model if dtype == "float32" else converted_model(loaded.model, dtype))

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices about the batches, one sentence each."""
        if self._room is None:
            return ()
        return (f"Memory was short: batches were halved, to at most {counted(self._room, 'token')}.",)

    def vectors(self, batch: Sequence[SentenceRow]) -> Float[np.ndarray, "batch dimensions"]:
        """Compute the vectors of a batch; if memory runs out, this batch and later ones of its size are halved."""
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
        """Compute pooled vectors for every pooling and layer; NaN if undefined."""
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
    model: Any = None,
) -> "torch.Tensor":
    """Compute vectors (batch, dimensions) before normalisation and truncation; differentiable.

    The caller must hold RUN_LOCK and have called check_recording on the model.

    Args:
        lengths: number of tokens of each row; one number if all are equal.
        skipped: number of leading tokens of every row that are not pooled.
    """
    layer = plan_layer(loaded, plan)
    inside = layer < loaded.num_hidden_layers
    if plan.pooling == "idf":
        return applied(_table_vectors(loaded, inputs["input_ids"], lengths), plan.dense)
    if plan.pooling == "splade":
        head, pooling = _sparse_parts(loaded, plan)
        output, mask = model_states(loaded, inputs, lengths, skipped, model or head.model, inside)
        return applied(_sparse_vectors(head, pooling, output, mask), plan.dense)
    output, mask = model_states(loaded, inputs, lengths, skipped, model, inside)
    if plan.pooling == "pooler":
        vectors = pooler_output(loaded, output).float()
    else:
        vectors = pooled(output["hidden_states"][layer] if inside else output["last_hidden_state"], mask, plan.pooling)
    return applied(vectors, plan.dense)


def _sparse_parts(loaded: LoadedModel, plan: SentencePlan) -> tuple[WordLogits, SparsePooling]:
    if plan.head is None or plan.sparse is None:
        raise UnsupportedModelError(
            f"{loaded.name!r} is a sparse encoder, whose vectors have a weight for each word of its vocabulary; they "
            "are computed for lists of sentences, and not here: choose the pooling mean, where there is a choice."
        )
    return plan.head, plan.sparse


def _table_vectors(loaded: LoadedModel, ids: "torch.Tensor", lengths: Sequence[int]) -> "torch.Tensor":
    """Compute the weights (batch, vocab) of the tokens that occur, 0 for all others."""
    table: torch.Tensor = loaded.model.get_input_embeddings().weight[:, 0].float()
    mask = token_mask(torch.tensor(lengths, device=ids.device), ids.shape[1], 0).expand(ids.shape)
    occurs = torch.zeros(len(ids), len(table), device=ids.device)
    return occurs.scatter_reduce(1, ids, mask.float(), "amax") * table


def _sparse_vectors(
    head: WordLogits, pooling: SparsePooling, output: Mapping[str, Any], mask: "torch.Tensor"
) -> "torch.Tensor":
    """Compute the weights (batch, vocab) of a sparse encoder, row by row in bounded memory."""

    def reduced(weights: "torch.Tensor") -> "torch.Tensor":
        return weights.amax(dim=0) if pooling.strategy == "max" else weights.sum(dim=0)

    rows = []
    for whole, pooled_tokens in zip(head.states(output), mask, strict=True):
        states = whole[pooled_tokens].float()
        parts = [
            reduced(term_values(head.logits_unlocked(output, states[chunk]), pooling))
            for chunk in head.chunks(len(states))
        ]
        rows.append(reduced(torch.stack(parts)))
    return torch.stack(rows)


def model_states(
    loaded: LoadedModel,
    inputs: "Mapping[str, torch.Tensor]",
    lengths: Sequence[int],
    skipped: int,
    model: Any,
    inside: bool,
) -> "tuple[Mapping[str, Any], torch.Tensor]":
    """Return the model's output, the states of all layers if `inside`, and the mask of pooled tokens.

    The caller must hold RUN_LOCK and have called check_recording on the model.
    """
    seq = max(lengths)
    if model is None or isinstance(model, transformers.PreTrainedModel):  # one in int8 has no state
        reset_model_state(model or loaded.model, seq)
    output = forward(loaded, inputs, model, output_hidden_states=inside)
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


def converted_model(model: "transformers.PreTrainedModel", dtype: SentenceDtype) -> "transformers.PreTrainedModel":
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
    progress: Progress = no_progress,
    store: SentenceStore | None = None,
    batch_tokens: int | None = None,
    model: Any = None,
) -> SentenceVectors:
    """Compute one vector per sentence; float32 whatever the format of the run.

    A vector does not depend on the order or content of the list, up to rounding. The model is unlocked between batches,
    so that other requests can run. Vectors computed before a cancellation are in the store.

    Args:
        dtype: number format of the run; one of 16 bits is fast only if fast_formats has it.
        batch_tokens: maximum number of tokens per batch, padding included; None for the default of the device. A batch
            that exceeds the memory is halved, with a notice.
        model: runs instead of the loaded one, called as it is, without a store: its vectors would be kept as its.
    """
    started, notices_before = perf_counter(), store.happened if store is not None else 0
    if not sentences:
        raise TextError("The list has no sentence; give at least one.")
    layer = plan_layer(loaded, plan)
    texts = list(dict.fromkeys(sentences))
    if plan.pooling in SPARSE_POOLINGS:
        words = loaded.model.config.vocab_size if plan.sparse is None else _sparse_parts(loaded, plan)[0].vocab_size
        _check_room(words, len(texts))
    stored = ListVectors(texts, fingerprint(loaded, tokenizer, plan, dtype), store)
    missing = stored.read()
    progress(len(texts) - len(missing), len(texts))
    short: tuple[str, ...] = ()
    try:
        if missing:
            short = _compute(loaded, tokenizer, plan, dtype, stored, missing, progress, batch_tokens, model)
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
                    *batch_notice(loaded, tokenizer, counts.tolist()),
                    *(store.notices[notices_before:] if store is not None else ()),
                    *short,
                )
            )
        ),
        first_token=edge_tokens(tokenizer).first,
        measure=plan.measure,
    )


def _check_room(words: int, count: int) -> None:
    if count * words > MOST_WEIGHTS:
        raise TextError(
            f"{count:,} sentences have {count * words:,} weights, one for each of the {words:,} words of a sparse "
            f"encoder's vocabulary; give at most {MOST_WEIGHTS // words:,} sentences, or choose the pooling mean."
        )


def fingerprint(loaded: LoadedModel, tokenizer: TextTokenizer, plan: SentencePlan, dtype: SentenceDtype) -> bytes:
    """Return an identifier of the computation of vectors: model, plan, limit and format."""
    parts = (
        loaded.name, loaded.revision, loaded.model_type, dtype, plan.pooling, plan_layer(loaded, plan), plan.normalize,
        plan.prompt, plan.include_prompt, limited(tokenizer, plan).limit.tokens, plan.lower_case, plan.truncate_dim,
        *((plan.sparse,) if plan.sparse is not None else ()),
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
    progress: Progress,
    batch_tokens: int | None,
    model: Any,
) -> tuple[str, ...]:
    """Encode the texts at some indices, batch by batch; return a notice if batches were halved."""
    total, before = len(stored.texts), len(stored.texts) - len(missing)
    rows: list[SentenceRow] = []
    for chunk in tokenized(tokenizer, [stored.texts[position] for position in missing], plan):
        rows += chunk
        progress(before, total)
    encoder = SentenceRun(loaded, plan, dtype, prompt_tokens(tokenizer, plan), model)
    done = before
    for batch in batches(loaded, [len(row) for row in rows], batch_tokens):
        together = [rows[index] for index in batch]
        counts, truncated = zip(*((len(row), row.truncated) for row in together), strict=True)
        made = StoredVectors(encoder.vectors(together), np.array(counts), np.array(truncated))
        stored.add([missing[index] for index in batch], made)
        done += len(batch)
        progress(done, total)
    return encoder.notices


def cut_notice(tokenizer: TextTokenizer, plan: SentencePlan, cut: int) -> tuple[str, ...]:
    """That so many sentences are cut off, and why, one sentence; () if none is."""
    reason = limited(tokenizer, plan).limit.reason
    return (f"{counted(cut, 'sentence')} cut off at the {tokenizer.cut_side}: {reason}.",) if cut else ()


def _notices(
    tokenizer: TextTokenizer,
    plan: SentencePlan,
    vectors: Float[np.ndarray, "sentences dimensions"],
    truncated: Bool[np.ndarray, " sentences"],
) -> tuple[str, ...]:
    notices = [*plan.notices, *cut_notice(tokenizer, plan, int(truncated.sum()))]
    if broken := int((~np.isfinite(vectors).all(axis=1)).sum()):
        notices.append(f"{counted(broken, 'vector')} with NaN or infinity.")
    if zero := int((~vectors.any(axis=1)).sum()):
        notices.append(f"{counted(zero, 'vector')} of zeros: the cosine to it counts as 0.")
    return tuple(notices)
