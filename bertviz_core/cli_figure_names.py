"""What the command `figure` can draw: names, and what each shows."""

from collections.abc import Callable
from typing import NamedTuple

from bertviz_core import cli_figure_models as models
from bertviz_core import cli_figure_texts as texts
from bertviz_core.cli_figure_asked import Asked, Made


class Entry(NamedTuple):
    """One name."""

    words: str
    make: Callable[[Asked], Made]


NAMES: dict[str, Entry] = {
    "parameters": Entry("the tree of modules by parameters (--form, --depth, --task)", models.parameters),
    "layers": Entry("parameters of each layer by part (--task)", models.layers),
    "components": Entry("the model as one bar of components (--task)", models.components),
    "overview": Entry("the stack of the model's blocks", models.overview),
    "heads": Entry("norms of the heads' blocks of all layers", models.heads),
    "input": Entry("what the input of each token is made of", texts.embedding),
    "hidden": Entry("hidden states of one entry (--layer, --first, --window)", texts.hidden),
    "norms": Entry("one number per token and layer (--map length, before, input)", texts.norms),
    "similarity": Entry("cosine of every token to every other (--layer)", texts.similarity),
    "paths": Entry("the tokens' paths over the layers", texts.paths),
    "pooler": Entry("the first token's vector and the pooler's output", texts.pooler),
    "attention": Entry("what one head looks at (--layer, --head, --words)", texts.attention),
    "sentences": Entry("cosine of every sentence to every other (--pooling, --layer)", texts.sentences),
    "poolings": Entry("sentences under every pooling and layer", texts.poolings),
}
