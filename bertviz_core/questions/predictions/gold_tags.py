"""The questions how well a tagger finds the entities of sentences with gold tags, and what a trainer makes of them."""

from collections.abc import Sequence
from dataclasses import replace

from bertviz_core.errors import Named, TextError
from bertviz_core.predictions.classes import OUTSIDE, output_names
from bertviz_core.predictions.probing import gold_tags as computation
from bertviz_core.predictions.probing.calibration import MOST_TEXTS, sampled
from bertviz_core.predictions.probing.results import TagScores, TokenLabels, WordTags
from bertviz_core.predictions.run import HeadModel, check_task
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice, flag, joined_names
from bertviz_core.questions.question import Answer, AnswerCost, Job, long_question, question
from bertviz_core.questions.tables.lines import json_bytes
from bertviz_core.resources import retained_nbytes
from bertviz_core.tables.tagged_words import TaggedWords, read_tagged, tagged_record
from bertviz_core.text import counted, repair_surrogates

TASK = "token-classification"
MODE = replace(
    choice(
        "tag_mode",
        computation.MODES,
        "which entities count, as in seqeval: those of conlleval, or strictly well-formed ones",
        "Entities",
    ),
    control="few",
)
ALIGNED = replace(
    choice("aligned", computation.ALIGNED, "which pieces of a word have its label for the loss", "Label of a word"),
    control="few",
)


def _reads_otherwise(opened: Opened, _: Options) -> bool:
    """Whether a word that is cut already is other tokens with a space in front."""
    return opened.tokenizer.tokenizer.is_fast and bool(computation.spaced_words(opened.tokenizer, [["word"]]))


SPACE = replace(
    flag(
        "add_prefix_space",
        "whether each word has the space in front that it has in a text, whatever the tokenizer's folder says",
        "add_prefix_space",
    ),
    applies=_reads_otherwise,
)
SENTENCE = Param("tagged_sentence", "position", "the sentence whose tokens are shown, from 1", label="Sentence")
NOTED = Param("tagged_notices", "text", "what must be known of the sentences, such as that they are a sample")
TAGS_FROM = choice("tags_from", ("example", "typed", "file"), "where the sentences come from", "Sentences")
TAGGED = Param("tagged_words", "text", "a word and its tag on each line, and a blank line between sentences")
EXAMPLE = (
    "Maria/B-PER Curie/I-PER was born in Warsaw/B-LOC and worked in Paris/B-LOC .",
    "In 1903 she shared the prize with Henri/B-PER Becquerel/I-PER .",
    "The University/B-ORG of/I-ORG Paris/I-ORG gave her a chair in 1906 .",
    "Her daughter Irene/B-PER went to Berlin/B-LOC for Siemens/B-ORG .",
)
"""Words, with their tag behind a slash where it is not O."""
NAMES = {
    "PER": ("per", "person", "pers"),
    "LOC": ("loc", "location", "gpe", "place"),
    "ORG": ("org", "organization", "organisation"),
}
"""Type of an entity in the example -> what heads call it, in lower case."""


def example(opened: Opened) -> TaggedWords | None:
    """Sentences with the types of the head among persons, places and organizations; None if it has none of them."""
    head = opened.head(TASK)
    labels, _ = output_names(head, head.model.config.num_labels)
    own = {name.casefold(): name for label in labels if (name := computation.parted(label)[1])}
    types = {usual: own[name] for usual, names in NAMES.items() for name in names if name in own}
    rows = [[each.partition("/") for each in sentence.split()] for sentence in EXAMPLE]
    tags = [[f"{tag[:2]}{types[tag[2:]]}" if tag[2:] in types else OUTSIDE for _, _, tag in row] for row in rows]
    return TaggedWords([[word for word, _, _ in row] for row in rows], tags, []) if types else None


