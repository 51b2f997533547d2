// One head as a map: queries down, keys across, each row a distribution.
const STAGE_HEIGHT = 470, LINE = 16, SLANT = Math.PI / 4, LONGEST = 104, TICK = 13, BAR = 12, HIDDEN_WIDE = 32, NUMBERED = 32;
const LEAST_HIDDEN = 0.0005; // below, it is the rounding of a sum

const tokenFont = (view, italic) => `${italic ? "italic " : ""}${TICK}px ${view.fonts.code}`;
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

function mapGeometry(view, shown) {
  const { picture, q0, q1, k0, k1 } = shown, { context } = view.measuring, { atlas } = view.store;
  const width = Math.max(view.parts.mapBox.clientWidth, 240);
  context.font = tokenFont(view);
  const rows = labelsOf(view, atlas.queries, picture.rowEdges, q0, q1);
  const columns = labelsOf(view, atlas.keys, picture.columnEdges, k0, k1);
  const longest = (labels) => labels.slice(0, 600).reduce((most, { text }) => Math.max(most, context.measureText(text).width), 0);
  const wide = Math.min(longest(rows), LONGEST), high = Math.min(longest(columns), LONGEST);
  const left = Math.max(wide, 42) + 8, hidden = picture.hidden?.some((share) => share > LEAST_HIDDEN) ?? false;
  const right = 80 + (hidden ? HIDDEN_WIDE + 18 : 0);
  const sized = (top) => Math.min((width - left - right) / (k1 - k0), (STAGE_HEIGHT - top - 6) / (q1 - q0), 64);
  let slanted = false, top = 2 * LINE + 10, cell = sized(top);
  if (cell * (k1 - k0) / columns.length < longest(columns) + 8) {
    slanted = true;
    top = LINE + 6 + high * Math.sin(SLANT) + 16;
    cell = sized(top);
  }
  if (cell >= 6) cell = Math.floor(cell);
  const across = cell * (k1 - k0), down = cell * (q1 - q0);
  return { width, left, top, cell, across, down, slanted, hidden, rows, columns, wide, ...shown };
}

function paintMap(view) {
  const shown = shownMap(view), { picture } = shown, { atlas } = view.store;
  const form = (view.map = mapGeometry(view, shown));
  const { context, ratio } = fitted(view.parts.map, form.width, STAGE_HEIGHT);
  const top = view.own ? peakOf(picture) : Math.max(atlas.scale, picture.scale);
  form.scaleTop = top;
  const table = shades(view.look.scale, picture, top, view.lifted);
  const wide = Math.max(1, Math.round(form.across * ratio)), high = Math.max(1, Math.round(form.down * ratio));
  const image = context.createImageData(wide, high);
  const rows = spans(picture.rowEdges, form.q0, form.q1, high), columns = spans(picture.columnEdges, form.k0, form.k1, wide);
  fill(new Uint32Array(image.data.buffer), wide, 0, 0, picture, rows, columns, table);
  context.putImageData(image, Math.round(form.left * ratio), Math.round(form.top * ratio));
  context.strokeStyle = view.look.muted;
  context.lineWidth = 1;
  context.strokeRect(form.left - 0.5, form.top - 0.5, form.across + 1, form.down + 1);
  if (form.cell >= NUMBERED && picture.exact) writeNumbers(view, context, form);
  nameAxes(view, context, form);
  if (form.hidden) paintHidden(view, context, form);
  colourBar(view, context, form);
  paintOver(view);
  const { stage } = view.parts;
  stage.dataset.shown = view.opened.join(".");
  stage.dataset.full = String(!shown.wanting);
  say(view);
}

function writeNumbers(view, context, form) {
  const { picture, q0, q1, k0, k1, cell } = form;
  for (let query = q0; query < q1; query++) for (let key = k0; key < k1; key++) {
    const value = mapValue(picture, query, key);
    writeNumber(view, context, form, value, form.left + (key - k0 + 0.5) * cell, form.top + (query - q0 + 0.5) * cell);
  }
}

function writeNumber(view, context, form, value, x, y) {
  const text = number(value, form.scaleTop >= 10 ? 1 : 2).replace(/^0\./, ".");
  if (Number(text) === 0) return;
  const ground = mixed(view.look.scale, placeOf(value, form.scaleTop, view.lifted));
  context.font = wordFont(view, TICK);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = inkOn(ground, [view.look.text, view.look.paper]);
  context.fillText(text, x, y + 1);
}

