// The drawing on a desk: lanes from left to right.
function drawWide(view, svg) {
  const { header, path, plan, look } = view;
  drawHeadings(view, svg);
  if (plan.shared) drawShared(view, svg);
  drawLanes(view, svg);
  drawTokens(view, svg);
  for (const column of plan.columns) {
    const stage = header.stages[column.index];
    if (column.open) continue;
    if (stage.kind === "embeddings") drawFirst(view, svg, column);
    else if (stage.kind === "layer") drawLayer(view, svg, column, layerAt(header.stages, column.index));
    else drawBehind(view, svg, column, stage);
  }
  if (plan.box) drawBox(view, svg);
  drawOut(view, svg);
  if (header.ending) drawAnswer(view, svg);
  drawLegend(view, svg, plan.legendY);
}

const many = (view) => view.header.labels.length > SEVERAL;

function drawHeadings(view, svg) {
  const { header, plan, look, path } = view;
  const merged = view.rows.length < header.labels.length, heading = label(view, merged ? "words" : "tokens", plan.token.w / 2, plan.top - 14, { weight: 600, anchor: "middle" });
  svg.append(explained(heading, merged ? [] : ["token"]));
  drawMask(view, svg, { x: 1, y: plan.top - 60, w: plan.token.w - 2 });
  const layers = plan.columns.filter(({ index }) => header.stages[index].kind === "layer");
  const closed = layers.filter(({ open }) => !open);
  const slot = closed.length > 1 ? Math.min(...closed.map(({ w }) => w)) : closed[0]?.w ?? 40;
  const every = Math.max(1, Math.ceil((layers.length > 10 ? 22 : 10) / (slot + 1)));
  const otherwise = builtOtherwise(view);
  layers.forEach((column, number) => {
    if (column.open) return;
    const shown = every === 1 || number === 0 || number === layers.length - 1 || (number % every === 0 && number < layers.length - every);
    const heading = el("g", {}, el("rect", { x: column.x - 1, y: plan.top - 32, width: column.w + 2, height: 26, fill: look.paper, "fill-opacity": 0.01, rx: 4 }));
    if (shown) heading.append(label(view, String(number), column.x + column.w / 2, plan.top - 14, { weight: 600, anchor: "middle", className: "label heading" }));
    if (otherwise.has(column.index)) heading.append(buildMark(view, otherwise.get(column.index), number, column.x + column.w / 2, plan.top - 9));
    svg.append(button(heading, `Open layer ${number}`, () => view.open(String(number)), false));
  });
  const first = plan.columns.find(({ index }) => header.stages[index].kind === "embeddings");
  if (first && !first.open) {
    const words = label(view, first.w > 80 ? "embeddings" : "embed.", first.x + first.w / 2, plan.top - 14, { weight: 600, anchor: "middle" });
    svg.append(explained(button(el("g", {}, words), "Open the embeddings", () => view.open("embeddings"), false), ["embedding"]));
  }
  if (!closed.length) return;
  const runs = [[]];
  for (const column of layers) column.open ? runs.push([]) : runs.at(-1).push(column);
  const longest = runs.reduce((one, other) => (other.length > one.length ? other : one));
  if (!longest.length) return;
  const from = longest[0].x, to = longest.at(-1).x + longest.at(-1).w;
  const words = sameBuild(view, longest.map(({ index }) => header.stages[index]), layers.some(({ open }) => open));
  const resting = view.back && header.ending ? "layers: change of the number without each" : "";
  const text = [resting || words, resting ? "layers: change without each" : `layers${measured(view)}`].find((each) => each && textWidth(each) < to - from + 24) ?? (to - from > 44 ? "layers" : "");
  if (text) svg.append(explained(label(view, text, (from + to) / 2, plan.top - 42, { anchor: "middle", fill: look.muted }), ["layer", ...(text === "layers" ? [] : measureTerms(view))]));
}