def tagged_list(words: Sequence[Sequence[str]], labels: Sequence[Sequence[str | int]]) -> TaggedWords:
    """The sentences of a program of the reader's, checked as those of a file."""
    if len(words) != len(labels):
        raise TextError(f"words has {len(words):,} sentences and labels {len(labels):,}; give tags for each sentence.")
    rows = zip(words, labels, strict=True)
    read = [
        tagged_record(f"Sentence {place:,}", {"tokens": list(each), "tags": list(tags)})
        for place, (each, tags) in enumerate(rows, start=1)
    ]
    if any(not each for each, _, _ in read) or not read:
        raise TextError("There is no sentence, or one without words; give sentences of at least one word.")
    return TaggedWords([each for each, _, _ in read], [tags for _, tags, _ in read], [])


def tag_options(tagged: TaggedWords, **values: str) -> Options:
    """Options for sentences, of which those of a long list are a sample; values by the keys of their parameters."""
    places, notices = sampled(len(tagged.words)), list(tagged.notices)
    if places is not None:
        notices.append(
            f"A random sample of {MOST_TEXTS:,} of {counted(len(tagged.words), 'sentence')} is tagged (seed 0), and "
            "counted from 1."
        )
    texts = tuple(
        json_bytes({"tokens": tagged.words[at], "tags": tagged.tags[at]}).decode()
        for at in (range(len(tagged.words)) if places is None else places)
    )
    chosen = {**values, NOTED.key: joined_names(notices) if notices else ""}
    return Options(texts, values={key: value for key, value in chosen.items() if value})


def _read(options: Options) -> TaggedWords:
    """The sentences, each of which is a text: lines of CoNLL, or a JSON object."""
    if not options.texts:
        raise TextError("No sentence with gold tags came; give words with a tag each, in CoNLL lines or JSON objects.")
    read = [read_tagged("The list", repair_surrogates(text).encode()) for text in options.texts]
    words, tags = ([each for one in read for each in getattr(one, name)] for name in ("words", "tags"))
    return TaggedWords(words, tags, [*options.names(NOTED.key), *(each for one in read for each in one.notices)])


def _head(opened: Opened, options: Options) -> HeadModel:
    head = opened.head(options.task)
    check_task(head, TASK)
    return head


def _cost(opened: Opened, options: Options) -> AnswerCost:
    _head(opened, options)  # load before the work begins
    return AnswerCost(len(_read(options).words), nbytes=retained_nbytes(options.texts))


@long_question(_cost, params=(SPACE, NOTED), noun="sentences")
def word_tags(opened: Opened, options: Options, job: Job[WordTags]) -> Answer[WordTags]:
    """Gold and predicted tags of the words of sentences."""
    read, head = _read(options), _head(opened, options)
    tagged = computation.word_tags(head, opened.tokenizer, read.words, read.tags, options.flag(SPACE), job)
    return answered(opened, tagged, tuple(dict.fromkeys((*read.notices, *tagged.notices))))


@question(figures=("gold-tags",), params=(MODE, SPACE, NOTED))
def gold_tags(opened: Opened, options: Options) -> Answer[TagScores]:
    """Precision, recall and F1 of the entities of sentences with gold tags, and the errors."""
    mode = options.choice(MODE)
    known = word_tags(opened, options.only(SPACE, NOTED, task=options.task))
    scores = replace(computation.tag_scores(known.result, mode), notices=known.notices)
    return known.of(scores, tag_scores=scores)


@question(figures=("gold-labels",), params=(SENTENCE, ALIGNED, SPACE, NOTED))
def gold_labels(opened: Opened, options: Options) -> Answer[TokenLabels]:
    """Labels of the tokens of a sentence as a trainer sets them, and the predicted ones."""
    read, head = _read(options), _head(opened, options)
    labels, _ = output_names(head, head.model.config.num_labels)
    gold, _ = computation.gold_names(read.tags, labels, opened.name)
    at = options.whole(SENTENCE.key, len(gold) + 1, 1) - 1
    if at < 0:
        raise TextError(
            "Sentences are counted from 1; give a number up to ", f"{len(gold):,} as ", Named(SENTENCE.key), "."
        )
    aligned, space = options.choice(ALIGNED), options.flag(SPACE)
    result = computation.token_labels(head, opened.tokenizer, at, read.words[at], gold[at], aligned, space)
    return answered(opened, result, result.notices, token_labels=result)
