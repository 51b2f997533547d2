// A change of the run: a head or a layer switched off, a token masked, or the text edited. Python computes it. Here are
// the buttons that make and undo it, the banner that names it, and the differences that are drawn.
function takeChange(view, answered) {
  const { change } = view.header, name = change?.name ?? "", mean = Boolean(change?.mean);
  if (answered) Object.assign(view, { change: name, mean });
  view.waiting = view.change !== name || view.mean !== mean; // the differences of another change are not drawn meanwhile
  view.now = !view.waiting && change?.measures ? change : null;
  view.parts = partsOf((view.now ?? view.header).identity);
  view.parts.added = () => draw(view); // by partsView, for a part that was opened meanwhile
  const words = bannerWords(view).join(" "), announced = words && `${view.change} ${view.mean} ${view.waiting}`;
  if (words && announced !== view.announced) view.say(view.now ? `${words} ${changedSentence(view)}` : words);
  view.announced = announced;
}

function alter(view, name, mean = false) {
  const { labels } = view.header, { token, key } = view.path, place = placeBefore(view, token);
  if (!view.change) view.turned = view.back; // an undone change leaves the drawing as it was before
  Object.assign(view, { change: name, mean, back: !name && Boolean(view.turned && view.header.ending), focus: name ? "Undo the change" : `Token ${place}: ${labels[token]}` });
  takeChange(view, false);
  if (!name) view.say("The change is undone.");
  draw(view);
  tell(view, { token: place, key: place === token ? key : null });
}

// Whether only the edited text has a token.
const isNew = (view, token) => view.header.change?.origin?.[token] === -1;

// The position of a drawn token before the text was edited; of a new one that of the last token before it.
function placeBefore(view, token) {
  const origin = view.header.change?.origin;
  while (token > 0 && origin?.[token] < 0) token--;
  return Math.max(origin?.[token] ?? token, 0);
}

// What is changed in the drawn run: its kind, the layer or token, and the head.
function changedPlace(view) {
  const [kind, at = ""] = view.now ? view.now.name.split("-") : [""], [first, head = NaN] = at.split(".");
  return { kind, at: Number(first), head: Number(head) };
}

// Of the opened layer the head that is switched off, and why the layer or the chosen head has nothing to show.
function switchedOff(view) {
  const { kind, at, head } = changedPlace(view), { open, head: chosen } = view.path, here = String(at) === open;
  if (here && kind === "layer") return { head: null, words: `Layer ${at} is switched off: ${view.mean ? "its mean change is added to what enters it." : "what enters it leaves it as it is."}` };
  if (!here || kind !== "head") return { head: null, words: "" };
  const whole = view.header.heads === 1 || chosen === head;
  return { head, words: whole ? `Head ${head} is switched off: ${view.mean ? "its mean" : "zero"} replaces its output.` : "" };
}

// What is changed, and what the drawing shows of it.
function bannerWords(view) {
  const { change } = view.header;
  if (!view.change) return [];
  if (view.waiting) return ["One moment: the model runs with the change …"];
  if (!view.now) return [`Not changed: ${change.refused}`];
  const fresh = change.origin?.includes(-1) ? " A new token, dashed, has no number before." : "";
  const cells = view.back ? "The colours show what the answer rests on without the change." : `The cells show now − before: orange is larger now, blue smaller.${fresh}`;
  const opened = view.path.open === "" ? "" : (change.origin ? " The opened part shows the edited text." : " The opened part is of the run with the change.");
  return [`Changed: ${change.sentence}`, cells + opened];
}

