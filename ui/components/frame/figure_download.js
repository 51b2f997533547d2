// PNG and SVG of a chart that is on the page: its own drawing, with the caption below it and its words inside.
const SVG = "http://www.w3.org/2000/svg";

export default function ({ data, parentElement }) {
  for (const format of ["png", "svg"]) {
    const button = parentElement.querySelector(`[data-format=${format}]`);
    button.dataset.theme = data.theme;
    button.dataset.medium = data.medium;
    button.setAttribute("aria-label", `Download ${data.filename} as ${format.toUpperCase()}`);
    button.onclick = async () => saved(data.look ? askedFor(data) : await charted(data), format, data);
  }
}

// The drawing of a chart that is on the page; null where there is none.
function charted(data) {
  const detail = { ...data, svg: null };
  document.dispatchEvent(new CustomEvent("chart:draw", { detail }));
  return detail.svg;
}

// The drawing of a view that draws itself; null where no view of this name is on the page.
function askedFor({ chart, look, font }) {
  const part = chart.endsWith("_atlas") ? "atlas" : "head";
  const detail = { part, look, font, svg: null };
  document.dispatchEvent(new CustomEvent("attention:draw", { detail }));
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

// The drawing, its caption below in as many lines as it needs, on a slide its texts above, and what it shows in words.
function captioned(drawn, data, face) {
  const { letters, line, edge } = data.sizes;
  const inner = new DOMParser().parseFromString(drawn, "image/svg+xml").documentElement;
  const width = parseFloat(inner.getAttribute("width"));
  const height = parseFloat(inner.getAttribute("height"));
  const { heading, high } = data.sizes;
  const lines = wrapped(data.below, width - 2 * edge, `${letters}px ${data.font}`);
  const above = data.heading ? wrapped(data.heading, width - 2 * edge, `${heading}px ${data.font}`) : [];
  const top = above.length ? high * above.length + edge : 0;
  const whole = top + height + line * lines.length + edge;
  const root = element("svg", { width, height: whole, viewBox: `0 0 ${width} ${whole}`, role: "img" });
  root.append(
    element("title", {}, data.title),
    element("desc", {}, data.alt ? `${data.alt.replace(/\.$/, "")}. ${data.caption}` : data.caption),
    element("style", {}, face),
    element("rect", { width, height: whole, fill: data.paper }),
  );
  const place = element("g", top ? { transform: `translate(0 ${top})` } : {});
  place.append(document.importNode(inner, true));
  root.append(place, ...(top ? [written(above, heading, high, 0, data)] : []));
  root.append(written(lines, letters, line, top + height - 6, data));
  const size = sized(root, width, whole, data);
  return { text: new XMLSerializer().serializeToString(root), ...size, words: root.children[1].textContent };
}

// Lines of text below a place.
function written(lines, letters, high, top, { font, text: fill, sizes }) {
  const text = element("text", { "font-family": font, "font-size": letters, fill });
  lines.forEach((words, index) => {
    text.append(element("tspan", { x: sizes.edge, y: top + high * (index + 1) }, words));
  });
  return text;
}

// The size of the medium, as bertviz_core/figures/base/export.py has it: a slide with the drawing in its middle, as large
// as fits, or a column of a paper. What is painted has pixels.
function sized(root, width, height, { medium, paper, sizes }) {
  const put = (node, attributes) => Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  if (medium === "column") put(root, { width: `${sizes.column}mm`, height: `${(sizes.column * height) / width}mm` });
  if (medium !== "slide") return { width, height };
  const [across, down] = sizes.slide, whole = Math.max(width, (height * across) / down), tall = (whole * down) / across;
  const place = { x: (width - whole) / 2, y: (height - tall) / 2, width: whole, height: tall };
  put(root, { width: across, height: down, viewBox: Object.values(place).join(" ") });
  root.querySelector("style").after(element("rect", { ...place, fill: paper }));
  return { width: across, height: down };
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
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(link.href);
}
