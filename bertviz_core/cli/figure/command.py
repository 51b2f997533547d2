"""What the command `figure` can draw: names, what each shows, which chart of which page it is, and its settings."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from bertviz_core.cli.figure import architecture, attention, checkpoint, heads, parameters, sentences, text
from bertviz_core.cli.figure.files import check_file, file_content, write_file
from bertviz_core.cli.figure.request import Asked, Made
from bertviz_core.cli.options import ModelArgument, TaskOption, app
from bertviz_core.cli.output import table, tell
from bertviz_core.errors import TextError
from bertviz_core.figures.base.caption import caption_of
from bertviz_core.figures.base.style import THEMES as LOOKS
from bertviz_core.text import visible

READING = ("hide_special", "hide_punctuation", "part")


class Entry(NamedTuple):
    """One name."""

    words: str
    make: Callable[[Asked], Made]
    chart: str
    """Key of the chart on its page."""
    settings: tuple[str, ...] = ()
    """Names that --set takes, as the page's address has them."""


NAMES: dict[str, Entry] = {
    "overview": Entry("the stack of the model's blocks", parameters.overview, "overview_stack"),
    "parameters": Entry(
        "the tree of modules by parameters (--form, --depth, --task)", parameters.parameters, "parameters_tree"
    ),
    "layers": Entry("parameters of each layer by part (--task)", parameters.layers, "parameters_layers"),
    "components": Entry("the model as one bar of components (--task)", parameters.components, "parameters_components"),
    "models": Entry("several models side by side, named behind the first", parameters.models, "parameters_compare"),
    "layer": Entry("the way through one layer (--layer, --task), of a text", architecture.layer, "architecture_layer"),
    "cost": Entry("multiply-adds by length, of a text", architecture.cost, "architecture_cost"),
    "memory": Entry("memory of activations", architecture.memory, "architecture_memory", ("holding",)),
    "design": Entry("encoder, decoder or both (--task)", architecture.design, "architecture_encoder"),
    "load-report": Entry("what loads from the file (--task)", checkpoint.report, "checkpoint_report", ("labels",)),
    "task-head": Entry("what a task's head adds (--task)", checkpoint.head, "checkpoint_head", ("labels",)),
    "weights": Entry("one number of every tensor", checkpoint.weights, "checkpoint_weights", ("statistic",)),
    "values": Entry("the values of one tensor", checkpoint.values, "checkpoint_values", ("tensor",)),
    "changes": Entry(
        "how far each tensor moved to another checkpoint", checkpoint.changes, "checkpoint_changes", ("other", "scale")
    ),
    "change": Entry("one tensor in two checkpoints", checkpoint.change, "checkpoint_change", ("other", "changed")),
    "cosines": Entry("two models' hidden states of a text", checkpoint.cosines, "checkpoint_cosines", ("other",)),
    "divergences": Entry(
        "two models' attention on a text", checkpoint.divergences, "checkpoint_divergences", ("other",)
    ),
    "nearest": Entry("rows of the vocabulary nearest to a token's", text.nearest, "tokens_neighbours", ("token",)),
    "input": Entry("what each token's input is made of", text.embedding, "representations_embedding", ("tokens",)),
    "hidden": Entry("hidden states of one entry (--layer, --first, --window)", text.hidden, "representations_values"),
    "norms": Entry(
        "one number per token and layer (--map length, before, input)", text.norms, "representations_change"
    ),
    "similarity": Entry(
        "cosine of every token to every other (--layer)", text.similarity, "representations_similarity", ("tokens",)
    ),
    "paths": Entry("the tokens' paths over the layers", text.paths, "representations_paths", ("tokens",)),
    "pooler": Entry("the first token's vector and the pooler's output", text.pooler, "representations_pooler"),
    "word": Entry("one word in two texts, layer by layer", text.word, "representations_word", ("word",)),
    "matrix": Entry("weights of a projection (--layer, --head)", heads.matrix, "heads_matrix", ("matrix", "cut")),
    "products": Entry("one product beside one per head (--layer)", heads.products, "heads_products", ("product",)),
    "cell": Entry("one cell by hand (--layer, --head)", heads.cell, "heads_cell", ("query", "key")),
    "mix": Entry("what a head hands on (--layer, --head)", heads.mix, "heads_mix", ("query", "key")),
    "heads": Entry("norms of the heads' blocks of all layers", heads.norms, "heads_norms"),
    "atlas": Entry("what all heads look at (--words)", attention.atlas, "attention_atlas", ("weights", *READING)),
    "attention": Entry(
        "what one head looks at (--layer, --head, --words)",
        attention.attention,
        "attention_figure",
        ("weights", *READING),
    ),
    "lines": Entry(
        "the same as lines (--layer, --head, --words)", attention.lines, "attention_figure", ("weights", *READING)
    ),
    "readings": Entry(
        "raw, value-weighted, rollout (--layer, --head, --words)",
        attention.readings,
        "attention_beside_chart",
        READING,
    ),
    "long": Entry(
        "one head of a long text (--layer, --head)", attention.long_text, "attention_long", ("queries", "keys")
    ),
    "sentences": Entry(
        "how alike sentences are (--pooling, --layer)",
        sentences.sentences,
        "sentences_similarity",
        ("measure", "order"),
    ),
    "blocks": Entry("many sentences as blocks (--pooling, --layer)", sentences.blocks, "sentences_blocks"),
    "poolings": Entry("sentences under every pooling and layer", sentences.poolings, "sentences_poolings"),
    "pooling-maps": Entry("the same as small maps", sentences.pooling_maps, "sentences_pooling_maps"),
    "pair": Entry("why two sentences are alike (--pooling, --layer)", sentences.pair, "sentences_pair", ("cells",)),
    "query": Entry(
        "sentences nearest to a query (--pooling, --layer)",
        sentences.query,
        "sentences_query",
        ("query_sentence", "measure"),
    ),
    "map": Entry("sentences in a plane (--pooling, --layer)", sentences.points, "sentences_map", ("placed",)),
    "vectors": Entry(
        "vectors of sentences (--pooling, --layer)", sentences.vectors, "sentences_vectors", ("first_row",)
    ),
}

