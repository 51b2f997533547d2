"""Lines of Python that reproduce the numbers of the heads page for the chosen model; they run as they are."""

import re

import numpy as np

from bertviz_core.heads.results import BLOCKS, Block, CellBreakdown, HeadProjections
from bertviz_core.questions.report.transformers_lines import model_lines
from bertviz_core.trace.results import Tokens, Trace
from ui.cache import models
from ui.cache.shared_model import SharedModel

SHORT: dict[Block, str] = {"query": "q", "key": "k", "value": "v", "output": "o"}


def matrix_code(name: str, parts: HeadProjections, block: Block) -> str:
    """Lines for one matrix and its cut."""
    loading = model_lines(SharedModel(name))
    return f"{loading}\n{_parameters()}{_matrix(parts, block)}{_cut(parts, block)}print(heads.shape, heads)\n"


def norms_code(name: str, parts: HeadProjections) -> str:
    """Lines for the norms of all heads of a layer."""
    lines = [model_lines(SharedModel(name)), _parameters()]
    for block in BLOCKS:
        lines += [_matrix(parts, block), _cut(parts, block)]
        lines.append(f'print("W_{SHORT[block]}", heads.flatten(1).norm(dim=1))   # layer {parts.layer}\n')
    return "\n".join([*lines[:2], "".join(lines[2:])])


def products_code(name: str, tokens: Tokens, parts: HeadProjections, block: Block) -> str:
    """Lines for one product that is cut, and one product per head."""
    blocks = len(parts.blocks(block))
    return (
        f"{model_lines(SharedModel(name), tokens)}\n{_parameters()}{_matrix(parts, block)}{_bias(parts, block)}"
        f"{_heard(parts, (block,))}"
        f"x = entered[{block!r}][{_call(parts)}].reshape(-1, W.shape[1])\n"
        f"one = (x @ W.T + b).view(len(x), {blocks}, -1).transpose(0, 1)\n"
        f"many = torch.stack([x @ W_h.T + b_h for W_h, b_h in zip(W.chunk({blocks}), b.chunk({blocks}))])\n"
        "print(one)\nprint((one - many).abs().max())\n"
    )


def cell_code(name: str, trace: Trace, cell: CellBreakdown, parts: HeadProjections) -> str:
    """Lines for one row of weights, and the head's output for this query.

    If query and key are rotated, or the family adds terms that only its own code computes, the row is the model's own.
    """
    score, query, key = cell.score, cell.query_position, cell.key_position
    by_hand = score.positions == "as projected" and not score.is_remainder
    lines = [model_lines(SharedModel(name), trace.tokens), "", _parameters()]
    blocks: tuple[Block, ...] = ("query", "key", "value") if by_hand else ("value",)
    lines.append(_heard(parts, blocks))
    for block in blocks:
        head = cell.head if block == "query" else cell.key_head
        short = SHORT[block]
        lines.append(f"{_matrix(parts, block)}{_bias(parts, block)}{_cut(parts, block)}")
        lines.append(f"x = entered[{block!r}][{_call(parts)}].reshape(-1, W.shape[1])\n")
        bias = f"b.view({len(parts.blocks(block))}, -1)[{head}]"
        lines.append(f"{short} = x @ heads[{head}].T + {bias}   # of every token\n")
    if by_hand:
        factor = "" if score.query_factor == 1 else f" * {score.query_factor:.8g}"
        lines.append(f"scores = k @ q[{query}]{factor} * {score.scaling:.8g}\n{_added(cell)}")
        lines.append("weights = scores.softmax(-1)\n")
    else:
        lines.append('model.set_attn_implementation("eager")   # which hands out its weights\n')
        lines.append("with torch.inference_mode():\n    outputs = model(**inputs, output_attentions=True)\n")
        lines.append(f"weights = outputs.attentions[{cell.layer}][0, {cell.head}, {query}]\n")
    weight = float(score.weights[key])
    lines.append(f"print(weights, weights[{key}])   # weights[{key}] = {weight:.6f}\n")
    lines.append(f"{_matrix(parts, 'output')}{_cut(parts, 'output')}")
    lines.append(f"print(heads[{cell.head}] @ (weights @ v))   # the head's output\n")
    return "".join(lines)


def _parameters() -> str:
    return "parameters = {name: each.detach() for name, each in model.named_parameters()}\n"


