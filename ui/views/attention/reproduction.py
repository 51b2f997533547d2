"""Python code that reproduces the numbers of the attention page; it runs as it is."""

from bertviz_core.attention.results import MapOptions
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.report.model_lines import reading as given_lines
from bertviz_core.questions.texts.attention import PART, PUNCTUATION, SPECIAL, WEIGHTS, WORDS, attention_map
from bertviz_core.trace.results import Tokens, Trace
from ui.cache import models, sources
from ui.cache.shared_model import SharedModel

SHOWN = 400
"""Most characters of texts written out in the code; longer ones are variables."""
ROLLOUT = (
    "A = torch.stack(outputs.attentions)[:, 0].mean(1)   # of each layer the mean of its heads\n"
    "A = (A + torch.eye(A.shape[-1])) / 2\n"
    "A = A / A.sum(-1, keepdim=True)\n"
    "rollout = A[0]\n"
    "for layer in range(1, {layer} + 1):\n"
    "    rollout = A[layer] @ rollout\n"
    "print(rollout)   # queries × input tokens"
)


def attention_code(trace: Trace, layer: int, head: int, reading: MapOptions) -> str:
    """Code for the map that is shown.

    Unmerged weights and their rollout need transformers only; readings with values, merged words or hidden tokens use
    the library of this dashboard.
    """
    if reading in (MapOptions(), MapOptions("rollout")):
        return _with_transformers(trace, layer, head, reading)
    return _with_the_library(trace, layer, head, reading)


def _with_transformers(trace: Trace, layer: int, head: int, reading: MapOptions) -> str:
    source = sources.source(trace.model)
    where, reader = source.pretrained_name, source.tokenizer_class
    encoder = ".get_encoder()" if source.config.get("is_encoder_decoder") else ""
    arguments = given_lines(trace.tokens, models.loaded(trace.model).model)
    shown = ROLLOUT.format(layer=layer)
    if reading.weights == "attention":
        shown = f"print(outputs.attentions[{layer}][0, {head}])   # queries × keys of layer {layer}, head {head}"
    return (
        "import torch\n"
        f"from transformers import AutoModel, {reader}\n\n"
        f"tokenizer = {reader}.from_pretrained({where!r})\n"
        f"model = AutoModel.from_pretrained({where!r}, attn_implementation='eager', dtype=torch.{trace.dtype})\n"
        f"model = model{encoder}.eval()\n"
        f"inputs = tokenizer({_texts(trace.tokens)}, {arguments})\n"
        "with torch.no_grad():\n"
        "    outputs = model(**inputs, output_attentions=True)\n"
        f"{shown}"
    )


def _with_the_library(trace: Trace, layer: int, head: int, reading: MapOptions) -> str:
    options = Options((trace.tokens.text,), trace.tokens.pair, values=reading_values(layer, head, reading))
    return library_lines(attention_map, SharedModel(trace.model), options)


def reading_values(layer: int, head: int, reading: MapOptions) -> dict[str, str]:
    """The values of the parameters of a question about one map."""
    flags = {WORDS: reading.words, SPECIAL: reading.hide_special, PUNCTUATION: reading.hide_punctuation}
    values = {"layer": str(layer), "head": str(head), WEIGHTS.key: reading.weights, PART.key: reading.block}
    return values | {param.key: "true" for param, is_set in flags.items() if is_set}


def _texts(tokens: Tokens) -> str:
    """The texts as Python literals; variable names if they are long."""
    texts = [each for each in (tokens.text, tokens.pair) if each is not None]
    if sum(map(len, texts)) > SHOWN:
        return ", ".join(("text", "pair")[: len(texts)])
    return ", ".join(map(repr, texts))
