// The map under the pointer and the keyboard: a cell looked at, clicked, a part dragged over.
const DRAG = 5, CLOSER = 64;

// What moves with the pointer and what was clicked, on a canvas of its own.
function paintOver(view) {
  const form = view.map, { context } = fitted(view.parts.over, form.width, form.height), { look } = view;
  const frame = ([q0, q1, k0, k1], colour, width) => {
    const x = form.left + (Math.max(k0, form.k0) - form.k0) * form.cell;
    const y = form.top + (Math.max(q0, form.q0) - form.q0) * form.cell;
    context.strokeStyle = colour;
    context.lineWidth = width;
    const wide = (Math.min(k1, form.k1) - Math.max(k0, form.k0)) * form.cell;
    const high = (Math.min(q1, form.q1) - Math.max(q0, form.q0)) * form.cell;
    context.strokeRect(x - 0.5, y - 0.5, Math.max(wide, 3) + 1, Math.max(high, 3) + 1);
  };
  const inside = ({ query, key }) => query >= form.q0 && query < form.q1 && key >= form.k0 && key < form.k1;
  if (view.pointed && inside(view.pointed)) {
    const { query, key } = view.pointed;
    const [row, column] = [blockAt(form.picture.rowEdges, query), blockAt(form.picture.columnEdges, key)];
    const rows = form.picture.rowEdges.slice(row, row + 2), keys = form.picture.columnEdges.slice(column, column + 2);
    frame([...rows, form.k0, form.k1], look.muted, 1);
    frame([form.q0, form.q1, ...keys], look.muted, 1);
    frame([...rows, ...keys], look.text, 2);
  }
  const [layer, head, query, key] = view.cell ?? [];
  if (view.cell && sameList([layer, head], view.opened) && inside({ query, key }))
    frame([query, query + 1, key, key + 1], look.hues[1], 3);
  if (view.drag?.far) {
    const [q0, q1, k0, k1] = dragged(view);
    context.fillStyle = look.text;
    context.globalAlpha = 0.12;
    const [x, y] = [form.left + (k0 - form.k0) * form.cell, form.top + (q0 - form.q0) * form.cell];
    context.fillRect(x, y, (k1 - k0) * form.cell, (q1 - q0) * form.cell);
    context.globalAlpha = 1;
    frame([q0, q1, k0, k1], look.text, 1.5);
  }
}

// The entry below the pointer; where several share a pixel, the one with the largest weight.
function entryAt(view, event, clamp) {
  const form = view.map, box = view.parts.over.getBoundingClientRect();
  const zoom = box.width / view.parts.over.offsetWidth || 1; // of the presenter's frame
  const x = ((event.clientX - box.left) / zoom - form.left) / form.cell, y = ((event.clientY - box.top) / zoom - form.top) / form.cell;
  const rows = form.q1 - form.q0, columns = form.k1 - form.k0;
  if (!clamp && (x < 0 || y < 0 || x >= columns || y >= rows)) return null;
  const at = (value, most) => Math.min(Math.max(Math.floor(value), 0), most - 1);
  const entry = { query: form.q0 + at(y, rows), key: form.k0 + at(x, columns) };
  if (clamp || form.cell >= 1.5 || !form.picture.exact) return entry;
  const reach = Math.ceil(1 / form.cell);
  let best = entry, most = -1;
  for (let query = entry.query; query < Math.min(entry.query + reach, form.q1); query++)
    for (let key = entry.key; key < Math.min(entry.key + reach, form.k1); key++) {
      const value = mapValue(form.picture, query, key);
      if (value > most) [best, most] = [{ query, key }, value];
    }
  return best;
}

function dragged(view) {
  const { from, to } = view.drag;
  return [
    Math.min(from.query, to.query), Math.max(from.query, to.query) + 1,
    Math.min(from.key, to.key), Math.max(from.key, to.key) + 1,
  ];
}

function cellText(view, { query, key }) {
  const { picture } = view.map, { queries, keys } = view.store.atlas;
  const row = blockAt(picture.rowEdges, query), column = blockAt(picture.columnEdges, key);
  const names = `${blockName(queries, picture.rowEdges, row)} → ${blockName(keys, picture.columnEdges, column)}`;
  const about = !picture.exact ? "at most " : picture.bits === 8 ? "about " : "";
  const rest = view.map.hidden ? `; hidden share of the row ${number(picture.hidden[query], 3)}` : "";
  return `${names}: ${about}${number(valueAt(picture, row, column), 3)}${rest}`;
}

function handleMap(view) {
  const { mapBox } = view.parts;
  const point = (entry) => {
    if (sameList(entry, view.pointed)) return;
    view.pointed = entry;
    paintOver(view);
    say(view);
  };
  mapBox.onpointermove = (event) => {
    if (!view.drag) return point(entryAt(view, event));
    view.drag.to = entryAt(view, event, true);
    view.drag.far ||= Math.hypot(event.clientX - view.drag.x, event.clientY - view.drag.y) > DRAG;
    if (view.drag.far) view.pointed = null;
    paintOver(view);
  };
  mapBox.onpointerdown = (event) => {
    const entry = event.button === 0 && entryAt(view, event);
    if (!entry) return;
    mapBox.setPointerCapture(event.pointerId);
    view.drag = { from: entry, to: entry, x: event.clientX, y: event.clientY, far: false };
  };
  mapBox.onpointerup = ({ pointerType }) => {
    if (!view.drag) return;
    const { far, from } = view.drag, window = dragged(view);
    view.drag = null;
    if (far) return zoomTo(view, window);
    chooseCell(view, from);
    if (pointerType === "touch") view.parts.status.scrollIntoView({ block: "nearest" }); // a phone may end above the weight
  };
  mapBox.onpointercancel = () => { view.drag = null; paintOver(view); };
  mapBox.onpointerleave = () => { if (!view.drag) point(null); };
  mapBox.ondblclick = () => { if (view.zoom) zoomTo(view, null); };
  mapBox.onblur = () => point(null);
  mapBox.onkeydown = (event) => {
    const { q0, q1, k0, k1, picture } = view.map;
    const now = view.pointed ?? { query: q0, key: k0 };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return view.pointed && chooseCell(view, view.pointed);
    }
    const moved = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!moved) return;
    event.preventDefault();
    const next = (edges, at, by, low, high) => {
      const block = Math.min(Math.max(blockAt(edges, at) + (view.pointed ? by : 0), 0), edges.length - 2);
      return Math.min(Math.max(edges[block], low), high - 1);
    };
    point({ query: next(picture.rowEdges, now.query, moved[0], q0, q1), key: next(picture.columnEdges, now.key, moved[1], k0, k1) });
  };
}

// A block of several tokens has no single weight: a click on it looks closer.
function chooseCell(view, entry) {
  const { picture } = view.map;
  if (picture.exact) {
    view.cell = [...view.opened, entry.query, entry.key];
    paintOver(view);
    say(view);
    report(view);
    return;
  }
  const [, queries, , keys] = wholeOf(view.store.atlas);
  const around = (at, most) => {
    const low = Math.min(Math.max(at - CLOSER / 2, 0), Math.max(most - CLOSER, 0));
    return [low, Math.min(low + CLOSER, most)];
  };
  if (!view.waiting) zoomTo(view, [...around(entry.query, queries), ...around(entry.key, keys)]);
}
