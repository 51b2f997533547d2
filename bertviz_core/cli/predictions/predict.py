"""The command that asks a model's task head: words, classes, tags, answers, and whether a sentence is the next."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from bertviz_core.cli.options import JsonOption, ModelArgument, app
from bertviz_core.cli.output import print_json, print_lines, print_notices, printable_token, table
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.models.sources import resolve
from bertviz_core.predictions.answers import predicted_answers
from bertviz_core.predictions.classes import class_predictions
from bertviz_core.predictions.labelled.reading import gold_column
from bertviz_core.predictions.labelled.results import GoldScores, TextPredictions
from bertviz_core.predictions.labelled.scores import gold_scores
from bertviz_core.predictions.labelled.table import text_predictions
from bertviz_core.predictions.lens import word_lens
from bertviz_core.predictions.loading import PREDICTED, HeadModel, load_head
from bertviz_core.predictions.results import STRATEGIES, ClassPrediction, Strategy, TermWeights
from bertviz_core.predictions.surprise import pseudo_likelihood
from bertviz_core.predictions.tags import entities, tag_predictions
from bertviz_core.predictions.terms import term_ledger, term_weights
from bertviz_core.predictions.words import predicted_words
from bertviz_core.sentences.reading.files import read_sentences
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize

VIEWS = ("words", "surprise", "lens", "terms")
"""What a masked-LM head can be asked."""
TextsArgument = Annotated[str | None, typer.Argument(metavar="TEXT", help="The text, or the question.")]
PairOption = Annotated[str | None, typer.Option("--pair", help="A second text, or the context of a question.")]
TaskOption = Annotated[
    str | None, typer.Option("--task", help=f"{', '.join(PREDICTED)}; the checkpoint's own head by default.")
]
TopOption = Annotated[int, typer.Option("--top", metavar="K", help="Words, terms or answers that are listed.")]
MaskOption = Annotated[str, typer.Option("--mask", metavar="P,...", help="Positions to mask, as `tokens` counts them.")]
ViewOption = Annotated[str, typer.Option("--view", help=f"Of a masked-LM head: {', '.join(VIEWS)}.")]
JoinOption = Annotated[str, typer.Option("--join", help=f"How tags are joined: {', '.join(STRATEGIES)}.")]
FileOption = Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Texts: lines, CSV, TSV or Parquet.")]
GoldOption = Annotated[str, typer.Option("--gold", metavar="C", help="Column of the file with the right answers.")]
ColumnOption = Annotated[str, typer.Option("--column", metavar="C", help="Column of the file with the texts.")]


@app.command()
def predict(
    model: ModelArgument,
    text: TextsArgument = None,
    pair: PairOption = None,
    task: TaskOption = None,
    top: TopOption = 5,
    mask: MaskOption = "",
    view: ViewOption = "words",
    join: JoinOption = "simple",
    file: FileOption = None,
    column: ColumnOption = "",
    gold: GoldOption = "",
    as_json: JsonOption = False,
) -> None:
    """Ask a model's task head: words at a mask, classes, tags, answers."""
    strategy = next((name for name in STRATEGIES if name == join), None)
    if view not in VIEWS or strategy is None:
        option, value, known = ("--view", view, VIEWS) if view not in VIEWS else ("--join", join, STRATEGIES)
        raise TextError(f"There is no {option} {escape_controls(value[:20])!r}; choose {', '.join(known)}.")
    settings = Settings.from_environment(any_folder=True)
    contents = _contents(text, file, column, gold, settings)
    texts = (text or "",) if contents is None else contents.sentences
    source = resolve(model, settings)
    head, tokenizer = load_head(source, settings, task), load_tokenizer(source, settings)
    if view != "words" and head.task != "masked-lm":
        raise UnsupportedModelError(f"--view {view} asks for a masked-LM head; this one is for {head.task}.")
    about = {"model": model, "task": head.task, "model_class": head.model_class}
    if contents is not None and gold:
        pairs = None if pair is None else (pair,) * len(texts)
        predictions = text_predictions(head, tokenizer, texts, pairs, strategy)
        return _print_scores(about, predictions, gold_scores(predictions, gold_column(contents, gold)), as_json)
    ask = _Question(head, tokenizer, pair, top, _positions(mask), view, strategy)
    answers = ask.answers(texts)
    print_notices(list(dict.fromkeys(notice for answer in answers for notice in answer.pop("notices"))))
    if as_json:
        return print_json({**about, **(answers[0] if file is None else {"predictions": answers})})
    return print_lines(_lines(about, answers))


def _contents(text: str | None, file: Path | None, column: str, gold: str, settings: Settings) -> SentenceTable | None:
    if (text is None) == (file is None) or (gold and file is None):
        raise TextError("Give either one TEXT or a --file with many; --gold names a column of such a file.")
    if file is None:
        return None
    contents = read_sentences(file.name, file, settings, column or None)
    print_notices(contents.notices)
    return contents


