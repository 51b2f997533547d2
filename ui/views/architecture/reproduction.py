"""Python code that reproduces the numbers of the overview and of the architecture page; it runs as it is."""

from bertviz_core.architecture.cost.results import ActivationMemory, OperationTerms
from bertviz_core.architecture.dry_run import DryWay
from bertviz_core.architecture.results import LayerFlow
from bertviz_core.parameters.results import Ledger
from bertviz_core.questions.models import architecture
from bertviz_core.questions.report.library_lines import library_lines
from ui.cache import sources
from ui.views.architecture.model_class import ModelClass

EAGER = 'model.set_attn_implementation("eager")   # which asks for no values of the mask\n'
META = 'with torch.device("meta"):   # shapes without values\n'


def stack_code(name: str, ledger: Ledger) -> str:
    """Code for the sizes in the config and the parameter sums of the figure."""
    return (
        f"{_model(name, ledger.architecture)}"
        "print(config)\n"
        "print(sum(p.numel() for p in model.parameters()))   # all, tied ones once\n"
        "for path, module in model.named_modules():\n"
        "    own = sum(p.numel() for p in module.parameters(recurse=False))\n"
        "    if own:\n"
        "        print(path, own)"
    )


def tree_code(name: str, model_class: str, tokens: int, way: DryWay | None) -> str:
    """Code for the printed tree and the shapes of inputs and outputs; the tree alone if the class cannot be run."""
    if way is None:
        return f"{_model(name, model_class)}print(model)"
    shape = (1, 1, tokens) if model_class.endswith("MultipleChoice") else (1, tokens)
    return (
        f"{_model(name, model_class, way)}"
        f"{EAGER if way.masked else ''}"
        "print(model)\n"
        "def hook_of(path):\n"
        "    def hook(module, inputs, output):\n"
        "        shapes = [tuple(x.shape) for x in inputs if isinstance(x, torch.Tensor)]\n"
        "        made = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__\n"
        "        print(path, shapes, made)\n"
        "    return hook\n"
        "for path, module in model.named_modules():\n"
        "    module.register_forward_hook(hook_of(path))\n"
        f"{_ids(shape, way)}"
        "with torch.no_grad():\n    model(**inputs)"
    )


def layer_code(name: str, model_class: str, flow: LayerFlow) -> str:
    """Code for the parameters of one layer and their sum."""
    return (
        f"{_model(name, model_class)}"
        f"parts = [model.get_submodule(path) for path in {list(flow.paths)!r}]\n"
        "for part in parts:\n"
        "    print(part)\n"
        "    for path, parameter in part.named_parameters():\n"
        "        print(path, tuple(parameter.shape), parameter.numel())\n"
        "print(sum(p.numel() for part in parts for p in part.parameters()))"
    )


def cost_code(name: str, terms: OperationTerms, tokens: int, way: DryWay, exact: bool) -> str:
    """Code for PyTorch's own count of a run with stepwise attention, and the formula if it is exact."""
    parts = (terms.projections, terms.feed_forward, terms.attention, terms.other)
    per_pair, per_token, per_text = (
        " + ".join(str(value) for value in values if value) or "0"
        for values in zip(*((each.per_pair, each.per_token, each.per_text) for each in parts), strict=True)
    )
    formula = (
        f"n = {tokens}\n"
        f"whole = n * n * ({per_pair}) + n * ({per_token}) + {per_text}"
        "   # scores and mixing; projections, feed-forward and the rest\n"
        "print(whole)\n"
        f"{_windowed(terms)}"
    )
    return (
        f"{_stepwise(name, terms.model_class, way)}"
        "from torch.utils.flop_counter import FlopCounterMode\n"
        f"{_ids((1, tokens), way)}"
        "model.requires_grad_(False)   # the counter fails on a weight that DeBERTa hands to a module\n"
        "with FlopCounterMode(display=False) as counter:\n"
        "    model(**inputs)\n"
        "print(counter.get_total_flops() // 2)   # one multiply-add is two operations\n"
        f"{formula if exact else ''}"
    )


def _windowed(terms: OperationTerms) -> str:
    """Code that subtracts the pairs outside the attention windows; "" if no layer has a window."""
    hidden: dict[str, int] = {}
    for layer in terms.layers:
        if layer.window is not None:
            before, after = (side if side is not None else "n" for side in (layer.window.before, layer.window.after))
            pairs = f"sum(min(n, i + {after} + 1) - max(0, i - {before}) for i in range(n))"
            hidden[pairs] = hidden.get(pairs, 0) + layer.per_pair
    if not hidden:
        return ""
    lines = "".join(f"whole -= {per_pair} * (n * n - {pairs})\n" for pairs, per_pair in hidden.items())
    return f"{lines}print(whole)   # without the pairs outside the windows\n"


def memory_code(of: ModelClass, model_class: str, memory: ActivationMemory, way: DryWay) -> str:
    """Code for the bytes of one cell of the map: the smallest batch of the shortest texts."""
    batch, tokens = memory.batches[0], memory.lengths[0]
    if memory.holding == "training":
        return (
            f"{_stepwise(of.name, model_class, way)}"
            f"{_ids((batch, tokens), way)}"
            "resident = (*model.parameters(), *model.buffers(), *inputs.values())\n"
            "known = {t.untyped_storage()._cdata for t in resident}\n"
            "saved = {}\n"
            "def keep(tensor):\n"
            "    storage = tensor.untyped_storage()\n"
            "    if storage._cdata not in known:\n"
            "        saved[storage._cdata] = storage\n"
            "    return tensor\n"
            "with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):\n"
            "    output = model(**inputs)\n"
            "print(sum(storage.nbytes() for storage in saved.values()))"
        )
    return library_lines(architecture.memory, of.opened, of.options())


def design_code(name: str, model_class: str) -> str:
    """Code for the evidence of the design: config, attention modules and layers."""
    return (
        f"{_model(name, model_class)}"
        'print(config.is_encoder_decoder, getattr(config, "is_decoder", None))\n'
        'print({getattr(module, "is_causal", None) for module in model.modules()})\n'
        "print(sum(p.numel() for p in model.parameters()))"
    )


def _model(name: str, model_class: str, way: DryWay | None = None, options: str = "") -> str:
    """Lines that build the class, without values if it can be run that way."""
    source = sources.source(name)
    line = f"model = {model_class}(config).eval()"
    return (
        "import torch\n"
        f"from transformers import AutoConfig, {model_class}\n\n"
        f"config = AutoConfig.from_pretrained({source.pretrained_name!r}{options})\n"
        f"{_built(line, way)}"
    )


def _stepwise(name: str, model_class: str, way: DryWay) -> str:
    """Lines that build the class with stepwise attention."""
    return _model(name, model_class, way, ', attn_implementation="eager"')


def _built(made: str, way: DryWay | None) -> str:
    if way is None or way.device_mode == "meta":
        return f"{META}    {made}\n"
    return f"{made}   # random values: this family looks at them on its way\n"


def _ids(shape: tuple[int, ...], way: DryWay) -> str:
    """Lines that build the inputs: a text without padding, and a decoder's first token."""
    device = ', device="meta"' if way.device_mode == "meta" else ""
    last = f"ids[..., -1] = {way.last_token}   # the end of the text\n" if way.last_token != way.token else ""
    mask = ', "attention_mask": torch.ones_like(ids)' if way.masked else ""
    decoder = f', "decoder_input_ids": ids[:, :{way.decoder_tokens}]' if way.decoder_tokens else ""
    return f'ids = torch.full({shape}, {way.token}{device})\n{last}inputs = {{"input_ids": ids{mask}{decoder}}}\n'
