"""Load a model with its head, and run it."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any

import numpy as np

from bertviz_core.checkpoints.load_report.report import source_load_report
from bertviz_core.errors import BertvizError, CheckpointError, UnsupportedModelError
from bertviz_core.isolation.offline import unplugged
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.catalog import BUNDLED
from bertviz_core.models.loading import (
    POOLER,
    LoadedModel,
    copy_tensors,
    load_model,
    not_finite_notice,
    read_state_dict,
    with_weights,
)
from bertviz_core.models.local_files import saved_class, weights_folder
from bertviz_core.models.recording import attention_implementation, with_child
from bertviz_core.models.rerankers import OF_HEAD, OF_TOKENS, OF_VECTORS, answer_tokens, scored_by
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.models.skeleton import (
    BUILD_LOCK,
    ENCODER,
    build_skeleton,
    classes_of,
    knows,
    model_config,
    quietly,
    set_attention,
    task_class,
    text_config,
)
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.rerankers import TOKEN_LOGITS, token_scores, vector_scores
from bertviz_core.sentences.encoding import batches
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.settings import Settings
from bertviz_core.text import counted, escape_controls, quoted
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.verification import ModelRow, check_recording, forward, model_inputs, reset_model_state

PREDICTED = ("masked-lm", "sequence-classification", "token-classification", "question-answering", "next-sentence")
"""Supported tasks, in the order of preference for a class with several heads."""
DISCRIMINATORS = ("ElectraForPreTraining", "FunnelForPreTraining")
"""Classes for pretraining that tell replaced tokens from original ones; they have no masked-LM head."""
CAUSAL = "causal-lm"
SHOWN = 3
"""Number of tensors of a head that are named in a message."""
WITHOUT_POOLER = ("masked-lm", "token-classification", "question-answering")
"""Tasks whose heads read the token states and never the pooler, even if their class has one."""


@dataclass(slots=True, eq=False)
class HeadModel:
    """A model with a task head; it shares the base model in memory."""

    name: str
    task: str
    """One of PREDICTED."""
    base: LoadedModel
    """The base model, as all other views run it."""
    model: Any
    """The model with the head, in eval mode; it contains the base model."""
    base_path: str
    """Attribute path of the base model, such as "bert"; "" if the model has own modules that share the base's
    weights."""
    notices: tuple[str, ...]
    answers: tuple[str, ...] = ()
    """Spellings of the tokens whose logits make the only output, the first minus the second; () for any other head."""

    @property
    def model_class(self) -> str:
        """Class name of transformers, such as "BertForMaskedLM"."""
        return type(getattr(self.model, "scored", self.model)).__name__


def stored_task(source: ModelSource) -> str:
    """Return the task of the head that a checkpoint was saved with, from the class in its config."""
    return stored_tasks(source)[0]


def stored_tasks(source: ModelSource) -> tuple[str, ...]:
    """Tasks of the heads that a checkpoint was saved with; several for classes such as BertForPreTraining."""
    named = saved_class(source.config)
    config = model_config(source.name, source.config)
    if scored_by(source) != OF_HEAD:
        return ("sequence-classification",)
    if named in DISCRIMINATORS:
        raise UnsupportedModelError(
            f"{source.name!r} was saved as {named}, a discriminator, which tells replaced tokens from original ones, "
            "and Inside BERT cannot show what it predicts; open a checkpoint with a task head for one of "
            f"{', '.join(PREDICTED)}, such as the generator that was trained with it."
        )
    several = named in _class_names("pretraining", config)
    tasks = tuple(
        task
        for task in PREDICTED
        if (class_names := _class_names(task, config))
        and (named in class_names or (several and task in ("masked-lm", "next-sentence")))
    )
    if tasks:
        return tasks
    if not named:
        what = f"The config of {source.name!r} does not say which task head it has (it names no architectures)"
    elif _is_base(named, config):
        what = f"{source.name!r} holds a base model ({named}) and no task head, so it predicts nothing"
    else:
        what = f"{source.name!r} {head_lack(source)}"
    raise UnsupportedModelError(f"{what}; {_heads_in_file(source)}")


def head_lack(source: ModelSource) -> str:
    """What a checkpoint without a head that can be shown has, as the predicate of a sentence."""
    named, config = saved_class(source.config), model_config(source.name, source.config)
    if not named or _is_base(named, config):
        return "has no task head"
    of_words = named in (*_class_names(CAUSAL, config), *_class_names("seq2seq-lm", config))
    kind = "language-model head" if of_words else "head"
    return f"has a {kind} ({escape_controls(named[:60])}), whose predictions are not shown here"


def _is_base(named: str, config: Any) -> bool:
    return named in (*_class_names("base", config), *_class_names(ENCODER, config))


def _heads_in_file(source: ModelSource) -> str:
    """Which tasks the tensors of a file fit, as the end of a sentence."""
    stored: set[str] = set()
    try:
        folder = source.folder if source.adapter is None else None
        stored = {tensor.name for tensor in read_header(folder).tensors} if folder is not None else set()
    except BertvizError as error:
        if source.has_weights:  # and not elsewhere
            return str(error)
    if not stored:
        return f"name a task that its file holds a task head for, one of {', '.join(PREDICTED)}."
    fitting = {task: names for task in PREDICTED if (names := _head_tensors(source, task)) and stored >= set(names)}
    if not fitting:
        return f"open a checkpoint that was saved with a task head for one of {', '.join(PREDICTED)}."
    tensors = list(dict.fromkeys(name for each in fitting.values() for name in each))
    more = ", ..." if len(tensors) > SHOWN else ""
    return (
        f"its file holds {', '.join(map(quoted, tensors[:SHOWN]))}{more}, as heads for {' or '.join(fitting)} do; give "
        f"{'this' if len(fitting) == 1 else 'one of these'} as the task, such as {next(iter(fitting))}."
    )


def _head_tensors(source: ModelSource, task: str) -> tuple[str, ...]:
    """Names of the tensors of the head for a task, without those that are tied to the base model."""
    with suppress(BertvizError):  # the family has no such class
        model = build_skeleton(source.name, source.config, task)
        prefix = f"{model.base_model_prefix}."
        names = (name for name, _ in model.named_parameters())  # tied ones are named once, in the base model
        return tuple(name for name in names if not name.startswith(prefix))
    return ()


def load_head(
    source: ModelSource, settings: Settings, task: str | None = None, base: LoadedModel | None = None
) -> HeadModel:
    """Load the head of a checkpoint for a task, around its base model.

    Args:
        task: one of PREDICTED; None for the head that the checkpoint was saved with.
    """
    task = stored_task(source) if task is None else task
    scored = scored_by(source) if task == OF_HEAD else OF_HEAD
    auto_class = task_class(CAUSAL if scored == OF_TOKENS else task)
    config = model_config(source.name, source.config)
    if task not in PREDICTED:
        raise UnsupportedModelError(f"{task!r} makes no prediction that is shown here; give {', '.join(PREDICTED)}.")
    if scored == OF_VECTORS:
        base = load_model(source, settings) if base is None else base
        scorer = vector_scores(source, settings, base.model).eval()
        return HeadModel(source.name, task, base, scorer, "scored", base.notices)
    if not knows(auto_class, type(config)):
        raise UnsupportedModelError(f"{config.model_type} models have no class for the task {task!r} in transformers.")
    tokens = answer_tokens(source, settings) if scored == OF_TOKENS else None
    base = load_model(source, settings) if base is None else base
    folder = weights_folder(source, settings)
    tensors = read_state_dict(folder)
    with BUILD_LOCK, quietly(), unplugged():
        try:
            model, info = with_weights(source.name, folder, tensors, config, base.dtype, auto_class)
        except CheckpointError as error:
            refusal: CheckpointError | None = error
        else:
            refusal = None
            _check_whole(source, task, info)
            path = _share_base(model, base.model, task)
    if refusal is None:
        _own_memory(model, base)
        shared = {id(weight) for weight in base.model.parameters()}
        own = ((name, weight) for name, weight in model.named_parameters() if id(weight) not in shared)
        notices = (*_notices(source, base), *not_finite_notice(own))
        if tokens is not None:
            scorer = token_scores(model, tokens).eval()
            return HeadModel(
                source.name, task, base, scorer, f"scored.{path}", (*notices, tokens.notice), tokens.compared
            )
        return HeadModel(source.name, task, base, model.eval(), path, notices)
    with suppress(BertvizError):  # the message above does not depend on the report
        report = source_load_report(source, task, settings)
        if report.mismatched:
            refusal = CheckpointError(f"The task head of {source.name!r} cannot be loaded. {report.suggestion}")
    raise refusal


def _class_names(task: str, config: Any) -> tuple[str, ...]:
    """Return the names of the transformers classes for a config and a task."""
    return tuple(each.__name__ for each in classes_of(task_class(task), type(config)))


def _check_whole(source: ModelSource, task: str, info: Mapping[str, Any]) -> None:
    pooler_needed = task not in WITHOUT_POOLER
    missing = sorted(key for key in info["missing_keys"] if pooler_needed or "pooler." not in key)
    if missing:
        name, saved = source.name, escape_controls(saved_class(source.config)[:60])
        where = f"{name!r}, saved as {saved}" if saved else repr(name)
        raise CheckpointError(
            f"The task head for {task} is not whole in {where}: {counted(len(missing), 'tensor')} ({quoted(missing[0])}"
            f"{', ...' if len(missing) > 1 else ''}) would be random numbers. The load report lists what the file "
            f"holds (load-report {name} --task {task})."
        )


def _share_base(model: "transformers.PreTrainedModel", base: "transformers.PreTrainedModel", task: str) -> str:
    """Replace the model's base by the one in memory, tied weights included; return its path, "" if none fits."""
    path = next((name for name, module in model.named_modules() if type(module) is type(base) and name), "")
    if not path:
        return ""
    inside = model.get_submodule(path)
    own = {id(value): name for name, value in inside.named_parameters(remove_duplicate=False)}
    known = dict(base.named_parameters(remove_duplicate=False))
    # Nomic BERT's classifier has a pooler that its base lacks; other heads work without one, too.
    spare = POOLER if task in WITHOUT_POOLER else ()
    whole = all(name in known or name.startswith(spare) for name in own.values())
    shared = [
        (name, known[own[id(value)]])
        for name, value in model.named_parameters(remove_duplicate=False)
        if own.get(id(value)) in known and not (whole and name.startswith(f"{path}."))
    ]
    if whole:
        model.set_submodule(path, base)
    else:
        set_attention(model, attention_implementation(base.config))
    for name, value in shared:
        parent, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(parent), leaf, value)
    return path if whole else ""


