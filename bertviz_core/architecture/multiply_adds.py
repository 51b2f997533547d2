"""Multiply-adds of one forward pass: a formula from the modules, and PyTorch's own count of the same run.

A linear map of a x b weights takes a * b multiply-adds for each token that it meets, and attention takes, for each pair
of tokens and each head, one product of two vectors for the score and one for mixing the values (Kaplan et al. 2020,
section 2.1; Vaswani et al. 2017, table 1). Additions of biases, normalisations, activations and the softmax are left
out: they grow with the vectors, not with their products.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_core.architecture.capabilities import layer_facts
from bertviz_core.architecture.dry_run import PROBE_TOKENS, DryModel, dry_model, plain_row, shapes_of
from bertviz_core.architecture.facts.derive import model_facts
from bertviz_core.architecture.results import (
    Crossover,
    LayerAttention,
    ModuleShape,
    MultiplyAdds,
    OperationTerms,
    Shape,
)
from bertviz_core.architecture.structure.results import ModelFacts, Window
from bertviz_core.errors import TextError
from bertviz_core.parameters.components import inside_layer
from bertviz_core.parameters.ledger import module_ledger

if TYPE_CHECKING:
    import torch

MAX_CROSSOVER_TOKENS = 1_000_000
"""Longest text for which a crossover is looked for."""
LINEAR_CLASSES = ("Linear", "Conv1D", "Conv1d", "QuantLinear", "GroupedLinearLayer", "NonDynamicallyQuantizableLinear")
"""Classes whose weight meets every row that goes in."""
STATED_TOKENS = 128
"""Tokens of a text where there is none."""
BATCHES = (1, 2, 4, 8, 16, 32)
CURVE_POINTS = 240
MAX_TIMES_LIMIT = 20
"""How far beyond what the model reads the curve goes to reach the crossing."""
MIN_COVERED_SHARE = 0.5
"""Share of PyTorch's count that the formula must reach for its lines to be drawn."""


def operation_terms(name: str, config: Mapping[str, Any], facts: ModelFacts | None = None) -> OperationTerms:
    """The terms of the formula, read off the modules that a run calls; of an encoder-decoder model the encoder.

    Args:
        name: name of the model.
        config: its config.
        facts: what a run of it tells of windows; made anew by default.

    Raises:
        UnsupportedModelError: the family cannot be run without its values.
    """
    told = model_facts(name, config) if facts is None else facts
    return terms_of(dry_model(name, config, encoder=True), windows(told))


def windows(facts: ModelFacts) -> tuple[Window | None, ...]:
    """How far a token sees in each layer of the encoder, or of a lone decoder; None for all of the text."""
    found = [row.attention.window if row.attention else None for row in layer_facts(facts)]
    return tuple(window if window and window.limited else None for window in found)


def terms_of(dry: DryModel, seen: Sequence[Window | None] = ()) -> OperationTerms:
    """The terms of the formula of an encoder without values; see operation_terms and windows."""
    run = shapes_of(dry, plain_row(dry.model, PROBE_TOKENS))
    ledger = module_ledger(dry.name, dry.model)
    rows = {row.name.rpartition(".")[0]: row for row in ledger.parameters if len(row.shape) > 1}
    sums = {"projections": 0, "feed_forward": 0, "other": 0, "per_text": 0}
    left_out: list[str] = []
    layers: dict[str, list[int]] = {}
    for path, module in dry.model.named_modules():
        shapes = run.modules.get(path)
        if shapes is None or path not in rows or type(module).__name__ not in LINEAR_CLASSES:
            continue
        row_counts, part = [_rows_met(module, shape) for shape in shapes.entered], rows[path].part
        term = "feed_forward" if part == "feed_forward" else "other"
        if part in ("query", "key", "value", "query_key_value", "attention_output"):
            term = "projections"
            if row_counts[0] == PROBE_TOKENS:
                _note_widths(layers, path, part, shapes, row_counts.count(PROBE_TOKENS), ledger.model_type)
        sums[term] += rows[path].numel * row_counts.count(PROBE_TOKENS)
        sums["per_text"] += rows[path].numel * row_counts.count(1)
        if row_counts.count(PROBE_TOKENS) + row_counts.count(1) < len(row_counts):
            left_out.append(path)
    attention = tuple(
        LayerAttention(path, sum(widths[:2]), seen[index] if index < len(seen) else None, widths[2])
        for index, (path, widths) in enumerate(layers.items())
        if widths[0] and widths[1]
    )
    left_out += _other_products(dry, set(rows), attention)
    return OperationTerms(dry.name, **sums, attention=attention, left_out=tuple(left_out))


