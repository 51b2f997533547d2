// All heads at a glance: one canvas for the pictures, and above it one cell per head for mouse, keyboard and ears.
const NUMBERS = 18, CAPTION = 18, GAP = 5, SMALLEST = 14, LARGEST = 92, LABEL = 13, ATLAS_HEIGHT = 464;

// Places of the heads: as in the model, or one list, largest first, wrapped into the same grid.
function placesOf(view) {
  const { layers, heads, measures } = view.store.atlas;
  const all = Array.from({ length: layers * heads }, (_, index) => index);
  if (view.order) {
    const values = measures[view.order - 1].values;
    all.sort((one, other) => (values[other] ?? -Infinity) - (values[one] ?? -Infinity) || one - other);
  }
  return all.map((index) => [Math.floor(index / heads), index % heads]);
}

const indexOf = (view, layer, head) => layer * view.store.atlas.heads + head;
const headName = (view, layer, head) => view.rollout ? `layers 0 to ${layer}` : `layer ${layer}, head ${head}`;

const shortName = (view, layer, head) => view.rollout ? `0-${layer}` : `${layer}.${head}`;

function measureText(view, index) {
  return view.store.atlas.measures.map(({ short, digits, unit, values }) =>
    `${short} ${values[index] === null ? "not known" : number(values[index], digits) + unit}`);
}

const describe = (view, layer, head) =>
  `${headName(view, layer, head)}: ${measureText(view, indexOf(view, layer, head)).join(", ")}`;

function atlasGeometry(view) {
  const { layers, heads, rows, columns } = view.store.atlas;
  const label = view.order ? LABEL : 0;
  const left = view.order ? 0 : NUMBERS + CAPTION, top = view.order ? 0 : NUMBERS + CAPTION;
  const width = Math.max(view.parts.grid.clientWidth - 2, 120);
  const sized = (across, down) =>
    Math.floor(Math.min((width - left) / across, (ATLAS_HEIGHT - top) / down - label)) - GAP;
  const count = layers * heads;
  let across = heads, down = layers;
  // A list may be wrapped anywhere: where its pictures become largest.
  for (let tried = 1; view.order && tried <= count; tried++)
    if (sized(tried, Math.ceil(count / tried)) > sized(across, down)) [across, down] = [tried, Math.ceil(count / tried)];
  let size = Math.min(Math.max(sized(across, down), SMALLEST), LARGEST);
  const most = Math.max(rows, columns);
  const even = Math.floor(size / most) * most; // whole pixels per token, where that costs little
  if (even > 0.88 * size) size = even;
  return { left, top, size, label, pitch: size + GAP, tall: size + GAP + label, across, down, count };
}

function paintAtlas(view) {
  const begin = performance.now();
  const { atlas } = view.store, { parts, look } = view;
  const form = (view.geometry = atlasGeometry(view));
  view.places = placesOf(view);
  const width = form.left + form.across * form.pitch, height = form.top + form.down * form.tall;
  const { context, ratio } = fitted(parts.picture, width, height);
  parts.sheet.style.width = `${width}px`;
  parts.sheet.style.height = `${height}px`;
  const image = context.createImageData(parts.picture.width, parts.picture.height);
  const target = new Uint32Array(image.data.buffer);
  const side = Math.round(form.size * ratio);
  const rows = spans(atlas.rowEdges, 0, atlas.rowEdges.at(-1), side);
  const columns = spans(atlas.columnEdges, 0, atlas.columnEdges.at(-1), side);
  let table = null;
  view.places.forEach(([layer, head], place) => {
    const picture = thumbnail(atlas, layer, head);
    if (view.own || !table) table = shades(look.scale, picture, view.own ? peakOf(picture) : atlas.scale, view.lifted);
    const [x, y] = placeAt(form, place);
    fill(target, parts.picture.width, Math.round(x * ratio), Math.round(y * ratio), picture, rows, columns, table);
  });
  context.putImageData(image, 0, 0);
  layOut(view);
  mark(view);
  performance.measure("attention atlas", { start: begin, end: performance.now() });
  view.root.dataset.painted = String(Number(view.root.dataset.painted ?? 0) + 1);
}

const placeAt = (form, place) => [
  form.left + (place % form.across) * form.pitch + Math.floor(GAP / 2),
  form.top + Math.floor(place / form.across) * form.tall + Math.floor(GAP / 2),
];

// Cells are made once for an atlas and an order; what changes after that are their marks.
function layOut(view) {
  const { sheet, cells } = view.parts, form = view.geometry;
  const laid = JSON.stringify([view.store.identity, view.order, form, view.own, view.tint, view.look.name]);
  if (view.laid === laid) return;
  view.laid = laid;
  const focused = cells.contains(cells.getRootNode().activeElement);
  cells.replaceChildren();
  sheet.querySelectorAll(".number, .caption").forEach((each) => each.remove());
  const tinting = view.tint ? view.store.atlas.measures[view.tint - 1].values : null;
  const range = tinting ? extent(tinting) : null;
  view.cellOf = new Map();
  for (let row = 0; row < form.down; row++) {
    const line = made("div");
    line.setAttribute("role", "row");
    for (let place = row * form.across; place < Math.min((row + 1) * form.across, form.count); place++) {
      const [layer, head] = view.places[place];
      const cell = made("div", "cell"), [x, y] = placeAt(form, place);
      Object.assign(cell.style, { left: `${x}px`, top: `${y}px`, width: `${form.size}px`, height: `${form.size}px` });
      cell.setAttribute("role", "gridcell");
      cell.setAttribute("aria-label", describe(view, layer, head));
      Object.assign(cell.dataset, { layer, head, place });
      const value = tinting?.[indexOf(view, layer, head)];
      if (range && value !== null) cell.style.setProperty("--frame", cssColour(view.look.tint, shareIn(range, value)));
      if (view.order) cell.append(made("span", "label", shortName(view, layer, head)));
      view.cellOf.set(mapName(layer, head), cell);
      line.append(cell);
    }
    cells.append(line);
  }
  if (!view.order) numberAxes(view, form);
  cells.setAttribute("aria-rowcount", form.down);
  cells.setAttribute("aria-colcount", form.across);
  if (focused) view.cellOf.get(mapName(...view.focus))?.focus();
}

