"""Texts of the checkpoint page, and the lines of Python that reproduce its numbers."""

from collections.abc import Mapping

from bertviz_core.checkpoints.load_report.results import HeadDifference, LoadReport
from bertviz_core.checkpoints.results import LayerSimilarity, TensorChange
from bertviz_core.checkpoints.rounding import Rounding
from bertviz_core.checkpoints.tensor_statistics import BINS
from bertviz_core.checkpoints.values import PIECE_NUMBERS, Checkpoint
from bertviz_core.models.sentence_folder import STATIC_TYPE
from bertviz_core.models.skeleton import TASK_CLASSES
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.adapters.results import AdapterUpdate, AdapterUpdates
from bertviz_core.parameters.results import Ledger
from bertviz_core.questions.report.model_lines import base_class, static_lines
from bertviz_core.text import counted, decimals, digits, escape_markdown
from bertviz_core.trace.results import Tokens

HELP: Mapping[str, str] = {
    "Matched": "Tensors of the model that the file fills, tied ones counted once.",
    "New": "Names that the file lacks; from_pretrained fills them with random numbers.",
    "Unused": "Keys of the file that the model has no place for.",
    "Wrong shape": "Names that both have, in different shapes.",
    "From the file": "Share of the model's parameters whose values come from the file.",
}
FORMATS = (
    "Every weight `w` becomes the nearest number of a format, and the relative error is `||rounded − w|| / ||w||` over "
    "all numbers of a part (Frobenius norms). float16, bfloat16 and float8 round each number by itself, as "
    "`tensor.to(dtype)` of PyTorch 2.13 does. The others are symmetric, with a scale for a group of numbers: int8 is "
    "`round(w / s) · s` with `s = max|w| / 127` over the whole tensor, or over an output channel (a row of the "
    "matrix); int4 has `s = max|w| / 7` over groups of 32, 64 or 128 inputs of a row, the last group of a row "
    "being smaller where they do not divide it; nf4 rounds `w / max|w|` in blocks of 64 to the nearest of 16 quantiles "
    "of the normal distribution, as QLoRA and bitsandbytes do. These round the weight matrices, with the embeddings; "
    "biases and layer norms stay. Bytes after rounding count a float32 scale for each group. Texts are run in "
    "float32 with the rounded weights, so what the storage format loses is measured, not the speed of a kernel; each "
    "copy is in memory beside the model, within the server's limit for models, and the model itself is never changed."
)
WRITE_ONE = "Write texts in the box above, one on each line; their vectors are compared before and after rounding."
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


def report_code(report: LoadReport, source: ModelSource) -> str:
    """Lines of Python that print the same lists with transformers, after loading all weights."""
    if source.model_type == STATIC_TYPE:
        return (
            "from bertviz_core.checkpoints.load_report.report import source_load_report\n"
            f"{static_lines(source, model=False)}"
            f"report = source_load_report(source, {report.task!r}, settings)\n"
            "print(report.new, report.unused, report.mismatched)\n"
        )
    auto = base_class(source) if report.task == "base" else TASK_CLASSES[report.task]
    if report.architecture.endswith("EncoderModel"):
        auto = report.architecture
    labels = "" if report.num_labels is None else f"num_labels={report.num_labels}, "
    return (
        f"from transformers import {auto}\n\n"
        f"name = {source.pretrained_name!r}\n"
        f"model, info = {auto}.from_pretrained(\n"
        f"    name, {labels}output_loading_info=True, ignore_mismatched_sizes=True\n)\n"
        'print(info["missing_keys"], info["unexpected_keys"], info["mismatched_keys"])\n'
    )


def difference_code(difference: HeadDifference, source: ModelSource) -> str:
    """Lines of Python that count the parameters of both classes."""
    auto = TASK_CLASSES[difference.task]
    labels = "" if difference.num_labels is None else f", num_labels={difference.num_labels}"
    return (
        "import torch\n"
        f"from transformers import AutoConfig, AutoModel, {auto}\n\n"
        f"name = {source.pretrained_name!r}\n"
        f"config = AutoConfig.from_pretrained(name{labels})\n"
        'with torch.device("meta"):   # shapes without memory\n'
        f"    for each in (AutoModel, {auto}):\n"
        "        print(sum(p.numel() for p in each.from_config(config).parameters()))\n"
    )


