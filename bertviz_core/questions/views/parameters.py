"""The page Parameters: the module tree with its rows, layers or components, several models."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from bertviz_core.errors import BertvizError
from bertviz_core.figures.parameters import (
    ROOT_ID,
    SOURCES,
    components_figure,
    layers_figure,
    models_figure,
    tree_figure,
)
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.models.catalog import type_facts
from bertviz_core.models.sentence_folder import STATIC_TYPE
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.components import inside_layer
from bertviz_core.parameters.results import Ledger, Parameter, parameters_frame
from bertviz_core.parameters.tree import parameter_tree as tree_of
from bertviz_core.parameters.tree import tree_depth
from bertviz_core.questions.models.architecture import DEPTH, FORM, parameter_tree, parameters
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.report.model_lines import static_lines
from bertviz_core.questions.view import (
    Ahead,
    Ask,
    Beside,
    Click,
    Figure,
    Metric,
    Metrics,
    Notices,
    Part,
    Section,
    Table,
    Text,
    View,
)
from bertviz_core.tables.typeset import readable
from bertviz_core.text import bytes_text, class_words, count, counted, escape_markdown, short_count

AS_IT_IS = "none: as in the checkpoint"
MOST_ROWS, NAME_WIDTH = 20_000, 320
"""Most rows of the table on a page, and pixels of its column of names."""
TASK = Param(
    "task",
    "choice",
    "the task whose class is counted, as transformers builds it from the config",
    label="Task head",
    values=lambda opened, _: (AS_IT_IS, *tasks_of(opened)),
)
SPLIT = choice("split", ("layers", "components"), "what the bars split the model by", "Split by", parts=True)
MODULE = Param(
    "module",
    "choice",
    "the module whose rows are listed",
    label="Module",
    values=lambda opened, options: ("", *module_names(opened, options)),
    shown=lambda name: name or "all modules",
    parts=True,
)
GROUPS = {"All": "", "Embeddings": "embeddings", "Layer 0": "first", "Pooler and head": "output"}
ROWS = replace(
    choice("rows", tuple(GROUPS), "the rows of the table, of the chosen module", "Rows of the table"),
    values=lambda opened, _: [
        name
        for name, of in GROUPS.items()
        if any(_in_group(row, of) for row in parameters(opened, Options()).result.parameters)
    ],
    shown=lambda group: f"{group} groups" if group == "All" else group,
    control="few",
)
SEARCH = Param("search", "text", "part of a name", label="Search names")
OTHERS = Param("models", "text", "models that are compared", label="Models compared", control="models")
TREE = (
    "A safetensors file begins with a header that lists every tensor with its shape. A tensor holds as many numbers as "
    "the product of its shape, and a module as many as its tensors together. Parameters that share one tensor (tied) "
    "are counted once, under their first name. Buffers, such as a table of position ids, are in the file but are not "
    "parameters."
)
LAYERS = (
    "A layer of hidden size h and feed-forward size f has query, key, value and output projections of h × h weights "
    "and h biases each, a feed-forward block of h × f + f and f × h + h, and two layer norms of 2 × h: in BERT base "
    "7,087,872 in each of 12 layers. Families depart from this: some have no biases, a gate in the feed-forward block, "
    "or one fused projection for query, key and value. Where layers share one block (ALBERT) it is counted once."
)
COMPONENTS = (
    "Every parameter belongs to one component: embeddings (tables of words, positions and types, and their norm), "
    "encoder or decoder (the layers), pooler, task head. The arithmetic column writes each total as products of "
    "shapes, such as 30,522 × 768 for the word table of BERT base: the size of the vocabulary times the hidden size."
)
COMPARE = (
    "Each bar is one model, counted from the header of its file or, without its weights, from its config. A model that "
    "shares its layers stores fewer than it runs: it computes like a deep one and is small on disk."
)


def tasks_of(opened: Opened) -> tuple[str, ...]:
    """Tasks for which the model's family has a class."""
    facts = type_facts(opened.source.model_type)
    return facts.tasks if facts else ()


def module_names(opened: Opened, options: Options) -> list[str]:
    """Paths of the modules that the tree draws."""
    nodes = parameter_tree(opened, options).result
    return [node.id for node in nodes if node.id and not node.folded]


