// The view as a whole: what is open, the requests to the server, the announcements. Called again with every message and
// every change of theme, on the same element.
const REST_MS = 250, MOST_HEADS = 8;
const LONG_TEXT = 48; // beyond, most weights are small: they are lifted, and weak lines are hidden
const KINDS = {
  attention: { name: "Attention", unit: "attention weight" },
  "value-weighted": { name: "Value-weighted attention", unit: "weight × length of the value" },
  rollout: { name: "Attention to the input (rollout)", unit: "share of the input", where: "up to" },
  "value-zeroing": { name: "Change without a value (value zeroing)", unit: "share of the change", where: "in" }, // all heads of a layer together
};

function attentionView({ data, parentElement, setStateValue, look }) {
  const root = parentElement.querySelector(".attention");
  const view = (root.view ??= build(root));
  view.send = setStateValue;
  const header = decode(data);
  const store = receive(header);
  if (!store.atlas) return ask(view, store, header.heads); // the server thinks that it is here
  const other = view.store?.identity !== store.identity, first = !view.store;
  const before = first || beginning(view);
  view.store = store;
  if (other && !first) { // what nobody chose goes with the length of the new text
    for (const [name, value] of Object.entries(beginning(view))) if (view[name] === before[name]) view[name] = value;
    view.parts.shade.value = String(Number(view.lifted));
  }
  view.look = look ?? header.look; // of the page around, in place of the message's
  view.hiding = look ? "hide_special=True" : "Tokens"; // in a notebook, and in the dashboard
  view.title = header.title;
  view.where = KINDS[store.atlas.weights].where;
  view.unit = KINDS[store.atlas.weights].unit;
  adopt(view, header, first, other);
  dress(view);
  offerMeasures(view);
  draw(view);
  if (wanting(view).length || (header.offers && !store.atlas.complete)) report(view);
  view.watcher.observe(root);
  view.watcher.observe(view.parts.stage);
  document.addEventListener(DRAW, view.onDraw);
  document.addEventListener("pointerdown", view.onPress);
  return () => {
    view.watcher.disconnect();
    document.removeEventListener(DRAW, view.onDraw);
    document.removeEventListener("pointerdown", view.onPress);
  };
}

const stageSize = (view) => ({ width: Math.max(view.parts.stage.clientWidth, 240), height: view.parts.stage.clientHeight });

// The server names the heads that are to be open; they count where it is not only repeating a message from here.
function adopt(view, header, first, other) {
  if (other) Object.assign(view, { cell: null, zoom: null, pins: new Set(), looked: undefined, pointed: null, lastRequest: null });
  const later = header.answers?.serial > (view.adopted?.[0] ?? 0); // than what the server has named since
  const echo = later && sameList(header.answers.heads, header.heads);
  const wish = [header.answers?.serial ?? 0, header.heads], reads = header.answers?.reads ?? 0;
  const anew = first || reads !== view.reads; // an address names the look
  view.reads = reads;
  if (anew || (!echo && !sameList(wish, view.adopted))) {
    view.adopted = wish;
    view.pointed = null; // what was under the pointer is another picture
    hideTip(view);
    view.heads = header.heads.map((head) => [...head]);
    view.opened = view.focus = view.heads[0];
    if (!first) view.cell = null;
  }
  if (first && header.answers) view.serial = header.answers.serial ?? 0;
  const { layers, heads } = view.store.atlas;
  view.heads = view.heads.filter(([layer, head]) => layer < layers && head < heads);
  if (!view.heads.length) view.heads = [[0, 0]];
  if (!view.heads.some((head) => sameList(head, view.opened))) view.opened = view.heads[0];
  if (!(view.focus[0] < layers && view.focus[1] < heads)) view.focus = view.opened;
  if (anew) restore(view, header.answers?.look ?? {});
  colourHeads(view);
}

// The look that an address names; what it does not name is as in the beginning.
function restore(view, look) {
  const { atlas } = view.store, { lifted, threshold } = beginning(view);
  const measureAt = (name) => atlas.measures.findIndex((measure) => wordOf(measure) === name) + 1;
  Object.assign(view, {
    mode: look.lines ? "lines" : "map", order: measureAt(look.order), tint: measureAt(look.frame),
    scale: look.scale ?? "", lifted: look.shades ? look.shades === "lifted" : lifted,
    threshold: look.hide == null ? threshold : look.hide / 100, zoom: look.zoom ?? null,
    cell: look.cell ? [...view.opened, ...look.cell] : null, pins: new Set(look.pins), reported: undefined, lastRequest: null,
  });
  view.colours = new Map((look.heads ?? []).flatMap((head, hue) => (head ? [[mapName(...head), hue]] : [])));
  view.parts.shade.value = String(Number(view.lifted));
}

