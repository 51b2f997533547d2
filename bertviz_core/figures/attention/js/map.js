// One head as a map: queries down, keys across, each row a distribution.
const LONGEST = 104, TICK = 13, SMALLEST_TICK = 9, LONGEST_UPRIGHT = 80, BAR = 12, HIDDEN_WIDE = 32, NUMBERED = 19, LARGEST_CELL = 96, CORNER = 64, NARROW_CORNER = 52, NARROW = 420;
const LEADING = 0.6; // pixels between lines of letters, as tall as the line is
const BAR_BESIDE = 78, BAR_BELOW = 44, FOUR_LINES = 80;
const LEAST_HIDDEN = 0.0005; // below, it is the rounding of a sum
const FLAT = 0, SLANT = Math.PI / 4, UPRIGHT = Math.PI / 2;

const tokenFont = (view, italic, size = TICK) => `${italic ? "italic " : ""}${size}px ${view.fonts.code}`;
const wordFont = (view, size = 14) => `${size}px ${view.fonts.text}`;

// What the stage shows: a picture of the opened head, and the part of it that is looked at.
function shownMap(view) {
  const { picture, wanting } = pictureOf(view.store, ...view.opened, view.zoom);
  const [q0, q1, k0, k1] = view.zoom ?? wholeOf(view.store.atlas);
  return { picture, wanting, q0, q1, k0, k1 };
}

function labelsOf(view, axis, edges, low, high) {
  const special = (axis.marked ??= new Set(axis.special));
  const found = [];
  for (let block = blockAt(edges, low); block < edges.length - 1 && edges[block] < high; block++) {
    const from = Math.max(edges[block], low), to = Math.min(edges[block + 1], high), single = to - from === 1;
    found.push({
      text: single ? tokenName(axis, from) : String(edges[block]),
      special: single && special.has(from), middle: (from + to) / 2, block,
    });
  }
  return found;
}

// The largest cells that fit: the scale is beside the map or below it, words lie, slant or stand, whatever shows
// every word of the columns; where nothing does, every k-th word is shown.
function mapGeometry(view, shown, { width, height }) {
  const { picture, q0, q1, k0, k1 } = shown, { context } = view.measuring, { atlas } = view.store;
  const rows = labelsOf(view, atlas.queries, picture.rowEdges, q0, q1);
  const columns = labelsOf(view, atlas.keys, picture.columnEdges, k0, k1);
  context.font = tokenFont(view);
  const widthOf = ({ text }) => Math.min(context.measureText(text).width, LONGEST);
  const widths = columns.slice(0, 600).map(widthOf);
  const longest = Math.max(...widths), wide = Math.max(...rows.slice(0, 600).map(widthOf));
  const hidden = picture.hidden?.some((share) => share > LEAST_HIDDEN) ?? false;
  const words = Math.min(wide, width * 0.24), left = Math.max(words, width < NARROW ? NARROW_CORNER : CORNER) + 8;
  const fitted = (below, angle, size, least = 40) => {
    const reach = angle === SLANT ? Math.max(...widths.slice(-6).map((each, place, last) =>
      each * (size / TICK) * Math.cos(SLANT) + 4 - (last.length - 1 - place) * 18)) : 4;
    const room = Math.max((hidden ? HIDDEN_WIDE + 14 : 0) + (below ? 4 : BAR_BESIDE), reach);
    const most = angle === UPRIGHT ? LONGEST_UPRIGHT : LONGEST;
    const high = angle === FLAT ? 24 : Math.min(longest * (size / TICK), most) * Math.sin(angle) + (angle === SLANT ? 16 : 10);
    const top = Math.max(high, least), bottom = below ? BAR_BELOW : 8;
    let cell = Math.min((width - left - room) / (k1 - k0), (height - top - bottom) / (q1 - q0), LARGEST_CELL);
    if (cell >= 20) cell = Math.floor(cell);
    const per = (cell * (k1 - k0)) / columns.length;
    const fits = { [FLAT]: per >= longest + 8, [SLANT]: per * Math.sin(SLANT) >= size, [UPRIGHT]: per >= size + LEADING }[angle];
    return { below, angle, size, top, cell: Math.max(cell, 0.02), room, per, fits };
  };
  const turns = [[FLAT, TICK], [SLANT, TICK], [SLANT, 12], [UPRIGHT, 13], [UPRIGHT, 12], [UPRIGHT, 11], [UPRIGHT, 10], [UPRIGHT, SMALLEST_TICK]];
  const [beside, under] = [false, true].map((below) => {
    const tried = turns.map((turn) => fitted(below, ...turn));
    return tried.find(({ fits }) => fits) ?? fitted(below, UPRIGHT, 11, FOUR_LINES);
  });
  const form = under.cell > 1.03 * beside.cell || (under.fits && !beside.fits) ? under : beside;
  const across = form.cell * (k1 - k0), down = form.cell * (q1 - q0);
  return { ...form, width, height, left, across, down, hidden, rows, columns, wide: words, ...shown };
}

