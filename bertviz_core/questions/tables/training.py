"""How training runs are shown."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bertviz_core.checkpoints.tables import cka_frame, first_column, labels_frame, log_frame, movement_frame, text_frame
from bertviz_core.checkpoints.training.results import (
    FINAL,
    FollowedLabels,
    FollowedStates,
    FollowedText,
    TrainingLog,
    TrainingMovement,
)
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import Columns, Faces, aligned, fields, printable_name, records, table
from bertviz_core.text import all_of, counted, decimals, digits, escape_controls, shortened, tied

MOST_CHANGES = 3
"""Maximum number of changes that a sentence names."""
MOST_CHARACTERS = 60
"""Maximum length of an answer or name in a sentence or line."""
MOST_LAYERS = 14
"""Maximum number of hidden states with a column in a terminal."""


def text_sentences(followed: FollowedText) -> list[str]:
    """What the figure of a followed text shows: when the answer changes, and from what to what the numbers go."""
    sentences = [_answer_sentence(followed)] if any(followed.answers) else []
    if not any(followed.answers) and np.isfinite(followed.scores).any():
        sentences.append(_course("The number of the task head", "", followed.scores, followed))
    if followed.null_differences is not None:
        words = "The null score minus that of the best span"
        sentences.append(_course(words, "", followed.null_differences, followed))
    if followed.surprise is not None:
        sentences.append(_course("The mean surprise of a token", " nats", followed.surprise, followed))
    if followed.cosine is not None:
        sentences.append(_course("The cosine of the two texts", "", followed.cosine, followed))
    return sentences


def _answer_sentence(followed: FollowedText) -> str:
    answers, changes = followed.answers, followed.changes
    first = _short(answers[0])
    if not changes:
        return f"The answer is {first} at {_all(followed)}."
    named = [
        f"from {_short(answers[at - 1])} to {_short(answers[at])} at {_at(followed, at)}"
        for at in changes[:MOST_CHANGES]
    ]
    more = len(changes) - len(named)
    rest = f", and {counted(more, 'more time')}" if more else ""
    return f"The answer changes {', '.join(named)}{rest}; at {_last(followed)} it is {_short(answers[-1])}."


def _all(followed: FollowedText) -> str:
    """All checkpoints of a run, or those that have been run so far."""
    count = len(followed.checkpoints)
    if followed.waiting:
        return f"the {count:,} of {count + followed.waiting:,} checkpoints read so far"
    return all_of(count, "checkpoint")


def _last(followed: FollowedText | FollowedStates) -> str:
    """The last checkpoint that has been run."""
    return f"{_at(followed, -1)}, the last so far," if followed.waiting else "the last checkpoint"


def _course(what: str, unit: str, values: np.ndarray, followed: FollowedText | FollowedLabels) -> str:
    first, last = (f"{decimals(float(values[at]), 3)}{unit}" for at in (0, -1))
    if len(values) == 1:
        return f"{what} is {first}."
    verb = "stays" if first == last else "rises" if values[-1] > values[0] else "falls"
    if verb == "stays":
        return f"{what} is {first} at both {_at(followed, 0)} and {_at(followed, -1)}."
    return f"{what} {verb} from {first} at {_at(followed, 0)} to {last} at {_at(followed, -1)}."


def _at(followed: FollowedText | FollowedLabels | FollowedStates, place: int) -> str:
    """Step of a checkpoint; "the final model" for the model in the run's own folder."""
    step = f"step {int(followed.steps[place]):,}"
    return f"{step} (final model)" if followed.checkpoints[place] == FINAL else step


