"""Format answers of one model and of two as JSON and text."""

from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from operator import attrgetter
from typing import Any

import numpy as np

from bertviz_core.figures.checkpoints.comparison import slices_frame
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import AnswerComparison, ScorePair, SlicedAnswers
from bertviz_core.predictions.results import (
    AnswerPrediction,
    ClassPrediction,
    LogitLens,
    PseudoLikelihood,
    Ranking,
    Scoring,
    TagPrediction,
    TermLedger,
    TermWeights,
    WordPrediction,
)
from bertviz_core.predictions.tables import answer_rows
from bertviz_core.questions.question import Answer
from bertviz_core.questions.tables.lines import aligned, number_cell, printable_token
from bertviz_core.text import counted, escape_controls, shortened, tied

ENTITY = ("label", "start", "end", "text", "score", "sequence")
"""Fields of an entity; sequence is 0 for the text and 1 for its pair."""
PROBABILITIES: Mapping[Scoring, str] = {
    "softmax": "probability",
    "sigmoid": "probability of each class by itself (sigmoid)",
    "number": "value",
}
"""Heading of the scores of a classifier."""
Rows = tuple[list[tuple[str, ...]], str]
"""Rows of a table, starting with the header, and the alignment of its columns."""


def prediction_json(answer: Answer[Any]) -> dict[str, Any]:
    """The JSON object of the answer for a text, without notices."""
    return _json(answer.result, answer)


def prediction_lines(about: dict[str, Any], answers: Sequence[Answer[Any]]) -> list[str]:
    """The head (model, model_class, task), and a table for each text."""
    lines = [f"{about['model']}: {about['model_class']}, {about['task']}"]
    for answer in answers:
        shown = prediction_json(answer)
        if len(answers) > 1:
            lines += ["", printable_token(shown["text"])]
        lines += ["", *aligned(*_rows(answer.result, answer))]
        lines += [f"{name} {number_cell(shown[name])}" for name in ("mean", "perplexity", "score") if name in shown]
    return lines


def prediction_frame(answer: Answer[Any]) -> "pd.DataFrame":
    """One row per class, entity, answer, term, or position with its best word; columns as in the JSON."""
    shown = prediction_json(answer)
    frames: dict[type, Callable[[], pd.DataFrame]] = {
        WordPrediction: lambda: _word_frame(shown),
        PseudoLikelihood: lambda: pd.DataFrame({"token": shown["tokens"], "surprise": shown["surprise"]}),
        LogitLens: lambda: _lens_frame(shown),
        TermWeights: lambda: pd.DataFrame(shown["terms"]),
        TermLedger: lambda: pd.DataFrame(shown["shares"]),
        TagPrediction: lambda: pd.DataFrame(shown["entities"], columns=list(ENTITY)),
        AnswerPrediction: lambda: _answer_frame(answer.result),
        ClassPrediction: lambda: _class_frame(shown),
    }
    return frames[type(answer.result)]()


@singledispatch
def _json(result: Any, answer: Answer[Any]) -> dict[str, Any]:
    raise TypeError(f"{type(result).__name__} is no answer of a head")


@singledispatch
def _rows(result: Any, answer: Answer[Any]) -> Rows:
    raise TypeError(f"{type(result).__name__} is no answer of a head")


@_json.register
def _(result: WordPrediction, answer: Answer[Any]) -> dict[str, Any]:
    return {
        "text": result.tokens.text,
        "tokens": result.tokens.tokens,
        "positions": [_word_position(result, answer.drawn["spelled"], place) for place in range(len(result.tokens))],
    }


def _word_position(words: WordPrediction, spelled: Any, position: int) -> dict[str, Any]:
    typed, logs = words.typed[position], words.top_log_probability[position]
    return {
        "position": position,
        "token": words.tokens.tokens[position],
        "masked": bool(words.masked[position]),
        "log_probability": None if typed else float(words.log_probability[position]),
        "rank": None if typed else int(words.rank[position]),
        "top": [
            {
                "token": spelled[position][place],
                "id": int(words.top_ids[position, place]),
                "probability": float(np.exp(logs[place])),
                "log_probability": float(logs[place]),
                "logit": float(words.top_logits[position, place]),
            }
            for place in range(words.top_ids.shape[1])
        ],
    }