const wordOf = (measure) => measure.name.replaceAll(" ", "-");

function beginning(view) {
  const { queries, keys } = view.store.atlas, long = Math.max(queries.labels.length, keys.labels.length) > LONG_TEXT;
  return { lifted: long, threshold: long ? 0.1 : 0.02 };
}

// How this view is drawn, as the word that the address holds; view_state.py reads it.
function drawn(view) {
  const { measures } = view.store.atlas, { lifted, threshold } = beginning(view), hide = Math.round(100 * view.threshold);
  const hues = [];
  for (const head of view.heads) hues[view.colours.get(mapName(...head))] = head.join(".");
  return [
    view.mode === "lines" && "lines",
    view.order && `order-${wordOf(measures[view.order - 1])}`,
    view.tint && `frame-${wordOf(measures[view.tint - 1])}`,
    view.scale && `scale-${view.scale}`,
    view.lifted !== lifted && `shades-${view.lifted ? "lifted" : "even"}`,
    hide !== Math.round(100 * threshold) && `hide-${hide}`,
    hues.length > 1 && `heads-${Array.from(hues, (head) => head ?? "").join("-")}`,
    view.pins.size && `pins-${[...view.pins].join("-")}`,
  ].filter(Boolean).join("_");
}

// A head keeps its colour as long as it is selected, and its place is that of its colour.
function colourHeads(view) {
  const names = view.heads.map((head) => mapName(...head));
  for (const name of [...view.colours.keys()]) if (!names.includes(name)) view.colours.delete(name);
  for (const name of names) {
    if (view.colours.has(name)) continue;
    const used = new Set(view.colours.values());
    view.colours.set(name, view.look.hues.findIndex((_, index) => !used.has(index)));
  }
  const place = (head) => view.colours.get(mapName(...head));
  view.heads.sort((one, other) => place(one) - place(other));
}

const wanting = (view) => view.heads.filter(([layer, head]) => pictureOf(view.store, layer, head, view.zoom).wanting);

function openHead(view, head, more) {
  const at = view.heads.findIndex((each) => sameList(each, head));
  if (!more) view.heads = [head];
  else if (at >= 0 && view.heads.length > 1) view.heads.splice(at, 1);
  else if (at < 0 && view.heads.length < MOST_HEADS) view.heads.push(head);
  const selected = view.heads.some((each) => sameList(each, head));
  view.opened = selected ? head : view.heads[0];
  view.focus = head;
  if (view.cell && !sameList(view.cell.slice(0, 2), view.opened)) view.cell = null;
  colourHeads(view);
  draw(view, true);
  report(view);
}

function zoomTo(view, window) {
  view.zoom = window && !sameList(window, wholeOf(view.store.atlas)) ? window : null;
  view.pointed = null;
  draw(view, true);
  report(view);
}

function clear(view) {
  const whole = view.zoom !== null || view.cell !== null || view.heads.length > 1 || view.pins.size > 0;
  Object.assign(view, { zoom: null, cell: null, pointed: null, looked: undefined, pins: new Set(), heads: [view.opened] });
  colourHeads(view);
  draw(view, true);
  if (whole) report(view);
}

// Missing data is requested at once; what the browser can draw alone is reported after a pause, and answered with what
// may be opened next.
function report(view) {
  clearTimeout(view.timer);
  const needed = wanting(view).length > 0;
  if (needed && view.alone) return;
  const clicked = view.cell && !sameList(view.cell, view.reported?.cell);
  view.timer = setTimeout(() => tell(view, view.store), needed || clicked ? 0 : REST_MS);
}

