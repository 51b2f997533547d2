// One head, or several, as lines from the queries on the left to the keys on the right.
const MOST_LINES = 3000, MOST_TOKENS = 1024, ROW = 21, SLIDE_ROW = 14, TALLEST_ROW = 72, EDGE = 8, HEAD = 24;

// Pictures of the selected heads, where every token has its own row and column.
function linePictures(view) {
  const pictures = view.heads.map(([layer, head]) => ({
    ...pictureOf(view.store, layer, head, view.zoom), colour: view.look.hues[view.colours.get(mapName(layer, head))],
  }));
  const [q0, q1, k0, k1] = view.zoom ?? wholeOf(view.store.atlas);
  return Math.max(q1 - q0, k1 - k0) > MOST_TOKENS ? [] : pictures.filter(({ picture }) => picture.exact);
}

function lineGeometry(view, { width, height }) {
  const [q0, q1, k0, k1] = view.zoom ?? wholeOf(view.store.atlas), { context } = view.measuring;
  const rows = Math.max(q1 - q0, k1 - k0);
  const least = getComputedStyle(view.root).getPropertyValue("--no-controls") ? SLIDE_ROW : ROW; // there nothing is scrolled
  const tall = Math.min(Math.max(Math.floor((height - 2 * EDGE - HEAD) / rows), least), TALLEST_ROW);
  context.font = tokenFont(view);
  const longest = (axis, low, high) =>
    axis.labels.slice(low, high).reduce((most, text) => Math.max(most, context.measureText(text).width), 0) + 14;
  const most = width * 0.3, { queries, keys } = view.store.atlas;
  const left = Math.min(longest(queries, q0, q1), most), right = Math.min(longest(keys, k0, k1), most);
  const from = left + 8, to = width - right - 22;
  return { q0, q1, k0, k1, width, tall, left, right, from, to, high: rows * tall + 2 * EDGE + HEAD };
}

const lineY = (form, index, first) => EDGE + HEAD + (index - first + 0.5) * form.tall;

function paintLines(view) {
  const { strands, columns, linesNote, stage } = view.parts, { width, height } = stageSize(view);
  const form = (view.lines = lineGeometry(view, { width: width - 2, height: height - 2 }));
  const pictures = linePictures(view);
  linesNote.hidden = pictures.length > 0;
  columns.hidden = strands.hidden = !pictures.length;
  stage.dataset.lines = "0";
  if (!pictures.length) return;
  layTokens(view, form);
  columns.style.height = `${form.high}px`;
  const { context } = fitted(strands, form.width, height - 2);
  strands.style.marginBottom = `${2 - height}px`;
  const active = activeTokens(view), top = view.parts.linesBox.scrollTop;
  const found = drawLines(view, context, form, pictures, active, { top, height });
  writeSums(view, form, pictures, active);
  stage.dataset.lines = String(found);
  stage.dataset.shown = view.heads.map((head) => head.join(".")).join(" ");
  stage.dataset.full = String(!pictures.some(({ wanting }) => wanting));
}

// The lines that lie in a part of the whole height, the weak ones first; how many there are.
function drawLines(view, context, form, pictures, active, visible) {
  const found = pictures.flatMap((each) => strongest(view, form, each, active, visible));
  found.sort((one, other) => one.weight - other.weight);
  const top = view.scale === "fixed" && hasFixedScale(view) ? 1 : Math.max(...pictures.map(({ picture }) => peakOf(picture)), 0);
  context.lineCap = "round";
  for (const { query, key, weight, colour } of found) {
    const y0 = lineY(form, query, form.q0) - visible.top, y1 = lineY(form, key, form.k0) - visible.top;
    const strong = placeOf(weight, top, view.lifted);
    context.strokeStyle = colour;
    context.globalAlpha = Math.max(0.03, strong);
    context.lineWidth = 1 + 2 * strong;
    context.beginPath();
    context.moveTo(form.from, y0);
    const bend = (form.to - form.from) * 0.35;
    context.bezierCurveTo(form.from + bend, y0, form.to - bend, y1, form.to, y1);
    context.stroke();
  }
  context.globalAlpha = 1;
  divideTokens(view, context, form, visible.top);
  return found.length;
}

// Where the second text of a pair begins, between the tokens of either side.
function divideTokens(view, context, form, top) {
  const { queries, keys } = view.store.atlas;
  context.save();
  context.strokeStyle = view.look.text;
  context.lineWidth = 1.5;
  context.setLineDash([5, 3]);
  const sides = [[queries, form.q0, form.q1, 0, form.from - 4], [keys, form.k0, form.k1, form.to + 4, form.width - 16]];
  for (const [axis, first, end, from, to] of sides) {
    if (!(axis.second > first && axis.second < end)) continue;
    const y = Math.round(lineY(form, axis.second, first) - form.tall / 2 - top) - 0.5;
    context.beginPath();
    context.moveTo(from, y);
    context.lineTo(to, y);
    context.stroke();
  }
  context.restore();
}

