// The message, and what was received of a run, kept under its name: parts of one run never stand under another.
const KEPT_RUNS = 6, KEPT_PARTS = 400;
const ARRAYS = { float32: Float32Array, int16: Int16Array, int8: Int8Array, uint8: Uint8Array };

function decode(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const buffer = bytes.slice(4 + length).buffer;
  const fill = (place) => {
    if (!place) return null;
    const size = place.shape.reduce((product, each) => product * each, 1);
    place.values = new ARRAYS[place.type](buffer, place.at, size);
    return place;
  };
  header.measures.forEach(fill);
  fill(header.strips);
  if (header.change?.measures) [...header.change.measures, header.change.strips, header.change.cosine].forEach(fill);
  if (header.ending) ["layers", "heads", "tokens"].forEach((name) => fill(header.ending[name]));
  const names = ["thumbnails", "rows", "weighted", "output", "activations", "feedForward", "headNorms", "query", "keyVector", "products", "weights", "scores", "value", "mix"];
  for (const part of header.parts) {
    for (const name of names) if (part[name]?.shape) fill(part[name]);
    part.vectors?.forEach(fill);
  }
  return header;
}

// The parts of a run that were received.
function partsOf(run) {
  const all = (globalThis.insideBertJourneys ??= new Map()), parts = all.get(run) ?? new Map();
  all.delete(run);
  all.set(run, parts);
  while (all.size > KEPT_RUNS) all.delete(all.keys().next().value);
  return parts;
}

function receive(header) {
  const parts = partsOf(header.change?.identity ?? header.identity);
  for (const part of header.parts) {
    parts.set(partName(part), part);
    if (part.kind === "head" && part.key === strongest(part.weights.values)) parts.set(partName({ ...part, key: null }), part);
  }
  while (parts.size > KEPT_PARTS) parts.delete(parts.keys().next().value);
  return parts;
}

// Parts that the reader may open next.
function partsView({ data }) {
  receive(decode(data)).added?.();
}

const partName = ({ kind, token, layer, head, key }) => [kind, token, layer ?? "", head ?? "", key ?? ""].join(":");

// The opened layer, if it was received.
const openPart = ({ parts, path }) => (/^\d+$/.test(path.open) ? parts.get(partName({ kind: "layer", layer: Number(path.open), token: path.token })) : undefined);

function strongest(values) {
  let best = 0;
  for (let at = 1; at < values.length; at++) if (values[at] > values[best]) best = at;
  return best;
}

// The strongest keys of a row, as few as cover 90% of it and at most 8, and the share of all others.
function ribbonsOf(row, most = 8, covered = 0.9) {
  const order = Array.from(row.keys()).sort((one, other) => row[other] - row[one] || one - other);
  const keys = [];
  let sum = 0;
  for (const key of order.slice(0, most)) {
    keys.push({ key, share: row[key] });
    sum += row[key];
    if (sum >= covered) break;
  }
  return { keys, rest: Math.max(0, 1 - sum) };
}

// The row of a layer's opening that is drawn: of one head, or the mean of all that are not switched off.
function rowOf(part, head, weighted, off = null) {
  const { values, shape: [heads, seq] } = (weighted && part.weighted) || part.rows, row = (at) => values.subarray(at * seq, (at + 1) * seq);
  if (head !== null) return row(head);
  const mean = new Float32Array(seq), on = Array.from({ length: heads }, (_, at) => at).filter((at) => at !== off);
  for (const each of on) row(each).forEach((share, key) => { mean[key] += share / on.length; });
  return mean;
}
