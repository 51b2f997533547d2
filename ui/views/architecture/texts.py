"""What the architecture page says about its figures: words, and lines of Python that reproduce them."""

from collections.abc import Mapping

from bertviz_core.architecture.multiply_adds import multiply_adds
from bertviz_core.architecture.results import Architecture, Crossover, Design, Holding, LayerFlow, OperationTerms
from ui.widgets.formatting import escape_markdown

TREE = (
    "The class is built from the config on PyTorch's meta device, where tensors have shapes and no values, and printed "
    "as PyTorch prints it: equal neighbours in a list of layers become one line such as (0-11): 12 x BertLayer. A "
    "module's parameters are the sum over all modules that its line stands for, tied ones counted once. Shapes are "
    "heard by hooks on every module while the text's tokens pass; they equal those of a run with the weights. Where a "
    "family looks at values on the way, the run is made on the processor with every weight 0.",
    "from transformers import AutoConfig, AutoModel, AutoTokenizer\n"
    "import torch\n"
    'with torch.device("meta"):\n'
    '    model = AutoModel.from_config(AutoConfig.from_pretrained("bert-base-uncased"))\n'
    "print(model)\n"
    "for name, module in model.named_modules():\n"
    "    module.register_forward_hook(lambda m, i, o, name=name: print(name, [x.shape for x in i]))\n"
    'model(input_ids=torch.zeros(1, 9, dtype=torch.long, device="meta"))',
)
LAYER = (
    "The steps, their order and their sizes are those of a run on the text: every module of the layer that holds "
    "parameters, and the activation, in the order in which the run enters them. Whether a norm stands behind a block "
    "or before it follows from that order. Dropout is left out. Scores and the sum of values have no parameters and "
    "are no modules; they are drawn where the family computes ordinary softmax attention (Vaswani et al. 2017, "
    "section 3.2), else named as the family's own.",
    "layer = model.encoder.layer[0]\n"
    "print(layer)\n"
    "for name, parameter in layer.named_parameters():\n"
    "    print(name, tuple(parameter.shape))",
)
COST = (
    "For n tokens a linear map of a × b weights takes n · a · b multiply-adds. The scores take, for each pair of "
    "tokens, one product per number of a query, and mixing the values as many again: n² · 2 · heads · head size for "
    "each layer (Vaswani et al. 2017, table 1; Kaplan et al. 2020, section 2.1). With a window of w tokens to each "
    "side the n² pairs become n + w · (2n - w - 1). Biases, norms, activations and the softmax are left out. The "
    "rings are PyTorch's own count of a run without values, attention computed step by step: a window "
    "saves nothing there.",
    "from torch.utils.flop_counter import FlopCounterMode\n"
    "with FlopCounterMode(display=False) as counter:\n"
    '    model(input_ids=torch.zeros(1, 128, dtype=torch.long, device="meta"))\n'
    "print(counter.get_total_flops() // 2)   # one multiply-add is two operations",
)
NOT_COVERED = (
    "The formula of ordinary attention does not describe this family: it attends in blocks, to pooled tokens, or in "
    "another way of its own."
)
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
    "length alone (Dao et al. 2022); half precision halves every number here.",
    "kept = {}\n"
    "def keep(t):\n"
    "    kept[t.untyped_storage()._cdata] = t.untyped_storage()\n"
    "    return t\n"
    "with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):\n"
    '    model(input_ids=torch.zeros(8, 128, dtype=torch.long, device="meta"))\n'
    "print(sum(s.nbytes() for s in kept.values()))   # the weights among them",
)
ENCODER = (
    "The layers are counted from the model's parameters, as on the page Parameters. The small maps show who may see "
    "whom: a row looks at the columns that are filled. Whether a model sees ahead is told by its config "
    "(is_encoder_decoder, is_decoder), by its attention modules (is_causal), else by transformers' own tables: a "
    "family with a class that predicts the next token and none that fills in masked ones is a decoder. The design of "
    "encoder and decoder is that of Vaswani et al. (2017, figure 1); T5 (Raffel et al. 2020) and BART (Lewis et al. "
    "2020) keep it, BERT (Devlin et al. 2019) keeps the encoder alone, GPT-2 (Radford et al. 2019) the decoder.",
    "config = model.config\n"
    'print(config.is_encoder_decoder, getattr(config, "is_decoder", None))\n'
    'print({getattr(module, "is_causal", None) for module in model.modules()})',
)


