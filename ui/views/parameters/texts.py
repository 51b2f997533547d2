"""How the numbers of the ledger are made: words, and lines of Python that reproduce them."""

TREE = (
    "A safetensors file begins with a header that lists every tensor with its shape; the count of a tensor is "
    "the product of its shape, and a module's count is the sum over its tensors. Parameters that share one "
    "tensor (tied) are counted once, where they stand first. Buffers, such as tables of position ids, are in "
    "the file but are not parameters.",
    "from transformers import AutoModel\n"
    'model = AutoModel.from_pretrained("bert-base-uncased")\n'
    "print(len(list(model.named_parameters())), sum(p.numel() for p in model.parameters()))",
)
LAYERS = (
    "A layer of hidden size h and feed-forward size f has query, key, value and output projections of h × h weights "
    "and h biases each, a feed-forward block of h × f + f and f × h + h, and two layer norms of 2 × h: for "
    "bert-base 7,087,872 in each of 12 layers. Where layers share one block (ALBERT) the block is counted once and "
    "its applications are stated.",
    "for i, layer in enumerate(model.encoder.layer):\n"
    "    print(i, sum(p.numel() for p in layer.parameters()))   # attention, feed-forward and norms of one layer",
)
COMPONENTS = (
    "Every parameter stands in one component: embeddings (word, position and type tables and their norm), encoder "
    "(the layers), pooler, task head. The arithmetic column writes each total as the products of its shapes, such as "
    "30,522 × 768 for the word table of bert-base-uncased: a size of the vocabulary times the hidden size.",
    "for name, part in model.named_children():\n    print(name, sum(p.numel() for p in part.parameters()))",
)
COMPARE = (
    "Each bar is the ledger of one model, from its header or, without its weights, from its config. Relative is the "
    "total over that of the first model in the list. A model with shared layers has fewer blocks than applications: "
    "it computes as a deep one and stores little.",
    "from transformers import AutoConfig, AutoModel\n"
    "import torch\n"
    'with torch.device("meta"):   # shapes without memory\n'
    '    model = AutoModel.from_config(AutoConfig.from_pretrained("albert-base-v2"))\n'
    "print(sum(p.numel() for p in model.parameters()))",
)
STACK = (
    "The sizes are those of the config; the counts are sums over the named parameters, as on the page Parameters. "
    "Text enters at the bottom as token ids; each block is drawn with the parameters that it holds, and what has none "
    "(the addition in add & norm) is part of its neighbour.",
    "from transformers import AutoConfig\n"
    'config = AutoConfig.from_pretrained("bert-base-uncased")\n'
    "print(config.num_hidden_layers, config.num_attention_heads, config.hidden_size)",
)