// Layers that are built otherwise than most, or than the first: index of the stage -> how, and the layer that it differs from.
function builtOtherwise({ header: { stages } }) {
  const layers = stages.map(({ kind, build }, index) => ({ kind, build, index })).filter(({ kind, build }) => kind === "layer" && build);
  const count = ({ build }) => layers.filter((other) => other.build === build).length;
  if (!layers.length) return new Map();
  const usual = layers.reduce((best, each) => (count(each) > count(best) ? each : best)), parts = usual.build.split(", ");
  const differing = layers.map(({ build, index }) => [index, build.split(", ").filter((part) => !parts.includes(part)).join(", ")]);
  return new Map(differing.filter(([, words]) => words).map(([index, words]) => [index, `built otherwise than layer ${layerAt(stages, usual.index)}: ${words}`]));
}

function buildMark({ look }, words, layer, centre, y) {
  return tipped(el("rect", { x: centre - 7, y, width: 14, height: 4, rx: 2, fill: look.text, class: "otherwise" }), () => `Layer ${layer}, ${words}`);
}

const measured = (view) => (view.measureName() ? `: ${view.measureName()}` : "");

// "4 more layers built alike", where they are.
function sameBuild(view, stages, more) {
  const builds = new Set(stages.map(({ build }) => build));
  if (builds.size !== 1 || stages.length < 2) return "";
  return `${stages.length} ${more ? "more " : ""}layers built alike${measured(view)}`;
}

function drawLanes(view, svg) {
  const { plan, path, look } = view;
  const from = plan.token.w, to = plan.out.x;
  if (!many(view)) {
    for (const { mid } of plan.lanes) svg.append(el("line", { x1: from, x2: to, y1: mid, y2: mid, stroke: look.grid, "stroke-width": 1.5 }));
  }
  const { mid } = laneAt(view, path.token);
  svg.append(el("line", { x1: from, x2: to, y1: mid, y2: mid, stroke: view.accent, "stroke-width": 3 }));
}

function drawTokens(view, svg) {
  const { header, plan, path, look } = view;
  if (many(view)) return drawManyTokens(view, svg);
  drawGone(view, svg);
  const effects = view.back && header.ending?.tokens?.values, limit = effects ? peak(effects) : 1, { kind, at: changed } = changedPlace(view);
  header.labels.forEach((text, at) => {
    const lane = laneAt(view, at), chosen = at === path.token, height = Math.min(lane.h - (lane.h > 20 ? 6 : 2), 34);
    const rgb = effects ? colourAt(look.supporting, 0.5 + effects[at] / limit / 2) : channels(chosen ? look.neutral : look.paper);
    const small = lane.h < 14.5, size = small ? 12 : SIZE, fresh = isNew(view, at);
    const node = el("g", {},
      el("rect", { x: 1, y: lane.mid - height / 2, width: fresh && small && !chosen ? 10 : plan.token.w - 2, height, rx: Math.min(5, height / 3), fill: css(rgb),
        stroke: chosen ? view.accent : fresh ? look.text : small ? "none" : look.neutral, "stroke-width": chosen ? 2 : 1, "stroke-dasharray": fresh ? "4 3" : null }),
      label(view, cut(text, plan.token.w - 12, size, chosen ? 700 : 400, MONO), plan.token.w / 2, lane.mid + size * 0.36, {
        anchor: "middle", weight: chosen ? 700 : 400, family: MONO, size, fill: effects ? inkOn(rgb) : look.text,
        italic: header.special.includes(at), struck: kind === "mask" && at === changed }));
    const effect = fresh ? ", new" : effects ? `, change without it ${fixed(effects[at], 4)}` : "";
    const named = `Token ${at}: ${text}${effect}`, place = button(node, named, () => view.choose(at), chosen);
    svg.append(effects ? tipped(place, () => named) : place);
  });
}

