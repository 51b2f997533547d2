"""The page Representations: change over the layers, values, token similarity, paths, input, pooler, one word."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from bertviz_core.errors import TextError
from bertviz_core.figures.hidden_states.heatmaps import CHANGE, INPUT, LENGTH, change_figure
from bertviz_core.figures.hidden_states.lines import (
    input_figure,
    paths_figure,
    pooler_figure,
    states_compared_figure,
    word_figure,
)
from bertviz_core.hidden_states.embeddings import NORMS, POSITION_TABLES, part_path
from bertviz_core.hidden_states.geometry import hidden_states_npz, largest_value, outlier_dimensions
from bertviz_core.hidden_states.results import EmbeddingSum
from bertviz_core.models.families import STATIC_TYPE, family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.report.model_lines import model_lines, reading
from bertviz_core.questions.tables.two_models.runs import states_that_changed
from bertviz_core.questions.texts.hidden_states import (
    MEASURE,
    MEASURES,
    input_lengths,
    pooler_check,
    recomputed_pooler,
    run,
    token_measures,
    token_paths,
    word_comparison,
)
from bertviz_core.questions.texts.two_models import cosines_of_states
from bertviz_core.questions.view import (
    Ask,
    Download,
    Figure,
    Lack,
    Notices,
    Part,
    Row,
    SecondModel,
    Section,
    Text,
    View,
)
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import decimals, digits, escape_markdown, isolated
from bertviz_core.trace.results import Trace

MAPS = {
    CHANGE: "How much a layer changes the direction of a token's vector, its turn: 0 not at all, 1 by a right angle.",
    INPUT: "What is left of each token's own embedding: 1 is all of it.",
    LENGTH: "How long each vector is.",
}
DRAWN = Param(
    MEASURE.key,
    "choice",
    MEASURE.help,
    MEASURE.options,
    "What is shown",
    lambda opened, options: ("change", "input", "length"),
    shown=MEASURES.__getitem__,
    control="few",
)
VECTORS = Param(
    "vectors_of",
    "choice",
    "whose vectors are drawn",
    ("all tokens", "[CLS] and pooler"),
    "Show",
    parts=True,
    applies=lambda opened, options: run(opened, options).result.pooler_output is not None,
)
NO_POOLER = (
    "This model has no pooler that is Linear and tanh on the first token, so there is none to compute again. "
    "A vector for the whole text is made from token vectors, often their mean."
)
VALUES_WORDS = (
    "`hidden_states[0]` is the output of the embedding block (“embeddings”); `hidden_states[i]` is what layer i - 1 "
    "hands on (“after layer i - 1”). The scale is symmetric around 0, so that the colour of the paper is 0. A large "
    "value is "
    "not by itself important: a few dimensions are large in nearly every token."
)
COMPARED = (
    "Both models are run on the text. For every token and every entry of the hidden states the cell is the cosine of "
    "its two vectors, `a · b / (|a| |b|)`: 1 where they point the same way. Tokens are the same where they cover the "
    "same characters, whatever the vocabularies. Two models that were not trained from one start have no reason to "
    "agree in their dimensions, so their cosines are near 0 even where they mean the same; *Layers over many texts* "
    "on the page Checkpoint compares such models by CKA."
)
CHANGE_WORDS = (
    "How much a layer changes the direction of a token's vector (its turn) is the cosine distance, 1 - cosine, of the "
    "vectors before and after it: 0 where "
    "the layer only lengthens or shortens the vector, 1 at a right angle. It is small partly because of the residual "
    "connection, which hands the vector on. Length is the Euclidean norm."
)
SIMILARITY_WORDS = (
    "Every cell is the cosine of two tokens' vectors in the hidden state that the title names; the diagonal is 1. "
    "Vectors of one text often point into one narrow cone, so that all cosines are high: compare cells with each other."
)
PATHS_WORDS = (
    "One principal component analysis over the vectors of the chosen tokens in all hidden states together, so that all "
    "layers share a plane, both axes of it in one scale. Nearness in the plane is not "
    "nearness in the model where the share of variance is small."
)
INPUT_WORDS = (
    "Each token's id, position and type pick a row of their tables; the rows are added number by number and the sum is "
    "normalised, except in families that begin each layer with a norm instead, such as GPT-2 and T5. Families with "
    "rotary or relative positions add no position here."
)
POOLER_WORDS = (
    "The pooler is a linear layer and tanh on the first token's last vector, trained with next-sentence prediction. In "
    "a model that was tuned with another pooling its output means little: the mean of the token vectors may serve "
    "better."
)
WORD_WORDS = (
    "The row of the word table is the same in every text: cosine 1. The embeddings add the position, and each layer "
    "mixes in the context, so that the two vectors part. A word of several pieces is the mean of its pieces. The word "
    "is found by its characters in the text, so punctuation behind it does not count."
)
RUN = (
    "with torch.inference_mode():\n"
    "    outputs = model(**inputs, output_hidden_states=True)\n"
    "h = outputs.hidden_states\n"
)
VALUES_CODE = "print(h[{entry}][0, :, {first}:{stop}])   # {name}: {shape}\n"
CHANGE_CODE = {
    "change": "print(1 - torch.cosine_similarity(torch.stack(h[1:])[:, 0], torch.stack(h[:-1])[:, 0], dim=-1))\n",
    "input": "print(torch.cosine_similarity(torch.stack(h)[:, 0], h[0], dim=-1))\n",
    "length": "print(torch.stack(h)[:, 0].norm(dim=-1))\n",
}
SIMILARITY_CODE = (
    "v = torch.nn.functional.normalize(h[{entry}][0, {first}:{stop}], dim=-1)\nprint(v @ v.T)   # {name}\n"
)
PATHS_CODE = (
    "picked = {picked}\n"
    "x = torch.stack(h)[:, 0, picked].flatten(0, 1).double()\n"
    "x = x - x.mean(dim=0)\n"
    "_, size, directions = torch.linalg.svd(x, full_matrices=False)\n"
    "directions = directions[:2]\n"
    "peak = directions.gather(1, directions.abs().argmax(dim=1, keepdim=True))\n"
    "print(x @ (directions * peak.sign()).T)   # {states} rows of {count} tokens; two components\n"
    "print((size**2 / (size**2).sum())[:2])    # their shares of the variance\n"
)
POOLER_CODE = (
    "cls = outputs.last_hidden_state[:, 0]\n"
    "with torch.inference_mode():\n"
    "    print(torch.tanh(model.pooler.dense(cls)))   # equals outputs.pooler_output\n"
)
WORD_CODE = (
    "with torch.inference_mode():\n"
    "    first, second = (\n"
    "        torch.stack(model(**tokenizer(text, {input_arguments}), output_hidden_states=True).hidden_states)[:, 0]\n"
    "        for text in ({first!r}, {second!r})\n"
    "    )\n"
    "a, b = first[:, {first_positions}].mean(dim=1), second[:, {second_positions}].mean(dim=1)\n"
    "print(torch.cosine_similarity(a, b, dim=-1))\n"
)


def about_representations(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """The shape of the hidden states, where the model ran, and what is to be known of the run."""
    answer = ask(run, options)
    states, seq, hidden = answer.result.hidden_states.shape
    ran = f"on {answer.result.device} in {answer.result.dtype}"
    return f"{states} hidden states of {seq} tokens and {hidden} dimensions, {ran}", [Notices(answer.notices)]


def change_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """One number per token and layer, and below it how far a second model is apart."""
    yield Section((DRAWN,), measure_parts)
    yield SecondModel("representations_second", partial(compared_parts, opened, ask, options))


def measure_parts(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The map of a measure."""
    answer = ask(token_measures, options)
    trace, measure = answer.drawn["trace"], answer.drawn["measure"]
    yield Figure.of(
        change_figure,
        answer,
        f"{measure} {opened.name}",
        numbers="open",
        explanation=CHANGE_WORDS,
        code=run_lines(opened, trace) + CHANGE_CODE[options.choice(DRAWN)],
        below=[Row([Text(MAPS[measure], "caption"), all_states(trace, "change")]), further(ask, options, answer)],
    )


