// The elements, once; everything after that changes their text and their pixels.
const HELP = {
  modes: "Maps: a square per head, queries down and keys across, dark for a large weight. Lines: a line from each query to each key, strong for a large weight.",
  order: "The order of the small pictures: by layer and head as in the model, or the largest value of a measure first.",
  least: "Lines of smaller weights are left out.",
  tint: "A frame around each head, coloured by a measure of what the head does.",
  scale: "One scale for all heads lets you compare them; a scale of its own shows the pattern of a head with small weights. From 0 to 1, pictures of different texts and models can be compared; a norm has no largest value. Lines of the opened heads are as strong as they are beside the strongest of them.",
  shade: "Emphasized: the shade follows the square root of the weight, so that small weights can be seen. The numbers stay the same.",
};
const SCALES = ["", "own", "fixed"];

function build(root) {
  const parts = {};
  const put = (parent, name, tag, className, text) => {
    parts[name] = made(tag, className, text);
    parent.append(parts[name]);
    return parts[name];
  };
  const view = {
    root, parts, store: null, serial: 0, heads: [], opened: [0, 0], focus: [0, 0], colours: new Map(), pins: new Set(),
    order: 0, tint: 0, scale: "", lifted: false, mode: "map", threshold: 0.02, zoom: null, cell: null, pointed: null,
    measuring: { context: document.createElement("canvas").getContext("2d") }, alone: false, waiting: false,
  };
  const field = (parent, name, label, element, helped = name) => {
    const around = put(parent, `${name}Field`, "div", "field"), above = made("div", "above");
    const words = made("label", "", label), help = made("button", "help", "?");
    element.id = words.htmlFor = `attention-${name}`;
    help.type = "button";
    help.setAttribute("aria-label", "Help");
    help.setAttribute("aria-description", HELP[helped]);
    const show = () => showTip(view, help, label, [HELP[helped]]);
    Object.assign(help, { onmouseenter: show, onfocus: show, onclick: show, onmouseleave: () => hideTip(view), onblur: () => hideTip(view) });
    above.append(words, help);
    parts[name] = element;
    around.append(above, element);
  };
  const choice = (parent, name, label, options, change) => {
    const select = made("select");
    options.forEach((word, index) => select.append(new Option(word, String(index))));
    select.onchange = () => { change(Number(select.value)); draw(view); report(view); };
    field(parent, name, label, select);
  };
  // In a frame for the figure alone there is nothing around the pictures.
  root.classList.toggle("bare", Boolean(document.querySelector(".st-key-figure_only")));
  const inside = put(root, "inside", "div", "inside"), bar = put(inside, "bar", "div", "bar"), modes = made("div", "modes");
  modes.setAttribute("role", "group");
  modes.setAttribute("aria-label", "Show heads as");
  for (const [value, word] of [["map", "Maps"], ["lines", "Lines"]]) {
    const button = made("button", "", word);
    button.type = "button";
    button.value = value;
    button.onclick = () => { view.mode = value; draw(view); report(view); };
    modes.append(button);
  }
  field(bar, "modes", "Show heads as", modes);
  choice(bar, "order", "Sort heads by", [], (at) => { view.order = at; });
  const more = made("div", "more"), options = put(more, "options", "div", "options");
  const open = put(more, "open", "button", "plain", "Options");
  const unfold = (shown) => { options.hidden = !shown; open.setAttribute("aria-expanded", String(shown)); };
  open.type = "button";
  open.onclick = () => unfold(options.hidden);
  more.onkeydown = (event) => { if (event.key === "Escape" && !options.hidden) { event.stopPropagation(); unfold(false); open.focus(); } };
  view.onPress = (event) => { if (!event.composedPath().includes(more)) unfold(false); };
  unfold(false);
  choice(options, "tint", "Frame colour", [], (at) => { view.tint = at; });
  choice(options, "scale", "Colour scale", ["same for all heads", "own for each head", "fixed, 0 to 1"], (at) => { view.scale = SCALES[at]; });
  choice(options, "shade", "Small weights", ["as they are", "emphasized"], (at) => { view.lifted = at === 1; });
  const sieve = made("div", "sieve"), least = put(sieve, "least", "input");
  put(sieve, "leastText", "output", "figure");
  field(bar, "sieve", "Hide lines below", sieve, "least");
  bar.append(more);
  parts.sieveField.querySelector("label").htmlFor = least.id = "attention-least";
  Object.assign(least, { type: "range", min: "0", max: "1", step: "0.01" });
  least.oninput = () => { view.threshold = Number(least.value); draw(view); report(view); };

  const halves = made("div", "halves"), left = made("section", "half all"), right = made("section", "half one");
  inside.append(halves);
  halves.append(left, right);
  left.setAttribute("aria-label", "All heads");
  right.setAttribute("aria-label", "Opened head");
  const above = made("div", "heading");
  left.append(above);
  put(above, "allTitle", "h2", "title");
  put(above, "hint", "span", "hint");
  const grid = put(left, "grid", "div", "grid"), sheet = put(grid, "sheet", "div", "sheet");
  put(sheet, "picture", "canvas").setAttribute("aria-hidden", "true");
  const cells = put(sheet, "cells", "div", "cells");
  cells.setAttribute("role", "grid");
  cells.setAttribute("aria-multiselectable", "true");
  cells.setAttribute("aria-label", "Heads by layers. Arrow keys move, Enter opens a head, space adds one, Escape clears.");
  const tint = put(left, "tintKey", "div", "tint");
  tint.append(made("span"), made("span", "figure"), made("span", "ramp"), made("span", "figure"));
  put(left, "about", "p", "about");

  const heading = made("div", "heading");
  right.append(heading);
  put(heading, "headTitle", "h2", "title");
  put(heading, "legend", "div", "legend");
  put(heading, "whole", "button", "plain", "Show all").onclick = () => zoomTo(view, null);
  const stage = put(right, "stage", "div", "stage");
  const mapBox = put(stage, "mapBox", "div", "map-box");
  mapBox.tabIndex = 0;
  mapBox.setAttribute("role", "application");
  mapBox.setAttribute("aria-roledescription", "map");
  put(mapBox, "map", "canvas");
  put(mapBox, "over", "canvas", "over");
  const linesBox = put(stage, "linesBox", "div", "lines-box");
  put(linesBox, "strands", "canvas", "strands");
  put(linesBox, "columns", "div", "columns");
  put(linesBox, "linesNote", "p", "lines-note", "Lines need a row for every token: drag over a part of the map first.");
  put(right, "status", "p", "status");
  put(root, "tip", "div", "tip").hidden = true;
  put(root, "live", "div", "live").setAttribute("aria-live", "polite");

  handleAtlas(view);
  handleMap(view);
  handleLines(view);
  root.onkeydown = (event) => { if (event.key === "Escape") clear(view); };
  view.onDraw = (event) => answer(view, event.detail);
  let size = "";
  view.watcher = new ResizeObserver(() => {
    const now = `${root.clientWidth} ${stage.clientHeight}`;
    if (now === size) return;
    size = now;
    draw(view);
  });
  return view;
}
