// The description in words: sentences with their numbers, and words at the pointer.

// A token in quotation marks, with its position where its text occurs more than once.
const placed = ({ labels }, at) => (labels.indexOf(labels[at]) === labels.lastIndexOf(labels[at]) ? "" : ` (token ${at})`);
const quoted = (header, at) => `“${header.labels[at]}”${placed(header, at)}`;

// The word of a token's lane likewise.
function quotedLane({ rows, laneOf }, token) {
  const { text, first } = rows[laneOf[token]];
  return `“${text}”${rows.filter((lane) => lane.text === text).length > 1 ? ` (token ${first})` : ""}`;
}

function cellWords(view, layer, token) {
  const { header } = view, seq = header.labels.length, effects = view.back && header.ending?.layers?.values;
  if (effects) return `Layer ${layer}: without it ${movedWords(effects[layer])} (${fixed(effects[layer], 4)}).`;
  const values = header.measures.map((measure) => measureWords(view, measure, layer * seq + token));
  return `Layer ${layer}, token ${token} “${header.labels[token]}”: ${values.join(", ")}.`;
}

// How far the number is moved by a change, in words that have no sign.
const movedWords = (value) => `the number is ${fixed(Math.abs(value), 4)} ${value < 0 ? "lower" : "higher"}`;

// A measure in sentences: its value in a layer, and what its ends mean.
const SENTENCES = {
  turn: [(layer, word) => `Layer ${layer} turns ${word} by`, "A turn of 0 keeps the direction of the vector, 1 is a right angle."],
  length: [(layer, word) => `After layer ${layer} the vector of ${word} has the length`, ""],
  entropy: [(layer, word) => `In layer ${layer} the attention of ${word} has the entropy`, "An entropy of 0 is attention to one token alone."],
};

// Where the largest of some numbers is, the first of equals, and how many others are as large. NaN is no number.
function largestOf(values) {
  let at = 0, others = 0;
  values.forEach((value, place) => {
    if (value > values[at] || Number.isNaN(values[at])) [at, others] = [place, 0];
    else if (value === values[at] && place !== at) others++;
  });
  return { at, tied: others ? `; ${others} other${others > 1 ? "s" : ""} as large` : "" };
}

// The largest number of all tokens and layers, and the largest of the chosen token while no layer is open.
function largestWords(view, values, what, shown) {
  const { header, path } = view, seq = header.labels.length, all = largestOf(values);
  const own = largestOf(Array.from({ length: header.layers }, (_, layer) => values[layer * seq + path.token]));
  const place = (layer, token, { tied }) => `layer ${layer} for ${quoted(header, token)} (${shown(layer * seq + token)}${tied})`;
  const layer = Math.floor(all.at / seq), token = all.at % seq;
  if (token === path.token || !["", "embeddings"].includes(path.open)) return `Of all layers and tokens ${what} in ${place(layer, token, all)}.`;
  return `Of all layers and tokens ${what} in ${place(layer, token, all)}; of the layers for ${quoted(header, path.token)}, in layer ${own.at} (${shown(own.at * seq + path.token)}${own.tied}).`;
}