// Of a long text words stand beside the chosen lane and its strongest partners alone.
function drawManyTokens(view, svg) {
  const { header, plan, path, look } = view, height = plan.lanes.length * plan.lanes[0].h;
  const field = el("rect", { x: plan.token.w - 12, y: plan.lanes[0].y, width: 10, height, fill: look.neutral, rx: 3, class: "lanes" });
  field.style.cursor = "pointer";
  field.addEventListener("click", (event) => view.choose(view.rows[partAt(field, event, plan.lanes.length, "y")].first));
  svg.append(tipped(field, (event) => laneWords(view, partAt(field, event, plan.lanes.length, "y"))));
  const { kind, at: changed } = changedPlace(view), x = plan.token.w - 32;
  for (const [at, y] of labelPlaces(view, (key) => laneAt(view, key).mid, plan.top + 8)) {
    const chosen = view.laneOf[at] === view.laneOf[path.token], weight = chosen ? 700 : 400;
    svg.append(leader(view, x + 2, y, x + 18, laneAt(view, at).mid), label(view, cut(wordAt(view, at), x - 2, SIZE, weight, MONO), x, y + 5,
      { anchor: "end", weight, family: MONO, italic: header.special.includes(at), struck: kind === "mask" && at === changed }));
  }
}

// Heights of the words and numbers of the chosen token and its partners.
const labelPlaces = ({ plan, path, ribbons, laneOf }, mid, least) => spread([path.token, ...(ribbons?.keys ?? []).map(({ key }) => key).filter((key) => laneOf[key] !== laneOf[path.token] || key === path.token)], mid, plan.lanes[0].h < 17 ? 17 : SIZE, least);

const leader = ({ look }, x1, y1, x2, y2) => el("line", { x1, y1, x2, y2, stroke: look.muted, "stroke-width": 0.75 });

function drawFirst(view, svg, column) {
  const { plan, look } = view, strips = view.strips();
  if (!strips) return svg.append(el("rect", { x: column.x, y: plan.top, width: column.w, height: plan.body, fill: look.neutral, rx: 4 }));
  const [, , bins] = strips.shape, lanes = view.rows.length, colour = (row, at) => colourAt(look.signed, 0.5 + strips.values[row * bins + at] / strips.levels / 2);
  const group = el("g", {});
  if (many(view)) {
    const make = () => picture(lanes, bins, (at, bin) => colour(view.rows[at].first, bin), {});
    group.append(cachedPicture(strips, `${look.name} ${lanes} lanes`, make, { x: column.x, y: plan.lanes[0].y, width: column.w, height: lanes * plan.lanes[0].h }));
    tipped(group, (event) => laneWords(view, partAt(group, event, lanes, "y")));
  } else {
    plan.lanes.forEach((lane, row) => {
      const height = Math.min(lane.h - (lane.h > 16 ? 10 : 3), 24);
      group.append(stateStrip(view, 0, row, { x: column.x, y: lane.mid - height / 2, width: column.w, height }));
    });
  }
  svg.append(button(group, "Open the embeddings", () => view.open("embeddings"), false));
}

// All lanes as one.
function wholeLane({ lanes }) {
  const { y } = lanes[0], h = lanes.at(-1).y + lanes.at(-1).h - y;
  return { y, h, mid: y + h / 2 };
}

