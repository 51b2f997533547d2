// The drawing as a whole: what is chosen and open, and the requests to the server. Called again with every message and
// every change of theme, on the same element. Opening draws at once; the server gets a message for the address and the parts.
const MARGIN = 12, HEAD = 36; // at the sides of a saved drawing, and above it, for its title
const SLIDE = [1600, 900], SLIDE_HIGH = { closed: 0.46, opened: 0.48 }, LEAST_ACROSS = 1600; // pixels of a slide, height of a drawing on it as a share of the width, pixels across any saved picture
const PAPER = matchMedia("print"), PAPER_WIDTH = 1100;
const ACCENT = { light: "#0072B2", dark: "#4FA3D6", print: "#0072B2" };

function journeyView({ data, parentElement, setStateValue, look }) {
  const root = parentElement.querySelector(".journey"), before = root.view?.path.open;
  const view = (root.view ??= newView(root));
  view.send = setStateValue;
  const header = decode(data), other = view.header?.identity !== header.identity;
  receive(header);
  if (look) header.look = look; // of the page around, in place of the message's
  view.header = header;
  const answered = other || header.answered >= view.serial;
  if (answered) {
    const { token, open, head, key } = header.path;
    view.path = { token, open, head, key };
    view.serial = Math.max(view.serial, header.answered);
    view.colour = header.colour;
    view.ribbon = header.ribbon;
    view.lanes = header.lanes;
  }
  if (other) Object.assign(view, { cursor: null, heads: {} });
  const ending = header.ending && JSON.stringify([header.ending.title, header.ending.value]);
  if (ending !== view.ending) Object.assign(view, { ending, back: Boolean(header.ending) && !header.change });
  view.path.token = clamp(view.path.token, 0, Math.max(header.labels.length - 1, 0));
  dress(view);
  takeChange(view, answered);
  offer(view);
  draw(view);
  // On a phone what a link opens is below the list of layers; the note of a lesson is read first.
  if (view.plan.mode === "tall" && before !== undefined && ![before, ""].includes(view.path.open) && !document.querySelector(".lesson-card")) focused(view, view.sheet, `Close layer ${view.path.open}`)?.scrollIntoView({ block: "center" });
  view.watcher.observe(view.sheet);
  window.addEventListener("resize", view.resized);
  return () => { view.watcher.disconnect(); window.removeEventListener("resize", view.resized); };
}

function newView(root) {
  const view = { root, serial: 0, path: { token: 0, open: "", head: null, key: null }, change: "", mean: false, back: false, cursor: null, heads: {}, drawnAt: 0, rows: [], laneOf: [] };
  view.sheet = root.querySelector(".sheet");
  view.live = root.querySelector(".live");
  document.addEventListener("journey:draw", ({ detail }) => answer(view, detail));
  view.bar = root.querySelector(".bar");
  view.watcher = new ResizeObserver(() => Math.abs(view.sheet.clientWidth - view.drawnAt) > 1 && draw(view));
  view.resized = () => (frameOf(view) || view.framed) && draw(view);
  view.measure = () => view.header.measures.find(({ key }) => key === view.colour) ?? view.header.measures[0];
  view.measureName = () => `${view.now ? "now − before, " : ""}${view.measure()?.name ?? ""}`;
  view.most = (measure) => (measure.most ??= measure.values.reduce((most, value) => (value > most ? value : most), 1e-9));
  view.strips = () => view.now?.strips ?? view.header.strips;
  view.say = (words) => { view.live.textContent = words; };
  view.cellWords = (layer, token) => cellWords(view, layer, token);
  view.sentence = () => `${sentence(view)} ${hiddenWords(view)}`.trim();
  view.go = (change) => {
    const { open, head } = view.path;
    view.path = { ...view.path, ...change };
    if (view.path.open !== open) {
      view.heads[open] = head; // a layer opens again as it was closed
      view.path.head = view.heads[view.path.open] ?? null;
    }
    tell(view); // first, so that the server works while the browser draws
    draw(view);
    view.say(view.sentence());
  };
  view.choose = (token) => view.go({ token, key: null });
  view.open = (open) => {
    const name = (part) => (part === "embeddings" ? "embeddings" : `layer ${part}`);
    view.focus = open === "" || open === view.path.open ? (view.path.open === "embeddings" ? "Open the embeddings" : `Open layer ${view.path.open}`) : `Close ${name(open)}`;
    view.go({ open: open === view.path.open ? "" : open, head: null, key: null });
  };
  view.openHead = (head) => {
    view.focus = `Head ${head} of layer ${view.path.open}`;
    view.go({ head: head === view.path.head ? null : head, key: null });
  };
  view.openKey = (key) => view.go({ key: key === view.path.key ? null : key });
  view.turn = () => {
    view.back = !view.back;
    draw(view);
  };
  root.addEventListener("keydown", (event) => onKey(view, event));
  view.tip = watchTips(view);
  PAPER.addEventListener("change", () => { dress(view); draw(view); });
  return view;
}

