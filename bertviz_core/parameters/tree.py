"""Build the tree of modules of a ledger, folded to a limited number of nodes."""

from collections.abc import Iterable

from bertviz_core.parameters.components import ATTENTION_PARTS, PARTS, TASK_HEAD
from bertviz_core.parameters.results import Ledger, Parameter, TreeNode

MAX_NODES = 1_500
PART_BITS = {part: 1 << bit for bit, part in enumerate(PARTS)}
NORM, FEED_FORWARD = PART_BITS["layer_norm"], PART_BITS["feed_forward"]
ATTENTION = sum(PART_BITS[part] for part in ATTENTION_PARTS)
OUTSIDE = 1 << len(PARTS)
SEVERAL = -1
"""Layer of a node that spans several layers, or none."""


class _Node:
    """A module of the tree under construction; `parts` are bits of PART_BITS."""

    __slots__ = ("children", "components", "layer", "name", "numel", "parts", "tensors")

    def __init__(self, name: str) -> None:
        self.name = name
        self.children: dict[str, _Node] = {}
        self.numel = 0
        self.tensors = 0
        self.components: tuple[str, ...] = ()
        self.parts = 0
        self.layer: int | None = None

    def add(self, other: "_Node") -> None:
        self.numel += other.numel
        self.tensors += other.tensors
        self.parts |= other.parts
        self.layer = other.layer if self.layer in (None, other.layer) else SEVERAL
        if self.components != other.components:
            new = tuple(name for name in other.components if name not in self.components)
            self.components = self.components + new


def parameter_tree(ledger: Ledger, depth: int, max_nodes: int = MAX_NODES) -> tuple[TreeNode, ...]:
    """The tree of modules down to a depth; parents come before children, and children add up to their parent.

    A module with a single child is merged with it (id "encoder.layer", label "encoder"), and a base model is replaced
    by its children, beside the head (id "bert.encoder.layer"). With more than max_nodes nodes, the smallest siblings
    are folded into one node.

    Args:
        depth: levels below the model, at least 1.
    """
    if depth < 1 or max_nodes < 1:
        raise ValueError(f"depth ({depth}) and max_nodes ({max_nodes}) count from 1")
    root = _grown(ledger.parameters)
    shown = _largest_children(root, depth, max_nodes)
    nodes = [_tree_node("", None, (ledger.architecture, ""), root)]
    _collect(root, nodes[0], "", shown, nodes)
    return tuple(nodes)


def tree_depth(ledger: Ledger) -> int:
    """Depth of the whole tree."""

    def height(node: _Node) -> int:
        return 1 + max((height(child) for child in node.children.values()), default=0)

    return max(height(_grown(ledger.parameters)) - 1, 1)


def _grown(rows: Iterable[Parameter]) -> _Node:
    """The whole tree, with single children merged."""
    root = _Node("")
    for row in rows:
        if row.tied_to is not None:
            continue
        node = root
        for name in row.name.split("."):
            below = node.children.get(name)
            if below is None:
                below = node.children[name] = _Node(name)
            node = below
        node.numel += row.numel
        node.tensors += 1
        node.components = (row.component,)
        node.parts = PART_BITS[row.part] if row.layer is not None else OUTSIDE
        node.layer = SEVERAL if row.layer is None else row.layer
    _sum_up(root)
    _without_base_model(root)
    return root


def _sum_up(node: _Node) -> None:
    """Sum up every module, and merge single children with their parents."""
    joined = {}
    for name, child in node.children.items():
        label, below = name, child
        while len(below.children) == 1 and not below.tensors:
            (inner, below), *_ = below.children.items()
            label = f"{label}.{inner}"
        below.name = name
        if below.children:
            _sum_up(below)
        joined[label] = below
        node.add(below)
    node.children = joined


def _without_base_model(root: _Node) -> None:
    bodies = [name for name, child in root.children.items() if child.components != (TASK_HEAD,)]
    body = root.children[bodies[0]] if len(bodies) == 1 else root
    if body is root or len(body.components) < 2:
        return
    parts: dict[str, _Node] = {}
    for name, child in root.children.items():
        inside = {f"{name}.{below}": part for below, part in child.children.items()}
        parts |= inside if child is body else {name: child}
    root.children = parts


