"""Views of the architecture of a model: one layer, its cost, and the three designs of transformers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bertviz_core.architecture import sizes as capabilities
from bertviz_core.architecture.cost import CHECKED_RUN, SHORT_RUNS, STATED_TOKENS
from bertviz_core.architecture.dry_run import DryWay
from bertviz_core.architecture.results import (
    ActivationMemory,
    Architecture,
    Crossover,
    Design,
    Growth,
    Holding,
    LayerFlow,
    MultiplyAdds,
    OperationTerms,
)
from bertviz_core.architecture.sizes import window_words
from bertviz_core.errors import CheckpointError
from bertviz_core.figures.architecture.cost import cost_figure, memory_figure
from bertviz_core.figures.architecture.designs import design_figure
from bertviz_core.figures.architecture.layers import layer_figure, unused_words
from bertviz_core.figures.architecture.modules import modules_figure
from bertviz_core.models.sentence_folder import STATIC_TYPE
from bertviz_core.parameters.results import Ledger
from bertviz_core.questions.models.architecture import (
    HOLDING,
    LAYER,
    architecture,
    class_ledger,
    cost,
    counted_task,
    design,
    drawn_modules,
    layer,
    memory,
    modules,
    parameters,
    position_limit,
    way_of,
)
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.report.model_lines import static_lines
from bertviz_core.questions.view import Ask, Figure, Link, Links, Metric, Metrics, Part, Section, Text, View
from bertviz_core.questions.views.parameters import count_remarks
from bertviz_core.text import bytes_text, escape_markdown, short_count

EAGER = 'model.set_attn_implementation("eager")   # which asks for no values of the mask\n'
META = 'with torch.device("meta"):   # shapes without values\n'
STACK_MADE = (
    "Sizes come from the config, counts are sums over the named parameters, as on the page Parameters. What the tokens "
    "pass, and in which order, is read off a run of the modules without weights: which tables are looked up, and where "
    "norms and residual connections are. One layer is drawn, with the numbers of one layer. Boxes without an arrow "
    "are not passed by the tokens: they are read inside the layers, or not at all."
)
TREE_MADE = (
    "The class is built from the config on PyTorch's meta device, where tensors have shapes and no values, and printed "
    "as PyTorch prints it: equal neighbours in a list of layers become one line such as (0-11): 12 x BertLayer. A "
    "module's parameters are the sum over all modules that its line stands for, tied ones counted once. Shapes are "
    "heard by hooks on every module while the text's tokens pass; they equal those of a run with the weights. Where a "
    "family looks at values on the way, the run is made on the processor with every weight 0."
)
LAYER_MADE = (
    "The steps, their order and their sizes are those of a run on the text: every module of the layer that holds "
    "parameters, and the activation, in the order in which the run enters them. Residual connections, the place of the "
    "norms and the factor of the scores are read off the operations of that run: what is added to what, and what is "
    "multiplied before the softmax. Dropout is left out. Scores and the sum of values have no parameters and are no "
    "modules; they are drawn where the family computes ordinary softmax attention (Vaswani et al. 2017, section 3.2)."
)
COST_MADE = (
    "For n tokens a linear map of a × b weights takes n · a · b multiply-adds. The scores take, for each pair of "
    "tokens, one product per number of a query, and mixing the values as many again: n² · 2 · heads · head size for "
    "each layer (Vaswani et al. 2017, table 1; Kaplan et al. 2020, section 2.1). The numbers of the formula are read "
    "off short runs without values, module by module, and checked against longer ones. With a window of w tokens to "
    "each side the n² pairs become n + w · (2n - w - 1). Biases, norms, activations and the softmax are left out. The "
    "circles are PyTorch's own count of a run without values. There attention is computed step by step for every pair "
    "of tokens, and a window or a causal mask is applied afterwards; only special kernels skip the masked pairs."
)
ORDERS: Mapping[str, str] = {order: words.removesuffix(".") for order, words in capabilities.ORDERS.items()}
MEMORY: Mapping[Holding, str] = {
    "inference": (
        "Peak memory of one forward pass without gradients: all tensors alive at once, float32, "
        "attention computed step by step. For long texts the scores dominate, which grow with the square of the length."
    ),
    "training": (
        "Memory of everything that one forward pass keeps for the backward pass, float32, attention computed step by "
        "step, dropout off. Gradients of the weights and the optimizer's state come on top."
    ),
}
MEMORY_MADE = (
    "Every size is measured on a run without values, where each tensor has its bytes and no contents. Inference: the "
    "largest sum of the bytes of all tensors alive after an operation; what an operation uses inside itself is not "
    "seen. Training: the bytes of all tensors handed to autograd's saved_tensors_hooks, shared memory counted once. "
    "Fused attention (SDPA, FlashAttention) keeps neither scores nor probabilities, so that its memory grows with the "
    "length alone (Dao et al. 2022); half precision halves every number here."
)
DESIGN_MADE = (
    "The layers are counted from the model's parameters, as on the page Parameters. Where norms stand, and how far a "
    "token sees in each layer, is read off a run of the class without weights, as on the Overview; the head is that of "
    "the class. BERT, T5 and GPT-2 are drawn beside it as their papers have them. The small maps show who may see "
    "whom: a row looks at the columns that are filled; a wide window is drawn as a narrow one. Whether a "
    "model sees ahead is read from its config (is_encoder_decoder, is_decoder), its attention modules (is_causal), "
    "or from transformers' own tables: a family with a class that predicts the next token and none that fills in "
    "masked ones is a decoder. The design of encoder and decoder is that of Vaswani et al. (2017, figure 1); T5 "
    "(Raffel et al. 2020) and BART (Lewis et al. 2020) keep it, BERT (Devlin et al. 2019) keeps the encoder alone, "
    "GPT-2 (Radford et al. 2019) the decoder."
)


def about_architecture(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """The class that is described, its family, and its size; what is to be known of the counts."""
    tree, notices = ask(modules, Options(task=options.task)).result, ask(parameters, Options()).result.notices
    named = f"{tree.architecture}, {ask(architecture, Options()).result.title}, {tree.total:,} parameters"
    return named, [count_remarks((opened,), notices)]


def with_readable_text(opened: Opened, options: Options) -> Options:
    """The options, without the text where the tokenizer is not on this machine."""
    try:
        opened.tokens(options.text(), options.pair)
    except CheckpointError:
        return replace(options, texts=(), pair=None)
    return options


def tree_picture(opened: Opened, ask: Ask, options: Options) -> Figure:
    """The tree of modules as a picture; the page has it with rows to unfold."""
    answer = ask(drawn_modules, options)
    run, way = answer.drawn["module_shapes"], way_of(opened, options)
    tokens = STATED_TOKENS if run is None else run.seq
    return Figure.of(
        modules_figure,
        answer,
        f"modules {opened.name}",
        alt=f"Modules of {answer.result.model}",
        explanation=TREE_MADE,
        code=tree_lines(opened, answer.result.architecture, tokens, way),
    )


def layer_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """A drawing of one layer."""
    own = Options(task=options.task)
    answer = ask(layer, with_readable_text(opened, options))
    flow, named = answer.result, ask(modules, own).result.architecture
    to = Link.to("Heads: its attention, head by head", "heads", {"model": opened.name, LAYER.key: flow.layer})
    links = Links("architecture_heads", "The heads of this layer on another page", [to])
    yield Figure.of(
        layer_figure,
        answer,
        f"layer {flow.layer} {flow.model}",
        alt=f"Steps of layer {flow.layer} in the order of the run",
        explanation=LAYER_MADE,
        code=_layer_lines(opened, named, flow),
        below=(Text(layer_words(flow, ask(design, own).result)), *([links] if flow.num_attention_heads else [])),
    )


def cost_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Multiply-adds by length, and memory of activations by batch and length."""
    named = ask(modules, Options(task=options.task)).result.architecture
    of = replace(with_readable_text(opened, options), task=counted_task(opened, options))
    known, way = ask(cost, of), way_of(opened, of)
    found = known.result
    yield from _cost_metrics(found.of_text, bool(of.texts), found.by_formula)
    if found.by_formula:
        causal = ask(design, Options(task=of.task)).result.kind == "decoder"
        crossings = found.crossing, found.crossing_with_projections
        words = cost_words(found.terms, named, crossings, position_limit(opened), found.counts, causal)
    else:
        words = counted_words(found.terms, named)
    yield Figure.of(
        cost_figure,
        known,
        f"multiply-adds {opened.name}",
        texts=(),
        alt="Multiply-adds by tokens and part",
        below=(Text(words),),
        explanation=COST_MADE if way is not None else "",
        code=_cost_lines(opened, found.terms, found.tokens, way, found.by_formula) if way is not None else "",
    )
    yield Text("Memory of activations", "heading")
    yield Section((HOLDING,), memory_section)