def added_words(difference: HeadDifference) -> str:
    """The difference in one line of numbers."""
    if difference.architecture == difference.base_architecture:
        return f"**{difference.total:,}** parameters: this is the base model itself, without a task head."
    steps = [f"+{difference.added:,} added"]
    if difference.removed:
        steps.append(f"−{difference.removed:,} left out")
    return f"{difference.base_total:,} → **{difference.total:,}** parameters ({', '.join(steps)})"


NO_RUN = (
    "There is no training run that may be opened here. Put the folder that `transformers.Trainer` writes to into the "
    "models folder (its `output_dir`, with subfolders such as `checkpoint-500`); it may grow while you look."
)
LOG = (
    "The numbers are those of `log_history` in the newest `trainer_state.json`, which `transformers.Trainer` saves in "
    "every checkpoint; nothing is smoothed. A value that is NaN or infinite is a gap in its line. A diamond is a "
    "checkpoint that is in the folder."
)
MOVED = (
    "The movement of a layer is `||W2 - W1|| / ||W1||` over all its numbers, as in *Compare with base*: Frobenius "
    "norms in double precision, buffers left out. W1 is the first checkpoint in the folder, or the previous one; what "
    "was trained before the first checkpoint is not seen. Of LoRA adapters, the weights merged into the base are "
    "compared, and the base itself takes the place of the first checkpoint. Tensors are read from the safetensors "
    "files in pieces, without loading a model. A tensor is frozen where all its numbers are the same in every "
    "checkpoint. {rule} A layer that moves far is not by itself an important one: the learning rate, its schedule and "
    "the norm of the weights decide, too."
)
FOLLOWED_TEXT = (
    "Every checkpoint is loaded as a model, one after another, and reads the text as on the page *Predictions*: the "
    "probabilities are the softmax of the task head's logits. The surprise of a masked-LM head is the mean of "
    "`-log p(token | all others)` over the tokens, each masked in turn (Salazar et al. 2020). The cosine is that of "
    "the two texts, each embedded by itself as the checkpoint specifies. A dotted line marks a checkpoint whose answer "
    "differs from that of the previous checkpoint; when between the two it changed is not known."
)
FOLLOWED_SCORES = (
    "Every checkpoint answers every text. Accuracy is the share of the texts with a gold label whose answer is that "
    "label, macro-F1 the mean F1 of the classes that occur among gold labels or answers. A bar counts the texts whose "
    "answer differs from that of the previous checkpoint, whether right or wrong: an accuracy that stays the same may "
    "hide many of them. *ECE* (15 bins of equal width), *Brier score* and *log loss* say how far the probabilities are "
    "from the gold labels, over the texts whose gold label is one of the head: **Predictions > Calibration** explains "
    "them. A training that goes on may leave the accuracy as it is and make the model too sure."
)
FOLLOWED_LAYERS = (
    "Every text is run in every checkpoint, and the vectors of its tokens are averaged at every hidden state. CKA "
    "(Kornblith et al. 2019, linear kernel, the estimate of Song et al. 2012 without bias) compares a state with the "
    "same state of the first checkpoint by the products of all pairs of texts: 1 where it was only turned, scaled or "
    "shifted. The entropy of a head is `-sum(p log p)` of the attention of each token, averaged over all tokens and "
    "then over the texts: 0 where each token looks at a single one, the logarithm of the number of tokens where it "
    "looks at all alike."
)
NO_GOLD_TEXTS = (
    "Give texts with gold labels that are classes of the task head: under **Texts**, write a label, a tab and a text "
    "on each line, or choose a file and its column."
)
WEIGHTS = (
    f"Every tensor is read from its safetensors file in pieces of {PIECE_NUMBERS:,} numbers, whatever its format, and "
    "added up in double precision: mean, standard deviation (around the mean, over the count), smallest and largest "
    "value, zeros, NaN and infinities. The cells of the map are these numbers; buffers, such as position ids, are in "
    "the table alone. Nothing is loaded as a model. A weight counts as never trained where its mean, second and fourth "
    "moment are within 5 standard errors of those of the initialiser's distribution (`initializer_range` of the "
    "config) and its bias is exactly 0: the first step of training changes that. A small spread is not by itself a "
    "fault, nor a large one a strength."
)
HISTOGRAM = (
    f"The bars count the tensor's values in {BINS} bins of equal width, within six standard deviations of the mean; "
    "where the dashed curve is wider, as far as three of its own. That curve is what as many numbers would make, drawn "
    "new as the model's class initialises this tensor; it is left out where that is not from a normal distribution "
    "with mean 0. Where it is higher than the picture it is cut off at the top. Training "
    "mostly widens the spread and makes the tails heavier."
)
COMPARE = (
    "The relative change of a tensor is `||W2 - W1|| / ||W1||`, the Frobenius norm of the difference over that of the "
    "first, in double precision: 0 for equal bytes, about 1.4 for two tensors that have nothing to do with each other. "
    "Names meet as the module has them, behind a prefix that one file has and the other lacks (`bert.`). A tensor with "
    "a small norm, such as a bias near 0, changes much in this measure with little effect; a large change is not by "
    "itself a change of behaviour."
)
ADAPTER = (
    "LoRA (Hu et al. 2021) leaves every matrix `W` of the base as it is and trains two narrow ones beside it: the "
    "model computes with `W + s·B·A`, where `A` has as few rows as the rank, and `s` is alpha over the rank, or over "
    "its root (rank-stabilised). Drawn is the Frobenius norm of `s·B·A` over that of `W`, or the stable rank, the "
    "squared norm over the square of the largest singular value: 1 where the update has a single direction, at most "
    "its rank. Inside BERT adds the updates when it loads the model, in 32-bit numbers, so every page shows the merged "
    "model. A large update is not by itself a large change of behaviour."
)
BEHAVIOUR = (
    "Both models read the same ids. For every token and entry of the hidden states the cosine of its two vectors is "
    "taken: 1 where they point the same way. For every head the Jensen-Shannon divergence of its two attention rows, "
    "`(KL(p || m) + KL(q || m)) / 2` with `m = (p + q) / 2`, is averaged over the tokens that look (Lin 1991): 0 for "
    "equal rows, ln 2 = 0.693 nats for rows that never meet. Two models that were trained apart have no reason to "
    "agree in their dimensions or heads, so their cosines are near 0 even where they mean the same."
)
LAYERS = (
    "Every text is run in both models, and the vectors of its tokens are averaged at every hidden state. CKA "
    "(Kornblith et al. 2019, linear kernel) compares two states by the products of all pairs of texts, so their sizes "
    "may differ: 1 where one is the other turned, scaled or shifted, 0 on average for states that have nothing in "
    "common (the estimate of Song et al. 2012 has no bias from many dimensions or few texts, and may be slightly "
    "negative). The nearest texts are those of the largest cosine. Where the mean cosine of different texts comes near "
    "1, a model no longer tells them apart."
)
WRITE_TEXTS = "Write at least 4 texts, one a line; some dozens are better."
ANSWERS = (
    "Both task heads answer every text. Accuracy is the share of texts whose answer is the gold label, macro-F1 the "
    "mean F1 of the classes that occur. The 95% interval of a difference comes from a paired bootstrap: as many texts "
    "are drawn with replacement, 5,000 times, the two answers to a text always together, and the middle 95% of the "
    "differences are taken. McNemar's exact test asks how often as uneven a split of mended and broken texts would "
    "occur if each were as likely as the other; texts that both answer right or both wrong do not count. A small p is "
    "no large difference. Labels are matched by their names."
)
NO_HEAD = (
    "Answers are compared between two checkpoints whose task heads give one class per text, such as two classifiers. "
    "Choose the first under **Model** and the second under **Compare with**."
)
PROBED_INSTEAD = (
    "A probe shows what the vectors of a model without a task head tell about the labels: a linear classifier that is "
    "trained on them here and tried on texts that it was not trained on. Where it is as good as the other model's "
    "head, vectors that were never fine-tuned separate these classes as well; where a probe on the other model's own "
    "vectors is better than its head, they tell the classes apart and the head does not."
)
NO_TEXTS = (
    "Write texts, one a line, or a label, a tab and a text. Copied from two columns of a spreadsheet they have it."
)
NO_LABELS = (
    "Without gold labels that the task heads have, only the answers are compared with each other. With them, accuracy, "
    "macro-F1, and mended and broken texts are shown: choose the column of a file that has them, or write a label and "
    "a tab in front of each text."
)
COPIED = (
    "The second is this checkpoint with its weights rounded to {rounding} as they are read; nothing is downloaded or "
    "written."
)
NOTHING_COMMON = (
    "The two have no tensor of one name and shape, so nothing can be subtracted. What they do with texts can be "
    "compared: **What is compared**."
)
EQUAL = "The same checkpoint twice: every change is exactly 0."
WHOLE_CHANGE = "Of all parameters together that both hold; buffers, such as position ids, are left out."