def further(ask: Ask, options: Options, answer: Answer[Any]) -> Notices:
    """Remarks that are not on the run, whose remarks stand at the top."""
    return Notices([each for each in answer.notices if each not in ask(run, options).notices], "caption")


def all_states(trace: Trace, view: str) -> Download:
    """All hidden states in one file."""
    states, seq, hidden = trace.hidden_states.shape
    about = f"{states} × {seq} × {hidden} numbers, with the tokens; numpy.load reads it."
    name, content = f"all hidden states {trace.model}", partial(hidden_states_npz, trace)
    media = "application/octet-stream"
    return Download("All hidden states (NPZ)", f"representations_{view}_npz", f"{name}.npz", media, content, about)


def compared_parts(opened: Opened, ask: Ask, options: Options, other: str) -> Iterator[Part]:
    """The cosine of each token's states in two models, by layer."""
    options = Options(options.texts, options.pair, values={OTHER.key: other})
    answer = ask(cosines_of_states, options)
    compared = answer.result
    yield Text(escape_markdown(states_that_changed(compared)))
    yield Figure.of(
        states_compared_figure,
        answer,
        f"cosines {' '.join(dict.fromkeys((compared.first, compared.second)))}",
        **explained(COMPARED, cosines_of_states, opened, options),
        below=[Notices(answer.notices, "caption")],
    )