def memory_section(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Memory of activations by batch and length."""
    of = Options(task=counted_task(opened, options), values=options.values)
    answer, way = ask(memory, of), way_of(opened, of)
    found = answer.result
    weights = class_ledger(opened, of).total * 4
    named = ask(modules, Options(task=of.task)).result.architecture
    yield Figure.of(
        memory_figure,
        answer,
        f"activation memory {options.choice(HOLDING)} {opened.name}",
        alt=f"Memory of activations in {found.holding}, bytes",
        explanation=MEMORY_MADE,
        code=_memory_lines(opened, of, named, found, way) if way is not None else "",
        below=(Text(f"{MEMORY[found.holding]} The weights take {bytes_text(weights)} more at float32."),),
    )


def design_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """An encoder, an encoder-decoder and a decoder; the model's own design is marked."""
    answer = ask(design, Options(task=options.task))
    ledger: Ledger = answer.drawn["class_ledger"]
    yield Figure.of(
        design_figure,
        answer,
        f"encoder or decoder {opened.name}",
        alt=f"Components of {opened.name}",
        explanation=DESIGN_MADE,
        code=_design_lines(opened, ledger.architecture),
        below=(Text(design_words(ask(architecture, Options()).result, answer.result)),),
    )


def _cost_metrics(costs: MultiplyAdds, typed: bool, by_formula: bool) -> Iterator[Part]:
    """The numbers at one length; nothing where its run would take too long."""
    if not len(costs.lengths):
        return
    here, total = int(costs.lengths[0]), int(costs.total[0])
    how = "by the formula, windows honoured" if by_formula else "counted by PyTorch"
    words = f"{total:,} of one forward pass, {how}; twice as many operations."
    parts = (
        ("Feed-forward", costs.feed_forward, ""),
        ("Projections", costs.projections, " Those that make query, key, value and attention's output."),
        ("Scores and mixing", costs.attention, ""),
        ("The rest", costs.other, " Task head, pooler, projections of embeddings and of tables of distances."),
    )
    yield Metrics.of(
        Metric("Your text" if typed else "A text", f"{here:,} tokens", "Special tokens included."),
        Metric("Multiply-adds", short_count(total), words),
        *(
            Metric(label, f"{int(values[0]) / total:.1%}" if total else "", f"{int(values[0]):,} multiply-adds.{of}")
            for label, values, of in parts
        ),
    )


def layer_words(flow: LayerFlow, design: Design) -> str:
    """A description of the drawn layer."""
    lines = [f"{ORDERS[flow.order]} ({flow.order})."] if flow.order else []
    if not flow.blocks:
        lines.append("The steps are listed in the order of the run, without residual connections.")
    if flow.order == "pre-norm" and flow.blocks and not flow.blocks[0].norms_before:
        lines.append("This layer has no norm before its attention.")
    if flow.gated:
        lines.append("The feed-forward block is gated: one half passes the activation and scales the other.")
    lines += _attention_words(flow, design)
    if flow.applications > 1:
        lines.append(f"One run passes this layer {flow.applications} times: the parameters are shared.")
    if len(flow.paths) > 1:
        lines.append("The layer is not one module: the family keeps its parts in separate lists.")
    if flow.vectors != flow.seq:
        lines.append(
            f"{flow.vectors:,} vectors enter it for the text's {flow.seq:,} tokens, which were pooled or padded before."
        )
    unused = escape_markdown(unused_words(flow))
    return f"**{escape_markdown(flow.class_name)}**, {flow.total:,} parameters.{unused} " + " ".join(lines)


def _attention_words(flow: LayerFlow, design: Design) -> list[str]:
    lines = []
    if design.kind == "decoder" and not design.mixes:
        lines.append("Its attention is causal: a token sees itself and those before it, the rest of a row is 0.")
    if design.kind == "encoder-decoder":
        lines.append("It is a layer of the encoder; a layer of the decoder has cross-attention as well.")
    if flow.window is not None:
        lines.append(f"Its attention is local: a token sees {window_words(flow.window)}.")
    if "relative" in flow.positions:
        lines.append("Distances between tokens change the scores (relative positions).")
    if "rotary" in flow.positions:
        lines.append("Queries and keys are rotated by their position before the product (rotary positions).")
    return lines


def cost_words(
    terms: OperationTerms,
    named: str,
    crossings: Sequence[Crossover],
    limit: int | None,
    counts: MultiplyAdds,
    causal: bool,
) -> str:
    """Describe the formula with this model's numbers, the crossovers, and PyTorch's count.

    Args:
        named: class named by the page.
        crossings: scores and mixing against feed-forward, then all of attention.
        limit: most tokens that the model reads.
        counts: PyTorch's counts, which the formula gives.
        causal: whether a token does not see later ones.
    """
    parts = (
        ("projections", terms.projections),
        ("feed-forward", terms.feed_forward),
        ("scores and mixing", terms.attention),
        ("the rest", terms.other),
    )
    listed = ", ".join(f"{name} **{_growth_words(growth)}**" for name, growth in parts if growth != Growth())
    lines = [*_class_words(terms, named), f"{terms.model_class} takes for n tokens: {listed}."]
    windowed = sum(each.window is not None for each in terms.layers)
    if windowed:
        lines.append(
            f"In {windowed} of {len(terms.layers)} layers a token sees a window only. A kernel that skips the pairs "
            "outside it does less work: there n² becomes the pairs inside the window (the lower sum)."
        )
    if terms.attention == Growth():
        lines.append(
            "It mixes its tokens by something else than matrix products, such as a Fourier transform, a recurrence or "
            "a kernel of its own: neither the formula nor PyTorch's counter counts that."
        )
    elif causal:
        lines.append("Its causal mask keeps n · (n + 1) / 2 of the n² pairs; computed step by step, all are made.")
    lines += _crossing_words(crossings, limit)
    if counted := [seq for seq in counts.lengths.tolist() if seq not in (*SHORT_RUNS, CHECKED_RUN)]:
        which = "the sum over every pair (the upper sum)" if windowed else "the same"
        *first, last = (f"{seq:,}" for seq in counted)
        lines.append(f"PyTorch counts {which} at {', '.join(first)}{' and ' if first else ''}{last} tokens.")
    return escape_markdown(" ".join(lines)).replace("\\*\\*", "**")


def counted_words(terms: OperationTerms, named: str) -> str:
    """An explanation for families whose cost is not quadratic in the length."""
    lines = [
        *_class_words(terms, named),
        f"The cost of {terms.model_class} is no formula of the form n² · a + n · b + c: it works in blocks or on "
        "fewer, pooled tokens, or it changes its way with the length. So nothing is calculated here: the circles are "
        "PyTorch's own count of runs of these lengths, part by part, and the lines only join them.",
    ]
    return escape_markdown(" ".join(lines))


def _class_words(terms: OperationTerms, named: str) -> list[str]:
    """The counted class, where it differs from the page's, and the input of its decoder."""
    lines = []
    if terms.model_class != named:
        lines.append(f"{named} cannot be run on a text alone, so its base class is counted, without a task head.")
    if terms.decoder_tokens:
        lines.append("The decoder is counted with one token, the first that it writes.")
    return lines


def _growth_words(growth: Growth) -> str:
    terms = ((growth.per_pair, "n² · "), (growth.per_token, "n · "), (growth.per_text, ""))
    return " + ".join(f"{sign}{value:,}" for value, sign in terms if value)


def _crossing_words(crossings: Sequence[Crossover], limit: int | None) -> list[str]:
    """The lengths above which attention costs more than the feed-forward blocks, with and without its projections."""
    lines = []
    always = next((place for place, crossing in enumerate(crossings) if crossing.tokens == 1), len(crossings))
    for crossing in crossings[: always + 1]:  # what costs more without its projections also does with them
        what = "With its projections, attention costs" if crossing.projections else "Scores and mixing alone cost"
        if crossing.tokens == 1:
            lines.append(f"{what} as much as the feed-forward blocks or more **at every length**.")
        elif crossing.tokens is not None:
            beyond = f", beyond the {limit:,} that it reads" if limit and crossing.tokens > limit else ""
            lines.append(
                f"{what} as much as the feed-forward blocks or more from **{crossing.tokens:,} tokens** on{beyond}."
            )
    return lines


def design_words(model: Architecture, design: Design) -> str:
    """How the three designs differ, for this model, and which details of its layers are not drawn."""
    undrawn = (
        "" if design.order else " Where the norms of its layers stand fits none of the usual orders: none is drawn."
    )
    if design.order == "parallel":
        undrawn = " In its layers attention and feed-forward read the same vectors, side by side; norms are not drawn."
    return _kind_words(model, design) + undrawn


def _kind_words(model: Architecture, design: Design) -> str:
    """How the three designs differ, for this model."""
    name = escape_markdown(model.model)
    if design.kind == "encoder":
        return (
            f"**{name} is an encoder-only model.** It reads the whole text at once and gives a vector for every token; "
            "it writes nothing. An encoder-decoder model, such as T5 or BART, writes a new text token by token: the "
            "decoder looks at what it has written (masked self-attention) and, through **cross-attention**, at the "
            "encoder's vectors: its queries come from the decoder, keys and values from the encoder. A "
            "decoder-only model, such as GPT-2, continues the text that it is given."
        )
    if design.kind == "encoder-decoder":
        return (
            f"**{name} is an encoder-decoder model.** The encoder reads the whole text at once, as BERT does. The "
            "decoder writes token by token: it looks at what it has written (masked self-attention) and, through "
            "**cross-attention**, at the encoder's vectors: queries come from the decoder, keys and values from the "
            "encoder. The other pages run the encoder alone, which is all that reads a text."
        )
    how = "passes a state from token to token" if design.mixes else "has **masked self-attention**"
    cross = (
        "Its layers have **cross-attention** as well, to the vectors of another model, which it needs to be given; "
        "the other pages run it on a text alone."
        if design.cross_attention
        else "It has no cross-attention, for there is no encoder whose vectors it could read."
    )
    return (
        f"**{name} is a decoder-only model.** It {how}: a token's vector is made from itself and the tokens before it, "
        "never from those after it, so that the last one can predict the next token. BERT's encoder sees both sides. "
        f"{cross}"
    )


def stack_lines(opened: Opened, ledger: Ledger) -> str:
    """Code for the sizes in the config and the parameter sums of the figure."""
    return (
        f"{_model_lines(opened, ledger.architecture)}"
        "print(config)\n"
        "print(sum(p.numel() for p in model.parameters()))   # all, tied ones once\n"
        "for path, module in model.named_modules():\n"
        "    own = sum(p.numel() for p in module.parameters(recurse=False))\n"
        "    if own:\n"
        "        print(path, own)"
    )


def tree_lines(opened: Opened, model_class: str, tokens: int, way: DryWay | None) -> str:
    """Code for the printed tree and the shapes of inputs and outputs; the tree alone if the class cannot be run."""
    if way is None:
        return f"{_model_lines(opened, model_class)}print(model)"
    shape = (1, 1, tokens) if model_class.endswith("MultipleChoice") else (1, tokens)
    return (
        f"{_model_lines(opened, model_class, way)}"
        f"{EAGER if way.masked else ''}"
        "print(model)\n"
        "def hook_of(path):\n"
        "    def hook(module, inputs, output):\n"
        "        shapes = [tuple(x.shape) for x in inputs if isinstance(x, torch.Tensor)]\n"
        "        made = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__\n"
        "        print(path, shapes, made)\n"
        "    return hook\n"
        "for path, module in model.named_modules():\n"
        "    module.register_forward_hook(hook_of(path))\n"
        f"{_input_lines(shape, way)}"
        "with torch.no_grad():\n    model(**inputs)"
    )


def _layer_lines(opened: Opened, model_class: str, flow: LayerFlow) -> str:
    return (
        f"{_model_lines(opened, model_class)}"
        f"parts = [model.get_submodule(path) for path in {list(flow.paths)!r}]\n"
        "for part in parts:\n"
        "    print(part)\n"
        "    for path, parameter in part.named_parameters():\n"
        "        print(path, tuple(parameter.shape), parameter.numel())\n"
        "print(sum(p.numel() for part in parts for p in part.parameters()))"
    )


def _cost_lines(opened: Opened, terms: OperationTerms, tokens: int, way: DryWay, exact: bool) -> str:
    """Code for PyTorch's own count of a run with stepwise attention, and the formula if it is exact."""
    parts = (terms.projections, terms.feed_forward, terms.attention, terms.other)
    per_pair, per_token, per_text = (
        " + ".join(str(value) for value in values if value) or "0"
        for values in zip(*((each.per_pair, each.per_token, each.per_text) for each in parts), strict=True)
    )
    formula = (
        f"n = {tokens}\n"
        f"whole = n * n * ({per_pair}) + n * ({per_token}) + {per_text}"
        "   # scores and mixing; projections, feed-forward and the rest\n"
        "print(whole)\n"
        f"{_windowed_lines(terms)}"
    )
    return (
        f"{_stepwise_lines(opened, terms.model_class, way)}"
        "from torch.utils.flop_counter import FlopCounterMode\n"
        f"{_input_lines((1, tokens), way)}"
        "model.requires_grad_(False)   # the counter fails on a weight that DeBERTa hands to a module\n"
        "with FlopCounterMode(display=False) as counter:\n"
        "    model(**inputs)\n"
        "print(counter.get_total_flops() // 2)   # one multiply-add is two operations\n"
        f"{formula if exact else ''}"
    )


def _windowed_lines(terms: OperationTerms) -> str:
    """Code that subtracts the pairs outside the attention windows; "" if no layer has a window."""
    hidden: dict[str, int] = {}
    for each in terms.layers:
        if each.window is not None:
            before, after = (side if side is not None else "n" for side in (each.window.before, each.window.after))
            pairs = f"sum(min(n, i + {after} + 1) - max(0, i - {before}) for i in range(n))"
            hidden[pairs] = hidden.get(pairs, 0) + each.per_pair
    if not hidden:
        return ""
    lines = "".join(f"whole -= {per_pair} * (n * n - {pairs})\n" for pairs, per_pair in hidden.items())
    return f"{lines}print(whole)   # without the pairs outside the windows\n"


def _memory_lines(opened: Opened, options: Options, model_class: str, sizes: ActivationMemory, way: DryWay) -> str:
    """Code for the bytes of one cell of the map: the smallest batch of the shortest texts."""
    batch, tokens = sizes.batches[0], sizes.lengths[0]
    if sizes.holding == "training":
        return (
            f"{_stepwise_lines(opened, model_class, way)}"
            f"{_input_lines((batch, tokens), way)}"
            "resident = (*model.parameters(), *model.buffers(), *inputs.values())\n"
            "known = {t.untyped_storage()._cdata for t in resident}\n"
            "saved = {}\n"
            "def keep(tensor):\n"
            "    storage = tensor.untyped_storage()\n"
            "    if storage._cdata not in known:\n"
            "        saved[storage._cdata] = storage\n"
            "    return tensor\n"
            "with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):\n"
            "    output = model(**inputs)\n"
            "print(sum(storage.nbytes() for storage in saved.values()))"
        )
    return library_lines(memory, opened, Options(task=options.task))


def _design_lines(opened: Opened, model_class: str) -> str:
    return (
        f"{_model_lines(opened, model_class)}"
        'print(config.is_encoder_decoder, getattr(config, "is_decoder", None))\n'
        'print({getattr(module, "is_causal", None) for module in model.modules()})\n'
        "print(sum(p.numel() for p in model.parameters()))"
    )


def _model_lines(opened: Opened, model_class: str, way: DryWay | None = None, options: str = "") -> str:
    """Lines that build the class, without values if it can be run that way."""
    if opened.source.model_type == STATIC_TYPE:
        return static_lines(opened.source, built=True)
    line, source = f"model = {model_class}(config).eval()", opened.source
    if source.adapter is not None:  # whose folder has no config
        labels = len(source.config.get("id2label") or ())
        source, options = source.adapter.base, f"{options}, num_labels={labels}" if labels else options
    return (
        "import torch\n"
        f"from transformers import AutoConfig, {model_class}\n\n"
        f"config = AutoConfig.from_pretrained({source.pretrained_name!r}{options})\n"
        f"{_built_lines(line, way)}"
    )


def _stepwise_lines(opened: Opened, model_class: str, way: DryWay) -> str:
    return _model_lines(opened, model_class, way, ', attn_implementation="eager"')


def _built_lines(made: str, way: DryWay | None) -> str:
    if way is None or way.device_mode == "meta":
        return f"{META}    {made}\n"
    return f"{made}   # random values: this family looks at them on its way\n"


def _input_lines(shape: tuple[int, ...], way: DryWay) -> str:
    """Lines that build the inputs: a text without padding, and a decoder's first token."""
    device = ', device="meta"' if way.device_mode == "meta" else ""
    last = f"ids[..., -1] = {way.last_token}   # the end of the text\n" if way.last_token != way.token else ""
    mask = ', "attention_mask": torch.ones_like(ids)' if way.masked else ""
    decoder = f', "decoder_input_ids": ids[:, :{way.decoder_tokens}]' if way.decoder_tokens else ""
    return f'ids = torch.full({shape}, {way.token}{device})\n{last}inputs = {{"input_ids": ids{mask}{decoder}}}\n'


VIEWS = (
    View("Module tree"),
    View("One layer", (LAYER,), layer_view),
    View("Cost", (), cost_view),
    View("Encoder or decoder", (), design_view),
)
