"""A training run on the page Checkpoint: the log, the movement of the weights, and what every checkpoint computes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bertviz_core.checkpoints.training.folder import run_names
from bertviz_core.checkpoints.training.movement import LEAST_CHECKPOINTS
from bertviz_core.checkpoints.training.results import (
    BROKEN,
    FollowedLabels,
    FollowedStates,
    FollowedText,
    TrainingMovement,
)
from bertviz_core.errors import CheckpointError
from bertviz_core.figures.checkpoints.training import (
    log_panels,
    training_cka_figure,
    training_entropy_figure,
    training_log_figure,
    training_movement_figure,
    training_scores_figure,
    training_text_figure,
    undrawn_text,
)
from bertviz_core.predictions.probing.reading import EXAMPLE_SET
from bertviz_core.questions.models.checkpoints import OTHER, SCALE
from bertviz_core.questions.models.training import FROM, PART, TrainingSubject, training_log, training_movement
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.predictions.followed import (
    ENTROPY_DRAWN,
    followed_entropy,
    followed_labels,
    followed_states,
    followed_text,
)
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.tables.training import (
    best_sentence,
    broken_frame,
    frozen_frame,
    labels_sentence,
    states_sentence,
    text_sentences,
)
from bertviz_core.questions.view import (
    Ask,
    Figure,
    Folded,
    Link,
    Links,
    Metric,
    Metrics,
    Notices,
    Part,
    Section,
    Table,
    Text,
)
from bertviz_core.questions.views.texts import checkpoint as texts
from bertviz_core.text import counted, escape_markdown

TRAINING = Param(
    "training",
    "choice",
    "the folder of the training run",
    label="Training run",
    values=lambda opened, _: run_names(opened.settings),
)
FIRST_CHECKPOINT = Param(
    "first_checkpoint", "text", "the first of two checkpoints to compare", label="First checkpoint"
)
SECOND_CHECKPOINT = Param("second_checkpoint", "text", "the second of them", label="Second checkpoint")
FOLLOWED = Param(
    "followed",
    "choice",
    "what every checkpoint of the run is run on",
    ("nothing", "the text", "labelled texts", "a list of texts"),
    "At every checkpoint",
    shown=lambda value: "log and movement" if value == "nothing" else value,
    applies=lambda _, options: bool(options.get(TRAINING.key)),
    parts=True,
)


def run_parts(run: TrainingSubject, ask: Ask) -> Iterator[Part]:
    """The log and the movement of a training run."""
    log = ask(training_log, Options())
    yield Notices(log.notices)
    if log.result.entries:
        if best := best_sentence(log.result):
            yield Text(escape_markdown(best))
        undrawn = undrawn_text(log.result, log_panels(log.result.metrics))
        yield Figure.of(
            training_log_figure,
            log,
            f"training log {run.name}",
            below=[Text(f"{undrawn}.", "caption")] if undrawn else (),
            **explained(texts.LOG, training_log, run, Options()),
        )
    yield Notices(run.run.notices, "caption")
    if len(run.run.states) >= LEAST_CHECKPOINTS:
        start = "the base" if run.run.start is not None else FROM.options[0]
        moved_from = replace(FROM, shown=lambda name: start if name == FROM.options[0] else name)
        yield Section((moved_from, PART, SCALE), lambda _, __, options: _movement(run, ask, options))
        return
    try:
        training_movement(run, Options())
    except CheckpointError as error:
        yield Text(escape_markdown(str(error)), "notice")


def two_parts(run: TrainingSubject, followed: FollowedLabels | None = None) -> Iterator[Section]:
    """A link that opens any two checkpoints as the models of Compare with base.

    By default these are the first and the last, or those between which the accuracy on the followed texts falls most.
    """
    allowed = run.settings.allowed_models
    named = {each.name: each.checkpoint.name for each in run.run.checkpoints}
    models = {name: model for name, model in named.items() if not allowed or model in allowed}
    if min(len(run.run.states), len(models)) < LEAST_CHECKPOINTS:
        return

    def link(_: Any, __: Ask, options: Options) -> Iterator[Part]:
        first, second = (models[options.get(each.key)] for each in (FIRST_CHECKPOINT, SECOND_CHECKPOINT))
        query = {"model": first, "view": "Compare with base", OTHER.key: second}
        to = Link.to("Compare these two checkpoints", "checkpoint", query)
        yield Links("training_two", "The two checkpoints compared", [to])

    names = list(models)
    pair = names[0], names[-1]
    if followed is not None and followed.fall is not None:
        fall = followed.checkpoints[followed.fall : followed.fall + 2]
        pair = (fall[0], fall[1]) if models.keys() >= {*fall} else pair
    params = (
        replace(FIRST_CHECKPOINT, values=lambda *_: sorted(names, key=lambda name: name != pair[0])),
        replace(SECOND_CHECKPOINT, values=lambda *_: sorted(names, key=lambda name: name != pair[1])),
    )
    yield Section(params, link)


def _movement(run: TrainingSubject, ask: Ask, options: Options) -> Iterator[Part]:
    """Numbers and map of the movement, broken tensors with their first step, and those that never moved."""
    values = {each.key: options.get(each.key) for each in (FROM, PART, SCALE)}
    answer = ask(training_movement, Options(values=values))
    movement = answer.result
    broken = len({each.name for each in movement.broken})  # one may be so in several ways
    start, end = ("base", "base to the last checkpoint") if movement.base else ("first", "first checkpoint to the last")
    moved = texts.number(float(movement.whole_from_first[-1]))
    then = f"the {start}" if options.get(FROM.key) == FROM.options[0] else options.get(FROM.key)
    yield Metrics.of(
        Metric("Checkpoints", f"{len(movement.checkpoints):,}"),
        Metric("Last step", f"{int(movement.steps[-1]):,}"),
        Metric(f"Moved from the {start}", moved, f"Movement of all parameters from the {end}."),
        Metric("Never moved", f"{len(movement.frozen):,}", f"Of {len(movement.tensors):,} tensors."),
        Metric("Broken tensors", f"{broken:,}", BROKEN),
    )
    yield Figure.of(
        training_movement_figure,
        answer,
        f"movement from {then} {run.name}",
        **explained(texts.MOVED.format(rule=BROKEN), training_movement, run, Options(values=values)),
    )
    yield from _broken(movement, broken - 1)
    if movement.unread:
        unread = counted(len(movement.unread), "tensor")
        yield Text(f"Skipped, since the number format is not supported: {unread}.", "caption")
    if movement.frozen:
        table = Table(frozen_frame(movement), "Tensors that never moved")
        label = f"{counted(len(movement.frozen), 'tensor')} that never moved"
        yield Folded(label, "checkpoint_frozen", lambda: [table])


def _broken(movement: TrainingMovement, others: int) -> Iterator[Part]:
    if not movement.broken:
        yield Text("No tensor holds NaN or infinity, and none blew up.", "success")
        return
    first = movement.broken[0]
    what = {"NaN": "holds NaN", "infinity": "holds infinity", "blew up": "blew up"}[first.what]
    more = f"; {others:,} more {'is' if others == 1 else 'are'} in the table" if others else ""
    yield Text(f"{escape_markdown(first.name)} {what}, first at step {first.step:,}{more}.", "warning")
    yield Table(broken_frame(movement), "Broken tensors")


def _further(run: TrainingSubject, notices: tuple[str, ...]) -> Notices:
    """Remarks that do not stand at the top of the view already."""
    return Notices([each for each in notices if each not in run.run.notices], "caption")


def text_parts(run: TrainingSubject, ask: Ask, options: Options) -> Iterator[Part]:
    """The answer to the text of the sidebar at every checkpoint."""
    chosen = Options(options.texts, options.pair)
    answer = ask(followed_text, chosen)
    yield _further(run, answer.notices)
    yield Figure.of(
        training_text_figure,
        answer,
        f"text through {run.name}",
        below=sentences(answer),
        **explained(texts.FOLLOWED_TEXT, followed_text, run, chosen),
    )


def labels_parts(run: TrainingSubject, answer: Answer[FollowedLabels], chosen: Options, source: str) -> Iterator[Part]:
    """Accuracy, macro-F1 and changed answers at every checkpoint.

    Args:
        source: where the texts come from, as the end of a sentence.
    """
    about = escape_markdown(
        f"{counted(len(answer.result.texts), 'text')} {source}. What the log calls eval_accuracy is of the trainer's "
        "own evaluation texts, so the two differ where the texts do."
    )
    yield _further(run, answer.notices)
    yield Figure.of(
        training_scores_figure,
        answer,
        f"scores through {run.name}",
        below=[*sentences(answer), Text(about, "caption")],
        **explained(texts.FOLLOWED_SCORES, followed_labels, run, chosen),
        formats={"accuracy": "percent", "macro-F1": "percent"},
    )


def states_parts(listed: tuple[str, ...], run: TrainingSubject, ask: Ask) -> Iterator[Part]:
    """CKA of every layer with the first checkpoint, and the attention entropy of every head."""
    answer = ask(followed_states, Options(listed))
    yield _further(run, answer.notices)
    source = "your own list" if listed else f"the example set {EXAMPLE_SET}"
    run_on = f"{counted(answer.result.texts, 'text')} of {source}; each is the mean of its tokens' vectors."
    yield Figure.of(
        training_cka_figure,
        answer,
        f"CKA through {run.name}",
        below=[*sentences(answer), Text(run_on, "caption")],
        **explained(texts.FOLLOWED_LAYERS, followed_states, run, Options(listed)),
    )
    if answer.result.entropy is not None:
        yield Section((ENTROPY_DRAWN,), lambda _, __, options: _entropy(listed, run, ask, options))


def _entropy(listed: tuple[str, ...], run: TrainingSubject, ask: Ask, options: Options) -> Iterator[Part]:
    chosen = Options(listed, values={ENTROPY_DRAWN.key: options.get(ENTROPY_DRAWN.key)})
    yield Figure.of(
        training_entropy_figure,
        ask(followed_entropy, chosen),
        f"attention entropy through {run.name}",
        **explained(texts.FOLLOWED_LAYERS, followed_entropy, run, chosen),
    )


def sentences(answer: Answer[Any]) -> list[Text]:
    """What the figure of an answer shows, also of one that is not complete."""
    match answer.result:
        case FollowedText() as followed:
            words = text_sentences(followed)
        case FollowedLabels() as followed:
            words = [labels_sentence(followed)]
        case FollowedStates() as followed:
            words = [states_sentence(followed)]
        case _:
            words = []
    return [Text(escape_markdown(each)) for each in words]
