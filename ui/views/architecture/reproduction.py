"""Python that gives the numbers of the overview and of the architecture page for the model at hand, as it stands."""

from bertviz_core.architecture.results import ActivationMemory, LayerFlow, OperationTerms
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.results import Ledger
from ui.cache import ledgers

META = 'with torch.device("meta"):   # shapes without values\n'


def where_from(source: ModelSource) -> str:
    """What from_pretrained is given for a model."""
    return source.pretrained_name


def stack_code(name: str, ledger: Ledger) -> str:
    """The sizes of the config and the sums over the parameters that the stack shows."""
    return (
        f"{_model(name, ledger.architecture)}"
        "print(config)\n"
        "print(sum(p.numel() for p in model.parameters()))   # all, tied ones once\n"
        "for path, module in model.named_modules():\n"
        "    own = sum(p.numel() for p in module.parameters(recurse=False))\n"
        "    if own:\n"
        "        print(path, own)"
    )


def tree_code(name: str, model_class: str, tokens: int) -> str:
    """The printed tree, and the shapes that go in and come out."""
    return (
        f"{_model(name, model_class)}"
        "print(model)\n"
        "def told(path):\n"
        "    def hook(module, inputs, output):\n"
        "        shapes = [tuple(x.shape) for x in inputs if isinstance(x, torch.Tensor)]\n"
        "        made = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__\n"
        "        print(path, shapes, made)\n"
        "    return hook\n"
        "for path, module in model.named_modules():\n"
        "    module.register_forward_hook(told(path))\n"
        f"{_ids(1, tokens)}"
        f"{_call(name)}"
    )


def layer_code(name: str, model_class: str, flow: LayerFlow) -> str:
    """The parameters of one layer and their sum."""
    return (
        f"{_model(name, model_class)}"
        f"parts = [model.get_submodule(path) for path in {list(flow.paths)!r}]\n"
        "for part in parts:\n"
        "    print(part)\n"
        "    for path, parameter in part.named_parameters():\n"
        "        print(path, tuple(parameter.shape), parameter.numel())\n"
        "print(sum(p.numel() for part in parts for p in part.parameters()))"
    )


def cost_code(name: str, terms: OperationTerms, tokens: int) -> str:
    """The formula, and PyTorch's own count of a run whose attention is computed step by step."""
    widths = [(row.width, row.applications) for row in terms.attention]
    return (
        f"{_encoder(name)}"
        "from torch.utils.flop_counter import FlopCounterMode\n"
        f"{_ids(1, tokens)}"
        "with torch.no_grad(), FlopCounterMode(display=False) as counter:\n"
        "    model(input_ids=ids)\n"
        "print(counter.get_total_flops() // 2)   # one multiply-add is two operations\n"
        f"n, pairs = {tokens}, {sum(width * times for width, times in widths)}\n"
        f"per_token = {terms.projections} + {terms.feed_forward} + {terms.other}\n"
        f"print(n * per_token + {terms.per_text} + n * n * pairs)"
    )


def memory_code(name: str, memory: ActivationMemory) -> str:
    """The bytes of one cell of the map: the smallest batch of the shortest texts."""
    batch, tokens = memory.batches[0], memory.lengths[0]
    start = f"{_encoder(name)}{_ids(batch, tokens)}"
    if memory.holding == "training":
        return (
            f"{start}"
            "given = {t.untyped_storage()._cdata for t in (*model.parameters(), *model.buffers(), ids)}\n"
            "kept = {}\n"
            "def keep(tensor):\n"
            "    storage = tensor.untyped_storage()\n"
            "    if storage._cdata not in given:\n"
            "        kept[storage._cdata] = storage\n"
            "    return tensor\n"
            "with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):\n"
            "    output = model(input_ids=ids)\n"
            "print(sum(storage.nbytes() for storage in kept.values()))"
        )
    return (
        "from bertviz_core.architecture.activation_memory import activation_memory\n"
        "from bertviz_core.models.sources import resolve\n"
        "from bertviz_core.settings import Settings\n"
        f"source = resolve({_library_name(name)!r}, Settings.from_environment(any_folder=True))\n"
        f'print(activation_memory(source.name, source.config, "inference", ({batch},), ({tokens},)).nbytes)'
    )


def design_code(name: str, model_class: str) -> str:
    """What tells the design: config and attention modules, and the layers."""
    return (
        f"{_model(name, model_class)}"
        'print(config.is_encoder_decoder, getattr(config, "is_decoder", None))\n'
        'print({getattr(module, "is_causal", None) for module in model.modules()})\n'
        "print(sum(p.numel() for p in model.parameters()))"
    )


def _model(name: str, model_class: str) -> str:
    """The class on the meta device."""
    source = ledgers.source(name)
    return (
        "import torch\n"
        f"from transformers import AutoConfig, {model_class}\n\n"
        f"config = AutoConfig.from_pretrained({where_from(source)!r})\n"
        f"{META}"
        f"    model = {model_class}(config).eval()\n"
    )


def _encoder(name: str) -> str:
    """The base model on the meta device, of an encoder-decoder model the encoder, attention step by step."""
    source = ledgers.source(name)
    encoder = 'if hasattr(model, "encoder") and hasattr(model, "decoder"):\n    model = model.encoder\n'
    return (
        "import torch\n"
        "from transformers import AutoConfig, AutoModel\n\n"
        f"config = AutoConfig.from_pretrained({where_from(source)!r})\n"
        f"{META}"
        '    model = AutoModel.from_config(config, attn_implementation="eager").eval()\n'
        f"{encoder}"
    )


def _ids(batch: int, tokens: int) -> str:
    return f'ids = torch.zeros({batch}, {tokens}, dtype=torch.long, device="meta")\n'


def _call(name: str) -> str:
    config = ledgers.source(name).config
    if not config.get("is_encoder_decoder"):
        return "with torch.no_grad():\n    model(input_ids=ids)"
    return "with torch.no_grad():\n    model(input_ids=ids, decoder_input_ids=ids[:, :1])"


def _library_name(name: str) -> str:
    """The name under which the library finds a model anywhere."""
    source = ledgers.source(name)
    return str(source.folder) if source.kind == "local" and source.folder else source.name
