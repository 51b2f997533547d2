"""Format the answers of two models to the same texts as JSON, text tables and data frames."""

from operator import attrgetter
from typing import Any

from bertviz_core.figures.checkpoints.slices import slices_frame
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import AnswerComparison, ScorePair, SlicedAnswers
from bertviz_core.questions.tables.lines import aligned, number_cell, printable_token
from bertviz_core.text import counted, escape_controls, shortened, tied

MAX_ROWS, MAX_LABELS = 30, 12
"""Maximum number of texts, and of rows of the confusion matrix, in a terminal."""
MAX_TEXT_CHARACTERS = 70
NAMES = ("first", "second", "difference", "low", "high")
NUMBERS = attrgetter(*NAMES)
"""The numbers of a pair of scores."""
LISTED = ("changed", "mended", "broken", "both wrong", "both right", "all")
"""Parts of the texts that can be listed."""


def answer_comparison_json(compared: AnswerComparison) -> dict[str, Any]:
    """The JSON object of the comparison; scores only with gold labels, texts as indices of `answers`."""
    frame = answer_comparison_frame(compared)
    value: dict[str, Any] = {
        "first": compared.first,
        "second": compared.second,
        "texts": len(compared.texts),
        "agreement": compared.agreement,
        "labels": compared.labels,
        "confusion": compared.confusion,
        "changed": compared.changed,
    }
    if compared.gold is not None:
        gold = compared.gold
        value |= {
            "compared": len(gold.first.compared),
            "accuracy": _score(gold.accuracy),
            "macro_f1": _score(gold.macro_f1),
            "mcnemar_p": gold.mcnemar_p,
            "mended": gold.mended,
            "broken": gold.broken,
        }
    answers = frame.rename(columns=lambda name: name.replace(" ", "_")).to_dict("records")
    return {**value, "answers": answers, "notices": compared.notices}


def p_value_text(value: float) -> str:
    """A p-value with its sign of comparison: "= 0.031", or "< 0.001" for one that would be printed as 0."""
    return f"= {value:.3f}" if value >= 0.001 else "< 0.001"


def answer_comparison_lines(compared: AnswerComparison) -> list[str]:
    """The scores with their differences, one model's answers against the other's, and the texts that changed."""
    count = counted(len(compared.texts), "text")
    names = escape_controls(f"{compared.first} and {compared.second}")
    lines = [f"answers of {names} to {count}: the same to {compared.agreement:.1%}"]
    if compared.gold is not None:
        gold = compared.gold
        rows = [_score_row("accuracy", gold.accuracy), _score_row("macro-F1", gold.macro_f1)]
        header = (f"of {counted(len(gold.first.compared), 'text')}", "first", "second", "difference", "95 % interval")
        mended, broken = len(gold.mended), len(gold.broken)
        lines += ["", *aligned([header, *rows], "lrrrr"), ""]
        lines.append(f"{mended:,} mended, {broken:,} broken; McNemar's exact test: p {p_value_text(gold.mcnemar_p)}")
    lines += _confusion_lines(compared)
    frame = answer_comparison_frame(compared)
    parts = ("changed",) if compared.gold is None else ("mended", "broken")
    listed = [place for part in parts for place in listed_texts(compared, part)]
    columns = [name for name in ("kind", "gold label", "first", "second", "text") if name in frame]
    shown = [[printable_token(str(cell)) for cell in row] for row in frame.loc[listed[:MAX_ROWS], columns].to_numpy()]
    for row, place in zip(shown, listed, strict=False):
        row[-1] = shortened(escape_controls(compared.texts[place]), MAX_TEXT_CHARACTERS)
    lines += ["", *aligned([columns, *shown], "l" * len(columns))] if listed else []
    if len(listed) > MAX_ROWS:
        lines.append(f"... and {len(listed) - MAX_ROWS:,} more; --json prints all")
    return lines


