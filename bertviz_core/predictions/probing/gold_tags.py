"""Gold tags of words that are cut already: labels of tokens as a trainer sets them, and scores of entities."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from jaxtyping import Int

from bertviz_core.errors import Progress, TextError, no_progress
from bertviz_core.predictions.classes import OUTSIDE, output_names, tag_predictions
from bertviz_core.predictions.probing.gold import class_places, label_places, read_as_places
from bertviz_core.predictions.probing.results import TagError, TaggedSpan, TagScores, TokenLabels, WordTags
from bertviz_core.predictions.run import HeadModel, row_outputs
from bertviz_core.tables.columns import listed
from bertviz_core.text import counted, quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, tokenize_words

DEFAULT, STRICT = MODES = ("default", "strict")
FIRST, ALL = ALIGNED = ("first piece", "all pieces")
IGNORED = -100
"""Label of a token that the loss of transformers leaves out."""
MOST_COMPARED = 256
"""Most sentences whose words are also read with a space in front."""
MARKS = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}
"""Mark of a tag, also of BILOU -> that of IOBES."""
Tags = Sequence[Sequence[str]]
"""A tag for each word of each sentence."""


def parted(tag: str) -> tuple[str, str]:
    """Mark and type of a tag: B begins, I continues, E ends, S stands alone; a tag without a mark continues."""
    mark, dash, name = tag.partition("-")
    return (MARKS[mark], name) if dash and mark in MARKS else (OUTSIDE, "") if tag == OUTSIDE else ("I", tag)


def spans(tags: Sequence[str], scheme: str = "") -> list[TaggedSpan]:
    """The entities of a sentence, as conlleval and seqeval read them.

    Args:
        scheme: "IOB2" (B I I) or "IOBES" (B I E, or S) where only well-formed ones count.
    """
    entities: list[tuple[int, str, str]] = []
    before = (OUTSIDE, "")
    for at, (mark, name) in enumerate(map(parted, tags)):
        if mark in "IE" and before[0] in "BI" and before[1] == name:
            start, marks, _ = entities[-1]
            entities[-1] = (start, marks + mark, name)
        elif mark != OUTSIDE:
            entities.append((at, mark, name))
        before = (mark, name)
    return [TaggedSpan(at, at + len(marks), name) for at, marks, name in entities if _counts(marks, scheme)]


def _counts(marks: str, scheme: str) -> bool:
    if scheme == "IOBES":
        return marks == "S" or (marks[0] == "B" and marks[-1] == "E")
    return not scheme or (marks[0] == "B" and "E" not in marks)


def word_tags(
    head: HeadModel,
    tokenizer: TextTokenizer,
    words: Tags,
    tags: Tags,
    add_prefix_space: bool = False,
    progress: Progress = no_progress,
) -> WordTags:
    """Predict a tag for each word of each sentence, and spell the gold tags as the head does."""
    labels, notices = output_names(head, head.model.config.num_labels)
    gold, about = gold_names(tags, labels, head.name)
    read = [tokenize_words(tokenizer, each, add_prefix_space) for each in words]
    about += _space_notice(tokenizer, words) if not add_prefix_space else []
    predicted: dict[int, dict[int, str]] = {}
    for index, (logits,) in row_outputs(head, read):
        best = logits.argmax(axis=-1).tolist()
        predicted[index] = {word: labels[best[place]] for word, place in first_pieces(read[index]).items()}
        progress(len(predicted), len(read))
    left = [len(each) - len(predicted[at]) for at, each in enumerate(words)]
    cut = sum(count for count, tokens in zip(left, read, strict=True) if any(tokens.tokens_cut))
    if cut:
        about.append(f"{counted(cut, 'word')} left out at the {tokenizer.cut_side} of texts: {tokenizer.limit.reason}.")
    if sum(left) > cut:
        about.append(f"{counted(sum(left) - cut, 'word')} left out, of which the tokenizer makes no token.")
    rows = [sorted(predicted[at]) for at in range(len(words))]
    return WordTags(
        model=head.name,
        labels=labels,
        words=tuple(tuple(words[at][word] for word in row) for at, row in enumerate(rows)),
        gold=tuple(tuple(gold[at][word] for word in row) for at, row in enumerate(rows)),
        predicted=tuple(tuple(predicted[at][word] for word in row) for at, row in enumerate(rows)),
        notices=(*tokenizer.notices, *head.notices, *notices, *about),
    )


def first_pieces(tokens: Tokens) -> dict[int, int]:
    """Word -> position of its first token, for words with a token."""
    ids = list(enumerate(tokens.word_ids or ()))
    return {word: place for place, word in reversed(ids) if word is not None}


def gold_names(tags: Tags, labels: Sequence[str], model: str) -> tuple[list[list[str]], list[str]]:
    """Gold tags, spelled as the labels of the head whose name or number they are, and a sentence on unknown ones."""
    every = list(dict.fromkeys(chain.from_iterable(tags)))
    places = label_places(every, labels)
    names = {tag: labels[places[tag]] if tag in places else _numbered(tag, labels, model) for tag in every}
    if len(every) == 1:
        raise TextError(
            f"All words have the gold tag {quoted(every[0], 40)}; give sentences with words of others, too."
        )
    known = {parted(label)[1] for label in labels}
    types = dict.fromkeys(parted(name)[1] for name in names.values() if name != OUTSIDE)
    unknown = [each for each in types if each not in known]
    if len(unknown) == len(types):
        raise TextError(
            f"No gold tag ({listed(unknown)}) is of the task head of {quoted(model)}; its labels are {listed(labels)}."
        )
    numbered = class_places(every, labels)
    notices = [read_as_places(numbered, labels)] if numbered else []
    if unknown:
        notices.append(f"The task head has no label for gold entities of {listed(unknown)}, so it misses them all.")
    return [[names[tag] for tag in row] for row in tags], notices


def _numbered(tag: str, labels: Sequence[str], model: str) -> str:
    """The label with the number that a tag is; a tag that is none as it is."""
    if not (tag.isascii() and tag.isdigit()):
        return tag
    if int(tag[:9]) >= len(labels):
        raise TextError(f"There is no label {tag[:9]} in {quoted(model)}; it has {len(labels):,}, numbered from 0.")
    return labels[int(tag)]


def _space_notice(tokenizer: TextTokenizer, words: Tags) -> list[str]:
    """A sentence on words that are other tokens with the space in front that they have in a text."""
    few = words[:MOST_COMPARED]
    changed = spaced_words(tokenizer, few)
    if not changed:
        return []
    word, alone, spaced = changed[0]
    return [
        f"The tokenizer does not put a space in front of words that are cut already (its add_prefix_space is off), so "
        f"{len(changed):,} of {counted(sum(map(len, few)), 'word')} become other tokens than in a text: "
        f"{quoted(word, 30)} is {listed(alone)}, and with add_prefix_space {listed(spaced)}."
    ]


def spaced_words(tokenizer: TextTokenizer, words: Tags) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """The words that are other tokens with a space in front: word, its tokens, and those with the space."""
    changed = []
    for sentence in words:
        alone, spaced = (_pieces(tokenize_words(tokenizer, sentence, space)) for space in (False, True))
        changed += [(sentence[at], alone[at], spaced[at]) for at in alone if at in spaced and alone[at] != spaced[at]]
    return changed


def _pieces(tokens: Tokens) -> dict[int, tuple[str, ...]]:
    pieces: dict[int, tuple[str, ...]] = {}
    for token, word in zip(tokens.tokens, tokens.word_ids or (), strict=True):
        if word is not None:
            pieces[word] = (*pieces.get(word, ()), token)
    return pieces


def tag_scores(tagged: WordTags, mode: str = DEFAULT) -> TagScores:
    """Precision, recall and F1 of the entities, and the errors."""
    marks = {parted(tag)[0] for tag in chain(tagged.labels, *tagged.gold)}
    if mode == STRICT and not marks & {"B", "S"}:
        raise TextError("No tag begins an entity (B-), so none is well-formed; score in the mode default.")
    scheme = "" if mode == DEFAULT else "IOBES" if marks & {"E", "S"} else "IOB2"
    gold, predicted = ([spans(row, scheme) for row in rows] for rows in (tagged.gold, tagged.predicted))
    both = list(zip(gold, predicted, strict=True))
    right = [set(first) & set(second) for first, second in both]
    counts = [Counter(each.type for each in chain.from_iterable(rows)) for rows in (gold, predicted, right)]
    types = sorted(counts[0].keys() | counts[1].keys())
    return TagScores(
        model=tagged.model,
        labels=tagged.labels,
        words=tagged.words,
        gold=tagged.gold,
        predicted=tagged.predicted,
        mode=mode,
        types=tuple(types),
        counts=np.array([[each[name] for each in counts] for name in types], dtype=np.int64).reshape(-1, 3),
        errors=tuple(error for at, (first, second) in enumerate(both) for error in tag_errors(at, first, second)),
        notices=tagged.notices,
    )


def tag_errors(sentence: int, gold: Sequence[TaggedSpan], predicted: Sequence[TaggedSpan]) -> list[TagError]:
    """The errors of a sentence.

    A wrong gold entity goes with the predicted one on the same words, else with one of its type that overlaps it,
    else with any that overlaps it, the largest overlap first; each goes with one at most.
    """
    missed, spurious = set(gold) - set(predicted), set(predicted) - set(gold)
    pairs = []
    for first in missed:
        for second in spurious:
            shared = min(first.end, second.end) - max(first.start, second.start)
            place = (first.start, first.end) == (second.start, second.end)
            same = first.type == second.type
            if shared > 0:
                pairs.append((not place, not same, -shared, first, second))
    errors = []
    for elsewhere, other, _, first, second in sorted(pairs):
        if first in missed and second in spurious:
            kind: Any = "wrong type" if not elsewhere else "wrong type and boundary" if other else "wrong boundary"
            errors.append(TagError(kind, sentence, first, second))
            missed.remove(first)
            spurious.remove(second)
    errors += [TagError("missed", sentence, each, None) for each in missed]
    errors += [TagError("spurious", sentence, None, each) for each in spurious]
    return sorted(errors, key=lambda error: error.gold or error.predicted or TaggedSpan(0, 0, ""))


def token_labels(
    head: HeadModel,
    tokenizer: TextTokenizer,
    sentence: int,
    words: Sequence[str],
    gold: Sequence[str],
    aligned: str = FIRST,
    add_prefix_space: bool = False,
) -> TokenLabels:
    """The labels of the tokens of a sentence, as examples of transformers set them (run_ner, label_all_tokens)."""
    read = tokenize_words(tokenizer, words, add_prefix_space)
    (prediction,) = tag_predictions(head, [read])
    ids = read.word_ids or ()
    return TokenLabels(
        model=head.name,
        sentence=sentence,
        aligned=aligned,
        tokens=read.tokens,
        words=tuple("" if word is None else words[word] for word in ids),
        outputs=prediction.labels,
        labels=_aligned([None if word is None else gold[word] for word in ids], ids, prediction.labels, aligned),
        probabilities=prediction.probabilities,
        notices=read.notices,
    )


def _aligned(
    tags: Sequence[str | None], words: Sequence[int | None], labels: Sequence[str], aligned: str
) -> Int[np.ndarray, " seq"]:
    """Number of the label of each token; the further pieces of a word that begins an entity continue it."""
    numbers = []
    for (before, word), tag in zip(pairwise((None, *words)), tags, strict=True):
        mark, name = parted(tag or OUTSIDE)
        further = word is not None and word == before
        if tag is None or (further and aligned == FIRST):
            numbers.append(IGNORED)
            continue
        spelled = [tag, f"I-{name}", name]
        if further and mark == "B":
            spelled = [f"I-{name}", tag, name]
        numbers.append(next((labels.index(each) for each in spelled if each in labels), IGNORED))
    return np.array(numbers, dtype=np.int64)
