// An opened part: the heads of a layer, the ribbons of the chosen token, strips; below them one head, number by number.
function drawBox(view, svg) {
  const { header, plan, path, look } = view, { box, inside } = plan;
  svg.append(el("rect", { ...place(box), rx: 8, fill: look.paper, stroke: view.accent, "stroke-width": 1.5 }));
  const name = path.open === "embeddings" ? "embeddings" : `layer ${path.open}`;
  const close = el("g", {}, el("rect", { x: box.x + box.w - 66, y: box.y + 6, width: 56, height: 24, rx: 5, fill: look.paper, stroke: look.neutral }),
    label(view, "close", box.x + box.w - 38, box.y + 23, { anchor: "middle", fill: look.muted }));
  svg.append(label(view, name, box.x + 16, box.y + 24, { weight: 700, size: 16, fill: view.accent }), button(close, `Close ${name}`, () => view.open("")));
  close.classList.add("close");
  const stage = header.stages.find((each, index) => (path.open === "embeddings" ? each.kind === "embeddings" : each.kind === "layer" && String(layerAt(header.stages, index)) === path.open));
  const isLayer = path.open !== "embeddings", switches = view.send && header.measures.length && isLayer, w = textWidth(`switch off ${name}`) + 20;
  const room = box.w - (switches ? w + 122 : 104) - textWidth(name, 16, 700), at = Number(path.open) * header.labels.length + path.token;
  if (switches) drawSwitch(view, svg, `layer-${path.open}`, SWITCH, name, name, { x: box.x + box.w - w - 74, y: box.y + 6, w });
  const changed = view.now && isLayer, { key } = view.measure() ?? {}, change = changed && shadingOf(view).words(at);
  const forms = !changed ? buildsOf(stage) : change ? [`${key}, now − before: ${change}`, `${key} ${change}`] : [view.measure(), { ...view.measure(), name: key }].map((each) => measureWords(view, each, at));
  if (room > 60 && (changed || textWidth(forms.at(-1)) <= room)) svg.append(label(view, fitting(forms, room), box.x + 28 + textWidth(name, 16, 700), box.y + 24, { fill: changed ? look.text : look.muted }));
  if (header.missing) return drawUnrun(view, svg, stage, isLayer);
  if (path.open === "embeddings") drawEmbeddings(view, svg);
  else drawHeads(view, svg, stage);
}

// How a stage is built, in ever fewer words.
function buildsOf({ kind, build, steps, numel, note }) {
  const words = build ? build.split(", ") : steps.map(({ name }) => name), shared = kind === "layer" && note && !numel ? ["shared with an earlier layer"] : [];
  const counts = [numel.toLocaleString("en-US"), `${(numel / 1e6).toFixed(1)} M`, ""], last = shared.length ? ["shared"] : kind === "layer" ? counts : [""];
  return [...[[...words, ...shared], [words[0], ...shared], shared.length ? shared : words.slice(-1)].map((each) => each.join(", ")), ...last];
}

// Of a model that is not run: how the part is built, and why there are no numbers.
function drawUnrun(view, svg, stage, isLayer) {
  const { header, plan, look } = view, { box, inside: { heads }, footY, stepsY } = plan, room = box.w - 32, y = isLayer ? footY + 14 : heads.y + 18;
  const facts = isLayer ? [] : [stage.steps.map(({ name }) => name).join(" → "), `${stage.numel.toLocaleString("en-US")} parameters`].filter(Boolean);
  const lines = [...facts.flatMap((each) => wrapped(each, room, 3)), ...wrapped(header.missing, room, isLayer ? Math.floor((stepsY - footY) / 20) : 9)];
  lines.forEach((line, at) => svg.append(label(view, line, box.x + 16, y + 20 * at, { fill: look.muted, className: "label unrun" })));
  if (!isLayer) return;
  svg.append(label(view, header.heads === 1 ? "1 head" : header.heads ? `${header.heads} heads` : "no heads", heads.x, heads.y - 4, { fill: look.muted }));
  for (let head = 0; head < header.heads; head++) {
    const { x: left, y: top } = headPlace(heads, head);
    svg.append(el("rect", { x: left, y: top, width: heads.size, height: heads.size, fill: "none", stroke: look.neutral, class: "unrun" }));
    if (heads.size > 20) svg.append(label(view, String(head), left + heads.size / 2, top + heads.size + 14, { anchor: "middle", fill: look.muted }));
  }
  drawSteps(view, svg, stage);
}

