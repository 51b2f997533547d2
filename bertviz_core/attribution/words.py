"""Attributions of words: units of a text, one left out, removed one by one, every class, two models."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from jaxtyping import Float

from bertviz_core.attribution.results import (
    AttributionComparison,
    ClassAttributions,
    Replacement,
    WordAttributions,
    WordCurve,
    WordCurves,
)
from bertviz_core.errors import Progress, TextError, no_progress
from bertviz_core.interventions.target_parsing import parse_target
from bertviz_core.interventions.targets import Measure, Target, class_target, probe_target, tag_target
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.classes import (
    NEXT_SENTENCE,
    check_measure,
    class_number,
    class_place,
    output_names,
    output_scoring,
)
from bertviz_core.predictions.masked_lm import MaskedRow, mask_id, masked_row
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.results import Scoring
from bertviz_core.predictions.run import HeadModel, check_task, one_length_groups
from bertviz_core.predictions.two_models import comparison_notices, unread_parts
from bertviz_core.sentences.encoding import plan_vectors
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.text import counted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.two_tokenizers import shared_spans, shared_words
from bertviz_core.trace.verification import ModelRow, check_recording, forward, reset_model_state
from bertviz_core.trace.word_alignment import Word, words

INSTEAD: dict[Replacement, str] = {"mask": "the mask token", "drop": "no token"}
"""Replacement of a removed token, in words."""


def text_units(tokens: Tokens, whole_words: bool) -> tuple[Word, ...]:
    """Return the words, or tokens, of a text without special tokens."""
    found = [word for word in words(tokens) if not tokens.special[list(word.positions)].any()]
    if not whole_words:
        found = [word._replace(positions=(place,), text="") for word in found for place in word.positions]
    if not found:
        raise TextError("The text has no word of its own that could be taken away; write one.")
    return tuple(found)


def unit_names(tokens: Tokens, units: Iterable[Word]) -> tuple[str, ...]:
    """Return the spelling of each unit in the text, or in the vocabulary."""
    return tuple(word.text or " ".join(tokens.tokens[place] for place in word.positions) for word in units)


class Remover:
    """Builds rows of a text without some of its tokens."""

    def __init__(self, target: Target, tokenizer: TextTokenizer, replacement: Replacement) -> None:
        """Prepare the removal of words."""
        self._tokens, self._replacement = target.tokens, replacement
        self._mask = reference_id(tokenizer) if replacement == "mask" else 0
        if replacement == "drop" and parse_target(target.name, has_pair=True).places:
            way = "replace words by the mask instead" if has_mask(tokenizer) else "take a target of the whole text"
            raise TextError(
                f"The {target.title} is read at a place of the text, which moves when tokens are dropped; {way}."
            )

    def without(self, positions: Iterable[int]) -> ModelRow:
        """Return the text without the tokens at some positions."""
        tokens, removed = self._tokens, sorted(set(positions))
        if self._replacement == "mask":
            return masked_row(tokens, removed, self._mask)
        types = tokens.token_type_ids
        return MaskedRow(
            np.delete(tokens.input_ids, removed),
            None if types is None else np.delete(types, removed),
            {name: np.delete(values, removed) for name, values in tokens.other_inputs.items()},
        )


def has_mask(tokenizer: TextTokenizer) -> bool:
    """Return whether the tokenizer has a mask token, which can replace a word."""
    return tokenizer.tokenizer.mask_token_id is not None


def reference_id(tokenizer: TextTokenizer) -> int:
    """Return the id of the mask token, the reference for a missing word."""
    return mask_id(tokenizer, "measure with the words dropped")


def row_values(
    target: Target, rows: Sequence[ModelRow], progress: Progress = no_progress
) -> Float[np.ndarray, "rows ..."]:
    """Compute the target of each row, one number or several; rows of equal length share a run if the family allows."""
    if not all(len(row) for row in rows):
        raise TextError("Without that word no token is left to run; write more words, or replace them by the mask.")
    values, done = np.empty(0), 0
    for group in one_length_groups(target.loaded, [len(row) for row in rows]):
        batch = [rows[index] for index in group]
        with RUN_LOCK, torch.inference_mode():
            check_recording(target.loaded)
            found = target.values(target.inputs(batch), [len(row) for row in batch])
        if not done:
            values = np.empty((len(rows), *found.shape[1:]), dtype=np.float64)
        values[group] = found.double().cpu().numpy()
        done += len(group)
        progress(done, len(rows))
    if not np.isfinite(values).all():
        raise TextError(f"The {target.title} is no finite number for this text, so no change of it can be measured.")
    return values


def leave_one_out(
    target: Target,
    tokenizer: TextTokenizer,
    whole_words: bool = True,
    replacement: Replacement = "mask",
    progress: Progress = no_progress,
) -> WordAttributions:
    """For each word, compute the target of the text minus that of the text without the word.

    Exact by definition: each share is the difference of two runs. The shares need not sum to the joint effect of all
    words, since words can be redundant.
    """
    started, remover = perf_counter(), Remover(target, tokenizer, replacement)
    units = text_units(target.tokens, whole_words)
    nothing = remover.without(place for unit in units for place in unit.positions)
    rows = [target.tokens, *(remover.without(unit.positions) for unit in units), *([nothing] if len(nothing) else [])]
    values = row_values(target, rows, progress)
    shares = (values[0] - values[1 : len(units) + 1]).astype(np.float32)
    return WordAttributions(
        model=target.loaded.name,
        target=target.name,
        title=target.title,
        unit=target.unit,
        method="leave-one-out",
        instead=INSTEAD[replacement],
        tokens=target.tokens,
        words=unit_names(target.tokens, units),
        positions=tuple(unit.positions for unit in units),
        shares=shares,
        clean=float(values[0]),
        reference=float(values[-1]) if len(nothing) else float("nan"),
        error=0.0,
        share_errors=np.zeros_like(shares),
        runs=len(rows),
        seconds=perf_counter() - started,
        notices=target.notices,
    )


RANDOM_ORDERS = 20
MOST_STEPS = 16
"""Maximum number of steps for a long text, spread evenly over its words."""


def word_curves(
    target: Target,
    tokenizer: TextTokenizer,
    shares: Sequence[WordAttributions],
    seed: int = 0,
    progress: Progress = no_progress,
) -> WordCurves:
    """Measure the target without the k strongest words and with them alone, for each method and random orders.

    Law: with no word removed every curve equals the clean target; with all removed, that of the fully masked reference.
    Keeping the first k words of an order equals removing the first n - k of its reverse, so random rows serve both
    curves.

    Args:
        shares: shares of this target's words, one per method.
    """
    started, positions = perf_counter(), shares[0].positions
    if any(each.positions != positions or each.target != target.name for each in shares):
        raise ValueError("curves are of the words of one text and one target")
    words = len(positions)
    counts = tuple(dict.fromkeys(np.linspace(0, words, min(words, MOST_STEPS) + 1).round().astype(int).tolist()))
    generator = np.random.default_rng(seed)
    orders = [tuple(generator.permutation(words).tolist()) for _ in range(RANDOM_ORDERS)]
    removed_sets: dict[frozenset[int], int] = {}
    removed = [_places(removed_sets, (order[:count] for count in counts)) for order in orders]
    remaining = [_places(removed_sets, (order[: words - count] for count in counts)) for order in orders]
    ranked = [each.ranked() for each in shares]
    without = [_places(removed_sets, (order[:count] for count in counts)) for order in ranked]
    alone = [_places(removed_sets, (order[count:] for count in counts)) for order in ranked]
    remover = Remover(target, tokenizer, "mask")
    rows = [remover.without(place for word in words_gone for place in positions[word]) for words_gone in removed_sets]
    values = row_values(target, rows, progress)
    return WordCurves(
        model=target.loaded.name,
        title=target.title,
        unit=target.unit,
        instead=INSTEAD["mask"],
        tokens=target.tokens,
        words=words,
        counts=counts,
        clean=float(values[removed_sets[frozenset()]]),
        reference=float(values[removed_sets[frozenset(range(words))]]),
        curves=tuple(
            WordCurve(each.method, _frozen(values[first]), _frozen(values[second]))
            for each, first, second in zip(shares, without, alone, strict=True)
        ),
        random=_frozen(values[np.array(removed)]),
        random_alone=_frozen(values[np.array(remaining)]),
        seed=seed,
        runs=len(rows),
        seconds=perf_counter() - started,
        notices=target.notices,
    )


def _places(known: dict[frozenset[int], int], rows: Iterable[tuple[int, ...]]) -> list[int]:
    """Return the index of each set of removed words among all distinct sets, which run once each."""
    return [known.setdefault(frozenset(row), len(known)) for row in rows]


def _frozen(values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    found = values.astype(np.float32)
    found.setflags(write=False)
    return found


MOST_CLASSES = 8
"""Maximum number of classes per text."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassOutputs:
    """All classes of a head or a probe, and a function that computes their logits for a batch of rows in one run."""

    target: Target
    """Target with the logits of all classes, (batch, classes), as values."""
    labels: tuple[str, ...]
    scoring: Scoring
    noun: str = "class"
    """Noun for an output: "class", "tag" for one of a token, "number" for one of a regression."""