// The same lines into a file, with the tokens as text and the sums of those that are pinned.
function linesInto(pen, view, size) {
  const form = lineGeometry(view, size), pictures = linePictures(view), active = activeTokens(view), { look } = view;
  if (!pictures.length) return null;
  drawLines(view, pen, form, pictures, active, { top: 0, height: form.high });
  pen.textBaseline = "middle";
  const side = (letter, axis, first, end, x, room, align, title) => {
    pen.textAlign = align;
    pen.font = wordFont(view);
    pen.fillStyle = look.muted;
    pen.fillText(title, x, EDGE + HEAD / 2);
    for (let index = first; index < end; index++) {
      const special = axis.marked?.has(index) ?? false, pinned = view.pins.has(`${letter}${index}`);
      pen.font = tokenFont(view, special);
      pen.fillStyle = special && !pinned ? look.muted : look.text;
      pen.fillText(cut(pen, tokenName(axis, index), room), x, lineY(form, index, first));
      sumsOf(pictures, active, letter, index).forEach(({ text, colour }, place) => {
        pen.font = wordFont(view, TICK);
        pen.fillStyle = pictures.length > 1 ? colour : look.text;
        const [from, way] = letter === "q" ? [form.from + 4, 1] : [form.to - 4, -1];
        pen.textAlign = way > 0 ? "left" : "right";
        if (!text) return;
        const ink = pen.fillStyle, near = from + way * place * 44;
        pen.fillStyle = look.paper;
        pen.fillRect(way > 0 ? near - 2 : near - 42, lineY(form, index, first) - 9, 44, 18);
        pen.fillStyle = ink;
        pen.fillText(text, from + way * place * 44, lineY(form, index, first));
        pen.textAlign = align;
      });
    }
  };
  const { queries, keys } = view.store.atlas;
  side("q", queries, form.q0, form.q1, form.from - 6, form.left, "right", "query");
  side("k", keys, form.k0, form.k1, form.to + 6, form.right, "left", "key");
  return { height: form.high };
}

// Tokens whose lines are drawn: the one looked at, else those that are pinned, else all.
function activeTokens(view) {
  const names = view.looked ? [view.looked] : [...view.pins];
  if (!names.length) return null;
  const side = (letter) => new Set(names.filter((name) => name[0] === letter).map((name) => Number(name.slice(1))));
  return { queries: side("q"), keys: side("k") };
}

// What lines are left out in shares of: a whole row, or the largest length of a picture.
const lineTop = (view, picture) => (view.store.atlas.weights === "value-weighted" ? peakOf(picture) : 1);

// Lines above the threshold of which a part is visible; of very many the strongest.
function strongest(view, form, { picture, colour }, active, { top, height }) {
  const { rowEdges, columnEdges, codes, columns, levels } = picture;
  const least = Math.max(1, Math.sqrt((view.threshold * lineTop(view, picture)) / picture.scale) * levels);
  const isVisible = (index, first) => {
    const y = lineY(form, index, first) - top;
    return y >= 0 && y <= height;
  };
  const found = [], counts = new Uint32Array(256), shift = picture.bits - 8;
  for (let query = form.q0; query < form.q1; query++) {
    const whole = !active || active.queries.has(query);
    if (!whole && !active.keys.size) continue;
    const start = (query - rowEdges[0]) * columns - columnEdges[0], near = isVisible(query, form.q0);
    for (let key = form.k0; key < form.k1; key++) {
      const code = codes[start + key];
      if (code < least || (!whole && !active.keys.has(key)) || (!near && !isVisible(key, form.k0))) continue;
      found.push({ query, key, code, colour, weight: picture.scale * shareOf(picture, code) });
      counts[code >> shift]++;
    }
  }
  if (found.length <= MOST_LINES) return found;
  let step = 255;
  for (let sum = counts[255]; step > 0 && sum < MOST_LINES; sum += counts[step]) step--;
  return found.filter(({ code }) => code >> shift >= step);
}

// What the active tokens on the other side give this one, or take from it, together: a number for each of three heads.
function sumsOf(pictures, active, letter, index) {
  const others = letter === "k" ? active?.queries : active?.keys;
  if (!others?.size) return [];
  return pictures.slice(0, 3).map(({ picture, colour }) => {
    let sum = 0;
    for (const other of others) sum += letter === "k" ? mapValue(picture, other, index) : mapValue(picture, index, other);
    return { text: sum < 0.0005 ? "" : number(sum, 3), colour };
  });
}

