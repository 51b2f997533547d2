// The drawing on a phone: the chosen token alone, from top to bottom.
function drawTall(view, svg) {
  const { header, path, plan, look } = view, { width } = plan, seq = Math.max(header.labels.length, 1), x = 8, w = width - 16;
  const word = header.labels[path.token] ?? "your text", { kind, at } = changedPlace(view), masked = kind === "mask" && at === path.token ? ", masked" : isNew(view, path.token) ? ", new" : "";
  const effects = view.back && header.ending?.tokens?.values, room = effects ? w - 112 : w;
  svg.append(label(view, cut(`“${word}”, token ${path.token} (0 to ${seq - 1})${masked}`, room, 16, 700), x, 24, { weight: 700, size: 16 }));
  if (effects) {
    const rgb = colourAt(look.supporting, 0.5 + effects[path.token] / peak(effects) / 2);
    svg.append(el("rect", { x: x + w - 104, y: 5, width: 104, height: 28, rx: 4, fill: css(rgb), stroke: look.neutral }), label(view, `change ${fixed(effects[path.token], 4)}`, x + w - 52, 24, { anchor: "middle", fill: inkOn(rgb) }));
  }
  if (!view.filed) drawTokenChoice(view, svg, { x, w, seq });
  const shading = shadingOf(view), strips = view.strips(), otherwise = builtOtherwise(view);
  let entry = 0;
  for (const row of plan.rows) {
    const stage = header.stages[row.index], layer = layerAt(header.stages, row.index), isLayer = stage.kind === "layer";
    const opens = isLayer || stage.kind === "embeddings", y = row.y;
    const shaded = isLayer && shading, cell = layer * seq + path.token;
    const rgb = shaded ? shading.rgb(cell) : channels(look.neutral), value = shaded ? shading.words(cell) : "";
    const off = isLayer && (kind === "layer" || kind === "head") && layer === at;
    const node = el("g", {}, el("rect", { x, y: y + 1, width: w, height: row.h - 2, rx: 6, fill: look.paper, stroke: off ? look.text : row.open ? view.accent : look.neutral, "stroke-width": row.open ? 2 : 1, "stroke-dasharray": off || stage.kind === "shared" ? "5 3" : null }),
      label(view, cut(stageWords(view, stage), opens ? 100 : w - 20), x + 10, y + 28, { weight: 600 }));
    if (isLayer) node.append(el("rect", { x: x + 116, y: y + 8, width: 64, height: row.h - 16, rx: 4, fill: css(rgb), stroke: look.neutral }), label(view, value, x + 148, y + 28, { anchor: "middle", fill: inkOn(rgb) }));
    if (isLayer && otherwise.has(row.index)) node.append(buildMark(view, otherwise.get(row.index), layer, x + 17, y + 33));
    if (isLayer) entry = layer + 1;
    if (opens && strips) node.append(stateStrip(view, entry, path.token, { x: x + 192, y: y + 12, width: w - 202, height: row.h - 24 }));
    svg.append(opens ? button(node, `${row.open ? "Close" : "Open"} ${stage.name}${value ? `, ${shading.effects ? "change without it" : view.measureName()} ${value}` : ""}`, () => view.open(row.open ? "" : isLayer ? String(layer) : "embeddings"), row.open) : explained(node, STAGE_TERMS[stage.kind] ?? []));
    if (row === plan.rows.at(-1)) node.classList.add("last"); // the guide brings it into sight
    if (row.open) drawTallInner(view, svg, row, layer, { x, w, y: y + row.h + 6 });
  }
  drawTallEnd(view, svg, { x, w, y: plan.endY });
}

