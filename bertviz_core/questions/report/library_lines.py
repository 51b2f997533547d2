"""Generate library code that reproduces the result of a page."""

from collections.abc import Mapping
from typing import Any

from bertviz_core.questions.models.training import TrainingSubject
from bertviz_core.questions.opened import CorpusSubject, Opened
from bertviz_core.questions.parameters import COMMON, Options, Param
from bertviz_core.questions.question import Question

SPELLED = 2_000
"""Total length up to which texts are included in the code."""
LINE = 100
"""Maximum length of a call on a single line."""
PROBE_FILE = "probe.zip"
PROBE_NOTE = f"# {PROBE_FILE} is the file that Save this probe writes"
METHODS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "tags": ("predict", {"joined": "join"}),
    "corpus-search": ("search", {"hits": "k", "where": "where"}),
}
"""Question -> its dedicated method, and the keywords of the method by parameter key."""
PRINTED: Mapping[str, str] = {
    "accuracy": "for curve in result:\n    print(curve.order, curve.values.mean(axis=0))",
    "adapter-updates": (
        "for update in result.updates:\n"
        "    print(update.name, update.relative_norm, update.stable_rank, update.singular_values)"
    ),
    "answers": "for answer in result.answers:\n    print(answer.text, answer.score)",
    "answers-change": (
        "for prediction in result:   # before and after the edit\n"
        "    print([(answer.text, answer.score) for answer in prediction.answers])"
    ),
    "answers-compared": (
        "print(result.confusion)   # texts by answer of the first model (rows) and of the second\n"
        "if result.gold is not None:   # there are gold labels\n"
        "    print(result.gold.accuracy, result.gold.macro_f1, result.gold.mcnemar_p)\n"
        "print(result.kinds)"
    ),
    "attention": "print(result.weights, result.hidden_share)   # queries × keys, and what of each row is hidden",
    "attention-changed": "print(result.divergences)   # (layers, heads), in nats",
    "attention-compared": (
        "print(result.first.weights, result.second.weights)   # queries × keys\n"
        "print(result.difference)   # second − first; None where the models have different tokens"
    ),
    "bits": (
        "for each in result.formats:\n"
        "    print(each.format, each.rescored, each.dimensions, each.nbytes)\n"
        "    print(each.recall, each.spearman, each.changed)\n"
        "print(result.widest, result.constant_signs)"
    ),
    "background": (
        "print(result.mean, result.standard_deviation, [result.percentile(each) for each in (5, 95, 99)])\n"
        "print(result.percentile_rank(0.5))   # the share of pairs that are less alike than 0.5"
    ),
    "calibration": (
        "print(result.scores)\n"
        "for each in result.labels:   # the answer, or the labels of a multi-label head\n"
        "    print(each.temperature, each.before, each.after)\n"
        "    print(each.equal_width.probability, each.equal_width.share)\n"
        "    print(each.coverage, each.covered_accuracy)"
    ),
    "classes-change": (
        "for prediction in result:   # before and after the edit\n"
        "    has_probabilities = prediction.probabilities is not None\n"
        "    print(prediction.labels, prediction.probabilities if has_probabilities else prediction.logits)"
    ),
    "corpus-clusters": "print(result.sizes, result.typical)",
    "corpus-duplicates": "print(result.pairs, result.sizes)\nprint(result.rows)",
    "corpus-heads": "print(result.measures, result.overall.mean)   # (measures, layers, heads)",
    "corpus-map": "print(result.points, result.explained)",
    "corpus-neighbours": (
        "print(result.same, result.changed)   # nearest rows kept by each row, and how many rows have others\n"
        "print(result.rows[result.first_nearest], result.rows[result.second_nearest])"
    ),
    "corpus-probe": "print(result.layers, result.accuracy.mean(axis=1))",
    "corpus-search": "for hit in result.data.hits:\n    print(hit.row, hit.score, hit.text)",
    "dimensions": "print(result.dimensions, result.shared, result.spearman, result.nbytes, result.trained)",
    "effect-spread": "print(result.mean)   # (layers, heads)\nprint(result.spread)   # (layers, heads)",
    "effects": (
        "for effects in result.effects:   # (layers, heads), (layers,), (layers,)\n"
        "    print(effects.kind, effects.heads, effects.feed_forward, effects.layers)\n"
        "print(effects.clean)"
    ),
    "effects-compared": (
        "print(result.first.heads, result.second.heads)   # (layers, heads)\n"
        "print(result.difference, result.first.clean, result.second.clean)"
    ),
    "fitted-probes": (
        "scores = result.scores   # a row for each layer, a column for each fold\n"
        "print(scores.accuracy.mean(axis=1), scores.accuracy.std(axis=1))\n"
        "print(scores.macro_f1.mean(axis=1), scores.control_accuracy.mean(axis=1), scores.majority)"
    ),
    "gold-cosines": (
        "for each in result.models:\n"
        "    print(each.model, each.spearman, each.pearson)\n"
        "    print(each.cosines, each.rank_errors)"
    ),
    "word-swaps": (
        "print(result.outputs, result.mean, result.interval)   # a row for each pair, and for all of them\n"
        "print(result.values)   # (pairs, templates, words, numbers of a text)"
    ),
    "gold-labels": "print(result.tokens, result.labels)   # -100 where the loss leaves a token out",
    "gold-tags": (
        "print(result.types, result.counts)   # numbers of gold, predicted and right entities\n"
        "print(result.scores)   # precision, recall and F1 of each type, micro and macro\n"
        "print(result.errors)"
    ),
    "label-errors": (
        "print(result.suspects, result.suggested)   # indices of the texts, places of the classes\n"
        "print(result.joint.counts, result.estimated)\n"
        "print(result.neighbours, result.cosines)"
    ),
    "late-chunks": (
        "print(result.chunks.alone, result.chunks.late)   # (chunks, dimensions)\n"
        "print(result.cosines, result.alone_scores, result.late_scores)"
    ),
    "late-interaction": (
        "print(result.query_tokens, result.document_tokens)\n"
        "print(result.cosines, result.largest, result.score)   # (tokens of the query, tokens of the text)"
    ),
    "layer-similarity": (
        "print(result.cka, result.shared_neighbours)   # (hidden states of the first, of the second)\n"
        "print(result.first_cosine, result.second_cosine)"
    ),
    "lens": (
        "print(result.top_ids[..., 0])   # the best word of each state and token, as a row of the vocabulary\n"
        "print(result.log_probability, result.rank, result.entropy, result.divergence)"
    ),
    "memory": "print(result.batches, result.lengths, result.nbytes)",
    "null-threshold": (
        "print(result.answers, result.exact, result.f1)   # exact match and F1 of the best spans\n"
        "print(result.null_logits, result.difference)   # null score, and the same minus the score of the best span\n"
        "print(result.curve)   # exact match and F1 by threshold; None without gold answers"
    ),
    "number-formats": (
        "for each in result.formats:\n"
        "    whole, agreement = each.whole, each.agreement\n"
        "    print(each.name, whole.relative_error, whole.largest_error, whole.nbytes, whole.rounded_nbytes)\n"
        "    if agreement is not None:   # texts were run\n"
        "        print(agreement.cosines, agreement.shared, agreement.changed)"
    ),
    "pair": "print(result.cells, result.total, result.score)",
    "patched-heads": (
        "print(result.clean, result.corrupt)\n"
        "print(result.states)   # (layers, tokens)\n"
        "print(result.heads)   # (layers, heads)"
    ),
    "position-shares": "print(result.shares, result.shares.sum())",
    "predictions-compared": (
        "print(result.answers)   # of the first model and of the second\n"
        "print(result.names, result.first_answers, result.second_answers)\n"
        "print(result.first_numbers, result.second_numbers, result.difference)"
    ),
    "probe-answer": "print(result.labels, result.probabilities)",
    "prompt-ranks": (
        "for each in result.prompted:\n"
        "    print(each.name, each.mrr, each.ndcg, each.recall, each.first, each.mean_rank)\n"
        "print(result.query, result.document, [each.ranks for each in result.prompted])"
    ),
    "prompts": (
        "for each in result.prompted:\n"
        "    print(each.name, each.range.mean, each.spread, each.spearman, each.same_nearest)\n"
        "    print(each.cosines)   # (sentences as queries, sentences as documents)"
    ),
    "ranking": (
        "print(result.order)   # the places in the list, from 0, by descending score\n"
        "print(result.scores, result.cosines, result.rise)   # in the order of the list\n"
        "print(result.logits, result.equal_scores)   # scores that a number format makes equal"
    ),
    "joint-ablation": "print(result.places, result.single, result.total, result.joint)",
    "removal": (
        "for curve in result.curves:\n"
        "    print(curve.order, curve.values.mean(axis=0))\n"
        "print(result.greedy.joint, result.greedy.total)"
    ),
    "scores-compared": "print(result.gold.accuracy, result.gold.macro_f1, result.gold.mcnemar_p)",
    "sentence-vectors": "print(result.vectors)",
    "three-heads": (
        "print(result.dense, result.sparse, result.multi_vector)   # in the order of the list\n"
        "print(result.scores, result.order, [each.tokens for each in result.shared])"
    ),
    "sentences-compared": (
        "print(result.first_cosines, result.second_cosines)   # (sentences, sentences)\n"
        "print(result.first_range, result.second_range)\n"
        "print(result.neighbours, result.shared, result.cka)"
    ),
    "slices-compared": "for each in result.slices:\n    print(each.name, each.accuracy, each.agreement)",
    "states-compared": "print(result.cosines)   # (hidden states, tokens)",
    "tags": "for entity in result.to_json()['entities']:\n    print(entity['label'], entity['text'], entity['score'])",
    "text-answers": "print(result.answers, result.scores)",
    "thresholds": (
        "print(result.best)   # the threshold with the largest F1\n"
        "print(result.reaching)   # the lowest one with the precision; None if there is none\n"
        "print(result.curve.thresholds, result.curve.precision, result.curve.recall, result.curve.f1)\n"
        "print(result.scores)   # of the pairs"
    ),
    "training-cka": "print(result.cka)   # (checkpoints, hidden states)",
    "training-entropy": "print(result.entropy)   # (checkpoints, layers, heads)",
    "training-log": "for entry in result.entries:\n    print(entry.step, entry.values)",
    "training-movement": (
        "print(result.from_first[:, :, 0])   # (checkpoints, layers and components)\n"
        "print(result.frozen, result.broken)"
    ),
    "training-scores": "print(result.accuracy, result.macro_f1, result.changed)",
    "training-text": (
        "print(result.answers, result.scores, result.probabilities)\n"
        "print(result.surprise, result.cosine)   # None where there is none"
    ),
    "vocabulary": (
        "for each in result.by_script:\n    print(each)\n"
        "print(result.ids, result.counts)   # rows of the vocabulary, the most frequent first\n"
        "print(result.untouched, [result.untouched_nbytes(each) for each in result.tables])"
    ),
    "word-classes": (
        "print(result.labels, result.clean)\n"
        "for word, shares in zip(result.words, result.shares):\n"
        "    print(word, shares)"
    ),
    "word-curves": (
        "print(result.counts)\n"
        "for curve in result.curves:\n"
        "    print(curve.method, curve.without, curve.alone)\n"
        "print(result.random.mean(axis=0), result.random_alone.mean(axis=0))"
    ),
    "word-pairs": (
        "print(result.shares)   # (tokens of the first text, tokens of the second)\n"
        "print(result.shares.sum(), result.reference_terms, result.cosine)"
    ),
    "word-shares": "print(result.words, result.shares)\nprint(result.clean, result.reference, result.error)",
    "words-compared": "print(result.parts)\nprint(result.first_shares, result.second_shares, result.difference)",
    "words-change": "print(result.words, result.before, result.after, result.divergence)",
}
"""Question -> lines that print what its view shows; other results are printed completely."""


