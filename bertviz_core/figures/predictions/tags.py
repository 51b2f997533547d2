"""Draw tags and entities of a text."""

from collections.abc import Sequence

from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, escape
from bertviz_core.figures.predictions.marked_text import Stretch, cut_label, marked_text
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.results import Entity, Strategy, TagPrediction
from bertviz_core.text import counted, escape_controls, shortened

SEQUENCES = ("First text", "Second text")


OUTSIDE = "O"


JOINED = {
    "none": "every token by itself",
    "simple": "neighbours of one tag joined",
    "first": "a word has the tag of its first piece",
    "average": "a word has the tag of its pieces' mean",
    "max": "a word has the tag of its surest piece",
}
"""Description of transformers' aggregation_strategy."""


def tag_hues(labels: Sequence[str]) -> dict[str, str]:
    """Return name of an entity -> colour, fixed by the order of the model's labels."""
    names = dict.fromkeys(_bare(label) for label in labels if label != OUTSIDE)
    return {name: HUES[place % len(HUES)] for place, name in enumerate(names)}


def tagged_stretches(prediction: TagPrediction, entities: Sequence[Entity], sequence: int) -> list[Stretch]:
    """Split a text, or its pair (sequence 1), into spans: labelled entities, and the text between them.

    If the tokenizer returns no character offsets, the tokens are joined by spaces.
    """
    hues = tag_hues(prediction.labels)
    own = sorted((each for each in entities if each.sequence == sequence), key=lambda each: each.first)
    tokens = prediction.tokens
    if tokens.offsets is None:
        return _of_tokens(prediction, own, sequence, hues)
    text, stretches, read = (tokens.pair or "") if sequence else tokens.text, [], 0
    for each in own:
        start, end = max(read, each.start or 0), max(read, each.end or 0)
        if start < end:
            stretches += [Stretch(text[read:start]), _marked(each, text[start:end], hues)]
            read = end
    return [*stretches, Stretch(text[read:])]


def _of_tokens(
    prediction: TagPrediction, entities: Sequence[Entity], sequence: int, hues: dict[str, str]
) -> list[Stretch]:
    tokens, stretches, read = prediction.tokens, [], -1
    by_first = {each.first: each for each in entities}
    for position, token in enumerate(tokens.tokens):
        if tokens.sequence[position] != sequence or position <= read:
            continue
        each = by_first.get(position)
        if each is not None:
            read = each.last
            stretches.append(_marked(each, " ".join(tokens.tokens[position : read + 1]), hues))
        else:
            stretches.append(Stretch(token))
        stretches.append(Stretch(" "))
    return stretches


def _marked(entity: Entity, text: str, hues: dict[str, str]) -> Stretch:
    label = cut_label(entity.label)
    hover = f"{escape(escape_controls(shortened(entity.text, 60)))}: {escape(label)}, {entity.score:.4f}"
    return Stretch(text, f"{label} {entity.score:.3f}", hues[_bare(entity.label)], hover=hover)


def _bare(label: str) -> str:
    """Return a tag without its position mark, the name of grouped tokens."""
    return label.split("-", 1)[-1]


def tagged_parts(
    prediction: TagPrediction, entities: Sequence[Entity], name: str = ""
) -> list[tuple[str, list[Stretch]]]:
    """Return the spans of the text and its pair, each with its heading; a single text gets the given name."""
    if prediction.tokens.pair is None:
        return [(name, tagged_stretches(prediction, entities, 0))]
    return [
        (f"{name}: {heading.lower()}" if name else heading, tagged_stretches(prediction, entities, sequence))
        for sequence, heading in enumerate(SEQUENCES)
    ]


def listed_entities(entities: Sequence[Entity]) -> str:
    """List entities with tag and score."""
    named = [f"{shortened(each.text, 60)} {each.label} {each.score:.3f}" for each in entities]
    return escape_controls("; ".join(named)) or "nothing is tagged"


def entity_frame(tag_prediction: TagPrediction, tag_entities: Sequence[Entity]) -> "pd.DataFrame":
    """A row for every entity."""
    frame = pd.DataFrame(
        {
            "tag": [each.label for each in tag_entities],
            "text": [each.text for each in tag_entities],
            "score": [each.score for each in tag_entities],
            "characters": ["" if each.start is None else f"{each.start}:{each.end}" for each in tag_entities],
            "tokens": [f"{each.first}–{each.last}" for each in tag_entities],
        }
    )
    if tag_prediction.tokens.pair is not None:
        frame["in"] = [SEQUENCES[each.sequence].lower() for each in tag_entities]
    return frame


@figure("tags", "predictions_tags", reported=True, table=entity_frame)
def tags_figure(tag_prediction: TagPrediction, tag_entities: Sequence[Entity], tag_strategy: Strategy) -> FigureSpec:
    """The text coloured by its entities."""
    entities = "1 entity" if len(tag_entities) == 1 else f"{len(tag_entities):,} entities"
    listed = counted(len(tag_entities), "token") if tag_strategy == "none" else entities
    title = f"Tags of the text: {listed} — {tag_prediction.model}"
    caption = f"{title}. {JOINED[tag_strategy].capitalize()}; the number is the probability of the tag"
    alt = f"{title}: {listed_entities(tag_entities)}"
    return FigureSpec.of(title, alt, caption, marked_text, tagged_parts(tag_prediction, tag_entities))