@_rows.register
def _(result: WordPrediction, answer: Answer[Any]) -> Rows:
    rows = []
    for place in prediction_json(answer)["positions"]:
        known = place["rank"] is not None
        masked = " (masked)" if place["masked"] and known else ""
        best = ", ".join(f"{printable_token(each['token'])} {each['probability']:.3f}" for each in place["top"])
        rank = f"{place['rank']:,}" if known else ""
        probability = f"{np.exp(place['log_probability']):.3f}" if known else ""
        rows.append((str(place["position"]), f"{printable_token(place['token'])}{masked}", rank, probability, best))
    return [("position", "token", "rank", "p", "best words"), *rows], "rlrrl"


def _word_frame(shown: dict[str, Any]) -> "pd.DataFrame":
    rows = [{**row, **{f"top_{name}": value for name, value in row["top"][0].items()}} for row in shown["positions"]]
    return pd.DataFrame(rows).drop(columns="top").set_index("position")


@_json.register
def _(result: PseudoLikelihood, answer: Answer[Any]) -> dict[str, Any]:
    return {
        "text": result.tokens.text,
        "tokens": result.tokens.tokens,
        "surprise": result.surprise,
        "mean": result.mean,
        "perplexity": result.perplexity,
    }


@_rows.register
def _(result: PseudoLikelihood, answer: Answer[Any]) -> Rows:
    pairs = zip(result.tokens.tokens, result.surprise.tolist(), strict=True)
    rows = [(printable_token(token), "" if np.isnan(nats) else f"{nats:.4f}") for token, nats in pairs]
    return [("token", "nats"), *rows], "lr"


@_json.register
def _(result: LogitLens, answer: Answer[Any]) -> dict[str, Any]:
    return {
        "text": result.tokens.text,
        "tokens": result.tokens.tokens,
        "top": answer.drawn["spelled"],
        "probabilities": np.exp(result.top_log_probability),
        "log_probability": result.log_probability,
        "rank": result.rank,
        "entropy": result.entropy,
        "divergence": result.divergence,
    }


@_rows.register
def _(result: LogitLens, answer: Answer[Any]) -> Rows:
    shown = prediction_json(answer)
    rows = [
        (printable_token(token), *(printable_token(layer[place][0]) for layer in shown["top"]))
        for place, token in enumerate(shown["tokens"])
    ]
    heading = ("token", *(f"layer {layer}" for layer in range(len(shown["top"]))))
    return [heading, *rows], "l" * len(heading)


def _lens_frame(shown: dict[str, Any]) -> "pd.DataFrame":
    words = [[cell[0] for cell in layer] for layer in shown["top"]]
    return pd.DataFrame(words, columns=shown["tokens"]).rename_axis("layer")


@_json.register
def _(result: TermWeights, answer: Answer[Any]) -> dict[str, Any]:
    terms = _terms(result, answer.drawn["spelled"])
    return {"text": result.tokens.text, "tokens": result.tokens.tokens, "terms": terms}


def _terms(weights: TermWeights, words: Any) -> list[dict[str, Any]]:
    return [
        {"word": word, "weight": float(weight), "position": int(position)}
        for word, weight, position in zip(words, weights.weights, weights.positions, strict=False)
    ]


@_rows.register
def _(result: TermWeights, answer: Answer[Any]) -> Rows:
    shown = prediction_json(answer)
    rows = [(each["word"], shown["tokens"][each["position"]], number_cell(each["weight"])) for each in shown["terms"]]
    return [("word", "from", "weight"), *rows], "llr"


@_json.register
def _(result: TermLedger, answer: Answer[Any]) -> dict[str, Any]:
    first, second = answer.drawn["first"], answer.drawn["second"]
    words = answer.drawn["shared_spelled"]
    rows = zip(words, result.first_positions, result.second_positions, result.shares, strict=False)
    return {
        **_json(first, answer),
        "pair_tokens": second.tokens.tokens,
        "pair_terms": _terms(second, answer.drawn["pair_spelled"]),
        "score": result.score,
        "shares": [
            {"word": word, "first": int(one), "second": int(other), "share": float(share)}
            for word, one, other, share in rows
        ],
    }


@_rows.register
def _(result: TermLedger, answer: Answer[Any]) -> Rows:
    shown = prediction_json(answer)
    rows = [
        (each["word"], shown["tokens"][each["first"]], shown["pair_tokens"][each["second"]], number_cell(each["share"]))
        for each in shown["shares"]
    ]
    return [("word", "from", "and from", "share"), *rows], "lllr"


@_json.register
def _(result: TagPrediction, answer: Answer[Any]) -> dict[str, Any]:
    entities: Any = answer.drawn["entities"]
    return {
        "text": result.tokens.text,
        "tokens": result.tokens.tokens,
        "labels": result.labels,
        "logits": result.logits,
        "entities": [{name: getattr(each, name) for name in ENTITY} for each in entities],
    }