function paintMap(view) {
  const form = (view.map = mapGeometry(view, shownMap(view), stageSize(view))), { picture } = form;
  const { context, ratio } = fitted(view.parts.map, form.width, form.height);
  const table = mapColours(view, form);
  const wide = Math.max(1, Math.round(form.across * ratio)), high = Math.max(1, Math.round(form.down * ratio));
  const image = context.createImageData(wide, high);
  const rows = spans(picture.rowEdges, form.q0, form.q1, high), columns = spans(picture.columnEdges, form.k0, form.k1, wide);
  fill(new Uint32Array(image.data.buffer), wide, 0, 0, picture, rows, columns, table);
  context.putImageData(image, Math.round(form.left * ratio), Math.round(form.top * ratio));
  drawMap(view, context, form);
  paintOver(view);
  const { stage } = view.parts;
  stage.dataset.shown = view.opened.join(".");
  stage.dataset.full = String(!form.wanting);
  stage.dataset.columns = String(shownLabels(form).length);
}

// The same map into a file.
function mapInto(pen, view, size) {
  const form = mapGeometry(view, shownMap(view), size), { picture } = form;
  const table = mapColours(view, form);
  const one = (edges, low, high) => spans(edges, low, high, Math.min(high - low, 1024));
  const place = [form.left, form.top, form.across, form.down];
  squaresOrImage(pen, picture, one(picture.rowEdges, form.q0, form.q1), one(picture.columnEdges, form.k0, form.k1), table, place);
  drawMap(view, pen, form);
  const high = form.top + form.down + (form.below ? BAR_BELOW : 8);
  const wide = Math.max(form.left + form.across + form.room, Math.min(form.width, NARROW)); // no wider than it is drawn
  return { width: wide, height: Math.max(high, form.below ? 0 : form.top + 104) };
}

function mapColours(view, form) {
  form.scaleTop = topOf(view, form.picture);
  return shades(view.look.scale, form.picture, form.scaleTop, view.lifted);
}

// All but the cells, on a canvas or into a file.
function drawMap(view, context, form) {
  context.strokeStyle = view.look.muted;
  context.lineWidth = 1;
  context.strokeRect(form.left - 0.5, form.top - 0.5, form.across + 1, form.down + 1);
  if (form.cell >= NUMBERED && form.picture.exact) writeNumbers(view, context, form);
  divide(view, context, form);
  nameAxes(view, context, form);
  if (form.hidden) paintHidden(view, context, form);
  colourBar(view, context, form);
}

// Where the second text of a pair begins.
function divide(view, context, form) {
  const { queries, keys } = view.store.atlas, line = (x0, y0, x1, y1) => {
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  };
  context.save();
  context.strokeStyle = view.look.text;
  context.lineWidth = 1.5;
  context.setLineDash([5, 3]);
  const y = Math.round(form.top + (queries.second - form.q0) * form.cell) - 0.5;
  const x = Math.round(form.left + (keys.second - form.k0) * form.cell) - 0.5;
  if (queries.second > form.q0 && queries.second < form.q1) line(form.left - form.wide - 6, y, form.left + form.across, y);
  if (keys.second > form.k0 && keys.second < form.k1) line(x, form.top - 14, x, form.top + form.down);
  context.restore();
}

