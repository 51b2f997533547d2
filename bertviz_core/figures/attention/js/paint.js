// Colours and pixels: every colour comes with the message.
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function mixed(stops, share) {
  const place = Math.min(Math.max(share, 0), 1);
  const after = Math.max(1, stops.findIndex(([at]) => at >= place));
  const [[low, from], [high, to]] = [stops[after - 1], stops[after]];
  const part = (place - low) / (high - low), one = rgb(from), other = rgb(to);
  return one.map((channel, index) => Math.round(channel + (other[index] - channel) * part));
}

const cssColour = (stops, share) => `rgb(${mixed(stops, share).join(" ")})`;

// Of two inks the one that is easier to read on a ground (WCAG 2.2, relative luminance).
function inkOn(ground, inks) {
  const light = (channels) => channels.reduce((sum, channel, index) => {
    const share = channel / 255;
    return sum + [0.2126, 0.7152, 0.0722][index] * (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
  }, 0.05);
  const contrast = (ink) => Math.max(light(rgb(ink)), light(ground)) / Math.min(light(rgb(ink)), light(ground));
  return inks.reduce((best, ink) => (contrast(ink) > contrast(best) ? ink : best));
}

// The position of a weight on the scale of colours, 0 to 1: the weight itself, or its root, which lifts small weights.
const placeOf = (weight, top, lifted) => {
  const share = Math.min(weight / (top || 1), 1);
  return lifted ? Math.sqrt(share) : share;
};

// One 32-bit pixel for each of 256 steps of code.
function shades(stops, picture, top, lifted) {
  const table = new Uint32Array(256);
  for (let step = 0; step < 256; step++) {
    const [red, green, blue] = mixed(stops, placeOf(picture.scale * (step / 255) ** 2, top, lifted));
    table[step] = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }
  return table;
}

// First and last block that each pixel of an axis shows; where blocks are narrower than pixels, none is left out.
function spans(edges, low, high, pixels) {
  const first = new Int32Array(pixels), last = new Int32Array(pixels);
  const per = (high - low) / pixels;
  for (let pixel = 0; pixel < pixels; pixel++) {
    if (per <= 1) {
      first[pixel] = last[pixel] = blockAt(edges, low + (pixel + 0.5) * per);
    } else {
      first[pixel] = blockAt(edges, low + pixel * per);
      last[pixel] = Math.max(first[pixel], blockAt(edges, low + (pixel + 1) * per - 1e-9));
    }
  }
  return { first, last, pixels };
}

// The largest weight below each pixel, as its colour, into a larger picture.
function fill(target, stride, left, top, picture, rows, columns, table) {
  const { codes, columns: width } = picture, shift = picture.bits - 8;
  for (let y = 0; y < rows.pixels; y++) {
    const line = (top + y) * stride + left;
    if (y > 0 && rows.first[y] === rows.first[y - 1] && rows.last[y] === rows.last[y - 1]) {
      target.copyWithin(line, line - stride, line - stride + columns.pixels);
      continue;
    }
    for (let x = 0; x < columns.pixels; x++) {
      let most = 0;
      for (let row = rows.first[y]; row <= rows.last[y]; row++) {
        const end = row * width + columns.last[x];
        for (let at = row * width + columns.first[x]; at <= end; at++) if (codes[at] > most) most = codes[at];
      }
      target[line + x] = table[most >> shift];
    }
  }
}

// A canvas of the requested size on the screen, sharp on every display.
function fitted(canvas, width, height) {
  const enlarged = Number(getComputedStyle(canvas).getPropertyValue("--enlarged")) || 1; // by the presenter's frame
  const ratio = (globalThis.devicePixelRatio || 1) * enlarged;
  const size = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, ratio };
}

function made(name, className, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

const number = (value, digits) => value.toFixed(digits);
const tokenName = (axis, index) => `${axis.labels[index]}`;

// What an axis entry, or a block of several, is called in a sentence.
function blockName(axis, edges, block) {
  const [low, high] = [edges[block], edges[block + 1]];
  return high - low === 1 ? `${low} ${tokenName(axis, low)}` : `${low} to ${high - 1}`;
}

function cut(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = text.length - 1;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return `${text.slice(0, end)}…`;
}
