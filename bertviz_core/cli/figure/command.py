"""What the command `figure` can draw: names, what each shows, which chart of which page it is, and its settings."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from bertviz_core.cli.figure import architecture, attention, checkpoint, heads, parameters, sentences, text
from bertviz_core.cli.figure.files import check_file, file_content, write_file
from bertviz_core.cli.figure.request import FigureOutput, FigureRequest
from bertviz_core.cli.options import ModelArgument, TaskOption, app
from bertviz_core.cli.output import print_notices, table
from bertviz_core.errors import TextError
from bertviz_core.figures.base.caption import caption_of
from bertviz_core.figures.base.style import THEMES as LOOKS
from bertviz_core.text import escape_controls

READING = ("hide_special", "hide_punctuation", "part")


class FigureCommand(NamedTuple):
    """One name."""

    words: str
    make: Callable[[FigureRequest], FigureOutput]
    chart: str
    """Key of the chart on its page."""
    settings: tuple[str, ...] = ()
    """Names that --set takes, as the page's address has them."""


NAMES: dict[str, FigureCommand] = {
    "overview": FigureCommand("the stack of the model's blocks", parameters.overview, "overview_stack"),
    "parameters": FigureCommand(
        "the tree of modules by parameters (--form, --depth, --task)", parameters.parameters, "parameters_tree"
    ),
    "layers": FigureCommand("parameters of each layer by part (--task)", parameters.layers, "parameters_layers"),
    "components": FigureCommand(
        "the model as one bar of components (--task)", parameters.components, "parameters_components"
    ),
    "models": FigureCommand(
        "several models side by side, named behind the first", parameters.models, "parameters_compare"
    ),
    "layer": FigureCommand(
        "the way through one layer (--layer, --task), of a text", architecture.layer, "architecture_layer"
    ),
    "cost": FigureCommand("multiply-adds by length, of a text", architecture.cost, "architecture_cost"),
    "memory": FigureCommand("memory of activations", architecture.memory, "architecture_memory", ("holding",)),
    "design": FigureCommand("encoder, decoder or both (--task)", architecture.design, "architecture_encoder"),
    "load-report": FigureCommand(
        "what loads from the file (--task)", checkpoint.report, "checkpoint_report", ("labels",)
    ),
    "task-head": FigureCommand("what a task's head adds (--task)", checkpoint.head, "checkpoint_head", ("labels",)),
    "weights": FigureCommand("one number of every tensor", checkpoint.weights, "checkpoint_weights", ("statistic",)),
    "values": FigureCommand("the values of one tensor", checkpoint.values, "checkpoint_values", ("tensor",)),
    "changes": FigureCommand(
        "how far each tensor moved to another checkpoint", checkpoint.changes, "checkpoint_changes", ("other", "scale")
    ),
    "change": FigureCommand(
        "one tensor in two checkpoints", checkpoint.change, "checkpoint_change", ("other", "changed")
    ),
    "cosines": FigureCommand(
        "two models' hidden states of a text", checkpoint.cosines, "checkpoint_cosines", ("other",)
    ),
    "divergences": FigureCommand(
        "two models' attention on a text", checkpoint.divergences, "checkpoint_divergences", ("other",)
    ),
    "nearest": FigureCommand(
        "rows of the vocabulary nearest to a token's", text.nearest, "tokens_neighbours", ("token",)
    ),
    "input": FigureCommand(
        "what each token's input is made of", text.embedding, "representations_embedding", ("tokens",)
    ),
    "hidden": FigureCommand(
        "hidden states of one entry (--layer, --first, --window)", text.hidden, "representations_values"
    ),
    "norms": FigureCommand(
        "one number per token and layer (--map length, before, input)", text.norms, "representations_change"
    ),
    "similarity": FigureCommand(
        "cosine of every token to every other (--layer)", text.similarity, "representations_similarity", ("tokens",)
    ),
    "paths": FigureCommand("the tokens' paths over the layers", text.paths, "representations_paths", ("tokens",)),
    "pooler": FigureCommand("the first token's vector and the pooler's output", text.pooler, "representations_pooler"),
    "word": FigureCommand("one word in two texts, layer by layer", text.word, "representations_word", ("word",)),
    "matrix": FigureCommand(
        "weights of a projection (--layer, --head)", heads.matrix, "heads_matrix", ("matrix", "cut")
    ),
    "products": FigureCommand(
        "one product beside one per head (--layer)", heads.products, "heads_products", ("product",)
    ),
    "cell": FigureCommand("one cell by hand (--layer, --head)", heads.cell, "heads_cell", ("query", "key")),
    "mix": FigureCommand("what a head hands on (--layer, --head)", heads.mix, "heads_mix", ("query", "key")),
    "heads": FigureCommand("norms of the heads' blocks of all layers", heads.norms, "heads_norms"),
    "atlas": FigureCommand(
        "what all heads look at (--words)", attention.atlas, "attention_atlas", ("weights", *READING)
    ),
    "attention": FigureCommand(
        "what one head looks at (--layer, --head, --words)",
        attention.attention,
        "attention_figure",
        ("weights", *READING),
    ),
    "lines": FigureCommand(
        "the same as lines (--layer, --head, --words)", attention.lines, "attention_figure", ("weights", *READING)
    ),
    "readings": FigureCommand(
        "raw, value-weighted, rollout (--layer, --head, --words)",
        attention.readings,
        "attention_beside_chart",
        READING,
    ),
    "long": FigureCommand(
        "one head of a long text (--layer, --head)", attention.long_text, "attention_long", ("queries", "keys")
    ),
    "sentences": FigureCommand(
        "how alike sentences are (--pooling, --layer)",
        sentences.sentences,
        "sentences_similarity",
        ("measure", "order"),
    ),
    "blocks": FigureCommand("many sentences as blocks (--pooling, --layer)", sentences.blocks, "sentences_blocks"),
    "poolings": FigureCommand("sentences under every pooling and layer", sentences.poolings, "sentences_poolings"),
    "pooling-maps": FigureCommand("the same as small maps", sentences.pooling_maps, "sentences_pooling_maps"),
    "pair": FigureCommand(
        "why two sentences are alike (--pooling, --layer)", sentences.pair, "sentences_pair", ("cells",)
    ),
    "query": FigureCommand(
        "sentences nearest to a query (--pooling, --layer)",
        sentences.query,
        "sentences_query",
        ("query_sentence", "measure"),
    ),
    "map": FigureCommand("sentences in a plane (--pooling, --layer)", sentences.points, "sentences_map", ("placed",)),
    "vectors": FigureCommand(
        "vectors of sentences (--pooling, --layer)", sentences.vectors, "sentences_vectors", ("first_row",)
    ),
}