def answer_comparison_frame(compared: AnswerComparison) -> "pd.DataFrame":
    """One row per text: text, second text, gold label, both answers, kind, and the probability of each answer."""
    columns: dict[str, Any] = {"text": compared.texts}
    if compared.pairs is not None:
        columns["second text"] = compared.pairs
    if compared.gold is not None:
        columns["gold label"] = compared.gold.first.gold
    columns |= {"first": compared.answers[0], "second": compared.answers[1], "kind": compared.kinds}
    first, second = compared.probabilities.astype(float)
    return pd.DataFrame({**columns, "first probability": first, "second probability": second})


def slices_json(sliced: SlicedAnswers) -> dict[str, Any]:
    """The JSON object of the slices; the texts of each as indices."""
    rows = slices_frame(sliced).rename(columns=lambda name: name.replace(" ", "_")).to_dict("records")
    places = [each.places for each in sliced.slices]
    return {"by": sliced.by, "slices": [{**row, "places": at} for row, at in zip(rows, places, strict=True)]}


def slices_lines(sliced: SlicedAnswers) -> list[str]:
    """The slice with the clearest difference, and a table with a row per slice."""
    frame = slices_frame(sliced).drop(columns=["low", "high"], errors="ignore")
    rows = [
        tuple(number_cell(cell) if isinstance(cell, float) else printable_token(str(cell)) for cell in row)
        for row in frame.itertuples(index=False)
    ]
    return [slices_sentence(sliced), "", *aligned([tuple(frame.columns), *rows], "l" + "r" * (len(frame.columns) - 1))]


def slices_sentence(sliced: SlicedAnswers) -> str:
    """Where one of the models is better, or where they agree least."""
    scored = [(each, each.accuracy) for each in sliced.slices if each.accuracy is not None]
    if not scored:
        least = min(sliced.slices, key=lambda each: each.agreement)
        share = f"the same answer to {least.agreement:.1%} of {counted(len(least.places), 'text')}"
        same = tied(-each.agreement for each in sliced.slices)
        return f"Of all slices the models agree least on the texts of {least.name}{same}: {share}."
    clear = [(each, score) for each, score in scored if score.low > 0 or score.high < 0]
    if not clear:
        return "No slice shows that one model is more accurate there: every interval contains 0, or texts are too few."
    most, score = max(clear, key=lambda each: abs(each[1].difference))
    better = "second" if score.difference > 0 else "first"
    return (
        f"The clearest difference is in the slice {most.name}: accuracy {score.first:.1%} → {score.second:.1%} over "
        f"{counted(most.compared, 'text')}. The {better} model is more accurate there."
    )


def listed_texts(compared: AnswerComparison, part: str) -> list[int]:
    """Indices of the texts of a part of the list.

    Mended texts come first, then broken ones, by the confidence of the second model; others keep their order.

    Args:
        compared: the comparison.
        part: "changed" for the texts with different answers, "all", or a kind of text.
    """
    first = [] if compared.gold is None else [*compared.gold.mended.tolist(), *compared.gold.broken.tolist()]
    kinds, changed = compared.kinds, set(compared.changed.tolist())
    places = range(len(kinds))
    if part == "all":
        return list(places)
    if part == "changed":
        return [*first, *(place for place in places if place in changed.difference(first))]
    if part in ("mended", "broken"):
        return [place for place in first if kinds[place] == part]
    return [place for place in places if kinds[place] == part]


def _score(score: ScorePair) -> dict[str, Any]:
    numbers = {"first": score.first, "second": score.second, "difference": score.difference}
    return {**numbers, "interval": [score.low, score.high]}


def _score_row(name: str, score: ScorePair) -> tuple[str, ...]:
    first, second, *signed = NUMBERS(score)
    difference, low, high = (f"{'+' if each > 0 else ''}{number_cell(each)}" for each in signed)
    return name, number_cell(first), number_cell(second), difference, f"{low} to {high}"


def _confusion_lines(compared: AnswerComparison) -> list[str]:
    if len(compared.labels) > MAX_LABELS:
        return []
    labels = [printable_token(label) for label in compared.labels]
    rows = [(label, *map(str, row)) for label, row in zip(labels, compared.confusion.tolist(), strict=True)]
    return ["", "answers of the first (rows) and the second", *aligned([("", *labels), *rows], "l" + "r" * len(labels))]
