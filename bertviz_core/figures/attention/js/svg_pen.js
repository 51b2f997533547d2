// Draws what a canvas draws as SVG, so that one drawing is both the picture on the page and the file that is taken away.
const MOST_SQUARES = 20000;

class SvgPen {
  constructor(measuring) {
    this.measuring = measuring;
    this.parts = [];
    this.saved = [];
    this.gradients = 0;
    Object.assign(this, {
      fillStyle: "", strokeStyle: "", lineWidth: 1, lineCap: "butt", globalAlpha: 1, font: "14px sans-serif",
      textAlign: "left", textBaseline: "alphabetic", dashes: [], transform: "", path: "",
    });
  }

  save() {
    const { fillStyle, strokeStyle, lineWidth, lineCap, globalAlpha, font, textAlign, textBaseline, dashes, transform } = this;
    this.saved.push({ fillStyle, strokeStyle, lineWidth, lineCap, globalAlpha, font, textAlign, textBaseline, dashes, transform });
  }

  restore() { Object.assign(this, this.saved.pop()); }

  translate(x, y) { this.transform += `translate(${short(x)} ${short(y)})`; }

  rotate(angle) { this.transform += `rotate(${short((angle * 180) / Math.PI)})`; }

  setLineDash(dashes) { this.dashes = dashes; }

  measureText(text) {
    this.measuring.font = this.font;
    return this.measuring.measureText(text);
  }

  beginPath() { this.path = ""; }

  moveTo(x, y) { this.path += `M${short(x)} ${short(y)}`; }

  lineTo(x, y) { this.path += `L${short(x)} ${short(y)}`; }

  bezierCurveTo(...places) { this.path += `C${places.map(short).join(" ")}`; }

  stroke() { this.put("path", { d: this.path, fill: "none", ...this.line() }); }

  strokeRect(x, y, width, height) { this.put("rect", { x, y, width, height, fill: "none", ...this.line() }); }

  fillRect(x, y, width, height) { this.put("rect", { x, y, width, height, fill: this.paint(), ...this.pale() }); }

  fillText(text, x, y) {
    const [, italic, size, family] = this.font.match(/^(italic )?([\d.]+)px (.*)$/);
    const down = { top: 0.8, middle: 0.35, bottom: -0.2 }[this.textBaseline] ?? 0;
    this.put("text", {
      x, y: y + down * Number(size), "font-family": family, "font-size": size, "font-style": italic ? "italic" : null,
      "text-anchor": { center: "middle", right: "end" }[this.textAlign] ?? null, fill: this.paint(), ...this.pale(),
      "xml:space": "preserve",
    }, text);
  }

  createLinearGradient(x1, y1, x2, y2) {
    const stops = [];
    return { stops, ends: { x1, y1, x2, y2 }, addColorStop: (offset, colour) => stops.push([offset, colour]) };
  }

  // Squares of one size, given by their colours row by row; equal neighbours of a row are one.
  squares(colours, columns, x, y, wide, high) {
    const rows = colours.length / columns;
    for (let row = 0; row < rows; row++) for (let column = 0, end; column < columns; column = end) {
      const colour = colours[row * columns + column];
      for (end = column + 1; end < columns && colours[row * columns + end] === colour;) end += 1;
      this.put("rect", {
        x: x + column * wide, y: y + row * high, width: (end - column) * wide, height: high,
        fill: hexOf(colour), "shape-rendering": "crispEdges",
      });
    }
  }

  image(address, x, y, width, height) {
    this.put("image", { href: address, x, y, width, height, preserveAspectRatio: "none", style: "image-rendering:pixelated" });
  }

  paint() {
    if (!this.fillStyle.stops) return this.fillStyle;
    const id = `scale${this.gradients++}`, { x1, y1, x2, y2 } = this.fillStyle.ends;
    const stops = this.fillStyle.stops.map(([offset, colour]) => `<stop offset="${short(offset)}" stop-color="${colour}"/>`);
    const ends = `x1="${short(x1)}" y1="${short(y1)}" x2="${short(x2)}" y2="${short(y2)}"`;
    this.parts.push(`<linearGradient id="${id}" gradientUnits="userSpaceOnUse" ${ends}>${stops.join("")}</linearGradient>`);
    return `url(#${id})`;
  }

  pale() { return this.globalAlpha < 1 ? { opacity: short(this.globalAlpha) } : {}; }

  line() {
    const dashes = this.dashes.length ? { "stroke-dasharray": this.dashes.join(" ") } : {};
    return { stroke: this.strokeStyle, "stroke-width": short(this.lineWidth), "stroke-linecap": this.lineCap, ...dashes, ...this.pale() };
  }

  put(name, attributes, text) {
    const all = { ...attributes, transform: this.transform || null };
    const written = Object.entries(all).filter(([, value]) => value !== null && value !== undefined)
      .map(([key, value]) => ` ${key}="${marked(typeof value === "number" ? short(value) : value)}"`).join("");
    this.parts.push(text === undefined ? `<${name}${written}/>` : `<${name}${written}>${marked(text)}</${name}>`);
  }

  drawing(width, height, paper) {
    const size = `width="${width}" height="${height}"`;
    const space = new DOMParser().parseFromString("<svg>", "text/html").querySelector("svg").namespaceURI;
    return `<svg xmlns="${space}" ${size} viewBox="0 0 ${width} ${height}">` +
      `<rect ${size} fill="${paper}"/>${this.parts.join("")}</svg>`;
  }
}

const short = (number) => String(Math.round(number * 100) / 100);
const MARKS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
// What XML cannot hold at all is left out; the labels name control characters by their code already.
const marked = (text) => String(text).replace(/[^\t\n\r -\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "").replace(/[&<>"]/g, (mark) => MARKS[mark]);
const hexOf = (pixel) => `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;

// The cells of a map as a file holds them: squares where they are few, else an image of one pixel each.
function squaresOrImage(pen, picture, rows, columns, table, [x, y, wide, high]) {
  const pixels = new Uint32Array(rows.pixels * columns.pixels);
  fill(pixels, columns.pixels, 0, 0, picture, rows, columns, table);
  if (pixels.length <= MOST_SQUARES) return pen.squares(pixels, columns.pixels, x, y, wide / columns.pixels, high / rows.pixels);
  imageInto(pen, picture, rows, columns, table, [x, y, wide, high]);
}

function imageInto(pen, picture, rows, columns, table, [x, y, wide, high]) {
  const pixels = new Uint32Array(rows.pixels * columns.pixels);
  fill(pixels, columns.pixels, 0, 0, picture, rows, columns, table);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns.pixels, rows.pixels];
  canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), columns.pixels), 0, 0);
  pen.image(canvas.toDataURL("image/png"), x, y, wide, high);
}
