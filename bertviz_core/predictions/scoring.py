"""Scores of texts: ranking, activations, surprise."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Named, Progress, TextError, no_progress
from bertviz_core.isolation.regular_files import MODULES_FILE, present
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import PADDED_TOGETHER
from bertviz_core.models.local_files import modules_folder, weights_folder
from bertviz_core.models.receipt import PROMPTS_FILE
from bertviz_core.models.rerankers import CROSS_ENCODER, scored_by
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.classes import class_place, output_names, output_scoring, softmax
from bertviz_core.predictions.masked_lm import mask_id, masked_row
from bertviz_core.predictions.rerankers import TOKEN_LOGITS
from bertviz_core.predictions.results import PseudoLikelihood, ScoreName
from bertviz_core.predictions.run import CHUNK_NBYTES, HeadModel, WordHead, check_task, groups, row_outputs
from bertviz_core.sentences.plan import sentence_config
from bertviz_core.settings import Settings
from bertviz_core.text import quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, tokenize

TORCH_PREFIX = "torch."
"""Prefix of the classes that sentence-transformers accepts without trust_remote_code."""
ACTIVATIONS: Mapping[str, ScoreName] = {"Sigmoid": "sigmoid", "Identity": "logit", "Tanh": "tanh", "ReLU": "ReLU"}
"""Class of torch.nn -> the score that it computes."""
NEWER_KEY, OLDER_KEY, CLASS_KEY = "sentence_transformers", "sbert_ce_default_activation_function", "activation_fn"


class PairSettings(NamedTuple):
    """Settings of a cross-encoder with one output."""

    score_name: ScoreName
    """How its logit becomes its score."""
    max_seq_length: int | None
    """Maximum number of tokens of query and text together; None for that of model and tokenizer."""
    prompt: str
    """Text in front of every query."""
    notices: tuple[str, ...]
    """Settings that are not followed, one sentence each."""


def pair_settings(source: ModelSource, settings: Settings) -> PairSettings:
    """Return the settings of a cross-encoder: sigmoid, unless its files name another activation.

    A folder that was saved as a CrossEncoder has a file of settings, which is read first; then come the entries of
    config.json. An activation that is no class of torch is replaced by the sigmoid, as in sentence-transformers.
    """
    folder = modules_folder(source, settings)
    saved: Mapping[str, Any] = {}
    if present(folder, MODULES_FILE) and present(folder, PROMPTS_FILE):
        saved = read_json(folder, PROMPTS_FILE)
    if saved.get("model_type") != CROSS_ENCODER:
        score_name, notices = _activation(source.config, {})
        return PairSettings(score_name, None, "", notices)
    config = sentence_config(folder, weights_folder(source, settings), scored_by(source), "scores")
    score_name, notices = _activation(source.config, saved)
    if config.lower_case:
        notices += ("The checkpoint lowercases its texts, which is not followed here; its scores differ.",)
    return PairSettings(score_name, config.max_seq_length, config.prompt, (*notices, *config.notices))


def activated(logits: Float[np.ndarray, " texts"], score_name: ScoreName) -> Float[np.ndarray, " texts"]:
    """Compute the scores of logits, in float32, for every score but softmax, which needs all classes."""
    if score_name == "sigmoid":
        return (0.5 + 0.5 * np.tanh(0.5 * logits.astype(np.float64))).astype(np.float32)
    if score_name == "tanh":
        return np.asarray(np.tanh(logits))
    return np.asarray(np.maximum(logits, np.float32(0))) if score_name == "ReLU" else logits


def _activation(config: Mapping[str, Any], saved: Mapping[str, Any]) -> tuple[ScoreName, tuple[str, ...]]:
    """The score that the settings name, and a notice where it is another."""
    name, notices = _named(config, saved)
    if name is None:
        return "sigmoid", notices
    score_name = ACTIVATIONS.get(name.rpartition(".")[2])
    if score_name is None:
        what = f"The activation {quoted(name, 80)} of the checkpoint is not computed here; its logit is the score."
        return "logit", (*notices, what)
    return score_name, notices


def _named(config: Mapping[str, Any], saved: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """The first class of torch that the settings name, and a notice of classes that are none; None for no class."""
    newer = config.get(NEWER_KEY)
    in_config = newer[CLASS_KEY] if isinstance(newer, Mapping) and CLASS_KEY in newer else config.get(OLDER_KEY)
    notices: tuple[str, ...] = ()
    for name in (saved.get(CLASS_KEY), in_config):
        if isinstance(name, str) and name.startswith(TORCH_PREFIX):
            return name, notices
        if name is not None:
            what = f"The checkpoint's activation {quoted(str(name), 80)} is code of its own, which is never run here."
            notices = (*notices, what)
    return None, notices


TASK = "sequence-classification"
DEFAULT_CLASS = "entailment"
"""Class that ranks if none is named; the case of its letters does not matter."""


class PairScores(NamedTuple):
    """Scores of a query with each text."""

    label: str
    """The class that ranks; "" for a head with one output."""
    score_name: ScoreName
    logits: Float[np.ndarray, " texts"]
    scores: Float[np.ndarray, " texts"]
    truncated: int
    """Number of texts that were cut, with the query."""
    notices: tuple[str, ...]
    answers: tuple[str, ...] = ()
    """The tokens whose logits make the logit; () for any other head."""
    token_logits: Float[np.ndarray, "texts answers"] | None = None
    """Their logits."""


def pair_scores(
    head: HeadModel,
    tokenizer: TextTokenizer,
    source: ModelSource,
    settings: Settings,
    query: str,
    texts: Sequence[str],
    label: str = "",
    progress: Progress = no_progress,
) -> PairScores:
    """Score the pairs (query, text), as `paired_scores` does.

    Args:
        label: the class that ranks; "" for "entailment".
    """
    pairs = [(query, text) for text in texts]
    return paired_scores(head, tokenizer, source, settings, pairs, label, progress)


def paired_scores(
    head: HeadModel,
    tokenizer: TextTokenizer,
    source: ModelSource,
    settings: Settings,
    pairs: Sequence[tuple[str, str]],
    label: str = "",
    progress: Progress = no_progress,
) -> PairScores:
    """Score pairs of a query and a text each, run in batches of equal length.

    A head with one output is a cross-encoder: its score is the activation that its settings name, the sigmoid by
    default, of its logit, as sentence-transformers computes it. Of several classes the score is the probability of one.

    Args:
        label: the class that ranks; "" for "entailment".
    """
    check_task(head, TASK)
    place, name, notices = ranking_class(head, label)
    read = pair_settings(source, settings) if not name else PairSettings("softmax", None, "", ())
    most = read.max_seq_length
    shorter = tokenizer.limited(most, f"the checkpoint's max_seq_length is {most or 0:,}")
    template = shorter.pair_template
    in_template = template is not None and bool(template.parts)  # which has the prompt, too
    prompt = "" if in_template else read.prompt
    rows = [tokenize(shorter, f"{prompt}{query}", text) for query, text in pairs]
    logits = np.zeros(len(rows), dtype=np.float32)
    scores = np.zeros(len(rows), dtype=np.float32)
    token_logits = np.zeros((len(rows), len(head.answers)), dtype=np.float32)
    outputs = ("logits", TOKEN_LOGITS) if head.answers else ("logits",)
    scoring, padded = output_scoring(head), head.base.model_type in PADDED_TOGETHER
    score_name: ScoreName = read.score_name if not name else "sigmoid" if scoring == "sigmoid" else "softmax"
    for done, (index, (row, *more)) in enumerate(row_outputs(head, rows, outputs, padded=padded), start=1):
        logits[index] = row[place]
        token_logits[index] = more[0] if more else ()
        scores[index] = softmax(row)[place] if score_name == "softmax" else np.nan
        progress(done, len(rows))
    scores = scores if score_name == "softmax" else activated(logits, score_name)
    for array in (logits, scores, token_logits):
        array.setflags(write=False)
    truncated = sum(any(row.tokens_cut) for row in rows)
    prompted = (f"The checkpoint puts {quoted(prompt)} in front of the query.",) if prompt else ()
    joined = () if template is None else (template.notice,)
    every = (*head.notices, *tokenizer.notices, *notices, *read.notices, *prompted, *joined)
    return PairScores(name, score_name, logits, scores, truncated, every, head.answers, token_logits)


def ranking_class(head: HeadModel, label: str = "") -> tuple[int, str, tuple[str, ...]]:
    """Return the index and name of the class that ranks, and notices on the names; the name is "" for one output."""
    count = int(head.model.config.num_labels)
    labels, notices = output_names(head, count)
    if count == 1:
        if label and label != labels[0]:
            class_place(labels, label, head.name)
        return 0, "", ()
    if label:
        return class_place(labels, label, head.name), label, notices
    place = next((index for index, each in enumerate(labels) if each.lower() == DEFAULT_CLASS), None)
    if place is None:
        known = ", ".join(quoted(each, 30) for each in labels[:12]) + (", ..." if len(labels) > 12 else "")
        what = f"{quoted(head.name, 60)} has several classes and none is called {DEFAULT_CLASS}; name one that ranks ("
        raise TextError(what, Named("label"), f"): {known}.")
    return place, labels[place], notices


def pseudo_likelihood(
    head: HeadModel, tokenizer: TextTokenizer, tokens: Tokens, progress: Progress = no_progress
) -> PseudoLikelihood:
    """Compute the surprise -log p(token | all others) of every token that is not special (Salazar et al. 2020).

    Rows run in batches within a memory budget; the results equal those of single rows.
    """
    word_head = WordHead(head)
    mask = mask_id(tokenizer)
    if (np.asarray(tokens.input_ids) == mask).any():
        raise TextError("The text has a mask: its word is not known, so neither is its surprise. Write the word.")
    positions = np.flatnonzero(~np.asarray(tokens.special)).tolist()
    if not positions:
        raise TextError("The text has no token of its own whose surprise could be computed; write a word.")
    surprise = np.full(len(tokens), np.nan, dtype=np.float32)
    done = 0
    for batch in _batches(head, word_head, len(tokens), positions):
        output = word_head.outputs([masked_row(tokens, [position], mask) for position in batch])
        rows = torch.arange(len(batch))
        states = word_head.states(output)[rows, torch.as_tensor(batch)]
        for chunk in word_head.chunks(len(batch)):
            logits = word_head.logits(output, states[chunk])
            ids = torch.tensor(tokens.input_ids[batch[chunk]], device=logits.device)[:, None]
            surprise[batch[chunk]] = -logits.log_softmax(dim=-1).gather(1, ids)[:, 0].cpu().numpy()
        done += len(batch)
        progress(done, len(positions))
    return PseudoLikelihood(head.name, tokens, surprise, notices=(*tokens.notices, *head.notices))


def _batches(head: HeadModel, word_head: WordHead, seq: int, positions: list[int]) -> Any:
    most = len(positions)
    if not word_head.reads_states:  # the whole model computes the logits of every position
        most = max(1, CHUNK_NBYTES // (4 * seq * word_head.vocab_size))
    for group in groups(head, [seq] * len(positions)):
        for start in range(0, len(group), most):
            yield [positions[index] for index in group[start : start + most]]
