"""Read and check labelled texts: the example set, typed lines, or two columns of a table."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from csv import DictReader
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_core.errors import TextError
from bertviz_core.models.catalog import TEXTS_FILE, example_texts
from bertviz_core.predictions.probing.results import LabelledTexts
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.tables.cells import label_text
from bertviz_core.text import counted, quoted

EXAMPLE_SET = "topics"
"""Name of the example set: 220 short sentences about cooking, music, sport, travel and weather."""
MAX_TEXTS = 2_000
"""Maximum number of texts: their vectors of all layers of BERT-large take 200 MB, a fit some seconds per layer."""
MAX_CLASSES = 100
MOST_CHECKED = 10_000
"""Maximum number of texts whose labels are checked; more are sampled."""
LEAST_TEXTS = 2
"""Minimum number of texts per class: one for training and one for testing."""
LABEL_COLUMNS = ("label", "labels", "class", "category", "gold", "target", "topic", "intent", "sentiment")
"""Default names of the label column, in order of preference."""


@cache
def example_set() -> LabelledTexts:
    """Return short English sentences about five topics, written for this project."""
    with Path(__file__).with_name(f"{EXAMPLE_SET}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(DictReader(file))
    return LabelledTexts(EXAMPLE_SET, tuple(row["text"] for row in rows), tuple(row["label"] for row in rows))


@cache
def example_sets() -> tuple[LabelledTexts, ...]:
    """Return all labelled texts of this package: the example set, and those that the example run is tested on."""
    rows = list(DictReader(example_texts().decode().splitlines()))
    places = LabelledTexts(TEXTS_FILE, tuple(row["text"] for row in rows), tuple(row["label"] for row in rows))
    return example_set(), places


def fitting_set(classes: Sequence[str]) -> LabelledTexts | None:
    """Return the labelled texts whose labels are all classes of a head, in its spelling; None if there are none."""
    spelling = {name.casefold(): name for name in reversed(classes)}
    for labelled in example_sets():
        if {label.casefold() for label in labelled.labels} <= spelling.keys():
            return replace(labelled, labels=tuple(spelling[label.casefold()] for label in labelled.labels))
    return None


def config_classes(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a head's classes in a config; () if it names none."""
    named = config.get("id2label")
    return tuple(map(str, named.values())) if isinstance(named, Mapping) else ()


def typed_labels(lines: SentenceTable, check: "Check | None" = None) -> LabelledTexts:
    """Parse lines of the form label, tab, text, which are for a probe unless another check is given."""
    pairs = []
    for number, line in zip(lines.rows.tolist(), lines.sentences, strict=True):
        label, tab, text = line.partition("\t")
        if not tab or not label.strip() or not text.strip():
            raise TextError(
                f"Line {number} of {quoted(lines.name)} is no label and text: {quoted(line, 60)}. Write the label, a "
                "tab, then the text."
            )
        pairs.append((label.strip(), text.strip()))
    labels, texts = [label for label, _ in pairs], [text for _, text in pairs]
    return (check or checked)(lines.name, texts, labels, lines.notices, lines.rows.tolist())


def optional_labels(lines: SentenceTable) -> LabelledTexts:
    """Parse lines of a text with an optional tab and label; a missing label is ""."""
    pairs = [line.partition("\t")[::2] for line in lines.sentences]
    for number, (text, label) in zip(lines.rows.tolist(), pairs, strict=True):
        if not text.strip():
            raise TextError(f"Line {number} has a label, {quoted(label, 60)}, and no text; write the text before it.")
    if len(pairs) < LEAST_TEXTS:
        raise TextError(f"{quoted(lines.name)} has one text, which has no spread; give at least {LEAST_TEXTS}.")
    texts, labels = zip(*((text.strip(), label.strip()) for text, label in pairs), strict=True)
    return LabelledTexts(lines.name, texts, labels, lines.notices)


def drawn(labelled: LabelledTexts, count: int, seed: int = 0) -> LabelledTexts:
    """Draw a uniform random sample of the texts, in their original order; all texts if there are no more."""
    if count >= len(labelled.texts):
        return labelled
    chosen = sorted(np.random.default_rng(seed).choice(len(labelled.texts), count, replace=False).tolist())
    texts, labels = ([each[place] for place in chosen] for each in (labelled.texts, labelled.labels))
    return replace(labelled, texts=tuple(texts), labels=tuple(labels), rows=())