def head_classes(head: HeadModel, tokens: Tokens) -> ClassOutputs:
    """Return the classes of a head for a text or a pair."""
    check_task(head, "sequence-classification", "next-sentence")
    count = len(NEXT_SENTENCE) if head.task == "next-sentence" else int(head.model.config.num_labels)
    labels, _ = output_names(head, count)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        reset_model_state(head.base.model, max(lengths))
        logits: torch.Tensor = forward(head.base, inputs, head.model)["logits"]
        return logits.float()

    scoring = output_scoring(head)
    target = replace(class_target(head, tokens, labels[0]), values=values)
    return ClassOutputs(target, labels, scoring, "number" if scoring == "number" else "class")


def tag_classes(head: HeadModel, tokens: Tokens, position: int) -> ClassOutputs:
    """Return the tags of one token."""
    check_task(head, "token-classification")
    labels, _ = output_names(head, int(head.model.config.num_labels))

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        reset_model_state(head.base.model, max(lengths))
        logits: torch.Tensor = forward(head.base, inputs, head.model)["logits"]
        return logits[:, position].float()

    return ClassOutputs(replace(tag_target(head, tokens, labels[0], position), values=values), labels, "softmax", "tag")


def probe_classes(probe: Probe, loaded: LoadedModel, tokenizer: TextTokenizer, text: str) -> ClassOutputs:
    """Return the classes of a fitted probe."""
    first = probe_target(probe, loaded, tokenizer, text, probe.classes[0])
    plan = SentencePlan(probe.pooling, probe.layer)
    weight, bias = (torch.tensor(array, device=loaded.device) for array in (probe.weight, probe.bias))

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        return (plan_vectors(loaded, plan, inputs, lengths) @ weight.T + bias).float()

    return ClassOutputs(replace(first, values=values), probe.classes, "softmax")