def library_lines(
    question: Question[Any, Any], opened: Opened | CorpusSubject | TrainingSubject, options: Options
) -> str:
    """Code that opens the subject, computes the answer with these options, and prints what its view shows."""
    return f"{opening_lines(opened, options.task, _has_probe(options))}{call_lines(question, options)}"


def explained(
    words: str, question: Question[Any, Any], opened: Opened | CorpusSubject | TrainingSubject, options: Options
) -> dict[str, str]:
    """How the numbers of a figure are computed: in words, and by the library."""
    return {"explanation": words, "code": library_lines(question, opened, options)}


def opening_lines(
    opened: Opened | CorpusSubject | TrainingSubject, task: str | None = None, by_name: bool = False
) -> str:
    """Code that opens a model as `model`, a corpus as `corpus`, or a training run as `training`.

    Args:
        by_name: whether to open a local model by its name, which its probes refer to, rather than by its folder.
    """
    if isinstance(opened, CorpusSubject):
        return f"from bertviz_core import open_corpus\n\ncorpus = open_corpus({str(opened.corpus.path)!r})\n"
    if isinstance(opened, TrainingSubject):
        named = opened.name if opened.run.is_example else str(opened.run.folder)
        return f"from bertviz_core import open_training\n\ntraining = open_training({named!r})\n"
    with_task = "" if task is None else f", task={task!r}"
    source = opened.source
    name = source.name if by_name or not source.path else source.path
    return f"from bertviz_core import open_model\n\nmodel = open_model({name!r}{with_task})\n"