def _print_scores(about: dict[str, Any], predictions: TextPredictions, scores: GoldScores, as_json: bool) -> None:
    """The answers beside their gold labels, how often they are right, and the mistakes, the most confident first."""
    print_notices((*predictions.notices, *scores.notices))
    names = ("gold", "answer", "score", "text")
    columns = (scores.gold, predictions.answers, np.round(predictions.scores, 4).tolist(), predictions.texts)
    listed = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    numbers = {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1}
    if as_json:
        more = {"classes": scores.classes, "confusion": scores.confusion, "mistakes": scores.mistakes}
        return print_json({**about, **numbers, **more, "predictions": listed})
    wrong = [[printable_token(str(cell)) for cell in listed[at].values()] for at in scores.mistakes.tolist()]
    told = " ".join(f"{name} {value:.4f}" for name, value in numbers.items())
    return print_lines([told, "", *table([names, *wrong], "llrl")])


def _positions(mask: str) -> list[int]:
    parts = [part.strip() for part in mask.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts):
        raise TextError(f"--mask {escape_controls(mask[:40])!r} is no list of positions; write such as 3,5.")
    return [int(part) for part in parts]


class _Question:
    """What a head is asked, and its answers as JSON objects."""

    def __init__(
        self,
        head: HeadModel,
        tokenizer: TextTokenizer,
        pair: str | None,
        top: int,
        masked: Sequence[int],
        view: str,
        strategy: Strategy,
    ) -> None:
        self.head, self.tokenizer, self.pair, self.top = head, tokenizer, pair, top
        self.masked, self.view, self.strategy = masked, view, strategy

    def answers(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """One object for each text, in their order."""
        if self.head.task == "question-answering":
            return [self._answers(text) for text in texts]
        if self.head.task == "masked-lm":
            return [
                {"words": self._words, "surprise": self._surprise, "lens": self._lens, "terms": self._terms}[self.view](
                    text
                )
                for text in texts
            ]
        tokens = [tokenize(self.tokenizer, text, self.pair) for text in texts]
        if self.head.task == "token-classification":
            return [self._tags(each) for each in tag_predictions(self.head, tokens)]
        return [_classes(each) for each in class_predictions(self.head, tokens)]

    def _words(self, text: str) -> dict[str, Any]:
        tokens = tokenize(self.tokenizer, text, self.pair)
        words = predicted_words(self.head, self.tokenizer, tokens, self.masked, self.top)
        spelled = [self.tokenizer.spelled(ids) for ids in words.top_ids.tolist()]
        return {
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

    def _surprise(self, text: str) -> dict[str, Any]:
        tokens = tokenize(self.tokenizer, text, self.pair)
        likelihood = pseudo_likelihood(self.head, self.tokenizer, tokens)
        return {
            "text": tokens.text,
            "tokens": tokens.tokens,
            "surprise": likelihood.surprise,
            "mean": likelihood.mean,
            "perplexity": likelihood.perplexity,
            "notices": likelihood.notices,
        }

    def _lens(self, text: str) -> dict[str, Any]:
        tokens = tokenize(self.tokenizer, text, self.pair)
        lens = word_lens(self.head, self.tokenizer, tokens, self.masked, self.top)
        return {
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

    def _terms(self, text: str) -> dict[str, Any]:
        first = term_weights(self.head, tokenize(self.tokenizer, text))
        weights = {"text": first.tokens.text, "tokens": first.tokens.tokens, "terms": self._term_rows(first)}
        if self.pair is None:
            return {**weights, "notices": first.notices}
        second = term_weights(self.head, tokenize(self.tokenizer, self.pair))
        ledger = term_ledger(first, second)
        words = self.tokenizer.spelled(ledger.ids[: self.top].tolist())
        rows = zip(words, ledger.first_positions, ledger.second_positions, ledger.shares, strict=False)
        shares = [
            {"word": word, "first": int(one), "second": int(other), "share": float(share)}
            for word, one, other, share in rows
        ]
        return {
            **weights,
            "pair_tokens": second.tokens.tokens,
            "pair_terms": self._term_rows(second),
            "score": ledger.score,
            "shares": shares,
            "notices": (*first.notices, *second.notices),
        }

    def _term_rows(self, terms: TermWeights) -> list[dict[str, Any]]:
        words = self.tokenizer.spelled(terms.ids[: self.top].tolist())
        return [
            {"word": word, "weight": float(weight), "position": int(position)}
            for word, weight, position in zip(words, terms.weights, terms.positions, strict=False)
        ]

    def _tags(self, prediction: Any) -> dict[str, Any]:
        listed = entities(prediction, self.tokenizer, self.strategy)
        return {
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

    def _answers(self, text: str) -> dict[str, Any]:
        prediction = predicted_answers(self.head, self.tokenizer, text, self.pair or "", self.top)
        best = prediction.windows[prediction.answers[0].window]
        return {
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


def _classes(prediction: ClassPrediction) -> dict[str, Any]:
    return {
        "text": prediction.tokens.text,
        "labels": prediction.labels,
        "logits": prediction.logits,
        "scoring": prediction.scoring,
        "probabilities": prediction.probabilities,
        "notices": prediction.notices,
    }


def _lines(about: dict[str, Any], answers: Sequence[dict[str, Any]]) -> list[str]:
    lines = [f"{about['model']}: {about['model_class']}, {about['task']}"]
    for answer in answers:
        if len(answers) > 1:
            lines += ["", printable_token(answer["text"])]
        rows, align = _rows(answer)
        lines += ["", *table(rows, align)]
        lines += [f"{name} {answer[name]:.4f}" for name in ("mean", "perplexity", "score") if name in answer]
    return lines


def _rows(answer: dict[str, Any]) -> tuple[list[tuple[str, ...]], str]:
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
