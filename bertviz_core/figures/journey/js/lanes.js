// Lanes: the tokens, or in a long text its words, with the numbers of their pieces merged.
function lanesIn({ header, lanes }, width) {
  const count = header.labels.length, merge = lanes === "words" && width >= TALL_BELOW && !header.change?.origin;
  const words = new Map(merge ? header.words.map(([first, pieces, text]) => [first, { first, pieces, text }]) : []);
  const found = [];
  for (let at = 0; at < count; at += found.at(-1).pieces) found.push(words.get(at) ?? { first: at, pieces: 1, text: header.labels[at] });
  return found;
}

const tokensOf = ({ first, pieces }) => Array.from({ length: pieces }, (_, at) => first + at);

// The position of the lane of a token, and the lane.
const laneAt = ({ plan, laneOf }, token) => plan.lanes[laneOf[token] ?? 0];
const wordAt = ({ rows, laneOf }, token) => rows[laneOf[token]].text;

// The strongest lanes of a row of attention: weights on the pieces of a word are added up, its key is the strongest.
// What a row of weights lacks to 1 is on the attention sink, which has no lane.
function laneRibbons({ rows, header, ribbon }, row) {
  const own = rows.map((lane) => tokensOf(lane)), shares = own.map((tokens) => tokens.reduce((sum, token) => sum + row[token], 0));
  const made = ribbonsOf(shares), strongestOf = (tokens) => tokens.reduce((best, token) => (row[token] > row[best] ? token : best));
  const merged = rows.reduce((sum, { pieces }, at) => sum + (pieces > 1 ? shares[at] : 0), 0);
  const sink = header.sinks && ribbon !== "weighted" ? Math.max(0, 1 - row.reduce((sum, share) => sum + share, 0)) : 0;
  const others = shares.filter((share) => share > 0).length - made.keys.length; // a key that cannot be seen is none
  return { rest: Math.max(0, made.rest - sink), others, sink, merged, keys: made.keys.map(({ key, share }) => ({ key: strongestOf(own[key]), share })) };
}

// The mean of the shading's values over the pieces of a lane, at a layer.
function laneValue(shading, { header }, layer, lane) {
  const from = layer * header.labels.length;
  return tokensOf(lane).reduce((sum, token) => sum + shading.value(from + token), 0) / lane.pieces;
}

// A lane at the pointer, and its cell of a layer.
function laneWords(view, at, layer) {
  const { first, pieces, text } = view.rows[at], shading = layer === undefined ? null : shadingOf(view);
  if (pieces === 1) return layer === undefined ? `Token ${first}: ${text}` : view.cellWords(layer, first);
  const what = `okens ${first} to ${first + pieces - 1}`, mean = shading ? `: ${view.measureName()} ${shading.text(laneValue(shading, view, layer, view.rows[at]))}, mean of the pieces` : "";
  return layer === undefined ? `T${what}: ${text}` : `Layer ${layer}, t${what} “${text}”${mean}.`;
}

// What a long text hides and merges, and how much attention it holds.
function hiddenWords({ header, plan, path, rows, ribbons, laneOf, filed }) {
  const words = [], merged = rows.filter(({ pieces }) => pieces > 1), named = new Set([path.token, ...(ribbons?.keys.map(({ key }) => key) ?? [])].map((token) => laneOf[token])).size;
  if (plan.mode === "tall" || header.labels.length <= FEW || !header.measures.length) return "";
  const lanes = merged.length ? "lanes" : "tokens";
  words.push(header.labels.length > SEVERAL ? `${rows.length - named} of ${rows.length} ${lanes} are drawn without their words${filed ? "" : ": point at one for its word and numbers"}.` : filed ? "" : "Point at a cell for its numbers.");
  if (merged.length) {
    const holds = ribbons ? `, and ${fixed(ribbons.merged)} of the attention is on them` : "";
    words.push(`${merged.length === 1 ? "1 word of several tokens has" : `${merged.length} words of several tokens have`} one lane each: cells show the mean, the strip is of the first token${holds}.`);
  }
  if (ribbons?.rest > 0.0005) words.push(`The grey ribbon holds ${fixed(ribbons.rest)} of the attention, on ${ribbons.others} other ${lanes}.`);
  return words.filter(Boolean).join(" ");
}