def paths_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Paths of tokens through the layers in the plane of largest variance."""
    answer = ask(token_paths, options)
    paths, picked = answer.result, answer.drawn["picked_tokens"]
    code = PATHS_CODE.format(picked=picked, states=len(paths.points), count=len(picked))
    yield Figure.of(
        paths_figure,
        answer,
        f"token paths {opened.name}",
        numbers="open",
        height=240,
        explanation=PATHS_WORDS,
        code=run_lines(opened, answer.drawn["trace"]) + code,
        below=[
            Text(
                f"The plane holds **{float(paths.explained.sum()):.1%}** of the variance of these vectors; what lies "
                "outside it is not shown. Each path runs from the embeddings to the last layer, marked by its token; "
                "the scale shows the shade of each."
            ),
            further(ask, options, answer),
        ],
    )


def input_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The input embedding: the added vectors, their sum, its normalisation."""
    answer = ask(input_lengths, options)
    parts, first = answer.drawn["embedding_sum"], answer.drawn["first_token"]
    stop = first + len(next(iter(answer.result.values())))
    same = f"{parts.steps}, gives the embeddings that layer 0 reads: largest difference "
    about = Text(f"{same}**{digits(parts.max_difference, 3)}**.") if parts.exact else Text(parts.inexact, "warning")
    yield Figure.of(
        input_figure,
        answer,
        f"input embedding {opened.name}",
        numbers="open",
        explanation=INPUT_WORDS,
        code=run_lines(opened, answer.drawn["trace"]) + input_code(opened.loaded, parts, first, stop),
        below=[about, *([Text(escape_markdown(parts.note), "caption")] if parts.note else [])],
    )


