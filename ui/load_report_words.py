"""What the load report says around its figures: metrics' help, the tree as text, how it is computed."""

from collections.abc import Mapping

from bertviz_core.results.load_report import LoadReport
from bertviz_core.results.task_heads import HeadDifference
from bertviz_core.tasks import TASK_CLASSES

HELP: Mapping[str, str] = {
    "Matched": "Tensors of the model that the file fills, tied ones counted once.",
    "New": "Names that the file lacks; from_pretrained fills them with random numbers.",
    "Unused": "Keys of the file that the model has no place for.",
    "Wrong shape": "Names that both have, in different shapes.",
    "From the file": "Share of the model's parameters whose values come from the file.",
}
READING = (
    "A bar is one component of the model: solid is what the file fills, hatched what would be random numbers. "
    "Above it stand the counts, and what the file holds without a place in the model."
)
REPORT = (
    "The class of the task is built from `config.json` on PyTorch's meta device, where tensors have shapes and no "
    "values. The file's header gives the names and shapes of what is stored. Both are matched by transformers' own "
    "rules: old names such as `LayerNorm.gamma`, the prefix of the base model added or removed, tensors that a family "
    "fuses or splits, tied names, and the keys that a class keeps out of the report (listed here as ignored). No "
    "weight is read. The share counts parameters, tied ones once."
)
DIFFERENCE = (
    "Two classes are built on the meta device: the base model and the one with the head. A parameter is added if the "
    "base model has none of that name below its prefix, and removed if the class has none. Layers of one kind are "
    "folded, modules without parameters (dropout, activations) left out."
)


def report_code(report: LoadReport) -> str:
    """Lines of Python by which transformers gives the same lists, after loading everything."""
    auto = TASK_CLASSES[report.task]
    labels = "" if report.num_labels is None else f"num_labels={report.num_labels}, "
    return (
        f"from transformers import {auto}\n"
        f"model, info = {auto}.from_pretrained(\n"
        f"    folder, {labels}output_loading_info=True, ignore_mismatched_sizes=True\n)\n"
        'print(info["missing_keys"], info["unexpected_keys"], info["mismatched_keys"])'
    )


def difference_code(difference: HeadDifference) -> str:
    """Lines of Python that count both classes."""
    auto = TASK_CLASSES[difference.task]
    labels = "" if difference.num_labels is None else f", num_labels={difference.num_labels}"
    return (
        "import torch\n"
        f"from transformers import AutoConfig, AutoModel, {auto}\n"
        f"config = AutoConfig.from_pretrained(folder{labels})\n"
        'with torch.device("meta"):   # shapes without memory\n'
        f"    for each in (AutoModel, {auto}):\n"
        "        print(sum(p.numel() for p in each.from_config(config).parameters()))"
    )


def added_words(difference: HeadDifference) -> str:
    """The difference in one line of numbers."""
    if difference.architecture == difference.base_architecture:
        return f"**{difference.total:,}** parameters: this is the base model itself, without a head."
    steps = [f"+{difference.added:,} added"]
    if difference.removed:
        steps.append(f"−{difference.removed:,} left out")
    return f"{difference.base_total:,} → **{difference.total:,}** parameters ({', '.join(steps)})"