// The banner above the drawing: its height, and a function that draws it from y = -height to 0.
function bannerOf(view, width) {
  const words = bannerWords(view);
  if (!words.length) return { height: 0, draw: () => {} };
  const undo = view.now || view.waiting ? ["undo", "Undo the change"] : ["close", "Close the message"];
  const buttons = [[...undo, () => alter(view, "")]];
  if (view.now && ["head", "layer"].includes(changedPlace(view).kind)) {
    const [what, name] = view.mean ? ["use zero", "Replace by zero"] : ["use the mean", "Replace by the mean"];
    buttons.unshift([what, name, () => alter(view, view.change, !view.mean)]);
  }
  const tall = width < TALL_BELOW, high = tall ? 44 : 26, buttonsWidth = view.send ? buttons.reduce((sum, [text]) => sum + textWidth(text) + 32, 0) : 0;
  const room = width - 24 - (tall ? 0 : buttonsWidth); // of which bold letters take a tenth more
  const lines = words.flatMap((each, part) => wrapped(each, part ? room : room * 0.9, 6).map((text) => [text, part ? 400 : 600])), block = 20 * lines.length + 12;
  const height = block + (tall && view.send ? high + 8 : 0) + 8;
  return {
    height,
    draw: (svg) => {
      svg.append(el("rect", { x: 1, y: 1 - height, width: width - 2, height: height - 10, rx: 6, fill: "none", stroke: view.accent, class: "banner" }));
      lines.forEach(([line, weight], at) => svg.append(label(view, line, 12, 21 - height + 20 * at, { weight })));
      let x = tall ? 12 : width - buttonsWidth - 2;
      for (const [text, name, act] of buttons) {
        const w = textWidth(text) + 24;
        drawChip(view, svg, text, name, { x, y: tall ? block - height : 5 - height, w, h: high }, act);
        x += w + 8;
      }
    },
  };
}

// A small button; a saved drawing has none, since no model runs behind it.
function drawChip(view, svg, words, name, { x, y, w, h = 24 }, act, pressed, terms = []) {
  if (!view.send || view.header.missing) return;
  const text = label(view, cut(words, w - 8), x + w / 2, y + h / 2 + 5, { anchor: "middle", fill: pressed ? view.look.paper : view.accent });
  const frame = el("rect", { x, y, width: w, height: h, rx: 5, fill: pressed ? view.accent : view.look.paper, stroke: view.accent });
  svg.append(explained(button(el("g", { class: "act" }, frame, text), name, act, pressed), terms));
}

const SWITCH = ["switch off", "switch on"];

// The button that makes a change at its part, and undoes it: what it switches, and where that is.
function drawSwitch(view, svg, change, [off, on], what, where, place) {
  const pressed = view.change === change && Boolean(view.now || view.waiting), verb = pressed ? on : off;
  drawChip(view, svg, `${verb} ${what}`, `${verb[0].toUpperCase()}${verb.slice(1)} ${where}`, place, () => alter(view, pressed ? "" : change), pressed, [change.startsWith("mask") ? "mask token" : "ablation"]);
}

function drawMask(view, svg, place, what) {
  const { path: { token }, header } = view, text = header.labels[token];
  if (header.measures.length && !isNew(view, token)) drawSwitch(view, svg, `mask-${placeBefore(view, token)}`, ["mask", "unmask"], what ?? `“${text}”`, `token ${token}: ${text}`, place);
}

// After minus before of a measure, and the end of its colours: at least one unit of the last decimal.
function differencesOf(view, measure) {
  const after = view.now?.measures.find(({ key }) => key === measure?.key);
  if (!after) return null;
  after.differences ??= after.values.map((value, at) => value - measure.values[at]);
  after.limit ??= after.differences.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 10 ** -measure.digits);
  return { values: after.differences, after: after.values, limit: after.limit };
}

const signed = (value, digits) => {
  if (Number.isNaN(value)) return "";
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : value > 0 ? `+${text}` : minus(text);
};

// Value, colour and text of the cell at an index of the measure: the number, or its difference under a change.
function shadingOf(view) {
  const measure = view.measure(), differences = differencesOf(view, measure), { scale, signed: diverging } = view.look;
  const effects = view.back && view.header.ending?.layers?.values, seq = view.header.labels.length, most = effects && peak(effects);
  const shading = (value, share, colours, text, cache = {}) => { // cache: holder of the pictures of its numbers
    const colour = (number) => (Number.isNaN(number) ? channels(view.look.paper) : colourAt(colours, share(number)));
    return { effects, value, colour, text, cache, rgb: (at) => colour(value(at)), words: (at) => text(value(at)) };
  };
  if (effects) return shading((at) => effects[Math.floor(at / seq)], (value) => 0.5 + value / most / 2, view.look.supporting, (value) => fixed(value, 4));
  if (!measure) return null;
  if (!differences) return shading((at) => measure.values[at], (value) => value / view.most(measure), scale, (value) => fixed(value, measure.digits), measure);
  return shading((at) => differences.values[at], (value) => 0.5 + value / differences.limit / 2, diverging, (value) => signed(value, measure.digits));
}

