"""Encoder or decoder: the drawing shows the design, with the norms, masks and outputs of a real run.

Covers `bertviz_core/figures/architecture/designs.py`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import pytest
import torch
import transformers
from transformers import AutoConfig

from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.design import CROSS_ATTENTION, design_of
from bertviz_core.architecture.layer_flow import layer_paths
from bertviz_core.architecture.results import Design, Window
from bertviz_core.figures.architecture.designs import CELL, EXAMPLES, design_figure, encoder_and_decoder
from bertviz_core.figures.base.style import THEMES, Theme
from bertviz_core.models.catalog import find
from bertviz_core.models.skeleton import OTHER_CLASSES, TASK_CLASSES, build_skeleton
from bertviz_core.parameters.ledger import module_ledger
from tests.helpers.drawings import assert_inside_and_legible, plain
from tests.helpers.dry_models import eager
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED, ledger
from tests.helpers.model_faces import config_of

LIGHT = THEMES["light"]

ENCODER = Design("encoder", 5, 0, cross_attention=False, mixes=False, local_layers=0)
BOTH = Design("encoder-decoder", 5, 3, cross_attention=True, mixes=False, local_layers=0)
WRITER = Design("decoder", 0, 5, cross_attention=False, mixes=False, local_layers=0)
DESIGNS = (ENCODER, BOTH, WRITER, replace(WRITER, cross_attention=True))


def drawing(name: str = "tiny", design: Design = ENCODER, theme: Theme = LIGHT) -> go.Figure:
    return encoder_and_decoder(design, name, theme)


def middles(figure: go.Figure, words: str) -> list[float]:
    """Horizontal positions of words."""
    plain = [(note.x, re.sub(r"</?b>", "", note.text).replace("<br>", " ")) for note in figure.layout.annotations]
    return [x for x, text in plain if text == words]


def marked(figure: go.Figure) -> tuple[float, float]:
    """Left and right end of the background of the model's own design."""
    (ground,) = [shape for shape in figure.layout.shapes if shape.fillcolor == LIGHT.neutral]
    x = [float(each) for each in re.findall(r"[ML] (-?[\d.]+),", ground.path)]
    return min(x), max(x)


@pytest.mark.sample(1)
@pytest.mark.parametrize("theme", [LIGHT, THEMES["dark"]], ids=["light", "dark"])
def test_everything_drawn_lies_inside_and_text_has_contrast(theme: Theme) -> None:
    for design in DESIGNS:
        assert_inside_and_legible(drawing(design=design, theme=theme), theme)


def test_a_name_is_shown_as_text() -> None:
    assert drawing(ACTIVE).layout.title.text == f"{ACTIVE_ESCAPED} is an encoder-only model"


@pytest.mark.sample(2)
@pytest.mark.parametrize("design", DESIGNS, ids=["encoder", "both", "decoder", "decoder that reads"])
def test_the_models_own_design_is_marked_and_it_alone_carries_counts(design: Design) -> None:
    figure = drawing(design=design)
    left, right = marked(figure)
    (named,) = [note.x for note in figure.layout.annotations if "this model" in (note.text or "")]
    assert left < named < right
    counts = {5: design.encoder_layers == 5 or design.decoder_layers == 5, 3: design.decoder_layers == 3}
    for count, there in counts.items():
        assert len(middles(figure, f"{count} ×")) == there
        assert all(left < x < right for x in middles(figure, f"{count} ×"))
    assert not any(left < x < right for x in middles(figure, "N ×"))
    assert len(middles(figure, "N ×")) + sum(counts.values()) == 4


def test_a_decoder_alone_has_a_causal_mask_and_no_cross_attention_unless_it_has_it() -> None:
    causal = "each token sees itself and those before"
    for design, crosses in ((WRITER, 0), (replace(WRITER, cross_attention=True), 1)):
        figure = drawing(design=design)
        left, right = marked(figure)
        inside = ("cross-attention", "masked self-attention", "self-attention", causal)
        found = [sum(left < x < right for x in middles(figure, text)) for text in inside]
        assert found == [crosses, 1, 0, 1]
        assert figure.layout.title.text == "tiny is a decoder-only model"


def test_an_encoder_and_a_decoder_are_joined_by_cross_attention() -> None:
    figure = drawing(design=BOTH)
    left, right = marked(figure)
    for text in ("self-attention", "masked self-attention", "cross-attention"):
        assert sum(left < x < right for x in middles(figure, text)) == 1
    assert figure.layout.title.text == "tiny is an encoder-decoder model"