def _largest_children(root: _Node, depth: int, max_nodes: int) -> dict[int, set[str]]:
    """The id of a node -> names of its visible children, level by level, the largest first."""
    shown: dict[int, set[str]] = {}
    level, room = [root], max_nodes
    for _ in range(depth):
        children = [(child.numel, name, parent, child) for parent in level for name, child in parent.children.items()]
        children.sort(key=lambda child_row: (-child_row[0], child_row[1]))
        level = []
        for _, name, parent, child in children[:room]:
            shown.setdefault(id(parent), set()).add(name)
            level.append(child)
        room -= len(level)
        if room <= 0:
            break
    return shown


def _collect(node: _Node, drawn: TreeNode, around: str, shown: dict[int, set[str]], nodes: list[TreeNode]) -> None:
    """Add the descendants of a node; `around` is a prefix for their labels."""
    names = shown.get(id(node), set())
    folded = _Node("")
    count = 0
    for name, child in node.children.items():
        if name in names:
            child_id = f"{drawn.id}.{name}" if drawn.id else name
            is_layer = child.name.isdecimal() and child.layer != SEVERAL and node.layer == SEVERAL
            labels = (f"layer {child.layer}", f"{child.layer}") if is_layer else _labels(child, drawn, around)
            nodes.append(_tree_node(child_id, drawn.id, labels, child))
            _collect(child, nodes[-1], "" if is_layer else labels[0], shown, nodes)
        else:
            folded.add(child)
            count += 1
    if names and count:
        labels = (f"{count:,} smaller", "")
        nodes.append(_tree_node(f"{drawn.id}/folded", drawn.id, labels, folded, folded=count))


SAY_LITTLE = {
    *("weight", "bias", "dense", "output", "out", "o", "out_proj", "c_proj", "proj", "intermediate", "linear"),
    *("layernorm", "layer_norm", "norm"),
}
"""Lower-case names that need the context of their parents."""
WHOLE = {"h": "layers", "layer": "layers", "cls": "task head", "self": "self-attention"}
"""Name -> label."""
OF_PART = {"feed_forward": "feed-forward", "attention_output": "attention", "attention": "attention"}
"""Part of a layer -> prefix of labels."""
SHORT = {
    ("feed_forward", "intermediate"): "FFN in",
    ("feed_forward", "output"): "FFN out",
    ("attention_output", "output"): "attn out",
}
"""Part and name -> short label."""


def _labels(node: _Node, parent: TreeNode, around: str) -> tuple[str, str]:
    """Label of a module, such as "attention output", and a short label."""
    if node.name.isdecimal():
        counted = parent.id.rpartition(".")[2]
        if counted == "layer" and node.children:  # T5 numbers the blocks of a layer, once more under the name "layer"
            return max(node.children.values(), key=lambda child: child.numel).name, node.name
        return f"{counted.removesuffix('s')} {node.name}".strip(), node.name
    if node.name.lower() in SAY_LITTLE:
        part = _part(node.parts)
        return f"{around or OF_PART.get(part, '')} {node.name}".strip(), SHORT.get((part, node.name), node.name)
    return WHOLE.get(node.name, node.name), ""


def _tree_node(node_id: str, parent: str | None, labels: tuple[str, str], node: _Node, folded: int = 0) -> TreeNode:
    label, short = labels
    component = node.components[0] if len(node.components) == 1 else ""
    return TreeNode(node_id, parent, label, node.numel, node.tensors, component, _part(node.parts), folded, short)


def _part(bits: int) -> str:
    """The only part of a module, apart from its normalisation; "" for several."""
    if bits in (NORM, 0) or bits.bit_count() == 1:
        return "" if bits in (0, OUTSIDE) else PARTS[bits.bit_length() - 1]
    bits &= ~NORM
    if bits == FEED_FORWARD:
        return "feed_forward"
    if bits & ~ATTENTION == 0:
        return PARTS[bits.bit_length() - 1] if bits.bit_count() == 1 else "attention"
    return ""
