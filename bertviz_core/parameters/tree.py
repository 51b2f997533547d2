"""The module tree of a ledger, folded so that it can be drawn: nothing is lost from the totals."""

from collections.abc import Iterable

from bertviz_core.parameters.components import ATTENTION_PARTS, PARTS
from bertviz_core.parameters.results import Ledger, Parameter, TreeNode

MAX_NODES = 1_500
"""Nodes that a figure of well under a megabyte can carry."""
PART_BITS = {part: 1 << bit for bit, part in enumerate(PARTS)}
NORM, FEED_FORWARD = PART_BITS["layer_norm"], PART_BITS["feed_forward"]
ATTENTION = sum(PART_BITS[part] for part in ATTENTION_PARTS)
OUTSIDE = 1 << len(PARTS)


class _Node:
    """A module while the tree is being made; its parts are the bits of those that its parameters have."""

    __slots__ = ("children", "components", "numel", "parts", "tensors")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.numel = 0
        self.tensors = 0
        self.components: tuple[str, ...] = ()
        self.parts = 0

    def add(self, other: "_Node") -> None:
        self.numel += other.numel
        self.tensors += other.tensors
        self.parts |= other.parts
        if self.components != other.components:
            new = tuple(name for name in other.components if name not in self.components)
            self.components = self.components + new


def parameter_tree(ledger: Ledger, depth: int, max_nodes: int = MAX_NODES) -> tuple[TreeNode, ...]:
    """The tree of modules down to a depth; parents before children, and children add up to their parent.

    A module with a single module in it is drawn with it as one (id "encoder.layer", label "encoder"). Where the
    whole would have more than max_nodes, siblings are folded into one node each, the smallest first, so that the
    figure keeps its size whatever the model.

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
    nodes = [_tree_node("", None, ledger.architecture, root)]
    _collect(root, "", shown, nodes)
    return tuple(nodes)


def tree_depth(ledger: Ledger) -> int:
    """Levels of the whole tree below the model itself."""

    def height(node: _Node) -> int:
        return 1 + max((height(child) for child in node.children.values()), default=0)

    return max(height(_grown(ledger.parameters)) - 1, 1)


def _grown(rows: Iterable[Parameter]) -> _Node:
    """The whole tree, chains of single modules joined."""
    root = _Node()
    for row in rows:
        if row.tied_to is not None:
            continue
        node = root
        for name in row.name.split("."):
            below = node.children.get(name)
            if below is None:
                below = node.children[name] = _Node()
            node = below
        node.numel += row.numel
        node.tensors += 1
        node.components = (row.component,)
        node.parts = PART_BITS[row.part] if row.layer is not None else OUTSIDE
    _sum_up(root)
    return root


def _sum_up(node: _Node) -> None:
    """Give every module the sums of what is in it, and join a module that holds a single one with it."""
    joined = {}
    for name, child in node.children.items():
        label, below = name, child
        while len(below.children) == 1 and not below.tensors:
            (inner, below), *_ = below.children.items()
            label = f"{label}.{inner}"
        if below.children:
            _sum_up(below)
        joined[label] = below
        node.add(below)
    node.children = joined


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


def _collect(node: _Node, path: str, shown: dict[int, set[str]], nodes: list[TreeNode]) -> None:
    names = shown.get(id(node), set())
    folded = _Node()
    count = 0
    for name, child in node.children.items():
        if name in names:
            child_id = f"{path}.{name}" if path else name
            nodes.append(_tree_node(child_id, path, name.partition(".")[0], child))
            _collect(child, child_id, shown, nodes)
        else:
            folded.add(child)
            count += 1
    if names and count:
        nodes.append(_tree_node(f"{path}/folded", path, f"{count:,} smaller", folded, folded=count))


def _tree_node(node_id: str, parent: str | None, label: str, node: _Node, folded: int = 0) -> TreeNode:
    component = node.components[0] if len(node.components) == 1 else ""
    return TreeNode(node_id, parent, label, node.numel, node.tensors, component, _part(node.parts), folded)


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