// The buttons to the neighbours of the token, one that masks it, and the list of all; a saved drawing has none of them.
function drawTokenChoice(view, svg, { x, w, seq }) {
  const { header, path, look } = view;
  const masks = view.send && header.measures.length, part = masks ? (w - 96) / 2 : (w - 12) / 2;
  if (masks) drawMask(view, svg, { x: x + part + 8, y: 38, w: 80, h: 44 }, "");
  [["previous token", -1, x], ["next token", 1, x + w - part]].forEach(([words, step, left]) => {
    const node = el("g", {}, el("rect", { x: left, y: 38, width: part, height: 44, rx: 7, fill: look.paper, stroke: look.neutral }), label(view, cut(words, part - 4), left + part / 2, 65, { anchor: "middle" }));
    svg.append(button(node, words, () => view.choose((path.token + step + seq) % seq)));
  });
  if (seq > LISTED) drawTokenList(view, svg, { x, y: 90, width: w, height: 44 });
}

// All tokens of a long text, in the list of the browser.
function drawTokenList(view, svg, place) {
  const list = Object.assign(document.createElement("select"), { ariaLabel: "Choose a token" }), frame = el("foreignObject", { ...place, class: "act" }, list);
  list.dataset.name = "Choose a token";
  list.append(...view.header.labels.map((text, at) => new Option(`${at}: ${text}`, at, false, at === view.path.token)));
  list.addEventListener("change", () => view.choose(Number(list.value)));
  svg.append(frame);
}

function drawTallInner(view, svg, row, layer, { x, w, y }) {
  const { header, path, look } = view;
  if (row.buttons) {
    const half = (w - 8) / 2, head = `head-${layer}.${path.head}`;
    drawSwitch(view, svg, `layer-${layer}`, SWITCH, `layer ${layer}`, `layer ${layer}`, { x, y, w: half, h: 44 });
    if (path.head !== null) drawSwitch(view, svg, head, SWITCH, `head ${path.head}`, `head ${path.head} of layer ${layer}`, { x: x + half + 8, y, w: half, h: 44 });
    y += row.buttons;
  }
  const gone = switchedOff(view), layerGone = gone.words && gone.head === null;
  if (row.strips) drawTallStrips(view, svg, { x, w, y });
  y += row.strips;
  if (path.open !== "embeddings" && path.head === null && !layerGone) drawTallSteps(view, svg, header.stages[row.index], { x, w, y: y + row.attention });
  const say = (top) => wrapped(gone.words, w, 4).forEach((line, at) => svg.append(label(view, line, x, top + 20 * at, { className: "label off" })));
  if (layerGone) return say(y + 18);
  if (header.missing || (path.open !== "embeddings" && !header.heads)) {
    const words = header.missing || header.attention_note;
    return wrapped(words, w, 5).forEach((line, at) => svg.append(label(view, line, x, y + 18 + 20 * at, { fill: look.muted })));
  }
  if (path.open === "embeddings") {
    const part = view.parts.get(partName({ kind: "embeddings", token: path.token }));
    if (!part) return drawWaiting(view, svg, x, y + 20);
    const limit = Math.max(...part.vectors.map(({ values }) => peak(values)));
    return part.vectors.slice(0, 6).forEach(({ name, values }, at) => svg.append(explained(label(view, cut(`${name}, ${values.length} numbers`, w), x, y + 14 + at * 36, { fill: look.muted }), [name]),
      strip(view, binned(values, 64), limit, { x, y: y + 18 + at * 36, width: w, height: 14 }, { width: values.length })));
  }
  const part = openPart(view);
  if (!part) return drawWaiting(view, svg, x, y + 20);
  const [count] = part.thumbnails.shape;
  for (let head = 0; head < count; head++) {
    const { size } = row.map, left = x + (head % row.columns) * row.map.w, top = y + Math.floor(head / row.columns) * row.map.h, chosen = head === path.head;
    const off = head === gone.head, { value, frame } = headEffect(view, layer, head), effect = Number.isFinite(value);
    const node = el("g", {}, off ? null : thumbnail(view, part, head, { x: left, y: top, width: size, height: size }),
      el("rect", { x: left, y: top, width: size, height: size, fill: off ? look.paper : "none", stroke: frame, "stroke-width": effect ? 4 : chosen ? 3 : 1 }),
      off && el("path", { d: `M${left} ${top} l${size} ${size} m0 ${-size} l${-size} ${size}`, stroke: look.text, "stroke-width": 2, class: "off" }),
      label(view, effect ? `${head}: ${fixed(value)}` : String(head), left + size / 2, top + size + 15, { anchor: "middle", weight: chosen ? 700 : 400 }));
    svg.append(button(node, `Head ${head} of layer ${layer}${effect ? `, change without it ${fixed(value, 4)}` : ""}`, () => view.openHead(head), chosen));
  }
  if (gone.words) return say(y + row.grid + 22);
  const { keys, rest, sink } = view.ribbons;
  let top = y + row.grid + 22;
  const who = path.head === null ? `mean of the ${gone.head === null ? "" : "other "}heads` : `head ${path.head}`;
  const does = view.ribbon === "weighted" ? ["what", "takes up"] : ["where", "looks"];
  svg.append(explained(label(view, cut(`${who}: ${does[0]} “${header.labels[path.token]}” ${does[1]}`, w, SIZE, 600), x, top, { weight: 600 }), lookTerms(view)));
  for (const { key, share, name } of [...keys, { key: -1, share: rest, name: restName(view) }, { key: -1, share: sink, name: "sink" }]) {
    if (share < 0.0005) continue;
    top += path.head === null ? TALL_KEY : TALL_TOUCHED;
    const room = w - 180;
    const node = el("g", {}, el("rect", { x, y: top - (path.head === null ? 18 : 27), width: w, height: path.head === null ? 26 : 44, fill: look.paper, "fill-opacity": 0.01 }),
      label(view, key < 0 ? name : cut(header.labels[key], 110, SIZE, 400, MONO), x, top, { family: key < 0 ? FONT : MONO, weight: key >= 0 && key === path.key ? 700 : 400 }),
      el("rect", { x: x + 118, y: top - 12, width: Math.max(room * share, 1), height: 14, rx: 2, fill: key < 0 ? look.neutral : look.parts.attention, class: "ribbon", "data-share": share }),
      label(view, fixed(share), x + w, top, { anchor: "end" }));
    svg.append(key < 0 || path.head === null ? node : button(node, `Key ${key}: ${header.labels[key]}, ${fixed(share)}`, () => view.openKey(key), key === path.key));
  }
  if (path.head !== null) {
    const box = { x: x - 16, y: 0, w: w + 32, h: 0 }, plan = view.plan;
    view.plan = { ...plan, box, footY: top + 12 };
    drawHead(view, svg, layer);
    view.plan = plan;
  }
}