def about_parameters(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """Which class is counted, and how; what is to be known of the counts."""
    answer = ask(parameters, Options(task=options.task))
    ledger: Ledger = answer.result
    saved = "" if options.task else str((opened.source.config.get("architectures") or [""])[0])
    classes = class_words(saved, ledger.architecture)
    counted_so = "" if classes != ledger.architecture else ", counted"
    return f"{classes}{counted_so} {SOURCES[ledger.source]}", [count_remarks((opened,), answer.notices)]


def count_remarks(models: Sequence[Opened], notices: Sequence[str]) -> Notices:
    """Remarks on what is counted: that a model is an adapter is no warning."""
    return Notices(notices, "warning" if all(each.source.adapter is None for each in models) else "notice")


def tree_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The module tree; a click on a module shows its rows."""
    answer = ask(parameter_tree, options)
    ledger: Ledger = answer.drawn["ledger"]
    figure = Figure.of(
        tree_figure,
        answer,
        f"parameters {answer.drawn['form']} {opened.name}",
        ahead=Ahead.of(FORM, tree_figure, ask, parameter_tree, options),
        click=Click(MODULE, clicked_module),
        explanation=TREE,
        code=f"{_model_lines(opened, ledger)}"
        "print(len(list(model.named_parameters())))\n"
        "print(sum(p.numel() for p in model.parameters()))\n",
    )
    yield Beside(figure, Section((MODULE, SEARCH, ROWS), listed_rows), below=totals(ledger))


def clicked_module(point: Mapping[str, Any]) -> str | None:
    """Path of the clicked module, "" for the model; None where nothing is clicked."""
    name = str(point.get("id") or "")
    return "" if name == ROOT_ID or name.endswith("/folded") else name or None


def listed_rows(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The named parameters, filtered by module, group and search."""
    ledger = ask(parameters, Options(task=options.task)).result
    module, group = options.get(MODULE.key), GROUPS[options.choice(ROWS)]
    rows = [
        row
        for row in ledger.parameters
        if _in_group(row, group)
        and (not module or row.name == module or row.name.startswith(f"{module}."))
        and options.get(SEARCH.key).lower() in row.name.lower()
    ]
    of_their_own = [row for row in rows if row.tied_to is None]
    total = sum(row.numel for row in of_their_own)
    where = f"{escape_markdown(module)}: " if module else ""
    share = f"{total / ledger.total:.1%} of the model" if ledger.total else ""
    counts = f"{counted(len(of_their_own), 'tensor')}, {counted(total, 'parameter')}"
    yield Text(f"{where}**{counts}** ({short_count(total)}, {share})")
    alt = "Named parameters with shape, count and what else differs between them"
    yield Table(_varied_columns(readable(parameters_frame(rows[:MOST_ROWS]))), alt, 300, NAME_WIDTH)
    yield Text(_same_for_all(rows), "caption")
    if len(rows) > MOST_ROWS:
        first = f"The first {MOST_ROWS:,} of {len(rows):,} rows"
        yield Text(f"{first}; search to narrow them, the CSV has all.", "caption")


def split_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Bars of the layers, or the components as one bar; below them the sums of the model."""
    ledger, layered = ask(parameters, Options(task=options.task)).result, options.choice(SPLIT) == "layers"
    if layered and not ledger.layers:
        words = "No numbered layers were found among the names of this model; split it by components instead."
        yield Text(words, "notice")
        return
    yield Figure(
        spec=layers_figure(ledger) if layered else components_figure(ledger),
        file=f"{options.choice(SPLIT)} {opened.name}",
        alt="Parameters of each layer by part" if layered else "Components with parameters, share and arithmetic",
        numbers="open",
        explanation=LAYERS if layered else COMPONENTS,
        code=_model_lines(opened, ledger) + (_layers_lines if layered else _components_lines)(ledger),
        formats={"share": "percent"},
        below=(Text(layers_text(ledger)),) if layered else (),
    )
    yield from totals(ledger)


def compare_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Several models side by side, each with the head of the task if it has one."""
    sources, ledgers = [], []
    for name in options.names(OTHERS.key):
        try:
            other = opened.other(name)
            ledgers.append(parameters(other, Options(task=options.task)).result)
            sources.append(other.source)
        except BertvizError as error:
            yield Text(escape_markdown(str(error)), "warning")
    if not ledgers:
        yield Text("Choose at least one model to see its bar.", "notice")
        return
    names = [each.model for each in ledgers]
    yield Figure(
        spec=models_figure(ledgers),
        file=f"models side by side {' '.join(names)}",
        alt="Counts of several models",
        numbers="open",
        models=names,
        explanation=COMPARE,
        code=compare_lines(sources, ledgers),
        formats={f"relative to {names[0]}": "%.2f ×", "MiB in float32": "%.1f"},
    )


def _varied_columns(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Name, shape and count, and those other columns that differ between rows."""
    varied = [column for column in ("dtype", "trainable", "tied_to") if frame[column].nunique() > 1]
    renamed = (frame["stored_name"] != "") & (frame["stored_name"] != frame["name"])
    return frame[["name", "shape", "numel", *varied, *(["stored_name"] if renamed.any() else [])]]


def _same_for_all(rows: Sequence[Parameter]) -> str:
    dtypes = {row.dtype for row in rows}
    sentences = [f"all {next(iter(dtypes))}"] if len(dtypes) == 1 else []
    trainable = {row.trainable for row in rows}
    sentences += ["all trainable" if True in trainable else "none trainable"] if len(trainable) == 1 else []
    sentences += ["none tied"] if rows and not any(row.tied_to for row in rows) else []
    return f"In these rows: {', '.join(sentences)}." if sentences else ""


def _in_group(row: Parameter, group: str) -> bool:
    """Whether a row belongs to one of the three groups of BERT's parameters in teaching texts."""
    if group == "first":
        return row.layer == 0 and row.component == "encoder"
    if group == "output":
        return row.component in ("pooler", "task head")
    return not group or row.component == group


def totals(ledger: Ledger) -> tuple[Part, ...]:
    """The sums of the model, its size, and how rows, parts and file add up."""
    sizes = {dtype: ledger.total * nbytes for dtype, nbytes in (("float32", 4), ("float16", 2), ("int8", 1))}
    formats = {row.dtype for row in ledger.parameters}
    stored = "As stored" if ledger.stored_nbytes is not None else f"In {next(iter(formats), 'its format')}"
    more = {"float16": "; the same in bfloat16", "int8": ", without scales"}
    metrics = [
        Metric("Total", count(ledger.total), f"{short_count(ledger.total)}; tied parameters counted once."),
        Metric("Trainable", count(ledger.trainable), "Parameters that training changes."),
        Metric("Tensors", count(ledger.tensors), "Named parameters, tied ones counted once."),
        Metric(stored, bytes_text(ledger.nbytes), f"{ledger.nbytes:,} bytes, {', '.join(sorted(formats))}."),
        *(
            Metric(f"In {dtype}", bytes_text(size), f"{size:,} bytes{more.get(dtype, '')}.")
            for dtype, size in sizes.items()
            if formats != {dtype}
        ),
    ]
    return Metrics(metrics), Text(balance(ledger), "caption")


def balance(ledger: Ledger) -> str:
    """Sums of the components and of the tensors in the file."""
    parts = " + ".join(f"{part.name} {part.total:,}" for part in ledger.components)
    sentences = [f"{parts} = **{ledger.total:,}** parameters."]
    if ledger.stored_tensors is not None:
        buffers = sum(buffer.stored for buffer in ledger.buffers)
        repeated = sum(1 for row in ledger.parameters if row.tied_to and row.stored_name)
        files = {row.stored_name for row in ledger.parameters if row.stored_name}
        terms = [
            (len(files) - repeated, "with parameters"),
            (repeated, "tied, stored again"),
            (buffers, "buffer" if buffers == 1 else "buffers"),
        ]
        sums = " + ".join(f"{number:,} {what}" for number, what in terms if number)
        of_adapter = any(".lora_" in row.name for row in ledger.parameters)
        whose = "The files of the adapter and its base store" if of_adapter else "The file stores"
        sentences.append(f"{whose} {ledger.stored_tensors:,} tensors: {sums}.")
    elif ledger.tied:
        sentences.append(f"{len(ledger.parameters):,} names: {ledger.tensors:,} tensors, {ledger.tied:,} names tied.")
    return "  \n".join(sentences)


def layers_text(ledger: Ledger) -> str:
    """What the layers have in common."""
    rows = ledger.layers
    runs, blocks = sum(row.applications for row in rows), len(rows)
    sizes = Counter(row.total for row in rows)
    usual, times = max(sizes.items(), key=itemgetter(1))
    sentences = [f"**{blocks} {'layer' if blocks == 1 else 'layers'}**"]
    if len(sizes) == 1 and blocks > 1:
        sentences = [f"**{blocks} layers of {usual:,} parameters each**"]
    elif times > 1:
        stacks = len({row.component for row in rows}) > 1
        others = [f"{row.component} " * stacks + f"layer {row.layer}" for row in rows if row.total != usual]
        sentences = [f"**{blocks} layers**, {times} of {usual:,} parameters; of another size: {', '.join(others)}"]
    if runs != blocks:
        word = "block" if blocks == 1 else "blocks"
        sentences.append(f"layers share their parameters: **{blocks} {word}, run {runs} times** in one pass")
    return "; ".join(sentences) + "."


def _model_lines(opened: Opened, ledger: Ledger) -> str:
    """The lines that build the model: with its weights, or from its config if only that was used for counting."""
    if opened.source.model_type == STATIC_TYPE:
        return static_lines(opened.source, built=True)
    name = f"name = {opened.source.pretrained_name!r}\n"
    if ledger.source != "config":
        imports = f"from transformers import {ledger.architecture}\n\n"
        return f"{imports}{name}model = {ledger.architecture}.from_pretrained(name)\n"
    return (
        f"import torch\nfrom transformers import AutoConfig, {ledger.architecture}\n\n{name}"
        "config = AutoConfig.from_pretrained(name)\n"
        'with torch.device("meta"):   # shapes without memory\n'
        f"    model = {ledger.architecture}(config)\n"
    )


def _layers_lines(ledger: Ledger) -> str:
    order = [row.component for row in ledger.layers]
    first = [row for row in ledger.parameters if row.layer == 0 and row.component in order]
    first.sort(key=lambda row: order.index(row.component))  # stack by stack, as on the page
    stacks = dict.fromkeys(filter(None, (_layers_path(ledger, row.name) for row in first)))
    return "".join(
        f"for i, layer in enumerate(model.get_submodule({stack!r})):\n"
        "    print(i, sum(p.numel() for p in layer.parameters()))\n"
        for stack in stacks
    )


def _components_lines(ledger: Ledger) -> str:
    modules: dict[str, list[str]] = {part.name: [] for part in ledger.components}
    nodes = {node.id: node for node in tree_of(ledger, tree_depth(ledger))}
    for node in nodes.values():
        if node.component and node.parent is not None and (not node.parent or not nodes[node.parent].component):
            modules[node.component].append(node.id)
    return (
        f"components = {{{', '.join(f'{name!r}: {tuple(ids)!r}' for name, ids in modules.items())}}}\n"
        "for component, modules in components.items():\n"
        "    print(component, sum(p.numel() for name, p in model.named_parameters() if name.startswith(modules)))\n"
    )


def compare_lines(sources: Sequence[ModelSource], ledgers: Sequence[Ledger]) -> str:
    """Lines that count the parameters of several models."""
    if any(source.model_type == STATIC_TYPE for source in sources):
        listed = ", ".join(repr(source.path or source.name) for source in sources)
        return (
            "from bertviz_core import open_model\n\n"
            f"for name in [{listed}]:\n"
            "    print(name, open_model(name).parameters().data.total)\n"
        )
    named = ",\n".join(
        f"    ({each.architecture!r}, {source.pretrained_name!r})"
        for source, each in zip(sources, ledgers, strict=True)
    )
    return (
        "import torch\nimport transformers\n\n"
        f"for kind, name in [\n{named},\n]:\n"
        "    config = transformers.AutoConfig.from_pretrained(name)\n"
        '    with torch.device("meta"):   # shapes without memory\n'
        "        model = getattr(transformers, kind)(config)\n"
        "    print(name, sum(p.numel() for p in model.parameters()))\n"
    )


def _layers_path(ledger: Ledger, name: str) -> str:
    """The module that contains the layers, from the name of a parameter in one of them."""
    counters, _ = inside_layer(name, ledger.model_type) or ((), "")
    return name[: counters[-1].start - 1] if counters else ""


VIEWS = (
    View("Tree", (FORM, DEPTH), tree_view),
    View("Layers", (SPLIT,), split_view),
    View("Compare models", (OTHERS,), compare_view),
)
