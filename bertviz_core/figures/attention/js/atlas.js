// All heads at a glance: one canvas for the pictures, and above it one cell per head for mouse, keyboard and ears.
const NUMBERS = 20, CAPTION = 18, GAP = 4, BELOW = 46, SMALLEST = 14, LARGEST = 168, LABEL = 16;
const AXES = "layer ↓   head →";
const TALLER = 1.9; // most times as high as wide, where there is room: what fills the place of six layers of twelve heads

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
const headName = (view, layer, head) => view.where ? `${view.where === "in" ? "" : `${view.where} `}layer ${layer}` : `layer ${layer}, head ${head}`;

const shortName = (view, layer, head) => view.where ? `${view.where === "in" ? "layer" : view.where} ${layer}` : `${layer}.${head}`;

function measureText(view, index) {
  return view.store.atlas.measures.map(({ short, digits, unit, values }) =>
    `${short} ${values[index] === null ? "not known" : number(values[index], digits) + unit}`);
}

const describe = (view, layer, head) =>
  `${headName(view, layer, head)}: ${measureText(view, indexOf(view, layer, head)).join(", ")}`;

// A list may be wrapped anywhere: where its pictures become largest. Rollout and value zeroing are, having no heads.
const isList = (view) => Boolean(view.order) || Boolean(view.where);

function atlasGeometry(view, { width, height }) {
  const { layers, heads, rows, columns } = view.store.atlas;
  const list = isList(view), label = list ? LABEL : 0, left = list ? 0 : NUMBERS + 2, top = list ? 0 : CAPTION + NUMBERS;
  const room = (across, down) =>
    [Math.floor((Math.max(width, 120) - left) / across) - GAP, Math.floor((height - top) / down - label) - GAP];
  const sized = (across, down) => Math.min(...room(across, down));
  const count = layers * heads;
  let across = heads, down = layers;
  for (let tried = 1; list && tried <= count; tried++)
    if (sized(tried, Math.ceil(count / tried)) > sized(across, down)) [across, down] = [tried, Math.ceil(count / tried)];
  const wide = even(Math.min(Math.max(sized(across, down), SMALLEST), LARGEST), columns);
  const most = Math.min(room(across, down)[1], wide * TALLER);
  const high = even(Math.max(Math.floor(most), wide), rows);
  return { left, top, wide, high, label, pitch: wide + GAP, tall: high + GAP + label, across, down, count, list };
}

// Whole pixels per token, where that costs little.
function even(size, tokens) {
  const whole = Math.floor(size / tokens) * tokens;
  return whole > 0.94 * size ? whole : size;
}

const gridSize = (view) => ({ width: view.parts.grid.clientWidth - 2, height: stageSize(view).height - BELOW - 4 });
const sheetSize = (form) => ({ width: form.left + form.across * form.pitch, height: form.top + form.down * form.tall });

function paintAtlas(view) {
  const begin = performance.now();
  const { atlas } = view.store, { parts } = view;
  const form = (view.geometry = atlasGeometry(view, gridSize(view)));
  view.places = placesOf(view);
  const { width, height } = sheetSize(form);
  const { context, ratio } = fitted(parts.picture, width, height);
  parts.sheet.style.width = `${width}px`;
  parts.sheet.style.height = `${height}px`;
  if (view.mode === "map") {
    const image = context.createImageData(parts.picture.width, parts.picture.height);
    const target = new Uint32Array(image.data.buffer);
    const rows = spans(atlas.rowEdges, 0, atlas.rowEdges.at(-1), Math.round(form.high * ratio));
    const columns = spans(atlas.columnEdges, 0, atlas.columnEdges.at(-1), Math.round(form.wide * ratio));
    eachTile(view, form, (picture, table, x, y) =>
      fill(target, parts.picture.width, Math.round(x * ratio), Math.round(y * ratio), picture, rows, columns, table));
    context.putImageData(image, 0, 0);
  }
  drawTiles(view, context, form);
  layOut(view);
  mark(view);
  performance.measure("attention atlas", { start: begin, end: performance.now() });
  view.root.dataset.painted = String(Number(view.root.dataset.painted ?? 0) + 1);
}

// Every head's picture with its colours and its corner.
function eachTile(view, form, act) {
  const { atlas } = view.store;
  let table = null;
  view.places.forEach(([layer, head], place) => {
    const picture = thumbnail(atlas, layer, head), [x, y] = placeAt(form, place);
    if (view.scale === "own" || !table) table = shades(view.look.scale, picture, topOf(view, picture), view.lifted);
    act(picture, table, x, y);
  });
}

// What is drawn on the tiles: lines in place of maps, and where the second text of a pair begins.
function drawTiles(view, context, form) {
  const { queries, keys } = view.store.atlas, { look } = view;
  const share = (axis) => (axis.second ?? 0) / axis.labels.length;
  if (view.mode === "lines") eachTile(view, form, (picture, _, x, y) =>
    tileLines(view, context, picture, topOf(view, picture), [x, y, form.wide, form.high]));
  context.save();
  context.strokeStyle = look.text;
  context.globalAlpha = 0.4;
  context.lineWidth = 1;
  context.beginPath();
  for (let place = 0; place < form.count; place++) {
    const [x, y] = placeAt(form, place);
    const across = (at, from, to) => { context.moveTo(x + from, Math.round(y + at) - 0.5); context.lineTo(x + to, Math.round(y + at) - 0.5); };
    const marks = view.mode === "map" ? [[0, form.wide]] : [[0, 5], [form.wide - 5, form.wide]];
    if (queries.second) across(share(queries) * form.high, ...marks[0]);
    if (keys.second && view.mode === "lines") across(share(keys) * form.high, ...marks[1]);
    if (!keys.second || view.mode === "lines") continue;
    context.moveTo(Math.round(x + share(keys) * form.wide) - 0.5, y);
    context.lineTo(Math.round(x + share(keys) * form.wide) - 0.5, y + form.high);
  }
  context.stroke();
  context.restore();
}