function writeNumbers(view, context, form) {
  const { picture, q0, q1, k0, k1, cell } = form;
  const size = Math.min(Math.max(cell * 0.42, 9.5), TICK);
  context.font = wordFont(view, size);
  if (context.measureText(weightText(form, peakOf(picture))).width > cell - 2) return;
  for (let query = q0; query < q1; query++) for (let key = k0; key < k1; key++) {
    const value = mapValue(picture, query, key);
    writeNumber(view, context, form, value, form.left + (key - k0 + 0.5) * cell, form.top + (query - q0 + 0.5) * cell, size);
  }
}

function weightText(form, value) {
  const text = number(value, form.scaleTop >= 10 ? 1 : 2).replace(/^0\./, ".");
  return text === "1.00" ? "1" : text;
}

function writeNumber(view, context, form, value, x, y, size) {
  if (value === 0) return; // .00 is a small weight, an empty cell none
  const text = weightText(form, value);
  const ground = mixed(view.look.scale, placeOf(value, form.scaleTop, view.lifted));
  context.font = wordFont(view, size);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = inkOn(ground, [view.look.text, view.look.paper]);
  context.fillText(text, x, y + 1);
}

const mapValue = (picture, query, key) =>
  valueAt(picture, blockAt(picture.rowEdges, query), blockAt(picture.columnEdges, key));

const columnStep = (form) => form.fits ? 1 : Math.ceil((form.size + LEADING) / form.per);
const shownLabels = (form) => thinned(form.columns, columnStep(form));
const ordinal = (count) => `${count}${count % 100 > 10 && count % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][count % 10] ?? "th"}`;

function nameAxes(view, context, form) {
  const { look } = view;
  context.fillStyle = look.muted;
  context.font = wordFont(view);
  context.textBaseline = "middle";
  context.textAlign = "right";
  const room = form.left - 8;
  const per = form.down / form.rows.length, size = Math.min(Math.max(Math.floor(per - LEADING), SMALLEST_TICK), TICK);
  const rowStep = Math.max(1, Math.ceil((size + LEADING) / per));
  const corner = [["query ↓", rowStep], ["key →", columnStep(form)]]
    .flatMap(([words, every]) => (every > 1 ? [words, `every ${ordinal(every)}`] : [words]));
  [14, 13, 12, 11].find((letters) => {
    context.font = wordFont(view, letters);
    return corner.every((words) => context.measureText(words).width <= room);
  });
  // Above the name of the first row, which is higher than a low row.
  const lowest = form.top - 11 - Math.max(0, size / 2 - (form.rows[0].middle - form.q0) * form.cell);
  corner.forEach((words, line) => context.fillText(cut(context, words, room), room, lowest - 18 * line));

  const write = (label, size, width) => {
    context.font = tokenFont(view, label.special, size);
    context.fillStyle = label.special ? look.muted : look.text;
    return cut(context, label.text, width);
  };
  thinned(form.rows, rowStep).forEach((label) => {
    const y = form.top + (label.middle - form.q0) * form.cell;
    context.fillText(write(label, size, form.wide), form.left - 6, y + 0.5);
  });
  context.textAlign = form.angle === FLAT ? "center" : "left";
  shownLabels(form).forEach((label) => {
    const x = form.left + (label.middle - form.k0) * form.cell;
    const text = write(label, form.size, form.angle === UPRIGHT ? LONGEST_UPRIGHT : LONGEST);
    context.save();
    context.translate(x + (form.angle === SLANT ? 2 : 0), form.top - (form.angle === FLAT ? 12 : 6));
    if (form.angle !== FLAT) context.rotate(-form.angle);
    context.fillText(text, 0, 0);
    context.restore();
  });
}

const thinned = (labels, every) => labels.filter((_, index) => index % Math.max(1, every) === 0);

