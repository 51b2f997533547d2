"""The page Heads: one matrix, its heads and the same product twice; norms of all heads; one cell by hand."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertviz_core.errors import BertvizError
from bertviz_core.figures.heads.scores import cell_figure, mix_figure, mix_place, row_frame
from bertviz_core.figures.heads.weights import (
    SYMBOLS,
    Cut,
    block_frame,
    block_place,
    head_norms_figure,
    matrix_figure,
    products_figure,
)
from bertviz_core.figures.heads.weights import head_norms as norms_of_heads
from bertviz_core.heads.results import BLOCKS, Block, CellBreakdown, FusedVsPerHead, HeadProjections, ScoreBreakdown
from bertviz_core.heads.weights import head_parameters
from bertviz_core.questions.models.architecture import architecture
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, choice
from bertviz_core.questions.report.model_lines import model_lines
from bertviz_core.questions.texts.hidden_states import (
    CUT,
    HEAD,
    KEY,
    LAYER,
    MATRIX,
    MULTIPLIED,
    PRODUCT,
    QUERY,
    cell,
    head_matrices,
    head_norms,
    layer_projections,
    products,
)
from bertviz_core.questions.view import (
    Ask,
    Button,
    Cell,
    Click,
    Figure,
    Folded,
    Link,
    Links,
    Metric,
    Metrics,
    Part,
    Row,
    Section,
    Special,
    Table,
    Text,
    View,
)
from bertviz_core.text import count, digits, escape_markdown
from bertviz_core.trace.results import Tokens, Trace

WEIGHTS = choice(
    "weights_of",
    ("one layer", "all layers"),
    "whose weights are shown: a matrix's, or norms of the heads",
    "Show",
    parts=True,
)
BOTH_WAYS = "multiplies your text by the whole matrix, and by the block of each head: numbers and times of both"
PRODUCTS_SHOWN = choice("products_shown", ("false", "true"), BOTH_WAYS)
ROW_OPEN = choice("heads_row", ("false", "true"), "whether the row of weights is open as a table")
ROW_OF_WEIGHTS = 1
"""Index of the figure's trace with the weights."""
PARAMETERS = "parameters = {name: each.detach() for name, each in model.named_parameters()}\n"
READINGS = {
    "as stored": "",
    "transposed": ".T",
    "heads side by side": ".flatten(1)",
    "heads side by side, transposed": ".flatten(1).T",
}
"""How a matrix is stored -> what reads it out of its parameter."""
NUMBERS = (
    "No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve",
    "Thirteen", "Fourteen", "Fifteen", "Sixteen", "Seventeen", "Eighteen", "Nineteen", "Twenty",
)  # fmt: skip
MEANING: dict[Block, str] = {
    "query": "$W_q$ turns a token's vector into its query, what it looks for.",
    "key": "$W_k$ turns a token's vector into its key, what it offers to be found by.",
    "value": "$W_v$ turns a token's vector into its value: what other tokens receive from it.",
    "output": "$W_o$ turns the mixes of all heads, side by side, back into one vector of the hidden size.",
}
OBSERVATIONS: dict[Cut, str] = {
    "whole": "**What to see:** the file holds one matrix and has no mark where one head ends and the next begins: the "
    "heads exist because the model cuts the product.",
    "cut": "**What to see:** the lines are drawn by us, at equal distances; the file has no mark there.",
    "apart": "**What to see:** the same numbers as in one matrix, each head's block by itself.",
}
MATRIX_WORDS = (
    "A layer keeps one matrix for all its heads. Rows are outputs: head h owns the `head_dim` rows from "
    "`h × head_dim` on of `W_q`, `W_k` and `W_v`. In `W_o` it owns as many columns, those that read its part of the "
    "mixed values. Nothing in the file marks the cuts: the model makes them when it reshapes the product. Pulled apart "
    "or not, the numbers are the same. A matrix of more than 650,000 cells is drawn by squares of cells, each with its "
    "number of largest magnitude. The colour scale covers 99.8% of the weights; what is beyond has its last colour."
)
PRODUCTS_WORDS = (
    "x is what really enters the projection in this layer: the hidden state, normalised before where the family does "
    "so. A product of matrices works row by row, so it is the same to multiply with the whole matrix and cut the "
    "result, or to cut the matrix and multiply with every block. What differs is the last digit, since sums are "
    "rounded in another order, and the time: a large product is started once and keeps the processor busy. Both ways "
    "are timed in turn, on one thread and counting only the time in which it computes; the shortest of several runs is "
    "shown, a measurement whose ratio is impossible is repeated, and none is kept for another reader."
)
NORMS_WORDS = (
    "The Frobenius norm of a block is the square root of the sum of its squared numbers. Squared and summed over the "
    "heads, the norms give the squared norm of the whole matrix. Layers that share weights (ALBERT) have equal rows; a "
    "key or value block that several heads share counts for each of them."
)
CELL_WORDS = (
    "q is the head's block of `W_q` times the vector of the token that looks, plus bias; k is the same with `W_k` for "
    "the token looked at. Their products are summed (the dot product), multiplied with the scaling, mostly "
    "`1 / sqrt(head_dim)`, and the softmax over all keys makes the row of weights, which sums to 1 (Vaswani et al. "
    "2017, section 3.2.1). The values are mixed by these weights, and the head's columns of `W_o` turn the mix into "
    "its part of the layer's output, which is added to the residual stream. A large weight is not by itself "
    "importance: it may sit on a short value."
)
POSITIONS = {
    "rotated": "Before they are multiplied, query and key are turned by an angle that grows with their position "
    "(rotary positions, Su et al. 2021); the products are of the turned vectors.",
    "changed": "Between projection and product this family changes query and key further; the products are of the "
    "changed vectors, which were recorded.",
}
SINK = (
    "The head has an attention sink: a learned score ({score}) that stands in the softmax beside those of the keys and "
    "has no value. It takes {share} of this row, and the weights sum to the rest."
)
REMAINDER = (
    "This family computes attention in code of its own and adds to the products: {name}. The added terms are worked "
    "out backwards from the model's weights, as the logarithm of each weight less its scaled product, up to the mean "
    "of the row, which a softmax does not feel. So the row agrees by construction."
)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTimes(Special):
    """The times of one product and of one product for each head, measured for each reader."""

    products: FusedVsPerHead


