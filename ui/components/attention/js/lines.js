// One head, or several, as lines from the queries on the left to the keys on the right.
const MOST_LINES = 3000, MOST_TOKENS = 1024, ROW = 21, TALLEST_ROW = 30, EDGE = 8, NUMBER = 46;

// Pictures of the selected heads, where every token has its own row and column.
function linePictures(view) {
  const pictures = view.heads.map(([layer, head]) => ({
    ...pictureOf(view.store, layer, head, view.zoom), colour: view.look.hues[view.colours.get(mapName(layer, head))],
  }));
  const [q0, q1, k0, k1] = view.zoom ?? wholeOf(view.store.atlas);
  return Math.max(q1 - q0, k1 - k0) > MOST_TOKENS ? [] : pictures.filter(({ picture }) => picture.exact);
}

function lineGeometry(view) {
  const [q0, q1, k0, k1] = view.zoom ?? wholeOf(view.store.atlas), { context } = view.measuring;
  const width = Math.max(view.parts.linesBox.clientWidth, 240), rows = Math.max(q1 - q0, k1 - k0);
  const tall = Math.min(Math.max(Math.floor((STAGE_HEIGHT - 2 * EDGE - 24) / rows), ROW), TALLEST_ROW);
  context.font = tokenFont(view);
  const longest = (axis, low, high) =>
    axis.labels.slice(low, high).reduce((most, text) => Math.max(most, context.measureText(text).width), 0) + 14;
  const most = width * 0.3, { queries, keys } = view.store.atlas;
  const left = Math.min(longest(queries, q0, q1), most), right = Math.min(longest(keys, k0, k1), most);
  const numbers = NUMBER * Math.min(view.heads.length, 3);
  const from = left + 8, to = width - right - numbers - 22;
  return { q0, q1, k0, k1, width, tall, left, right, numbers, from, to, high: rows * tall + 2 * EDGE + 24 };
}

const lineY = (form, index, first) => EDGE + 24 + (index - first + 0.5) * form.tall;

function paintLines(view) {
  const form = (view.lines = lineGeometry(view));
  const { linesBox, strands, columns, linesNote } = view.parts;
  const pictures = linePictures(view);
  linesNote.hidden = pictures.length > 0;
  columns.hidden = strands.hidden = !pictures.length;
  view.parts.stage.dataset.lines = "0";
  if (!pictures.length) return;
  layTokens(view, form);
  columns.style.height = `${form.high}px`;
  const { context } = fitted(strands, form.width, STAGE_HEIGHT - 2);
  const active = activeTokens(view);
  const found = pictures.flatMap((each) => strongest(view, form, each, active));
  found.sort((one, other) => one.weight - other.weight);
  const top = Math.max(...pictures.map(({ picture }) => view.own ? peakOf(picture) : Math.max(picture.scale, view.store.atlas.scale)), 0);
  context.lineCap = "round";
  for (const { query, key, weight, colour } of found) {
    const y0 = lineY(form, query, form.q0) - linesBox.scrollTop, y1 = lineY(form, key, form.k0) - linesBox.scrollTop;
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
  writeSums(view, form, pictures, active);
  view.parts.stage.dataset.lines = String(found.length);
  view.parts.stage.dataset.shown = view.heads.map((head) => head.join(".")).join(" ");
  view.parts.stage.dataset.full = String(!pictures.some(({ wanting }) => wanting));
}

// Tokens whose lines are drawn: the one looked at, else those that are pinned, else all.
function activeTokens(view) {
  const names = view.looked ? [view.looked] : [...view.pins];
  if (!names.length) return null;
  const side = (letter) => new Set(names.filter((name) => name[0] === letter).map((name) => Number(name.slice(1))));
  return { queries: side("q"), keys: side("k") };
}

// What a line of full strength stands for: a whole row, or the largest length.
const lineTop = (view) => (view.store.atlas.weights === "value-weighted" ? view.store.atlas.scale : 1);

// Lines above the threshold of which something is seen; of very many the strongest.
function strongest(view, form, { picture, colour }, active) {
  const { scrollTop } = view.parts.linesBox, { rowEdges, columnEdges, codes, columns, levels } = picture;
  const least = Math.max(1, Math.sqrt((view.threshold * lineTop(view)) / picture.scale) * levels);
  const seen = (index, first) => {
    const y = lineY(form, index, first) - scrollTop;
    return y >= 0 && y <= STAGE_HEIGHT;
  };
  const found = [], counts = new Uint32Array(256), shift = picture.bits - 8;
  for (let query = form.q0; query < form.q1; query++) {
    const whole = !active || active.queries.has(query);
    if (!whole && !active.keys.size) continue;
    const start = (query - rowEdges[0]) * columns - columnEdges[0], near = seen(query, form.q0);
    for (let key = form.k0; key < form.k1; key++) {
      const code = codes[start + key];
      if (code < least || (!whole && !active.keys.has(key)) || (!near && !seen(key, form.k0))) continue;
      found.push({ query, key, code, colour, weight: picture.scale * shareOf(picture, code) });
      counts[code >> shift]++;
    }
  }
  if (found.length <= MOST_LINES) return found;
  let step = 255;
  for (let sum = counts[255]; step > 0 && sum < MOST_LINES; sum += counts[step]) step--;
  return found.filter(({ code }) => code >> shift >= step);
}

// Beside each token what the active ones on the other side give it, or take from it, together.
function writeSums(view, form, pictures, active) {
  const write = (letter, first, end, others, sumOf) => {
    for (let index = first; index < end; index++) {
      const { sums } = view.tokenAt.get(`${letter}${index}`);
      const shown = active && others.size ? pictures.slice(0, 3) : [];
      while (sums.length > shown.length) sums.pop().remove();
      shown.forEach(({ picture, colour }, place) => {
        const value = sumOf(picture, index);
        const least = value < 0.0005;
        sums[place] ??= view.tokenAt.get(`${letter}${index}`).add();
        sums[place].textContent = least ? "" : number(value, 3);
        sums[place].style.setProperty("--mark", pictures.length > 1 ? colour : view.look.text);
      });
    }
  };
  const sum = (indexes, value) => [...indexes].reduce((total, index) => total + value(index), 0);
  write("k", form.k0, form.k1, active?.queries ?? new Set(), (picture, key) =>
    sum(active.queries, (query) => mapValue(picture, query, key)));
  write("q", form.q0, form.q1, active?.keys ?? new Set(), (picture, query) =>
    sum(active.keys, (key) => mapValue(picture, query, key)));
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
      row.append(chip);
      const sums = [], add = () => {
        const each = made("span", "sum");
        if (letter === "q") chip.after(each); else row.append(each);
        return each;
      };
      view.tokenAt.set(chip.dataset.token, { chip, sums, add });
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
