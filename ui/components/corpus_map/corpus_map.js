// The rows of a corpus as a map: counts per cell as the server made them for a window, single rows where they are few.
// While the server makes those of another window, what is there is moved and stretched. Texts enter through textContent.
const HELP = "Arrow keys move the map, plus and minus zoom, 0 shows all of it, B selects what is visible.";
const QUIET_MS = 120, STEP = 0.25, ZOOM = 1.6, NEAR = 8, FINGER = 24, LEAST = 1e-5, MOST = 4, MOST_CORNERS = 200;

const made = (tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

function decode(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const rest = bytes.slice(4 + length);
  const [columns, rows] = header.size, cells = columns * rows, points = header.points;
  let at = 0;
  const take = (count) => rest.subarray(at, (at += count));
  header.levels = take(cells);
  header.cellGroups = header.groups.length ? take(cells) : null;
  header.places = new Float32Array(rest.slice(at, (at += 8 * points)).buffer);
  header.pointGroups = header.groups.length ? take(points) : null;
  return header;
}

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const mixed = (one, other, share) => one.map((value, at) => Math.round(value + (other[at] - value) * share));

// The colour of every level from 0 to 255, of the scale or of a group: a level above 0 is always told from the ground.
function ramps(header) {
  const paper = rgb(header.look.paper);
  const levels = Array.from({ length: 256 }, (_, level) => level / 255);
  if (header.groups.length)
    return header.groups.map(({ colour }) => levels.map((share) => mixed(paper, rgb(colour), share ? 0.3 + 0.7 * share : 0)));
  const stops = header.look.scale;
  return [levels.map((share) => {
    const target = share ? 0.15 + 0.85 * share : 0;
    const after = Math.max(1, stops.findIndex(([place]) => place >= target));
    const [low, from] = stops[after - 1], [high, to] = stops[after];
    return mixed(rgb(from), rgb(to), (target - low) / (high - low));
  })];
}

function picture(header) {
  const [columns, rows] = header.size, canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows), colours = ramps(header);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const from = row * columns + column, to = 4 * ((rows - 1 - row) * columns + column);  // up is more
      const level = header.levels[from];
      if (!level) continue;
      const colour = colours[header.cellGroups ? header.cellGroups[from] : 0][level];
      image.data.set([...colour, 255], to);
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".corpus-map");
  const view = (root.view ??= build(root));
  view.say = (message) => setStateValue("message", message);
  const header = decode(data);
  const same = view.header?.identity === header.identity;
  view.header = header;
  view.picture = picture(header);
  dress(view);
  if (!same) {
    view.region = null;
    view.target = [...header.window];
  } else if (!view.dragging && header.answers >= view.serial) view.target = [...header.window];
  if (!view.dragging && header.answers >= view.serial) view.region = header.region;
  view.stage.setAttribute("aria-label", `${header.label}. ${HELP}`);
  view.legend.replaceChildren(...header.groups.map(({ name, colour }) => {
    const item = made("li"), mark = made("span");
    mark.style.setProperty("--mark", colour);
    item.append(mark, name);
    return item;
  }));
  view.legend.hidden = !header.groups.length;
  draw(view);
}