def question_of(opened: Opened) -> str:
    """The question of the page, for a model with this many heads."""
    try:
        heads = architecture(opened, Options()).result.num_attention_heads
    except BertvizError:
        heads = None
    if heads is None:
        return "Many heads, one matrix: where are they?"
    return (
        f"{_number(heads)} heads, one matrix: where are they?" if heads != 1 else "One head, one matrix: where is it?"
    )


def _number(heads: int) -> str:
    return NUMBERS[heads] if heads < len(NUMBERS) else str(heads)


def about_heads(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """Layers, heads and their size."""
    model = ask(architecture, Options()).result
    if model.num_attention_heads is None:
        return f"{count(model.num_hidden_layers)} layers, no heads", ()
    words = f"{count(model.num_attention_heads)} heads in each of {count(model.num_hidden_layers)} layers"
    return words if model.head_dim is None else f"{words}, {count(model.head_dim)} numbers each", ()


def matrices_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """One matrix of a layer, or the norms of the heads of all layers."""
    if options.choice(WEIGHTS) == WEIGHTS.options[0]:
        yield Section((LAYER, HEAD, MATRIX, CUT), matrix_view)
    else:
        yield from norms_view(opened, ask)


WHY_ONE = (
    "Why one matrix for all heads: one product with the whole matrix gives the same numbers as a product with each "
    "block, and is one large step for the processor in place of many small ones."
)


def matrix_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """One projection of a layer, whole, cut or pulled apart."""
    answer = ask(head_matrices, options)
    parts, layer, head, block, cut = (answer.drawn[name] for name in ("projections", "layer", "head", "block", "cut"))
    blocks, matrix, size = parts.blocks(block), parts.matrix(block), _size(parts, block)
    norms = norms_of_heads(matrix, len(blocks), size, block != "output")
    alt = f"Block of head {block_place(parts, head, block)}"
    yield Figure.of(
        matrix_figure,
        answer,
        f"{SYMBOLS[block]} layer {layer} head {head} {parts.model}",
        numbers="in files",
        below=[
            Text(f"{OBSERVATIONS[cut]} {_norm_words(norms)}"),
            Text(_shape_words(parts, block, cut)),
            *([Text(WHY_ONE)] if len(blocks) > 1 else []),
            Cell("heads_matrix", lambda cell: [_weight_words(parts, block, cell)]),
        ],
        rows=[Table(block_frame(parts, head, block), alt, folded="heads_matrix")],
        explanation=MATRIX_WORDS,
        code=f"{model_lines(opened)}\n{PARAMETERS}{_matrix(parts, block)}print(heads.shape, heads)\n",
    )
    yield Section((replace(PRODUCTS_SHOWN, label=f"One product or {_number(parts.num_heads).lower()}"),), products_view)


def _size(parts: HeadProjections, block: Block) -> int:
    return int(parts.blocks(block).shape[2 if block == "output" else 1])


def _norm_words(norms: np.ndarray) -> str:
    if len(norms) < 2:
        return ""
    most, least = int(norms.argmax()), int(norms.argmin())
    return (
        f"Of all {len(norms)} blocks that of head {most} is the largest, with the norm **{norms[most]:.4f}**, and that "
        f"of head {least} the smallest, **{norms[least]:.4f}**: where neighbours differ, an edge can be seen."
    )


def _shape_words(parts: HeadProjections, block: Block, cut: Cut) -> str:
    stored, matrix, blocks = parts.stored[block], parts.matrix(block), parts.blocks(block)
    words = f"`{stored.name}` `{stored.shape}`"
    if stored.form != "as stored":
        words += f" → {escape_markdown(stored.form)} `{matrix.shape}`"
    if cut != "whole":
        words += f" → cut by {_axis(block)}s, {len(blocks)} heads of {_size(parts, block)} → `{blocks.shape}`"
    if len(blocks) < parts.num_heads:
        words += f"; each is shared by {parts.num_heads // len(blocks)} of the {parts.num_heads} heads"
    if len(parts.shared_with) > 1:
        words += f"; the layers {parts.shared_with[0]} to {parts.shared_with[-1]} share these weights"
    return words


def _axis(block: Block) -> str:
    return "column" if block == "output" else "row"


def _weight_words(parts: HeadProjections, block: Block, cell: tuple[int, int] | None) -> Text:
    """The exact weight of the clicked cell, and its head."""
    matrix, axis = parts.matrix(block), _axis(block)
    if not cell or cell[0] >= matrix.shape[0] or cell[1] >= matrix.shape[1]:
        each = f"{MEANING[block]} Each head owns some of its {axis}s. Choose a cell for its exact weight."
        return Text(each, "caption")
    head, inside = divmod(cell[block == "output"], _size(parts, block))
    owner = f"{axis} {inside} of head {head}" if head < len(parts.blocks(block)) else "not part of any head"
    return Text(f"Row {cell[0]}, column {cell[1]}: **{matrix[cell]:.7f}**, {owner}.")


def products_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """One product that is cut into heads beside one product per head, on the text."""
    block = options.choice(MATRIX, BLOCKS)
    if not options.flag(PRODUCTS_SHOWN):
        return
    if block not in MULTIPLIED:
        output = "Choose query, key or value above: the output projection multiplies what the heads have mixed."
        yield Text(output, "notice")
        return
    answer = ask(products, replace(options, values={"layer": options.get("layer"), PRODUCT.key: block}))
    layer, both = answer.drawn["layer"], answer.result
    parts = layer_projections(opened, layer)
    words = f"Largest difference between the two ways: **{digits(both.max_difference, 2)}**"
    if both.model_difference is not None:
        own = digits(both.model_difference, 2)
        words += f", between the one product and what the model itself computed: **{own}**"
    yield Figure.of(
        products_figure,
        answer,
        f"{SYMBOLS[block]} products layer {layer} {opened.name}",
        below=[Text(f"{words}. Float32 keeps about 7 digits."), MeasuredTimes(both)],
        explanation=PRODUCTS_WORDS,
        code=_products_code(opened, answer.drawn["tokens"], parts, block),
    )


def norms_view(opened: Opened, ask: Ask) -> Iterator[Part]:
    """Norms of all heads of all layers, and how many parameters a head has."""
    answer, parts = ask(head_norms, Options()), layer_projections(opened, 0)
    yield Figure.of(
        head_norms_figure,
        answer,
        f"norms of heads {parts.model}",
        below=[Cell("heads_norms", lambda cell: list(_chosen_head(answer.result, cell))), *_head_sizes(parts)],
        explanation=NORMS_WORDS,
        code=_norms_code(opened, parts),
    )


def _chosen_head(norms: np.ndarray, cell: tuple[int, int] | None) -> Iterator[Part]:
    if not cell or cell[0] >= norms.shape[0] or cell[1] >= norms.shape[1]:
        small = "A small norm says that the numbers are small, not that the head is useless."
        yield Text(f"Choose a cell to open its head. {small}", "caption")
        return
    layer, head = cell
    listed = ", ".join(
        f"${SYMBOLS[block]}$ {norm:.4f}" for block, norm in zip(BLOCKS, norms[cell].tolist(), strict=True)
    )
    place: dict[str, str | int] = {LAYER.key: str(layer), HEAD.key: head}
    yield Row(
        [
            Text(f"Layer {layer}, head {head}: {listed}."),
            Button("Its matrices", "open_Matrices", {WEIGHTS.key: "", **place}, "Matrices"),
            Button("One cell", "open_One_cell", place, "One cell"),
            Links("heads_attention", "The same head on another page", [Link.to("Attention", "attention", place)]),
        ]
    )


def _head_sizes(parts: HeadProjections) -> Iterator[Part]:
    sizes, metrics = head_parameters(parts), []
    for block in BLOCKS:
        blocks = parts.blocks(block)
        biased = block != "output" and parts.bias(block) is not None
        shape = " × ".join(str(size) for size in blocks.shape[1:])
        words = f"{shape}{f' + {blocks.shape[1]} biases' if biased else ''}; {sizes.heads[block]} such blocks."
        metrics.append(Metric(f"${SYMBOLS[block]}$ of a head", count(sizes.per_head[block]), words))
    outside = "The bias of the output, and columns that belong to no head."
    metrics.append(Metric("Outside the heads", count(sizes.outside_heads), outside))
    whole = "The blocks of all heads, and what is outside them."
    yield Metrics([*metrics, Metric("Attention parameters, layer 0", count(sizes.total), whole)])


def cell_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """One cell of the attention on this text."""
    yield Section((LAYER, HEAD, QUERY, KEY), chosen_cell_view)


def chosen_cell_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Every number from two vectors to a weight, and to the head's output."""
    answer = ask(cell, options)
    made: CellBreakdown = answer.result
    trace: Trace = answer.drawn["trace"]
    remarks = _remarks_on(made.score)
    figure = Figure.of(
        cell_figure,
        answer,
        f"attention layer {made.layer} head {made.head} cell {made.query_position} {made.key_position} {trace.model}",
        below=[
            Text(_check_words(made)),
            *(Text(remark, "caption") for remark in remarks),
            Text(f"The model ran on {trace.device} in {trace.dtype}.", "caption"),
        ],
        click=Click(KEY, lambda point: int(point["x"]) if point.get("curve_number") == ROW_OF_WEIGHTS else None),
        explanation=" ".join([CELL_WORDS, *remarks]),
        code=_cell_code(opened, trace, made, layer_projections(opened, made.layer)),
    )
    title = figure.spec.title
    yield replace(figure, alt=f"Products: {title}")
    row = row_frame(made, trace)
    yield Folded("The row of weights as a table", ROW_OPEN.key, lambda: [Table(row, f"Row of weights: {title}")])
    yield Text("Head output (added to the residual stream)", "heading")
    filename = f"head output {mix_place(made, trace)} {trace.model}"
    yield Figure.of(mix_figure, answer, filename, below=[Text(_output_words(made))])


def _check_words(cell: CellBreakdown) -> str:
    score = cell.score
    weight, own = score.weights[cell.key_position], score.model_weights[cell.key_position]
    line = (
        f"Weight by hand **{weight:.6f}**, in the attention map **{own:.6f}**; "
        f"largest difference in the row **{digits(score.max_difference, 2)}**."
    )
    if score.projection_difference is None:
        return line
    what = "the lengths of the vectors" if score.positions == "rotated" else "query and key"
    difference = digits(score.projection_difference, 2)
    return f"{line} Largest difference from {what} that the model multiplied: **{difference}**."


def _remarks_on(score: ScoreBreakdown) -> list[str]:
    remarks = [POSITIONS[score.positions]] if score.positions in POSITIONS else []
    if score.query_factor != 1:
        remarks.append(f"This family multiplies the query with {digits(score.query_factor)} before the product.")
    if score.sink is not None:
        remarks.append(SINK.format(score=digits(score.sink), share=digits(max(0.0, 1 - float(score.weights.sum())))))
    if score.is_remainder:
        remarks.append(REMAINDER.format(name=score.added_name))
    return remarks


def _output_words(cell: CellBreakdown) -> str:
    mix = cell.output
    if mix.output_difference is None or mix.mix_difference is None:
        return "This family applies `W_o` as a bare tensor, so its output cannot be compared here."
    rest = f", plus what comes from outside the heads (length {mix.rest_norm:.3f})" if mix.rest_norm else ""
    return (
        f"The outputs of all heads, plus the bias{rest}, add up to the output of the layer's attention; largest "
        f"difference from the model's own **{digits(mix.output_difference, 2)}**."
    )


def _norms_code(opened: Opened, parts: HeadProjections) -> str:
    lines = "".join(
        f'{_matrix(parts, block)}print("{SYMBOLS[block]}", heads.flatten(1).norm(dim=1))   # layer {parts.layer}\n'
        for block in BLOCKS
    )
    return f"{model_lines(opened)}\n{PARAMETERS}\n{lines}"


def _products_code(opened: Opened, tokens: Tokens, parts: HeadProjections, block: Block) -> str:
    """Lines for one product that is cut, and one product per head."""
    blocks = len(parts.blocks(block))
    return (
        f"{model_lines(opened, tokens)}\n{PARAMETERS}{_recorded(parts, (block,))}{_entered(opened, parts, block)}"
        f"one = (x @ W.T + b).view(len(x), {blocks}, -1).transpose(0, 1)\n"
        f"many = torch.stack([x @ W_h.T + b_h for W_h, b_h in zip(W.chunk({blocks}), b.chunk({blocks}))])\n"
        "print(one)\nprint((one - many).abs().max())\n"
    )


def _cell_code(opened: Opened, trace: Trace, cell: CellBreakdown, parts: HeadProjections) -> str:
    """Lines for one row of weights, and the head's output for this query.

    If query and key are rotated, or the family adds terms that only its own code computes, the row is the model's own.
    """
    score, query, key = cell.score, cell.query_position, cell.key_position
    by_hand = score.positions == "as projected" and not score.is_remainder
    blocks: tuple[Block, ...] = MULTIPLIED if by_hand else ("value",)
    lines = f"{model_lines(opened, trace.tokens)}{PARAMETERS}{_recorded(parts, blocks)}"
    for block in blocks:
        head = cell.head if block == "query" else cell.key_head
        bias = f"b.view({len(parts.blocks(block))}, -1)[{head}]"
        lines += f"{_entered(opened, parts, block)}{block[0]} = x @ heads[{head}].T + {bias}   # of every token\n"
    if by_hand:
        factor = "" if score.query_factor == 1 else f" * {score.query_factor:.8g}"
        weights = "scores.softmax(-1)"
        if score.sink is not None:
            weights = f"torch.cat((scores, torch.tensor([{score.sink:.8g}]))).softmax(-1)[:-1]   # without the sink"
        lines += f"scores = k @ q[{query}]{factor} * {score.scaling:.8g}\n{_added(cell)}weights = {weights}\n"
    else:
        lines += (
            'model.set_attn_implementation("eager")   # which hands out its weights\n'
            "with torch.inference_mode():\n    outputs = model(**inputs, output_attentions=True)\n"
            f"weights = outputs.attentions[{cell.layer}][0, {cell.head}, {query}]\n"
        )
    return (
        f"{lines}print(weights, weights[{key}])   # weights[{key}] = {float(score.weights[key]):.6f}\n"
        f"{_matrix(parts, 'output')}print(heads[{cell.head}] @ (weights @ v))   # the head's output\n"
    )


def _matrix(parts: HeadProjections, block: Block) -> str:
    """Lines that read one matrix as W, with its outputs as rows, and cut it into heads."""
    stored, blocks = parts.stored[block], len(parts.blocks(block))
    note = f"   # {stored.form}" if stored.form != "as stored" else ""
    heads = f"W.reshape({blocks}, -1, W.shape[1])"
    if block == "output":
        whole = f"W[:, :{blocks * parts.output.shape[2]}]" if parts.output_rest.size else "W"
        heads = f"{whole}.unflatten(1, ({blocks}, -1)).transpose(0, 1)"
    return f"W = parameters[{stored.name!r}]{_reading(stored.form, blocks)}{note}\nheads = {heads}\n"


def _reading(form: str, heads: int) -> str:
    """What reads a matrix out of its parameter."""
    if span := re.fullmatch(r"(rows|columns) ([\d,]+) to ([\d,]+) of [\d,]+", form):
        first, last = (int(number.replace(",", "")) for number in span.groups()[1:])
        return f"{'.T' if span[1] == 'columns' else ''}[{first} : {last + 1}]"
    if (third := {"first": 0, "second": 1, "last": 2}.get(form.split()[0])) is not None:
        return f".unflatten(0, ({heads}, 3, -1))[:, {third}].flatten(0, 1)"
    return READINGS.get(form, ".squeeze(-1)")


def _recorded(parts: HeadProjections, blocks: Sequence[Block]) -> str:
    hooks = "".join(
        f"model.get_submodule({parts.stored[block].name.rpartition('.')[0]!r}).register_forward_hook(\n"
        f"    lambda module, args, output: entered.setdefault({block!r}, []).append(args[0])\n)\n"
        for block in blocks
    )
    return f"entered = {{}}\n{hooks}with torch.inference_mode():\n    model(**inputs)\n"


def _entered(opened: Opened, parts: HeadProjections, block: Block) -> str:
    """Lines that read a matrix as W, its bias as b and its input as x."""
    call = parts.shared_with.index(parts.layer)  # of the module, if layers share it
    x = f"x = entered[{block!r}][{call}].reshape(-1, W.shape[1])\n"
    return f"{_matrix(parts, block)}b = {_bias(opened, parts, block)}\n{x}"


def _bias(opened: Opened, parts: HeadProjections, block: Block) -> str:
    own, stored = parts.bias(block), parts.stored[block]
    if own is None:
        return "torch.zeros(len(W))"
    flat, name = own.reshape(-1), f"{stored.name.rpartition('.')[0]}.bias"
    tensors = {each: tensor for each, tensor in opened.loaded.model.named_parameters() if tensor.ndim == 1}
    cut = _reading(stored.form, 1).removeprefix(".T")
    if name in tensors and (len(tensors[name]) == len(flat) or cut.startswith("[")):
        return f"parameters[{name!r}]{'' if len(tensors[name]) == len(flat) else cut}"
    for other, tensor in tensors.items():
        if len(tensor) == len(flat) and np.array_equal(tensor.detach().float().cpu().numpy(), flat):
            return f"parameters[{other!r}]"
    return f"torch.tensor({flat.tolist()})"


def _added(cell: CellBreakdown) -> str:
    """Lines for the terms added to the scores of the row."""
    score, count, lines = cell.score, len(cell.score.scores), ""
    if score.added_name == "relative position":
        lines = (
            'table = next(each for each in model.modules() if getattr(each, "has_relative_attention_bias", False))\n'
            f"scores = scores + table.compute_bias({count}, {count})[0, {cell.head}, {cell.query_position}]\n"
        )
    hidden = np.flatnonzero(np.isneginf(score.scores)).tolist()
    return f"{lines}scores[{hidden}] = -torch.inf   # masked\n" if hidden else lines


VIEWS = (View("Matrices", (WEIGHTS,), matrices_view), View("One cell", (), cell_view, runs=True))
