"""Texts of the overview and of the architecture page."""

from collections.abc import Mapping, Sequence

from bertviz_core.architecture import capabilities
from bertviz_core.architecture.capabilities import window_words
from bertviz_core.architecture.cost.multiply_adds import CHECKED_RUN, SHORT_RUNS
from bertviz_core.architecture.cost.results import Crossover, Growth, Holding, MultiplyAdds, OperationTerms
from bertviz_core.architecture.results import Architecture, Design, LayerFlow
from bertviz_core.figures.architecture.layer_flow import unused_words
from ui.widgets.formatting import escape_markdown

STACK = (
    "Sizes come from the config, counts are sums over the named parameters, as on the page Parameters. What the tokens "
    "pass, and in which order, is read off a run of the modules without weights: which tables are looked up, and where "
    "norms and residual connections are. One layer is drawn, with the numbers of one layer. Boxes without an arrow "
    "are not passed by the tokens: they are read inside the layers, or not at all."
)
TREE = (
    "The class is built from the config on PyTorch's meta device, where tensors have shapes and no values, and printed "
    "as PyTorch prints it: equal neighbours in a list of layers become one line such as (0-11): 12 x BertLayer. A "
    "module's parameters are the sum over all modules that its line stands for, tied ones counted once. Shapes are "
    "heard by hooks on every module while the text's tokens pass; they equal those of a run with the weights. Where a "
    "family looks at values on the way, the run is made on the processor with every weight 0."
)
LAYER = (
    "The steps, their order and their sizes are those of a run on the text: every module of the layer that holds "
    "parameters, and the activation, in the order in which the run enters them. Residual connections, the place of the "
    "norms and the factor of the scores are read off the operations of that run: what is added to what, and what is "
    "multiplied before the softmax. Dropout is left out. Scores and the sum of values have no parameters and are no "
    "modules; they are drawn where the family computes ordinary softmax attention (Vaswani et al. 2017, section 3.2)."
)
COST = (
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
ENCODER = (
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
    """The layer's attention pattern and its positions."""
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
        terms: the formula.
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
        lines.append(f"{named} cannot be run on a text alone, so its base class is counted, without a head.")
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
