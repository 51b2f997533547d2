// PNG and SVG of a chart that is on the page: its own drawing, with the caption below it and its words inside.
const SVG = "http://www.w3.org/2000/svg";

export default function ({ data, parentElement }) {
  const row = parentElement.querySelector(".images");
  row.replaceChildren(...Object.entries(data.formats).map(([label, format]) => {
    const button = Object.assign(document.createElement("button"), { textContent: label });
    Object.assign(button.dataset, { format, theme: data.theme, medium: data.medium });
    button.setAttribute("aria-label", `Download ${data.filename} as ${label.includes("PNG") ? label : format.toUpperCase()}`);
    button.onclick = async () => saved(data.look ? askedFor(data) : await charted(data), format, data);
    return button;
  }));
}

// The drawing of a chart that is on the page; null where there is none.
function charted(data) {
  const detail = { ...data, svg: null };
  document.dispatchEvent(new CustomEvent("chart:draw", { detail }));
  return detail.svg;
}

// The drawing of a view that draws itself; null where no view of this name is on the page.
function askedFor({ chart, look, font, medium }) {
  const part = chart.endsWith("_atlas") ? "atlas" : "head", name = chart.split("_")[0];
  const detail = { part, look, font, slide: medium === "slide", svg: null };
  document.dispatchEvent(new CustomEvent(`${name}:draw`, { detail }));
  return detail.svg;
}

async function saved(drawn, format, data) {
  if (!drawn) return;
  const picture = captioned(drawn, data, await typeface(data.family));
  const blob = new Blob([picture.text], { type: "image/svg+xml;charset=utf-8" });
  const name = data.medium ? `${data.filename}-${data.medium}` : data.filename;
  save(format === "svg" ? blob : await painted(blob, picture, data), `${name}.${format}`);
}

// The rule of a style sheet that brings the page's own typeface along; "" where the page has it from elsewhere.
async function typeface(family) {
  const own = [...document.styleSheets].filter((sheet) => !sheet.href || new URL(sheet.href).origin === location.origin);
  const rules = own.flatMap((sheet) => [...sheet.cssRules].map((rule) => [rule, sheet]));
  const found = rules.find(([rule]) => rule instanceof CSSFontFaceRule && rule.style.fontStyle !== "italic"
    && rule.style.fontFamily.replaceAll('"', "") === family);
  const address = found && /url\("?([^")]+)/.exec(found[0].style.src)?.[1];
  if (!address) return "";
  const file = await (await fetch(new URL(address, found[1].href ?? document.baseURI))).blob();
  const inside = await new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(file);
  });
  return `@font-face{font-family:'${family}';font-weight:200 900;src:url(${inside}) format('woff2')}`;
}

// The drawing as bertviz_core/figures/base/export.py lays it out: its title in bold, the picture, one grey line of its
// sources, and what it shows in words.
function captioned(drawn, data, face) {
  const { letters, line, edge, heading, high, most, wide } = data.sizes;
  const inner = new DOMParser().parseFromString(drawn, "image/svg+xml").documentElement;
  const own = { width: parseFloat(inner.getAttribute("width")), height: parseFloat(inner.getAttribute("height")) };
  const cut = withoutTitle(inner, data.sizes), tall = own.height - cut, slide = data.medium === "slide";
  const full = slide ? wide : data.look ? data.width : 0, width = full || own.width;
  const heads = wrapped(data.title, width - 2 * edge, `600 ${heading}px ${data.font}`);
  const lines = wrapped(data.caption, width - 2 * edge, `${letters}px ${data.font}`);
  const top = high * heads.length + edge / 2, bottom = line * lines.length + edge;
  const [across, down] = data.sizes.slide, room = (width * down) / across - top - bottom;
  const scale = slide ? Math.min(width / own.width, room / tall) : full ? Math.min(full / own.width, data.medium === "column" ? Infinity : (most * full) / tall) : 1;
  const whole = slide ? top + room + bottom : top + scale * tall + bottom;
  const root = element("svg", { width, height: whole, viewBox: `0 0 ${width} ${whole}`, role: "img" });
  root.append(
    element("title", {}, data.title),
    element("desc", {}, data.alt ? `${data.alt.replace(/\.$/, "")}. ${data.caption}` : data.caption),
    element("style", {}, face),
    element("rect", { width, height: whole, fill: data.paper }),
  );
  const from = [(width - scale * own.width) / 2, top + (whole - top - bottom - scale * tall) / 2 - scale * cut];
  const place = element("g", { transform: `translate(${from.join(" ")}) scale(${scale})` });
  place.append(document.importNode(inner, true));
  root.append(place, written(heads, heading, high, 0, data.text, 600, data), written(lines, letters, line, whole - bottom - 6, data.muted, 400, data));
  const size = sized(root, width, whole, data);
  return { text: new XMLSerializer().serializeToString(root), ...size, words: root.children[1].textContent };
}