def pooler_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The last hidden state of the first token, and the output of the pooler."""
    if ask(recomputed_pooler, options).result is None:
        yield Text(NO_POOLER, "notice")
        return
    answer = ask(pooler_check, options)
    check, trace = answer.result, answer.drawn["trace"]
    largest = largest_value(check.cls[None])
    outlier = largest.dimension in outlier_dimensions(trace.hidden_states).dimensions
    remark = ", one of the outlier dimensions, which are large in many tokens" if outlier else ""
    words = (
        f"Above, the vector of **{escape_markdown(isolated(trace.tokens.tokens[0]))}** after the last layer, "
        f"`last_hidden_state[:, 0]` of shape `(1, {len(check.cls)})`. Its largest value, "
        f"**{decimals(largest.value, 2)}** in dimension {largest.dimension}, lies {largest.deviations:.1f} standard "
        f"deviations from the mean{remark}. Below, Linear and tanh of that vector: `pooler_output` of shape "
        f"`(1, {len(check.output)})`, all between −1 and 1; largest difference from the model's own "
        f"**{digits(check.max_difference, 3)}**."
    )
    yield Figure.of(
        pooler_figure,
        answer,
        f"pooler {opened.name}",
        numbers="open",
        height=240,
        explanation=POOLER_WORDS,
        code=run_lines(opened, trace) + POOLER_CODE,
        below=[Text(words)],
    )


def word_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """One word in two texts, layer by layer."""
    try:
        answer = ask(word_comparison, options)
    except TextError as error:
        yield Text(escape_markdown(str(error)), "notice")
        return
    compared, (first, second) = answer.result, options.texts
    tokens = ask(run, Options((first,))).result.tokens
    code = WORD_CODE.format(
        first=first,
        second=second,
        input_arguments=reading(tokens, opened.loaded.model),
        first_positions=list(compared.first_positions),
        second_positions=list(compared.second_positions),
    )
    begin, end = decimals(float(compared.cosine[0])), decimals(float(compared.cosine[-1]))
    yield Figure.of(
        word_figure,
        answer,
        f"word {answer.drawn['word']} {opened.name}",
        numbers="open",
        explanation=WORD_WORDS,
        code=model_lines(opened, tokens) + code,
        below=[
            Text(
                f"The two vectors of the word have cosine **{begin}** in the embeddings and **{end}** after the last "
                "layer."
            )
        ],
    )


def run_lines(opened: Opened, trace: Trace) -> str:
    """Lines that run the model on the text; the lines of a view follow them."""
    return f"{model_lines(opened, trace.tokens)}{RUN}"


def input_code(loaded: LoadedModel, parts: EmbeddingSum, first: int, stop: int) -> str:
    """Lines for the norms of the vectors that make up the input, with this model's names of its embedding tables.

    For a family that does more than add rows and normalise them, only the output of the block is printed.
    """
    path = partial(part_path, loaded.model)
    if parts.other is not None or not parts.exact or parts.output.shape != parts.word.shape:
        return f"print(h[0][0, {first}:{stop}].norm(dim=-1))   # what the embedding block hands to layer 0\n"
    lines = ["with torch.inference_mode():", '    word = model.get_input_embeddings()(inputs["input_ids"][0])']
    added = ["word"]
    if parts.position is not None and parts.position_ids is not None:
        ids = parts.position_ids.tolist()
        written = f"range({len(ids)})" if ids == list(range(len(ids))) else str(ids)
        lines.append(f"    position = model.get_submodule({path(POSITION_TABLES)!r}).weight[list({written})]")
        added.append("position")
    if parts.token_type is not None:
        table = f"model.get_submodule({path((family(loaded.model_type).type_table,))!r}).weight"
        lines.append('    types = inputs.get("token_type_ids", torch.zeros_like(inputs["input_ids"]))[0]')
        lines.append(f"    token_type = {table}[types]")
        added.append("token_type")
    lines.append(f"    total = {' + '.join(added)}")
    norm = path(NORMS)
    shown = [*added, "total"] if len(added) > 1 else added
    if norm:
        lines.append(f"    normalised = model.get_submodule({norm!r})(total)")
        shown = [*shown, "normalised"]
    lines.append(f"for vectors in ({', '.join(shown)},):")
    lines.append(f"    print(vectors[{first}:{stop}].norm(dim=-1))   # the last equals h[0][0]")
    return "\n".join([*lines, ""])


def _layers(opened: Opened) -> Lack | None:
    """A static model has none."""
    words = "is a table with one vector for each token, without layers: **Change** and **Paths** need some."
    return Lack(words, DEFAULT_MODEL) if opened.source.model_type == STATIC_TYPE else None


VIEWS = (
    View("Change", (), change_view, lacks=_layers),
    View("Values", (VECTORS,)),
    View("Token similarity"),
    View("Paths", lacks=_layers),
    View("Input"),
    View("One word, two texts"),
)
