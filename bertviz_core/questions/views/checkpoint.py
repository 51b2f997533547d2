"""The page Checkpoint: the load report, all weights, fewer bits, and what differs from another checkpoint."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import prod
from typing import Any

from bertviz_core.checkpoints.health import CHECKED
from bertviz_core.checkpoints.load_report.advice import share_text
from bertviz_core.checkpoints.load_report.report import LABELLED
from bertviz_core.checkpoints.load_report.results import LoadReport
from bertviz_core.checkpoints.results import CheckpointComparison, CheckpointStatistics, TensorChange, TensorGrid
from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.checkpoints.tables import CHANGES, formats_frame, keys_frame
from bertviz_core.errors import BertvizError, TextError, UnsupportedModelError
from bertviz_core.figures.checkpoints.comparison import (
    change_figure,
    changes_figure,
    cosines_figure,
    divergences_figure,
    layer_similarity_figure,
    most_changed,
    text_cosines_figure,
)
from bertviz_core.figures.checkpoints.load_report import adapter_updates_figure, report_figure, task_head_figure
from bertviz_core.figures.checkpoints.weights import (
    STATISTICS,
    drawn_range,
    first_matrix,
    number_formats_figure,
    statistic_figure,
    tensor_values_figure,
)
from bertviz_core.isolation.regular_files import has_links
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.models.local_files import saved_class
from bertviz_core.models.skeleton import TASK_CLASSES
from bertviz_core.predictions.probing.reading import EXAMPLE_SET
from bertviz_core.questions.models import checkpoints
from bertviz_core.questions.models.architecture import parameters
from bertviz_core.questions.models.checkpoints import (
    LAYER_MEASURE,
    OTHER,
    STATISTIC,
    UPDATE_MEASURE,
    WEIGHTS_SCALE,
    adapter_updates,
    layer_similarity,
)
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import explained, library_lines
from bertviz_core.questions.tables.checkpoints import formats_sentence, most_moved, texts_sentence
from bertviz_core.questions.texts.number_formats import (
    ALL,
    NUMBER_FORMATS,
    ROUNDED_BY,
    ROUNDED_FOR,
    USUAL,
    number_formats,
)
from bertviz_core.questions.view import (
    Ahead,
    Ask,
    Cell,
    Code,
    Explained,
    Figure,
    Folded,
    Level,
    Link,
    Links,
    Metric,
    Metrics,
    Notices,
    Part,
    Section,
    Table,
    Text,
    View,
)
from bertviz_core.questions.views.parameters import count_remarks, tasks_of
from bertviz_core.questions.views.texts import checkpoint as texts
from bertviz_core.questions.views.training import FOLLOWED, TRAINING
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.tables.typeset import readable
from bertviz_core.text import bytes_text, class_words, count, counted, decimals, digits, escape_markdown

ShowTexts = Callable[[tuple[str, ...], Any, Ask, Options], Iterable[Part]]
"""From a list, () for the example set, the subject, what asks it, and the options to what is shown."""
MOST_ROWS, NAME_WIDTH, HEIGHT = 20_000, 330, 330
"""Most rows of the table of keys, and pixels of its first column and of all of it."""
MOST_OPTIONS = 2_000
"""Most tensors in a list, besides those with a cell."""
HEADS = {"LMHeadModel": "masked-lm", **{auto.removeprefix("AutoModel"): task for task, auto in TASK_CLASSES.items()}}
"""End of a class's name -> task of its head."""
STATES = ("all", "matched", "new", "wrong shape", "tied", "unused", "ignored")


def loadable_tasks(opened: Opened, _: Options) -> tuple[str, ...]:
    """Tasks for which the family has a class, that of the checkpoint first."""
    tasks, saved = tasks_of(opened), saved_class(opened.source.config)
    if not tasks:
        raise UnsupportedModelError(f"transformers has no class of {opened.name!r} for any of the supported tasks.")
    named = next((task for end, task in HEADS.items() if end and saved.endswith(end)), "base")
    return tuple(dict.fromkeys((named if named in tasks else tasks[0], *tasks)))