def weights_code(source: ModelSource, ledger: Ledger) -> str:
    """Lines of Python that give the same numbers of every parameter."""
    return (
        f"{_model(source, ledger)}"
        "for name, weight in model.named_parameters():\n"
        "    w = weight.detach().double()\n"
        "    print(name, w.mean(), w.std(correction=0), w.min(), w.max(), (w == 0).sum())\n"
    )


def histogram_code(source: ModelSource, ledger: Ledger, tensor: str, low: float, high: float) -> str:
    """Lines of Python that count the same bins."""
    return (
        f"import numpy\n{_model(source, ledger)}"
        f"w = model.state_dict()[{tensor!r}].double().numpy()\n"
        f"counts, edges = numpy.histogram(w, bins={BINS}, range=({low!r}, {high!r}))\n"
        "print(counts)\n"
    )


def compare_code(
    first: Checkpoint, second: Checkpoint, change: TensorChange, source: ModelSource, ledger: Ledger
) -> str:
    """Lines of Python that give the relative change of one tensor."""
    rounds = f"b = a.to(torch.{second.rounding}).to(a.dtype)\n" if second.rounding else ""
    other = f"b = stored({str(second.folder)!r}, {change.second_name!r})\n"
    ends = (
        f"a, b = a.double(), b.double()\nprint(((b - a).norm() / a.norm()).item())   # {change.relative_change:.6g}\n"
    )
    if rounds and not change.location.is_buffer:
        tensor = change.location.module_name
        return f"import torch\n{_model(source, ledger)}a = model.state_dict()[{tensor!r}]\n{rounds}{ends}"
    return (
        "import glob\n\nimport torch\nfrom safetensors import safe_open\n\n\n"
        "def stored(folder, name):   # one tensor of a folder's files\n"
        '    for path in glob.glob(f"{folder}/*.safetensors"):\n'
        '        with safe_open(path, "pt") as file:\n'
        "            if name in file.keys():\n"
        "                return file.get_tensor(name)\n\n\n"
        f"a = stored({str(first.folder)!r}, {change.name!r})\n"
        f"{rounds or other}"
        f"{ends}"
    )