const extent = (values) => {
  const known = values.filter((value) => value !== null);
  return known.length ? [Math.min(...known), Math.max(...known)] : null;
};
const shareIn = ([low, high], value) => (high > low ? 0.12 + 0.88 * (value - low) / (high - low) : 0.5);

function numberAxes(view, form) {
  const put = (className, text, left, top, width, height) => {
    const each = made("span", className, text);
    each.setAttribute("aria-hidden", "true");
    Object.assign(each.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    view.parts.sheet.append(each);
  };
  const every = Math.ceil(18 / form.pitch);
  put("caption", view.rollout ? "all heads" : "head", form.left, 0, form.across * form.pitch, CAPTION);
  put("caption upright", "layer", 0, form.top, CAPTION, form.down * form.tall);
  for (let head = 0; head < form.across && !view.rollout; head += every)
    put("number", head, form.left + head * form.pitch, CAPTION, form.pitch, NUMBERS);
  for (let layer = 0; layer < form.down; layer += every)
    put("number", layer, CAPTION, form.top + layer * form.tall, NUMBERS, form.pitch);
}

// Which heads are open, in which colour, and where the keyboard stands.
function mark(view) {
  for (const [name, cell] of view.cellOf) {
    const colour = view.colours.get(name);
    const open = name === mapName(...view.opened);
    cell.setAttribute("aria-selected", String(colour !== undefined));
    cell.classList.toggle("open", open);
    cell.tabIndex = name === mapName(...view.focus) ? 0 : -1;
    if (colour !== undefined && view.heads.length > 1) cell.style.setProperty("--mark", view.look.hues[colour]);
    else cell.style.removeProperty("--mark");
  }
  view.root.dataset.opened = view.opened.join(".");
}

function paintTint(view) {
  const tint = view.parts.tintKey, measure = view.tint ? view.store.atlas.measures[view.tint - 1] : null;
  const range = measure ? extent(measure.values) : null;
  tint.style.visibility = range ? "visible" : "hidden";
  if (!range) return;
  const [name, low, bar, high] = tint.children;
  name.textContent = `Frame: ${measure.name}`;
  low.textContent = number(range[0], measure.digits) + measure.unit;
  high.textContent = number(range[1], measure.digits) + measure.unit;
  const steps = [0.12, 0.34, 0.56, 0.78, 1].map((share) => cssColour(view.look.tint, share));
  bar.style.background = `linear-gradient(to right, ${steps.join(", ")})`;
}

function handleAtlas(view) {
  const { cells, grid } = view.parts;
  const headAt = (event) => {
    const cell = event.target.closest(".cell");
    return cell && { cell, head: [Number(cell.dataset.layer), Number(cell.dataset.head)] };
  };
  cells.onclick = (event) => {
    const found = headAt(event);
    hideTip(view);
    if (found) openHead(view, found.head, event.shiftKey || event.ctrlKey || event.metaKey);
  };
  cells.onmousedown = (event) => { if (event.shiftKey) event.preventDefault(); }; // no text is selected on the way
  cells.onmouseover = (event) => {
    const found = headAt(event);
    if (found) showTip(view, found.cell, headName(view, ...found.head), measureText(view, indexOf(view, ...found.head)));
  };
  cells.onmouseleave = () => hideTip(view);
  grid.onscroll = () => hideTip(view);
  cells.onkeydown = (event) => {
    const found = headAt(event);
    if (!found) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      openHead(view, found.head, event.key === " " || event.shiftKey);
      return;
    }
    const there = step(view.geometry, Number(found.cell.dataset.place), event.key, event.ctrlKey);
    if (there === undefined) return;
    event.preventDefault();
    view.focus = view.places[there];
    mark(view);
    const cell = view.cellOf.get(mapName(...view.focus));
    cell.focus();
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
    view.parts.live.textContent = describe(view, ...view.focus);
    showTip(view, cell, headName(view, ...view.focus), measureText(view, indexOf(view, ...view.focus)));
  };
  cells.onfocusout = () => hideTip(view);
}

function step({ across, down, count }, place, key, far) {
  const row = Math.floor(place / across), column = place % across;
  const at = (r, c) =>
    Math.min(Math.min(Math.max(r, 0), down - 1) * across + Math.min(Math.max(c, 0), across - 1), count - 1);
  return {
    ArrowLeft: at(row, column - 1), ArrowRight: at(row, column + 1), ArrowUp: at(row - 1, column),
    ArrowDown: at(row + 1, column), Home: at(far ? 0 : row, 0), End: at(far ? down : row, across - 1),
    PageUp: at(0, column), PageDown: at(down - 1, column),
  }[key];
}