def head_labels(opened: Opened, options: Options) -> tuple[int, int, int]:
    """Bounds of the number of labels, and that of the config; 0 for a head without labels."""
    if options.get(LOAD_TASK.key) not in LABELLED:
        return 0, 0, 0
    return 1, checkpoints.MAX_LABELS, len(opened.source.config.get("id2label") or ()) or 2


def key_states(opened: Opened, options: Options) -> list[str]:
    """Status of the keys of a load report, each that occurs."""
    present = {row.status for row in checkpoints.load_report(opened, _loaded_as(opened, options)).result.rows}
    return [each for each in STATES if each == "all" or each in present]


def weight_scales(_: Opened, options: Options) -> Sequence[str]:
    """Scales of a statistic; a signed one has only the even scale."""
    return checkpoints.SCALES[1:] if STATISTICS[options.choice(STATISTIC)][2] else WEIGHTS_SCALE.options


def tensor_names(opened: Opened, _: Options) -> list[str]:
    """Tensors of the checkpoint, the default first."""
    statistics, grid = checkpoints.statistics_of(opened), checkpoints.tensor_statistics(opened, Options()).result
    return _selectable(first_matrix(statistics), statistics.by_name(), grid)


def changed_names(opened: Opened, options: Options) -> list[str]:
    """Tensors that both checkpoints have, the one that changed most first."""
    answer = checkpoints.changes(opened, _of(options, OTHER))
    names = [each.name for each in answer.result.tensors]
    return _selectable(most_changed(answer.result), names, answer.drawn["change_grid"])


def _selectable(first: str, names: Iterable[str], grid: TensorGrid) -> list[str]:
    cells = (name for row in (*grid.names, grid.outside) for name in row if name)
    return list(dict.fromkeys((first, *islice(names, MOST_OPTIONS), *cells)))


def _of(options: Options, *params: Param) -> Options:
    return Options(values={each.key: options.get(each.key) for each in params})


LOAD_TASK = Param(
    "load_task",
    "choice",
    "the task whose class is loaded, with the head that transformers would add",
    label="Load it for",
    values=loadable_tasks,
)
LABELS = replace(checkpoints.LABELS, label="Labels", bounds=head_labels)
KEY_STATUS = replace(
    choice("key_status", STATES, "the status of the keys that are listed", "Keys"), values=key_states, control="few"
)
KEY_SEARCH = Param("key_search", "text", "part of a key's name", label="Search keys")
COLOURS = replace(WEIGHTS_SCALE, values=weight_scales)
TENSOR = replace(checkpoints.TENSOR, label="Tensor", values=tensor_names)
CHANGED = replace(checkpoints.CHANGED, label="Tensor", values=changed_names)
FORMATS = replace(NUMBER_FORMATS, control="names", label="Formats", options=ALL, values=lambda *_: USUAL)
COMPARED = choice(
    "compared",
    ("weights", "behaviour with the text", "layers over many texts", "answers to many texts"),
    "what is compared",
    "What is compared",
    parts=True,
)
COMPARED_LIST = choice("compared_list", ("example set", "my own list"), "which texts are run", "Texts")
COMPARED_TEXTS = Param("compared_texts", "text", "texts, one on each line", label="Texts, one a line", control="lines")


def about_checkpoint(opened: Opened, ask: Ask, _: Options) -> tuple[str, Sequence[Part]]:
    """Class and origin of the checkpoint."""
    source = opened.source
    classes = class_words(saved_class(opened.source.config), ask(parameters, Options()).result.architecture)
    adapter = "" if source.adapter is None else f", an adapter of {source.adapter.base.name}"
    weights = "its weights are on this machine" if source.has_weights else "without its weights"
    return f"{classes}{adapter}; {weights}", ()


