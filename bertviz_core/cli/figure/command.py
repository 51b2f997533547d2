"""What the command `figure` can draw: names, what each shows, which chart of which page it is, and its settings."""

from collections.abc import Callable
from typing import NamedTuple

from bertviz_core import cli_figure_architecture as architecture
from bertviz_core import cli_figure_attention as attention
from bertviz_core import cli_figure_checkpoint as checkpoint
from bertviz_core import cli_figure_heads as heads
from bertviz_core import cli_figure_models as models
from bertviz_core import cli_figure_sentences as sentences
from bertviz_core import cli_figure_texts as texts
from bertviz_core import cli_figure_tokens as tokens
from bertviz_core.cli_figure_asked import Asked, Made

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
    "overview": Entry("the stack of the model's blocks", models.overview, "overview_stack"),
    "parameters": Entry(
        "the tree of modules by parameters (--form, --depth, --task)", models.parameters, "parameters_tree"
    ),
    "layers": Entry("parameters of each layer by part (--task)", models.layers, "parameters_layers"),
    "components": Entry("the model as one bar of components (--task)", models.components, "parameters_components"),
    "models": Entry("several models side by side, named behind the first", models.models, "parameters_compare"),
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
    "nearest": Entry("rows of the vocabulary nearest to a token's", tokens.nearest, "tokens_neighbours", ("token",)),
    "input": Entry("what each token's input is made of", texts.embedding, "representations_embedding", ("tokens",)),
    "hidden": Entry("hidden states of one entry (--layer, --first, --window)", texts.hidden, "representations_values"),
    "norms": Entry(
        "one number per token and layer (--map length, before, input)", texts.norms, "representations_change"
    ),
    "similarity": Entry(
        "cosine of every token to every other (--layer)", texts.similarity, "representations_similarity", ("tokens",)
    ),
    "paths": Entry("the tokens' paths over the layers", texts.paths, "representations_paths", ("tokens",)),
    "pooler": Entry("the first token's vector and the pooler's output", texts.pooler, "representations_pooler"),
    "word": Entry("one word in two texts, layer by layer", tokens.word, "representations_word", ("word",)),
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
