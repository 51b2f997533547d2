// Words at the pointer: the number of a cell, the dimensions of a bin, a label in full. A tap shows them too.
function tipped(node, words) {
  node.classList.add("tipped");
  node.tip = words;
  return node;
}

function watchTips(view) {
  const { root, sheet } = view, tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true, ariaHidden: "true" });
  root.append(tip);
  const show = (event) => {
    const node = event.target.closest(".tipped");
    tip.hidden = !node;
    if (!node) return;
    tip.textContent = node.tip(event);
    const { clientX: x, clientY: y } = event, right = document.documentElement.clientWidth - x, below = window.innerHeight - y;
    Object.assign(tip.style, { left: "auto", right: "auto", top: "auto", bottom: "auto", ...(x < right ? { left: `${x + 8}px` } : { right: `${right + 8}px` }), ...(below > 100 ? { top: `${y + 20}px` } : { bottom: `${below + 12}px` }) });
  };
  for (const name of ["pointermove", "pointerdown"]) sheet.addEventListener(name, show);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { capture: true, passive: true });
  sheet.addEventListener("pointerleave", ({ pointerType }) => { tip.hidden ||= pointerType === "mouse"; });
  return tip;
}

// Which of so many equal parts of a box the pointer is over.
function partAt(node, event, count, axis) {
  const box = node.getBoundingClientRect(), share = axis === "y" ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width;
  return clamp(Math.floor(share * count), 0, count - 1);
}

// A bin of a vector with so many dimensions: these, and its value, which is rounded to whole units.
function binWords(values, at, { width = values.length, unit = 0 } = {}) {
  const first = Math.floor((at * width) / values.length), last = Math.floor(((at + 1) * width) / values.length) - 1;
  const value = unit ? fixed(values[at] * unit, clamp(Math.floor(-Math.log10(unit)), 0, 3)) : short(values[at]);
  return first === last ? `dimension ${first} of ${width}: ${value}` : `dimensions ${first} to ${last} of ${width}: ${value} is the largest in magnitude`;
}

// Heights of labels, the first at its own lane, the others as near to theirs as a distance allows, none above the least.
function spread(keys, mid, distance, least) {
  const places = new Map(), [chosen] = keys;
  for (const side of [1, -1]) {
    let last = mid(chosen);
    places.set(chosen, last);
    for (const key of keys.filter((each) => (each - chosen) * side > 0).sort((one, other) => (one - other) * side)) {
      last = side * Math.max(side * mid(key), side * last + distance);
      places.set(key, last);
    }
  }
  for (const key of [...places.keys()].sort((one, other) => one - other)) {
    places.set(key, Math.max(places.get(key), least));
    least = places.get(key) + distance;
  }
  return places;
}