def _other_products(dry: DryModel, with_matrix: set[str], attention: Sequence[LayerAttention]) -> list[str]:
    """Modules, with their class, in which matrices are multiplied or convolved in ways that no term tells."""
    products = _products(dry, PROBE_TOKENS)
    modules = dict(dry.model.named_modules())
    for path in list(products):
        if path in with_matrix and type(modules[path]).__name__ in LINEAR_CLASSES:
            del products[path]
    for layer in attention:
        inside = [path for path in products if path == layer.path or path.startswith(f"{layer.path}.")]
        if sum(products[path] for path in inside) == layer.width * PROBE_TOKENS**2 * layer.applications:
            products = {path: count for path, count in products.items() if path not in inside}
        elif not inside:  # it approximates the softmax without such products
            products[layer.path] = 0
    return [f"{path} ({type(modules[path]).__name__})" for path in products]


def _products(dry: DryModel, seq: int) -> dict[str, int]:
    """Multiply-adds of one run on seq tokens by the innermost module that asks for them."""
    counts: dict[str, int] = {}
    around: list[tuple[str, int]] = []
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
            dry.run(dry.inputs([plain_row(dry.model, seq)]))
        finally:
            for hook in hooks:
                hook.remove()
    return {path: count // 2 for path, count in counts.items() if count}


def multiply_adds(terms: OperationTerms, lengths: Sequence[int]) -> MultiplyAdds:
    """The formula for some lengths; each part is a sum over the layers as often as they run."""
    tokens = np.array(lengths, dtype=np.int64)

    def pairs(windowed: bool) -> Any:
        runs = [(layer.width * layer.applications, layer.window if windowed else None) for layer in terms.attention]
        return np.array([sum(cost * visible_pairs(seq, window) for cost, window in runs) for seq in lengths], np.int64)

    return MultiplyAdds(
        lengths=tokens,
        projections=tokens * terms.projections,
        attention=pairs(windowed=True),
        every_pair=pairs(windowed=False),
        feed_forward=tokens * terms.feed_forward,
        other=tokens * terms.other + terms.per_text,
    )


def crossover(terms: OperationTerms, part: str = "feed_forward") -> Crossover:
    """The smallest length at which attention's own work, windows honoured, is at least that of another part.

    Without windows it is weights / width, both summed over the layers: 2 * intermediate_size * hidden_size / (2 *
    hidden_size) = intermediate_size for a plain feed-forward block.
    """
    if not terms.attention:
        return Crossover(None, part)
    low, high = 1, MAX_CROSSOVER_TOKENS

    def reached(seq: int) -> bool:
        costs = multiply_adds(terms, [seq])
        return int(costs.attention[0]) >= int(getattr(costs, part)[0])

    if not reached(high):
        return Crossover(None, part)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return Crossover(low, part)


def counted(name: str, config: Mapping[str, Any], lengths: Sequence[int]) -> dict[int, int]:
    """What PyTorch's own formulas (torch.utils.flop_counter) count for runs of these lengths, in multiply-adds.

    Attention is computed step by step (eager), so every pair of tokens counts, a window or not. Lengths whose run would
    take too long are left out.

    Raises:
        UnsupportedModelError: the family cannot be run without its values.
    """
    dry = dry_model(name, config, encoder=True)
    counts = {}
    for seq in lengths:
        with suppress(TextError):
            counts[seq] = counted_run(dry, seq)
    return counts


def counted_run(dry: DryModel, seq: int) -> int:
    """Multiply-adds of one run on one text of seq tokens."""
    with _counting() as counter:
        dry.run(dry.inputs([plain_row(dry.model, seq)]))
    return int(counter.flops) // 2


@contextmanager
def _counting() -> Iterator[Any]:
    """What adds up PyTorch's formulas, in its `flops`; FlopCounterMode itself hooks all modules of all threads."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    mode: Any = TorchDispatchMode

    class _Counter(mode):  # type: ignore[misc]  # torch leaves the class without types
        flops = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func._overloadpacket not in flop_registry:
                with self:
                    parts = func.decompose(*args, **(kwargs or {}))
                if parts is not NotImplemented:
                    return parts
            out = func(*args, **(kwargs or {}))
            formula = flop_registry.get(func._overloadpacket)
            if formula is not None:
                self.flops += formula(*args, **(kwargs or {}), out_val=out)
            return out

    with torch.no_grad(), _Counter() as counter:
        yield counter


def formula_covers(terms: OperationTerms, counts: Mapping[int, int]) -> bool:
    """Whether the formula tells most of what PyTorch counts."""
    costs = multiply_adds(terms, list(counts))
    pairs = costs.total - costs.attention + costs.every_pair
    return bool(
        all(
            by_formula >= MIN_COVERED_SHARE * by_torch
            for by_formula, by_torch in zip(pairs, counts.values(), strict=True)
        )
    )


def doubling_lengths(limit: int | None) -> tuple[int, ...]:
    """Doubling lengths up to what the model reads; up to 512 where nothing limits it."""
    lengths = [limit or 512]
    while lengths[-1] > 32 and len(lengths) < 6:
        lengths.append(lengths[-1] // 2)
    return tuple(reversed(lengths))


def curve_lengths(limit: int | None, crossing: int | None, tokens: int) -> list[int]:
    """Lengths of the curve: as far as the model reads, and on to the crossing where that is not too far."""
    longest = max(limit or 1024, 2 * tokens)
    if crossing is not None and crossing <= MAX_TIMES_LIMIT * longest:
        longest = max(longest, int(1.3 * crossing))
    lengths = np.unique(np.linspace(1, longest, CURVE_POINTS, dtype=np.int64))
    return [int(length) for length in lengths]


def visible_pairs(seq: int, window: Window | None) -> int:
    """Pairs of tokens (i, j) with j at most so many before and behind i; all of them without a window.

    Of pairs that look to one side there are w * (2 * seq - w - 1) / 2 for w tokens, with w at most seq - 1.
    """
    if window is None or not window.limited:
        return seq * seq
    sides = (min(seq - 1 if side is None else side, seq - 1) for side in (window.before, window.after))
    return seq + sum(side * (2 * seq - side - 1) // 2 for side in sides)


def _rows_met(module: "torch.nn.Module", shape: Shape) -> int:
    """How many vectors went through a linear map when a tensor of this shape went in."""
    return shape[-1] if type(module).__name__ == "Conv1d" else int(np.prod(shape[:-1]))


def _note_widths(
    layers: dict[str, list[int]], path: str, part: str, shapes: ModuleShape, runs: int, model_type: str
) -> None:
    """Keep the widths of a layer's queries and of its mixed values, and how often it runs."""
    location = inside_layer(path + ".", model_type)
    widths = layers.setdefault(path[: location[0][-1].stop] if location else "", [0, 0, runs])
    axis = 1 if path and len(shapes.inputs[0][1]) == 3 and _channels_first(shapes) else -1
    if part == "query":
        widths[0] += shapes.outputs[0][axis]
    elif part == "query_key_value":
        widths[0] += shapes.outputs[0][axis] // 3
    elif part == "attention_output":
        widths[1] += shapes.inputs[0][1][axis]


def _channels_first(shapes: ModuleShape) -> bool:
    return shapes.inputs[0][1][-1] == PROBE_TOKENS == shapes.outputs[0][-1]
