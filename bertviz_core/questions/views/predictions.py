"""The page Predictions: what the head of a model answers to a text, how sure it is, and what an edit changes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bertviz_core.errors import BertvizError, CheckpointError, MissingFilesError, TextError, UnsupportedModelError
from bertviz_core.figures.base.spec import DeclaredFigure
from bertviz_core.figures.predictions.classes import (
    answers_change_figure,
    classes_change_figure,
    classes_figure,
    comparison_frame,
    next_sentence_figure,
    predictions_compared_figure,
    tags_change_figure,
    words_change_figure,
)
from bertviz_core.figures.predictions.marked_text import answer_map_figure, answers_figure
from bertviz_core.figures.predictions.masked_lm import (
    lens_figure,
    masked_text_figure,
    score_figure,
    surprise_figure,
    terms_figure,
    words_figure,
)
from bertviz_core.figures.predictions.tags import tags_figure
from bertviz_core.figures.tokens import SPELLED
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.models.catalog import PREDICTS
from bertviz_core.predictions.classes import is_number
from bertviz_core.predictions.masked_lm import TRAINED, mask_id
from bertviz_core.predictions.run import PREDICTED, head_lack, stored_tasks, word_count
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.predictions import masked_lm, predict
from bertviz_core.questions.predictions.two_models import ENTITIES, VIEW, compared_predictions
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import call_lines, explained, library_lines, opening_lines
from bertviz_core.questions.tables.two_models.predictions import what_changed
from bertviz_core.questions.texts.tokens import EDITED, EDITED_PAIR, tokens
from bertviz_core.questions.view import (
    Ask,
    Click,
    Explained,
    Figure,
    Metric,
    Metrics,
    Notices,
    Part,
    PutTexts,
    Run,
    SecondModel,
    Section,
    Show,
    Table,
    Text,
    View,
)
from bertviz_core.questions.views.answered import SWAPS
from bertviz_core.questions.views.labelled.answer_list import ASKED_FROM
from bertviz_core.questions.views.labelled.answer_list import TITLE as ANSWER_LIST
from bertviz_core.questions.views.labelled.label_errors import TITLE as LABEL_ERRORS
from bertviz_core.questions.views.texts import predictions as texts
from bertviz_core.questions.views.tokens import clicked_token
from bertviz_core.text import escape_markdown, shortened

WORDS, SEQUENCE, TAGGING, ANSWERING, NEXT = PREDICTED
STATE = Param(
    "layer",
    "layer",
    "the hidden state that the task head reads",
    values=lambda opened, _: [state_name(entry) for entry in range(opened.loaded.num_hidden_layers + 1)],
)
QUOTED, TALLEST = 60, 320
"""Most characters of a text on a button, and most pixels of an open table."""
MANY = 0.05
"""Most terms of a SPLADE head, as a share of the vocabulary."""
SCORES = {"score": "%.4f", "logit": "%.3f"}


@dataclass(frozen=True, slots=True)
class Heads:
    """The task heads of a model."""

    tasks: tuple[str, ...]
    """Tasks whose heads are complete; empty if the model has no head."""
    words: str
    """Class with the head, its task, device and number format, in one line."""
    notices: tuple[str, ...] = ()
    refusal: str = ""
    """Why there is no complete head; "" if there is one."""
    task: str = ""
    """Task of an incomplete head."""


def whole_heads(opened: Opened) -> Heads:
    """Return the complete heads of a model."""
    try:
        tasks = stored_tasks(opened.source)
    except UnsupportedModelError as error:
        lack = head_lack(opened.source).removeprefix("has ")
        return Heads((), lack, refusal=str(error).partition(";")[0] + ".")
    try:
        head = opened.head(tasks[0])
    except MissingFilesError:
        raise
    except CheckpointError as error:
        return Heads((), f"a task head for {PREDICTS[tasks[0]]} that is not whole", refusal=str(error), task=tasks[0])
    named = "a number" if is_number(head) else " and ".join(PREDICTS[task] for task in tasks)
    # The class that is run for a task has that head only.
    saved = str((opened.source.config.get("architectures") or [""])[0])
    words = f"{head.model_class}, a task head for {named}" if len(tasks) == 1 else f"{saved}, task heads for {named}"
    return Heads(tasks, f"{words}, run on {head.base.device} in {head.base.dtype}", head.notices)


def about_predictions(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """The heads of the model."""
    heads = whole_heads(opened)
    return heads.words, [Notices(heads.notices, "caption")]


def section(show: Show, *params: Param, run: bool = False, above: Show | None = None, example: str = "") -> Show:
    """A view with controls of its own, which runs the model on the text, or reads two texts."""

    def parts(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
        if run:
            yield Notices(ask(tokens, options.only()).notices)
            yield Run(WORDS)
        yield Section(params, show, above, example)

    return parts


def words_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The text with its masks, and the best words at a position, with the original one and the reader's own."""
    place = options.only(masked_lm.MASK, masked_lm.POSITION)
    try:
        answer = ask(masked_lm.words_at_position, options.only(masked_lm.MASK, masked_lm.POSITION, masked_lm.COMPARE))
    except BertvizError as error:
        if not options.get(masked_lm.COMPARE.key):
            raise
        yield Text(escape_markdown(str(error)), "warning")
        answer = ask(masked_lm.words_at_position, place)
    prediction, position, own = answer.result, int(answer.drawn["word_position"]), answer.drawn["compared_word"]
    masked = np.flatnonzero(prediction.masked & ~prediction.typed).tolist()
    original = texts.original_words(prediction, position, word_count(opened.head(WORDS)))
    yield Figure.of(
        words_figure,
        answer,
        f"words at position {position} {opened.name}",
        explanation=texts.WORDS,
        code=texts.words_code(opened, prediction.tokens, masked, position),
        below=[Text(original), *([] if own is None else [Text(escape_markdown(own.note), "caption")])],
    )
    yield compared(opened, ask, replace(place, task=WORDS), "words")