def call_lines(question: Question[Any, Any], options: Options) -> str:
    """Code that computes the answer with an open model or corpus, and prints what its view shows."""
    name = question.public_name
    method, keywords = METHODS.get(name, ("compute", {}))
    arguments, before = _arguments(question, options, keywords)
    named = [repr(name)] if method == "compute" else []
    subject = {CorpusSubject: "corpus", TrainingSubject: "training"}.get(question.subject, "model")
    note = f"{PROBE_NOTE}\n" if _has_probe(options) else ""
    call = _call(f"result = {subject}.{method}", [*named, *arguments])
    return f"{before}{note}{call}\n{PRINTED.get(name, 'print(result)')}\n"


def figure_line(name: str, question: Question[Any, Any], subject: str, options: Options) -> str:
    """Code that opens a model, corpus or training run and draws a figure; one line unless it is long.

    Args:
        subject: name of the model, or folder of the corpus or training run.
        options: texts and parameters, as short as they stand in the code.
    """
    opener = {CorpusSubject: "open_corpus", TrainingSubject: "open_training"}.get(question.subject, "open_model")
    with_task = "" if options.task is None else f", task={options.task!r}"
    arguments, _ = _arguments(question, options, {})
    return _call(f"{opener}({subject!r}{with_task}).figure", [repr(name), *arguments])


