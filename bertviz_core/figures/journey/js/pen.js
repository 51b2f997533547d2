// Elements of the drawing: everything is SVG with its attributes written out, so that a saved file needs no style sheet.
const NS = "http://www.w3.org/2000/svg", SIZE = 14;
const FONT = 'Source Sans, "Source Sans 3", "Helvetica Neue", Arial, sans-serif', MONO = 'Source Code Pro, Consolas, Menlo, monospace';

function el(name, attributes = {}, ...children) {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  node.append(...children.filter(Boolean));
  return node;
}

const ruler = document.createElement("canvas").getContext("2d");

function textWidth(text, size = SIZE, weight = 400, family = FONT) {
  ruler.font = `${weight} ${size}px ${family}`;
  return ruler.measureText(text).width;
}

// As much of a text as there is room for.
function cut(text, room, size = SIZE, weight = 400, family = FONT) {
  if (textWidth(text, size, weight, family) <= room) return text;
  const signs = Array.from(text);
  while (signs.length > 1 && textWidth(`${signs.join("")}…`, size, weight, family) > room) signs.pop();
  if (shortened.size > 999) shortened.clear();
  shortened.set(`${signs.join("")}…`, text);
  return `${signs.join("")}…`;
}

const shortened = new Map(); // what was cut last -> the whole text, for the label that is made of it

// The first wording that fits, or as much as fits of the last.
const fitting = (forms, room, weight) => forms.find((each) => textWidth(each, SIZE, weight) <= room) ?? cut(forms.at(-1), room, SIZE, weight);

function label(view, text, x, y, { size = SIZE, weight = 400, anchor = "start", fill, family, className = "label", rotate, italic, struck, halo } = {}) {
  const node = el("text", {
    x, y, "font-size": size, "font-weight": weight, "text-anchor": anchor, fill: fill ?? view.look.text, "font-family": family ?? FONT,
    class: className, transform: rotate ? `rotate(${rotate} ${x} ${y})` : null, "font-style": italic ? "italic" : null,
    "text-decoration": struck ? "line-through" : null, ...(halo ? { "paint-order": "stroke", stroke: view.look.paper, "stroke-width": 4 } : {}),
  });
  node.textContent = text;
  const whole = shortened.get(text);
  return whole ? tipped(node, () => whole) : node;
}

const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

function colourAt(scale, share) {
  const place = Math.min(Math.max(share, 0), 1);
  let at = 1;
  while (at < scale.length - 1 && scale[at][0] < place) at++;
  const [from] = scale[at - 1], [to] = scale[at], part = (place - from) / (to - from);
  const known = (scale.channels ??= scale.map(([, colour]) => channels(colour))), one = known[at - 1], other = known[at];
  return one.map((channel, index) => Math.round(channel + part * (other[index] - channel)));
}

const css = (rgb) => `rgb(${rgb.join(",")})`;

function inkOn(rgb) {
  const [red, green, blue] = rgb.map((each) => (each / 255 <= 0.04045 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4));
  const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}

// Cells as one picture, a pixel each; colour(row, column) gives red, green, blue.
function picture(rows, columns, colour, place) {
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows), { data } = image;
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      [data[at++], data[at++], data[at++]] = colour(row, column);
      data[at++] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return el("image", { ...place, href: canvas.toDataURL(), preserveAspectRatio: "none", "image-rendering": "pixelated" });
}

// A picture of received numbers, encoded once: encoding takes longer than all other drawing.
function cachedPicture(holder, name, make, place) {
  const made = (holder.pictures ??= new Map());
  if (!made.has(name)) made.set(name, make());
  const node = made.get(name).cloneNode();
  for (const [key, value] of Object.entries(place)) node.setAttribute(key, value);
  return node;
}

// A vector as coloured bins: blue below 0, vermilion above; 0 is the paper.
function strip(view, values, scale, place, { words, cache = [{}, ""], ...bins } = {}) {
  const limit = scale || 1, [holder, name] = cache, colour = (_, at) => colourAt(view.look.signed, 0.5 + values[at] / limit / 2);
  const image = cachedPicture(holder, `${view.look.name} ${name}`, () => picture(1, values.length, colour, {}), place);
  const node = el("g", { class: "strip" }, image, el("rect", { ...place, fill: "none", stroke: view.look.muted, "stroke-width": 0.75, rx: 2 }));
  return tipped(node, (event) => {
    const at = partAt(node, event, values.length, "x");
    return `${binWords(values, at, bins)}${words ? ` = ${words(at)}` : ""}`;
  });
}

// A token's vector at an entry of hidden_states.
function stateStrip(view, entry, token, place) {
  const strips = view.strips(), { values, levels, scale, edges, shape: [, seq, bins] } = strips, from = (entry * seq + token) * bins;
  return strip(view, values.subarray(from, from + bins), levels, place, { width: edges.at(-1), unit: scale / levels, cache: [strips, from] });
}

const peak = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;

// A vector of any width in at most so many bins: the value of largest magnitude in each, its sign cache.
function binned(values, most = 64) {
  const count = Math.min(most, values.length);
  return Array.from({ length: count }, (_, bin) => {
    let best = 0;
    for (let at = Math.floor((bin * values.length) / count); at < Math.floor(((bin + 1) * values.length) / count); at++) {
      if (Math.abs(values[at]) > Math.abs(best)) best = values[at];
    }
    return best;
  });
}

const minus = (text) => text.replace("-", "−");
const fixed = (value, digits = 3) => (Number.isNaN(value) ? "–" : minus(value.toFixed(digits).replace(/^-(?=[0.]*$)/, ""))); // no −0
const short = (value) => minus(Math.abs(value) >= 1000 ? value.toPrecision(4) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(3));

// Something that opens, for pointer and keyboard.
function button(node, name, act, pressed) {
  node.setAttribute("role", "button");
  node.setAttribute("tabindex", "0");
  node.setAttribute("aria-label", name);
  node.dataset.name = name;
  if (pressed !== undefined) node.setAttribute("aria-pressed", String(pressed));
  node.style.cursor = "pointer";
  node.addEventListener("click", (event) => { event.stopPropagation(); act(); });
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  return node;
}