def labels_sentence(followed: FollowedLabels) -> str:
    """Accuracy at the first and last checkpoint, where it is best, and where it falls most."""
    accuracy = followed.accuracy
    best = int(np.argmax(accuracy))
    percent = [f"{float(value):.1%}" for value in accuracy]
    if len(accuracy) == 1:
        return f"The accuracy is {percent[0]} at {_at(followed, 0)}."
    highest = (
        f"; it is highest at {_at(followed, best)}{tied(accuracy)} ({percent[best]})"
        if accuracy[best] > accuracy[-1]
        else ""
    )
    start = "So far the" if followed.waiting else "The"
    sentence = (
        f"{start} accuracy is {percent[0]} at {_at(followed, 0)} and {percent[-1]} at {_at(followed, -1)}{highest}."
    )
    fall = followed.fall
    if len(accuracy) < 3 or fall is None:
        return sentence
    where = f"from {_at(followed, fall)} to {_at(followed, fall + 1)} ({percent[fall]} to {percent[fall + 1]})"
    return f"{sentence} Of all steps it falls most {where}{tied(-np.diff(accuracy))}."


def states_sentence(followed: FollowedStates) -> str:
    """The hidden state that is least like that of the first checkpoint, and the head whose entropy changed most."""
    last = followed.cka[-1]
    if len(followed.checkpoints) < 2 and followed.waiting:
        return "One checkpoint has been read so far; the next one is compared with it."
    if len(followed.checkpoints) < 2 or not np.isfinite(last).any():
        return "With a single checkpoint there is nothing to compare."
    least = int(np.nanargmin(last))
    place = state_name(least) if least else f"at the {state_name(0)}"
    lowest = decimals(float(last[least]), 3)
    where = _last(followed).removesuffix(",")
    sentence = f"At {where}, CKA with the first is, of all hidden states, lowest {place}: {lowest}."
    if followed.entropy is None:
        return sentence
    change = followed.entropy[-1] - followed.entropy[0]
    layer, head = np.unravel_index(int(np.argmax(np.abs(change))), change.shape)
    before, after = (decimals(float(followed.entropy[at, layer, head]), 3) for at in (0, -1))
    most = f"the entropy of layer {layer}, head {head} changed most"
    return f"{sentence} Of all heads {most}: from {before} to {after} nats."


def answers_frame(followed: FollowedLabels) -> "pd.DataFrame":
    """One row per text: text, second text, gold label, and the answer of each checkpoint."""
    columns: dict[str, Any] = {"text": followed.texts}
    if followed.pairs is not None:
        columns["second text"] = followed.pairs
    columns["gold label"] = followed.gold
    named = zip(followed.checkpoints, followed.answers, strict=True)
    return pd.DataFrame({**columns, **{f"answer of {name}": answers for name, answers in named}})


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return _short(value or "")
    return f"{value:,}" if isinstance(value, int) else digits(value, 4)


def _short(text: str) -> str:
    return shortened(escape_controls(text), MOST_CHARACTERS)


def _by_class(followed: FollowedText) -> dict[str, np.ndarray] | None:
    if followed.probabilities is None:
        return None
    return {label: followed.probabilities[:, at] for at, label in enumerate(followed.labels)}


def _text_rows(followed: FollowedText) -> "pd.DataFrame":
    frame = text_frame(followed)
    return frame[[name for name in frame if not str(name).startswith("probability of")]]


FOLLOWED_TEXT: Faces[FollowedText] = Faces(
    keys="text pair task checkpoints steps answers scores probabilities null_differences surprise cosine changes "
    "notices",
    made={
        "task": lambda followed: followed.task or None,
        "answers": lambda followed: followed.answers if any(followed.answers) else None,
        "scores": lambda followed: followed.scores if np.isfinite(followed.scores).any() else None,
        "probabilities": _by_class,
        "changes": lambda followed: [int(followed.steps[at]) for at in followed.changes],
    },
    frame=text_frame,
    above=lambda followed: [_short(followed.text), *text_sentences(followed)],
    rows=_text_rows,
    cell=_cell,
)
FOLLOWED_LABELS: Faces[FollowedLabels] = Faces(
    keys="checkpoints steps accuracy macro_f1 ece brier log_loss changed texts pairs gold answers notices",
    frame=labels_frame,
    above=lambda followed: [
        f"{counted(sum(map(bool, followed.gold)), 'text')} with gold labels",
        labels_sentence(followed),
    ],
    cell=_cell,
)


