"""How answers of one model and of two are shown."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from bertviz_core.figures.checkpoints.comparison import agreement_words, slices_frame
from bertviz_core.figures.sentences.ranking import (
    answer_logits,
    equal_words,
    heads_frame,
    interaction_frame,
    ranking_frame,
)
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import AnswerComparison, ScorePair, SlicedAnswers
from bertviz_core.predictions.results import (
    HEADS,
    AnswerPrediction,
    ClassPrediction,
    HeadScores,
    LateInteraction,
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
from bertviz_core.questions.tables.lines import Faces, every, fields, grid, number_cell, printable_token, records, table
from bertviz_core.text import counted, decimals, escape_controls, shortened, tied

ENTITY = ("label", "start", "end", "text", "score", "sequence")
"""Fields of an entity; sequence is 0 for the text and 1 for its pair."""
PROBABILITIES: Mapping[Scoring, str] = {
    "softmax": "probability",
    "sigmoid": "probability of each class by itself (sigmoid)",
    "number": "value",
}
"""Heading of the scores of a classifier."""


def prediction_json(answer: Answer[Any]) -> dict[str, Any]:
    """The JSON object of the answer for a text, without notices."""
    return PREDICTIONS[type(answer.result)].to_json(answer)


def prediction_lines(about: dict[str, Any], answers: Sequence[Answer[Any]]) -> list[str]:
    """The head (model, model_class, task), and a table for each text."""
    lines = [f"{about['model']}: {about['model_class']}, {about['task']}"]
    for answer in answers:
        shown = prediction_json(answer)
        if len(answers) > 1:
            lines += ["", printable_token(shown["text"])]
        lines += PREDICTIONS[type(answer.result)].to_lines(answer)
        lines += [f"{name} {number_cell(shown[name])}" for name in ("mean", "perplexity", "score") if name in shown]
    return lines


def prediction_frame(answer: Answer[Any]) -> "pd.DataFrame":
    """One row per class, entity, answer, term, or position with its best word; columns as in the JSON."""
    return PREDICTIONS[type(answer.result)].to_pandas(answer)


TEXT = "text=result.tokens.text tokens=result.tokens.tokens"
"""Keys of the tokens of an answer."""
places = partial(number_cell, places=3)


def _positions(answer: Answer[WordPrediction]) -> list[dict[str, Any]]:
    return [_word_position(answer.result, answer.drawn["spelled"], at) for at in range(len(answer.result.tokens))]


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


def _word_frame(answer: Answer[WordPrediction]) -> "pd.DataFrame":
    rows = [{**row, **{f"top_{key}": value for key, value in row["top"][0].items()}} for row in _positions(answer)]
    return pd.DataFrame(rows).drop(columns="top").set_index("position")


def _word(row: Mapping[str, Any]) -> str:
    return f"{printable_token(row['token'])}{' (masked)' if row['masked'] and row['rank'] is not None else ''}"


def _best_words(top: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{printable_token(each['token'])} {decimals(each['probability'], 3)}" for each in top)


MASKED_WORDS: Faces[Answer[WordPrediction]] = Faces(
    keys=f"{TEXT} positions",
    made={"positions": _positions},
    frame=_word_frame,
    rows="positions",
    columns={
        "position": ("position", str),
        "token": _word,
        "rank": "rank",
        "p": ("log_probability", lambda log: "" if log is None else decimals(float(np.exp(log)), 3)),
        "best words": ("top", _best_words),
    },
    align="rlrrl",
)
SURPRISE: Faces[Answer[PseudoLikelihood]] = Faces(
    keys=f"{TEXT} surprise=result.surprise mean=result.mean perplexity=result.perplexity",
    frame="token=result.tokens.tokens surprise=result.surprise",
    columns={"token": "token", "nats": ("surprise", lambda nats: "" if np.isnan(nats) else f"{nats:.4f}")},
)


def _lens_frame(answer: Answer[LogitLens]) -> "pd.DataFrame":
    words = [[cell[0] for cell in layer] for layer in answer.drawn["spelled"]]
    return pd.DataFrame(words, columns=answer.result.tokens.tokens).rename_axis("layer")


def _lens_rows(answer: Answer[LogitLens]) -> "pd.DataFrame":
    frame = _lens_frame(answer).T.add_prefix("layer ")
    frame.insert(0, "token", frame.index)
    return frame


LENS: Faces[Answer[LogitLens]] = Faces(
    keys=f"{TEXT} top probabilities log_probability=result.log_probability rank=result.rank entropy=result.entropy "
    "divergence=result.divergence",
    made={
        "top": lambda answer: answer.drawn["spelled"],
        "probabilities": lambda answer: np.exp(answer.result.top_log_probability),
    },
    frame=_lens_frame,
    rows=_lens_rows,
)


def _terms(weights: TermWeights, words: Any) -> list[dict[str, Any]]:
    return [
        {"word": word, "weight": float(weight), "position": int(position)}
        for word, weight, position in zip(words, weights.weights, weights.positions, strict=False)
    ]


def _at(tokens: Sequence[str], name: str) -> tuple[str, Callable[[int], str]]:
    """The token at a position of a row."""
    return name, tokens.__getitem__


TERMS: Faces[Answer[TermWeights]] = Faces(
    keys=f"{TEXT} terms",
    made={"terms": lambda answer: _terms(answer.result, answer.drawn["spelled"])},
    rows="terms",
    columns=lambda answer: {
        "word": ("word", str),
        "from": _at(answer.result.tokens.tokens, "position"),
        "weight": "weight",
    },
    align="llr",
)


def _shares(answer: Answer[TermLedger]) -> list[dict[str, Any]]:
    words, result = answer.drawn["shared_spelled"], answer.result
    rows = zip(words, result.first_positions, result.second_positions, result.shares, strict=False)
    return [
        {"word": word, "first": int(one), "second": int(other), "share": float(share)}
        for word, one, other, share in rows
    ]


TERM_SCORE: Faces[Answer[TermLedger]] = Faces(
    keys="text tokens terms pair_tokens pair_terms score=result.score shares",
    made={
        "text": lambda answer: answer.drawn["first"].tokens.text,
        "tokens": lambda answer: answer.drawn["first"].tokens.tokens,
        "terms": lambda answer: _terms(answer.drawn["first"], answer.drawn["spelled"]),
        "pair_tokens": lambda answer: answer.drawn["second"].tokens.tokens,
        "pair_terms": lambda answer: _terms(answer.drawn["second"], answer.drawn["pair_spelled"]),
        "shares": _shares,
    },
    rows="shares",
    columns=lambda answer: {
        "word": ("word", str),
        "from": _at(answer.drawn["first"].tokens.tokens, "first"),
        "and from": _at(answer.drawn["second"].tokens.tokens, "second"),
        "share": "share",
    },
    align="lllr",
)


def _entities(answer: Answer[TagPrediction]) -> list[dict[str, Any]]:
    return every(answer.drawn["entities"], *ENTITY)


def _tag_columns(answer: Answer[TagPrediction]) -> Mapping[str, Any]:
    texts = (" of the first text", " of the second text") if answer.result.tokens.pair is not None else ("", "")
    return {
        "label": ("label", str),
        "characters": lambda row: _characters(row) + texts[row["sequence"]],
        "score": ("score", places),
        "text": ("text", escape_controls),
    }


def _characters(span: Mapping[str, Any]) -> str:
    return "" if span["start"] is None else f"{span['start']}:{span['end']}"


TAGS: Faces[Answer[TagPrediction]] = Faces(
    keys=f"{TEXT} labels=result.labels logits=result.logits entities",
    made={"entities": _entities},
    frame=lambda answer: pd.DataFrame(_entities(answer), columns=list(ENTITY)),
    rows="entities",
    columns=_tag_columns,
    align="lrrl",
)


def _answer_keys(answer: Answer[AnswerPrediction]) -> dict[str, Any]:
    result = answer.result
    best = result.windows[result.answers[0].window]
    return {
        **fields(result, "text=question answer"),
        "answers": every(result.answers, "text start end score logit window"),
        **fields(result, "null_logit null_score null_difference"),
        "windows": len(result.windows),
        **fields(best, "tokens start_logits end_logits"),
    }


def _answer_frame(answer: Answer[AnswerPrediction]) -> "pd.DataFrame":
    frame = pd.DataFrame(answer_rows(answer.result))
    return frame.astype({"start": "Int64", "end": "Int64", "score": float, "window": "Int64"})


ANSWERS: Faces[Answer[AnswerPrediction]] = Faces(
    keys=_answer_keys,
    frame=_answer_frame,
    rows=lambda answer: answer_rows(answer.result),
    columns={
        "label": ("label", str),
        "characters": _characters,
        "score": ("score", places),
        "logit": ("logit", places),
        "text": ("text", escape_controls),
    },
    align="lrrrl",
    below=lambda answer: [] if answer.result.is_null else [escape_controls(answer.result.null_words())],
)


def _class_frame(answer: Answer[ClassPrediction]) -> "pd.DataFrame":
    columns = {name: each for name, each in fields(answer.result, "logits probabilities").items() if each is not None}
    frame = pd.DataFrame(columns, index=pd.Index(answer.result.labels, name="label"), dtype=np.float32)
    return frame.rename_axis(columns=answer.result.scoring)


def _class_rows(answer: Answer[ClassPrediction]) -> list[tuple[str, Any]]:
    result = answer.result
    scores = result.logits if result.probabilities is None else result.probabilities
    return list(zip(result.labels, scores, strict=True))


CLASSES: Faces[Answer[ClassPrediction]] = Faces(
    keys="text=result.tokens.text labels=result.labels logits=result.logits scoring=result.scoring "
    "probabilities=result.probabilities",
    frame=_class_frame,
    rows=_class_rows,
    columns=lambda answer: ("label", PROBABILITIES[answer.result.scoring]),
)
PREDICTIONS: Mapping[type, Faces[Answer[Any]]] = {
    WordPrediction: MASKED_WORDS,
    PseudoLikelihood: SURPRISE,
    LogitLens: LENS,
    TermWeights: TERMS,
    TermLedger: TERM_SCORE,
    TagPrediction: TAGS,
    AnswerPrediction: ANSWERS,
    ClassPrediction: CLASSES,
}
"""Kind of prediction of a head -> how its answer is shown."""


def _scores(ranking: Ranking) -> list[dict[str, Any]]:
    """The texts by descending score; `row` is the place in the list, from 0."""
    rank, cosine_rank = ranking.rank, ranking.cosine_rank
    return [
        {
            "row": index,
            "text": ranking.texts[index],
            "score": ranking.scores[index],
            "logit": None if ranking.by_tokens else ranking.logits[index],
            **_token_logits(ranking, index),
            "rank": rank[index],
            "cosine": ranking.cosines[index],
            "cosine_rank": cosine_rank[index],
        }
        for index in ranking.order.tolist()
    ]


def _token_logits(ranking: Ranking, index: int) -> dict[str, dict[str, float]]:
    logits = ranking.token_logits
    return {} if logits is None else {"token_logits": dict(zip(ranking.answers, logits[index].tolist(), strict=True))}


def _ranking_above(ranking: Ranking) -> list[str]:
    of = f"probability of {printable_token(ranking.label)}, score" if ranking.label else "score"
    return [
        f"{ranking.model}: texts for {printable_token(ranking.query)!r}, {of}: {ranking.score_name}; cosines of "
        f"{ranking.sentence_model}"
    ]


RANKING: Faces[Ranking] = Faces(
    keys="model sentence_model query label score_name equal_scores scores",
    made={"label": lambda ranking: ranking.label or None, "scores": _scores},
    frame=ranking_frame,
    above=_ranking_above,
    columns=lambda ranking: (
        *("rank", "score"),
        *(() if ranking.by_tokens else ("logit", *answer_logits(ranking, ranking.order))),
        *("by cosine", "cosine", "text"),
    ),
    below=lambda ranking: ["", sentence] if (sentence := equal_words(ranking)) else [],
)


def _text_scores(result: HeadScores) -> list[dict[str, Any]]:
    """The texts by descending weighted mean; `row` is the place in the list, from 0."""
    return [
        {
            "row": index,
            "text": result.texts[index],
            "score": result.scores[index],
            "dense": result.dense[index],
            "sparse": result.sparse[index],
            "multi_vector": result.multi_vector[index],
            "shared": [
                {"token": token, "product": float(product)}
                for token, product in zip(result.shared[index].tokens, result.shared[index].products, strict=True)
            ],
        }
        for index in result.order.tolist()
    ]


def _heads_above(result: HeadScores) -> list[str]:
    weights = ", ".join(f"{each:g}" for each in result.weights)
    return [
        f"{result.model}: texts for {printable_token(result.query)!r}; score: mean of the {', '.join(HEADS)} score "
        f"with the weights {weights}"
    ]


def _heads_below(result: HeadScores) -> list[str]:
    first = result.shared[int(result.order[0])]
    parts = zip(first.tokens[:SHARED_SHOWN], first.products, strict=False)
    listed = ", ".join(f"{printable_token(token)} {number_cell(float(product))}" for token, product in parts)
    more = len(first.tokens) - SHARED_SHOWN
    return ["", f"shared with the first: {listed or 'no token'}{f', {more:,} more' if more > 0 else ''}"]


SHARED_SHOWN = 8
THREE_HEADS: Faces[HeadScores] = Faces(
    keys="model query weights scores notices",
    made={"scores": _text_scores},
    frame=heads_frame,
    above=_heads_above,
    columns=("rank", "score", *HEADS, "text"),
    below=_heads_below,
)


def _query_tokens(result: LateInteraction) -> list[dict[str, Any]]:
    """The tokens of the query; `best` is a place in document_tokens, from 0."""
    rows = zip(result.query_tokens, result.expanded, result.largest, result.best, strict=True)
    return [
        {"token": token, "expanded": filled, "largest": value, "best": at, "document_token": result.document_tokens[at]}
        for token, filled, value, at in rows
    ]


def _interaction_above(result: LateInteraction) -> list[str]:
    kind = "mean" if result.mean else "sum"
    skipped = [f"not scored: {' '.join(map(printable_token, result.skipped))}"] if result.skipped else []
    return [
        f"{result.model}: score {number_cell(result.score)}, the {kind} of the largest {_product(result)} of "
        f"{len(result.query_tokens)} tokens",
        *skipped,
    ]


def _product(result: LateInteraction) -> str:
    return "cosine" if result.normalized else "dot product"


INTERACTION: Faces[LateInteraction] = Faces(
    keys="model query document score mean normalized trained dimensions tokens document_tokens skipped cosines notices",
    made={"tokens": _query_tokens},
    frame=interaction_frame,
    above=_interaction_above,
    columns=lambda result: {
        "token": "token",
        _product(result): "largest",
        "document token": "document token",
        "place": ("place", str),
        "": lambda row: "fills the query up" if row["expanded"] else "",
    },
)


MAX_ROWS, MAX_LABELS = 30, 12
"""Maximum number of texts, and of rows of the confusion matrix, in a terminal."""
MAX_TEXT_CHARACTERS = 70
LISTED = ("changed", "mended", "broken", "both wrong", "both right", "all")
"""Parts of the texts that can be listed."""


def _compared_keys(compared: AnswerComparison) -> dict[str, Any]:
    """Scores only with gold labels, texts as indices of `answers`."""
    scores: dict[str, Any] = {}
    if compared.gold is not None:
        scores = {
            "compared": len(compared.gold.first.compared),
            "accuracy": _score(compared.gold.accuracy),
            "macro_f1": _score(compared.gold.macro_f1),
            **fields(compared.gold, "mcnemar_p mended broken"),
        }
    return {
        **fields(compared, "first second"),
        "texts": len(compared.texts),
        **fields(compared, "agreement common labels confusion changed"),
        **scores,
        "answers": records(answer_comparison_frame(compared)),
        "notices": compared.notices,
    }


def p_value_text(value: float) -> str:
    """A p-value with its sign of comparison: "= 0.031", or "< 0.001" for one that would be printed as 0."""
    return f"= {value:.3f}" if value >= 0.001 else "< 0.001"


def _compared_lines(compared: AnswerComparison) -> list[str]:
    """The scores with their differences, one model's answers against the other's, and the texts that changed."""
    count = counted(len(compared.texts), "text")
    names = escape_controls(f"{compared.first} and {compared.second}")
    lines = [f"answers of {names} to {count}: {agreement_words(compared)}"]
    if compared.gold is not None:
        gold = compared.gold
        rows = [_score_row("accuracy", gold.accuracy), _score_row("macro-F1", gold.macro_f1)]
        header = (f"of {counted(len(gold.first.compared), 'text')}", "first", "second", "difference", "95% interval")
        mended, broken = len(gold.mended), len(gold.broken)
        lines += ["", *table(rows, header, "lrrrr"), ""]
        lines.append(f"{mended:,} mended, {broken:,} broken; McNemar's exact test: p {p_value_text(gold.mcnemar_p)}")
    if len(compared.labels) <= MAX_LABELS:
        lines += ["", "answers of the first (rows) and the second"]
        lines += grid("", compared.labels, compared.labels, compared.confusion.tolist(), str)
    parts = ("changed",) if compared.gold is None else ("mended", "broken")
    listed = [place for part in parts for place in listed_texts(compared, part)]
    frame = answer_comparison_frame(compared).loc[listed[:MAX_ROWS]]
    columns: dict[str, Any] = {name: name for name in ("kind", "gold label", "first", "second") if name in frame}
    columns["text"] = ("text", lambda text: shortened(escape_controls(text), MAX_TEXT_CHARACTERS))
    lines += ["", *table(frame, columns)] if listed else []
    more = len(listed) - MAX_ROWS
    return [*lines, *([f"... and {more:,} more; --json prints all"] if more > 0 else [])]


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


COMPARED_ANSWERS: Faces[AnswerComparison] = Faces(
    keys=_compared_keys, frame=answer_comparison_frame, lines=_compared_lines
)


def _slices(sliced: SlicedAnswers) -> list[dict[str, Any]]:
    """The texts of each slice as indices."""
    rows = zip(records(slices_frame(sliced)), sliced.slices, strict=True)
    return [{**row, "places": each.places} for row, each in rows]


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


SLICES: Faces[SlicedAnswers] = Faces(
    keys="by slices",
    made={"slices": _slices},
    frame=slices_frame,
    above=lambda sliced: [slices_sentence(sliced)],
    rows=lambda sliced: slices_frame(sliced).drop(columns=["low", "high"], errors="ignore"),
)


def listed_texts(compared: AnswerComparison, part: str) -> list[int]:
    """Indices of the texts of a part of the list.

    Mended texts come first, then broken ones, by the confidence of the second model; others keep their order.

    Args:
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
    return {**fields(score, "first second difference"), "interval": [score.low, score.high]}


def _score_row(name: str, score: ScorePair) -> tuple[str, ...]:
    first, second, *signed = fields(score, "first second difference low high").values()
    difference, low, high = (f"{'+' if each > 0 else ''}{number_cell(each)}" for each in signed)
    return name, number_cell(first), number_cell(second), difference, f"{low} to {high}"