def _loaded_as(opened: Opened, options: Options) -> Options:
    """Task and labels of a load report; labels of the config are not named."""
    labels, task = options.get(LABELS.key), options.get(LOAD_TASK.key)
    stated = head_labels(opened, options)[-1]
    return Options(task=task, values={} if labels in ("", str(stated)) else {LABELS.key: labels})


def report_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The load report for the task, or why there is none, and what the head adds or leaves out."""
    loaded_as = _loaded_as(opened, options)
    try:
        answer = ask(checkpoints.load_report, loaded_as)
    except BertvizError as error:
        yield Text(escape_markdown(str(error)), "warning")
    else:
        yield from _reported(opened, answer)
    head = ask(checkpoints.task_head, loaded_as)
    difference = head.result
    if difference.added or difference.removed:
        yield Text("What the head adds", "heading")
        yield Text(f"{difference.architecture}: {texts.added_words(difference)}")
        yield Figure.of(
            task_head_figure,
            head,
            f"head {difference.task} {difference.model}",
            explanation=texts.DIFFERENCE,
            code=texts.difference_code(difference, opened.source),
        )


def _reported(opened: Opened, answer: Answer[LoadReport]) -> Iterator[Part]:
    report = answer.result
    share = share_text(report.fraction_from_file)
    figure = Figure.of(
        report_figure,
        answer,
        f"load report {report.task} {report.model}",
        numbers="in files",
        below=[*_verdict(report), Notices(report.notices), Text(texts.READING, "caption")],
        explanation=texts.REPORT,
        code=texts.report_code(report, opened.source),
    )
    caption = f"{figure.spec.title}: {report.matched:,} of {report.expected:,} tensors, {share}."
    yield replace(figure, caption=caption)
    values = {
        "Matched": f"{report.matched:,} of {report.expected:,}",
        "New": count(len(report.new)),
        "Unused": count(len(report.unused)),
        "Wrong shape": count(len(report.mismatched)),
        "From the file": share,
    }
    yield Metrics([Metric(label, value, texts.HELP[label]) for label, value in values.items()])
    yield Section((KEY_STATUS, KEY_SEARCH), partial(_keys, report))
    read = bytes_text(report.header_nbytes) if report.header_nbytes else "the headers only, from the Hub"
    what = "Stored" if opened.source.adapter is None else "With the adapter merged"
    stored = f"{what}: {report.stored_tensors:,} tensors, {bytes_text(report.stored_nbytes)}."
    yield Text(f"{stored} Read for this: {read}.", "caption")


def _verdict(report: LoadReport) -> Iterator[Part]:
    """The meaning of the figure, and how to repair the checkpoint."""
    sound, repair = report.is_complete and not report.notices, report.repair
    level: Level = "success" if sound else "error" if repair or report.mismatched else "warning"
    yield Text(escape_markdown(report.suggestion), level)
    if repair is not None:
        yield Text(
            f":material/build: **{escape_markdown(repair.words)}: {repair.before:,} → {repair.after:,} of "
            f"{repair.expected:,}** tensors match once {repair.keys:,} keys are renamed."
        )
        yield Code(repair.code, "python")


def _keys(report: LoadReport, _: Opened, __: Ask, options: Options) -> Iterator[Part]:
    """Every name with its status, filtered by status and search; names without a counterpart come first."""
    state, pattern = options.get(KEY_STATUS.key), options.get(KEY_SEARCH.key).lower()
    rows = [
        row
        for row in report.rows
        if state in ("all", row.status) and any(pattern in name.lower() for name in (row.name, *row.stored_names))
    ]
    rows.sort(key=lambda row: row.status == "matched")
    counts = Counter(row.status for row in report.rows)
    yield Text(f"**{len(rows):,} keys**, " + ", ".join(f"{number:,} {each}" for each, number in counts.items()))
    alt = "Keys of the model and the file with their status"
    yield Table(readable(keys_frame(rows[:MOST_ROWS])), alt, HEIGHT, NAME_WIDTH)
    if len(rows) > MOST_ROWS:
        first = f"The first {MOST_ROWS:,} of {len(rows):,} rows"
        yield Text(f"{first}; search to narrow them, the CSV has all.", "caption")


def weights_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Statistics of all tensors, and whether they look healthy."""
    answer = ask(checkpoints.checkpoint_statistics, Options())
    statistics = answer.result
    yield Notices(answer.notices)
    yield Section((), partial(_tensors, statistics))
    if not answer.drawn["signs"]:
        yield Text(f"Nothing suspicious in {len(statistics.tensors):,} tensors.", "success")
    read = f"{len(statistics.tensors):,} tensors, {bytes_text(statistics.nbytes)}, were read piece by piece."
    yield Text(f"{read} Looked for: {'; '.join(CHECKED)}.", "caption")
    if statistics.unread:
        unread, first = len(statistics.unread), escape_markdown(statistics.unread[0])
        skipped = f"Skipped, since the number format is not supported: {unread:,} ({first}, ...)."
        yield Text(skipped, "caption")


