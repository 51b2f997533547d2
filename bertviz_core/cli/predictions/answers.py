"""What a task head answers, as results and as the JSON objects and tables of the command `predict`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bertviz_core.cli.output import printable_token, table
from bertviz_core.predictions.answers import predicted_answers
from bertviz_core.predictions.classes import class_predictions
from bertviz_core.predictions.lens import word_lens
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.results import (
    AnswerPrediction,
    ClassPrediction,
    PseudoLikelihood,
    Strategy,
    TagPrediction,
    TermLedger,
    TermWeights,
    WordLens,
    WordPrediction,
)
from bertviz_core.predictions.surprise import pseudo_likelihood
from bertviz_core.predictions.tags import entities, tag_predictions
from bertviz_core.predictions.terms import term_ledger, term_weights
from bertviz_core.predictions.words import predicted_words
from bertviz_core.text import escape_controls
from bertviz_core.trace.tokenization import TextTokenizer, tokenize

Prediction = (
    WordPrediction
    | PseudoLikelihood
    | WordLens
    | TermWeights
    | TermLedger
    | ClassPrediction
    | TagPrediction
    | AnswerPrediction
)
"""What a head answers: one kind of result for each task, and for each view of a masked-LM head."""
TextAndPair = tuple[str, str | None]
"""A text, and the second text of the same input or None."""


class Answered(NamedTuple):
    """An answer of a head."""

    data: Prediction
    """The result."""
    shown: dict[str, Any]
    """It as a JSON object, with the notices."""


class Question:
    """What a head is asked, and its answers: each a result and the JSON object of the command `predict`."""

    def __init__(
        self,
        head: HeadModel,
        tokenizer: TextTokenizer,
        top: int,
        masked: Sequence[int],
        view: str,
        strategy: Strategy,
    ) -> None:
        self.head, self.tokenizer, self.top = head, tokenizer, top
        self.masked, self.view, self.strategy = masked, view, strategy

    def answers(self, texts: Sequence[TextAndPair]) -> list[Answered]:
        """One answer for each text and its second text, in their order; classes and tags are run in batches."""
        if self.head.task == "question-answering":
            return [self._answers(*each) for each in texts]
        if self.head.task == "masked-lm":
            by_view = {"words": self._words, "surprise": self._surprise, "lens": self._lens, "terms": self._terms}
            return [by_view[self.view](*each) for each in texts]
        tokens = [tokenize(self.tokenizer, text, pair) for text, pair in texts]
        if self.head.task == "token-classification":
            return [self._tags(each) for each in tag_predictions(self.head, tokens)]
        return [Answered(each, _classes(each)) for each in class_predictions(self.head, tokens)]

    def _words(self, text: str, pair: str | None) -> Answered:
        tokens = tokenize(self.tokenizer, text, pair)
        words = predicted_words(self.head, self.tokenizer, tokens, self.masked, self.top)
        spelled = [self.tokenizer.spelled(ids) for ids in words.top_ids.tolist()]
        shown = {
            "text": tokens.text,
            "tokens": tokens.tokens,
            "positions": [
                {
                    "position": position,
                    "token": tokens.tokens[position],
                    "masked": bool(words.masked[position]),
                    "log_probability": None if words.typed[position] else float(words.log_probability[position]),
                    "rank": None if words.typed[position] else int(words.rank[position]),
                    "top": [
                        {
                            "token": spelled[position][place],
                            "id": int(words.top_ids[position, place]),
                            "probability": float(np.exp(words.top_log_probability[position, place])),
                            "log_probability": float(words.top_log_probability[position, place]),
                            "logit": float(words.top_logits[position, place]),
                        }
                        for place in range(words.top_ids.shape[1])
                    ],
                }
                for position in range(len(tokens))
            ],
            "notices": words.notices,
        }
        return Answered(words, shown)

    def _surprise(self, text: str, pair: str | None) -> Answered:
        tokens = tokenize(self.tokenizer, text, pair)
        likelihood = pseudo_likelihood(self.head, self.tokenizer, tokens)
        shown = {
            "text": tokens.text,
            "tokens": tokens.tokens,
            "surprise": likelihood.surprise,
            "mean": likelihood.mean,
            "perplexity": likelihood.perplexity,
            "notices": likelihood.notices,
        }
        return Answered(likelihood, shown)

    def _lens(self, text: str, pair: str | None) -> Answered:
        tokens = tokenize(self.tokenizer, text, pair)
        lens = word_lens(self.head, self.tokenizer, tokens, self.masked, self.top)
        shown = {
            "text": tokens.text,
            "tokens": tokens.tokens,
            "top": [[self.tokenizer.spelled(ids) for ids in layer] for layer in lens.top_ids.tolist()],
            "probabilities": np.exp(lens.top_log_probability),
            "log_probability": lens.log_probability,
            "rank": lens.rank,
            "entropy": lens.entropy,
            "divergence": lens.divergence,
            "notices": lens.notices,
        }
        return Answered(lens, shown)

    def _terms(self, text: str, pair: str | None) -> Answered:
        first = term_weights(self.head, tokenize(self.tokenizer, text))
        weights = {"text": first.tokens.text, "tokens": first.tokens.tokens, "terms": self._term_rows(first)}
        if pair is None:
            return Answered(first, {**weights, "notices": first.notices})
        second = term_weights(self.head, tokenize(self.tokenizer, pair))
        ledger = term_ledger(first, second)
        words = self.tokenizer.spelled(ledger.ids[: self.top].tolist())
        rows = zip(words, ledger.first_positions, ledger.second_positions, ledger.shares, strict=False)
        shares = [
            {"word": word, "first": int(one), "second": int(other), "share": float(share)}
            for word, one, other, share in rows
        ]
        shown = {
            **weights,
            "pair_tokens": second.tokens.tokens,
            "pair_terms": self._term_rows(second),
            "score": ledger.score,
            "shares": shares,
            "notices": (*first.notices, *second.notices),
        }
        return Answered(ledger, shown)

    def _term_rows(self, terms: TermWeights) -> list[dict[str, Any]]:
        words = self.tokenizer.spelled(terms.ids[: self.top].tolist())
        return [
            {"word": word, "weight": float(weight), "position": int(position)}
            for word, weight, position in zip(words, terms.weights, terms.positions, strict=False)
        ]

    def _tags(self, prediction: TagPrediction) -> Answered:
        listed = entities(prediction, self.tokenizer, self.strategy)
        shown = {
            "text": prediction.tokens.text,
            "tokens": prediction.tokens.tokens,
            "labels": prediction.labels,
            "logits": prediction.logits,
            "entities": [
                {"label": each.label, "start": each.start, "end": each.end, "text": each.text, "score": each.score}
                for each in listed
            ],
            "notices": prediction.notices,
        }
        return Answered(prediction, shown)

    def _answers(self, text: str, pair: str | None) -> Answered:
        prediction = predicted_answers(self.head, self.tokenizer, text, pair or "", self.top)
        best = prediction.windows[prediction.answers[0].window]
        shown = {
            "text": prediction.question,
            "answers": [
                {"text": each.text, "start": each.start, "end": each.end, "score": each.score, "logit": each.logit}
                for each in prediction.answers
            ],
            "null_logit": prediction.null_logit,
            "windows": len(prediction.windows),
            "tokens": best.tokens,
            "start_logits": best.start_logits,
            "end_logits": best.end_logits,
            "notices": prediction.notices,
        }
        return Answered(prediction, shown)


def _classes(prediction: ClassPrediction) -> dict[str, Any]:
    return {
        "text": prediction.tokens.text,
        "labels": prediction.labels,
        "logits": prediction.logits,
        "scoring": prediction.scoring,
        "probabilities": prediction.probabilities,
        "notices": prediction.notices,
    }


def answer_lines(about: dict[str, Any], answers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which head was asked, and a table for each text."""
    lines = [f"{about['model']}: {about['model_class']}, {about['task']}"]
    for answer in answers:
        if len(answers) > 1:
            lines += ["", printable_token(answer["text"])]
        rows, align = _rows(answer)
        lines += ["", *table(rows, align)]
        lines += [f"{name} {answer[name]:.4f}" for name in ("mean", "perplexity", "score") if name in answer]
    return lines