const headPlace = ({ x, y, columns, size }, head) => ({ x: x + (head % columns) * (size + 10), y: y + 6 + Math.floor(head / columns) * (size + 20) });

const place = ({ x, y, w, h }) => ({ x, y, width: w, height: h });

function drawWaiting(view, svg, x, y) {
  const { header, plan } = view, room = (plan.box?.w ?? plan.width) - 40, own = header.labels[header.path.token];
  const words = view.send ? "one moment …" : `This file has the parts of “${own}” alone: choose that token again.`;
  wrapped(words, room, 3).forEach((line, at) => svg.append(label(view, line, x, y + 20 * at, { fill: view.look.muted })));
}

// A token within a sentence, whatever the direction of its letters.
const within = (text) => (/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text) ? `\u2068${text}\u2069` : text);

function drawEmbeddings(view, svg) {
  const { plan, path, look, header } = view, { box } = plan, part = view.parts.get(partName({ kind: "embeddings", token: path.token }));
  const x = box.x + 16, w = box.w - 32;
  if (!part) return drawWaiting(view, svg, x, box.y + 70);
  const limit = Math.max(...part.vectors.map(({ values }) => peak(values))), step = Math.min(70, (plan.body - 40) / part.vectors.length);
  svg.append(label(view, cut(`How the vector of “${header.labels[path.token]}” is made`, w), x, box.y + 54, { weight: 600 }));
  part.vectors.forEach(({ name, values }, at) => {
    const y = box.y + 72 + at * step, sign = at === 0 ? "" : name === "sum" || name.startsWith("after") || name === "projected" ? "= " : "+ ";
    svg.append(explained(label(view, cut(`${sign}${name}: ${values.length} numbers, length ${short(Math.hypot(...values))}`, w), x, y + 12, { fill: look.muted }), [name]));
    svg.append(strip(view, binned(values, 64), limit, { x, y: y + 18, width: w, height: Math.max(14, Math.min(26, step - 34)) }, { width: values.length }));
  });
  if (part.note) wrapped(part.note, w, 2).forEach((line, at) => svg.append(label(view, line, x, box.y + box.h - 30 + 18 * at, { fill: look.muted })));
}

function drawHeads(view, svg, stage) {
  const { plan, path, look, header } = view, { box, inside } = plan, layer = Number(path.open);
  const part = openPart(view);
  const off = switchedOff(view), isLayer = off.words && off.head === null;
  if (isLayer) wrapped(off.words, box.w - 32, 4).forEach((line, at) => svg.append(label(view, line, box.x + 16, box.y + 64 + 20 * at, { className: "label off" })));
  if (isLayer) return drawLayerStrips(view, svg, {}, layer);
  if (!header.heads) {
    wrapped(header.attention_note, box.w - 32, 4).forEach((line, at) => svg.append(label(view, line, box.x + 16, box.y + 64 + 20 * at, { fill: look.muted })));
    if (header.strips) drawLayerStrips(view, svg, part ?? {}, layer);
    return drawSteps(view, svg, stage);
  }
  if (!part) return drawWaiting(view, svg, box.x + 16, box.y + 70);
  drawThumbnails(view, svg, part);
  if (off.words) wrapped(off.words, inside.ribbons.w + inside.ribbons.names, 6).forEach((line, at) => svg.append(label(view, line, inside.ribbons.x - inside.ribbons.names, inside.heads.y + 18 + 20 * at, { className: "label off" })));
  else drawRibbons(view, svg, part);
  if (path.head !== null) return drawHead(view, svg, layer);
  drawLayerStrips(view, svg, part, layer);
  drawSteps(view, svg, stage);
}