function tell(view, store) {
  const heads = [view.opened, ...view.heads.filter((head) => !sameList(head, view.opened))];
  const maps = [...store.maps.keys()].map((name) => name.split(".").map(Number));
  const { complete } = store.atlas, { cell, zoom: range } = view;
  const state = { identity: store.identity, heads, cell, range, complete, drawn: drawn(view) };
  if (sameList(state, view.reported) && !wanting(view).length) return;
  const request = JSON.stringify([state, maps]);
  if (view.lastRequest === request) return; // sent before, and this was the answer
  view.lastRequest = request;
  view.reported = state;
  view.serial += 1;
  view.send?.("look", { ...state, maps, atlas: true, serial: view.serial });
}

function ask(view, store, heads) {
  view.serial += 1;
  view.send?.("look", { identity: store.identity, heads, maps: [], atlas: false, serial: view.serial });
}

// Everything that the choice of heads, of window and of look changes; the atlas itself only where it has changed.
function draw(view, same = false) {
  if (!view.store || view.root.clientWidth === 0) return;
  const { parts } = view;
  view.waiting = wanting(view).length > 0 && !view.alone;
  if (same) mark(view);
  else paintAtlas(view);
  paintTint(view);
  const { layers, heads } = view.store.atlas, kind = KINDS[view.store.atlas.weights].name;
  parts.allTitle.textContent = layers * heads > 1 ? `All ${layers * heads} ${view.where ? "layers" : "heads"}` : `One ${view.where ? "layer" : "head"}`;
  parts.hint.textContent = layers * heads > 1 ? `Shift+click ${view.where ? "another" : "a second head"} to compare` : "";
  parts.headTitle.textContent = titleOf(view, kind);
  parts.about.textContent = describe(view, ...view.opened);
  parts.mapBox.hidden = view.mode !== "map";
  parts.linesBox.hidden = view.mode !== "lines";
  parts.sieveField.hidden = view.mode !== "lines";
  parts.orderField.hidden = parts.tintField.hidden = layers * heads < 2;
  parts.scale.options[2].disabled = !hasFixedScale(view);
  parts.scale.value = String(view.scale === "fixed" && !hasFixedScale(view) ? 0 : SCALES.indexOf(view.scale));
  parts.whole.hidden = !view.zoom;
  parts.mapBox.setAttribute("aria-label", `${parts.headTitle.textContent}: queries in rows, keys in columns. Arrow keys move, Enter asks for the exact weight.`);
  for (const button of parts.modes.children) button.setAttribute("aria-pressed", String(button.value === view.mode));
  parts.least.value = String(view.threshold);
  parts.leastText.textContent = number(view.threshold * lineTop(view, pictureOf(view.store, ...view.opened, view.zoom).picture), 2);
  listHeads(view);
  if (view.mode === "map") paintMap(view); else paintLines(view);
  say(view);
}

function titleOf(view, kind) {
  if (view.mode === "lines" && view.heads.length > 1) return `${kind} of ${view.heads.length} ${view.where ? "layers" : "heads"} — ${view.title}`;
  return `${kind} ${view.where === "in" ? "in " : view.where ? "" : "of "}${headName(view, ...view.opened)} — ${view.title}`;
}

function listHeads(view) {
  const several = view.heads.length > 1 ? view.heads : [];
  view.parts.legend.replaceChildren(...several.map((head) => {
    const chip = made("button", "head-chip", shortName(view, ...head));
    chip.style.setProperty("--mark", view.look.hues[view.colours.get(mapName(...head))]);
    chip.setAttribute("aria-pressed", String(sameList(head, view.opened)));
    chip.setAttribute("aria-label", `show ${headName(view, ...head)} in the map`);
    chip.onclick = () => { view.opened = head; view.cell = null; draw(view, true); report(view); };
    return chip;
  }));
}

// What helps where the lines to special tokens hide all others.
function specialWords(view) {
  const { measures, weights, queries } = view.store.atlas;
  const measure = measures.find(({ name }) => name === "share on special tokens");
  const share = measure?.values[indexOf(view, ...view.opened)];
  if (view.alone || weights !== "attention" || !queries.special.length || !(share >= 50)) return "";
  return `${number(share, measure.digits)}${measure.unit} of the weight lies on special tokens; hide them (${view.hiding}) to see the rest.`;
}

// What helps where all lines are too weak to be drawn, as in a long text whose weights are spread.
function faintWords({ parts, threshold }) {
  if (!threshold || !parts.linesNote.hidden || parts.stage.dataset.lines !== "0") return "";
  return "No line here is strong enough to be drawn: move “Hide lines below” to the left.";
}