def class_attributions(
    classes: ClassOutputs,
    tokenizer: TextTokenizer,
    labels: Sequence[str] = (),
    measure: Measure = "logit",
    whole_words: bool = True,
    replacement: Replacement = "mask",
    progress: Progress = no_progress,
) -> ClassAttributions:
    """For each word and class, compute the value for the text minus that for the text without the word.

    The text is run once per word, whatever the number of classes. Law: the shares of a class equal those of
    leave_one_out for this class; for probabilities of exclusive classes, they sum to 0 over all classes.

    Args:
        labels: the classes to attribute; () for the likeliest MOST_CLASSES.
    """
    started, target = perf_counter(), classes.target
    check_measure(measure, classes.scoring, classes.labels)
    requested = [class_place(classes.labels, label, target.loaded.name) for label in dict.fromkeys(labels)]
    if len(requested) > MOST_CLASSES:
        raise TextError(f"{len(requested)} classes are requested; choose at most {MOST_CLASSES}.")
    remover, units = Remover(target, tokenizer, replacement), text_units(target.tokens, whole_words)
    rows = [target.tokens, *(remover.without(unit.positions) for unit in units)]
    logits = torch.from_numpy(row_values(target, rows, progress)).float()
    order = logits[0].argsort(descending=True, stable=True).tolist()
    places = [place for place in order if place in requested] if requested else order[:MOST_CLASSES]
    values = np.stack([class_number(logits, place, measure, classes.scoring).numpy() for place in places], axis=1)
    wide = values.astype(np.float64)
    shares, clean = (wide[0] - wide[1:]).astype(np.float32), values[0].copy()
    return ClassAttributions(
        model=target.loaded.name,
        measure=measure,
        instead=INSTEAD[replacement],
        tokens=target.tokens,
        words=unit_names(target.tokens, units),
        positions=tuple(unit.positions for unit in units),
        labels=tuple(classes.labels[place] for place in places),
        classes=len(classes.labels),
        noun=classes.noun,
        shares=shares,
        clean=clean,
        runs=len(rows),
        seconds=perf_counter() - started,
        notices=target.notices,
    )