function drawLayer(view, svg, column, number) {
  const { header, plan, path, look } = view, group = el("g", {});
  const shading = shadingOf(view), lanes = plan.lanes.length, seq = header.labels.length, { kind, at: changed } = changedPlace(view);
  const rgbOf = (at) => (shading ? shading.rgb(number * seq + at) : channels(look.neutral));
  if (many(view)) {
    const place = { x: column.x, y: plan.lanes[0].y, width: column.w, height: lanes * plan.lanes[0].h };
    const shade = (at) => (shading ? shading.colour(laneValue(shading, view, number, view.rows[at])) : channels(look.neutral));
    const cells = cachedPicture(shading?.cache ?? {}, `${look.name} ${lanes} layer ${number}`, () => picture(lanes, 1, shade, {}), place);
    group.append(cells, el("rect", { ...place, fill: "none", stroke: look.neutral }));
    group.addEventListener("click", (event) => view.go({ token: view.rows[partAt(group, event, lanes, "y")].first, open: String(number), head: null, key: null }));
    group.style.cursor = "pointer";
    tipped(group, (event) => laneWords(view, partAt(group, event, lanes, "y"), number));
  } else {
    const whole = shading?.effects; // the change without a layer is one number for the whole text
    (whole ? [wholeLane(plan)] : plan.lanes).forEach((lane, row) => {
      const at = whole ? path.token : row, room = lane.h - (lane.h > 20 ? 6 : 2), height = whole ? room : Math.min(room, 34);
      const rgb = rgbOf(at), chosen = !whole && at === path.token;
      const cell = el("g", { class: "cell", "data-layer": number, "data-token": at },
        el("rect", { x: column.x, y: lane.mid - height / 2, width: Math.max(column.w, 1), height, rx: Math.min(4, column.w / 4), fill: css(rgb),
          stroke: chosen ? view.accent : look.neutral, "stroke-width": chosen ? 1.5 : 0.75 }));
      if (shading && column.w >= 46 && lane.h >= 18 && seq <= FEW) {
        cell.setAttribute("role", "img"); // to a screen reader the number alone says nothing
        cell.setAttribute("aria-label", view.cellWords(number, at));
        cell.append(label(view, shading.words(number * seq + at), column.x + column.w / 2, lane.mid + 5, { anchor: "middle", fill: inkOn(rgb), className: "label number" }));
      }
      cell.style.cursor = "pointer";
      cell.addEventListener("click", () => view.go({ token: at, open: String(number), head: null, key: null }));
      group.append(tipped(cell, () => view.cellWords(number, at)));
    });
  }
  if ((kind === "layer" || kind === "head") && number === changed) group.append(el("rect", { x: column.x - 2, y: plan.top - 33, width: column.w + 4, height: plan.body + 36, fill: "none", stroke: look.text, "stroke-width": 1.5, "stroke-dasharray": "5 3", rx: 5, class: "changed" }));
  if (view.cursor === column.index) group.append(el("rect", { x: column.x - 3, y: plan.top - 34, width: column.w + 6, height: plan.body + 38, fill: "none", stroke: view.accent, "stroke-width": 2, rx: 6 }));
  svg.append(group);
}

// Whether a stage behind the layers is run for what is drawn.
function isRun({ header: { ending } }, { kind, run }) {
  return ending && (kind === "pooler" || kind === "task head") ? ending.behind.includes(kind) : run;
}

function stageWords(view, stage) {
  if (stage.kind === "shared") return `${stage.name}, used inside the layers`;
  const { ending } = view.header, run = isRun(view, stage);
  if (run && (ending || !stage.used)) return stage.name;
  return `${stage.name} (${ending && stage.kind !== "decoder" ? "not used by this answer" : stage.used || "not run here"})`;
}

function drawBehind(view, svg, column, stage) {
  const { plan, look } = view, middle = plan.top + Math.min(plan.body / 2, 220);
  const part = { pooler: "pooler", "task head": "task head", aside: "task head", norm: "layer_norm", decoder: "decoder" }[stage.kind];
  const run = isRun(view, stage), aside = stage.kind === "pooler" && !view.header.ending; // nothing that is drawn is read off it
  const [short] = stage.name.split(" after "), own = stageWords(view, stage), filled = run && !aside;
  const forms = [...(!aside ? [] : stage.used ? [`${own}. ${stage.note}`] : [`${own}: reads the first token`, `${own}: of token 0`]), own, `${short} (not run)`, short].filter((words) => !(run || stage.used) || !words.endsWith("(not run)"));
  const node = el("g", {},
    el("rect", { x: column.x, y: plan.top, width: column.w, height: plan.body, rx: 5, fill: filled ? look.parts[part] : look.paper,
      stroke: look.parts[part], "stroke-width": 1.5, "stroke-dasharray": run ? null : "4 3" }),
    label(view, fitting(forms, Math.min(plan.body, 440) - 12), column.x + column.w / 2 + 5, middle, { anchor: "middle", rotate: -90, fill: filled ? inkOn(channels(look.parts[part])) : look.text }));
  const said = `${stage.name}: ${stage.numel.toLocaleString("en-US")} parameters${view.header.ending || !stage.used ? "" : `, ${stage.used}`}. ${stage.note}`;
  svg.append(explained(node, STAGE_TERMS[stage.kind] ?? [], said.trim()));
}