function drawTallEnd(view, svg, { x, w, y }) {
  const { header, now } = view, { ending } = header;
  let top = y + 20;
  if (ending) {
    const both = now && ending.changed !== null;
    const title = wrapped(ending.whole ? `the whole text: ${ending.title}` : ending.title, w - 110, 3);
    title.forEach((line, at) => svg.append(label(view, line, x, top + 18 * at, { fill: view.look.muted })));
    svg.append(label(view, fixed(both ? ending.changed : ending.value, 4), x + w, top + 4, { anchor: "end", weight: 700, size: 22 }));
    top += 18 * (title.length - 1);
    if (both) {
      svg.append(label(view, `before ${fixed(ending.value, 4)}, now ${fixed(ending.changed, 4)}`, x, top + 22));
      drawBoth(view, svg, ending.value, ending.changed, { x, y: top + 32, w });
      top += 34;
    } else if (now) svg.append(label(view, "without the change", x, (top += 18), { fill: view.look.muted }));
    top += 30;
  }
  if (view.back && ending) {
    drawBackRamp(view, svg, x, top - 10, "without it");
    top += 26;
  } else if (now) {
    drawDifferenceRamp(view, svg, x, top - 10, view.measure());
    top += 26;
  }
  for (const line of wrapped(view.sentence(), w, view.plan.lines)) {
    svg.append(label(view, line, x, top));
    top += 20;
  }
  if (ending?.layers || ending?.tokens) drawTurn(view, svg, { x, y: top - 6, width: w, height: 44 });
}