def layer_words(flow: LayerFlow, design: Design) -> str:
    """What the drawing of a layer shows, in a few sentences."""
    order = {
        "post-norm": "Each block's result is added to what entered it, and the sum is normalised (post-norm).",
        "pre-norm": "Each block reads a normalised copy, and its result is added to what entered it (pre-norm).",
        "": "The steps stand in the order of the run; residual lines are not drawn: this family's order is its own.",
    }
    lines = [order[flow.order]]
    if flow.order == "pre-norm" and not flow.first_norm:
        lines.append("This layer has no norm before its attention.")
    if flow.gated:
        lines.append("The feed-forward block is gated: one half passes the activation and scales the other.")
    lines += _attention_words(flow, design)
    if flow.applications > 1:
        lines.append(f"One run passes this layer {flow.applications} times: the parameters are shared.")
    if len(flow.paths) > 1:
        lines.append("The layer is no module of its own: the family keeps its parts in lists, one part per layer.")
    if flow.vectors != flow.seq:
        lines.append(
            f"Of the text's {flow.seq:,} tokens {flow.vectors:,} vectors enter it: it is pooled or padded before."
        )
    return f"**{escape_markdown(flow.class_name)}**, {flow.total:,} parameters. " + " ".join(lines)


def _attention_words(flow: LayerFlow, design: Design) -> list[str]:
    """Who sees whom in the layer, and how positions enter."""
    lines = []
    if design.kind == "decoder" and not design.mixes:
        lines.append("Its attention is causal: a token sees itself and those before it, the rest of a row is 0.")
    if design.kind == "encoder-decoder":
        lines.append("It is a layer of the encoder; a layer of the decoder has cross-attention as well.")
    if flow.window is not None:
        lines.append(f"Its attention is local: a token sees {flow.window:,} tokens to each side.")
    if "relative" in flow.positions:
        lines.append("Distances between tokens change the scores (relative positions).")
    if "rotary" in flow.positions:
        lines.append("Queries and keys are turned by their position before the product (rotary positions).")
    return lines


def cost_words(
    terms: OperationTerms, crossing: Crossover, limit: int | None, counts: Mapping[int, int], causal: bool
) -> str:
    """The formula with this model's numbers, the crossing, and how it agrees with PyTorch's count."""
    widths = sum(each.width * each.applications for each in terms.attention)
    windowed = sum(each.window is not None for each in terms.attention)
    formula = f"n · {terms.projections:,} + n · {terms.feed_forward:,} + n² · {widths:,}"
    formula += f" + n · {terms.other:,}" if terms.other else ""
    formula += f" + {terms.per_text:,}" if terms.per_text else ""
    lines = [f"For n tokens: **{formula}** (projections, feed-forward, scores and mixing, the rest)."]
    if windowed:
        lines.append(f"In {windowed} of {len(terms.attention)} layers n² stands for the pairs inside a window.")
    if causal:
        lines.append("Its mask keeps n · (n + 1) / 2 of the n² pairs; computed step by step, all are made.")
    if crossing.tokens is not None:
        beyond = f", beyond the {limit:,} that it reads" if limit and crossing.tokens > limit else ""
        lines.append(
            f"Attention costs more than the feed-forward blocks beyond **{crossing.tokens:,} tokens**{beyond}."
        )
    costs = multiply_adds(terms, list(counts))
    rest = [
        own - int(mine)
        for mine, own in zip(costs.total - costs.attention + costs.every_pair, counts.values(), strict=True)
    ]
    if counts and not any(rest):
        lines.append(
            f"PyTorch counts the same at {', '.join(f'{seq:,}' for seq in counts)} tokens, every pair counted."
        )
    elif counts:
        more = ", ".join(f"{each:+,} at {seq:,}" for seq, each in zip(counts, rest, strict=True))
        names = ", ".join(dict.fromkeys(path.rpartition(".")[2] for path in terms.left_out))
        why = f", such as {names} for distances or blocks" if names else ""
        lines.append(f"PyTorch's own count differs by {more} tokens: work that the formula leaves out{why}.")
    return escape_markdown(" ".join(lines)).replace("\\*\\*", "**")


def design_words(model: Architecture, design: Design) -> str:
    """What the three designs differ in, said of this model."""
    name = escape_markdown(model.model)
    if design.kind == "encoder":
        return (
            f"**{name} is an encoder alone.** It reads the whole text at once and gives a vector for every token; it "
            "writes nothing. An encoder with a decoder, such as T5 or BART, writes a new text token by token: the "
            "decoder looks at what it has written (masked self-attention) and, through **cross-attention**, at the "
            "encoder's vectors: its queries come from the decoder, keys and values from the encoder. A decoder alone, "
            "such as GPT-2, goes on with the text that it is given."
        )
    if design.kind == "encoder-decoder":
        return (
            f"**{name} has an encoder and a decoder.** The encoder reads the whole text at once, as BERT does. The "
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
        f"**{name} is a decoder alone.** It {how}: a token's vector is made from itself and the tokens before it, "
        "never from those behind, so that the last one can predict the next token. BERT's encoder sees both sides. "
        f"{cross}"
    )
