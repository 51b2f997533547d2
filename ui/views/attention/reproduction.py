"""Python that gives the numbers of the attention page for the model and the text at hand, to be run as it stands."""

from bertviz_core.attention.results import OF_LAYERS, MapOptions
from bertviz_core.trace.results import Tokens, Trace
from ui.cache import models, sources
from ui.widgets.reproduction import library_lines
from ui.widgets.reproduction import reading as given_lines

SHOWN = 400
"""Characters of the texts that stand in the code; longer ones stand for themselves."""
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
    """Python that makes the map that is shown.

    Whole weights and their rollout come from transformers alone; what needs the values, merged words or hidden tokens
    comes from the library of this dashboard.
    """
    if reading in (MapOptions(), MapOptions("rollout")):
        return _with_transformers(trace, layer, head, reading)
    return _with_the_library(trace, layer, head, reading)


def _with_transformers(trace: Trace, layer: int, head: int, reading: MapOptions) -> str:
    where = sources.source(trace.model).pretrained_name
    encoder = ".get_encoder()" if sources.source(trace.model).config.get("is_encoder_decoder") else ""
    given = given_lines(trace.tokens, models.loaded(trace.model).model)
    shown = ROLLOUT.format(layer=layer)
    if reading.weights == "attention":
        shown = f"print(outputs.attentions[{layer}][0, {head}])   # queries × keys of layer {layer}, head {head}"
    return (
        "import torch\n"
        "from transformers import AutoModel, AutoTokenizer\n\n"
        f"tokenizer = AutoTokenizer.from_pretrained({where!r})\n"
        f"model = AutoModel.from_pretrained({where!r}, attn_implementation='eager', dtype=torch.{trace.dtype})\n"
        f"model = model{encoder}.eval()\n"
        f"inputs = tokenizer({_texts(trace.tokens)}, {given})\n"
        "with torch.no_grad():\n"
        "    outputs = model(**inputs, output_attentions=True)\n"
        f"{shown}"
    )


def _with_the_library(trace: Trace, layer: int, head: int, reading: MapOptions) -> str:
    asked = {name: getattr(reading, name) for name in MapOptions.__slots__}
    given = ", ".join(f"{name}={value!r}" for name, value in asked.items() if value != getattr(MapOptions(), name))
    imports, more = {
        "value-weighted": (
            ["from bertviz_core.heads.weights import value_norms"],
            f", value_norms(model, run, {layer})",
        ),
        "value-zeroing": (
            ["from bertviz_core.attention.value_zeroing import value_zeroing"],
            f", layer_map=value_zeroing(model, run.tokens, {layer})",
        ),
    }.get(reading.weights, ([], ""))
    of = "None" if reading.weights in OF_LAYERS else head
    loading = library_lines(
        trace.model,
        "from bertviz_core.attention.maps import attention_map",
        "from bertviz_core.attention.results import MapOptions",
        *imports,
        "from bertviz_core.trace.run import trace",
        "from bertviz_core.trace.tokenization import tokenize",
    )
    return (
        f"{loading}"
        f"run = trace(model, tokenize(tokenizer, {_texts(trace.tokens)}))\n"
        f"found = attention_map(run, {layer}, {of}, MapOptions({given}){more})\n"
        "print(found.weights, found.hidden_share)   # queries × keys, and what of each row is hidden"
    )


def _texts(tokens: Tokens) -> str:
    """The texts as Python writes them; their names where they are long."""
    texts = [each for each in (tokens.text, tokens.pair) if each is not None]
    if sum(map(len, texts)) > SHOWN:
        return ", ".join(("text", "pair")[: len(texts)])
    return ", ".join(map(repr, texts))