// What of each row lies on keys that are not shown.
function paintHidden(view, context, form) {
  const numbered = form.cell >= NUMBERED, x = form.left + form.across + 12, wide = numbered ? HIDDEN_WIDE : 16;
  const size = Math.min(Math.max(form.cell * 0.42, 9.5), TICK);
  for (let query = form.q0; query < form.q1; query++) {
    const share = form.picture.hidden[query];
    context.fillStyle = cssColour(view.look.scale, placeOf(share, form.scaleTop, view.lifted));
    const y = form.top + (query - form.q0) * form.cell;
    context.fillRect(x, y, wide, form.cell + 0.5);
    if (numbered) writeNumber(view, context, form, share, x + wide / 2, y + form.cell / 2, size);
  }
  context.strokeStyle = view.look.muted;
  context.strokeRect(x - 0.5, form.top - 0.5, wide + 1, form.down + 1);
  context.save();
  context.fillStyle = view.look.muted;
  context.font = wordFont(view, TICK);
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.translate(x + wide / 2, form.top - 7);
  context.rotate(-UPRIGHT);
  context.fillText("hidden", 0, 0);
  context.restore();
}

// The scale in the unit of the weights, beside the map or below it.
function colourBar(view, context, form) {
  const { look } = view, { scaleTop } = form;
  context.font = wordFont(view, TICK);
  const unit = cut(context, view.scale === "own" ? `${view.unit}, own scale` : view.unit, form.below ? form.across * 0.5 : Math.max(form.down, 96) + 40);
  const named = form.below ? context.measureText(unit).width + 12 : 0;
  const x = form.below ? form.left + named : form.left + form.across + (form.hidden ? HIDDEN_WIDE + 26 : 14);
  const y = form.below ? form.top + form.down + 12 : form.top;
  const long = form.below ? form.across - named : Math.max(form.down, 96);
  const [wide, high] = form.below ? [long, BAR] : [BAR, long];
  const paint = form.below ? context.createLinearGradient(x, 0, x + long, 0) : context.createLinearGradient(0, y + long, 0, y);
  look.scale.forEach(([at, colour]) => paint.addColorStop(at, colour));
  context.fillStyle = paint;
  context.fillRect(x, y, wide, high);
  context.strokeStyle = look.muted;
  context.lineWidth = 1;
  context.strokeRect(x - 0.5, y - 0.5, wide + 1, high + 1);
  context.fillStyle = look.muted;
  context.textAlign = form.below ? "center" : "left";
  context.textBaseline = "middle";
  const spelled = (value) => String(Number(value.toPrecision(3)));
  const wideAs = (text) => (form.below ? context.measureText(text).width : 8);
  const write = (text, at) => (form.below ? context.fillText(text, x + at, y + BAR + 11) : context.fillText(text, x + BAR + 4, y + long - at));
  const top = spelled(scaleTop), clear = long - (form.below ? wideAs(top) : wideAs(top) / 2) - 8; // the upper end has its label
  let last = -Infinity;
  for (const value of ticks(scaleTop, view.lifted)) {
    const at = placeOf(value, scaleTop, view.lifted) * long, text = spelled(value);
    if (at - last < wideAs(text) + 8 || at + wideAs(text) / 2 > clear) continue;
    last = at;
    write(text, at);
  }
  if (form.below) context.textAlign = "right";
  write(top, long);
  context.textAlign = form.below ? "left" : "center";
  if (form.below) return context.fillText(unit, form.left, y + BAR / 2 + 1);
  context.save();
  context.translate(x + BAR + 36, y + long / 2);
  context.rotate(UPRIGHT);
  context.textBaseline = "bottom";
  context.fillText(unit, 0, 0);
  context.restore();
}

// Round values from 0 to the top: even steps, or, where small weights are lifted, denser towards 0.
function ticks(top, lifted) {
  const power = 10 ** Math.floor(Math.log10(top));
  const each = [0.1, 0.2, 0.5, 1, 2].map((step) => step * power).find((step) => top / step <= 6);
  if (!lifted) return Array.from({ length: Math.floor(top / each + 1e-9) + 1 }, (_, index) => index * each);
  const small = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5].map((step) => step * power);
  return [0, ...small.filter((value) => value <= top * (1 + 1e-9))];
}
