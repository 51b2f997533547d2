"""What the views on weights and on two checkpoints say: how numbers are made, and the lines that reproduce them."""

from collections.abc import Mapping

from bertviz_core.checkpoints.load_report.results import HeadDifference, LoadReport
from bertviz_core.models.skeleton import TASK_CLASSES

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


WEIGHTS = (
    "Every tensor is read from its safetensors file in pieces of 262,144 numbers, whatever its format, and added up in "
    "double precision: mean, standard deviation (around the mean, over the count), smallest and largest value, zeros, "
    "NaN and infinities. The cells of the map are these numbers; nothing is loaded as a model. A weight counts as "
    "never trained where its mean, second and fourth moment are within 5 standard errors of those of the initialiser's "
    "distribution (`initializer_range` of the config) and its bias is exactly 0: the first step of training changes "
    "that. A small spread is not by itself a fault, nor a large one a strength.",
    "from safetensors import safe_open\n"
    'with safe_open("model.safetensors", "np") as file:   # one tensor at a time\n'
    "    for name in file.keys():\n"
    "        w = file.get_tensor(name)\n"
    "        print(name, w.mean(), w.std(), w.min(), w.max(), (w == 0).sum())",
)
HISTOGRAM = (
    "The bars count the tensor's values in 101 bins of equal width, within six standard deviations of the mean. "
    "The dashed curve is what as many numbers would make, drawn new from a normal distribution with mean 0 and the "
    "standard deviation that the config names; where it is higher than the picture it is cut off at the top. "
    "Training mostly widens the spread and makes the tails heavier.",
    'w = file.get_tensor("{name}")\ncounts, edges = numpy.histogram(w, bins=101, range=({low:.6g}, {high:.6g}))',
)
COMPARE = (
    "The relative change of a tensor is `||W2 - W1|| / ||W1||`, the Frobenius norm of the difference over that of the "
    "first, in double precision: 0 for equal bytes, about 1.4 for two tensors that have nothing to do with each other. "
    "Names meet as the module has them, behind a prefix that one file has and the other lacks (`bert.`). A tensor with "
    "a small norm, such as a bias near 0, changes much in this measure with little effect; a large change is not by "
    "itself a change of behaviour.",
    "a, b = (safetensors.torch.load_file(f'{{folder}}/model.safetensors') for folder in ('first', 'second'))\n"
    'd = b["{second}"] - a["{first}"]\n'
    'print((d.norm() / a["{first}"].norm()).item())   # {value:.6g}',
)
BEHAVIOUR = (
    "Both models read the same ids. For every token and entry of the hidden states the cosine of its two vectors is "
    "taken: 1 where they point the same way. For every head the Jensen-Shannon divergence of its two attention rows, "
    "`(KL(p || m) + KL(q || m)) / 2` with `m = (p + q) / 2`, is averaged over the tokens that look (Lin 1991): 0 for "
    "equal rows, ln 2 = 0.693 nats for rows that never meet. Two models that were trained apart have no reason to "
    "agree in their dimensions or heads, so their cosines are near 0 even where they mean the same.",
    "h1, h2 = (m(**inputs, output_hidden_states=True).hidden_states for m in (first, second))\n"
    "print(torch.nn.functional.cosine_similarity(h1[layer][0], h2[layer][0], dim=-1))\n"
    "m = (p + q) / 2                       # p, q: attention of one head, (tokens, tokens)\n"
    "print(((p * (p / m).log() + q * (q / m).log()) / 2).sum(-1).mean())",
)
ALONE = (
    "This is the only checkpoint here whose weights can be read, so it is compared with itself: every change is "
    "exactly 0. To compare another, put its folder (config.json and model.safetensors) below the models folder, or "
    "type its name above."
)
EQUAL = "The same checkpoint twice: every change is exactly 0."