// The map of a head; where it has more cells than its place has pixels, the largest weight of each block of cells.
function thumbnail({ look }, part, head, place) {
  const { values, shape: [, rows, columns] } = part.thumbnails, from = head * rows * columns, block = Math.max(1, Math.ceil(Math.max(rows, columns) / place.width));
  const colours = (look.weightColours ??= Array.from({ length: 256 }, (_, value) => colourAt(look.scale, (value / 255) ** 2)));
  const colour = (row, column) => {
    let largest = 0;
    for (let at = row * block; at < Math.min(rows, (row + 1) * block); at++) {
      for (let other = column * block; other < Math.min(columns, (column + 1) * block); other++) largest = Math.max(largest, values[from + at * columns + other]);
    }
    return colours[largest];
  };
  return cachedPicture(part, `${look.name} ${head} ${block}`, () => picture(Math.ceil(rows / block), Math.ceil(columns / block), colour, {}), place);
}

function drawThumbnails(view, svg, part) {
  const { plan, path, look } = view, { heads } = plan.inside, [count] = part.thumbnails.shape;
  const { head: off } = switchedOff(view);
  svg.append(explained(label(view, count === 1 ? "1 head" : `${count} heads`, heads.x, heads.y - 4, { fill: look.muted }), ["head"]));
  for (let head = 0; head < count; head++) {
    const { x, y } = headPlace(heads, head);
    const chosen = head === path.head, { value, frame } = headEffect(view, Number(path.open), head);
    const node = el("g", {},
      head === off ? null : thumbnail(view, part, head, { x, y, width: heads.size, height: heads.size }),
      el("rect", { x, y, width: heads.size, height: heads.size, fill: head === off ? look.paper : "none", stroke: frame, "stroke-width": Number.isFinite(value) ? 4 : chosen ? 3 : 1 }));
    const words = Number.isFinite(value) && heads.size > 60 ? `${head}: ${fixed(value, 3)}` : String(head);
    if (head === off) {
      node.append(el("path", { d: `M${x} ${y} l${heads.size} ${heads.size} m0 ${-heads.size} l${-heads.size} ${heads.size}`, stroke: look.text, "stroke-width": 2, class: "off" }));
    }
    if (heads.size > 20) node.append(label(view, words, x + heads.size / 2, y + heads.size + 14, { anchor: "middle", weight: chosen ? 700 : 400 }));
    svg.append(button(node, `Head ${head} of layer ${path.open}${Number.isFinite(value) ? `, change without it ${fixed(value, 4)}` : ""}`, () => view.openHead(head), chosen));
  }
}

// How much the number changes without a head, where that is shown, and the colour of the head's frame.
function headEffect({ back, header, look, path, accent }, layer, head) {
  const effects = back && header.ending?.heads, value = effects ? effects.values[layer * effects.shape[1] + head] : NaN;
  if (!Number.isFinite(value)) return { value: NaN, frame: head === path.head ? accent : look.neutral };
  return { value, frame: css(colourAt(look.supporting, 0.5 + value / peak(effects.values.filter(Number.isFinite)) / 2)) };
}