// What all layers use, above them: it has no place on the way.
function drawShared(view, svg) {
  const { header, plan, look } = view, { index, ...box } = plan.shared, { name, numel, note } = header.stages[index], count = numel.toLocaleString("en-US");
  const forms = [`${name}, used inside the layers: ${count} parameters`, `${name}, used inside the layers`, `${name}, in the layers`, name];
  const node = el("g", { class: "shared" }, el("rect", { ...place(box), rx: 5, fill: look.paper, stroke: look.parts.attention, "stroke-width": 1.5 }),
    label(view, fitting(forms, box.w - 8), box.x + box.w / 2, box.y + 16, { anchor: "middle" }));
  svg.append(explained(node, name.includes("position") ? ["position"] : [], `${name}: ${count} parameters. ${note}`));
}

// The chosen token's vector after the last layer, and under a change how far it moved.
function drawOut(view, svg) {
  const { plan, path, now, look } = view, { x, w } = plan.out, strips = view.strips(), lines = [];
  if (!strips) return;
  const middle = clamp(laneAt(view, path.token).mid, plan.top + 40, plan.top + plan.body - 90);
  svg.append(explained(label(view, fitting(["what comes out", "output"], w, 600), x + w / 2, middle - 22, { anchor: "middle", weight: 600 }), ["hidden state"]),
    stateStrip(view, strips.shape[0] - 1, path.token, { x: x + 4, y: middle - 12, width: w - 8, height: 24 }));
  const width = strips.edges.at(-1).toLocaleString("en-US");
  if (!now) lines.push([fitting([`${width} numbers`, width], w), { terms: ["hidden size"] }]);
  else if (isNew(view, path.token)) lines.push([fitting(["a new token", "new"], w), { fill: look.muted }]);
  else lines.push([fitting(["cosine to before", "cosine"], w), { fill: look.muted, terms: ["cosine"] }], [fixed(now.cosine.values[path.token], 4), { weight: 700, size: w > 100 ? 22 : 17 }]);
  const [, , cells] = strips.shape;
  if (!now && cells < strips.edges.at(-1)) lines.push([fitting([`${cells} cells: farthest from 0`, `in ${cells} cells`, ""], w), { fill: look.muted }]);
  drawLines(view, svg, lines, { x, w, y: middle + 30 });
}

// Lines below one another, the large ones with more room; returns where the next one would stand.
function drawLines(view, svg, lines, { x, w, y }) {
  for (const [text, { terms = [], ...style }] of lines) {
    svg.append(explained(label(view, cut(text, w, style.size, style.weight), x + w / 2, y + (style.size ? 8 : 0), { anchor: "middle", ...style }), terms));
    y += style.size ? 30 : 19;
  }
  return y;
}

// The number that the model gives, under a change beside that of before.
function drawAnswer(view, svg) {
  const { header: { ending }, plan, path, look, now } = view, { x, w } = plan.end, lines = [];
  const large = { weight: 700, size: w < 150 ? 17 : 22 }, both = now && ending.changed !== null;
  const titled = wrapped(ending.title, w - 4, 3);
  const tall = 19 * (titled.length + (ending.whole ? 1 : 0)) + (both ? 70 : 50) + 34, { mid } = laneAt(view, path.token);
  if (ending.whole) { // a bracket over all lanes, since the number belongs to no single one
    const top = plan.lanes[0].y, bottom = plan.lanes.at(-1).y + plan.lanes.at(-1).h;
    svg.append(el("path", { d: `M${x - 8} ${top} h6 V${bottom} h-6`, fill: "none", stroke: look.muted, "stroke-width": 1.5, class: "whole" }));
    lines.push(["the whole text", { weight: 600 }]);
  } else svg.append(el("line", { x1: plan.out.x + plan.out.w, x2: x, y1: mid, y2: mid, stroke: view.accent, "stroke-width": 3 }));
  for (const line of titled) lines.push([line, { fill: look.muted }]);
  if (both) lines.push([`before ${fixed(ending.value, 4)}`, {}], [`now ${fixed(ending.changed, 4)}`, large]);
  else lines.push([fixed(ending.value, 4), large]);
  if (now && !both) lines.push(["without the change", { fill: look.muted }]);
  let y = drawLines(view, svg, lines, { x, w, y: clamp(mid - tall / 2, plan.top + 14, plan.top + plan.body - tall) + 14 });
  if (both) {
    drawBoth(view, svg, ending.value, ending.changed, { x: x + 6, y: y - 6, w: w - 12 });
    y += 18;
  }
  if (ending.layers || ending.tokens) drawTurn(view, svg, { x: x + 2, y: y - 4, width: w - 4, height: 26 });
}