@pytest.mark.parametrize(
    ("design", "seen", "hidden"), [(ENCODER, 36 + 36 + 21 + 36 + 21, 30), (DESIGNS[3], 36 + 36 + 21 + 36 + 21, 30)]
)
def test_the_masks_show_who_sees_whom(design: Design, seen: int, hidden: int) -> None:
    squares = [shape for shape in drawing(design=design).layout.shapes if "Q" not in shape.path and shape.fillcolor]
    cells = dict.fromkeys((LIGHT.colours["attention"], LIGHT.grid, LIGHT.neutral), 0)
    for shape in squares:
        cells[shape.fillcolor] += shape.path.count("M")
    assert cells == {LIGHT.colours["attention"]: seen, LIGHT.grid: hidden, LIGHT.neutral: 1}


def masks(figure: go.Figure, inside: tuple[float, float]) -> list[tuple[set[tuple[int, int]], float]]:
    """(visible cells, top) of every small map between two horizontal positions, from left to right."""
    drawn: dict[float, tuple[set[tuple[int, int]], float]] = {}
    for shape in figure.layout.shapes:
        if shape.fillcolor != LIGHT.colours["attention"] or "Q" in shape.path:
            continue
        corners = [(float(x), float(y)) for x, y in re.findall(r"M (-?[\d.]+),(-?[\d.]+)", shape.path)]
        left, top = min(x for x, _ in corners), min(y for _, y in corners)
        if inside[0] < left < inside[1]:
            drawn[left] = {(round((y - top) / CELL), round((x - left) / CELL)) for x, y in corners}, top
    return [drawn[left] for left in sorted(drawn)]


def cells(before: int, after: int) -> set[tuple[int, int]]:
    return {(row, column) for row in range(6) for column in range(6) if -before <= column - row <= after}


@pytest.mark.parametrize(
    ("design", "seen", "words"),
    [
        (
            replace(ENCODER, local_layers=2, window=Window(64, 64)),
            [cells(6, 6), cells(2, 2)],
            ("3 layers: each token sees every token", "2 layers: 64 tokens to each side"),
        ),
        (
            replace(ENCODER, local_layers=5, window=Window(1, 1)),
            [cells(1, 1)],
            ("each token sees 1 token to each side",),
        ),
        (
            replace(WRITER, local_layers=1, window=Window(3, 0)),
            [cells(6, 0), cells(3, 0)],
            ("4 layers: each token sees itself and those before", "1 layer: 3 tokens before it"),
        ),
        (ENCODER, [cells(6, 6)], ("each token sees every token",)),
    ],
    ids=["both", "local alone", "causal", "global alone"],
)
def test_masks_and_their_words_are_those_of_the_layers(
    design: Design, seen: list[set[tuple[int, int]]], words: tuple[str, ...]
) -> None:
    figure = drawing(design=design)
    assert [each for each, _ in masks(figure, marked(figure))] == seen
    for each in words:
        assert [x for x in middles(figure, each) if marked(figure)[0] < x < marked(figure)[1]]


@pytest.mark.sample(14)
@pytest.mark.parametrize("order", ["post-norm", "pre-norm", "norms on both sides", ""])
@pytest.mark.parametrize("design", DESIGNS, ids=["encoder", "both", "decoder", "decoder that reads"])
def test_all_masks_stand_at_one_height_below_all_stacks(design: Design, order: Any) -> None:
    figure = drawing(
        design=replace(design, order=order, encoder_norm=True, decoder_norm=True, pooler=True, head="head")
    )
    tops = {top for _, top in masks(figure, (0, 9999))}
    assert len(tops) == 1
    boxes = ("task head", "language model head", "head", "pooler")
    heads = [note.y for note in figure.layout.annotations if re.sub(r"</?b>", "", note.text or "") in boxes]
    assert max(heads) < tops.pop()


def test_norms_and_outputs_are_those_of_the_design() -> None:
    head = {"head": "masked-LM head", "output": "a score for every word"}
    pre = replace(ENCODER, order="pre-norm", encoder_norm=True, **head)
    post = replace(ENCODER, order="post-norm", pooler=True, output="a vector per token and one for the text")
    for design, numbers in ((pre, (3, 0, 0, 1)), (post, (0, 2, 1, 0)), (ENCODER, (0, 0, 0, 0))):
        figure = drawing(design=design)
        left, right = marked(figure)
        labels = ("norm", "add &amp; norm", "pooler", "masked-LM head")
        assert tuple(sum(left < x < right for x in middles(figure, each)) for each in labels) == numbers
        shown = " ".join(note.text or "" for note in figure.layout.annotations if left < note.x < right)
        assert design.output in shown.replace("<br>", " ")
        assert design.output in design_figure(design, ledger("tiny")).caption