function drawRibbons(view, svg, part) {
  const { plan, path, look, header } = view, { ribbons } = plan.inside;
  const { keys, rest, sink } = view.ribbons;
  const who = path.head === null ? (header.heads === 1 ? "" : `mean of the ${switchedOff(view).head === null ? "" : "other "}heads: `) : `head ${path.head}: `;
  const left = ribbons.x, right = ribbons.x + ribbons.w - 10, tall = 64, colour = look.parts.attention;
  const highest = plan.inside.heads.y + 4, lowest = plan.top + plan.body; // between the title and the parts below
  const between = (key, thick) => clamp(laneAt(view, key).mid, highest + thick / 2, lowest - thick / 2), to = between(path.token, tall);
  const word = `“${header.labels[path.token]}”`, does = view.ribbon === "weighted" ? `what ${word} takes up` : `where ${word} looks`;
  const titles = [`${who}${does}`, does, path.head === null ? "mean of heads" : `head ${path.head}`, path.head === null ? "mean" : ""];
  const start = plan.inside.heads.x + textWidth(`${header.heads} heads`) + 16;
  svg.append(explained(label(view, fitting(titles, right - start, 600), right, plan.inside.heads.y - 4, { weight: 600, anchor: "end" }), lookTerms(view)));
  const shares = new Map(keys.map(({ key, share }) => [key, share])), middle = (key) => between(key, (shares.get(key) ?? 0) * tall);
  const places = labelPlaces(view, middle, highest + 8);
  const taken = keys.map(({ key }) => places.get(key) ?? places.get(path.token)); // of a piece of the same word
  const grey = [[restName(view), rest, []], ["sink", sink, ["attention sink"]]].filter(([, share]) => share > 0.0005).map(([name, share, terms]) => {
    const y = freePlace(taken, lowest - 8);
    taken.push(y);
    return { name, share, terms, y, from: clamp(y, highest + (share * tall) / 2, lowest - (share * tall) / 2) };
  });
  let at = to - tall / 2;
  const sorted = [...[...keys].sort((one, other) => one.key - other.key).map((each) => ({ ...each, from: middle(each.key) })), ...grey].sort((one, other) => one.from - other.from); // so that none crosses another
  for (const { key, share, name, terms, y, from } of sorted) {
    const thick = share * tall, isRest = key === undefined, fill = isRest ? look.neutral : colour;
    const ribbon = el("path", {
      d: band(left, from - thick / 2, right, at, thick), fill, "fill-opacity": isRest || isKey(view, key) ? 1 : 0.75, stroke: fill, "stroke-width": 0.5, class: isRest ? "ribbon rest" : "ribbon", "data-share": share,
    });
    at += thick;
    const node = el("g", {}, ribbon), place = isRest ? y : places.get(key) ?? places.get(path.token);
    svg.append(path.head === null || isRest ? node : button(node, `Key ${key}: ${wordAt(view, key)}, ${fixed(share)}`, () => view.openKey(key), isKey(view, key)));
    if (ribbons.names) svg.append(label(view, cut(isRest ? name : wordAt(view, key), ribbons.names + (isRest ? 6 : -6)), left - 64, place + 5, { anchor: "end", fill: look.muted }));
    else if (isRest && ribbons.w > 110) svg.append(label(view, name, right, Math.min(Math.max(place + 5, at + 14), lowest - 2), { anchor: "end", fill: look.muted, halo: true }));
    const number = label(view, fixed(share), left - 20, place + 5, { anchor: "end", weight: share >= 0.1 ? 700 : 400 });
    svg.append(isRest ? explained(number, terms, name) : number, leader(view, left - 17, place, left - 2, from));
  }
  svg.append(el("rect", { x: right, y: to - tall / 2, width: 7, height: tall, fill: colour, rx: 2 }));
}

// A band of even height from the left to the right, by the heights of its upper edge.
function band(left, from, right, to, thick) {
  const centre = (left + right) / 2;
  return `M${left} ${from} C${centre} ${from} ${centre} ${to} ${right} ${to} V${to + thick} C${centre} ${to + thick} ${centre} ${from + thick} ${left} ${from + thick} Z`;
}

// Where one more label stands: below the others, or in the lowest gap between two of them.
function freePlace(taken, lowest, distance = 17) {
  const sorted = [...taken].sort((one, other) => one - other), end = (at) => sorted[at + 1] ?? lowest + distance;
  const above = sorted.findLast((y, at) => end(at) - y >= 2 * distance);
  return above === undefined ? sorted.at(-1) + distance : Math.min(above + 22, (above + end(sorted.lastIndexOf(above))) / 2);
}