def _matrix(parts: HeadProjections, block: Block) -> str:
    """Lines that read one matrix as W, with its outputs as rows."""
    stored = parts.stored[block]
    read, rest = _form(stored.form)
    known = read is not None
    note = f"   # {stored.form}" if stored.form != "as stored" else ""
    lines = f"W = parameters[{stored.name!r}]{read or ''}{note}\n"
    if not known:
        heads = len(parts.blocks(block))
        third = {"first": 0, "second": 1, "last": 2}.get(stored.form.split()[0])
        if third is not None:
            return f"{lines}W = W.view({heads}, 3, -1, W.shape[1])[:, {third}].flatten(0, 1)\n"
        if stored.form == "heads side by side":
            return f"{lines}W = W.flatten(1)\n"
        if stored.form == "heads side by side, transposed":
            return f"{lines}W = W.flatten(1).T\n"
        return f"{lines}W = W.squeeze(-1)\n"
    return lines + rest


def _form(form: str) -> tuple[str | None, str]:
    """Suffix that reads a matrix out of its parameter, and further lines; None if it needs a line of its own."""
    if form == "as stored":
        return "", ""
    if form == "transposed":
        return ".T", ""
    span = re.fullmatch(r"(rows|columns) ([\d,]+) to ([\d,]+) of [\d,]+", form)
    if span is None:
        return None, ""
    first, last = (int(number.replace(",", "")) for number in span.groups()[1:])
    return f"{'.T' if span[1] == 'columns' else ''}[{first} : {last + 1}]", ""


def _bias(parts: HeadProjections, block: Block) -> str:
    """A line that reads the bias of a matrix as b."""
    own = parts.bias(block)
    if own is None:
        return "b = torch.zeros(len(W))\n"
    name = f"{parts.stored[block].name.rpartition('.')[0]}.bias"
    tensors = dict(models.loaded(parts.model).model.named_parameters())
    flat = own.reshape(-1)
    if name in tensors and len(tensors[name]) == len(flat):
        return f"b = parameters[{name!r}]\n"
    span = _form(parts.stored[block].form)[0]
    if name in tensors and span:
        return f"b = parameters[{name!r}]{span.removeprefix('.T')}\n"
    for other, tensor in tensors.items():
        if (
            tensor.ndim == 1
            and len(tensor) == len(flat)
            and np.array_equal(tensor.detach().float().cpu().numpy(), flat)
        ):
            return f"b = parameters[{other!r}]\n"
    return f"b = torch.tensor({flat.tolist()})\n"


def _cut(parts: HeadProjections, block: Block) -> str:
    """A line that cuts W into heads."""
    blocks = len(parts.blocks(block))
    if block != "output":
        return f"heads = W.reshape({blocks}, -1, W.shape[1])\n"
    columns = blocks * parts.output.shape[2]
    whole = "W" if not parts.output_rest.size else f"W[:, :{columns}]"
    return f"heads = {whole}.unflatten(1, ({blocks}, -1)).transpose(0, 1)\n"


def _heard(parts: HeadProjections, blocks: tuple[Block, ...]) -> str:
    """Lines that run the model and record the inputs of the projections."""
    lines = ["entered = {}\n"]
    for block in blocks:
        module = parts.stored[block].name.rpartition(".")[0]
        lines.append(
            f"model.get_submodule({module!r}).register_forward_hook(\n"
            f"    lambda module, args, output: entered.setdefault({block!r}, []).append(args[0])\n)\n"
        )
    return "".join([*lines, "with torch.inference_mode():\n    model(**inputs)\n"])


def _call(parts: HeadProjections) -> int:
    """Index of this layer's call of the module, if layers share it."""
    return parts.shared_with.index(parts.layer)


def _added(cell: CellBreakdown) -> str:
    """Lines for the terms added to the scores of the row."""
    score, count = cell.score, len(cell.score.scores)
    lines = ""
    if score.added_name == "relative position":
        lines += (
            'table = next(each for each in model.modules() if getattr(each, "has_relative_attention_bias", False))\n'
            f"scores = scores + table.compute_bias({count}, {count})[0, {cell.head}, {cell.query_position}]\n"
        )
    hidden = np.flatnonzero(np.isneginf(score.scores)).tolist()
    if hidden:
        lines += f"scores[{hidden}] = -torch.inf   # masked\n"
    return lines