function drawDifferenceRamp(view, svg, x, y, measure, words = "") {
  const { limit } = differencesOf(view, measure);
  drawRamp(view, svg, x, y, view.look.signed, fixed(-limit, measure.digits), signed(limit, measure.digits), `${words && "orange: larger now; "}now − before${words}`);
}

// A measure of one cell in words; under a change with both numbers and their difference.
function measureWords(view, measure, at) {
  const { name, values, digits } = measure, differences = differencesOf(view, measure);
  if (!differences) return `${name} ${fixed(values[at], digits)}`;
  if (Number.isNaN(values[at])) return `${name} now ${fixed(differences.after[at], digits)}`;
  const before = values[at], now = differences.after[at], enough = agreeing(before, now, digits);
  return `${name} before ${fixed(before, enough)}, now ${fixed(now, enough)} (${signed(now - before, enough)})`;
}

// The fewest decimals from these on with which the rounded difference is that of the rounded numbers.
function agreeing(before, now, digits) {
  const agrees = (count) => Number((Number(now.toFixed(count)) - Number(before.toFixed(count))).toFixed(count)) === Number((now - before).toFixed(count));
  return [0, 1, 2, 3].map((more) => digits + more).find(agrees) ?? digits + 3;
}

// What the change does to the chosen token.
function changedSentence(view) {
  const { header, path, now } = view, measure = view.measure(), seq = header.labels.length, { values } = differencesOf(view, measure);
  const word = quoted(header, path.token), cell = (layer) => layer * seq + path.token;
  if (isNew(view, path.token)) {
    const layers = path.open === "" || path.open === "embeddings" ? "" : ` Layer ${path.open}: ${measureWords(view, measure, cell(Number(path.open)))}.`;
    return `${word} is new in the text and has no number before.${layers || (view.filed ? "" : " Choose another token to see how it moved.")}`;
  }
  const sizes = Array.from(values, Math.abs), own = Array.from({ length: header.layers }, (_, layer) => sizes[cell(layer)]);
  const words = [`The vector that comes out for ${word} has the cosine ${fixed(now.cosine.values[path.token], 4)} to the one before the change.`];
  const unchanged = Number(own[largestOf(own).at].toFixed(measure.digits)) === 0;
  words.unshift(unchanged ? `No layer changes the ${measure.name} for ${word}.` : largestWords(view, sizes, `the ${measure.name} differs most`, (at) => measureWords(view, measure, at)));
  if (path.open !== "" && path.open !== "embeddings") words.unshift(`Layer ${path.open}: ${measureWords(view, measure, cell(Number(path.open)))}.`);
  return words.join(" ");
}

// Where a token of the text before is gone, between two lanes.
function drawGone(view, svg) {
  const { lanes, token } = view.plan;
  for (const [place, text] of view.header.change?.gone ?? []) {
    const y = lanes[0].y + place * lanes[0].h, name = el("title");
    name.textContent = `gone: ${text}`;
    svg.append(el("line", { x1: 0, x2: token.w, y1: y, y2: y, stroke: view.look.text, "stroke-width": 2, "stroke-dasharray": "2 3", class: "gone" }, name));
  }
}

// Two numbers as a bar from 0: now filled, before as an outline.
function drawBoth(view, svg, before, now, { x, y, w, h = 12 }) {
  const most = Math.max(Math.abs(before), Math.abs(now)) || 1, both = before * now < 0;
  const zero = both ? x + w / 2 : before + now < 0 ? x + w : x, unit = (both ? w / 2 : w) / most;
  const bar = (value) => ({ x: zero + Math.min(value, 0) * unit, y, width: Math.abs(value) * unit, height: h });
  svg.append(el("rect", { ...bar(now), fill: view.look.neutral, class: "now" }), el("rect", { ...bar(before), fill: "none", stroke: view.look.text, class: "before" }));
}