// A drawing by plotly loses its title; how many pixels at its top are then empty.
function withoutTitle(drawing, { above, title }) {
  const own = drawing.querySelector(".g-gtitle");
  if (!own?.querySelector("text")) return 0;
  own.remove();
  return above + 1.3 * title * Math.max(own.querySelectorAll(".line").length, 1);
}

// Lines of text below a place.
function written(lines, letters, high, top, fill, weight, { font, sizes }) {
  const text = element("text", { "font-family": font, "font-size": letters, "font-weight": weight, fill });
  lines.forEach((words, index) => {
    text.append(element("tspan", { x: sizes.edge, y: top + high * (index + 1) }, words));
  });
  return text;
}

// The size of the medium: a slide, or a column of a paper. What is painted has pixels.
function sized(root, width, height, { medium, sizes }) {
  const [across, down] = sizes.slide, { column } = sizes;
  const size = medium === "slide" ? { width: across, height: down } : { width, height };
  const stated = medium === "column" ? { width: `${column}mm`, height: `${(column * height) / width}mm` } : size;
  for (const [name, value] of Object.entries(stated)) root.setAttribute(name, value);
  return size;
}

function element(name, attributes, words = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = words;
  return made;
}

// Lines that fit a width; a word longer than a line is broken.
function wrapped(text, width, font) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = font;
  const lines = [""];
  const fits = (words) => pen.measureText(words).width <= width;
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (fits(longer)) {
      lines[lines.length - 1] = longer;
      continue;
    }
    if (lines.at(-1)) lines.push("");
    for (const letter of word) {
      if (!fits(lines.at(-1) + letter)) lines.push("");
      lines[lines.length - 1] += letter;
    }
  }
  return lines;
}

async function painted(drawing, picture, data) {
  const address = URL.createObjectURL(drawing);
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    const scale = data.medium === "slide" ? 1 : Math.max(data.sizes.scale, data.sizes.png / picture.width);
    canvas.width = Math.round(picture.width * scale);
    canvas.height = Math.round(picture.height * scale);
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    return described(new Uint8Array(await blob.arrayBuffer()), picture.words);
  } finally {
    URL.revokeObjectURL(address);
  }
}

// The image with a chunk "Description" behind its header (PNG specification, 11.3.4.5, iTXt).
function described(png, words) {
  const content = new TextEncoder().encode(`iTXtDescription\0\0\0\0\0${words}`);
  const chunk = new Uint8Array(content.length + 8);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, content.length - 4);
  chunk.set(content, 4);
  view.setUint32(content.length + 4, crc(content));
  return new Blob([png.slice(0, 33), chunk, png.slice(33)], { type: "image/png" });
}

function crc(bytes) {
  let rest = 0xffffffff;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  }
  return (rest ^ 0xffffffff) >>> 0;
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click(); // outside of the page, which a click in it would make close what the button is in
  URL.revokeObjectURL(link.href);
}