const HOVERS = window.matchMedia("(hover: hover)");

// One line below the picture: what is pointed at, else what was clicked, else how to go on.
function say(view) {
  const { status, live } = view.parts, plain = !(view.pointed || view.looked || view.cell || view.pins.size);
  let text = "";
  if (plain && wanting(view).length) text = view.alone ? "This file holds this head as a thumbnail." : "Loading full resolution.";
  else if (view.mode === "lines") {
    const name = view.looked ?? (view.pins.size === 1 ? [...view.pins][0] : null);
    const axis = name && (name[0] === "q" ? view.store.atlas.queries : view.store.atlas.keys);
    text = axis ? `${name[0] === "q" ? "query" : "key"} ${name.slice(1)} ${tokenName(axis, Number(name.slice(1)))}`
      : view.pins.size ? `${view.pins.size} tokens pinned, their weights summed${view.heads.length > 3 ? " for the first three heads" : ""}`
      : faintWords(view) || specialWords(view) || (HOVERS.matches ? "Point at a token for its lines; choose it to pin it." : "Choose a token to pin its lines.");
  } else {
    const { cell, pointed, opened } = view, own = cell && sameList(cell.slice(0, 2), opened);
    text = pointed ? cellText(view, pointed) : own ? cellText(view, { query: cell[2], key: cell[3] })
      : `${view.alone ? "Point at a cell for its" : "Choose a cell for its exact"} weight; drag to zoom in.`;
  }
  const { queries, keys } = view.store.atlas;
  if (plain && (queries.second || keys.second)) text += " Dashed: the second text begins.";
  if (status.textContent !== text) status.textContent = text;
  status.classList.toggle("exact", !plain);
  // What the mouse points at is seen; what the keyboard points at is announced as well.
  const keyed = view.parts.stage.querySelector(":focus-visible") !== null;
  if (keyed && (view.pointed || view.looked) && live.textContent !== text) live.textContent = text;
}

function showTip(view, cell, name, lines) {
  const { tip } = view.parts;
  tip.replaceChildren(made("strong", "", name), ...lines.map((line) => made("span", "", line)));
  tip.hidden = false;
  const outer = view.root.getBoundingClientRect(), box = cell.getBoundingClientRect();
  const zoom = outer.width / view.root.offsetWidth || 1; // of the presenter's frame
  const [left, right, top] = [box.left - outer.left, box.right - outer.left, box.top - outer.top].map((each) => each / zoom);
  const wide = tip.offsetWidth, beside = right + 10;
  tip.style.left = `${beside + wide > view.root.offsetWidth ? Math.max(left - wide - 10, 0) : beside}px`;
  tip.style.top = `${Math.max(Math.min(top, view.root.offsetHeight - tip.offsetHeight), 0)}px`;
}

const hideTip = (view) => { view.parts.tip.hidden = true; };

// Colours of this theme, and the fonts of the page around.
function dress(view) {
  const { root, look } = view;
  for (const name of ["paper", "text", "muted", "grid", "neutral"]) root.style.setProperty(`--${name}`, look[name]);
  root.style.setProperty("--accent", look.hues[0]);
  root.dataset.theme = look.name;
  const style = getComputedStyle(root);
  const font = (name, other) => style.getPropertyValue(name).trim() || other;
  view.fonts = { text: font("--st-font", "sans-serif"), code: font("--st-code-font", "monospace") };
}

function offerMeasures(view) {
  const { order, tint } = view.parts, names = view.store.atlas.measures.map(({ name }) => name);
  for (const [select, none, value] of [[order, view.where ? "layer" : "layer and head", "order"], [tint, "none", "tint"]]) {
    const words = [none, ...names];
    if (view[value] > names.length) view[value] = 0;
    if (!sameList([...select.options].map((each) => each.textContent), words))
      select.replaceChildren(...words.map((word, index) => new Option(word, String(index))));
    select.value = String(view[value]);
  }
}

// The same view in a file of its own: what the file does not contain cannot be requested.
function startAlone() {
  const data = Uint8Array.from(atob(document.getElementById("data").textContent), (letter) => letter.charCodeAt(0));
  const root = document.querySelector(".attention");
  root.view = build(root);
  root.view.alone = true;
  attentionView({ data, parentElement: document.body });
  document.picture = (font, slide) => pictureFile(root.view, "head", root.view.look, font, slide);
}
