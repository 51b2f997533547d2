"""Multiply-adds of a forward pass, by formula and counted, and memory of activations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any

import numpy as np

from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.dry_run import DryModel, dry_model, plain_row
from bertviz_core.architecture.layer_flow import layer_paths
from bertviz_core.architecture.results import (
    ActivationMemory,
    Crossover,
    Growth,
    Holding,
    LayerAttention,
    ModelFacts,
    MultiplyAdds,
    OperationTerms,
    Window,
)
from bertviz_core.architecture.sizes import layer_facts
from bertviz_core.errors import TextError
from bertviz_core.lazy_imports import torch
from bertviz_core.models.recording import dispatch_mode, operator_of, storage_key, tree_leaves
from bertviz_core.parameters.components import ATTENTION_PARTS
from bertviz_core.parameters.ledger import module_ledger
from bertviz_core.parameters.results import Ledger

PROJECTED = ("query", "key", "value", "query_key_value", "attention_output")
"""Parts of the projections of attention."""
STACKS = ("encoder", "decoder")


class Places:
    """The layers and parts of the modules of a class."""

    def __init__(self, ledger: Ledger) -> None:
        """Derive them from the parameters of the class."""
        self._parts: dict[str, set[str]] = {}
        for row in ledger.parameters:
            if len(row.shape) > 1:
                self._parts.setdefault(row.name.rpartition(".")[0], set()).add(row.part)
        self._layers = {
            path: (stack, layer)
            for stack in STACKS
            for layer, paths in layer_paths(ledger, ledger.model_type, stack).items()
            for path in paths
        }

    def layer(self, path: str) -> tuple[str, str, int] | None:
        """(path of the layer around a module, its stack, its index); None outside the layers."""
        parts = path.split(".")
        above = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        around = next((each for each in above if each in self._layers), None)
        return None if around is None else (around, *self._layers[around])

    def part(self, path: str) -> str:
        """The field of MultiplyAdds for the products of a module.

        A module of a layer without weight matrices multiplies activations, which is attention.
        """
        parts = self._parts.get(path, set())
        if self.mixed(path) or (not parts and self.layer(path) is not None):
            return "attention"
        if parts == {"feed_forward"}:
            return "feed_forward"
        return "projections" if parts and parts <= set(PROJECTED) else "other"

    def mixed(self, path: str) -> bool:
        """Whether a module has several matrices of attention and also computes the scores (XLNet)."""
        parts = self._parts.get(path, set())
        return len(parts) > 1 and parts <= set(ATTENTION_PARTS)


def places_of(dry: DryModel) -> Places:
    """The layers and parts of the modules of a dry model."""
    return Places(module_ledger(dry.name, dry.model))


def module_counts(dry: DryModel, seq: int) -> dict[str, int]:
    """Multiply-adds of a run on `seq` tokens by innermost module; they add up to the total of the run."""
    counts: dict[str, int] = {}
    around: list[tuple[str, int]] = []
    inputs = dry.inputs([plain_row(dry.model, seq)])  # BigBird replaces modules depending on the length
    with _counting() as counter:

        def enter(path: str) -> None:
            around.append((path, counter.flops))

        def leave(path: str) -> None:
            _, before = around.pop()
            inside = counter.flops - before
            counts[path] = counts.get(path, 0) + inside
            if around:
                outer = around[-1][0]
                counts[outer] = counts.get(outer, 0) - inside

        hooks = []
        for path, module in dry.model.named_modules():
            hooks.append(module.register_forward_pre_hook(lambda *_, path=path: enter(path)))
            hooks.append(module.register_forward_hook(lambda *_, path=path: leave(path)))
        try:
            dry.run(inputs)
        finally:
            for hook in hooks:
                hook.remove()
    return {path: count // 2 for path, count in counts.items() if count}


def counted(name: str, config: Mapping[str, Any], lengths: Sequence[int], task: str = "base") -> MultiplyAdds:
    """Count multiply-adds by part for runs of these lengths, with PyTorch's formulas (torch.utils.flop_counter).

    Attention is eager, so every pair of tokens counts regardless of windows. Lengths whose run would take too long are
    left out.
    """
    dry = dry_model(name, config, task)
    where = places_of(dry)
    known: list[int] = []
    sums: dict[str, list[int]] = {part: [] for part in ("projections", "attention", "feed_forward", "other")}
    for seq in lengths:
        with suppress(TextError):
            counts = module_counts(dry, seq)
            known.append(seq)
            for part, values in sums.items():
                values.append(sum(count for path, count in counts.items() if where.part(path) == part))
    arrays = {part: np.array(values, dtype=np.int64) for part, values in sums.items()}
    return MultiplyAdds(np.array(known, dtype=np.int64), every_pair=arrays["attention"], **arrays)


@contextmanager
def _counting() -> Iterator[Any]:
    """Count operations of this thread into `flops`; FlopCounterMode itself would hook modules of all threads."""
    from torch.utils.flop_counter import flop_registry

    mode: Any = dispatch_mode()

    class _Counter(mode):  # type: ignore[misc]  # torch leaves the class without types
        flops = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if operator_of(func) not in flop_registry:
                with self:
                    parts = func.decompose(*args, **(kwargs or {}))
                if parts is not NotImplemented:
                    return parts
            out = func(*args, **(kwargs or {}))
            formula = flop_registry.get(operator_of(func))
            if formula is not None:
                self.flops += formula(*args, **(kwargs or {}), out_val=out)
            return out

    with torch.no_grad(), _Counter() as counter:
        yield counter


SHORT_RUNS, CHECKED_RUN = (6, 9, 11), 13
"""Tokens of the runs that the formula is fitted to, and of one that it must predict."""
MAX_CROSSOVER_TOKENS = 2**20
"""Maximum length for the search of a crossover."""
STATED_TOKENS = 128
"""Tokens if there is no text."""
BATCHES = (1, 2, 4, 8, 16, 32)
CURVE_POINTS = 240
MAX_TIMES_LIMIT = 20
"""Maximum length of the curve, as a multiple of the limit of the model."""


def operation_terms(
    name: str, config: Mapping[str, Any], task: str = "base", facts: ModelFacts | None = None
) -> OperationTerms:
    """Derive the formula for the class of a task; the decoder of an encoder-decoder model has one token.

    Args:
        facts: dataflow of the class, for its windows; derived by default.
    """
    return terms_of(dry_model(name, config, task), model_facts(name, config, task) if facts is None else facts)


def windows(facts: ModelFacts) -> tuple[Window | None, ...]:
    """The window of each layer of the encoder, or of a decoder-only model; None for full attention."""
    layer_windows = [row.attention.window if row.attention else None for row in layer_facts(facts)]
    return tuple(window if window and window.limited else None for window in layer_windows)


def terms_of(dry: DryModel, facts: ModelFacts | None = None) -> OperationTerms:
    """The formula for a dry model; see operation_terms."""
    where = places_of(dry)
    runs = [module_counts(dry, seq) for seq in SHORT_RUNS]
    sums = {part: [0, 0, 0] for part in ("projections", "feed_forward", "attention", "other")}
    layers: dict[str, int] = {}
    whole = True
    for path in dict.fromkeys(path for run in runs for path in run):
        per_pair, per_token, per_text = _parabola([run.get(path, 0) for run in runs])
        whole = whole and all(each.denominator == 1 for each in (per_pair, per_token, per_text))
        for degree, value in enumerate((int(per_pair), int(per_token), int(per_text))):
            mixed = degree > 0 and where.mixed(path)
            sums["projections" if mixed else where.part(path)][degree] += value
        place = where.layer(path)
        if place is not None and where.part(path) == "attention" and per_pair:
            layers[place[0]] = layers.get(place[0], 0) + int(per_pair)
    growth = {part: Growth(*values) for part, values in sums.items()}
    predicted = sum(each.at(CHECKED_RUN) for each in growth.values())
    decoder = dry.inputs([plain_row(dry.model, 1)]).get("decoder_input_ids")
    attention_of_layer = {} if facts is None else {(row.stack, row.layer): row.attention for row in facts.layers}
    attended = {path: attention_of_layer.get((where.layer(path) or ("", "", 0))[1:]) for path in layers}
    return OperationTerms(
        model=dry.name,
        model_class=type(dry.model).__name__,
        **growth,
        layers=tuple(
            LayerAttention(path, per_pair, _limited(each.window if (each := attended[path]) else None))
            for path, per_pair in layers.items()
        ),
        exact=whole and predicted == sum(module_counts(dry, CHECKED_RUN).values()),
        decoder_tokens=0 if decoder is None else int(decoder.shape[-1]),
    )


def _limited(window: Window | None) -> Window | None:
    return window if window and window.limited else None


def _parabola(values: Sequence[int]) -> tuple[Fraction, Fraction, Fraction]:
    """Coefficients of the parabola through the counts of the short runs."""
    (a, b, c), (at_a, at_b, at_c) = SHORT_RUNS, values
    first, second = Fraction(at_b - at_a, b - a), Fraction(at_c - at_b, c - b)
    square = (second - first) / (c - a)
    slope = first - square * (a + b)
    return square, slope, at_a - slope * a - square * a * a


def multiply_adds(terms: OperationTerms, lengths: Sequence[int]) -> MultiplyAdds:
    """Evaluate the formula for some lengths."""
    hidden = [
        sum(layer.per_pair * (seq * seq - visible_pairs(seq, layer.window)) for layer in terms.layers)
        for seq in lengths
    ]
    parts = {
        part: np.array([getattr(terms, part).at(seq) for seq in lengths], dtype=np.int64)
        for part in ("projections", "attention", "feed_forward", "other")
    }
    pairs = parts.pop("attention")
    return MultiplyAdds(
        np.array(lengths, dtype=np.int64), attention=pairs - np.array(hidden, np.int64), every_pair=pairs, **parts
    )


def crossover(terms: OperationTerms, projections: bool = False) -> Crossover:
    """The length from which attention, considering windows, costs at least as much as the feed-forward blocks.

    Without projections and windows it is weights / width: 2 * intermediate_size * hidden_size / (2 * hidden_size) =
    intermediate_size for a plain feed-forward block.

    Args:
        projections: whether the projections count as attention.
    """

    def reached(seq: int) -> bool:
        costs = multiply_adds(terms, [seq])
        own = int(costs.attention[0]) + (int(costs.projections[0]) if projections else 0)
        return own >= int(costs.feed_forward[0])

    if terms.attention == Growth():
        return Crossover(None, projections)
    powers = [2**power for power in range(MAX_CROSSOVER_TOKENS.bit_length())]
    before = [seq for seq in powers if not reached(seq)]
    if not before:
        return Crossover(1, projections)
    if before[-1] == powers[-1]:
        return Crossover(None, projections)
    low, high = before[-1] + 1, 2 * before[-1]
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return Crossover(low, projections)


def accounts_for(terms: OperationTerms, counts: MultiplyAdds) -> bool:
    """Whether the formula agrees with PyTorch's counts at all lengths."""
    return terms.exact and bool((multiply_adds(terms, counts.lengths.tolist()).whole == counts.whole).all())


