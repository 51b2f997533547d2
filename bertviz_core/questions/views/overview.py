"""The page Overview: what a model is, at a glance."""

from collections.abc import Iterator, Sequence

from bertviz_core.architecture.sizes import is_causal
from bertviz_core.figures.architecture.layers import stack_figure
from bertviz_core.parameters.results import Ledger
from bertviz_core.questions.models.architecture import architecture, parameters
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.view import (
    Ask,
    Beside,
    Figure,
    Folded,
    Metric,
    Metrics,
    PageLinks,
    Part,
    Section,
    Text,
    View,
)
from bertviz_core.questions.views.architecture import STACK_MADE, stack_lines
from bertviz_core.questions.views.parameters import count_remarks
from bertviz_core.text import bytes_text, count, escape_markdown

BERT_IS_FOR = (
    "BERT reads a whole text and gives each token a vector that depends on all the others. With them a text is "
    "searched for, classified, tagged, or asked a question."
)
DECODER_IS_FOR = (
    "This model is a decoder: it reads a text from left to right, and a token's vector depends on that token and those "
    "before it. BERT, an encoder, gives each token a vector that depends on all the others."
)
BERT_IN_FIVE = (
    "BERT is a **bidirectional encoder**: every token attends to every other token, to its left and to its right.",
    "It is **auto-encoding**: in training some tokens are hidden behind `[MASK]`, and the model restores them "
    "from both sides.",
    "It is the **encoder half of the transformer** (Vaswani et al. 2017; Devlin et al. 2019): it reads a text whole "
    "and writes nothing.",
    "A text begins with `[CLS]`, whose last vector stands for the whole in classification, and every sequence ends "
    "with `[SEP]`.",
    "It takes **one sequence or two**: a pair is one input, the second sequence behind the first `[SEP]` with a "
    "token type of its own where the family has token types.",
)
WAYS, DEEPER = ("journey", "tokens", "attention", "predictions", "words"), ("parameters", "architecture")
"""Pages that show what the model does with the text, and pages with more of the model."""


def about_overview(opened: Opened, ask: Ask, _: Options) -> tuple[str, Sequence[Part]]:
    """Family and class of the model, and what is to be known of its counts."""
    answer = ask(architecture, Options())
    model = answer.result
    own = model.config_class in ("", model.architecture)
    named = "" if own else f", named {model.config_class} by its config"
    return f"{model.title}, class {model.architecture}{named}", [count_remarks((opened,), answer.notices)]


def overview_view(opened: Opened, ask: Ask, _: Options, start: bool = True) -> Iterator[Part]:
    """The stack of the model beside its sizes; `start` says whether what it does with a text stands below."""
    answer, ledger = ask(architecture, Options()), ask(parameters, Options()).result
    figure = Figure.of(
        stack_figure,
        answer,
        f"stack {opened.name}",
        explanation=STACK_MADE,
        code=stack_lines(opened, ledger),
        formats={"share": "percent"},
    )
    yield Beside(figure, Section((), card))
    if start:
        yield PageLinks(WAYS, "overview_ways", "What the model does with the text")


def card(opened: Opened, ask: Ask, _: Options) -> Iterator[Part]:
    """Sizes of the model, what BERT is, and what this model has of it."""
    model, ledger = ask(architecture, Options()).result, ask(parameters, Options()).result
    nbytes = f"{ledger.nbytes:,} bytes of parameters in their own formats."
    yield Text(DECODER_IS_FOR if is_causal(model.facts) else BERT_IS_FOR)
    yield Metrics.of(
        Metric("Parameters", count(ledger.total), "Trainable numbers; tied ones are counted once."),
        Metric("Layers", count(model.num_hidden_layers)),
        Metric("Heads", count(model.num_attention_heads), "Attention heads in each layer."),
        Metric("Hidden size", count(model.hidden_size), "Numbers in a token's vector between layers."),
        Metric("Vocabulary", count(model.vocab_size)),
        Metric("Size", bytes_text(ledger.nbytes), nbytes),
    )
    yield Text(largest_part(ledger), "caption")
    yield PageLinks(DEEPER, "overview_deeper", "More of this model")
    beside = "" if model.title == "BERT" else f", for comparison with {escape_markdown(model.title)}"
    yield Text(f"**What BERT is**{beside}")
    yield Text("\n".join(f"- {line}" for line in BERT_IN_FIVE))
    has = [
        f"**{escape_markdown(each.name)}:** {escape_markdown(each.answer)}  \n"
        f":small[:gray[{escape_markdown(each.note)}]]"
        for each in model.capabilities
    ]
    yield Folded("What this model has", "overview_has", lambda: map(Text, has))


def largest_part(ledger: Ledger) -> str:
    """Where most parameters are: in embeddings, pooler or task head, or in one kind of block of all layers."""
    parts = {each.name: each.total for each in ledger.components}
    parts |= {"attention": sum(each.attention for each in ledger.layers)}
    parts |= {"feed-forward blocks": sum(each.feed_forward for each in ledger.layers)}
    parts |= {"rest of the layers": sum(each.total - each.attention - each.feed_forward for each in ledger.layers)}
    outer = [name for name in parts if name not in {each.component for each in ledger.layers}]
    name = max(outer, key=lambda each: parts[each])
    return f"Of the parameters {parts[name] / ledger.total:.1%} are in the {name}, more than in any other part."


VIEWS = (View("Overview", (), overview_view),)
