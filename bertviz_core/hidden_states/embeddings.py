"""Recompute the embedding block and the pooler, and find nearest rows of the vocabulary table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.errors import SupersededError, UnsupportedModelError
from bertviz_core.hidden_states.results import EmbeddingSum, NearestRows, PoolerCheck
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.results import Trace
from bertviz_core.trace.run import RUN_LOCK, to_numpy
from bertviz_core.trace.verification import forward, input_table, model_inputs, reset_model_state

CHUNK_ROWS = 16_384
"""Rows of the vocabulary table compared at once."""
POSITION_TABLES = ("embeddings.position_embeddings", "position_embeddings", "embed_positions", "wpe")
NORMS = (
    *("embeddings.LayerNorm", "embeddings.layer_norm", "embeddings.norm"),
    *("layer_norm_emb", "layernorm_embedding", "word_embeddings_layernorm"),
)
PROJECTIONS = ("embeddings_project", "encoder.embedding_hidden_mapping_in", "embeddings.projection")
"""Usual names of the modules of the embedding block; the first match is used."""
SUM_TOLERANCE = 1e-4
"""Tolerance for the rounding of the sum and its normalisation in float32."""


def embedding_sum(loaded: LoadedModel, trace: Trace) -> EmbeddingSum:
    """Recompute the embeddings of all tokens as word + position + type, and compare them with hidden_states[0]."""
    row = family(loaded.model_type)
    with torch.inference_mode():
        ids = torch.tensor(trace.tokens.input_ids, device=loaded.device)
        word = _word(loaded, ids)
        position_ids, position = _position(loaded, trace)
        token_type = _token_type(loaded, trace, ids)
        other = _constant(loaded, row.constant_terms, word)
        total = word + sum(
            part for part in (position, token_type, other) if part is not None and part.shape == word.shape
        )
        norm, projection = _part(loaded, NORMS), _part(loaded, PROJECTIONS)
        normalized = _applied(norm, total)
        output = _applied(projection, normalized)
    recorded = trace.hidden_states[0]
    same_shape = tuple(output.shape) == recorded.shape
    difference = float(np.abs(to_numpy(output) - recorded).max()) if same_shape else float("inf")
    return EmbeddingSum(
        word=to_numpy(word),
        position=None if position is None else to_numpy(position),
        token_type=None if token_type is None else to_numpy(token_type),
        other=None if other is None else to_numpy(other),
        total=to_numpy(total),
        normalized=None if norm is None else to_numpy(normalized),
        norm_class="" if norm is None else type(norm).__name__,
        output=to_numpy(output),
        projected=projection is not None,
        position_ids=position_ids,
        max_difference=difference,
        exact=difference <= SUM_TOLERANCE * max(1.0, float(np.abs(recorded).max())),
        note=row.embedding_note,
    )


def pooler_check(loaded: LoadedModel, trace: Trace) -> PoolerCheck | None:
    """Recompute pooler_output = tanh(weight @ last_hidden_state[0] + bias); None if the model has no such pooler.

    Devlin et al. 2019, appendix A.
    """
    if trace.pooler_output is None:
        return None
    pooler = getattr(loaded.model, "pooler", None)
    dense = getattr(pooler, "dense", pooler)
    if not isinstance(dense, torch.nn.Linear) or not _ends_in_tanh(loaded):
        return None
    cls = trace.hidden_states[-1][0]
    weight, bias = to_numpy(dense.weight), to_numpy(dense.bias)
    linear = weight @ cls + bias
    output = np.tanh(linear)
    return PoolerCheck(cls, linear, output, float(np.abs(output - trace.pooler_output).max()))


def nearest_rows(loaded: LoadedModel, token_id: int, count: int = 10) -> NearestRows:
    """The rows of the vocabulary table with the largest cosine to a row; a zero row has cosine 0."""
    table = word_table(loaded)
    if not 0 <= token_id < len(table):
        raise ValueError(f"row {token_id} of {len(table)}")
    with torch.inference_mode():
        row = table[token_id].float()
        norms, cosines = torch.empty(len(table)), torch.empty(len(table))
        for start in range(0, len(table), CHUNK_ROWS):
            chunk = table[start : start + CHUNK_ROWS].float()
            lengths = chunk.norm(dim=1)
            product = (lengths * row.norm()).clamp_min(torch.finfo(torch.float32).tiny)
            norms[start : start + len(chunk)] = lengths.cpu()
            cosines[start : start + len(chunk)] = (chunk @ row / product).clamp(-1, 1).cpu()
        norm = float(norms[token_id])
        cosines[token_id] = -torch.inf
        best = cosines.topk(min(count, len(table) - 1)).indices
        return NearestRows(token_id, norm, best.numpy(), to_numpy(cosines[best]), to_numpy(norms[best]))


def word_table(loaded: LoadedModel) -> "torch.Tensor":
    """The vocabulary table (vocab, width)."""
    table = input_table(loaded.model)
    if table is None:
        raise UnsupportedModelError(f"{loaded.name!r} ({loaded.model_type}) has no table with one row per token.")
    return table


def _word(loaded: LoadedModel, ids: "torch.Tensor") -> "torch.Tensor":
    vectors = word_table(loaded)[ids].float() * float(getattr(loaded.model.get_input_embeddings(), "embed_scale", 1.0))
    step = WORD_STEPS.get(loaded.model_type)
    return vectors if step is None else step(loaded.model, vectors, ids)


def _position(
    loaded: LoadedModel, trace: Trace
) -> "tuple[Int[np.ndarray, ' seq'] | None, Float[torch.Tensor, 'seq width'] | None]":
    """Row numbers and vectors that a run looks up in the position table; no numbers for computed positions.

    They are observed rather than computed, since families start at different rows (0, 2, the one after the padding id).
    """
    table = _part(loaded, POSITION_TABLES)
    if table is None:
        return None, None
    outputs: list[torch.Tensor] = []
    with RUN_LOCK:
        inputs = model_inputs(loaded, (trace.tokens,))
        reset_model_state(loaded.model, len(trace.tokens))  # first, since it may replace modules
        with _listening(table, outputs) as row_numbers, suppress(_TablePassedError):
            forward(loaded, inputs)
    if not outputs:
        return None, None
    seq = len(trace.tokens)
    vectors = outputs[0].reshape(-1, outputs[0].shape[-1])[:seq].float()
    rows = row_numbers[0].reshape(-1)[:seq] if row_numbers else None
    return (None if rows is None else rows.cpu().numpy()), vectors


class _TablePassedError(SupersededError):
    """Ends the run after the position table was used."""


@contextmanager
def _listening(table: "torch.nn.Module", outputs: "list[torch.Tensor]") -> "Iterator[list[torch.Tensor]]":
    """Collect the first output of a module and end the run; yields the row numbers looked up in it."""
    row_numbers: list[torch.Tensor] = []
    weight, thread = getattr(table, "weight", None), get_ident()

    class _Lookups(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.nn.functional.embedding and weight is not None and args[1] is weight:
                row_numbers.append(args[0])
            return func(*args, **(kwargs or {}))

    def record(module: Any, args: tuple[Any, ...], output: Any) -> None:
        if get_ident() == thread:
            outputs.append(output[0] if isinstance(output, tuple) else output)
            raise _TablePassedError

    hook = table.register_forward_hook(record)
    try:
        with _Lookups():
            yield row_numbers
    finally:
        hook.remove()


def _token_type(loaded: LoadedModel, trace: Trace, ids: "torch.Tensor") -> "torch.Tensor | None":
    """Rows of the token type table; row 0 if there are no types, unless the table is the vocabulary."""
    table = _part(loaded, (family(loaded.model_type).type_table,))
    types = trace.tokens.token_type_ids
    if table is None or (types is None and table is loaded.model.get_input_embeddings()):
        return None
    if types is None or types.max(initial=0) >= len(table.weight):
        types = np.zeros(len(ids), dtype=np.int64)
    rows: torch.Tensor = table.weight[torch.tensor(types, device=ids.device)].float()
    return rows


def _constant(loaded: LoadedModel, terms: tuple[tuple[str, int], ...], word: "torch.Tensor") -> "torch.Tensor | None":
    tables = [(_part(loaded, (name,)), times) for name, times in terms]
    rows = [table.weight[0].float() * times for table, times in tables if table is not None]
    return sum(rows[1:], rows[0]).expand_as(word).clone() if rows else None


def part_path(model: "transformers.PreTrainedModel", names: Sequence[str]) -> str:
    """Path of the first of these modules in a model, or in its inner text model; "" if there is none."""
    modules = dict(model.named_modules())
    words = next((path for path, module in modules.items() if module is _input_module(model)), "")
    around = [path for path, module in modules.items() if isinstance(module, transformers.PreTrainedModel)]
    paths = (f"{path}.{name}".lstrip(".") for path in around if words.startswith(path) for name in names)
    return next((path for path in paths if path in modules), "")


def _input_module(model: "transformers.PreTrainedModel") -> Any:
    try:
        return model.get_input_embeddings()
    except NotImplementedError:  # it embeds characters or hashes
        return None


def _part(loaded: LoadedModel, names: tuple[str, ...]) -> Any:
    path = part_path(loaded.model, names)
    return loaded.model.get_submodule(path) if path else None


def _applied(module: Any, vectors: "torch.Tensor") -> "torch.Tensor":
    if module is None or getattr(module, "quant_mode", False):  # I-BERT's integers need a scale
        return vectors
    result = module(vectors.to(next(module.parameters()).dtype)[None])
    output: torch.Tensor = (result[0] if isinstance(result, tuple) else result)[0].float()
    return output


def _ends_in_tanh(loaded: LoadedModel) -> bool:
    pooler = getattr(loaded.model, "pooler", None)
    if loaded.model_type == "mobilebert":
        return bool(getattr(pooler, "do_activate", False))
    candidates = ((pooler, "activation"), (loaded.model, "pooler_activation"), (loaded.model, "activation"))
    return any(isinstance(getattr(module, name, None), torch.nn.Tanh) for module, name in candidates)


def _trigram(model: Any, vectors: "torch.Tensor", ids: "torch.Tensor") -> "torch.Tensor":
    """MobileBERT (Sun et al. 2020, section 3.1): a linear map of the next, the own and the previous narrow vector."""
    block = model.embeddings
    if block.trigram_input:
        edge = torch.zeros_like(vectors[:1])
        vectors = torch.cat((torch.cat((vectors[1:], edge)), vectors, torch.cat((edge, vectors[:-1]))), dim=1)
    wide = block.trigram_input or block.embedding_size != block.hidden_size
    return _applied(block.embedding_transformation, vectors) if wide else vectors


def _token_dropout(model: Any, vectors: "torch.Tensor", ids: "torch.Tensor") -> "torch.Tensor":
    """ESM: masked tokens are zeroed, the others scaled as in training with 12% masked."""
    block = model.embeddings
    if not block.token_dropout:
        return vectors
    masked = ids == block.mask_token_id
    scaled: torch.Tensor = vectors.masked_fill(masked[:, None], 0.0) * 0.88 / (1 - masked.float().mean())
    return scaled


def _side_by_side(model: Any, vectors: "torch.Tensor", ids: "torch.Tensor") -> "torch.Tensor":
    """RoCBert without shapes and pronunciations: a linear map of the word and row 0 of both tables."""
    block = model.embeddings
    if block.map_inputs_layer is None:
        return vectors
    tables = ((block.enable_shape, block.shape_embed), (block.enable_pronunciation, block.pronunciation_embed))
    firsts = [table.weight[:1].float().expand(len(vectors), -1) for used, table in tables if used]
    rows = [vectors, *firsts]
    return _applied(block.map_inputs_layer, torch.cat(rows, dim=1))


WORD_STEPS: Mapping[str, Callable[[Any, "torch.Tensor", "torch.Tensor"], "torch.Tensor"]] = {
    "esm": _token_dropout,
    "mobilebert": _trigram,
    "roc_bert": _side_by_side,
}
"""Model type -> function applied to the rows of the vocabulary table before the sum."""