// The visible part, in words and with its numbers.
function sentence(view) {
  const { header, path } = view, seq = header.labels.length, measure = view.measure();
  if (header.missing) return header.missing;
  const word = quoted(header, path.token);
  if (view.back && header.ending) return restsOn(header);
  if (!measure || !header.layers) return "";
  if (view.now) return changedSentence(view);
  if (isNew(view, path.token)) return "";
  const own = Array.from({ length: header.layers }, (_, layer) => measure.values[layer * seq + path.token]);
  const [other, meaning] = SENTENCES[measure.key];
  const words = [largestWords(view, measure.values, `the ${measure.name} is largest`, (at) => fixed(measure.values[at], measure.digits))];
  if (header.unknown.includes(path.token)) words.push(`The tokenizer's vocabulary lacks the text here, so the model reads ${word}.`);
  if (path.open !== "" && path.open !== "embeddings") {
    words.unshift(`${other(path.open, word)} ${fixed(own[path.open], measure.digits)}.`);
    const part = openPart(view);
    if (part && header.heads) {
      const { keys: [{ key, share }], sink } = laneRibbons(view, rowOf(part, path.head, view.ribbon === "weighted"));
      const weighted = view.ribbon === "weighted", s = path.head === null ? "" : "s", does = weighted ? "takes up most from" : "looks most at";
      const who = path.head === null ? "Its heads together" : `Head ${path.head}`, named = quotedLane(view, key);
      words.push(addedWords(part), `${who} ${weighted ? `take${s} up most from ${named}` : `look${s} at ${named} most`} (${fixed(share)}).`);
      if (sink > 0.0005) words.push(`The attention sink, which has no value, takes ${fixed(sink)}.`);
      const best = header.heads > 1 && strongestHead(view, part);
      if (best && best.head !== path.head) words.push(`Of its heads, head ${best.head} ${does} another word: ${quoted(header, best.key)} (${fixed(best.share)}).`);
    }
  } else words.push(meaning, barWords(view), view.filed || view.presented ? "" : "Choose a layer to open it, or another token to follow it.");
  return words.filter(Boolean).join(" ");
}

// How long the vectors are that the blocks of the opened layer add for the token, and which head adds the longest.
function addedWords({ output, feedForward, headNorms }) {
  const most = headNorms && strongest(headNorms.values), long = ({ values }) => fixed(Math.hypot(...values), 2);
  const head = headNorms && headNorms.values.length > 1 ? `, the longest part of it by head ${most} (${fixed(headNorms.values[most], 2)})` : "";
  const words = [output && `Attention adds a vector of length ${long(output)}${head}`, feedForward && `${output ? "the feed-forward adds one" : "The feed-forward adds a vector"} of ${output ? "" : "length "}${long(feedForward)}`];
  return words.some(Boolean) ? `${words.filter(Boolean).join("; ")}.` : "";
}

function barWords(view) {
  const [[index, words] = []] = builtOtherwise(view);
  return words ? `A bar marks layers like ${layerAt(view.header.stages, index)}, ${words}.` : "";
}

// The head and the key of the largest weight on another token that is not special; null if there is none.
function strongestHead({ header, path, ribbon }, part) {
  let best = null;
  for (let head = 0; head < header.heads; head++) {
    rowOf(part, head, ribbon === "weighted").forEach((share, key) => {
      if (key !== path.token && !header.special.includes(key) && share > (best?.share ?? 0)) best = { head, key, share };
    });
  }
  return best;
}

// What the number at the end rests on most.
function restsOn(header) {
  const { ending } = header;
  const words = [], moves = (value) => `${movedWords(value)}.`, farthest = (values) => values.reduce((best, value, at) => (Math.abs(value) > Math.abs(values[best]) || !Number.isFinite(values[best]) ? at : best), 0);
  if (ending.layers) {
    const layer = farthest(ending.layers.values);
    words.push(`Of all layers, layer ${layer} changes the number most: without it ${moves(ending.layers.values[layer])}`);
  }
  if (ending.heads) {
    const at = farthest(ending.heads.values.map((value) => (Number.isFinite(value) ? value : 0))), columns = ending.heads.shape[1];
    words.push(`Of all heads, head ${at % columns} of layer ${Math.floor(at / columns)}: without it ${moves(ending.heads.values[at])}`);
  }
  if (ending.tokens) {
    const token = farthest(ending.tokens.values);
    words.push(`Of all words, “${ending.word}”${placed(header, token)}: without it ${moves(ending.tokens.values[token])}`);
  }
  return words.join(" ");
}

// Words at the pointer: the number of a cell, the dimensions of a bin, a label in full. A tap shows them too.
function tipped(node, words) {
  node.classList.add("tipped");
  node.tip = words;
  return node;
}