// Colours of the theme; on paper those of print.
function dress(view) {
  view.look = PAPER.matches ? view.header.print : view.header.look;
  view.accent = ACCENT[view.look.name] ?? ACCENT.light;
  for (const [name, colour] of Object.entries({ paper: view.look.paper, text: view.look.text, line: view.look.neutral, accent: view.accent })) view.root.style.setProperty(`--${name}`, colour);
}

// The frame that the drawing fills: the screen, a frame of another page, or that of a presenter, in which nothing is
// scrolled; null on a page.
function frameOf({ root, header, bar, sheet, slide, path }) {
  if (slide) return { scale: 1, pixels: sheet.clientWidth * SLIDE_HIGH[path.open === "" ? "closed" : "opened"], presented: true };
  const presented = Number(getComputedStyle(root).getPropertyValue("--large")), large = presented || root.getRootNode().fullscreenElement === root;
  if (PAPER.matches || (!large && header.controls)) return null;
  const height = window.innerHeight - (presented ? root.getBoundingClientRect().top + 8 : bar.offsetHeight + (large ? 32 : 2));
  const scale = clamp(Math.min(sheet.clientWidth / 1230, height / 700), 1.3 * presented || (large ? 1.3 : 1), 2.5 * (presented || 1)); // 18 px at 1600 x 900
  return { scale, pixels: height, presented: presented > 0 };
}

function* chunkMost(values) {
  for (let from = 0; from < values.length; from += 4096) yield Math.max(...values.subarray(from, from + 4096));
}

function tell(view, moved) {
  view.serial += 1;
  view.send?.("path", { serial: view.serial, identity: view.header.identity, ...view.path, ...moved, colour: view.colour, ribbon: view.ribbon, lanes: view.lanes, change: view.change, mean: view.mean });
}

function draw(view) {
  const { header, path, sheet } = view, frame = frameOf(view);
  Object.assign(view, { drawnAt: sheet.clientWidth, framed: Boolean(frame), presented: Boolean(frame?.presented) });
  let scale = frame?.scale ?? 1, banner = planned(view, frame, scale);
  while (frame?.presented && scale > 0.4 && (view.plan.height + banner.height) * scale > frame.pixels) banner = planned(view, frame, (scale *= 0.96));
  const width = widthAt(view, scale);
  view.tip.hidden = true;
  if (view.controls) {
    view.controls.colour.closest("label").hidden = Boolean(header.missing || (view.back && header.ending)); // the cells then show nothing, or the effects
    view.controls.ribbon.closest("label").hidden = !header.heads || Boolean(header.missing) || !/^\d+$/.test(path.open); // only an open layer has ribbons
    view.controls.lanes.closest("label").hidden = !header.words.length || Boolean(header.change?.origin) || width < TALL_BELOW; // no lanes on a phone
  }
  if (view.hint) view.hint.hidden = !many(view) || width < TALL_BELOW;
  const { plan } = view, focus = view.focus ?? view.root.getRootNode().activeElement?.dataset?.name;
  view.focus = undefined;
  const height = plan.height + banner.height;
  const svg = el("svg", { xmlns: NS, width: plan.width * scale, height: height * scale, viewBox: `0 ${-banner.height} ${plan.width} ${height}`, role: "group", "aria-label": `Journey of the text through ${header.model}` });
  svg.append(el("rect", { y: -banner.height, width: plan.width, height, fill: view.look.paper }));
  banner.draw(svg);
  if (plan.mode === "tall") drawTall(view, svg);
  else drawWide(view, svg);
  const aim = focus && focused(view, svg, focus);
  rove(view, svg, aim?.dataset.name);
  if (PAPER.matches) addCaption(view, svg, aboutOf(view), true);
  const risen = (banner.height - (view.raised ?? banner.height)) * scale;
  view.raised = banner.height;
  sheet.replaceChildren(svg);
  // On a phone what was tapped stays where it is below the banner; a lesson scrolls itself.
  if (risen && plan.mode === "tall" && !document.querySelector(".lesson-card")) (document.querySelector("[data-testid=stMain]") ?? document.scrollingElement).scrollBy(0, risen);
  aim?.focus({ preventScroll: true });
  view.root.drawn?.(view);
}