const lookTerms = ({ ribbon }) => [ribbon === "weighted" ? "value-weighted attention" : "attention", "ribbon"];

// Whether a ribbon is that of the chosen key.
const isKey = ({ path, laneOf }, key) => path.key !== null && laneOf[key] === laneOf[path.key];

const restName = ({ ribbons }, count = ribbons.others) => `${count} ${count === 1 ? "other" : "others"}`;

// What the blocks of an opened layer add, and the activations inside its feed-forward block, as far as they are known.
function addedVectors({ header: { stages }, path }, { output, activations, feedForward } = {}) {
  const { steps } = stages.find(({ kind }, index) => kind === "layer" && String(layerAt(stages, index)) === path.open) ?? { steps: [] };
  const first = steps.some(({ name }) => name === "mixing of tokens") ? "mixing" : "attention";
  const inside = activations && `inside feed-forward, ${activations.values.length.toLocaleString("en-US")}`;
  const all = [[[], [`${first} adds`, first], output], [[inside], ["inside feed-forward", "inside f.-f."], activations], [[], ["feed-forward adds", "f.-f. adds"], feedForward]];
  return all.filter(([, , vector]) => vector).map(([long, names, vector]) => ({ terms: vector === output ? STEP_TERMS[first] ?? [] : ["feed-forward"], forms: [...[...long, names[0]].map((name) => `${name}, up to`), ...names].map((name) => `${name} ±${short(peak(vector.values))}`), vector }));
}

// What enters the layer, what its blocks add, what leaves it, from left to right.
function drawLayerStrips(view, svg, part, layer) {
  const { header, plan, path, look } = view, { box } = plan, bins = view.strips().shape[2], y = plan.footY;
  const turn = (view.now ?? header).measures.find(({ key }) => key === "turn");
  const scale = `±${short(view.strips().scale)}`, named = (words) => [`${words}, colours end at ${scale}`, `${words}, ${scale}`];
  const turned = turn ? `comes out, turned by ${fixed(turn.values[layer * header.labels.length + path.token])}` : "comes out";
  const state = (at) => (place) => stateStrip(view, at, path.token, place);
  const rows = [{ forms: named("goes in"), made: state(layer), terms: ["hidden state"] }, ...addedVectors(view, part), { forms: [...named(turned), ...named("comes out")], made: state(layer + 1), terms: ["hidden state", ...(turn ? ["turn of the vector"] : [])] }];
  const columns = Math.ceil(rows.length / Math.ceil(rows.length / plan.abreast)), w = (box.w - 32 - 16 * (columns - 1)) / columns;
  rows.forEach(({ forms, terms, made, ...added }, at) => {
    const place = { x: box.x + 16 + (at % columns) * (w + 16), y: y + 12 + Math.floor(at / columns) * STRIP_ROW, width: w, height: 20 };
    svg.append(explained(label(view, cut(fitting(forms, w), w), place.x, place.y - 6, { fill: look.muted }), terms), made ? made(place) : addedStrip(view, added, bins, place));
  });
}

const addedStrip = (view, { vector }, bins, place) => strip(view, binned(vector.values, bins), peak(vector.values), place, { width: vector.values.length, cache: [vector, bins] });

