"""Change parts of a model during a run: hooks, gates, means."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.errors import Progress, TextError, UnsupportedModelError, no_progress
from bertviz_core.heads.projections import layer_projections
from bertviz_core.interventions.results import MeanActivations
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.recording import changing, present_change
from bertviz_core.parameters.components import inside_layer
from bertviz_core.parameters.naming import NameClassifier
from bertviz_core.predictions.probing.reading import EXAMPLE_SET, example_set
from bertviz_core.sentences.encoding import batches
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer, tokenize
from bertviz_core.trace.verification import ModelRow, check_recording, forward, model_inputs, reset_model_state

HIDDEN_SIZES = ("hidden_size", "d_model", "dim", "n_embd", "emb_dim")
"""Config names of the width of a hidden state."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Modules of the base model -> the layers they serve, in the order of their calls."""

    layers: "dict[torch.nn.Module, tuple[int, ...]]"
    """Whole layers; {} if a family keeps the parts of a layer in separate lists (XLM)."""
    feed_forward: "dict[torch.nn.Module, tuple[int, ...]]"
    """Last linear map of the feed-forward block; {} if a layer has several or none is known."""
    projections: "dict[torch.nn.Module, tuple[int, ...]]"
    """Output projection of attention; {} if attention is recorded, or the projection is a bare tensor (XLNet)."""
    columns: int
    """Number of leading input columns of the projection that come from the heads; 0 without projections."""
    heads: int
    """Heads per layer; 0 without projections."""
    across: bool
    """Whether the layers take states as (batch, hidden, seq), as the convolutions of SqueezeBERT do."""


def model_parts(loaded: LoadedModel, heads_needed: bool = True) -> Parts:
    """Find the parts of a model that can be changed; call check_recording first, which settles attention_source.

    Args:
        heads_needed: whether heads are to be changed; without them layers can be changed in more families.
    """
    if heads_needed and loaded.attention_source == "none":
        if not loaded.num_hidden_layers:
            raise UnsupportedModelError(family(loaded.model_type).no_maps)
        title = family(loaded.model_type).title
        raise UnsupportedModelError(
            f"{title} has no attention heads whose output could be changed; choose another model."
        )
    projections: dict[torch.nn.Module, tuple[int, ...]] = {}
    columns = heads = 0
    if loaded.attention_source == "eager":
        try:
            projections, columns, heads = _projections(loaded)
        except UnsupportedModelError:
            if heads_needed:
                raise
    return Parts(
        layers=_layers(loaded, _names(loaded)),
        feed_forward=feed_forward_maps(loaded),
        projections=projections,
        columns=columns,
        heads=heads,
        across=any(is_convolution(module) for module in projections),
    )


def _projections(loaded: LoadedModel) -> "tuple[dict[torch.nn.Module, tuple[int, ...]], int, int]":
    """Return the modules that read the heads' outputs, the width of these outputs, and the number of heads."""
    modules: dict[torch.nn.Module, tuple[int, ...]] = {}
    columns = heads = 0
    for layer in range(loaded.num_hidden_layers):
        row = layer_projections(loaded, layer)
        if row.output.bare:
            raise UnsupportedModelError(
                f"{family(loaded.model_type).title} applies its output projection without a module of its own, so "
                "nothing can be changed before it; choose another model."
            )
        heads, columns = row.heads, len(row.value.weight) // row.key_heads * row.heads
        modules[row.output.module] = row.shared_with
    return modules, columns, heads


def _names(loaded: LoadedModel) -> dict[int, list[tuple[str, str]]]:
    """Return names and parts of the parameters of every stored layer, in order."""
    classifier = NameClassifier(loaded.model_type, loaded.model.base_model_prefix, wrapped=False)
    blocks: dict[int, list[tuple[str, str]]] = {}
    for name, _ in loaded.model.named_parameters():
        role, layer = classifier.classify(name)
        if layer is not None:
            blocks.setdefault(layer, []).append((name, role.part))
    return {index: blocks[layer] for index, layer in enumerate(sorted(blocks))}


