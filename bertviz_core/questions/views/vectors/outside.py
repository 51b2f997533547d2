"""What the page Sentences shows of vectors that another program computed."""

from collections.abc import Iterator

from bertviz_core.figures.sentences.recipes import FIELDS, explanation_words, field_words, recipe_words, recipes_figure
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.model_lines import reader_lines
from bertviz_core.questions.texts.sentences import own_plan
from bertviz_core.questions.texts.vectors import explained_vectors
from bertviz_core.questions.view import Ask, Figure, Notices, Part, Table, Text
from bertviz_core.questions.views.texts.sentences import POOLED
from bertviz_core.sentences.analysis.results import RecipeMatch, VectorExplanation, VectorRecipe
from bertviz_core.text import counted, escape_markdown

EXPLANATION = (
    "The texts are tokenized in every way that gives other tokens: by `AutoTokenizer` and by `tokenizer.json` where "
    "they differ, with each prompt of the model's folder and without, cut off at the usual lengths, lowercased or not; "
    "and run without padding, and with padding on either side as a batch of up to 32 texts has it. Of each run, every "
    "layer, pooling and number of dense layers gives one vector a text. Its first dimensions are compared with the "
    "vectors from outside by their cosine, which no normalisation changes; the lengths tell which one there is. A "
    "recipe makes the vectors if the worst cosine is 0.9999 or more (0.998 for a run in 16 bits, 0.995 for whole "
    "numbers), and if it explains their lengths. Inputs are tried on six texts, and the nearest three then on all."
)
UNIT = "torch.nn.functional.normalize(vector, dim=-1)"


def outside_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The recipe that makes the vectors, where the folder differs, and the nearest ones."""
    answer = ask(explained_vectors, options)
    explanation, best = answer.result, answer.result.matches[0]
    yield Notices(answer.notices, "caption")
    yield Text(f"**{escape_markdown(explanation_words(explanation))}**")
    if explanation.own is not None and best.differences:
        if explanation.reproduced:
            yield Text(f"The model's folder differs in {counted(len(best.differences), 'setting')}:")
        yield Table(_differences(best, explanation.own), "Where the model's folder differs")
    if explanation.equal:
        others = "; ".join(escape_markdown(recipe_words(each)) for each in explanation.equal)
        yield Text(
            f"These texts do not tell it from {counted(len(explanation.equal), 'other recipe')}: {others}.", "caption"
        )
    yield Figure.of(
        recipes_figure,
        answer,
        f"recipes of vectors {explanation.model}",
        explanation=EXPLANATION,
        code=recipe_code(opened, explanation),
    )


def _differences(best: RecipeMatch, own: RecipeMatch) -> "pd.DataFrame":
    rows = [(FIELDS[name][0], *field_words(name, best.recipe, own.recipe)) for name in best.differences]
    return pd.DataFrame(rows, columns=["", "these vectors", "the model's folder"])


def recipe_code(opened: Opened, explanation: VectorExplanation) -> str:
    """Lines of Python that compute a vector by the nearest recipe."""
    recipe, plan = explanation.matches[0].recipe, own_plan(opened)
    reads = ["prompt + text" if recipe.prompt else "text"]
    reads[0] = f"({reads[0]}).lower()" if recipe.lower_case else reads[0]
    reads += [] if recipe.max_length is None else ["truncation=True", f"max_length={recipe.max_length}"]
    state = "outputs.pooler_output[0]" if recipe.pooling == "pooler" else POOLED[recipe.pooling]
    lines = [
        f"    inputs = tokenizer({', '.join(reads)}, return_tensors='pt')",
        "    with torch.no_grad():",
        "        outputs = model(**inputs, output_hidden_states=True)",
        f"    h = outputs.hidden_states[{recipe.layer}][0]   # (tokens, hidden)",
        *_without_prompt(recipe),
        f"    vector = {state}",
    ]
    for index, dense in enumerate(plan.dense[: recipe.dense]):
        bias = "" if dense.bias is None else f" + dense[{index}]['linear.bias']"
        mapped = f"dense[{index}]['linear.weight'] @ vector{bias}"
        name = {"identity": "{}", "gelu": "torch.nn.functional.gelu({})"}.get(
            dense.activation, f"torch.{dense.activation}({{}})"
        )
        lines.append(f"    vector = {name.format(mapped)}")
    lines += [f"    vector = {UNIT}"] if recipe.lengths == "unit, then cut" else []
    lines += (
        [f"    vector = vector[:{recipe.dimensions}]"] if "dimensions" in explanation.matches[0].differences else []
    )
    lines += [f"    vector = {UNIT}"] if recipe.lengths == "unit" else []
    return f"{_beginning(opened, recipe)}\n\ndef vector_of(text):\n" + "\n".join([*lines, "    return vector"])


def _beginning(opened: Opened, recipe: VectorRecipe) -> str:
    lines = reader_lines(opened)
    if recipe.dense:
        lines += "from safetensors.torch import load_file\n\n# the dense layers, as modules.json lists them\n"
        lines += "dense = [load_file(f'{name}/{index}_Dense/model.safetensors') for index in "
        lines += f"range(2, {2 + recipe.dense})]\n"
    lines += f"prompt = {recipe.prompt!r}\n" if recipe.prompt else ""
    if recipe.padding != "none":
        lines += (
            f"# The vectors are those of a batch that is padded on the {recipe.padding}; here each text is alone.\n"
        )
    return lines if recipe.dtype == "float32" else f"{lines}model = model.to(torch.{recipe.dtype})\n"


def _without_prompt(recipe: VectorRecipe) -> list[str]:
    if not recipe.prompt or recipe.include_prompt:
        return []
    return ["    h = h[len(tokenizer(prompt)['input_ids']) - 1:]   # the prompt's tokens are not pooled"]
