"""What the page Sentences shows of a threshold from labelled pairs."""

from collections.abc import Iterator
from dataclasses import replace

from bertviz_core.figures.sentences.thresholds import (
    best_words,
    pair_frame,
    reaching_words,
    sampled_words,
    thresholds_figure,
)
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, choice
from bertviz_core.questions.predictions.thresholds import (
    CUT,
    PRECISION,
    PRECISIONS,
    SCORES,
    VECTORS,
    by_cosine,
    offered_scores,
    threshold_options,
    thresholds,
)
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.texts.sentences import AS_LIST, BFLOAT16, QUERY_PROMPT, vector_options
from bertviz_core.questions.view import Ask, Figure, Metric, Metrics, Notices, Part, Table, Text
from bertviz_core.sentences.analysis.example_pairs import EXAMPLE_PAIRS
from bertviz_core.sentences.analysis.results import PairThresholds, Threshold
from bertviz_core.text import decimals, escape_markdown

EXAMPLE, TYPED, FILE = SOURCES = ("an example", "my own list", "file")
THRESHOLD = "Threshold"
"""Title of the view."""
LABELLED_FROM = choice("labelled_from", SOURCES, "where the labelled pairs come from", "Pairs", parts=True)
CONTROLS = (
    LABELLED_FROM,
    *SCORES,
    replace(CUT, applies=lambda _, options: options.get(LABELLED_FROM.key) in (TYPED, FILE)),
    PRECISION,
)
FOLDED = VECTORS
"""Its controls, and those behind a button."""
NO_PAIRS = (
    "Under **Pairs**, write pairs of texts with their labels, 1 or 0, or choose a file with two columns of texts and "
    "one of labels."
)
EXPLANATION = (
    "Each pair has a score: the cosine of its two vectors, or what the task head of a reranker gives for the first "
    "text as the query and the second. With a threshold, pairs with that score or more count as positive. *Precision* "
    "is the share of them that are positive by their label, *recall* the share of the positive pairs that are among "
    "them, *F1* their harmonic mean. There are as many thresholds as there are different scores; between two scores "
    "nothing changes. The bands are Wilson's 95% intervals (Wilson 1927): few pairs above a threshold tell little "
    "about its precision. *Average precision* is the mean of the precisions, weighted by the rise of the recall from "
    "one threshold to the next, as scikit-learn computes it. The bootstrap draws as many pairs with replacement 1,000 "
    "times (seed 0) and looks for the threshold with the largest F1 in each. The threshold is chosen and measured on "
    "the same pairs, so precision and recall on other pairs tend to be lower; and the precision depends on the share "
    "of positive pairs, which is often far smaller in use than in a labelled file."
)
MOST = 200
"""Most rows of a table that is not scrolled, pixels of one that is, and most rows."""


def thresholds_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Which threshold to take, the curves of all, and the pairs on the wrong side."""
    options = _plain(opened, options)
    answer = ask(thresholds, options)
    result = answer.result
    yield Figure.of(
        thresholds_figure,
        answer,
        f"thresholds {result.score_name} {result.model}",
        below=[
            Text(f"**{escape_markdown(best_words(result))}** {escape_markdown(reaching_words(result))}"),
            Text(escape_markdown(sampled_words(result)), "caption"),
            Notices(answer.notices, "caption"),
        ],
        **explained(EXPLANATION, thresholds, opened, options),
    )
    yield Metrics.of(
        Metric("Pairs", f"{result.positives:,} + {result.negatives:,}", "Positive pairs and negative ones."),
        Metric("Threshold, largest F1", _number(result.best), "The lowest score that counts as positive."),
        Metric(
            f"Threshold, precision {result.target:.4g}",
            _number(result.reaching),
            "The lowest threshold whose precision is at least this.",
        ),
        Metric(
            "Average precision",
            decimals(result.curve.average_precision, 3),
            "1 where every positive pair has a higher score than every negative one; the share of positive pairs where "
            "scores say nothing.",
        ),
    )
    yield from _mistakes(result)


def _mistakes(result: PairThresholds) -> Iterator[Part]:
    wrong = result.best.false_positives + result.best.false_negatives
    yield Text("**Pairs on the wrong side of the threshold with the largest F1**")
    if not wrong:
        yield Text("There is none.", "caption")
        return
    if wrong > MOST:
        yield Text(f"The first {MOST} of {wrong:,}, the farthest from the threshold.", "caption")
    frame = pair_frame(result).iloc[: min(wrong, MOST)].drop(columns="positive")
    yield Table(frame, "Pairs on the wrong side of the threshold, the farthest first")


def _number(threshold: Threshold | None) -> str:
    return "none" if threshold is None else decimals(threshold.threshold)


def _plain(opened: Opened, options: Options) -> Options:
    """The pairs, or those of the example, and of the parameters those that are not the default."""
    own = {"scored_by": offered_scores(opened, options)[0], "threshold_of": "score", PRECISION.key: PRECISIONS[0]}
    keys = [param.key for param in (*SCORES, CUT, PRECISION)]
    values = {key: options.get(key) for key in keys if options.get(key) not in ("", own.get(key))}
    if by_cosine(opened, options):
        vectors = vector_options(opened, replace(options, texts=options.texts or ("",))).values
        values |= {key: value for key, value in vectors.items() if key != BFLOAT16.key}
        prompt = options.get(QUERY_PROMPT.key, AS_LIST)
        values |= {QUERY_PROMPT.key: prompt} if prompt not in ("", AS_LIST) else {}
    if options.texts:
        return replace(options, values=values)
    firsts, seconds, labels = zip(*EXAMPLE_PAIRS, strict=True)
    return threshold_options((firsts, seconds, labels), values, options.task)