THEMES = ("light", "dark", "print")
SMALLEST, LARGEST = 200, 4000
TEXT_HELP = "What the model reads: one text, or one sentence after the other; for models their names."
SET_HELP = "A setting by its name in the address of the page; --list names those of each figure. Can be repeated."


def _list_names(wanted: bool) -> bool:
    """Print what can be drawn, and end."""
    if wanted:
        rows = [(name, entry.words, " ".join(f"{each}=" for each in entry.settings)) for name, entry in NAMES.items()]
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in table(rows, "lll")))
        raise typer.Exit
    return wanted


def _options(name: str, given: Sequence[str]) -> dict[str, str]:
    """What --set said.

    Raises:
        TextError: this figure has no such setting.
    """
    found = {}
    for each in given:
        setting, equals, value = each.partition("=")
        if not equals or setting not in NAMES[name].settings:
            known = ", ".join(f"{known}=" for known in NAMES[name].settings) or "none"
            raise TextError(f"The figure {name} has no setting {escape_controls(each[:40])!r}; those it has: {known}.")
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
        raise TextError(f"There is no figure {escape_controls(name[:30])!r}; choose {', '.join(NAMES)}.")
    if theme not in THEMES:
        raise TextError(f"There is no theme {escape_controls(theme[:20])!r}; choose {', '.join(THEMES)}.")
    check_file(out)
    asked = FigureRequest(
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
        _options(name, given or ()),
    )
    found = NAMES[name].make(asked)
    print_notices(found.notices)
    look = LOOKS[theme]
    caption = caption_of(found.picture.drawn(look), found.words, found.models, found.texts)
    write_file(out, file_content(out.suffix.lower(), found.picture, caption, look, width, height))
    print_notices((f"{found.picture.title}: written to {out}.",))