@_rows.register
def _(result: TagPrediction, answer: Answer[Any]) -> Rows:
    in_pair = result.tokens.pair is not None
    rows = [
        (
            each["label"],
            _characters(each) + (" of the second text" if each["sequence"] else " of the first text") * in_pair,
            number_cell(each["score"], 3),
            escape_controls(each["text"]),
        )
        for each in prediction_json(answer)["entities"]
    ]
    return [("label", "characters", "score", "text"), *rows], "lrrl"


@_json.register
def _(result: AnswerPrediction, answer: Answer[Any]) -> dict[str, Any]:
    names, best = ("text", "start", "end", "score", "logit", "window"), result.windows[result.answers[0].window]
    return {
        "text": result.question,
        "answer": result.answer,
        "answers": [{name: getattr(each, name) for name in names} for each in result.answers],
        "null_logit": result.null_logit,
        "null_score": result.null_score,
        "windows": len(result.windows),
        "tokens": best.tokens,
        "start_logits": best.start_logits,
        "end_logits": best.end_logits,
    }


@_rows.register
def _(result: AnswerPrediction, answer: Answer[Any]) -> Rows:
    rows = [
        (
            each["label"],
            _characters(each),
            number_cell(each["score"], 3),
            number_cell(each["logit"], 3),
            escape_controls(each["text"]),
        )
        for each in answer_rows(result)
    ]
    return [("label", "characters", "score", "logit", "text"), *rows], "lrrrl"


def _answer_frame(prediction: AnswerPrediction) -> "pd.DataFrame":
    frame = pd.DataFrame(answer_rows(prediction))
    return frame.astype({"start": "Int64", "end": "Int64", "score": float, "window": "Int64"})


def _characters(span: dict[str, Any]) -> str:
    return "" if span["start"] is None else f"{span['start']}:{span['end']}"


@_json.register
def _(result: ClassPrediction, answer: Answer[Any]) -> dict[str, Any]:
    return {
        "text": result.tokens.text,
        "labels": result.labels,
        "logits": result.logits,
        "scoring": result.scoring,
        "probabilities": result.probabilities,
    }


@_rows.register
def _(result: ClassPrediction, answer: Answer[Any]) -> Rows:
    scores = result.logits if result.probabilities is None else result.probabilities
    name = PROBABILITIES[result.scoring]
    rows = [(printable_token(label), number_cell(value)) for label, value in zip(result.labels, scores, strict=True)]
    return [("label", name), *rows], "lr"


def _class_frame(shown: dict[str, Any]) -> "pd.DataFrame":
    columns = {name: shown[name] for name in ("logits", "probabilities") if shown[name] is not None}
    frame = pd.DataFrame(columns, index=pd.Index(shown["labels"], name="label"), dtype=np.float32)
    return frame.rename_axis(columns=shown["scoring"])


def ranking_json(ranking: Ranking) -> dict[str, Any]:
    """The JSON object of the `rank` command: the texts by descending score; `row` is the place in the list, from 0."""
    rank, cosine_rank = ranking.rank, ranking.cosine_rank
    return {
        "model": ranking.model,
        "sentence_model": ranking.sentence_model,
        "query": ranking.query,
        "label": ranking.label or None,
        "score_name": ranking.score_name,
        "scores": [
            {
                "row": index,
                "text": ranking.texts[index],
                "score": ranking.scores[index],
                "logit": None if ranking.by_tokens else ranking.logits[index],
                "rank": rank[index],
                "cosine": ranking.cosines[index],
                "cosine_rank": cosine_rank[index],
            }
            for index in ranking.order.tolist()
        ],
    }


def ranking_lines(ranking: Ranking) -> list[str]:
    """The query, what the score is, and a table of the texts by descending score."""
    of = f"probability of {printable_token(ranking.label)}, score" if ranking.label else "score"
    rows = [
        (
            f"{row['rank']:,}",
            number_cell(row["score"]),
            f"{row['cosine_rank']:,}",
            number_cell(row["cosine"]),
            printable_token(row["text"]),
        )
        for row in ranking_json(ranking)["scores"]
    ]
    first = (
        f"{ranking.model}: texts for {printable_token(ranking.query)!r}, {of}: {ranking.score_name}; cosines of "
        f"{ranking.sentence_model}"
    )
    return [first, "", *aligned([("rank", "score", "by cosine", "cosine", "text"), *rows], "rrrrl")]


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