def _own_memory(model: "transformers.PreTrainedModel", base: LoadedModel) -> None:
    """Copy the head from its memory-mapped file to the device of the base."""
    shared = {id(tensor) for tensor in (*base.model.parameters(), *base.model.buffers())}
    own = {id(each): each for each in (*model.parameters(), *model.buffers()) if id(each) not in shared}
    copy_tensors(base.name, own.values(), base.device)


def _notices(source: ModelSource, base: LoadedModel) -> tuple[str, ...]:
    introduction = BUNDLED[source.name].introduction if source.kind == "bundled" else ""
    nothing_left_out = [words for words in base.notices if "only the encoder is run" not in words]
    return (*((introduction,) if introduction else ()), *nothing_left_out, *label_notices(source.config))


def label_notices(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Notices about entries of a config that name the labels of a head differently."""
    names, places, count = (config.get(key) for key in ("id2label", "label2id", "num_labels"))
    notices = []
    if isinstance(names, Mapping) and names:
        if isinstance(count, int) and count != len(names):
            notices.append(
                f"In config.json num_labels is {count:,} and id2label names {counted(len(names), 'label')}; num_labels "
                "is followed, and the labels are called by their number."
            )
        missing = sorted({str(place) for place in range(len(names))} - {str(place).strip() for place in names})
        if missing:
            notices.append(
                f"id2label in config.json lacks the number {missing[0]}: its {counted(len(names), 'label')} should be "
                f"numbered from 0 to {len(names) - 1:,}."
            )
    if isinstance(names, Mapping) and isinstance(places, Mapping):
        wrong = next((name for name, place in places.items() if str(names.get(str(place), name)) != name), None)
        if wrong is not None:
            notices.append(
                f"label2id and id2label in config.json contradict each other: {quoted(wrong, 40)} is {places[wrong]} "
                f"in label2id, where id2label has {quoted(str(names[str(places[wrong])]), 40)}; id2label is followed."
            )
    return tuple(notices)


CHUNK_NBYTES = 16 * 1024**2
"""Bytes of logits in memory at once: 137 positions of BERT's 30,522 words."""

WHOLE_TEXT = ("sequence-classification", "next-sentence")
"""Tasks with one answer per text. Some of their heads (XLNet's) read the last position, which must not be padding."""


def check_task(head: HeadModel, *tasks: str) -> None:
    """Check that the head is of one of these tasks."""
    if head.task not in tasks:
        raise UnsupportedModelError(
            f"{head.name!r} was loaded with its head for {head.task}; this asks for {' or '.join(tasks)}."
        )


def row_outputs(
    head: HeadModel, rows: Sequence[ModelRow], names: Sequence[str] = ("logits",), padded: bool = False
) -> "Iterator[tuple[int, tuple[np.ndarray, ...]]]":
    """Yield the head's outputs of every row, in the order in which the rows are run.

    Rows of similar length run together if the family supports it; outputs at padding positions are cut off.

    Args:
        padded: whether rows of different lengths run together, also for a head that reads the whole text.

    Yields:
        (index of the row, its outputs, each (seq, ...) or, if it has no row per token, (labels,)).
    """
    lengths = [len(row) for row in rows]
    together = _groups(head.base, lengths) if padded else groups(head, lengths)
    for group in chain.from_iterable(_equal_ends(head, rows, each) for each in together):
        output = run_group(head, [rows[index] for index in group], head.model)
        for place, index in enumerate(group):
            arrays = [_finite(head, output[name][place].float()).cpu().numpy() for name in names]
            per_text = [
                name in ("logits", TOKEN_LOGITS) and array.ndim == 1 for array, name in zip(arrays, names, strict=True)
            ]
            yield (
                index,
                tuple(
                    array if whole else array[: lengths[index]] for array, whole in zip(arrays, per_text, strict=True)
                ),
            )


def groups(head: HeadModel, lengths: Sequence[int]) -> list[list[int]]:
    """Return groups of row indices to run together; single rows for a model without a padding id."""
    if head.task in WHOLE_TEXT:
        return one_length_groups(head.base, lengths)
    return _groups(head.base, lengths)


def one_length_groups(base: LoadedModel, lengths: Sequence[int]) -> list[list[int]]:
    """Group rows of equal length, so that nothing is padded."""
    return [
        list(alike)
        for group in _groups(base, lengths)
        for _, alike in groupby(sorted(group, key=lengths.__getitem__), lengths.__getitem__)
    ]


def _equal_ends(head: HeadModel, rows: Sequence[ModelRow], group: Sequence[int]) -> list[list[int]]:
    """Split a group of rows by their number of end tokens, which a text may hold literally.

    The classification heads of encoder-decoders, such as BART's, read the state at the last one and refuse a
    batch in which the rows have different numbers of them.
    """
    config = head.model.config
    if head.task not in WHOLE_TEXT or not config.is_encoder_decoder:
        return [list(group)]

    def ends(index: int) -> int:
        return int(np.isin(rows[index].input_ids, config.eos_token_id).sum())

    return [list(alike) for _, alike in groupby(sorted(group, key=ends), ends)]


def _groups(base: LoadedModel, lengths: Sequence[int]) -> list[list[int]]:
    if getattr(base.model.config, "pad_token_id", None) is None:
        return [[index] for index in range(len(lengths))]
    return batches(base, lengths)


def head_inputs(head: HeadModel, rows: Sequence[ModelRow], model: Any) -> "dict[str, torch.Tensor]":
    """Return the inputs that the forward of the base, or of the model with the head, takes."""
    inputs = model_inputs(head.base, rows)
    accepted = inspect.signature(model.forward).parameters
    if any(each.kind is each.VAR_KEYWORD for each in accepted.values()):
        return inputs
    return {name: values for name, values in inputs.items() if name in accepted}


def run_group(head: HeadModel, rows: Sequence[ModelRow], model: Any, **flags: bool) -> Mapping[str, Any]:
    """Run the base, or the model with the head, on a batch."""
    inputs = head_inputs(head, rows, model)
    with RUN_LOCK, torch.inference_mode():
        check_recording(head.base)
        reset_model_state(head.base.model, max(len(row) for row in rows))
        return forward(head.base, inputs, model, **flags)


def with_word_head(plan: SentencePlan, head: "Callable[[], HeadModel]") -> SentencePlan:
    """The plan with the masked-LM head that makes the vectors of a sparse encoder; any other plan as it is."""
    return plan if plan.sparse is None else replace(plan, head=WordHead(head()))


class WordHead:
    """The part of a masked-LM model after its base: maps states to logits of every word."""

    def __init__(self, head: HeadModel) -> None:
        """Extract the head of a model."""
        check_task(head, "masked-lm")
        self._head = head
        self.reads_states = bool(head.base_path) and "." not in head.base_path

    @property
    def model(self) -> Any:
        """The model to run: the base, or the whole model if its head cannot be applied separately."""
        return self._head.base.model if self.reads_states else self._head.model

    def outputs(self, rows: Sequence[ModelRow], states: bool = False) -> Mapping[str, Any]:
        """Run a batch through the base, or the whole model if its head cannot be applied separately.

        Args:
            rows: tokenized texts of one length, or of a family whose outputs do not depend on padding.
        """
        return run_group(self._head, rows, self.model, output_hidden_states=states)

    def logits(self, output: Mapping[str, Any], states: "torch.Tensor") -> "torch.Tensor":
        """Return the logits (positions, vocab) of states (positions, hidden), in float32.

        If the head cannot be applied separately, `states` are rows of output["logits"] and are returned.
        """
        with RUN_LOCK, torch.inference_mode():
            return _finite(self._head, self.logits_unlocked(output, states))

    def logits_unlocked(self, output: Mapping[str, Any], states: "torch.Tensor") -> "torch.Tensor":
        """Like `logits`, for callers that hold RUN_LOCK; differentiable."""
        if not self.reads_states:
            return states.float()
        fixed = type(output)(**{**output, "last_hidden_state": states[None], "hidden_states": None})
        ids = torch.zeros(1, len(states), dtype=torch.long, device=states.device)
        alone = with_child(self._head.model, self._head.base_path, _fixed_states(self._head.base.model, fixed))
        logits: torch.Tensor = forward(self._head.base, {"input_ids": ids}, alone)["logits"][0]
        return logits.float()

    def states(self, output: Mapping[str, Any]) -> "torch.Tensor":
        """Return the states of the last layer (batch, seq, hidden) that `logits` reads."""
        tensor: torch.Tensor = output["last_hidden_state" if self.reads_states else "logits"]
        return tensor

    def chunks(self, count: int) -> "Iterator[slice]":
        """Yield slices of `count` positions whose logits stay within CHUNK_NBYTES."""
        step = max(1, CHUNK_NBYTES // (4 * self.vocab_size))
        return (slice(start, min(start + step, count)) for start in range(0, count, step))

    @property
    def vocab_size(self) -> int:
        """Size of the vocabulary in the config."""
        return word_count(self._head)


def _finite(head: HeadModel, logits: "torch.Tensor") -> "torch.Tensor":
    """Refuse NaN and infinity; a head may exclude a class by minus infinity."""
    if not bool((logits < torch.inf).all()):  # false for NaN, too
        raise CheckpointError(
            f"The task head of {quoted(head.name)} answers with NaN or infinity, so there is no answer to show; look "
            "at its weights on the page Checkpoint."
        )
    return logits


def word_count(head: HeadModel) -> int:
    """Return the vocabulary size of a masked-LM head from its config."""
    return int(text_config(head.model.config).vocab_size)


def _fixed_states(base: "torch.nn.Module", output: Any) -> "torch.nn.Module":
    class FixedStates(torch.nn.Module):
        """A base with a fixed output; other attributes, such as its word embeddings, are those of the base."""

        def __getattr__(self, name: str) -> Any:
            return getattr(base, name)

        def forward(self, *_: Any, **__: Any) -> Any:
            return output

    return FixedStates()