def _rows(answer: Mapping[str, Any]) -> tuple[list[tuple[str, ...]], str]:
    """The table of one answer: its rows, the heading first, and how the columns are aligned."""
    told: list[tuple[str, ...]]
    if "positions" in answer:
        return [("position", "token", "rank", "p", "best words"), *map(_word_row, answer["positions"])], "rlrrl"
    if "surprise" in answer:
        pairs = zip(answer["tokens"], answer["surprise"].tolist(), strict=True)
        told = [(printable_token(token), "" if np.isnan(nats) else f"{nats:.4f}") for token, nats in pairs]
        return [("token", "nats"), *told], "lr"
    if "divergence" in answer:
        columns = [
            [printable_token(token), *[_best(layer[at]) for layer in answer["top"]]]
            for at, token in enumerate(answer["tokens"])
        ]
        heading = ["token", *[f"layer {layer}" for layer in range(len(answer["top"]))]]
        return [tuple(row) for row in (heading, *columns)], "l" * len(heading)
    if "shares" in answer:
        first, second = answer["tokens"], answer["pair_tokens"]
        told = [
            (each["word"], first[each["first"]], second[each["second"]], f"{each['share']:.4f}")
            for each in answer["shares"]
        ]
        return [("word", "from", "and from", "share"), *told], "lllr"
    if "terms" in answer:
        told = [(each["word"], answer["tokens"][each["position"]], f"{each['weight']:.4f}") for each in answer["terms"]]
        return [("word", "from", "weight"), *told], "llr"
    if "entities" in answer or "answers" in answer:
        spans = answer.get("entities", answer.get("answers", ()))
        told = [
            (
                each.get("label", "answer"),
                f"{each['start']}:{each['end']}",
                f"{each['score']:.3f}",
                escape_controls(each["text"]),
            )
            for each in spans
        ]
        return [("label", "characters", "score", "text"), *told], "lrrl"
    scores = answer["logits"] if answer["probabilities"] is None else answer["probabilities"]
    name = "value" if answer["probabilities"] is None else "probability"
    told = [(printable_token(label), f"{value:.4f}") for label, value in zip(answer["labels"], scores, strict=True)]
    return [("label", name), *told], "lr"


def _word_row(place: dict[str, Any]) -> tuple[str, ...]:
    known = place["rank"] is not None
    best = ", ".join(f"{_best([each['token']])} {each['probability']:.3f}" for each in place["top"])
    return (
        str(place["position"]),
        f"{printable_token(place['token'])}{' (masked)' if place['masked'] and known else ''}",
        f"{place['rank']:,}" if known else "",
        f"{np.exp(place['log_probability']):.3f}" if known else "",
        best,
    )


def _best(words: Sequence[str]) -> str:
    return printable_token(words[0])