def adapter_code(source: ModelSource, update: AdapterUpdate) -> str:
    """Lines of Python that give the singular values of one update."""
    first, second = update.stored_names
    largest = ", ".join(f"{value:.6g}" for value in update.singular_values[:3].tolist())
    return (
        "import torch\nfrom safetensors.torch import load_file\n\n"
        f"tensors = load_file({f'{source.folder}/adapter_model.safetensors'!r})\n"
        f"first = tensors[{first!r}].double()   # A\n"
        f"second = tensors[{second!r}].double()   # B\n"
        f"values = torch.linalg.svdvals({update.scale!r} * second @ first)[:{len(update.singular_values)}]\n"
        f"print(values)   # {largest}, ...\n"
        f"print((values.square().sum() / values[0] ** 2).item())   # {update.stable_rank:.6g}\n"
    )


def behaviour_code(first: ModelSource, second: ModelSource | Rounding, tokens: Tokens) -> str:
    """Lines of Python that give the cosines and divergences of the text."""
    rounding = second if isinstance(second, str) else ""
    other = first if isinstance(second, str) else second
    arguments = ", ".join(map(repr, tokens.read_texts))
    arguments += ", add_special_tokens=False" if tokens.filled is not None else ""
    rounds = (
        "with torch.no_grad():\n    for weight in models[1].parameters():\n"
        f"        weight.copy_(weight.to(torch.{rounding}))\n"
        if rounding
        else ""
    )
    return (
        f"import inspect\n\nimport torch\nfrom transformers import AutoModel, {first.tokenizer_class}\n\n"
        f"names = {first.pretrained_name!r}, {other.pretrained_name!r}\n"
        f'inputs = {first.tokenizer_class}.from_pretrained(names[0])({arguments}, return_tensors="pt")\n'
        'how = {"dtype": torch.float32, "attn_implementation": "eager"}\n'
        "models = [AutoModel.from_pretrained(name, **how) for name in names]\n"
        'decodes = "decoder_input_ids" in inspect.signature(models[0].forward).parameters\n'
        "models = [model.get_encoder() if decodes else model for model in models]\n"
        f"{rounds}"
        "with torch.no_grad():\n"
        "    one, two = (m(**inputs, output_hidden_states=True, output_attentions=True) for m in models)\n"
        "for h1, h2 in zip(one.hidden_states, two.hidden_states):\n"
        "    print(torch.nn.functional.cosine_similarity(h1[0], h2[0], dim=-1))\n"
        "for p, q in zip(one.attentions, two.attentions):   # (1, heads, tokens, tokens)\n"
        "    m = (p + q) / 2\n"
        "    one, other = (torch.xlogy(a, a) - torch.xlogy(a, m) for a in (p, q))   # 0 where a is 0\n"
        "    print((one + other).sum(-1).mean(-1)[0] / 2)\n"
    )


