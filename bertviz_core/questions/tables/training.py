"""Format training runs as JSON and text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bertviz_core.checkpoints.tables import cka_frame, first_column, labels_frame, text_frame
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
from bertviz_core.questions.tables.lines import aligned, fields
from bertviz_core.text import counted, decimals, digits, escape_controls, shortened, tied

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
        sentences.append(_course("The number of the head", "", followed.scores, followed))
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
    return f"all {count:,} checkpoints" if count > 1 else "the only checkpoint"


def _last(followed: FollowedText | FollowedStates) -> str:
    """The last checkpoint that has been run."""
    return f"{_at(followed, -1)}, the last so far," if followed.waiting else "the last checkpoint"


def _course(what: str, unit: str, values: np.ndarray, followed: FollowedText | FollowedLabels) -> str:
    """A sentence about the first and the last of some numbers."""
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
    steps = np.diff(accuracy)
    if len(steps) < 2 or float(steps.min()) >= 0:
        return sentence
    fall = int(steps.argmin())
    where = f"from {_at(followed, fall)} to {_at(followed, fall + 1)} ({percent[fall]} to {percent[fall + 1]})"
    return f"{sentence} Of all steps it falls most {where}{tied(-steps)}."


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


def followed_json(results: Sequence[FollowedText | FollowedLabels | FollowedStates]) -> dict[str, Any]:
    """The part of the JSON object of the `training` command about what the checkpoints compute.

    Keys: `text` and `answers` (a row for each checkpoint) of a followed text, `scores` of labelled texts, `layers`.
    """
    parts: dict[str, Any] = {}
    for each in results:
        if isinstance(each, FollowedText):
            parts |= {"text": text_json(each), "answers": text_frame(each).to_dict("records")}
        elif isinstance(each, FollowedLabels):
            parts["scores"] = labels_json(each)
        else:
            parts["layers"] = states_json(each)
    return parts


def followed_lines(results: Sequence[FollowedText | FollowedLabels | FollowedStates]) -> list[str]:
    """What the checkpoints compute, for a terminal."""
    lines: list[str] = []
    for each in results:
        if isinstance(each, FollowedText):
            lines += ["", *text_lines(each)]
        elif isinstance(each, FollowedLabels):
            lines += ["", *labels_lines(each)]
        else:
            lines += ["", *states_lines(each)]
    return lines


def text_json(followed: FollowedText) -> dict[str, Any]:
    """The JSON object of a followed text; what is not known is null."""
    by_class = None
    if followed.probabilities is not None:
        by_class = {label: followed.probabilities[:, at] for at, label in enumerate(followed.labels)}
    has_answers = any(followed.answers)
    return {
        "text": followed.text,
        "pair": followed.pair,
        "task": followed.task or None,
        "checkpoints": followed.checkpoints,
        "steps": followed.steps,
        "answers": followed.answers if has_answers else None,
        "scores": followed.scores if np.isfinite(followed.scores).any() else None,
        "probabilities": by_class,
        "surprise": followed.surprise,
        "cosine": followed.cosine,
        "changes": [int(followed.steps[at]) for at in followed.changes],
        "notices": followed.notices,
    }


def labels_json(followed: FollowedLabels) -> dict[str, Any]:
    """The JSON object of the scores by checkpoint, with the answers to every text."""
    names = ("accuracy", "macro_f1", "changed", "texts", "pairs", "gold", "answers", "notices")
    return fields(followed, "checkpoints", "steps", *names)


def states_json(followed: FollowedStates) -> dict[str, Any]:
    """The JSON object of CKA and entropy by checkpoint; entropy is null where attention cannot be recorded."""
    return fields(followed, "texts", "checkpoints", "steps", "cka", "entropy", "notices")


def text_lines(followed: FollowedText) -> list[str]:
    """The sentences and a row for each checkpoint."""
    frame = text_frame(followed)
    columns = [name for name in frame if not str(name).startswith("probability of")]
    return [_short(followed.text), *text_sentences(followed), "", *_table(frame[columns])]


def labels_lines(followed: FollowedLabels) -> list[str]:
    """The sentence and a row for each checkpoint."""
    count = counted(sum(map(bool, followed.gold)), "text")
    return [f"{count} with gold labels", labels_sentence(followed), "", *_table(labels_frame(followed))]


def states_lines(followed: FollowedStates) -> list[str]:
    """The sentence, and the CKA of the hidden states by checkpoint; entropies are in the JSON object alone."""
    count = counted(followed.texts, "text")
    lines = [f"CKA with the first checkpoint over {count}", states_sentence(followed), ""]
    frame = cka_frame(followed)
    more = len(frame.columns) - 2 - MOST_LAYERS
    table = _table(frame[list(frame.columns)[: MOST_LAYERS + 2]])
    return [*lines, *table, *([f"... and {more:,} more layers; --json prints all"] if more > 0 else [])]


def _table(frame: "pd.DataFrame") -> list[str]:
    rows = [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    align = "".join("l" if name in ("checkpoint", "answer") else "r" for name in frame)
    return aligned([[_short(str(name)) for name in frame], *rows], align)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return _short(value)
    return f"{value:,}" if isinstance(value, int | np.integer) else digits(float(value), 4)


def _short(text: str) -> str:
    """An answer or name, escaped for a terminal and cut."""
    return shortened(escape_controls(text), MOST_CHARACTERS)


MAX_ROWS, MAX_NAME_CHARACTERS = 30, 90
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


def log_json(log: TrainingLog) -> dict[str, Any]:
    """The part of the JSON object of the `training` command about the log; null where not finite."""
    return {
        "source": log.source,
        "log": [{"step": entry.step, "epoch": entry.epoch, **entry.values} for entry in log.entries],
    }


def movement_json(movement: TrainingMovement) -> dict[str, Any]:
    """The part of the JSON object of the `training` command about the weights; null where not finite."""
    return {
        **({"base": movement.base} if movement.base else {}),
        **fields(movement, "places", "parts"),
        "movement": fields(movement, "from_first", "from_previous", "whole_from_first", "whole_from_previous"),
        "tensors": [
            {
                "name": each.name,
                "place": place,
                "shape": shape,
                "from_first": movement.tensor_from_first[:, at],
                "from_previous": movement.tensor_from_previous[:, at],
            }
            for at, (each, place, shape) in enumerate(
                zip(movement.tensors, movement.tensor_places, movement.shapes, strict=True)
            )
        ],
        "frozen": movement.frozen,
        "broken": broken_frame(movement).to_dict("records"),
        "unread": movement.unread,
    }


def training_json(log: TrainingLog, movement: TrainingMovement | None) -> dict[str, Any]:
    """The JSON object of the `training` command; without movement where there is a single checkpoint."""
    about = {"run": log.run, "checkpoints": log.checkpoints, "steps": log.steps, **log_json(log)}
    return about if movement is None else {**about, **movement_json(movement)}


def log_lines(log: TrainingLog) -> list[str]:
    """The checkpoints, and the last number of each kind that was logged."""
    last = {name: (entry.step, value) for entry in log.entries for name, value in entry.values.items()}
    rows = [(_name(name), f"{step:,}", digits(value, 5)) for name, (step, value) in last.items()]
    first = f"{_name(log.run)}: {counted(len(log.checkpoints), 'checkpoint')}"
    steps = ", ".join(f"{step:,}" for step in log.steps[:MAX_ROWS].tolist())
    table = ["", *aligned([("logged", "last step", "value"), *rows], "lrr")] if rows else []
    return [f"{first}, of the steps {steps}{', ...' if len(log.steps) > MAX_ROWS else ''}", *table]


def movement_lines(movement: TrainingMovement) -> list[str]:
    """The movement of layers and components by checkpoint, and the tensors that never moved or broke."""
    header = ("checkpoint", "step", "all", *movement.places)
    lines = [f"{_name(movement.run)}: relative change of all parameters and of each layer and component"]
    for title, whole, values in (
        (first_column(movement), movement.whole_from_first, movement.from_first),
        ("from the previous checkpoint", movement.whole_from_previous, movement.from_previous),
    ):
        rows = [
            (_name(name), f"{step:,}", *(f"{value:.2e}" for value in (whole[at], *values[at, :, 0])))
            for at, (name, step) in enumerate(zip(movement.checkpoints, movement.steps.tolist(), strict=True))
        ]
        lines += ["", title, *aligned([header, *rows], "l" + "r" * (len(header) - 1))]
    lines += ["", f"never moved: {counted(len(movement.frozen), 'tensor')}"]
    lines += [f"  {_name(name)}" for name in movement.frozen[:MAX_ROWS]]
    lines += [f"  ... and {len(movement.frozen) - MAX_ROWS:,} more"] if len(movement.frozen) > MAX_ROWS else []
    return [*lines, *_broken_lines(movement)]


def _broken_lines(movement: TrainingMovement) -> list[str]:
    """One line per broken tensor, with the first step at which each was so."""
    broken: dict[str, list[str]] = {}
    for each in movement.broken:
        broken.setdefault(each.name, []).append(f"{each.what} first at step {each.step:,}")
    lines = ["", f"broken: {counted(len(broken), 'tensor')}"]
    lines += [f"  {_name(name)}: {', '.join(found)}" for name, found in list(broken.items())[:MAX_ROWS]]
    return [*lines, f"  ... and {len(broken) - MAX_ROWS:,} more"] if len(broken) > MAX_ROWS else lines


def _name(name: str) -> str:
    """An untrusted name, escaped for a terminal."""
    return shortened(escape_controls(name), MAX_NAME_CHARACTERS)