def _served(loaded: LoadedModel, stored: int) -> list[tuple[int, ...]]:
    """Return the layers of a forward pass that each stored layer serves; () if unknown."""
    if stored == loaded.num_hidden_layers:
        return [(layer,) for layer in range(stored)]
    try:
        rows = [layer_projections(loaded, layer).shared_with for layer in range(loaded.num_hidden_layers)]
    except UnsupportedModelError:
        return []
    return list(dict.fromkeys(rows))


def _layers(loaded: LoadedModel, names: dict[int, list[tuple[str, str]]]) -> "dict[torch.nn.Module, tuple[int, ...]]":
    """Find the module that contains all parameters of each layer, if there is one."""
    modules: dict[torch.nn.Module, tuple[int, ...]] = {}
    served = _served(loaded, len(names))
    for block, layers in enumerate(served):
        paths = set()
        for name, _ in names[block]:
            location = inside_layer(name, loaded.model_type)
            paths.add(name[: location[0][-1].stop] if location is not None else "")
        if len(paths) != 1:
            return {}
        modules[loaded.model.get_submodule(paths.pop())] = layers
    return modules if len(modules) == len(names) else {}


def feed_forward_maps(loaded: LoadedModel) -> "dict[torch.nn.Module, tuple[int, ...]]":
    """Find the matrix of each feed-forward block that projects back to the hidden size, and the layers it serves.

    Returns:
        Module -> layers in the order of its calls; {} if a layer has several such matrices or none is known.
    """
    names, config = _names(loaded), loaded.model.config
    hidden = next((size for each in HIDDEN_SIZES if isinstance(size := getattr(config, each, None), int)), 0)
    modules: dict[torch.nn.Module, tuple[int, ...]] = {}
    served = _served(loaded, len(names))
    for block, layers in enumerate(served):
        matrices = [
            name.rpartition(".")[0]
            for name, part in names[block]
            if part == "feed_forward" and name.endswith(".weight")
        ]
        last = [path for path in matrices if _leads_to(loaded.model.get_submodule(path), hidden)]
        if len(last) != 1:
            return {}
        modules[loaded.model.get_submodule(last[0])] = layers
    return modules


def is_convolution(module: Any) -> bool:
    """Return whether a linear map is stored as a convolution of width 1, with input (batch, channels, seq)."""
    return isinstance(module, torch.nn.Conv1d)


def _leads_to(module: Any, width: int) -> bool:
    """Return whether a linear map has this output width and another input width."""
    shape = tuple(module.weight.shape)
    if len(shape) == 3 and shape[2] == 1:  # a convolution of width 1
        shape = shape[:2]
    if type(module).__name__ == "Conv1D":  # GPT-2 stores its matrices transposed
        shape = shape[::-1]
    return len(shape) == 2 and shape[0] == width and shape[1] != width


Hook = Callable[..., Any]