def column_labels(table: SentenceTable, column: str, check: "Check | None" = None) -> LabelledTexts:
    """Label the texts of a table by another column; rows without a label are left out and counted."""
    labels = gold_column(table, column)
    chosen = [place for place, label in enumerate(labels) if label]
    notices = table.notices
    if missing := len(labels) - len(chosen):
        notices = (*notices, f"{counted(missing, 'row')} without a label left out.")
    texts, gold = [table.sentences[at] for at in chosen], [labels[at] for at in chosen]
    return (check or checked)(table.name, texts, gold, notices, table.rows[chosen].tolist())


def gold_column(table: SentenceTable, column: str) -> tuple[str, ...]:
    """Return the cells of a column as labels, one per text; "" for an empty cell."""
    if column not in table.frame.columns:
        known = ", ".join(quoted(str(name), 40) for name in list(table.frame.columns)[:12]) or "none"
        raise TextError(
            f"{quoted(table.name)} has no column {quoted(column, 60)} beside its texts; those it has: {known}."
        )
    return tuple(map(label_text, table.frame[column].tolist()))


def label_column(table: SentenceTable) -> str | None:
    """Return the label column by its name, else the column with the fewest values; None if there is no other."""
    names = [str(name) for name in table.frame.columns]
    usual = [name for usual_name in LABEL_COLUMNS for name in names if name.lower() == usual_name]
    repeated = sorted(names, key=lambda name: len(set(gold_column(table, name))))
    return next(iter([*usual, *repeated]), None)


def checked(
    name: str,
    texts: Sequence[str],
    labels: Sequence[str],
    notices: Sequence[str] = (),
    rows: Sequence[int] = (),
    most: int = MAX_TEXTS,
) -> LabelledTexts:
    """Check that labelled texts are usable for a probe."""
    what, counts = quoted(name), Counter(labels)
    if not texts:
        raise TextError(f"{what} has no text with a label. Write a label, a tab and a text on each line.")
    if len(counts) < 2:
        raise TextError(
            f"{what} has one class, {quoted(labels[0], 60)}; a probe tells at least two apart. Add another."
        )
    if len(counts) > MAX_CLASSES:
        raise TextError(
            f"{what} has {len(counts):,} classes; at most {MAX_CLASSES} are possible. Is {quoted(labels[0], 60)} a "
            "label? Choose the column with the classes."
        )
    if len(texts) > most:
        raise TextError(f"{what} has {len(texts):,} labelled texts; at most {most:,} are fitted. Give a part of it.")
    rare = [label for label, count in counts.items() if count < LEAST_TEXTS]
    if rare:
        more = f" (and {len(rare) - 1:,} others)" if len(rare) > 1 else ""
        raise TextError(
            f"The class {quoted(rare[0], 60)}{more} has a single text; a probe is fitted on some texts of a class and "
            "tried on others. Add a second one, or leave it out."
        )
    return LabelledTexts(name, tuple(texts), tuple(labels), tuple(notices), tuple(rows))


Check = Callable[[str, Sequence[str], Sequence[str], Sequence[str], Sequence[int]], LabelledTexts]
"""From the name of a list, its texts, labels, notices and rows to the labelled texts."""


def checked_rows(
    name: str, texts: Sequence[str], labels: Sequence[str], notices: Sequence[str] = (), rows: Sequence[int] = ()
) -> LabelledTexts:
    """The texts whose labels can be checked, with their rows.

    Rows without a text or a label and classes with a single text are left out, and a long list is sampled; notices say
    so.
    """
    labels, rows, remarks = [label.strip() for label in labels], rows or range(1, len(texts) + 1), list(notices)
    places = [at for at, label in enumerate(labels) if label and texts[at].strip()]
    if missing := len(texts) - len(places):
        remarks.append(f"{counted(missing, 'row')} without a text or a label left out.")
    if (count := len(places)) > MOST_CHECKED:
        places = sorted(np.random.default_rng(0).choice(places, MOST_CHECKED, replace=False).tolist())
        remarks.append(f"The labels of {MOST_CHECKED:,} of {count:,} rows, drawn at random (seed 0), are checked.")
    counts = Counter(labels[at] for at in places)
    single = [label for label, count in counts.items() if count < LEAST_TEXTS]
    if single and len(single) == len(counts):
        raise TextError(
            f"Every class of {quoted(name)} has a single text, such as {quoted(single[0], 60)}; a label is checked by "
            "other texts of its class. Choose the column with the classes."
        )
    if single:
        named = ", ".join(quoted(label, 40) for label in single[:3]) + (", ..." if single[3:] else "")
        remarks.append(f"Left out because no other text has the same label: {counted(len(single), 'text')} ({named}).")
        places = [at for at in places if counts[labels[at]] >= LEAST_TEXTS]
    chosen, gold = [texts[at] for at in places], [labels[at] for at in places]
    return checked(name, chosen, gold, remarks, [rows[at] for at in places], MOST_CHECKED)