def test_a_model_without_attention_is_not_drawn_with_it() -> None:
    for design in (ENCODER, WRITER):
        figure = drawing(design=replace(design, mixes=True))
        left, right = marked(figure)
        assert [left < x < right for x in middles(figure, "token mixing")] == [True]
        assert not any(
            left < x < right for words in ("self-", "masked self-") for x in middles(figure, f"{words}attention")
        )


def designed(model_type: str, config: dict[str, Any], task: str = "base") -> Design:
    """The design of a class, as on the page."""
    model = build_skeleton(model_type, config, task)
    return design_of(model, module_ledger(model_type, model), model_facts(model_type, config, task))


def real(model_type: str, task: str = "base") -> Any:
    """The class with random weights and stepwise attention."""
    torch.manual_seed(0)
    made: Any = getattr(transformers, {**TASK_CLASSES, **OTHER_CLASSES}[task])
    return eager(made.from_config(AutoConfig.for_model(**config_of(model_type))).eval())


def run(model: Any, seq: int = 6, **options: Any) -> Any:
    ids = torch.arange(5, 5 + seq)[None]
    options |= {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        return model(input_ids=ids, **options)


def entered(model: Any) -> list[str]:
    """Paths of the modules with their own parameters, in the order of a real run."""
    order: dict[str, None] = {}
    for path, module in model.named_modules():
        if next(module.parameters(recurse=False), None) is not None:
            module.register_forward_pre_hook(lambda *_, path=path: order.setdefault(path))
    run(model)
    return list(order)


def order_of_the_run(model: Any, paths: Sequence[str], layers: Sequence[str], within: str) -> list[str]:
    """Norms and blocks of one layer in the order of a real run, and a norm after the last layer of its stack.

    Args:
        model: a real model.
        paths: modules of the layer.
        layers: modules of all layers of its stack.
        within: prefix of the paths of its stack.
    """
    order, found = entered(model), []
    inside = [path for path in order if path.startswith(tuple(f"{each}." for each in paths))]
    for path in inside:
        name = path.removeprefix(next(each for each in paths if path.startswith(f"{each}.")))
        if is_norm(model, path):
            found.append("norm")
            continue
        word = "attention" if "att" in name.lower() else "feed-forward"
        word = "cross-attention" if CROSS_ATTENTION.search(name) else word
        found += [word] if found[-1:] != [word] else []
    last = max(place for place, path in enumerate(order) if path.startswith(tuple(f"{each}." for each in layers)))
    behind = [path for path in order[last + 1 :] if path.startswith(within) and is_norm(model, path)]
    return found + ["norm"] * len(behind)


def is_norm(model: Any, path: str) -> bool:
    return "norm" in type(model.get_submodule(path)).__name__.lower()


BLOCKS = {
    "norm": "norm",
    "add &amp; norm": "norm",
    "self-attention": "attention",
    "masked self-attention": "attention",
    "cross-attention": "cross-attention",
    "feed-forward": "feed-forward",
}


def drawn_stacks(figure: go.Figure) -> list[list[str]]:
    """Norms and blocks of the marked design from top to bottom, stack by stack from left to right."""
    left, right = marked(figure)
    notes = [(note.x, note.y, plain(note.text)) for note in figure.layout.annotations if note.text]
    boxes = [each for each in notes if left < each[0] < right]
    middles = sorted(x for x, _, text in boxes if text == "embeddings")
    stacks: list[list[str]] = [[] for _ in middles]
    for x, _, text in sorted(boxes, key=lambda each: each[1]):
        if text in BLOCKS:
            stacks[min(range(len(middles)), key=lambda place: abs(middles[place] - x))].append(BLOCKS[text])
    return stacks


@pytest.mark.parametrize(
    "model_type",
    [
        *("albert", "bart", "bert", "deberta-v2", "distilbert", "esm", "gemma2", "gpt2", "llama", "mbart"),
        *("modernbert", "openai-gpt", "opt", "pegasus", "roberta-prelayernorm", "t5", "xlm-roberta-xl", "xlnet"),
    ],
)
@pytest.mark.sample(3)
def test_drawn_norms_and_blocks_are_those_that_a_real_run_enters(model_type: str) -> None:
    config, model = config_of(model_type), real(model_type)
    figure = drawing(design=designed(model_type, config))
    whole = module_ledger(model_type, model)
    stacks = [layer_paths(whole, whole.model_type, stack) for stack in ("encoder", "decoder")]
    both = model.config.is_encoder_decoder
    expected = []
    for stack, layers in zip(("encoder", "decoder"), stacks if both else [stacks[0] or stacks[1]], strict=False):
        middle = list(layers.values())[min(1, len(layers) - 1)]  # ModernBERT's layer 0 has one norm less
        paths = [path for each in layers.values() for path in each]
        expected.append(order_of_the_run(model, middle, paths, f"{stack}." if both else ""))
    assert drawn_stacks(figure) == expected


def seen_by(maps: Sequence[torch.Tensor]) -> list[set[tuple[int, int]]]:
    """Non-zero cells in the attention of some layers, without duplicates, the widest first."""
    found = [{(int(row), int(column)) for row, column in (each[0].sum(0) > 0).nonzero()} for each in maps]
    different = [each for place, each in enumerate(found) if each not in found[:place]]
    return sorted(different, key=len, reverse=True)


@pytest.mark.parametrize(
    "model_type",
    ["bart", "bert", "deberta-v2", "gemma2", "gpt2", "llama", "mistral", "modernbert", "t5", "xlm", "xlnet"],
)
@pytest.mark.sample(2)
def test_drawn_masks_are_the_cells_of_real_attention_that_are_not_0(model_type: str) -> None:
    model = real(model_type)
    output = run(model, seq=6, output_attentions=True)
    maps = ("encoder_attentions", "decoder_attentions", "cross_attentions")
    stacks = [output[each] for each in (maps if model.config.is_encoder_decoder else ("attentions",))]
    figure = drawing(design=designed(model_type, config_of(model_type)))
    assert [each for each, _ in masks(figure, marked(figure))] == [each for maps in stacks for each in seen_by(maps)]


def what_comes_out(model: Any, output: Any, seq: int) -> str:
    """Content of an output, by the names and shapes of its tensors."""
    if "start_logits" in output:
        return "start and end of a span"
    if "logits" not in output:
        pooled = output.get("pooler_output") is not None
        return "a vector per token and one for the text" if pooled else "a vector per token"
    shape, config = tuple(output.logits.shape), model.config
    if shape == (1, seq, config.vocab_size):
        return "the next token" if ends_unseen(model) else "a score for every word"
    return {(1, 2): "labels of the text", (1, seq, 2): "labels of every token"}[shape]


def ends_unseen(model: Any) -> bool:
    """Whether the first position's scores are independent of the last token."""
    first = torch.arange(5, 11)[None]
    second = first.clone()
    second[0, -1] = 20
    key = "decoder_input_ids" if model.config.is_encoder_decoder else "input_ids"
    with torch.no_grad():
        one, other = (model(**{"input_ids": first, key: ids}).logits[0, 0] for ids in (first, second))
    return torch.equal(one, other)


@pytest.mark.parametrize(
    ("model_type", "task"),
    [
        *((name, "base") for name in ("bert", "distilbert", "gpt2", "modernbert", "t5")),
        *((name, "masked-lm") for name in ("albert", "bert", "modernbert", "xlm")),
        *((name, "sequence-classification") for name in ("bert", "distilbert", "modernbert", "xlnet")),
        *((name, "token-classification") for name in ("bert", "deberta-v2")),
        *((name, "question-answering") for name in ("electra", "roberta")),
        *(("gpt2", "causal-lm"), ("llama", "causal-lm"), ("t5", "seq2seq-lm"), ("bart", "seq2seq-lm")),
    ],
)
@pytest.mark.sample(1)
def test_the_drawn_output_is_what_a_real_run_gives(model_type: str, task: str) -> None:
    model, seq = real(model_type, task), 6
    design = designed(model_type, config_of(model_type), task)
    output = run(model, seq)
    assert design.output == what_comes_out(model, output, seq)
    figure = drawing(design=design)
    left, right = marked(figure)
    shown = [plain(note.text) for note in figure.layout.annotations if note.text and left < note.x < right]
    assert design.output in shown
    assert ("head" in " ".join(shown)) is (task != "base")
    assert shown.count("pooler") == pooled(model, output, seq)


def pooled(model: Any, output: Any, seq: int) -> bool:
    """Whether the output changes with the weights of a pooler."""
    poolers = [module for path, module in model.named_modules() if path.rpartition(".")[2] == "pooler"]
    with torch.no_grad():
        for weight in (weight for module in poolers for weight in module.parameters()):
            weight.add_(1)
    again = run(model, seq)
    return any(not torch.equal(output[key], again[key]) for key in output if isinstance(output[key], torch.Tensor))


@pytest.mark.slow
def test_the_designs_beside_are_those_of_bert_t5_and_gpt2() -> None:
    entry = find("bert-base-uncased")
    assert entry is not None
    bert = designed("bert", dict(entry.config), "masked-lm")
    assert replace(EXAMPLES["encoder"], head=bert.head, output=bert.output, encoder_layers=12) == bert
    for model_type, task in (("t5", "seq2seq-lm"), ("gpt2", "causal-lm")):
        own = designed(model_type, AutoConfig.for_model(model_type).to_dict(), task)
        assert EXAMPLES[own.kind] == replace(own, encoder_layers=0, decoder_layers=0)