function build(root) {
  const view = { root, serial: 0, mode: "move", target: null, window: null, region: null, path: null, header: null, timer: 0, dragging: false };
  const bar = made("div", "bar"), modes = made("div", "joined"), zooms = made("div", "joined"), takes = made("div", "joined");
  modes.setAttribute("role", "group");
  modes.setAttribute("aria-label", "Dragging");
  view.modes = [["move", "Move"], ["box", "Box"], ["lasso", "Lasso"]].map(([mode, word]) => button(modes, word, () => {
    view.mode = mode;
    draw(view);
  }, mode));
  button(zooms, "+", () => zoom(view, 1 / ZOOM)).setAttribute("aria-label", "Zoom in");
  button(zooms, "\u2212", () => zoom(view, ZOOM)).setAttribute("aria-label", "Zoom out");
  view.all = button(zooms, "Show all", () => whole(view));
  button(takes, "Select what is visible", () => takeSight(view));
  view.none = button(takes, "Clear", () => { view.region = null; report(view); });
  bar.append(modes, zooms, takes);
  view.stage = made("div", "stage");
  view.stage.tabIndex = 0;
  view.stage.setAttribute("role", "application");
  view.canvas = made("canvas");
  view.canvas.setAttribute("aria-hidden", "true");
  view.tip = made("div", "tip");
  view.tip.hidden = true;
  view.stage.append(view.canvas, view.tip);
  view.legend = made("ul", "legend");
  view.status = made("p", "status");
  view.status.setAttribute("role", "status");
  root.append(bar, view.stage, view.legend, view.status);
  listen(view);
  new ResizeObserver(() => { if (view.header) draw(view); }).observe(view.stage);
  return view;
}

function button(parent, word, act, value = "") {
  const element = made("button", "", word);
  element.type = "button";
  element.value = value;
  element.onclick = act;
  parent.append(element);
  return element;
}

function listen(view) {
  const { stage } = view, touch = fingers(view);
  let from = null;
  stage.onpointerdown = (event) => {
    if (event.button) return;
    stage.setPointerCapture(event.pointerId);
    if (touch(event)) return;
    from = { at: pixel(view, event), window: [...view.window] };
    view.dragging = true;
    if (view.mode !== "move") view.path = [place(view, from.at)];
  };
  stage.onpointermove = (event) => {
    const at = pixel(view, event);
    if (touch(event)) return;
    if (!from) { point(view, at); return; }
    if (view.mode === "move") {
      const [x0, x1, y0, y1] = from.window, wide = stage.clientWidth, high = stage.clientHeight;
      const right = ((from.at[0] - at[0]) / wide) * (x1 - x0), up = ((at[1] - from.at[1]) / high) * (y1 - y0);
      view.target = [x0 + right, x1 + right, y0 + up, y1 + up];
    } else if (view.mode === "box") view.path = corners(view.path[0], place(view, at));
    else if (view.path.length < MOST_CORNERS) view.path.push(place(view, at));
    draw(view);
  };
  stage.onpointerup = stage.onpointercancel = (event) => {
    if (touch(event) || !from) return;
    const moved = Math.hypot(...pixel(view, event).map((value, at) => value - from.at[at])) > 3;
    from = null;
    view.dragging = false;
    if (view.path && moved && view.path.length > 2) view.region = view.path;
    view.path = null;
    if (moved) report(view); else draw(view);
  };
  stage.onpointerleave = ({ pointerType }) => { if (pointerType === "mouse") view.tip.hidden = true; };
  // A second finger is the map's: without this the page would scroll.
  stage.addEventListener("touchmove", (event) => { if (event.touches.length > 1) event.preventDefault(); }, { passive: false });
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(view, Math.exp(Math.sign(event.deltaY) * 0.25), place(view, pixel(view, event)));
  }, { passive: false });
  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      ArrowLeft: () => shift(view, -STEP, 0), ArrowRight: () => shift(view, STEP, 0),
      ArrowUp: () => shift(view, 0, STEP), ArrowDown: () => shift(view, 0, -STEP),
      "+": () => zoom(view, 1 / ZOOM), "=": () => zoom(view, 1 / ZOOM), "-": () => zoom(view, ZOOM),
      0: () => whole(view), b: () => takeSight(view), B: () => takeSight(view),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
}