function writeSums(view, form, pictures, active) {
  const write = (letter, first, end) => {
    for (let index = first; index < end; index++) {
      const { sums } = view.tokenAt.get(`${letter}${index}`), shown = sumsOf(pictures, active, letter, index);
      while (sums.childElementCount > shown.length) sums.lastChild.remove();
      while (sums.childElementCount < shown.length) sums.append(made("span", "sum"));
      shown.forEach(({ text, colour }, place) => {
        const each = sums.children[place];
        each.textContent = text;
        each.style.setProperty("--mark", pictures.length > 1 ? colour : view.look.text);
      });
    }
  };
  write("k", form.k0, form.k1);
  write("q", form.q0, form.q1);
  for (const [name, { chip }] of view.tokenAt) {
    chip.setAttribute("aria-pressed", String(view.pins.has(name)));
    const side = name[0] === "q" ? active?.queries : active?.keys, other = name[0] === "q" ? active?.keys : active?.queries;
    chip.classList.toggle("quiet", Boolean(active) && Boolean(side?.size) && !other?.size && !side.has(Number(name.slice(1))));
  }
}

// The tokens are buttons; their text is text, whatever it spells.
function layTokens(view, form) {
  const laid = JSON.stringify([view.store.identity, form, view.look.name]);
  if (view.laidTokens === laid) return;
  view.laidTokens = laid;
  const { columns } = view.parts;
  const focused = columns.getRootNode().activeElement?.dataset?.token;
  columns.replaceChildren();
  view.tokenAt = new Map();
  const column = (letter, axis, first, end, title, place) => {
    const special = (axis.marked ??= new Set(axis.special));
    const heading = made("div", `column-title ${letter}`, title);
    Object.assign(heading.style, place);
    columns.append(heading);
    for (let index = first; index < end; index++) {
      const row = made("div", `token-row ${letter}`), chip = made("button", "token", tokenName(axis, index));
      Object.assign(row.style, { top: `${lineY(form, index, first) - form.tall / 2}px`, height: `${form.tall}px`, ...place });
      chip.style.width = `${letter === "q" ? form.left : form.right}px`;
      chip.classList.toggle("special", special.has(index));
      chip.dataset.token = `${letter}${index}`;
      chip.tabIndex = -1;
      chip.setAttribute("aria-label", `${title} ${index}, ${tokenName(axis, index)}${special.has(index) ? ", special token" : ""}`);
      const sums = made("span", "sums");
      row.append(chip, sums);
      view.tokenAt.set(chip.dataset.token, { chip, sums });
      columns.append(row);
    }
  };
  const { queries, keys } = view.store.atlas;
  column("q", queries, form.q0, form.q1, "query", { left: "0", width: `${form.from - 2}px` });
  column("k", keys, form.k0, form.k1, "key", { left: `${form.to + 4}px`, width: `${form.width - form.to - 18}px` });
  const stop = view.tokenAt.get(focused) ?? view.tokenAt.values().next().value;
  if (stop) stop.chip.tabIndex = 0;
  if (focused) stop?.chip.focus();
}

function handleLines(view) {
  const { linesBox, columns } = view.parts;
  const nameOf = (event) => event.target.closest?.(".token")?.dataset.token;
  const look = (name) => {
    if (view.looked === name) return;
    view.looked = name;
    paintLines(view);
    say(view);
  };
  columns.onmouseover = (event) => look(nameOf(event));
  columns.onmouseleave = () => look(undefined);
  columns.onfocusin = (event) => { if (event.target.matches(":focus-visible")) look(nameOf(event)); };
  columns.onfocusout = () => look(undefined);
  columns.onclick = (event) => {
    const name = nameOf(event);
    if (!name) return;
    if (!view.pins.delete(name)) view.pins.add(name);
    paintLines(view);
    say(view);
    report(view);
  };
  linesBox.onscroll = () => paintLines(view);
  columns.onkeydown = (event) => {
    const name = nameOf(event), form = view.lines;
    if (!name) return;
    const index = Number(name.slice(1)), side = name[0];
    const [first, end] = side === "q" ? [form.q0, form.q1] : [form.k0, form.k1];
    const clamp = (at, low, high) => Math.min(Math.max(at, low), high - 1);
    const there = {
      ArrowUp: `${side}${clamp(index - 1, first, end)}`, ArrowDown: `${side}${clamp(index + 1, first, end)}`,
      Home: `${side}${first}`, End: `${side}${end - 1}`,
      ArrowRight: `k${clamp(index, form.k0, form.k1)}`, ArrowLeft: `q${clamp(index, form.q0, form.q1)}`,
    }[event.key];
    if (!there) return;
    event.preventDefault();
    view.tokenAt.get(name).chip.tabIndex = -1;
    const { chip } = view.tokenAt.get(there);
    chip.tabIndex = 0;
    chip.focus();
  };
}
