"""How the numbers of the page Journey are computed, and the lines of Python that reproduce them."""

from collections.abc import Mapping

from bertviz_core.questions.interventions.journey_change import CHANGE
from bertviz_core.questions.interventions.single_text import MEAN, REMOVED_FOR
from bertviz_core.questions.report.library_lines import opening_lines
from bertviz_core.questions.report.model_lines import LONGEST
from bertviz_core.questions.texts.tokens import EDITED
from bertviz_core.trace.results import Tokens
from ui.cache.shared_model import SharedModel

WORDS = """
The model runs the text once. For each layer and token:

* turn: `1 − cosine` of the token's vector before and after the layer;
* length: Euclidean length of the vector after the layer;
* entropy: `−Σ p ln p` of the token's row of attention `p`, mean over the heads, in nats.

A weight of a head is the softmax, over all keys, of the scaled product of query and key; "every number of this cell"
on the page Heads lists the scores of all keys. The strongest head and key in the table are those of all keys; the
sentence below the drawing names another word than the token itself.
"""
CHANGED = """
With a change the model runs once more. A head that is switched off has its output, before the output projection,
replaced by zero or by its mean over the reference texts; a layer that is switched off returns its input, or its input
plus its mean change; a masked token has the id of the mask token; of an edited text the tokens that both texts have are
compared, wherever they stand. A cell is the number of this run minus that of the unchanged run.
"""
RESTS_ON = """
What the answer rests on: a layer's colour is the number when this layer returns its input, minus the number as it is; a
head's frame is the same with the head's output replaced by zero, on a scale of its own. A token's share is the number
minus that of the text with the mask in place of its word, or without the word where the model has no mask.
"""


def journey_code(name: str, tokens: Tokens, change: Mapping[str, str]) -> str:
    """Lines that print the numbers of the drawing, and under a change before, after and difference.

    Args:
        name: name of the model.
        tokens: the text.
        change: values of the parameters of the change; {} for none.
    """
    texts = [each for each in (tokens.text, tokens.pair) if each is not None]
    arguments = ", ".join([*map(repr, texts)] if sum(map(len, texts)) <= LONGEST else ["text", "pair"][: len(texts)])
    lines = [f"{opening_lines(SharedModel(name))}way = model.journey({arguments})", "print(way.to_pandas())"]
    if change:
        mean = ", mean=True" if change.get(REMOVED_FOR.key) == MEAN else ""
        edited = f", edited={change[EDITED.key]!r}" if EDITED.key in change else ""
        lines.append(f"print(way.changed({change[CHANGE.key]!r}{mean}{edited}))   # before, after and difference")
    return "\n".join([*lines, ""])
