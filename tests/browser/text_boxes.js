// Draws a figure in a place of a width and says what is wrong with its words: which are cut, which lie on others.
const [FRAME, GAP] = [3, 4]; // most pixels between the colours of a bar and its frame, and least before the colours
const SLACK = 1; // pixels beyond an edge that nobody sees
const LARGEST = 15; // pixels of letters, but for a figure's own title
const INNER = 0.22; // share of a line's height, above and below, in which no letter without an accent stands

async function loaded(family) {
  await Promise.all([400, 600, 700].map((weight) => document.fonts.load(`${weight} 15px "${family}"`)));
}

async function faults(spec, width) {
  const place = document.createElement("div");
  place.style.width = `${width}px`;
  document.body.replaceChildren(place);
  await Plotly.newPlot(place, { ...spec, config: { staticPlot: true } });
  const area = place.getBoundingClientRect();
  const words = [...place.querySelectorAll("text")].filter(isSeen).map((node) => ({ node, text: node.textContent.trim(), corners: corners(node) }));
  const found = [];
  for (const each of words) {
    const beyond = Math.max(overflow(each.corners, area), clipped(each));
    if (beyond > SLACK) found.push(`cut by ${Math.round(beyond)} px: ${each.text}`);
    const beside = each.node.matches("[class*=title]:not(.gtitle, [class*=cb])");
    if (beside && parseFloat(getComputedStyle(each.node).fontSize) > LARGEST) found.push(`too large: ${each.text}`);
  }
  words.forEach((one, at) => words.slice(at + 1).forEach((other) => {
    if (meet(one.corners, other.corners)) found.push(`one on the other: ${one.text} | ${other.text}`);
  }));
  for (const bar of place.querySelectorAll(".colorbar")) found.push(...besideItsFrame(bar));
  Plotly.purge(place);
  return found;
}

// A colour bar that lies: its colours are in its frame, and its title stands before them.
function besideItsFrame(bar) {
  const [colours, frame, title] = [".cbfills > *", ".cboutline", ".cbtitle text"].map((each) => bar.querySelector(each)?.getBoundingClientRect());
  if (!colours || !frame || frame.width < frame.height) return [];
  const apart = Math.max(Math.abs(colours.left - frame.left), Math.abs(colours.right - frame.right));
  const faults = apart > FRAME ? [`colours ${Math.round(apart)} px beside their frame`] : [];
  const level = title && title.top < frame.bottom && frame.top < title.bottom;
  const text = bar.querySelector(".cbtitle text")?.textContent;
  return level && title.right + GAP > colours.left ? [...faults, `title at its bar: ${text}`] : faults;
}

function isSeen(node) {
  const style = getComputedStyle(node);
  const box = node.getBBox();
  return node.textContent.trim() && box.width && style.visibility === "visible" && style.display !== "none"
    && Number(style.opacity) && Number(style.fillOpacity) && node.checkVisibility({ opacityProperty: true });
}

// The box of what is seen of a text: blanks that keep a distance, at the end of a title, are none of it.
function inked(node) {
  const text = node.textContent;
  if (!text.includes("\u00a0\u00a0")) return node.getBBox();
  const boxes = [...text].flatMap((letter, at) => (letter.trim() ? [node.getExtentOfChar(at)] : []));
  const [left, top] = [Math.min(...boxes.map(({ x }) => x)), Math.min(...boxes.map(({ y }) => y))];
  const right = Math.max(...boxes.map(({ x, width }) => x + width));
  const bottom = Math.max(...boxes.map(({ y, height }) => y + height));
  return { x: left, y: top, width: right - left, height: bottom - top };
}

// The four corners on the screen of the box in which letters stand, turned as they are.
function corners(node) {
  const box = inked(node);
  const lines = Math.max(1, node.querySelectorAll("tspan.line").length);
  const inner = (INNER * box.height) / lines;
  const matrix = node.getScreenCTM();
  const at = (x, y) => new DOMPoint(x, y).matrixTransform(matrix);
  const [left, top, right, bottom] = [box.x, box.y + inner, box.x + box.width, box.y + box.height - inner];
  return [at(left, top), at(right, top), at(right, bottom), at(left, bottom)];
}

function overflow(points, area) {
  return Math.max(...points.map(({ x, y }) => Math.max(area.left - x, x - area.right, area.top - y, y - area.bottom)));
}

// Pixels by which words stand out of what shows them.
function clipped({ node, corners }) {
  let most = 0;
  for (let each = node; each.closest; each = each.parentNode) {
    const name = each.getAttribute("clip-path")?.match(/#([^'")]+)/)?.[1];
    const shape = name && document.getElementById(name)?.querySelector("rect");
    if (!shape) continue;
    const matrix = each.getScreenCTM();
    const [x, y, width, height] = ["x", "y", "width", "height"].map((size) => shape[size].baseVal.value);
    const [from, to] = [new DOMPoint(x, y), new DOMPoint(x + width, y + height)].map((end) => end.matrixTransform(matrix));
    most = Math.max(most, overflow(corners, { left: from.x, top: from.y, right: to.x, bottom: to.y }));
  }
  return most;
}

// Whether two turned boxes share any area: no line parts them.
function meet(one, other) {
  const axes = [one, other].flatMap((box) => [0, 1].map((at) => ({ x: box[at + 1].x - box[at].x, y: box[at + 1].y - box[at].y })));
  return axes.every((axis) => {
    const size = Math.hypot(axis.x, axis.y) || 1;
    const [[low, high], [from, to]] = [one, other].map((box) => {
      const places = box.map(({ x, y }) => (x * axis.x + y * axis.y) / size);
      return [Math.min(...places), Math.max(...places)];
    });
    return low + SLACK < to && from + SLACK < high;
  });
}