// The button that turns the drawing to what the answer rests on, and back.
function drawTurn(view, svg, place) {
  const words = view.back ? `show the ${view.colour} again` : "what it rests on", { x, y, width, height } = place;
  const link = el("g", { class: "act" }, el("rect", { ...place, rx: 6, fill: view.look.paper, stroke: view.accent }), label(view, words, x + width / 2, y + height / 2 + 5, { anchor: "middle", fill: view.accent, weight: 600 }));
  svg.append(button(link, words, () => view.turn(), view.back));
}

function wrapped(text, room, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (textWidth(longer) <= room || !lines.at(-1)) lines[lines.length - 1] = longer;
    else if (lines.length === most) { lines[most - 1] = cut(`${longer}…`, room); return sentences(lines); }
    else lines.push(word);
  }
  return lines;
}

// Lines up to the last sentence that is whole in them; all of them where none is.
function sentences(lines) {
  const end = [...lines.join("\n").matchAll(/\.(?=\s(?:\p{Lu}|“))/gu)].at(-1);
  return end ? lines.join("\n").slice(0, end.index + 1).split("\n") : lines;
}

function drawLegend(view, svg, y) {
  const { header, plan, look } = view, x = 2;
  const measure = view.measure(), narrow = plan.width < 760, differences = differencesOf(view, measure);
  if (view.back && header.ending) {
    drawBackRamp(view, svg, x, y);
  } else if (differences) {
    drawDifferenceRamp(view, svg, x, y, measure, `: ${measure.name}${narrow ? "" : ` (${measure.unit})`}`);
  } else if (measure) {
    drawRamp(view, svg, x, y, look.scale, "0", fixed(view.most(measure), measure.digits), narrow ? measure.name : `${measure.name}: ${measure.unit}`);
  }
  const [, first, rest] = view.sentence().match(/^(.*?\.)(?: (?=\p{Lu}|“)(.*))?$/su) ?? ["", view.sentence()], room = plan.width - 8;
  const strong = wrapped(first, room * 0.93, 2), lines = [...strong, ...(rest && plan.lines > strong.length ? wrapped(rest, room, plan.lines - strong.length) : [])]; // bold letters are wider
  lines.forEach((line, at) => svg.append(label(view, line, x, y + 34 + LINE * at, { weight: at < strong.length ? 600 : 400 })));
}

// Layers, heads and words share the colours, but each kind has a scale of its own.
function drawBackRamp(view, svg, x, y) {
  const { layers, heads, tokens } = view.header.ending, opened = /^\d+$/.test(view.path.open);
  const kinds = [[layers, "for layers"], [opened && heads, "for heads (frames)"], [tokens, "for words"]].filter(([values]) => values);
  const ends = kinds.map(([{ values }, name]) => `±${fixed(peak(values.filter(Number.isFinite)), 4)} ${name}`);
  const [lower, higher] = ["orange: lower", "blue: higher"], room = Math.max(view.plan.width - x - 170 - textWidth(`${lower}${higher}  `), 0);
  drawRamp(view, svg, x, y, view.look.supporting, lower, higher, fitting([`without it; at most ${ends.join(", ")}`, `without it; at most ${ends[0]}`, "without it", ""], room));
}

function drawRamp(view, svg, x, y, scale, least, most, words) {
  svg.append(label(view, least, x, y + 11, { fill: view.look.muted }));
  const from = x + textWidth(least) + 8;
  svg.append(picture(1, 40, (_, at) => colourAt(scale, at / 39), { x: from, y, width: 150, height: 14 }),
    el("rect", { x: from, y, width: 150, height: 14, fill: "none", stroke: view.look.neutral }));
  svg.append(explained(label(view, `${most}  ${words}`, from + 158, y + 11, { fill: view.look.muted }), [...measureTerms(view), ...(view.back && view.header.ending ? [] : UNITS[view.measure()?.key] ?? [])]));
}