const SHADES = 6, MOST_TILE_LINES = 120;

// One head's lines from its queries on the left to its keys on the right, those of like weight in one stroke.
function tileLines(view, context, picture, top, [x, y, wide, high]) {
  const { rows, columns, codes, levels, scale } = picture, found = [];
  const least = Math.max(1, Math.sqrt((view.threshold * lineTop(view, picture)) / scale) * levels);
  for (let at = 0; at < codes.length; at++) if (codes[at] >= least) found.push(at);
  if (found.length > MOST_TILE_LINES) found.sort((one, other) => codes[other] - codes[one]).length = MOST_TILE_LINES;
  const strokes = Array.from({ length: SHADES }, () => []);
  for (const at of found) {
    const strong = placeOf(scale * shareOf(picture, codes[at]), top, view.lifted);
    strokes[Math.min(Math.floor(strong * SHADES), SHADES - 1)].push(at);
  }
  context.strokeStyle = view.look.hues[0];
  strokes.forEach((group, shade) => {
    if (!group.length) return;
    context.globalAlpha = (shade + 0.4) / SHADES;
    context.lineWidth = (wide > 60 ? 1.2 : 0.6) + (0.8 * shade) / SHADES;
    context.beginPath();
    for (const at of group) {
      context.moveTo(x + 2, y + ((Math.floor(at / columns) + 0.5) / rows) * high);
      context.lineTo(x + wide - 2, y + (((at % columns) + 0.5) / columns) * high);
    }
    context.stroke();
  });
  context.globalAlpha = 1;
}

// All heads into a file, with their numbers.
function atlasInto(pen, view, size) {
  const form = atlasGeometry(view, size), { atlas } = view.store, { look } = view;
  view.places = placesOf(view);
  const rows = spans(atlas.rowEdges, 0, atlas.rowEdges.at(-1), Math.min(atlas.rows, form.high));
  const columns = spans(atlas.columnEdges, 0, atlas.columnEdges.at(-1), Math.min(atlas.columns, form.wide));
  if (view.mode === "map") eachTile(view, form, (picture, table, x, y) =>
    imageInto(pen, picture, rows, columns, table, [x, y, form.wide, form.high]));
  drawTiles(view, pen, form);
  view.places.forEach(([layer, head], place) => {
    const [x, y] = placeAt(form, place);
    pen.strokeStyle = look.muted;
    pen.lineWidth = 0.5;
    pen.strokeRect(x, y, form.wide, form.high);
    pen.fillStyle = look.muted;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.font = wordFont(view, 12);
    if (form.list) pen.fillText(shortName(view, layer, head), x + form.wide / 2, y + form.high + 8);
    if (form.list) return;
    if (place < form.across) pen.fillText(head, x + form.wide / 2, CAPTION + NUMBERS / 2);
    if (place % form.across === 0) pen.fillText(layer, NUMBERS / 2, y + form.high / 2);
  });
  pen.textAlign = "left";
  if (!form.list) pen.fillText(AXES, 0, CAPTION / 2);
  return sheetSize(form);
}

const placeAt = (form, place) => [
  form.left + (place % form.across) * form.pitch + Math.floor(GAP / 2),
  form.top + Math.floor(place / form.across) * form.tall + Math.floor(GAP / 2),
];

// Cells are made once for an atlas and an order; what changes after that are their marks.
function layOut(view) {
  const { sheet, cells } = view.parts, form = view.geometry;
  const laid = JSON.stringify([view.store.identity, view.order, form, view.scale, view.tint, view.look.name]);
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
    line.setAttribute("aria-label", form.list ? `row ${row + 1}` : `layer ${view.places[row * form.across][0]}`);
    for (let place = row * form.across; place < Math.min((row + 1) * form.across, form.count); place++) {
      const [layer, head] = view.places[place];
      const cell = made("div", "cell"), [x, y] = placeAt(form, place);
      Object.assign(cell.style, { left: `${x}px`, top: `${y}px`, width: `${form.wide}px`, height: `${form.high}px` });
      cell.setAttribute("role", "gridcell");
      cell.setAttribute("aria-label", describe(view, layer, head));
      Object.assign(cell.dataset, { layer, head, place });
      const value = tinting?.[indexOf(view, layer, head)];
      if (range && value !== null) cell.style.setProperty("--frame", cssColour(view.look.tint, shareIn(range, value)));
      if (form.list) cell.append(made("span", "label", shortName(view, layer, head)));
      view.cellOf.set(mapName(layer, head), cell);
      line.append(cell);
    }
    cells.append(line);
  }
  if (!form.list) numberAxes(view, form);
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
  put("caption", AXES, 0, 0, 120, CAPTION);
  for (let head = 0; head < form.across; head += every)
    put("number", head, form.left + head * form.pitch, CAPTION, form.pitch, NUMBERS);
  for (let layer = 0; layer < form.down; layer += Math.ceil(14 / form.tall))
    put("number", layer, 0, form.top + layer * form.tall, NUMBERS, form.high + GAP);
}

// Which heads are open, in which colour, and the position of the keyboard.
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
  let last = null;
  cells.onmousemove = (event) => { // not onmouseover, which also comes where the heads appear below a resting mouse
    const found = headAt(event);
    if (found?.cell === last || (!event.movementX && !event.movementY)) return;
    last = found?.cell;
    if (found) showTip(view, found.cell, headName(view, ...found.head), measureText(view, indexOf(view, ...found.head)));
  };
  cells.onmouseleave = () => { last = null; hideTip(view); };
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