// Fingers on a map that is moved: one scrolls the page, and its tap shows a text; two move the map and zoom. Returns what
// takes an event and says whether it was theirs.
function fingers(view) {
  const held = new Map();
  let tap = null, pinch = null;
  const pair = () => {
    const [[x0, y0], [x1, y1]] = held.values();
    return { at: [(x0 + x1) / 2, (y0 + y1) / 2], apart: Math.max(1, Math.hypot(x1 - x0, y1 - y0)) };
  };
  return (event) => {
    const { type, pointerId } = event, at = pixel(view, event);
    if (type === "pointerdown" && event.pointerType !== "mouse" && view.mode === "move") {
      held.set(pointerId, at);
      tap = held.size === 1 ? at : null;
      if (held.size !== 2) return true;
      pinch = { ...pair(), window: [...view.window] };
      pinch.on = place(view, pinch.at);
      view.dragging = view.tip.hidden = true;
      return true;
    }
    if (!held.has(pointerId)) return false;
    if (type === "pointermove") {
      held.set(pointerId, at);
      if (!pinch) return true;
      const now = pair(), [x0, x1, y0, y1] = pinch.window, [left, right] = view.header.whole;
      const wide = Math.min(Math.max(((x1 - x0) * pinch.apart) / now.apart, (right - left) * LEAST), MOST * (right - left));
      const unit = wide / view.stage.clientWidth, high = ((y1 - y0) * wide) / (x1 - x0);
      const start = pinch.on[0] - now.at[0] * unit, top = pinch.on[1] + now.at[1] * unit;
      view.target = [start, start + wide, top - high, top];
      draw(view);
      return true;
    }
    held.delete(pointerId);
    if (pinch) {
      pinch = null;
      view.dragging = false;
      report(view);
    } else if (type === "pointerup" && tap && Math.hypot(at[0] - tap[0], at[1] - tap[1]) < NEAR) point(view, at, FINGER);
    return true;
  };
}