// Lays out the drawing at a scale; returns the banner above it.
function planned(view, frame, scale) {
  const { header, path } = view, width = widthAt(view, scale), banner = bannerOf(view, width);
  view.rows = lanesIn(view, width);
  view.laneOf = view.rows.flatMap(({ pieces }, at) => Array(pieces).fill(at));
  const part = openPart(view), off = switchedOff(view), drawn = part && header.heads && !off.words;
  view.ribbons = drawn ? laneRibbons(view, rowOf(part, path.head, view.ribbon === "weighted", off.head)) : null;
  const bars = (view.ribbons?.keys.length ?? 0) + 1;
  view.plan = layoutOf({ width, tokens: view.rows.length, stages: header.stages, heads: header.heads, open: path.open, head: path.head, off, frame: frame && frame.pixels / scale - banner.height, presented: view.presented, bars, added: addedVectors(view, part).length, ends: Boolean(header.ending), numbered: Boolean(view.back && header.ending?.heads), filed: Boolean(view.filed), acts: Boolean(view.send) && header.measures.length > 0, changed: Boolean(view.now) });
  return banner;
}

const widthAt = ({ sheet }, scale) => PAPER.matches ? PAPER_WIDTH : Math.max(Math.floor(sheet.clientWidth / scale), 300);

// The part with the focus; where it is gone, the head or the layer that was opened.
function focused({ path }, svg, name) {
  const nodes = [...svg.querySelectorAll("[data-name]")], opened = path.open === "embeddings" ? "embeddings" : `layer ${path.open}`;
  const named = (each) => nodes.find(({ dataset }) => dataset.name === each) ?? nodes.find(({ dataset }) => dataset.name.startsWith(`${each},`));
  return named(name) ?? named(`Head ${path.head} of ${opened}`) ?? named(`Close ${opened}`);
}

function onKey(view, event) {
  const { path, header } = view;
  if (event.target.closest?.("select, button, a") || walked(view, event)) return;
  const openable = header.stages.map((stage, index) => ({ stage, index })).filter(({ stage }) => stage.kind === "layer" || stage.kind === "embeddings");
  const at = openable.findIndex(({ index }) => index === view.cursor);
  const keys = {
    ArrowUp: () => step(-1),
    ArrowDown: () => step(1),
    ArrowLeft: () => move(Math.max(at - 1, 0)),
    ArrowRight: () => move(Math.min(at + 1, openable.length - 1)),
    Escape: () => (path.key !== null ? view.openKey(path.key) : path.head !== null ? view.openHead(path.head) : path.open !== "" && view.open("")),
  };
  function step(by) {
    if (!view.rows.length) return;
    const token = view.rows[clamp(view.laneOf[path.token] + by, 0, view.rows.length - 1)].first;
    if (!many(view)) view.focus = `Token ${token}: ${header.labels[token]}`; // lanes of a long text have no own stop
    view.choose(token);
  }
  function nameOf(stage, index) {
    const layer = String(layerAt(header.stages, index)), isLayer = stage.kind === "layer";
    if (isLayer ? layer === path.open : path.open === "embeddings") return `Close ${stage.name}`;
    return isLayer ? `Open layer ${layer}` : "Open the embeddings";
  }
  function move(to) {
    const { stage, index } = openable[to];
    view.cursor = index;
    view.focus = nameOf(stage, index);
    draw(view);
    view.say(stage.kind === "layer" ? view.cellWords(layerAt(header.stages, index), path.token) : `${stage.name}, ${stage.numel.toLocaleString("en-US")} parameters`);
  }
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}

