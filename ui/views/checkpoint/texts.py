"""What the views on weights and on two checkpoints say: how numbers are made, and the lines that reproduce them."""

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