def _more_layers(followed: FollowedStates) -> list[str]:
    more = followed.cka.shape[1] - MOST_LAYERS
    return [f"... and {more:,} more layers; --json prints all"] if more > 0 else []


FOLLOWED_STATES: Faces[FollowedStates] = Faces(
    keys="texts checkpoints steps cka entropy notices",
    frame=cka_frame,
    above=lambda followed: [
        f"CKA with the first checkpoint over {counted(followed.texts, 'text')}",
        states_sentence(followed),
    ],
    rows=lambda followed: cka_frame(followed).iloc[:, : MOST_LAYERS + 2],
    cell=_cell,
    below=_more_layers,
)
TEXT_AND_ANSWERS: Mapping[str, Any] = {
    "text": FOLLOWED_TEXT.to_json,
    "answers": lambda followed: text_frame(followed).to_dict("records"),
}
FOLLOWED: Mapping[type, tuple[Faces[Any], str]] = {
    FollowedText: (replace(FOLLOWED_TEXT, keys="text answers", made=TEXT_AND_ANSWERS), ""),
    FollowedLabels: (FOLLOWED_LABELS, "scores"),
    FollowedStates: (FOLLOWED_STATES, "layers"),
}
"""What the checkpoints compute -> how it is shown, and its key in the JSON object of the `training` command."""


HIGHER = re.compile(
    r"eval_(?!.*threshold)(.*_)?(accuracy|f1|precision|recall|auc|correlation|pearsonr?|spearmanr?|map|mrr|ndcg)(?![a-z])"
)
"""Names of numbers of an evaluation that are best where they are highest; a loss is where it is lowest."""


def best_sentence(log: TrainingLog) -> str:
    """The best checkpoint by each number of the evaluation whose direction is known; "" where none was logged."""
    names, best = dict(zip(reversed(log.steps.tolist()), reversed(log.checkpoints), strict=True)), []
    for metric in log.metrics:
        lowest = metric.startswith("eval_") and metric.endswith("loss")
        if not lowest and HIGHER.match(metric) is None:
            continue
        logged = {each.step: each.values[metric] for each in log.entries if metric in each.values}
        signed = {step: -value if lowest else value for step, value in logged.items() if step in names}
        signed = {step: value for step, value in signed.items() if np.isfinite(value)}
        if len(signed) > 1:
            step = max(signed, key=lambda each: (signed[each], -each))
            place = f"{names[step]}{tied(signed.values())}"
            best.append((lowest, f"{place} by {metric} ({'lowest' if lowest else 'highest'}, {digits(logged[step])})"))
    named = [each for _, each in sorted(best, key=lambda each: each[0])][:MOST_CHANGES]
    evaluated = "Logged in training, on its own evaluation texts."
    return f"Of the checkpoints in the folder the best is {'; '.join(named)}. {evaluated}" if named else ""


MAX_ROWS = 30
BROKEN_COLUMNS = {"tensor": str, "place": str, "what": str, "step": int, "checkpoint": str, "values": int}
"""Columns of the table of broken tensors."""


def tensors_frame(movement: TrainingMovement) -> "pd.DataFrame":
    """One row per tensor: name, place, shape, whether it is frozen, and its movement at the last checkpoint."""
    frozen = frozenset(movement.frozen)
    names = [each.name for each in movement.tensors]
    columns = {
        "tensor": names,
        "place": movement.tensor_places,
        "shape": [str(shape) for shape in movement.shapes],
        "frozen": [name in frozen for name in names],
        first_column(movement): movement.tensor_from_first[-1],
        "from the previous checkpoint": movement.tensor_from_previous[-1],
    }
    return pd.DataFrame(columns)


def frozen_frame(movement: TrainingMovement) -> "pd.DataFrame":
    """One row per tensor that never moved: name, place, shape."""
    whole = tensors_frame(movement)
    return whole[whole["frozen"]][["tensor", "place", "shape"]].reset_index(drop=True)