def compared_attributions(
    first: WordAttributions, second: WordAttributions, whole_words: bool = True
) -> AttributionComparison:
    """Shares of the smallest parts of a text that are whole words of both models, or whole tokens.

    The share of a part is the sum of the shares of its words. Words of a model are in exactly one part, so the shares
    of all parts add up to those of all words.

    Args:
        whole_words: whether words have shares, rather than tokens.
    """
    tokens = _same_text(first, second)
    read = (shared_words if whole_words else shared_spans)(*tokens)
    places = [[part.first for part in read], [part.second for part in read]]
    units = [_units(each, positions) for each, positions in zip((first, second), places, strict=True)]
    joined = sum(max(len(one), len(other)) > 1 for one, other in zip(*units, strict=True))
    about = unread_parts(first.model, second.model, read)
    if joined:
        noun = "word" if whole_words else "token"
        verb = "is" if joined == 1 else "are"
        about.append(
            f"{counted(joined, 'part')} of the text {verb} several {noun}s of a model; the share is the sum of theirs."
        )
    return AttributionComparison(
        first,
        second,
        tuple(part.text for part in read),
        _sums(first, units[0]),
        _sums(second, units[1]),
        notices=comparison_notices(first.model, second.model, [*about, *first.notices, *second.notices]),
    )


def _same_text(first: WordAttributions, second: WordAttributions) -> tuple[Tokens, Tokens]:
    """The tokens of both models as parts of one text, which a model may read in lower case."""
    one, other = first.tokens, second.tokens
    texts = [(each.text, each.pair or "") for each in (one, other)]
    same = all(a.lower() == b.lower() and len(a) == len(b) for a, b in zip(*texts, strict=True))
    if not same:
        raise TextError(
            f"{first.model!r} and {second.model!r} read the text with different prompts before it, so their words are "
            "not compared."
        )
    return one, replace(other, text=one.text, pair=one.pair)


def _units(result: WordAttributions, parts: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Indices of the words of a model in each part, given by its token positions."""
    word_at = {place: index for index, places in enumerate(result.positions) for place in places}
    return [sorted({word_at[place] for place in positions if place in word_at}) for positions in parts]


def _sums(result: WordAttributions, units: Sequence[list[int]]) -> Float[np.ndarray, " parts"]:
    """Sum of the shares of each group of words; NaN for none. A single share stays as it is."""
    sums = [float(result.shares[each].astype(np.float64).sum()) if each else np.nan for each in units]
    return np.array(sums, dtype=np.float32)