def doubling_lengths(limit: int | None) -> tuple[int, ...]:
    """Doubling lengths up to the limit of the model, or up to 512."""
    lengths = [limit or 512]
    while lengths[-1] > 32 and len(lengths) < 6:
        lengths.append(lengths[-1] // 2)
    return tuple(reversed(lengths))


def checked_lengths(limit: int | None, tokens: int) -> tuple[int, ...]:
    """Lengths to compare with PyTorch: that of a text, and the longest of doubling_lengths."""
    return tuple(sorted({tokens, *doubling_lengths(limit)[-3:]}))


def curve_lengths(limit: int | None, crossing: int | None, tokens: int) -> list[int]:
    """Lengths of the curve: up to the limit of the model, or to the crossing if it is not too far."""
    longest = max(limit or 1024, 2 * tokens)
    if crossing is not None and crossing <= MAX_TIMES_LIMIT * longest:
        longest = max(longest, int(1.3 * crossing))
    lengths = np.unique(np.linspace(1, longest, CURVE_POINTS, dtype=np.int64))
    return [int(length) for length in lengths]


def visible_pairs(seq: int, window: Window | None) -> int:
    """Number of pairs of tokens within a window; all pairs without one.

    A window of w <= seq - 1 tokens to one side has w * (2 * seq - w - 1) / 2 pairs.
    """
    if window is None or not window.limited:
        return seq * seq
    sides = (min(seq - 1 if side is None else side, seq - 1) for side in (window.before, window.after))
    return seq + sum(side * (2 * seq - side - 1) // 2 for side in sides)


NOT_RUN = -1


def activation_memory(
    name: str,
    config: Mapping[str, Any],
    holding: Holding,
    batches: Sequence[int],
    lengths: Sequence[int],
    task: str = "base",
) -> ActivationMemory:
    """Bytes of activations for every batch and length, in float32 with eager attention, without weights.

    The decoder of an encoder-decoder model has one token.

    "inference" is the peak of a forward pass without gradients. "training" is the memory of all tensors that autograd
    saves for the backward pass, without dropout.

    For a given length the memory at each moment is linear in the batch size, and its peak is convex: if the smallest,
    the second and the largest batch are on a line, so are all others, which are then not run.
    """
    dry = dry_model(name, config, task)
    measure = peak_nbytes if holding == "inference" else saved_nbytes
    nbytes = np.array([_column(dry, measure, batches, seq) for seq in lengths], dtype=np.int64).T
    return ActivationMemory(name, holding, tuple(batches), tuple(lengths), nbytes)


def _column(dry: DryModel, measure: Callable[[DryModel, int, int], int], batches: Sequence[int], seq: int) -> list[int]:
    """The bytes of every batch for one length."""
    try:
        first, second, last = batches[0], batches[min(1, len(batches) - 1)], batches[-1]
        nbytes = {batch: measure(dry, batch, seq) for batch in (first, second, last)}
        if len(nbytes) == 3:
            slope = (nbytes[second] - nbytes[first]) / (second - first)
            if nbytes[first] + slope * (last - first) == nbytes[last]:
                return [round(nbytes[first] + slope * (batch - first)) for batch in batches]
        return [nbytes[batch] if batch in nbytes else measure(dry, batch, seq) for batch in batches]
    except TextError:  # too large for a run on the CPU
        return [NOT_RUN] * len(batches)


def peak_nbytes(dry: DryModel, batch: int, seq: int) -> int:
    """Peak memory of a forward pass without gradients, without weights and inputs."""
    inputs = dry.inputs([plain_row(dry.model, seq)] * batch)
    excluded = _storages(dry, inputs)

    reference: Any = torch.multiprocessing.reductions.StorageWeakRef
    mode: Any = dispatch_mode()

    class _Living(mode):  # type: ignore[misc]  # torch leaves the class without types
        """Tracks the storages that are in use."""

        def __init__(self) -> None:
            super().__init__()
            self.living: dict[int, tuple[Any, int]] = {}
            self.peak = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            self.living = {key: entry for key, entry in self.living.items() if not entry[0].expired()}
            for tensor in tree_leaves(out):
                if isinstance(tensor, torch.Tensor):
                    storage, key = tensor.untyped_storage(), storage_key(tensor)
                    if key not in excluded:
                        self.living[key] = reference(storage), storage.nbytes()
            self.peak = max(self.peak, sum(nbytes for _, nbytes in self.living.values()))
            return out

    with torch.no_grad(), _Living() as living:
        dry.run(inputs)
    return int(living.peak)


def saved_nbytes(dry: DryModel, batch: int, seq: int) -> int:
    """Memory that autograd saves for the backward pass, without weights and inputs."""
    inputs = dry.inputs([plain_row(dry.model, seq)] * batch)
    excluded = _storages(dry, inputs)
    storages: dict[int, Any] = {}

    def keep(tensor: "torch.Tensor") -> "torch.Tensor":
        if (key := storage_key(tensor)) not in excluded:
            storages[key] = tensor.untyped_storage()
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        dry.run(inputs)
    return sum(storage.nbytes() for storage in storages.values())


def _storages(dry: DryModel, inputs: Mapping[str, Any]) -> set[int]:
    """Keys of the storages of weights, buffers and inputs."""
    tensors = (*dry.model.parameters(), *dry.model.buffers(), *inputs.values())
    return {storage_key(tensor) for tensor in tensors}