// What fixed words of the drawing mean, as the glossary has it: at the pointer, behind what is known there anyway, and
// as the description of their place, which a saved picture has as its title.
function explained(node, words, before = node.tip?.()) {
  const meanings = [before, ...words.map((word) => GLOSSARY[word])].filter(Boolean);
  if (!meanings.length) return node;
  node.classList.add("term");
  node.setAttribute("aria-description", meanings.join(" "));
  if (!node.hasAttribute("role")) { // a screen reader describes no bare text
    node.setAttribute("role", "img");
    node.setAttribute("aria-label", (node.matches("text") ? [node] : [...node.querySelectorAll("text")]).map((each) => each.textContent).join(" "));
  }
  return tipped(node, () => meanings.join("\n"));
}

// Words of the glossary for a measure of the cells; those of its unit beside its scale.
const MEASURED = { turn: ["turn of the vector"], length: ["norm"], entropy: ["entropy"] }, UNITS = { turn: ["cosine"], entropy: ["nat"] };
const measureTerms = (view) => (view.back && view.header.ending ? ["effect"] : MEASURED[view.measure()?.key] ?? []);

// Words of the glossary for a stage that is not opened, and for what is done in a layer.
const STAGE_TERMS = { pooler: ["pooler"], "task head": ["task head"], aside: ["task head"], norm: ["layer norm"] };
const STEP_TERMS = { attention: ["attention"], "cross-attention": ["attention"], "feed-forward": ["feed-forward"], norm: ["layer norm"], add: ["residual connection"] };

function watchTips(view) {
  const { root, sheet } = view, tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true, ariaHidden: "true" });
  root.append(tip);
  const show = (event) => {
    const node = event.target.closest(".tipped");
    tip.hidden = !node;
    if (!node) return;
    tip.textContent = node.tip(event);
    const { clientX: x, clientY: y } = event, right = document.documentElement.clientWidth - x, below = window.innerHeight - y, most = tip.offsetHeight + 28;
    Object.assign(tip.style, { left: "auto", right: "auto", top: "auto", bottom: "auto", ...(x < right ? { left: `${x + 8}px` } : { right: `${right + 8}px` }), ...(below > most || y < most ? { top: `${y + 20}px` } : { bottom: `${below + 12}px` }) });
  };
  for (const name of ["pointermove", "pointerdown"]) sheet.addEventListener(name, show);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { capture: true, passive: true });
  sheet.addEventListener("pointerleave", ({ pointerType }) => { tip.hidden ||= pointerType === "mouse"; });
  return tip;
}

// Which of so many equal parts of a box the pointer is over.
function partAt(node, event, count, axis) {
  const box = node.getBoundingClientRect(), share = axis === "y" ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width;
  return clamp(Math.floor(share * count), 0, count - 1);
}

// A bin of a vector with so many dimensions: these, and its value, which is rounded to whole units.
function binWords(values, at, { width = values.length, unit = 0 } = {}) {
  const first = Math.floor((at * width) / values.length), last = Math.floor(((at + 1) * width) / values.length) - 1;
  const value = unit ? fixed(values[at] * unit, clamp(Math.floor(-Math.log10(unit)), 0, 3)) : short(values[at]);
  return first === last ? `dimension ${first} of ${width}: ${value}` : `dimensions ${first} to ${last} of ${width}: ${value} is the largest in magnitude`;
}

// Heights of labels, the first at its own lane, the others as near to theirs as a distance allows, none above the least.
function spread(keys, mid, distance, least) {
  const places = new Map(), [chosen] = keys;
  for (const side of [1, -1]) {
    let last = mid(chosen);
    places.set(chosen, last);
    for (const key of keys.filter((each) => (each - chosen) * side > 0).sort((one, other) => (one - other) * side)) {
      last = side * Math.max(side * mid(key), side * last + distance);
      places.set(key, last);
    }
  }
  for (const key of [...places.keys()].sort((one, other) => one - other)) {
    places.set(key, Math.max(places.get(key), least));
    least = places.get(key) + distance;
  }
  return places;
}