def broken_frame(movement: TrainingMovement) -> "pd.DataFrame":
    """One row per broken tensor and what is wrong (NaN, infinity, blew up), with the first such checkpoint."""
    rows = [(each.name, each.place, each.what, each.step, each.checkpoint, each.numel) for each in movement.broken]
    return pd.DataFrame(rows, columns=list(BROKEN_COLUMNS)).astype(BROKEN_COLUMNS)


def _tensors(movement: TrainingMovement) -> list[dict[str, Any]]:
    places = zip(movement.tensors, movement.tensor_places, movement.shapes, strict=True)
    return [
        {
            "name": each.name,
            "place": place,
            "shape": shape,
            "from_first": movement.tensor_from_first[:, at],
            "from_previous": movement.tensor_from_previous[:, at],
        }
        for at, (each, place, shape) in enumerate(places)
    ]


def _log_lines(log: TrainingLog) -> list[str]:
    """The checkpoints, and the last number of each kind that was logged."""
    last = {name: (name, entry.step, value) for entry in log.entries for name, value in entry.values.items()}
    columns: Columns = {
        "logged": ("logged", printable_name),
        "last step": "last step",
        "value": ("value", lambda value: digits(value, 5)),
    }
    first = f"{printable_name(log.run)}: {counted(len(log.checkpoints), 'checkpoint')}"
    steps = ", ".join(f"{step:,}" for step in log.steps[:MAX_ROWS].tolist())
    printed = ["", *table(last.values(), columns, "lrr")] if last else []
    printed += ["", escape_controls(best)] if (best := best_sentence(log)) else []
    return [f"{first}, of the steps {steps}{', ...' if len(log.steps) > MAX_ROWS else ''}", *printed]


TRAINING_LOG: Faces[TrainingLog] = Faces(
    keys="run checkpoints steps source log",
    made={"log": lambda log: [{"step": each.step, "epoch": each.epoch, **each.values} for each in log.entries]},
    frame=log_frame,
    lines=_log_lines,
)


def _movement_lines(movement: TrainingMovement) -> list[str]:
    """The movement of layers and components by checkpoint, and the tensors that never moved or broke."""
    header = ("checkpoint", "step", "all", *movement.places)
    lines = [f"{printable_name(movement.run)}: relative change of all parameters and of each layer and component"]
    for title, whole, values in (
        (first_column(movement), movement.whole_from_first, movement.from_first),
        ("from the previous checkpoint", movement.whole_from_previous, movement.from_previous),
    ):
        rows = [
            (printable_name(name), f"{step:,}", *(f"{value:.2e}" for value in (whole[at], *values[at, :, 0])))
            for at, (name, step) in enumerate(zip(movement.checkpoints, movement.steps.tolist(), strict=True))
        ]
        lines += ["", title, *aligned([header, *rows], "l" + "r" * (len(header) - 1))]
    broken: dict[str, list[str]] = {}
    for each in movement.broken:
        broken.setdefault(each.name, []).append(f"{each.what} first at step {each.step:,}")
    damages = [f"{printable_name(name)}: {', '.join(damage)}" for name, damage in broken.items()]
    lines += _listed("never moved", [printable_name(name) for name in movement.frozen])
    return [*lines, *_listed("broken", damages)]


def _listed(title: str, tensors: Sequence[str]) -> list[str]:
    """The number of tensors, and the first of them."""
    more = len(tensors) - MAX_ROWS
    lines = ["", f"{title}: {counted(len(tensors), 'tensor')}", *(f"  {each}" for each in tensors[:MAX_ROWS])]
    return [*lines, *([f"  ... and {more:,} more"] if more > 0 else [])]


def _movement_keys(movement: TrainingMovement) -> dict[str, Any]:
    """Null where not finite."""
    return {
        **fields(movement, "run checkpoints steps", *(["base"] if movement.base else []), "places parts"),
        "movement": fields(movement, "from_first from_previous whole_from_first whole_from_previous"),
        "tensors": _tensors(movement),
        "frozen": movement.frozen,
        "broken": records(broken_frame(movement)),
        "unread": movement.unread,
    }


TRAINING_MOVEMENT: Faces[TrainingMovement] = Faces(keys=_movement_keys, frame=movement_frame, lines=_movement_lines)