def _arguments(question: Question[Any, Any], options: Options, keywords: Mapping[str, str]) -> tuple[list[str], str]:
    """Arguments of a call: texts, pair and parameters; and code before it that reads long texts."""
    called, before = _texts(options.texts)
    if options.pair is not None:
        called.append(f"pair={options.pair!r}")
    params = {param.key: param for param in question.params}
    for key, value in options.values.items():
        if value and (key in params or key in COMMON) and (not keywords or key in keywords):
            called.append(f"{keywords.get(key, key)}={_literal(params.get(key), value)}")
    return called, before


def _call(called: str, arguments: list[str]) -> str:
    """A call on one line, or with one argument a line if that is long."""
    line = f"{called}({', '.join(arguments)})"
    return line if len(line) <= LINE else "\n".join([f"{called}(", *(f"    {each}," for each in arguments), ")"])


def _has_probe(options: Options) -> bool:
    return options.get("target").startswith("probe:")


def _texts(texts: tuple[str, ...]) -> tuple[list[str], str]:
    """The texts as arguments, and code that reads them from a file if they are long."""
    if sum(map(len, texts)) <= SPELLED:
        return [repr(text) for text in texts], ""
    if len(texts) == 1:
        return ["text"], "text = open('text.txt', encoding='utf-8').read()\n"
    return ["*texts"], "texts = open('texts.txt', encoding='utf-8').read().splitlines()   # a text per line\n"


def _literal(param: Param | None, value: str) -> str:
    """A value as a Python literal; the library also accepts numbers as texts."""
    if param is not None and param.options == ("false", "true"):
        return value.capitalize()
    if param is not None and param.kind == "target" and value.startswith("probe:"):
        label = value.partition("@")[2]
        return repr(f"probe:{PROBE_FILE}@{label}" if label else f"probe:{PROBE_FILE}")
    is_number = param is None or param.kind not in ("choice", "span", "text", "target")
    return value if is_number and value.isascii() and value.isdigit() and str(int(value)) == value else repr(value)
