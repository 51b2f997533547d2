"""How the questions about texts are answered: what is run, and what the figures of the answer are made from."""

from collections.abc import Mapping, Sequence

from bertviz_core.api.drawing import OpenedModel, Option
from bertviz_core.api.results.answers import PredictionResult
from bertviz_core.api.results.base import FigureSource
from bertviz_core.api.results.causes import EffectsResult, WordsResult
from bertviz_core.api.results.runs import TraceResult
from bertviz_core.causes.effects import part_effects
from bertviz_core.causes.means import part_means
from bertviz_core.causes.targets import Target
from bertviz_core.causes.words.results import Replacement, ShareMethod
from bertviz_core.cli.predictions.answers import Question, TextAndPair
from bertviz_core.cli.predictions.causes import known_kind
from bertviz_core.cli.predictions.predict import known_question
from bertviz_core.cli.predictions.words import word_shares
from bertviz_core.models.skeleton import quietly
from bertviz_core.trace.run import trace


def figure_source(
    opened: OpenedModel,
    texts: Sequence[str] = (),
    pair: str | None = None,
    task: str | None = None,
    options: Mapping[str, Option] | None = None,
    made: Mapping[str, object] | None = None,
) -> FigureSource:
    """What the figures of an answer are made from; the task is the model's where none is named."""
    return FigureSource(opened, texts, pair, task or opened.task, options or {}, made or {})


def traced(opened: OpenedModel, text: str, pair: str | None) -> TraceResult:
    """One run on a text, or on a pair."""
    tokens = opened.tokens(text, pair)
    run = trace(opened.loaded, tokens)
    return TraceResult(run, figure_source(opened, (text,), pair, made={"tokens": tokens, "trace": run}))


def predicted(
    opened: OpenedModel,
    texts: Sequence[TextAndPair],
    task: str | None,
    top: int,
    mask: Sequence[int],
    view: str,
    join: str,
) -> list[PredictionResult]:
    """What the head of a task says of each text; classes and tags are run in batches."""
    head = opened.head(task or opened.task)
    strategy = known_question(view, join, head)
    with quietly():
        answers = Question(head, opened.tokenizer, top, list(mask), view, strategy).answers(texts)
    options: dict[str, Option] = {}
    if head.task == "masked-lm" and view in ("words", "lens"):
        options["mask"] = ",".join(map(str, mask)) or "none"
    if head.task == "token-classification":
        options["joined"] = join
    return [
        PredictionResult(answer, head, figure_source(opened, (text,), pair, head.task, options))
        for answer, (text, pair) in zip(answers, texts, strict=True)
    ]


def effects_of(
    opened: OpenedModel, texts: Sequence[TextAndPair], target: str | None, measure: str, kind: str
) -> list[EffectsResult]:
    """The effects of heads, blocks and layers on a number of the model, for each text."""
    known, limits = known_kind(kind), opened.settings
    means = part_means(opened.loaded, opened.tokenizer) if known == "mean" else None
    found = []
    for text, pair in texts:
        number = opened.target(text, pair, target, measure)
        effects = part_effects(number, known, means, None, limits.max_batch_bytes, limits.max_gradient_bytes)
        found.append(EffectsResult(effects, _about(opened, text, pair, target, measure, number)))
    return found


def words_of(
    opened: OpenedModel,
    text: str,
    pair: str | None,
    target: str | None,
    measure: str,
    method: tuple[ShareMethod, Replacement],
    whole_words: bool,
) -> WordsResult:
    """What each word of a text, or each token, adds to a number of the model."""
    number = opened.target(text, pair, target, measure)
    shares = word_shares(number, opened.tokenizer, method, whole_words, opened.settings.max_gradient_bytes)
    return WordsResult(shares, _about(opened, text, pair, target, measure, number, word_shares=shares))


def _about(
    opened: OpenedModel, text: str, pair: str | None, name: str | None, measure: str, target: Target, **made: object
) -> FigureSource:
    """What the figures of an answer about a target are made from."""
    options: dict[str, Option] = {"measure": measure}
    if name is not None:
        options["target"] = name
    return figure_source(opened, (text,), pair, options=options, made={"target": target, **made})