def _tensors(statistics: CheckpointStatistics, opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    chosen = _of(options, STATISTIC, WEIGHTS_SCALE)
    answer = ask(checkpoints.tensor_statistics, chosen)
    yield Figure.of(
        statistic_figure,
        answer,
        f"{options.get(STATISTIC.key)} {statistics.model}",
        ahead=Ahead.of(STATISTIC, statistic_figure, ask, checkpoints.tensor_statistics, chosen),
        alt=f"Statistics of every tensor of {statistics.model}",
        below=_clicked(statistic_figure.chart, TENSOR, answer.result),
        explanation=texts.WEIGHTS,
        code=texts.weights_code(opened.source, ask(parameters, Options()).result),
    )
    if statistics.tensors:
        yield Section((TENSOR,), partial(_values, statistics))


def _clicked(chart: str, tensor: Param, grid: TensorGrid) -> list[Part]:
    """A click in a map selects its tensor; what is not in the map."""
    click = Cell(chart, param=tensor, value=lambda row, column: grid.tensor_at(row, column) or None)
    more = Text(f"{grid.left_out:,} more tensors are in the table.", "caption")
    words = Text("Choose a cell to see its tensor below.", "caption")
    return [click, words, *([more] if grid.left_out else [])]


def _values(statistics: CheckpointStatistics, opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """One tensor: its numbers, and a histogram of its values."""
    tensor = statistics.by_name()[options.get(TENSOR.key)]
    about = f"{tensor.numel:,} numbers, {tensor.dtype}."
    yield Metrics.of(
        Metric("Shape", "×".join(map(str, tensor.shape)) or "1", about),
        Metric("Mean", digits(tensor.mean)),
        Metric("Standard deviation", digits(tensor.std), "Around the mean."),
        Metric("Smallest", digits(tensor.minimum)),
        Metric("Largest", digits(tensor.maximum)),
        Metric("Zeros", f"{tensor.zeros:,}"),
        Metric("NaN, infinite", f"{tensor.nan:,}, {tensor.infinite:,}"),
    )
    if not tensor.finite:
        yield Text("None of its values is finite, so there is no histogram.", "caption")
        return
    answer = ask(checkpoints.tensor_values, Options(values={TENSOR.key: tensor.name}))
    low, high = drawn_range(tensor, answer.drawn["initial_deviation"])
    outside = f"{answer.result.left_out:,} values lie outside the picture."
    yield Figure.of(
        tensor_values_figure,
        answer,
        f"values {tensor.name} {statistics.model}",
        below=[Text(outside, "caption")] if answer.result.left_out else (),
        explanation=texts.HISTOGRAM,
        code=texts.histogram_code(
            opened.source, ask(parameters, Options()).result, tensor.location.module_name, low, high
        ),
    )


def formats_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The map of errors, and the tables of formats and parts, with the texts that are run."""
    if not options.names(FORMATS.key):
        raise TextError("No number format is chosen; choose at least one under Formats.")
    if options.choice(ROUNDED_FOR) == ROUNDED_FOR.options[-1]:
        yield Section((COMPARED_TEXTS,), partial(_of_own_list, _formats, texts.WRITE_ONE))
    else:
        yield from _formats((), opened, ask, options)


def of_list(show: ShowTexts, before: str, opened: Any, ask: Ask, options: Options) -> Iterable[Part]:
    """What is shown of the example set, or of the reader's own texts."""
    if options.choice(COMPARED_LIST) == COMPARED_LIST.options[0]:
        yield from show((), opened, ask, options)
    else:
        yield Section((COMPARED_TEXTS,), partial(_of_own_list, show, before))


def _of_own_list(show: ShowTexts, before: str, opened: Any, ask: Ask, options: Options) -> Iterable[Part]:
    """What is shown of the reader's own texts, or what to write before there are any."""
    typed = options.get(COMPARED_TEXTS.key)
    if typed.strip():
        yield from show((typed,), opened, ask, options)
    else:
        yield Text(before, "notice")


def _formats(listed: tuple[str, ...], opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    run = tuple(read_sentences("The list", listed[0], opened.settings).sentences) if listed else ()
    values = {**_of(options, ROUNDED_BY, ROUNDED_FOR).values, FORMATS.key: ",".join(options.names(FORMATS.key))}
    chosen = Options(run, values=values)
    answer = ask(number_formats, chosen)
    result = answer.result
    yield Figure.of(
        number_formats_figure,
        answer,
        f"number formats {result.model}",
        alt=f"Errors and bytes of {result.model} by format, component, layer and block",
        below=[Text(formats_sentence(result))],
        **explained(texts.FORMATS, number_formats, opened, chosen),
    )
    yield Table(formats_frame(result), f"Number formats of {result.model}", formats={"neighbours kept": "percent"})
    if result.texts:
        source = "" if listed else f" The texts are the example set *{EXAMPLE_SET}*."
        yield Text(f"{escape_markdown(texts_sentence(result))}{source}", "caption")
    yield Notices(answer.notices, "caption")


def compared_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The changes from this checkpoint to another, for all that is compared but answers to many texts."""
    first, second = checkpoints.both_checkpoints(opened, options)
    if second.rounding:
        yield Text(texts.COPIED.format(rounding=second.rounding), "caption")
    elif first.folder == second.folder:
        yield Text(texts.EQUAL, "notice")
    weights, behaviour, layers, _ = COMPARED.options
    compared = options.choice(COMPARED)
    if compared == weights:
        yield from _weights(opened, ask, options)
    elif compared == behaviour:
        yield from _behaviour(opened, ask, options)
    elif compared == layers:
        yield Section((COMPARED_LIST, LAYER_MEASURE), partial(of_list, _layers, texts.WRITE_TEXTS))


def _weights(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    if opened.source.adapter is not None:
        yield Text("What the adapter did", "heading")
        yield Section((UPDATE_MEASURE,), _adapter)
    answer = ask(checkpoints.checkpoint_comparison, _of(options, OTHER))
    yield count_remarks(checkpoints.both_models(opened, options), answer.notices)
    if answer.result.tensors:
        yield Section((checkpoints.SCALE, checkpoints.ORDER), _changes)
    else:
        yield Text(texts.NOTHING_COMMON, "notice")
    yield from _names(answer.result)
    other, compared = options.get(OTHER.key), answer.result
    if other not in COPIES and compared.first != compared.second and opened.source.adapter is None:
        turned = {"model": other, "view": "Compare with base", OTHER.key: opened.name}
        link = f"The change from {compared.second} to {compared.first}, over the norms of {compared.second}"
        yield Links("checkpoint_turned", "The other way round", [Link.to(link, "checkpoint", turned)])


def _adapter(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """What an adapter adds to each matrix of its base: a map, and a list with the singular values."""
    answer = ask(adapter_updates, _of(options, UPDATE_MEASURE))
    updates = answer.result
    yield Notices(answer.notices)
    if not updates.updates:
        yield Text("This adapter has no updates of low rank; it replaces whole tensors.", "notice")
        return
    largest = max(updates.updates, key=lambda each: each.relative_norm)
    yield Figure.of(
        adapter_updates_figure,
        answer,
        f"updates of {updates.adapter} {options.get(UPDATE_MEASURE.key)}",
        alt=f"Updates of {updates.adapter}, with their singular values",
        below=[Text(texts.adapter_words(updates, largest), "caption")],
        explanation=texts.ADAPTER,
        code=texts.adapter_code(opened.source, largest),
    )


def _changes(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The map of relative changes, the clicked tensor and the table."""
    answer = ask(checkpoints.changes, _of(options, OTHER, checkpoints.SCALE, checkpoints.ORDER))
    comparison = answer.result
    yield Figure.of(
        changes_figure,
        answer,
        f"change from {comparison.first} to {comparison.second}",
        below=[
            Text(escape_markdown(most_moved(comparison))),
            *_clicked(changes_figure.chart, CHANGED, answer.drawn["change_grid"]),
        ],
    )
    yield Section((CHANGED,), partial(_change, comparison))


def _change(comparison: CheckpointComparison, opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """One tensor in both checkpoints: its numbers, and histograms of values and differences."""
    answer = ask(checkpoints.tensor_change, _of(options, OTHER, CHANGED))
    change: TensorChange = answer.drawn["tensor_change"]
    numbers = {column: texts.number(getattr(change, field)) for column, field in CHANGES.items()}
    numbers["numbers changed"] = f"{change.changed:,}"
    helps = {
        "relative change": "Norm of the difference over the first norm.",
        "largest difference": "Of a single number.",
        "numbers changed": f"Of {prod(change.shape):,}.",
    }
    yield Metrics([Metric(name.capitalize(), value, helps.get(name, "")) for name, value in numbers.items()])
    yield Figure.of(change_figure, answer, f"change of {change.name} {comparison.second}")
    first, second = checkpoints.both_checkpoints(opened, options)
    if has_links(first.folder) or has_links(second.folder):  # merged adapters, whose files are not the reader's
        lines = library_lines(checkpoints.changes, opened, _of(options, OTHER))
    else:
        lines = texts.compare_code(first, second, change, opened.source, ask(parameters, Options()).result)
    yield Explained(changes_figure.chart, texts.COMPARE, lines)


def _names(comparison: CheckpointComparison) -> Iterator[Part]:
    """Counts of matching tensors, and names without a partner."""
    equal = [each.location for each in comparison.tensors if each.changed == each.relative_change == 0]
    buffers = sum(each.is_buffer for each in equal)
    untrained = f" {counted(buffers, 'buffer')} among them: never trained." if buffers else ""
    whole = texts.number(comparison.relative_change) if comparison.tensors else "–"
    shared = "Of one shape, whatever their number format."
    yield Metrics.of(
        Metric("Relative change", whole, texts.WHOLE_CHANGE),
        Metric("Tensors in both", f"{len(comparison.tensors):,}", shared),
        Metric("Unchanged", f"{len(equal):,}", f"Every number of them is the same.{untrained}"),
        Metric("Added", f"{len(comparison.added):,}", f"Only in {escape_markdown(comparison.second)}."),
        Metric("Removed", f"{len(comparison.removed):,}", f"Only in {escape_markdown(comparison.first)}."),
        Metric("Resized", f"{len(comparison.resized):,}", "In both, with another shape."),
    )
    for model, prefix in zip((comparison.first, comparison.second), comparison.prefixes, strict=True):
        if prefix:
            named = f"Names of {escape_markdown(model)} are read without their prefix"
            yield Text(f"{named} **{escape_markdown(prefix)}**")
    rows = [("added", each.name, "", str(each.shape)) for each in comparison.added]
    rows += [("removed", each.name, str(each.shape), "") for each in comparison.removed]
    rows += [("resized", each.name, str(each.first), str(each.second)) for each in comparison.resized]
    if rows:
        table = Table(pd.DataFrame(rows, columns=["what", "tensor", "first", "second"]), "Tensors without a partner")
        label = f"Tensors without a partner of their shape: {len(rows):,}"
        yield Folded(label, "checkpoint_names", lambda: [table])


def _behaviour(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    both = Options(options.texts, options.pair, values=_of(options, OTHER).values)
    answer = ask(checkpoints.behaviours, both)
    behaviour = answer.result
    yield Notices(answer.notices)
    yield Text(f"Both models ran on {answer.drawn['device']} in {answer.drawn['dtype']}.", "caption")
    names = f"{behaviour.first} {behaviour.second}"
    about = {"texts": behaviour.tokens, "models": tuple(dict.fromkeys((behaviour.first, behaviour.second)))}
    if behaviour.cosines is not None:
        last = behaviour.cosines[-1]
        mean, least = decimals(float(last.mean())), decimals(float(last.min()))
        words = f"After the last layer the mean cosine of all tokens is **{mean}**, the smallest **{least}**."
        cosines = ask(checkpoints.state_cosines, both)
        yield Figure.of(cosines_figure, cosines, f"cosine {names}", **about, below=[Text(words)])
    if behaviour.divergences is not None:
        layer, head = divmod(int(behaviour.divergences.argmax()), behaviour.divergences.shape[1])
        largest = float(behaviour.divergences[layer, head])
        where = (
            f"largest at layer {layer}, head {head}: **{digits(largest, 2)}** nats" if largest else "0 in every head"
        )
        words = f"Jensen-Shannon divergence, mean over the tokens that look; {where}. It is at most ln 2 = 0.6931."
        divergences = ask(checkpoints.attention_divergences, both)
        yield Figure.of(divergences_figure, divergences, f"divergence {names}", **about, below=[Text(words)])
    other = options.get(OTHER.key)
    second = COPIES[other] if other in COPIES else opened.other(other).source
    yield Explained(
        "checkpoint_behaviour", texts.BEHAVIOUR, texts.behaviour_code(opened.source, second, behaviour.tokens)
    )


def _layers(listed: tuple[str, ...], opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The map of all pairs of layers, and the mean cosine of the texts in each."""
    chosen = replace(_of(options, OTHER, LAYER_MEASURE), texts=listed)
    answer = ask(layer_similarity, chosen)
    compared = answer.result
    yield Notices(answer.notices)
    source = "your own list" if listed else f"the example set *{EXAMPLE_SET}*"
    run = f"{counted(compared.texts, 'text')} of {source}; each is the mean of its tokens' vectors."
    names = f"{compared.first} {compared.second}"
    both = tuple(dict.fromkeys((compared.first, compared.second)))
    yield Figure.of(
        layer_similarity_figure,
        answer,
        f"layers {names}",
        models=both,
        below=[Text(texts.last_layers(compared)), Text(run, "caption")],
    )
    yield Figure.of(
        text_cosines_figure,
        answer,
        f"cosines of texts {names}",
        models=both,
        **explained(texts.LAYERS, layer_similarity, opened, chosen),
    )


VIEWS = (
    View("Load report", (LOAD_TASK, LABELS), report_view),
    View("Weights", (STATISTIC, COLOURS), weights_view),
    View("Fewer bits", (ROUNDED_BY, ROUNDED_FOR, FORMATS), formats_view),
    View("Compare with base", (COMPARED,), second=True),
    View("Training run", (TRAINING, FOLLOWED)),
)
