"""The module tree of a ledger, folded so that it can be drawn: nothing is lost from the totals."""

from collections.abc import Iterable

from bertviz_core.parameters.components import ATTENTION_PARTS, PARTS, TASK_HEAD
from bertviz_core.parameters.results import Ledger, Parameter, TreeNode

MAX_NODES = 1_500
"""Nodes that a figure of well under a megabyte can carry."""
PART_BITS = {part: 1 << bit for bit, part in enumerate(PARTS)}
NORM, FEED_FORWARD = PART_BITS["layer_norm"], PART_BITS["feed_forward"]
ATTENTION = sum(PART_BITS[part] for part in ATTENTION_PARTS)
OUTSIDE = 1 << len(PARTS)
SEVERAL = -1
"""Stands for the layer of what spans several layers, or none."""


class _Node:
    """A module while the tree is being made; its parts are the bits of those that its parameters have."""

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
    """The tree of modules down to a depth; parents before children, and children add up to their parent.

    A module with a single module in it is drawn with it as one (id "encoder.layer", label "encoder"), and the base
    model inside a class with a head is not drawn: its parts stand beside the head (id "bert.encoder.layer"). Where
    the whole would have more than max_nodes, siblings are folded into one node each, the smallest first, so that
    the figure keeps its size whatever the model.

    Args:
        ledger: the ledger to draw.
        depth: levels below the model itself, from 1.
        max_nodes: how many nodes at most, folds aside.

    Raises:
        ValueError: depth or max_nodes is less than 1.
    """
    if depth < 1 or max_nodes < 1:
        raise ValueError(f"depth ({depth}) and max_nodes ({max_nodes}) count from 1")
    root = _grown(ledger.parameters)
    shown = _largest_children(root, depth, max_nodes)
    nodes = [_tree_node("", None, (ledger.architecture, ""), root)]
    _collect(root, nodes[0], "", shown, nodes)
    return tuple(nodes)


def tree_depth(ledger: Ledger) -> int:
    """Levels of the whole tree below the model itself."""

    def height(node: _Node) -> int:
        return 1 + max((height(child) for child in node.children.values()), default=0)

    return max(height(_grown(ledger.parameters)) - 1, 1)


def _grown(rows: Iterable[Parameter]) -> _Node:
    """The whole tree, chains of single modules joined."""
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
    """Give every module the sums of what is in it, and join a module that holds a single one with it."""
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
    """Put the parts of a base model, which stands alone or beside heads, in its own place."""
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
    """For each node (by id), the children drawn as themselves: level by level, the largest of a level first."""
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
    """Add what is below a node; around is what its modules are of, in words."""
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
"""Names, in small letters, that say little without what is around them."""
WHOLE = {"h": "layers", "layer": "layers", "cls": "task head", "self": "self-attention"}
"""Names for which a reader has another word."""
OF_PART = {"feed_forward": "feed-forward", "attention_output": "attention", "attention": "attention"}
"""Part of a layer -> what a module that serves it is of."""
SHORT = {
    ("feed_forward", "intermediate"): "FFN in",
    ("feed_forward", "output"): "FFN out",
    ("attention_output", "output"): "attn out",
}
"""Part and name -> what stands in a narrow place."""


def _labels(node: _Node, parent: TreeNode, around: str) -> tuple[str, str]:
    """What a module is in words, such as "attention output", and a shorter word for a narrow place."""
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
    """The one part that a module serves, its own normalisation aside; "" where it serves several."""
    if bits in (NORM, 0) or bits.bit_count() == 1:
        return "" if bits in (0, OUTSIDE) else PARTS[bits.bit_length() - 1]
    bits &= ~NORM
    if bits == FEED_FORWARD:
        return "feed_forward"
    if bits & ~ATTENTION == 0:
        return PARTS[bits.bit_length() - 1] if bits.bit_count() == 1 else "attention"
    return ""