// Query, key, their products, the weight, the mix.
function drawHead(view, svg, layer) {
  const { plan, path, look, header } = view, { box } = plan, y = plan.footY + 12, x = box.x + 16, w = box.w - 32;
  svg.append(el("line", { x1: x, x2: x + w, y1: y - 8, y2: y - 8, stroke: look.grid }));
  const part = view.parts.get(partName({ kind: "head", layer, head: path.head, token: path.token, key: path.key })), gone = Boolean(switchedOff(view).words);
  if (plan.mode === "wide" && (part || gone)) drawSwitch(view, svg, `head-${layer}.${path.head}`, SWITCH, `head ${path.head}`, `head ${path.head} of layer ${layer}`, { x: x + w - 130, y: y - 4, w: 130 });
  if (gone) return;
  if (!part) return drawWaiting(view, svg, x, y + 20);
  const key = within(header.labels[part.key]), query = within(header.labels[part.token]), placeOf = (at) => (key === query && part.key !== part.token ? ` (token ${at})` : ""), half = (w - 24) / 2, limit = Math.max(peak(part.query.values), peak(part.keyVector.values));
  const line = (text, at, { terms = [], ...style } = {}) => svg.append(explained(label(view, cut(text, style.room ?? w, SIZE, style.weight), style.x ?? x, y + at, style), terms));
  line(`head ${part.head}: “${query}”${placeOf(part.token)} asks “${key}”${placeOf(part.key)}`, 12, { weight: 700, className: "label asks", terms: ["head"], fill: view.accent, room: plan.mode === "wide" ? w - 140 : w });
  const most = ({ values }) => `up to ±${short(peak(values))}`, many = `${part.query.values.length} numbers`;
  const forms = (name, vector) => [`${name}, ${many} ${most(vector)}`, `${name}, ${most(vector)}`, name];
  line(fitting(forms(`query of “${query}”`, part.query), half), 36, { room: half, terms: ["query vector"], fill: look.muted });
  line(fitting(forms(`key of “${key}”`, part.keyVector), half), 36, { x: x + half + 24, room: half, terms: ["key vector"], fill: look.muted });
  svg.append(strip(view, part.query.values, limit, { x, y: y + 42, width: half, height: 20 }), strip(view, part.keyVector.values, limit, { x: x + half + 24, y: y + 42, width: half, height: 20 }));
  line(fitting([`their products, number by number, ${most(part.products)}; sum ${fixed(part.total)}`, `their products; sum ${fixed(part.total)}`], w), 82, { fill: look.muted });
  svg.append(strip(view, part.products.values, peak(part.products.values), { x, y: y + 88, width: w, height: 20 }, { words: (at) => `${short(part.query.values[at])} × ${short(part.keyVector.values[at])}` }));
  const added = part.addedName ? ` ${part.added === null ? "masked" : `+ ${short(part.added)} (${part.addedName})`}` : "";
  const numbers = part.query.values.length, root = Math.abs(part.scaling * Math.sqrt(numbers) - 1) < 1e-5 ? ` (1/√${numbers})` : "";
  const productOf = (why) => `${fixed(part.total)} × ${fixed(part.scaling, 4)}${why} = ${fixed(part.scaled)}${added}`, product = productOf(""), weight = `weight ${fixed(part.weight, 4)}`;
  const sums = [`${productOf(root)}  →  softmax over all keys  →  ${weight}`, `${product}  →  softmax over all keys  →  ${weight}`, `${product} → softmax → ${weight}`, `softmax of ${short(part.scaled)}${added}: ${weight}`, weight];
  line(fitting(sums, w, 600), 130, { weight: 600, terms: ["softmax"] });
  line(fitting([`value of “${key}”, ${most(part.value)}`, `value of “${key}”`], half), 152, { room: half, terms: ["value vector"], fill: look.muted });
  const mix = ["mix of all values, each × its weight", "mix of all values × weights", "mix of values"], ends = most(part.mix);
  line(fitting([...mix.map((words) => `${words}, ${ends}, one scale with the value`), `mix of values, ${ends}, same scale`, ...mix.map((words) => `${words}, ${ends}`), ...mix], half), 152, { x: x + half + 24, room: half, terms: ["attention"], fill: look.muted });
  const both = Math.max(peak(part.value.values), peak(part.mix.values));
  svg.append(strip(view, part.value.values, both, { x, y: y + 158, width: half, height: 20 }), strip(view, part.mix.values, both, { x: x + half + 24, y: y + 158, width: half, height: 20 }));
}