const mapValue = (picture, query, key) =>
  valueAt(picture, blockAt(picture.rowEdges, query), blockAt(picture.columnEdges, key));

function nameAxes(view, context, form) {
  const { look } = view;
  context.fillStyle = look.muted;
  context.font = wordFont(view);
  context.textBaseline = "top";
  context.textAlign = "left";
  context.fillText("key", form.left, 0);
  context.textAlign = "right";
  context.fillText("query", form.left - 6, form.top - 28);

  const write = (label, width) => {
    context.font = tokenFont(view, label.special);
    context.fillStyle = label.special ? look.muted : look.text;
    return cut(context, label.text, width);
  };
  context.textBaseline = "middle";
  context.textAlign = "right";
  const per = form.down / form.rows.length;
  thinned(form.rows, Math.ceil(LINE / per)).forEach((label) => {
    const y = form.top + (label.middle - form.q0) * form.cell;
    context.fillText(write(label, form.wide), form.left - 6, y + 0.5);
  });
  const wide = form.across / form.columns.length;
  const every = form.slanted ? Math.ceil(LINE / Math.sin(SLANT) / wide) : 1;
  context.textAlign = form.slanted ? "left" : "center";
  thinned(form.columns, every).forEach((label) => {
    const x = form.left + (label.middle - form.k0) * form.cell;
    const text = write(label, LONGEST);
    context.save();
    context.translate(x + (form.slanted ? 2 : 0), form.top - (form.slanted ? 7 : 12));
    if (form.slanted) context.rotate(-SLANT);
    context.fillText(text, 0, 0);
    context.restore();
  });
}

const thinned = (labels, every) => labels.filter((_, index) => index % Math.max(1, every) === 0);

// What of each row lies on keys that are not shown.
function paintHidden(view, context, form) {
  const x = form.left + form.across + 12, wide = form.cell >= NUMBERED ? HIDDEN_WIDE : 16;
  for (let query = form.q0; query < form.q1; query++) {
    context.fillStyle = cssColour(view.look.scale, placeOf(form.picture.hidden[query], form.scaleTop, view.lifted));
    const y = form.top + (query - form.q0) * form.cell;
    context.fillRect(x, y, wide, form.cell + 0.5);
    if (form.cell >= NUMBERED) writeNumber(view, context, form, form.picture.hidden[query], x + wide / 2, y + form.cell / 2);
  }
  context.strokeStyle = view.look.muted;
  context.strokeRect(x - 0.5, form.top - 0.5, wide + 1, form.down + 1);
  context.save();
  context.fillStyle = view.look.muted;
  context.font = wordFont(view, TICK);
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.translate(x + wide / 2, form.top - 7);
  context.rotate(-SLANT);
  context.fillText("hidden", 0, 0);
  context.restore();
}

// The scale in the unit of the weights, beside the map.
function colourBar(view, context, form) {
  const x = form.left + form.across + (form.hidden ? HIDDEN_WIDE + 30 : 16), high = Math.max(form.down, 96), { look } = view;
  const paint = context.createLinearGradient(0, form.top + high, 0, form.top);
  look.scale.forEach(([at, colour]) => paint.addColorStop(at, colour));
  context.fillStyle = paint;
  context.fillRect(x, form.top, BAR, high);
  context.strokeStyle = look.muted;
  context.strokeRect(x - 0.5, form.top - 0.5, BAR + 1, high + 1);
  context.fillStyle = look.muted;
  context.font = wordFont(view, TICK);
  context.textAlign = "left";
  context.textBaseline = "middle";
  let above = Infinity;
  for (const value of ticks(form.scaleTop, view.lifted)) {
    const y = form.top + high * (1 - placeOf(value, form.scaleTop, view.lifted));
    if (above - y < LINE) continue;
    above = y;
    context.fillText(String(Number(value.toPrecision(3))), x + BAR + 4, y);
  }
  context.save();
  context.translate(x + BAR + 36, form.top + high / 2);
  context.rotate(Math.PI / 2);
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.fillText(cut(context, view.unit, high + 40), 0, 0);
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
