// Each group of the drawing has one tab stop, the chosen part or the first; arrow keys move within heads and keys as they
// do over lanes and stages.
const GROUPS = ["Token ", "Open ", "Head ", "Key "], WALKED = ["Head ", "Key "];

const groupOf = (node, group) => [...node.querySelectorAll(`[role=button][data-name^="${group}"]`)];

function rove(view, svg, focus) {
  for (const group of view.plan.mode === "tall" ? WALKED : GROUPS) {
    const nodes = groupOf(svg, group), named = nodes.find((node) => node.dataset.name === focus);
    const stop = named ?? nodes.find((node) => node.getAttribute("aria-pressed") === "true") ?? nodes[0];
    for (const node of nodes) node.setAttribute("tabindex", node === stop ? 0 : -1);
  }
}

// Whether an arrow key has moved the focus to the next or previous head or key.
function walked(view, event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const group = step && WALKED.find((each) => event.target.dataset?.name?.startsWith(each));
  if (!group) return false;
  const nodes = groupOf(view.sheet, group), next = nodes[clamp(nodes.indexOf(event.target) + step, 0, nodes.length - 1)];
  event.target.setAttribute("tabindex", -1);
  next.setAttribute("tabindex", 0);
  next.focus();
  event.preventDefault();
  return true;
}