// The controls above: what colours the cells, what a ribbon is, the large frame, files.
function offer(view) {
  const { bar, header } = view;
  if (!bar.firstChild) buildBar(view);
  bar.hidden = !header.controls;
  const { colour, ribbon, lanes } = view.controls;
  colour.replaceChildren(...header.measures.map(({ key, name }) => new Option(name, key, false, key === view.colour)));
  colour.closest("label").hidden = header.measures.length < 2;
  ribbon.value = view.ribbon;
  lanes.value = view.lanes;
}

function buildBar(view) {
  const make = (name, attributes = {}, ...children) => {
    const node = Object.assign(document.createElement(name), attributes);
    node.append(...children);
    return node;
  };
  const colour = make("select"), ribbon = make("select", {}, new Option("attention", "attention"), new Option("attention × value", "weighted"));
  const lanes = make("select", {}, new Option("word", "words"), new Option("token", "tokens"));
  for (const [name, node] of Object.entries({ colour, ribbon, lanes })) node.addEventListener("change", () => { view[name] = node.value; draw(view); tell(view); view.say(view.sentence()); });
  const large = make("button", { type: "button", className: "large", textContent: "Full screen" });
  large.addEventListener("click", () => (document.fullscreenElement ? document.exitFullscreen() : view.root.requestFullscreen?.()));
  document.addEventListener("fullscreenchange", () => {
    large.textContent = document.fullscreenElement ? "Leave full screen" : "Full screen";
    draw(view);
  });
  const saves = ["SVG", "PNG", "Slide 16:9"].map((kind) => {
    const slide = kind.startsWith("Slide"), as = slide ? `PNG of ${SLIDE.join(" × ")} pixels` : kind;
    const node = make("button", { type: "button", textContent: kind.split(" ").at(-1), ariaLabel: kind, title: `Save the current drawing as ${as}`, hidden: Boolean(view.send) }); // a page has a control of its own
    node.addEventListener("click", () => save(view, slide ? "PNG" : kind, slide));
    return node;
  });
  view.bar.append(make("label", {}, make("span", { textContent: "Cells show" }), colour), make("label", {}, make("span", { textContent: "Ribbons show" }), ribbon), make("label", {}, make("span", { textContent: "A lane is a" }), lanes), make("span", { className: "buttons" }, large, ...saves));
  view.hint = make("p", { textContent: "The text is long: point at a lane for its word and numbers, choose it to follow that word." });
  view.bar.append(view.hint);
  view.controls = { colour, ribbon, lanes };
}

// What is on the screen as a file, with what it is of; without what only helps to use it.
function captioned(view, alone = true, slide = false) {
  Object.assign(view, { filed: true, slide });
  draw(view);
  const svg = asFile(view, alone);
  Object.assign(view, { filed: false, slide: false });
  draw(view);
  return svg;
}

function asFile(view, alone) {
  const { sheet } = view, svg = sheet.firstChild.cloneNode(true);
  // Elsewhere the letters are of another font: each text keeps the width that it has here.
  const shown = sheet.firstChild.querySelectorAll("text");
  svg.querySelectorAll("text").forEach((node, at) => keepWidth(node, shown[at].getComputedTextLength()));
  for (const node of svg.querySelectorAll(".act, .close")) node.remove();
  for (const node of svg.querySelectorAll("[aria-description]")) node.append(Object.assign(document.createElementNS(NS, "title"), { textContent: node.getAttribute("aria-description") }));
  if (view.slide) inTheMiddle(svg, sheet.firstChild);
  const about = aboutOf(view);
  svg.prepend(Object.assign(document.createElementNS(NS, "title"), { textContent: about }));
  addCaption(view, svg, about, alone);
  return svg;
}

// A drawing of many lanes is narrower than its slide: it stands in the middle.
function inTheMiddle(svg, shown) {
  const boxes = [...shown.children].slice(1).map((each) => each.getBBox()).filter(({ width }) => width); // without the ground
  const { y, width, height } = shown.viewBox.baseVal, right = Math.max(...boxes.map((box) => box.x + box.width));
  const aside = Math.max((width - right - Math.min(...boxes.map((box) => box.x))) / 2, 0);
  svg.setAttribute("viewBox", `${-aside} ${y} ${width} ${height}`);
  svg.firstElementChild.setAttribute("x", -aside);
}