THEMES = ("light", "dark", "print")
SMALLEST, LARGEST = 200, 4000
TEXT_HELP = "What the model reads: one text, or one sentence after the other; for models their names."
SET_HELP = "A setting by its name in the address of the page; --list names those of each figure. Can be repeated."


def _list_names(wanted: bool) -> None:
    """Print what can be drawn, and end."""
    if wanted:
        rows = [(name, entry.words, " ".join(f"{each}=" for each in entry.settings)) for name, entry in NAMES.items()]
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in table(rows, "lll")))
        raise typer.Exit


def _settings(name: str, given: Sequence[str]) -> dict[str, str]:
    """What --set said.

    Raises:
        TextError: this figure has no such setting.
    """
    found = {}
    for each in given:
        setting, equals, value = each.partition("=")
        if not equals or setting not in NAMES[name].settings:
            known = ", ".join(f"{known}=" for known in NAMES[name].settings) or "none"
            raise TextError(f"The figure {name} has no setting {visible(each[:40])!r}; those it has: {known}.")
        found[setting] = value
    return found


@app.command()
def figure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What is drawn; --list names all there is.")],
    model: ModelArgument,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="File to write: .png, .svg or .html.")],
    texts: Annotated[list[str] | None, typer.Argument(metavar="[TEXT ...]", help=TEXT_HELP)] = None,
    pair: Annotated[str | None, typer.Option("--pair", help="A second text: both become one input.")] = None,
    layer: Annotated[str, typer.Option("--layer", metavar="L", help="Layer; what is the page's by default.")] = "",
    head: Annotated[str, typer.Option("--head", metavar="H", help="Head of the layer, counted from 0.")] = "",
    form: Annotated[str, typer.Option("--form", help="Of the parameters: sunburst, treemap or icicle.")] = "sunburst",
    depth: Annotated[int, typer.Option("--depth", min=1, help="Levels of modules that are drawn.")] = 3,
    first: Annotated[int, typer.Option("--first", min=0, help="First dimension of the hidden states.")] = 0,
    window: Annotated[int, typer.Option("--window", min=0, help="Dimensions drawn; the page's by default.")] = 0,
    measure: Annotated[str, typer.Option("--map", help="Of the norms: length, before or input.")] = "length",
    words: Annotated[bool, typer.Option("--words", help="Merge pieces to words in a map of attention.")] = False,
    pooling: Annotated[str, typer.Option("--pooling", help="Of sentences; the checkpoint's own by default.")] = "",
    task: TaskOption = None,
    given: Annotated[list[str] | None, typer.Option("--set", metavar="SETTING=VALUE", help=SET_HELP)] = None,
    theme: Annotated[str, typer.Option("--theme", help="light, dark or print.")] = "light",
    width: Annotated[int, typer.Option("--width", min=SMALLEST, max=LARGEST, help="Pixels, half of a PNG's.")] = 1000,
    height: Annotated[
        int | None, typer.Option("--height", min=SMALLEST, max=LARGEST, help="Pixels; the figure's own by default.")
    ] = None,
    names: Annotated[
        bool, typer.Option("--list", is_eager=True, callback=_list_names, help="Print what can be drawn.")
    ] = False,
) -> None:
    """Write the figure of a page as PNG, SVG or HTML, as the dashboard draws it."""
    if name not in NAMES:
        raise TextError(f"There is no figure {visible(name[:30])!r}; choose {', '.join(NAMES)}.")
    if theme not in THEMES:
        raise TextError(f"There is no theme {visible(theme[:20])!r}; choose {', '.join(THEMES)}.")
    check_file(out)
    asked = Asked(
        model,
        tuple(texts or ()),
        pair,
        layer,
        head,
        form,
        depth,
        first,
        window,
        measure,
        words,
        pooling,
        task,
        _settings(name, given or ()),
    )
    found = NAMES[name].make(asked)
    tell(found.notices)
    look = LOOKS[theme]
    caption = caption_of(found.picture.drawn(look), found.words, found.models, found.texts)
    write_file(out, file_content(out.suffix.lower(), found.picture, caption, look, width, height))
    tell((f"{found.picture.title}: written to {out}.",))