def masked_text(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The text with clickable tokens; its head runs at all positions after that at one, which a click shows."""
    yield Figure.of(
        masked_text_figure,
        ask(masked_lm.masked_words, options.only(masked_lm.MASK, masked_lm.POSITION)),
        f"masked text {opened.name}",
        numbers="in files",
        scrolled=True,
        click=Click(masked_lm.MASK, clicked_token, also=(masked_lm.POSITION,)),
        below=[Text(f"{texts.MARKS} {SPELLED}", "caption")],
    )


def surprise_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The text coloured by the surprise of its tokens, and the surprise of the whole text."""
    read = ask(tokens, options.only())
    yield Notices(read.notices)
    if (read.result.input_ids == mask_id(opened.tokenizer)).any():
        yield from filled_masks(opened, ask, options)
        return
    answer = ask(masked_lm.surprise, options.only())
    result = answer.result
    most = int(np.nanargmax(result.surprise))
    each = int((~np.isnan(result.surprise)).sum())
    metrics = (
        Metric("Mean surprise", f"{result.mean:.3f} nats", f"{texts.NAT} Of all tokens that are not special."),
        Metric("PPPL", f"{result.perplexity:,.1f}", "exp(mean surprise): 1 for a text without any surprise."),
        Metric("Tokens", f"{each:,}", "Of the text, special tokens not counted: each was masked once."),
    )
    words = (
        f"Of all tokens the most surprising: **{texts.spelled_token(result.tokens, most)}** at position {most}, "
        f"**{float(result.surprise[most]):.3f}** nats."
    )
    yield Figure.of(
        surprise_figure,
        answer,
        f"surprise {opened.name}",
        explanation=texts.SURPRISE,
        code=texts.surprise_code(opened, result.tokens),
        scrolled=True,
        below=[Metrics(metrics), Text(words), Text(SPELLED, "caption")],
    )
    yield compared(opened, ask, options.only(task=WORDS), "surprise")


def filled_masks(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Offer the likeliest replacements of the masks of a text."""
    mask = opened.tokenizer.mask_word
    yield Text(
        f"The text has {escape_markdown(mask)} in it, whose word is not known, so neither is its surprise. Write the "
        "word, or take the likeliest; **Masked words** lists more.",
        "notice",
    )
    result = ask(masked_lm.masked_words, replace(options, values={masked_lm.MASK.key: masked_lm.NO_MASK})).result
    filled = [options.text(), options.pair or ""]
    for place in np.flatnonzero(result.typed).tolist():
        spelling = opened.tokenizer.spelled([int(result.top_ids[place, 0])])
        word = str(opened.tokenizer.tokenizer.convert_tokens_to_string(list(spelling))).strip()
        which = result.tokens.sequence[place] or 0
        which = which if mask in filled[which] else 1 - which
        filled[which] = filled[which].replace(mask, word, 1)
    if mask not in "".join(filled):
        shown = " / ".join(f"“{escape_markdown(shortened(each, QUOTED))}”" for each in filled if each)
        yield PutTexts(f"Take {shown}", "fill_masks", filled[0], filled[1])


def lens_map(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The best word of every layer and position."""
    answer = ask(masked_lm.lens, options.only(masked_lm.MASK, masked_lm.LENS))
    norm = answer.result.final_norm
    normalised = f" The other layers' states were normalised by {norm}, as the last is." if norm else ""
    yield Figure.of(
        lens_figure,
        answer,
        f"lens {opened.name}",
        **explained(texts.LENS, masked_lm.lens, opened, options.only(masked_lm.MASK)),
        cells=(STATE, masked_lm.POSITION),
        below=[Text(escape_markdown(f"Choose a cell to list its words. {TRAINED}{normalised}"), "caption")],
    )
    yield Section((STATE, masked_lm.POSITION), cell_view)


def cell_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The words of one cell of the lens."""
    result = ask(masked_lm.lens, options.only(masked_lm.MASK, masked_lm.LENS)).result
    entry, position = int(options.get(STATE.key)), int(options.get(masked_lm.POSITION.key))
    yield Text(texts.cell_words(result, entry, position))
    logs = result.top_log_probability[entry, position].astype(float)
    words = opened.tokenizer.spelled(result.top_ids[entry, position].tolist())
    columns = {"rank": range(1, len(logs) + 1), "word": words, "probability": np.exp(logs), "log-probability": logs}
    yield Table(pd.DataFrame(columns), "Best words of the chosen cell", 250)
    yield compared(opened, ask, options.only(masked_lm.MASK, masked_lm.POSITION, task=WORDS), "lens")


def expanded_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The expanded terms of the text; for a pair its score and the share of each word."""
    yield Run(WORDS)
    yield Section((masked_lm.SHOWN,) if options.pair is None else (masked_lm.TERMS, masked_lm.SHOWN), terms_view)


def terms_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The terms of a text, or the score of two by words."""
    if masked_lm.of_both(options):
        yield from score_view(opened, ask, options)
        return
    of = masked_lm.terms_text(options)
    known = ask(masked_lm.term_weights, of)
    weights = known.result
    yield _own_notices(opened, known, WORDS)
    if len(weights.ids):
        answer = ask(masked_lm.terms, replace(of, values=options.only(masked_lm.SHOWN).values))
        many = len(weights.ids) > MANY * word_count(opened.head(WORDS))
        yield Figure.of(
            terms_figure,
            answer,
            f"expanded terms {opened.name}",
            explanation=texts.TERMS,
            code=texts.terms_code(opened, weights.tokens, len(answer.drawn["term_words"])),
            below=[Text(texts.NOT_SPLADE, "caption")] if many else (),
        )
    else:
        yield Text("No word of the vocabulary has a weight above 0 for this text; write another.", "notice")
    if options.pair is None:
        words = "A second text, under Second text, gives the score of the two, and what each word gives to it."
        yield Text(words, "caption")


def score_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The score of two texts by words."""
    known = ask(masked_lm.shared_terms, options.only())
    yield _own_notices(opened, known, WORDS)
    if not len(known.result.ids):
        words = "The two texts have no term in common, so their score is 0; write texts that are nearer."
        yield Text(words, "notice")
        return
    answer = ask(masked_lm.term_ledger, options.only(masked_lm.SHOWN))
    first, second = answer.drawn["term_weights"], answer.drawn["second_weights"]
    metrics = (
        Metric("Score", f"{answer.result.score:.3f}", "Dot product of the two texts' term weights."),
        Metric("Words in common", f"{len(answer.result.ids):,}", "Words with a weight in both texts."),
        Metric("Of the first text", f"{len(first.ids):,}", "Its expanded terms."),
        Metric("Of the second text", f"{len(second.ids):,}", "Its expanded terms."),
    )
    yield Figure.of(
        score_figure,
        answer,
        f"score by word {opened.name}",
        formats={"share": "percent"},
        explanation=texts.SCORE,
        code=texts.score_code(opened, first.tokens, second.tokens, len(answer.drawn["ledger_words"])),
        below=[Metrics(metrics)],
    )


def classes_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The classes of the text, as bars."""
    if opened.head(SEQUENCE).answers and options.pair is None:
        yield Section((), class_bars, example=SEQUENCE)
        return
    answer = ask(predict.classes, options.only(task=SEQUENCE))
    yield Section((predict.ORDER,) if len(answer.result.labels) > 1 else (), class_bars)
    yield compared(opened, ask, options.only(task=SEQUENCE))


def class_bars(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The probability of each class."""
    of = options.only(predict.ORDER, task=SEQUENCE)
    answer = ask(predict.classes, of)
    prediction, own_class = answer.result, not hasattr(opened.head(SEQUENCE).model, "scored")
    yield Figure.of(
        classes_figure,
        answer,
        f"classes {opened.name}",
        explanation=texts.READ + texts.HOW[prediction.scoring],
        code=(
            texts.classes_code(opened, SEQUENCE, prediction.tokens, prediction.scoring)
            if own_class
            else library_lines(predict.classes, opened, of)
        ),
        below=[_own_notices(opened, answer, SEQUENCE), Text(texts.class_words(prediction))],
    )


def next_bars(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Whether the second text follows the first."""
    answer = ask(predict.next_sentence, options.only(task=NEXT))
    prediction = answer.result
    yield Figure.of(
        next_sentence_figure,
        answer,
        f"next sentence {opened.name}",
        explanation=texts.NEXT,
        code=texts.classes_code(opened, NEXT, prediction.tokens, prediction.scoring),
        below=[_own_notices(opened, answer, NEXT), Text(texts.class_words(prediction))],
    )
    yield compared(opened, ask, options.only(task=NEXT))


def tagged_text(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The entities of the text."""
    of = options.only(predict.JOINED, task=TAGGING)
    answer = ask(predict.tags, of)
    listed = answer.drawn["tag_entities"]
    untagged = "Every token has the tag O: this task head sees no entity here."
    yield Figure.of(
        tags_figure,
        answer,
        f"tags {opened.name}",
        numbers="open",
        height=TALLEST,
        formats=SCORES,
        **explained(texts.TAGS, predict.tags, opened, of),
        scrolled=True,
        below=[_own_notices(opened, answer, TAGGING), *([] if listed else [Text(untagged, "caption")])],
    )
    yield compared(opened, ask, options.only(task=TAGGING), joined=of.choice(predict.JOINED))


def marked_answers(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The context with its best answers."""
    of = options.only(predict.LONGEST, task=ANSWERING)
    answer = ask(predict.answers, of)
    where = (
        "The question is the text under Text, the context that under Second text. Below an answer stand its place and "
        "its score; an answer is darker the likelier it is."
    )
    yield Figure.of(
        answers_figure,
        answer,
        f"answers {opened.name}",
        numbers="open",
        height=TALLEST,
        formats=SCORES,
        **explained(texts.ANSWERS, predict.answers, opened, of),
        scrolled=True,
        below=[_own_notices(opened, answer, ANSWERING), Text(texts.null_words(answer.result)), Text(where, "caption")],
    )
    yield Section((predict.WINDOW,), span_map)
    yield compared(opened, ask, of)


def span_map(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The probability of every span of one window."""
    answer = ask(predict.answer_map, options.only(predict.LONGEST, predict.WINDOW, task=ANSWERING))
    name = f"answer map {opened.name}"
    yield Figure.of(answer_map_figure, answer, name, below=[Text(texts.MAP, "caption")])


def change_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Fields for the edited version, both answers, and what changed."""
    yield Section((predict.HEAD_OF,) if len(stored_tasks(opened.source)) > 1 else (), edited_view)


def edited_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Fields for the edited version of what the head reads."""
    task = options.get(predict.HEAD_OF.key) or stored_tasks(opened.source)[0]
    of_two = task in (ANSWERING, NEXT) or (task == SEQUENCE and bool(opened.head(SEQUENCE).answers))
    yield Section((EDITED, EDITED_PAIR), change_of(task), example=task if of_two else "")


def change_of(task: str) -> Show:
    """What an edit changes in the answer of a head."""

    def show(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
        for param, what in ((EDITED, "edited text"), (EDITED_PAIR, "edited second text")):
            if param.key in options.values and not options.get(param.key).strip():
                raise TextError(f"The {what} is empty; write the version that is to be compared.")
        yield Text(texts.edit_words(options))
        params, shown, _ = CHANGE_VIEWS[task]
        yield Section(params, partial(shown, task=task))

    return show


def _change(opened: Opened, answer: Answer[Any], what: str, task: str, words: str, **more: Any) -> Part:
    """A figure of both versions."""
    more["explanation"] = f"{more['explanation']} {texts.CHANGE}"
    below = [_own_notices(opened, answer, task), Text(words)]
    return Figure.of(CHANGE_VIEWS[task][2], answer, f"{what} before and after {opened.name}", below=below, **more)


def changed_classes(opened: Opened, ask: Ask, options: Options, task: str) -> Iterator[Part]:
    """Classes of both versions."""
    of = options.only(EDITED, EDITED_PAIR, task=task)
    answer = ask(predict.classes_change, of)
    before, after = answer.result
    words = f"The text: {texts.class_words(before)}  \nEdited: {texts.class_words(after)}"
    code = library_lines(predict.classes_change, opened, of)
    yield _change(opened, answer, "classes", task, words, explanation=texts.HOW[before.scoring], code=code)


def changed_tags(opened: Opened, ask: Ask, options: Options, task: str) -> Iterator[Part]:
    """Entities of both versions."""
    answer = ask(predict.tags_change, options.only(predict.JOINED, EDITED, EDITED_PAIR, task=task))
    edited = Options((options.get(EDITED.key),), options.values.get(EDITED_PAIR.key), task, options.values)
    calls = [call_lines(predict.tags, each.only(predict.JOINED)) for each in (options, edited)]
    listed = (answer.drawn[name] for name in ("tag_entities", "edited_entities"))
    before, after = (sorted({f"{each.text} ({each.label})" for each in entities}) for entities in listed)
    code = "\n".join([opening_lines(opened, task), *calls])
    how: dict[str, Any] = {"formats": SCORES, "scrolled": True, "explanation": texts.TAGS, "code": code}
    yield _change(opened, answer, "tags", task, texts.gone_and_new(before, after), **how)


def changed_answers(opened: Opened, ask: Ask, options: Options, task: str) -> Iterator[Part]:
    """Answers to both versions."""
    of = options.only(predict.LONGEST, EDITED, EDITED_PAIR, task=task)
    answer = ask(predict.answers_change, of)
    before, after = answer.result
    first, second = before.answers[0], after.answers[0]
    same = "stays the same" if before.answer == after.answer else f"becomes **{escape_markdown(after.answer)}**"
    words = (
        f"The best answer, **{escape_markdown(before.answer)}**, {same}; the best span's score goes from "
        f"{first.score:.3f} to {second.score:.3f} ({second.score - first.score:+.3f}).".replace("(-", "(−")
    )
    code = library_lines(predict.answers_change, opened, of)
    how: dict[str, Any] = {"formats": SCORES, "scrolled": True, "explanation": texts.ANSWERS, "code": code}
    yield _change(opened, answer, "answers", task, words, **how)


def changed_words(opened: Opened, ask: Ask, options: Options, task: str) -> Iterator[Part]:
    """Words at a mask in both versions."""
    of = options.only(EDITED, EDITED_PAIR, masked_lm.GUESS)
    answer = ask(masked_lm.word_shift, of)
    shift = answer.result
    first, second = (f"**{escape_markdown(shift.words[int(each.argmax())])}**" for each in (shift.before, shift.after))
    best = f"stays {first}" if first == second else f"goes from {first} to {second}"
    words = f"The best word {best}; the whole distributions differ by **{shift.divergence:.3f}** nats (KL)."
    code = library_lines(masked_lm.word_shift, opened, of)
    yield _change(opened, answer, "words", task, words, explanation=texts.SHIFT, code=code)


Changed = tuple[tuple[Param, ...], Callable[..., Iterator[Part]], DeclaredFigure[...]]
CHANGE_VIEWS: Mapping[str, Changed] = {
    WORDS: ((masked_lm.GUESS,), changed_words, words_change_figure),
    SEQUENCE: ((), changed_classes, classes_change_figure),
    TAGGING: ((predict.JOINED,), changed_tags, tags_change_figure),
    ANSWERING: ((predict.LONGEST,), changed_answers, answers_change_figure),
    NEXT: ((), changed_classes, classes_change_figure),
}
"""Task -> controls, parts and figure of the comparison of its answers."""


def compared(opened: Opened, ask: Ask, options: Options, view: str = "", joined: str = "") -> Part:
    """What the second model predicts for the same text, and what changed; one sentence where they are not compared.

    Args:
        view: what to compare for masked-LM heads: "words", "surprise" or "lens"; "" for other heads.
        joined: how tagged tokens become entities, which are then compared too; "" for heads that do not tag.
    """

    def show(other: str) -> Iterator[Part]:
        values = {OTHER.key: other, **({VIEW.key: view} if view else {}), **options.values}
        whole = replace(options, values=values)
        # Only the surprise takes long.
        answer = ask(compared_predictions, whole) if view == "surprise" else compared_predictions(opened, whole)
        models = " ".join(dict.fromkeys((answer.result.first, answer.result.second)))
        known = opened.head(options.task).notices  # shown at the top of the page
        yield Text(escape_markdown(what_changed(answer.result)))
        yield Figure.of(
            predictions_compared_figure,
            answer,
            f"{answer.result.kind} {models}",
            **explained(texts.COMPARED, compared_predictions, opened, whole),
            below=[Notices([each for each in answer.notices if each not in known], "caption")],
        )
        if joined:
            entities = replace(whole, values={**values, VIEW.key: ENTITIES, predict.JOINED.key: joined})
            result = compared_predictions(opened, entities).result
            yield Text(f"**Entities**  \n{escape_markdown(what_changed(result))}")
            if len(frame := comparison_frame(result)):
                yield Table(frame, "Entities of both models", TALLEST)
            code = library_lines(compared_predictions, opened, entities)
            yield Explained("predictions_entities", texts.ENTITIES_COMPARED, code)

    return SecondModel("predictions_beside", show)


def _own_notices(opened: Opened, answer: Answer[Any], task: str) -> Part:
    """Remarks on an answer; those of the head are shown at the top of the page."""
    return Notices([each for each in answer.notices if each not in opened.head(task).notices])


SEVERAL, CALIBRATION, GOLD_TAGS = "Several texts", "Calibration", "Gold tags"
WORD_PARAMS = (masked_lm.MASK, masked_lm.POSITION, masked_lm.COMPARE)
VIEWS: Mapping[View, tuple[str, ...]] = {
    View("Masked words", (), section(words_view, *WORD_PARAMS, run=True, above=masked_text)): (WORDS,),
    View("Classes", (), classes_view): (SEQUENCE,),
    View("Tags", (), section(tagged_text, predict.JOINED)): (TAGGING,),
    View("Answers", (), section(marked_answers, predict.LONGEST, example=ANSWERING)): (ANSWERING,),
    View(ANSWER_LIST, (ASKED_FROM, predict.LONGEST)): (ANSWERING,),
    View("Next sentence", (), section(next_bars, example=NEXT)): (NEXT,),
    View("Surprise", (), surprise_view): (WORDS,),
    View("Lens", (), section(lens_map, masked_lm.MASK, masked_lm.LENS, run=True)): (WORDS,),
    View("Expanded terms", (), expanded_view): (WORDS,),
    View("Change a word", (), change_view): PREDICTED,
    View(CALIBRATION): (),
    View(GOLD_TAGS): (TAGGING,),
    View("Train a probe"): (),
    View(SEVERAL): (),
    View(LABEL_ERRORS): (),
    View(SWAPS): (),
}
"""View -> tasks of which a model has a head for one; none for views of every model."""


def offered(tasks: Sequence[str]) -> list[View]:
    """The views of a model with heads for these tasks."""
    return [view for view, needed in VIEWS.items() if not needed or set(needed).intersection(tasks)]
