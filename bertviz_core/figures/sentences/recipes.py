"""The recipes nearest to vectors from outside, and their words."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.sentences.poolings import POOLING_WORDS
from bertviz_core.figures.sentences.similarity import TWO_LINES, sentence_bars
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.analysis.results import RecipeMatch, VectorExplanation, VectorRecipe
from bertviz_core.text import counted, decimals, quoted

MOST_PROMPT = 40
LENGTH_WORDS = {
    "as pooled": "not normalised",
    "unit": "normalised",
    "unit, then cut": "normalised before the cut",
    "scaled": "times one factor",
    "other": "other lengths",
}
FIELDS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "tokenizer": ("tokenizer", str),
    "prompt": ("prompt", lambda prompt: quoted(prompt, MOST_PROMPT) if prompt else "no prompt"),
    "lower_case": ("case", lambda lowered: "lowercased" if lowered else "as written"),
    "max_length": ("longest text", lambda most: "no limit" if most is None else f"{most:,} tokens"),
    "padding": ("padding", lambda side: "none that shows" if side == "none" else f"on the {side}"),
    "layer": ("layer", state_name),
    "pooling": ("pooling", POOLING_WORDS.__getitem__),
    "include_prompt": ("prompt's tokens", lambda pooled: "pooled" if pooled else "not pooled"),
    "include_padding": ("padding's tokens", lambda pooled: "pooled" if pooled else "not pooled"),
    "dense": ("dense layers", lambda count: f"{count:,}" if count else "none"),
    "lengths": ("lengths", LENGTH_WORDS.__getitem__),
    "dimensions": ("dimensions", lambda count: f"{count:,}"),
    "dtype": ("number format", str),
}
"""Field of a recipe -> its name, and the words for a value."""


def field_words(name: str, *recipes: VectorRecipe) -> tuple[str, ...]:
    """The values of a field in recipes, in words."""
    return tuple(FIELDS[name][1](getattr(recipe, name)) for recipe in recipes)


def recipe_words(match: RecipeMatch) -> str:
    """A recipe in one line: pooling, layer, dense layers and lengths, and what else differs from the folder."""
    recipe = match.recipe
    words = [*field_words("pooling", recipe), *field_words("layer", recipe)]
    words += [counted(recipe.dense, "dense layer")] if recipe.dense else []
    words += field_words("lengths", recipe)
    rest = [name for name in match.differences if name not in ("pooling", "layer", "dense", "lengths")]
    words += [f"{FIELDS[name][0]} {field_words(name, recipe)[0]}" for name in rest]
    return ", ".join(words)


def difference_words(match: RecipeMatch) -> str:
    """What of a recipe differs from the model's folder, in one line."""
    words = []
    for name in match.differences:
        value = field_words(name, match.recipe)[0]
        words.append(value if name in ("pooling", "layer", "lengths") else f"{FIELDS[name][0]} {value}")
    return ", ".join(words) or "as the folder says"


def explanation_words(explanation: VectorExplanation) -> str:
    """What the search found, in one or two sentences."""
    best = explanation.matches[0]
    numbers = f"mean cosine {decimals(best.mean_cosine, 6)}, worst {decimals(best.worst_cosine, 6)}"
    if not explanation.reproduced:
        return (
            f"None of {counted(explanation.recipes, 'recipe')} makes these vectors; the nearest is "
            f"{recipe_words(best)} ({numbers})."
        )
    if not best.differences:
        whose = "the recipe of the model's folder" if explanation.from_checkpoint else "the usual recipe"
        return f"These vectors follow {whose}: {recipe_words(best)} ({numbers})."
    return f"These vectors follow another recipe than the folder: {recipe_words(best)} ({numbers})."


def matches_frame(vector_explanation: VectorExplanation) -> "pd.DataFrame":
    """One row per recipe, the nearest first: its words, cosines, and all of its fields."""
    rows = [
        {
            "recipe": recipe_words(match),
            "mean cosine": match.mean_cosine,
            "worst cosine": match.worst_cosine,
            "worst text": match.worst_text + 1,
            "differs in": ", ".join(FIELDS[name][0] for name in match.differences),
            **{FIELDS[name][0]: value for name, value in asdict(match.recipe).items()},
        }
        for match in vector_explanation.matches
    ]
    return pd.DataFrame(rows)


@figure("vector-recipes", "sentences_recipes", table=matches_frame)
def recipes_figure(vector_explanation: VectorExplanation) -> FigureSpec:
    """Recipes by the mean cosine of their vectors with those from another program."""
    explanation, matches = vector_explanation, vector_explanation.matches
    what = "The recipe" if explanation.reproduced else "The nearest recipes"
    title = f"{what} of {counted(explanation.texts, 'vector')} — {explanation.model}"
    names = list(range(1, len(matches) + 1)), [difference_words(match) for match in matches]
    bars = np.array([match.mean_cosine for match in matches])
    about = f"{title}. {explanation_words(explanation)}"
    draw = partial(sentence_bars, bars, *names, "mean cosine", title, row=TWO_LINES)
    return FigureSpec(title, about, draw, about)