const corners = ([x0, y0], [x1, y1]) => [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
const shift = (view, across, up) => {
  const [x0, x1, y0, y1] = view.window, right = across * (x1 - x0), above = up * (y1 - y0);
  go(view, [x0 + right, x1 + right, y0 + above, y1 + above]);
};
const whole = (view) => go(view, [...view.header.whole]);
const isWhole = (view) => view.window.every((value, at) => Math.abs(value - fitted(view, view.header.whole)[at]) < 1e-9);

// The least window of the stage's shape around another: a unit is as long across as up.
function fitted({ stage }, [x0, x1, y0, y1]) {
  const unit = Math.min(stage.clientWidth / (x1 - x0), stage.clientHeight / (y1 - y0));
  const across = stage.clientWidth / unit / 2, up = stage.clientHeight / unit / 2;
  return [(x0 + x1) / 2 - across, (x0 + x1) / 2 + across, (y0 + y1) / 2 - up, (y0 + y1) / 2 + up];
}

// Whether the stage shows a part of the map of which the server sent nothing: its shape is not that of the window.
function lacking({ window, header }) {
  const slack = 1e-3 * (window[1] - window[0]);
  return [0, 1, 2, 3].some((at) => {
    const sign = at % 2 ? 1 : -1, edge = sign * Math.min(sign * window[at], sign * header.whole[at]);
    return sign * (edge - header.window[at]) > slack;
  });
}

function zoom(view, factor, around) {
  const [x0, x1, y0, y1] = view.window, [x, y] = around ?? [(x0 + x1) / 2, (y0 + y1) / 2];
  const [left, right] = view.header.whole, least = (right - left) * LEAST;
  const wide = (x1 - x0) * factor;
  if (wide < least || wide > MOST * (right - left)) return;
  go(view, [x + (x0 - x) * factor, x + (x1 - x) * factor, y + (y0 - y) * factor, y + (y1 - y) * factor]);
}

function takeSight(view) {
  const [x0, x1, y0, y1] = view.window;
  view.region = corners([x0, y0], [x1, y1]);
  report(view);
}

function go(view, window) {
  view.target = window;
  report(view);
}

// Reported after a pause, so that turning a wheel sends one request.
function report(view) {
  view.tip.hidden = true;
  view.serial += 1;
  draw(view);
  clearTimeout(view.timer);
  view.timer = setTimeout(() => {
    const shown = isWhole(view) ? view.header.whole : view.window;
    view.say({ identity: view.header.identity, serial: view.serial, window: shown, region: view.region });
  }, QUIET_MS);
}

function pixel(view, event) {
  const box = view.stage.getBoundingClientRect();
  const zoom = box.width / view.stage.offsetWidth || 1; // of the presenter's frame
  return [(event.clientX - box.left) / zoom - view.stage.clientLeft, (event.clientY - box.top) / zoom - view.stage.clientTop];
}

function place(view, [x, y]) {
  const [x0, x1, y0, y1] = view.window, { clientWidth, clientHeight } = view.stage;
  return [x0 + (x / clientWidth) * (x1 - x0), y1 - (y / clientHeight) * (y1 - y0)];
}

function onStage(view, [x, y]) {
  const [x0, x1, y0, y1] = view.window, { clientWidth, clientHeight } = view.stage;
  return [((x - x0) / (x1 - x0)) * clientWidth, ((y1 - y) / (y1 - y0)) * clientHeight];
}

function draw(view) {
  const { canvas, stage, header } = view, ratio = window.devicePixelRatio || 1;
  const wide = stage.clientWidth, high = stage.clientHeight;
  if (!wide || !header) return;
  view.window = fitted(view, view.target);
  canvas.width = wide * ratio;
  canvas.height = high * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.imageSmoothingEnabled = false;
  const [x0, x1, y0, y1] = header.window;
  const [left, top] = onStage(view, [x0, y1]), [right, bottom] = onStage(view, [x1, y0]);
  if (!header.points) pen.drawImage(view.picture, left, top, right - left, bottom - top);
  const side = mark(header.points, wide, high);
  for (let at = 0; at < header.points; at++) {
    const [x, y] = onStage(view, [header.places[2 * at], header.places[2 * at + 1]]);
    pen.fillStyle = header.pointGroups ? header.groups[header.pointGroups[at]].colour : header.look.hue;
    pen.fillRect(x - side / 2, y - side / 2, side, side);
  }
  const line = view.path ?? view.region;
  if (line) {
    pen.beginPath();
    for (const corner of line) pen.lineTo(...onStage(view, corner));
    pen.closePath();
    pen.lineWidth = 1.5;
    pen.strokeStyle = header.look.text;
    pen.setLineDash([5, 3]);
    pen.stroke();
  }
  stage.dataset.mode = view.mode;
  for (const each of view.modes) each.setAttribute("aria-pressed", String(each.value === view.mode));
  view.all.disabled = isWhole(view);
  view.none.disabled = !view.region;
  if (view.status.textContent !== header.words) view.status.textContent = header.words;
  if (!view.dragging && header.answers >= view.serial && lacking(view)) report(view);
}

// Pixels of a row's mark: larger where few rows share the stage.
function mark(rows, wide, high) {
  return Math.round(Math.max(3, Math.min(8, Math.sqrt((wide * high) / rows) / 7)));
}

// The content below the pointer: the text of a single row where the server sent texts, else how many a cell holds.
function point(view, at, near = NEAR) {
  const { header, tip, stage } = view;
  let text = "";
  if (header.texts.length) {
    let best = near;
    for (let row = 0; row < header.points; row++) {
      const [x, y] = onStage(view, [header.places[2 * row], header.places[2 * row + 1]]);
      const far = Math.hypot(x - at[0], y - at[1]);
      if (far < best) { best = far; text = header.texts[row]; }
    }
  }
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = `${Math.max(0, Math.min(at[0] + 12, stage.clientWidth - tip.offsetWidth))}px`;
  tip.style.top = `${Math.max(0, Math.min(at[1] + 12, stage.clientHeight - tip.offsetHeight))}px`;
}

function dress({ root, header: { look } }) {
  for (const name of ["paper", "text", "muted", "grid", "neutral"]) root.style.setProperty(`--${name}`, look[name]);
  root.style.setProperty("--accent", look.hue);
}