def _model(source: ModelSource, ledger: Ledger) -> str:
    if source.model_type == STATIC_TYPE:
        return static_lines(source)
    return (
        f"from transformers import {ledger.architecture}\n\n"
        f"name = {source.pretrained_name!r}\n"
        f"model = {ledger.architecture}.from_pretrained(name)\n"
    )


def number(value: float) -> str:
    """Format a number with four digits; an exact 0 as 0."""
    return "0" if value == 0 else digits(value)


def last_layers(compared: LayerSimilarity) -> str:
    """What the last layers say: CKA, shared neighbours, and the mean cosine of two texts in each."""
    first, second = decimals(float(compared.first_cosine[-1])), decimals(float(compared.second_cosine[-1]))
    return (
        f"After the last layer of both, CKA is **{decimals(float(compared.cka[-1, -1]))}**, and of the "
        f"{compared.neighbours} texts nearest to a text **{compared.shared_neighbours[-1, -1]:.0%}** are the same. Two "
        f"different texts have a mean cosine of **{first}** in the first and **{second}** in the second."
    )


def adapter_words(updates: AdapterUpdates, largest: AdapterUpdate) -> str:
    """What an adapter changes, and the largest of its updates."""
    ranks = sorted({each.rank for each in updates.updates})
    span = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranks[0]} to {ranks[-1]}"
    saved = f", and brings {counted(len(updates.saved), 'whole tensor')}" if updates.saved else ""
    return (
        f"The adapter changes {len(updates.updates):,} matrices of {escape_markdown(updates.base)} by updates of {span}"
        f"{saved}. Of all updates {escape_markdown(largest.name)} is the largest beside its matrix, with "
        f"{largest.relative_norm:.1%} of the matrix's norm. Below, the merged model and that of Compare with."
    )