const aboutOf = ({ header, now }) => `Journey of “${JSON.stringify(header.text ?? "").slice(1, -1).replaceAll('\\"', '"')}” through ${header.model} (revision ${header.revision})${now ? `. ${now.sentence}` : ""}`;

// The drawing in the middle of a slide, as large as fits.
function onSlide(svg, paper) {
  const { x, y, width, height } = svg.viewBox.baseVal, [across, down] = SLIDE, whole = Math.max(width, (height * across) / down), tall = (whole * down) / across;
  const place = { x: x - (whole - width) / 2, y: y - (tall - height) / 2, width: whole, height: tall };
  for (const [name, value] of Object.entries({ viewBox: Object.values(place).join(" "), width: across, height: down })) svg.setAttribute(name, value);
  svg.prepend(el("rect", { ...place, fill: paper }));
}

// Answers who asks for a picture of this drawing with it as SVG, in other colours too.
function answer(view, detail) {
  const { header } = view, { look } = header;
  if (!view.root.isConnected) return;
  header.look = detail.look ?? look;
  detail.svg = new XMLSerializer().serializeToString(captioned(view, false, detail.slide));
  header.look = look;
  draw(view);
}

async function save(view, kind, slide = false) {
  const { header, now } = view, svg = captioned(view);
  if (slide) onSlide(svg, view.look.paper);
  const text = new XMLSerializer().serializeToString(svg), name = `journey ${header.model}${now ? ` ${now.name}` : ""}${slide ? " slide" : ""}.${kind.toLowerCase()}`;
  if (kind === "SVG") return download(new Blob([text], { type: "image/svg+xml" }), name);
  const image = new Image(), canvas = document.createElement("canvas"), size = svg.viewBox.baseVal;
  const scale = slide ? SLIDE[0] / size.width : Math.max(2, LEAST_ACROSS / size.width);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  [canvas.width, canvas.height] = [Math.round(size.width * scale), Math.round(size.height * scale)];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => download(blob, name));
}

function keepWidth(node, width) {
  if (width > 0) node.setAttribute("textLength", width.toFixed(1));
  node.setAttribute("lengthAdjust", "spacingAndGlyphs");
  return node;
}

// Margins of a saved drawing; where it stands alone, its title above and what it is of below it, too.
function addCaption(view, svg, about, alone) {
  const { x, y, width, height } = svg.viewBox.baseVal, top = alone ? HEAD : 0, lines = alone ? wrapped(about, width - 24, 4) : [];
  const added = alone ? 20 * lines.length + 10 + top : 0;
  svg.setAttribute("height", (svg.getAttribute("height") * (height + added)) / height);
  svg.setAttribute("width", (svg.getAttribute("width") * (width + 2 * MARGIN)) / width);
  svg.setAttribute("viewBox", `${x - MARGIN} ${y - top} ${width + 2 * MARGIN} ${height + added}`);
  svg.prepend(el("rect", { x: x - MARGIN, y: y - top, width: width + 2 * MARGIN, height: height + added, fill: view.look.paper }));
  if (!alone) return;
  const [head] = wrapped(aboutOf(view).split(" (revision")[0], width * 0.65, 1);
  svg.append(label(view, head, x + 2, y + 22 - HEAD, { size: 20, weight: 600, className: "label title" }));
  svg.append( ...lines.map((line, at) => keepWidth(label(view, line, x + 2, y + height + 16 + 20 * at, { fill: view.look.muted, className: "label caption" }), textWidth(line))));
}

function download(blob, name) {
  const node = document.createElement("a");
  node.href = URL.createObjectURL(blob);
  node.download = name.replace(/[\\/:*?"<>| ]/g, "-");
  node.click();
  setTimeout(() => URL.revokeObjectURL(node.href), 60000);
}

// In a file of its own: the page contains the message, and nothing is sent.
function startAlone() {
  const data = Uint8Array.from(atob(document.getElementById("data").textContent.trim()), (sign) => sign.charCodeAt(0));
  // In a frame of a page on paper, the height of the window is that of the frame.
  document.querySelector(".journey").classList.toggle("framed", window.parent !== window);
  journeyView({ data, parentElement: document.body, setStateValue: null });
  document.picture = (_, slide) => new XMLSerializer().serializeToString(captioned(document.querySelector(".journey").view, false, slide));
}