class Intervention:
    """Changes to the parts of a run; the default changes nothing, subclasses override."""

    def begin(self) -> None:
        """Prepare for a run."""

    def value(self, layer: int, value: "torch.Tensor") -> "torch.Tensor":
        """Change the values (batch, key_heads, seq, value_dim) of a layer; called for recorded families only."""
        return value

    def heads(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        """Change the outputs of the heads (batch, seq, heads, value_dim) of a layer."""
        return output

    def feed_forward(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        """Change the output of the last linear map of a feed-forward block, (batch, seq, hidden)."""
        return output

    def state(self, layer: int, state: "torch.Tensor") -> "torch.Tensor":
        """Change the input state (batch, seq, hidden) of a layer."""
        return state

    def layer(self, layer: int, before: "torch.Tensor", after: "torch.Tensor") -> "torch.Tensor":
        """Change the output state (batch, seq, hidden) of a layer, given its input state."""
        return after


class _Run:
    """One run of an intervention, called by the attention function and the hooks; counts the calls."""

    def __init__(self, intervention: Intervention, layers: int) -> None:
        self.intervention = intervention
        self._layers, self._calls = layers, Counter[Any]()
        self._before: dict[int, torch.Tensor] = {}

    def begin(self) -> None:
        self._calls.clear()
        self._before.clear()
        self.intervention.begin()

    def value(self, value: "torch.Tensor") -> "torch.Tensor":
        layer = self._calls["attention"]
        # A decoder after the encoder calls the same function.
        return self.intervention.value(layer, value) if layer < self._layers else value

    def output(self, output: "torch.Tensor") -> "torch.Tensor":
        layer = self._calls["attention"]
        self._calls["attention"] += 1
        return self.intervention.heads(layer, output) if layer < self._layers else output

    def next_layer(self, module: "torch.nn.Module", served: tuple[int, ...], kind: str) -> int | None:
        """Return the layer that a call of a module belongs to; None after the last."""
        call = self._calls[kind, id(module)]
        self._calls[kind, id(module)] += 1
        return served[call] if call < len(served) else None

    def went_in(self, layer: int, state: "torch.Tensor") -> "torch.Tensor":
        self._before[layer] = self.intervention.state(layer, state)
        return self._before[layer]

    def came_out(self, layer: int, state: "torch.Tensor") -> "torch.Tensor":
        return self.intervention.layer(layer, self._before.pop(layer), state)


@contextmanager
def intervening(model: "torch.nn.Module", parts: Parts, layers: int, intervention: Intervention) -> Iterator[None]:
    """Apply an intervention to this thread's runs of a model inside the block; restore the model afterwards."""
    run = _Run(intervention, layers)
    with ExitStack() as hooks:
        hooks.enter_context(changing(run))
        _add(hooks, model.register_forward_pre_hook(_begins))
        for module, served in parts.projections.items():
            hook = _projection_hook(parts, served)
            _add(hooks, module.register_forward_pre_hook(hook))
        for module, served in parts.feed_forward.items():
            _add(hooks, module.register_forward_hook(_feed_forward_hook(served)))
        for module, served in parts.layers.items():
            _add(hooks, module.register_forward_pre_hook(_layer_begins(parts, served), with_kwargs=True))
            _add(hooks, module.register_forward_hook(_layer_ends(parts, served)))
        yield


def _add(hooks: ExitStack, handle: Any) -> None:
    hooks.callback(handle.remove)


def _present() -> _Run | None:
    """Return the run of the intervention; None in another thread."""
    change = present_change()
    return change if isinstance(change, _Run) else None


def _begins(module: "torch.nn.Module", args: Any) -> None:
    if (run := _present()) is not None:
        run.begin()


def _projection_hook(parts: Parts, served: tuple[int, ...]) -> Hook:
    def hook(module: "torch.nn.Module", args: tuple[Any, ...]) -> Any:
        run = _present()
        layer = None if run is None else run.next_layer(module, served, "projection")
        if run is None or layer is None:
            return None
        across = is_convolution(module)
        mixed = args[0].transpose(1, 2) if across else args[0]
        own = mixed[..., : parts.columns].unflatten(-1, (parts.heads, -1))
        changed = run.intervention.heads(layer, own)
        if changed is own:
            return None
        rest = mixed[..., parts.columns :].expand(len(changed), *[-1] * (mixed.ndim - 1))
        whole = torch.cat((changed.flatten(-2), rest), dim=-1)
        return (whole.transpose(1, 2) if across else whole, *args[1:])

    return hook


def _feed_forward_hook(served: tuple[int, ...]) -> Hook:
    def hook(module: "torch.nn.Module", args: Any, output: Any) -> Any:
        run = _present()
        layer = None if run is None else run.next_layer(module, served, "feed-forward")
        if run is None or layer is None:
            return None
        product = output[0] if isinstance(output, tuple) else output
        across = is_convolution(module)
        changed = run.intervention.feed_forward(layer, product.transpose(1, 2) if across else product)
        changed = changed.transpose(1, 2) if across else changed
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    return hook


def _layer_begins(parts: Parts, served: tuple[int, ...]) -> Hook:
    def hook(module: "torch.nn.Module", args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        run = _present()
        layer = None if run is None else run.next_layer(module, served, "layer in")
        if run is None or layer is None:
            return None
        if args:
            return (_turned(parts, run.went_in(layer, _turned(parts, args[0]))), *args[1:]), kwargs
        name = next(iter(kwargs))
        return args, {**kwargs, name: _turned(parts, run.went_in(layer, _turned(parts, kwargs[name])))}

    return hook


def _layer_ends(parts: Parts, served: tuple[int, ...]) -> Hook:
    def hook(module: "torch.nn.Module", args: Any, output: Any) -> Any:
        run = _present()
        layer = None if run is None else run.next_layer(module, served, "layer out")
        if run is None or layer is None:
            return None
        key = next(iter(output)) if isinstance(output, dict) else 0
        state = output[key] if isinstance(output, tuple | dict) else output
        state = _turned(parts, run.came_out(layer, _turned(parts, state)))
        if isinstance(output, dict):
            return {**output, key: state}
        return (state, *output[1:]) if isinstance(output, tuple) else state

    return hook


def _turned(parts: Parts, state: "torch.Tensor") -> "torch.Tensor":
    """Transpose a state to (batch, seq, hidden), and back."""
    return state.transpose(1, 2) if parts.across else state


EVERY = 4
"""Step of the default reference set: every fourth text of the example set, 55 sentences about five topics."""


def reference_texts() -> tuple[str, ...]:
    """Return the default reference set: every fourth sentence of the example set, which is ordered by topic."""
    return example_set().texts[::EVERY]


def reference_name() -> str:
    """Return the name of the default reference set."""
    return f"every fourth sentence of the example set {EXAMPLE_SET!r}"


def mean_activations(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    texts: Sequence[str] | None = None,
    name: str = "",
    progress: Progress = no_progress,
) -> MeanActivations:
    """Average the outputs of every head, feed-forward block and layer over all tokens of some texts, padding excluded.

    Args:
        texts: the reference set; None for reference_texts.
    """
    texts = reference_texts() if texts is None else texts
    if not texts:
        raise TextError("The reference set has no text, so nothing has a mean; give at least one sentence.")
    rows: list[ModelRow] = [tokenize(tokenizer, text) for text in texts]
    lengths = [len(row) for row in rows]
    with RUN_LOCK:
        check_recording(loaded)
        parts = model_parts(loaded)
    sums, done = _Sums(), 0
    for group in batches(loaded, lengths):
        batch = [rows[index] for index in group]
        inputs = model_inputs(loaded, batch)
        with RUN_LOCK, torch.inference_mode():
            reset_model_state(loaded.model, max(lengths[index] for index in group))
            sums.lengths = torch.tensor([len(row) for row in batch], device=loaded.device)
            with intervening(loaded.model, parts, loaded.num_hidden_layers, sums):
                forward(loaded, inputs)
        done += len(group)
        progress(done, len(rows))
    layers = range(loaded.num_hidden_layers)
    if any(layer not in sums.totals["heads"] for layer in layers):
        title = family(loaded.model_type).title
        raise UnsupportedModelError(
            f"The heads of {title} cannot be reached in every layer here; choose another model."
        )
    return MeanActivations(
        model=loaded.name,
        revision=loaded.revision,
        reference=name or (reference_name() if texts == reference_texts() else "the given texts"),
        texts=len(rows),
        tokens=sum(lengths),
        heads=sums.means("heads", sum(lengths)),
        feed_forward=sums.means("feed_forward", sum(lengths)),
        layers=sums.means("layers", sum(lengths)),
    )


class _Sums(Intervention):
    """Sums of the outputs of every part over the tokens of batches, padding excluded."""

    def __init__(self) -> None:
        self.lengths: torch.Tensor
        self.totals: dict[str, dict[int, Any]] = defaultdict(dict)

    def heads(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        self._add("heads", layer, output)
        return output

    def feed_forward(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        self._add("feed_forward", layer, output)
        return output

    def layer(self, layer: int, before: "torch.Tensor", after: "torch.Tensor") -> "torch.Tensor":
        self._add("layers", layer, after - before)
        return after

    def means(self, kind: str, tokens: int) -> tuple[np.ndarray, ...]:
        """Return one array per layer."""
        totals = self.totals[kind]
        return tuple((totals[layer] / tokens).float().cpu().numpy() for layer in sorted(totals))

    def _add(self, kind: str, layer: int, output: "torch.Tensor") -> None:
        is_token = torch.arange(output.shape[1], device=output.device) < self.lengths[:, None]
        total = output[is_token].double().sum(dim=0)
        before = self.totals[kind].get(layer)
        self.totals[kind][layer] = total if before is None else before + total


@dataclass(frozen=True, slots=True, eq=False)
class GateRows:
    """Gates of a batch, one row per intervention."""

    heads: "torch.Tensor"
    """(rows, layers, heads)"""
    feed_forward: "torch.Tensor"
    """(rows, layers)"""
    layers: "torch.Tensor"
    """(rows, layers)"""

    def __len__(self) -> int:
        return len(self.heads)

    def part(self, rows: slice) -> "GateRows":
        """Select some of the rows."""
        return GateRows(self.heads[rows], self.feed_forward[rows], self.layers[rows])

    @property
    def first_layer(self) -> int:
        """Index of the first layer in which the rows differ; the number of layers if they do not."""
        flat = torch.cat((self.heads, self.feed_forward[..., None], self.layers[..., None]), dim=2)
        differs = (flat != flat[:1]).any(dim=2).any(dim=0).nonzero()
        return int(differs[0]) if len(differs) else flat.shape[1]


def open_gates(rows: int, layers: int, heads: int, device: str) -> GateRows:
    """Return rows of ones, which change nothing; a 0 ablates a part."""
    return GateRows(
        torch.ones(rows, layers, heads, device=device),
        torch.ones(rows, layers, device=device),
        torch.ones(rows, layers, device=device),
    )


def joined(one: GateRows, other: GateRows) -> GateRows:
    """Concatenate two sets of rows."""
    return GateRows(
        torch.cat((one.heads, other.heads)),
        torch.cat((one.feed_forward, other.feed_forward)),
        torch.cat((one.layers, other.layers)),
    )


def head_gates(removed: Sequence[Sequence[tuple[int, int]]], layers: int, heads: int, device: str) -> GateRows:
    """Return one row per set of (layer, head), with these heads ablated."""
    gates = open_gates(len(removed), layers, heads, device)
    for row, places in enumerate(removed):
        for layer, head in places:
            gates.heads[row, layer, head] = 0
    return gates


class Gated(Intervention):
    """A run with gated parts.

    Rows that are equal in all layers below `shared_from` run as one row up to there, where it is copied.
    """

    def __init__(self, gates: GateRows, means: MeanActivations | None = None, shared_from: int | None = None) -> None:
        """Set the gates of a batch.

        Args:
            gates: one row per row of the batch, or one for all.
        """
        self._gates, self._means, self._shared_from = gates, means, shared_from
        self._used = {
            kind: [bool((gate[:, layer] != 1).any()) or gate.requires_grad for layer in range(gate.shape[1])]
            for kind, gate in (("heads", gates.heads), ("feed_forward", gates.feed_forward), ("layers", gates.layers))
        }

    def state(self, layer: int, state: "torch.Tensor") -> "torch.Tensor":
        """Expand a single row where the rows begin to differ."""
        return state.expand(len(self._gates), *state.shape[1:]) if layer == self._shared_from else state

    def heads(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        """Return the outputs of the heads, ablated ones replaced by their donors."""
        if not self._used["heads"][layer]:
            return output
        gate = self._rows(self._gates.heads[:, layer, : output.shape[2]], layer)[:, None, :, None]
        return _mixed(output, gate, None if self._means is None else self._means.heads[layer])

    def feed_forward(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        """Return the output of the block, or its donor."""
        if not self._used["feed_forward"][layer]:
            return output
        gate = self._rows(self._gates.feed_forward[:, layer], layer)[:, None, None]
        return _mixed(output, gate, None if self._means is None else self._means.feed_forward[layer])

    def layer(self, layer: int, before: "torch.Tensor", after: "torch.Tensor") -> "torch.Tensor":
        """Return the output of the layer, or its donor if it is ablated."""
        if not self._used["layers"][layer]:
            return after
        gate = self._rows(self._gates.layers[:, layer], layer)[:, None, None]
        mean = 0 if self._means is None else torch.tensor(self._means.layers[layer], device=after.device)
        return after * gate + (before + mean) * (1 - gate)

    def _rows(self, gate: "torch.Tensor", layer: int) -> "torch.Tensor":
        return gate[:1] if self._shared_from is not None and layer < self._shared_from else gate


def _mixed(output: "torch.Tensor", gate: "torch.Tensor", donor: "object | None") -> "torch.Tensor":
    gate = gate.to(output.dtype)
    if donor is None:
        return output * gate
    return output * gate + torch.tensor(donor, dtype=output.dtype, device=output.device) * (1 - gate)
