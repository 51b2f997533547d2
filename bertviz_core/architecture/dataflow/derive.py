"""Derive the flow of data through a layer from a run; the facts about the default model are packaged."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from bertviz_core.architecture.dataflow.values import (
    DISTANCE,
    IDS,
    POSITION,
    STREAM,
    TURNED,
    TYPE,
    AttentionCall,
    Calls,
    Flow,
    Value,
    ancestors,
    encoder_path,
    flow_of,
    inner_ends,
    record_inputs,
    recording_calls,
    register,
    token_types,
)
from bertviz_core.architecture.dry_run import PROBE_TOKENS, DryModel, dry_model, plain_row
from bertviz_core.architecture.layer_flow import layer_paths
from bertviz_core.architecture.results import (
    AttentionFacts,
    Block,
    BlockKind,
    LayerFacts,
    ModelFacts,
    Position,
    StreamTable,
    Types,
    Window,
)
from bertviz_core.errors import BertvizError, CheckpointError, UnsupportedModelError
from bertviz_core.isolation.config_trials import BuildRequest, Preparation, config_trial
from bertviz_core.isolation.regular_files import CONFIG_FILE
from bertviz_core.isolation.walls import confine_files
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.families import family
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.skeleton import build_skeleton, set_attention
from bertviz_core.parameters.components import ATTENTION_PARTS
from bertviz_core.parameters.ledger import module_ledger
from bertviz_core.parameters.results import Ledger
from bertviz_core.settings import DEFAULT_MODEL, OpenedConfig, Terms

ADDITIONS = ("add", "sub")
STEPS = frozenset(("norm", "map"))
"""Normalisations, and maps with parameters."""


def modules_between(value: Value, start: Value | None) -> tuple[str, ...]:
    """Maps and normalisations between `start` and a value, in the order of the run."""
    inside = ancestors(value, stop=start)
    if start is not None and id(start) not in inside:
        return ()
    names = [each.name for each in inside.values() if each.op in STEPS and each is not start]
    return tuple(dict.fromkeys(reversed(names)))


def crosses(value: Value, from_start: set[int]) -> bool:
    """Whether a product combines vectors of the layer with those of another stack."""
    own = [id(each) in from_start for each in value.parents]
    others = [STREAM in each.sources for each in value.parents if id(each) not in from_start]
    return value.op == "bmm" and any(own) and any(others)


def descendants(values: Iterable[Value], start: Value) -> set[int]:
    """Ids of the values that depend on `start`, including itself."""
    reached = {id(start)}
    waiting = [each for each in values if each is not start]
    while True:
        new = [each for each in waiting if any(id(parent) in reached for parent in each.parents)]
        if not new:
            return reached
        reached |= {id(each) for each in new}
        waiting = [each for each in waiting if id(each) not in reached]


def residual(added: Value, from_start: set[int]) -> tuple[Value, list[Value]] | None:
    """(residual stream, branches added to it) of a sum; the branches depend on the stream."""
    terms = _terms(added, from_start)
    for stream in terms:
        others = [each for each in terms if each is not stream]
        if others and all(id(stream) in ancestors(each) for each in others):
            return stream, others
    return None


def _terms(value: Value, from_start: set[int]) -> list[Value]:
    """The terms of a sum of results of the layer; sums of independent branches are expanded.

    In x + (attention + feed-forward) neither term of the inner sum depends on the other.
    """
    if value.op not in ADDITIONS or not all(id(each) in from_start for each in value.parents):
        return [value]
    terms = [each for each in value.parents if id(each) in from_start]
    if len(terms) != 2 or id(terms[0]) in ancestors(terms[1]) or id(terms[1]) in ancestors(terms[0]):
        inner = terms
    else:
        return [each for term in terms for each in _terms(term, from_start)]
    # (x + attention) + feed-forward, with both computed from x: the first term is a sum, not the stream.
    expanded: list[Value] = []
    for term in inner:
        is_sum = term.op in ADDITIONS and len(inner) == 2
        other = next((each for each in inner if each is not term), None)
        apart = is_sum and other is not None and id(term) not in ancestors(other)
        expanded += _terms(term, from_start) if apart else [term]
    return expanded


def product(scores: Value, from_start: set[int]) -> tuple[Value | None, float]:
    """(the product of queries and keys behind scores, the total scaling factor)."""
    waiting: list[tuple[Value, float]] = [(scores, 1.0)]
    visited: set[int] = set()
    while waiting:
        value, factor = waiting.pop(0)
        if id(value) in visited or id(value) not in from_start:
            continue
        visited.add(id(value))
        if value.op == "bmm" and all(id(each) in from_start for each in value.parents):
            for operand in value.parents:
                factor *= _scale_behind(operand)
            return value, factor
        if value.op in STEPS:
            continue
        waiting += [(parent, factor * (value.factor if value.op == "scale" else 1.0)) for parent in value.parents]
    return None, 1.0


def _scale_behind(value: Value) -> float:
    """Scaling factor of queries or keys after their projection."""
    factor = 1.0
    while value.op not in STEPS and value.op != "layer" and value.parents:
        factor *= value.factor if value.op == "scale" else 1.0
        value = value.parents[0]
    return factor


def role(lookup: Value) -> Literal["word", "position", "token type", "other"]:
    """The role of a lookup by the sources of its indices."""
    sources = lookup.parents[1].sources
    if IDS in sources and POSITION not in sources:
        return "word"
    if POSITION in sources:
        return "position"
    return "token type" if TYPE in sources else "other"


def types_enter(tables: Iterable[StreamTable], layers: Iterable[LayerFacts], flow: Flow) -> Types:
    """How token types enter the model."""
    looked_up = [value for value in flow.lookups if TYPE in value.parents[1].sources]
    words = {table.name for table in tables if table.role == "word"}
    if any(value.name not in words for value in looked_up):
        return "table"
    if looked_up:
        return "words"
    return "scores" if any(row.attention and row.attention.types for row in layers) else ""


Place = tuple[str, int]
"""Stack and layer."""
STACKS = ("encoder", "decoder")
SLICES = frozenset(("split", "split_with_sizes", "slice", "chunk", "narrow", "select"))
MIXING = ("_fft_c2c", "_fft_r2c")


def model_facts(name: str, config: Mapping[str, Any], task: str = "base") -> ModelFacts:
    """Derive the facts about the class of a config; encoder-decoder models are run as a whole."""
    dry = dry_model(name, config, task)
    base = dry.model if task == "base" else build_skeleton(name, config)
    return _facts_of(dry, base)


def _facts_of(dry: DryModel, base: "transformers.PreTrainedModel") -> ModelFacts:
    ledger = module_ledger(dry.name, dry.model)
    paths = {
        (stack, layer): modules
        for stack in STACKS
        for layer, modules in layer_paths(ledger, ledger.model_type, stack).items()
    }
    with suppress(ValueError):  # the family has no other implementation
        set_attention(dry.model, register())
    inputs = dry.inputs([plain_row(dry.model, PROBE_TOKENS)])
    inputs |= token_types(dry, inputs["input_ids"])
    ends = {place: (modules[0], modules[-1]) for place, modules in paths.items()}
    reader = _read(dry, ledger, inputs, paths, ends, base)
    if ends and not reader.flow.entries:  # SqueezeBERT calls forward directly, without hooks
        reader = _read(dry, ledger, inputs, paths, {place: inner_ends(dry, path) for place, path in ends.items()}, base)
    return reader.facts()


def _read(
    dry: DryModel,
    ledger: Ledger,
    inputs: "dict[str, torch.Tensor]",
    paths: Mapping[Place, tuple[str, ...]],
    ends: Mapping[Place, tuple[str, str]],
    base: "transformers.PreTrainedModel",
) -> "_Reader":
    """Run the model; each layer is delimited by two of its modules."""
    firsts, lasts = {first for first, _ in ends.values()}, {last for _, last in ends.values()}
    encoder = encoder_path(dry.model)
    with torch.no_grad(), recording_calls() as calls, flow_of(dry.model, firsts, {*lasts, encoder}) as flow:
        record_inputs(flow, inputs)
        output = dry.run(inputs)
    pooler = any(component.name == "pooler" for component in module_ledger(dry.name, base).components)
    parts = {row.name.rpartition(".")[0]: row.part for row in ledger.parameters}
    last, base_class = flow.value(output[0]), type(base).__name__
    return _Reader(dry, ledger, flow, calls, paths, ends, last, encoder, base_class, pooler, parts)


@dataclass(slots=True, eq=False)
class _Reader:
    """Derives the facts from one run."""

    dry: DryModel
    ledger: Ledger
    flow: Flow
    calls: Calls
    paths: Mapping[Place, tuple[str, ...]]
    ends: Mapping[Place, tuple[str, str]]
    last: Value
    encoder: str
    base_class: str
    base_pooler: bool
    parts: Mapping[str, str]

    def facts(self) -> ModelFacts:
        """The facts about the model."""
        layers = tuple(self._layer(*place) for place in self.paths)
        stack = next(iter(self.paths), ("", 0))[0]
        entered, _ = self.flow.entries.get(self.ends.get((stack, 0), ("", ""))[0], (None, None))
        tables, before = self._embeddings(entered)
        encoder_end = self.flow.exits.get(self.encoder, (self.last, self.last))[1]
        inside = {each for row in layers if row.attention for each in row.attention.positions}
        absolute = entered is not None and POSITION in entered.sources
        order: tuple[Position, ...] = ("absolute", "relative", "rotary")
        return ModelFacts(
            model_class=type(self.dry.model).__name__,
            tables=tables,
            before=before,
            encoder_behind=self._behind("encoder", encoder_end),
            decoder_behind=self._behind("decoder", self.last),
            layers=layers,
            positions=tuple(each for each in order if each in inside or (each == "absolute" and absolute)),
            learned_positions=any(table.role == "position" and self._trained(table.name) for table in tables),
            types=types_enter(tables, layers, self.flow),
            keeps_tokens=all(_per_token(start.shape) for _, start in self._starts(stack)),
            pooler=self.base_pooler,
            base_class=self.base_class,
            recorded=self._recorded(stack),
            sinks=any(call.sinks for call in self.calls.attention),
        )

    def _starts(self, stack: str) -> list[tuple[Value, Value]]:
        firsts = [first for (each, _), (first, _) in self.ends.items() if each == stack]
        return [self.flow.entries[first] for first in firsts if first in self.flow.entries]

    def _behind(self, stack: str, end: Value) -> tuple[str, ...]:
        """Modules of a stack between its last layer and a value."""
        lasts = [
            self.flow.exits[last][1]
            for (each, _), (_, last) in self.ends.items()
            if each == stack and last in self.flow.exits
        ]
        passed = modules_between(end, lasts[-1]) if lasts else ()
        components = {row.name.rpartition(".")[0]: row.component for row in self.ledger.parameters}
        return tuple(path for path in passed if components.get(path, stack) in STACKS)

    def _trained(self, name: str) -> bool:
        return any(row.name == name and row.trainable for row in self.ledger.parameters)

    def _embeddings(self, entered: Value | None) -> tuple[tuple[StreamTable, ...], tuple[str, ...]]:
        """The embedding tables, and the modules before the first layer."""
        if entered is None:
            return (), ()
        origins = ancestors(entered)
        tables: dict[str, StreamTable] = {}
        for lookup in self.flow.lookups:
            if id(lookup) in origins and lookup.name not in tables:
                tables[lookup.name] = StreamTable(lookup.name, role(lookup), lookup.parents[0].shape[0])
        return tuple(tables.values()), modules_between(entered, None)

    def _recorded(self, stack: str) -> bool:
        """Whether every layer calls the exchangeable attention function once, over all tokens."""
        modules = dict(self.dry.model.named_modules())
        own = [path for (each, _), paths in self.paths.items() if each == stack for path in paths]
        inside = {id(module) for path in own for module in modules[path].modules()}
        calls = [call for call in self.calls.attention if id(call.module) in inside]
        runs = sum(row.applications for row in self.ledger.layers if row.component == stack)
        seq = 1 if stack == "decoder" and any(each == "encoder" for each, _ in self.paths) else PROBE_TOKENS
        return 0 < runs == len(calls) and all(call.queries == call.keys == seq and call.plain for call in calls)

    def _layer(self, stack: str, layer: int) -> LayerFacts:
        first, last = self.ends[stack, layer]
        if first not in self.flow.entries or last not in self.flow.exits:
            return LayerFacts(stack, layer, (), None, False)
        (_, start), (left, _) = self.flow.entries[first], self.flow.exits[last]
        inside = ancestors(left, stop=start)
        from_start = descendants(inside.values(), start)
        blocks = self._blocks(left, start, from_start, stack)
        return LayerFacts(
            stack=stack,
            layer=layer,
            blocks=blocks,
            attention=self._attention(inside, from_start, stack, layer),
            gated=any(self._is_gate(value, from_start) for value in inside.values()),
        )

    def _part(self, path: str) -> str:
        return self.parts.get(path, "")

    def _blocks(self, left: Value, start: Value, from_start: set[int], stack: str) -> tuple[Block, ...]:
        """The blocks of a layer, found along its residual connections from the end to the start."""
        blocks: list[Block] = []
        behind: list[str] = []
        current = left
        while current is not start:
            if current.op == "norm":
                behind.append(current.name)
                current = current.parents[0]
            elif current.op in ADDITIONS and (split := residual(current, from_start)):
                stream, branches = split
                block = self._block(stream, branches, tuple(reversed(behind)), from_start, stack)
                if block is None:
                    return ()
                blocks.append(block)
                behind, current = [], stream
            else:
                return ()
        return () if behind else tuple(reversed(blocks))

    def _block(
        self, stream: Value, branches: Sequence[Value], behind: tuple[str, ...], from_start: set[int], stack: str
    ) -> Block | None:
        """The block that is added to the residual stream; None if it has several kinds in sequence."""
        kinds: list[BlockKind] = []
        before: list[str] = []
        within: list[str] = []
        passed: list[str] = []
        for branch in branches:
            behind_it = ancestors(branch, stop=stream)
            inside = [value for key, value in behind_it.items() if key in from_start and value is not stream]
            branch_kinds = self._kinds(inside, from_start, stack)
            if len(branch_kinds) > 1:
                return None
            kinds += [kind for kind in branch_kinds if kind not in kinds]
            before += [value.name for value in inside if value.op == "norm" and value.parents[0] is stream]
            passed += [value.name for value in inside if value.op in (*STEPS, "activation")]
            end = branch
            while end.op in ("scale", "norm") and end is not stream:
                if end.op == "norm" and end.name not in before:
                    within.append(end.name)
                end = end.parents[0]
        return Block(
            tuple(kinds) or ("other",),
            tuple(dict.fromkeys(before)),
            tuple(within),
            behind,
            tuple(dict.fromkeys(passed)),
        )

    def _kinds(self, inside: Sequence[Value], from_start: set[int], stack: str) -> list[BlockKind]:
        """The kinds of a block, by softmaxes, Fourier transforms and the parts of its maps."""
        parts = {self._part(value.name) for value in inside if value.op == "map"}
        kinds: list[BlockKind] = []
        if any(value.op == "_softmax" for value in inside) or parts & set(ATTENTION_PARTS):
            reads = stack == "decoder" and any(crosses(value, from_start) for value in inside)
            kinds.append("cross-attention" if reads else "attention")
        if any(value.op in MIXING for value in inside):
            kinds.append("mixing")
        if "feed_forward" in parts:
            kinds.append("feed-forward")
        return kinds

    def _is_gate(self, value: Value, from_start: set[int]) -> bool:
        """Whether a value is the product of two independent results of the feed-forward block."""
        if value.op != "mul" or len(value.parents) != 2 or any(id(each) not in from_start for each in value.parents):
            return False
        (one, cut_one), (other, cut_other) = (self._map_behind(each, "feed_forward") for each in value.parents)
        return bool(one and other) and (one != other or cut_one or cut_other)

    def _map_behind(self, value: Value, part: str) -> tuple[str, bool]:
        """(the nearest preceding map if it is of this part, whether the value is a slice of its output)."""
        cut = False
        while value.op not in STEPS and value.parents:
            cut = cut or value.op in SLICES
            value = value.parents[0]
        return (value.name, cut) if value.op == "map" and self._part(value.name) == part else ("", cut)

    def _attention(
        self, inside: Mapping[int, Value], from_start: set[int], stack: str, layer: int
    ) -> AttentionFacts | None:
        """The self-attention of a layer, from its softmax."""
        own = [each for each in self.flow.softmaxes if id(each) in inside and id(each) in from_start]
        if not own:
            return None
        products = [(softmax, *product(softmax.parents[0], from_start)) for softmax in own]
        softmax, scores, factor = next((each for each in products if each[1] is not None), products[0])
        call = self._call(self.paths[stack, layer])
        sources = softmax.sources | (frozenset() if scores is None else scores.sources)
        positions: list[Position] = []
        if DISTANCE in sources:
            positions.append("relative")
        if TURNED in sources:
            positions.append("rotary")
        row = family(self.ledger.model_type)  # some approximate the softmax, or attend to a band
        plain = len(own) == 1 and (call is None or call.plain) and row.attention_maps in ("probabilities", "scores")
        # scores of chunks are put together to a band before the softmax (Longformer)
        whole = scores is not None and scores.shape[-1] == scores.shape[-2] and softmax.shape[-2:] == scores.shape[-2:]
        return AttentionFacts(
            softmax=plain and whole,
            scaling=factor if scores is not None else None,
            positions=tuple(positions),
            types=TYPE in sources,
            window=self._window(call, stack, layer),
        )

    def _call(self, modules: Sequence[str]) -> AttentionCall | None:
        named = dict(self.dry.model.named_modules())
        inside = {id(module) for path in modules for module in named[path].modules()}
        return next((call for call in self.calls.attention if id(call.module) in inside), None)

    def _window(self, call: AttentionCall | None, stack: str, layer: int) -> Window | None:
        sizes = self.dry.model.config.to_dict().get("attention_window")  # Beltagy et al. 2020, section 3.1: half a side
        if sizes and stack == "encoder":
            size = sizes if isinstance(sizes, int) else sizes[layer]
            return Window(int(size) // 2, int(size) // 2)
        if call is None or call.mask is None:
            return None
        origins = ancestors(self.flow.value(call.mask))
        for mask, window in self.calls.windows:
            if mask is call.mask or id(self.flow.value(mask)) in origins:
                return window
        return None


def _per_token(shape: Sequence[int]) -> bool:
    """Whether a shape has an axis of at least one vector per token."""
    return PROBE_TOKENS in shape or max(shape[:-1], default=0) >= PROBE_TOKENS


class BuildOutcome(msgspec.Struct, frozen=True):
    """Facts about a model that was built."""

    facts: ModelFacts | None
    """Derived facts; None if it cannot be run without weights."""
    refusal: str = ""


def answered(request: bytes) -> bytes:
    """The packed BuildOutcome for a packed BuildRequest; empty for the Preparation, which is the first request."""
    message = msgspec.msgpack.decode(request, type=Preparation | BuildRequest)
    if isinstance(message, Preparation):
        confine_files(scratch=Path(message.scratch))
        return b""
    config = OpenedConfig(message.config, Terms(message.max_layers, message.max_labels))
    with _at_most(message.max_modules):
        build_skeleton(message.name, config, message.task)
    try:
        outcome = BuildOutcome(model_facts(message.name, config, message.task))
    except BertvizError as error:  # the family cannot be run without weights
        outcome = BuildOutcome(None, str(error))
    return msgspec.msgpack.encode(outcome)


@contextmanager
def _at_most(modules: int) -> Iterator[None]:
    """Limit the number of modules that are built inside the block."""
    left = iter(range(modules))

    def count(*_: object) -> None:
        if next(left, None) is None:
            raise CheckpointError(f"it asks for more than {modules:,} modules (INSIDE_BERT_MAX_MODULES)")

    hook = torch.nn.modules.module.register_module_module_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()


FILE = Path(__file__).with_name("bundled.json")
TASK = "base"


def facts_of(name: str, config: Mapping[str, Any], task: str) -> ModelFacts:
    """The facts about a model: packaged, from the trial of its config in another process, or derived now."""
    if name == DEFAULT_MODEL and task == TASK and dict(config) == read_json(bundled_folder(), CONFIG_FILE):
        return msgspec.json.decode(FILE.read_bytes(), type=ModelFacts)
    packed = config_trial(name, config, task)
    if packed is None:
        return model_facts(name, config, task)
    outcome = msgspec.msgpack.decode(packed, type=BuildOutcome)
    if outcome.facts is None:
        raise UnsupportedModelError(outcome.refusal)
    return outcome.facts


if __name__ == "__main__":
    FACTS = model_facts(DEFAULT_MODEL, read_json(bundled_folder(), CONFIG_FILE), TASK)
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(FACTS), indent=1) + b"\n")
