// One message: u32 length of the header, JSON header, arrays. What was received is kept under the atlas's identity, so
// that it is sent once. A weight is scale * (code / levels)^2.
const KEPT_ATLASES = 4;
const KEPT_BYTES = 64e6;

function decode(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const arrays = bytes.slice(4 + length).buffer;
  header.codes = (bits, offset, count) =>
    bits === 16 ? new Uint16Array(arrays.slice(offset, offset + 2 * count)) : new Uint8Array(arrays, offset, count);
  return header;
}

// Shared by all views of the page: a view that is taken off and put back finds what it had.
function storeOf(identity) {
  const all = (globalThis.insideBertAttention ??= new Map());
  const store = all.get(identity) ?? { identity, atlas: null, maps: new Map() };
  all.delete(identity);
  all.set(identity, store);
  while (all.size > KEPT_ATLASES) all.delete(all.keys().next().value);
  return store;
}

function receive(header) {
  const store = storeOf(header.identity);
  if (header.atlas && !store.atlas) {
    const atlas = header.atlas;
    atlas.keys ??= atlas.queries;
    atlas.rows = atlas.rowEdges.length - 1;
    atlas.columns = atlas.columnEdges.length - 1;
    atlas.codes = header.codes(atlas.bits, 0, atlas.layers * atlas.heads * atlas.rows * atlas.columns);
    // Every token has its own row and column, and no share is hidden that cannot be told from the rest of the row.
    atlas.full = atlas.rows === atlas.queries.labels.length && atlas.columns === atlas.keys.labels.length;
    atlas.derives = atlas.bits === 16 && atlas.weights !== "value-weighted";
    atlas.complete = atlas.full && Boolean(!atlas.hides || atlas.derives || atlas.hidden);
    store.atlas = atlas;
  }
  if (!store.atlas) return store;
  for (const map of header.maps) {
    const [, queries, , keys] = wholeOf(store.atlas);
    map.rowEdges ??= Array.from({ length: queries + 1 }, (_, at) => at);
    map.columnEdges ??= Array.from({ length: keys + 1 }, (_, at) => at);
    const rows = map.rowEdges.length - 1, columns = map.columnEdges.length - 1;
    const picture = { ...map, rows, columns, codes: header.codes(map.bits, map.offset, rows * columns) };
    const name = mapName(map.layer, map.head, isExact(picture) && coversAll(store, picture) ? null : windowOf(picture));
    store.maps.delete(name);
    store.maps.set(name, withPeak(picture));
    const bytes = () => [...store.maps.values()].reduce((sum, { codes }) => sum + codes.byteLength, 0);
    while (store.maps.size > 1 && bytes() > KEPT_BYTES) store.maps.delete(store.maps.keys().next().value);
  }
  return store;
}

function withPeak(picture) {
  picture.levels = picture.bits === 16 ? 65535 : 255;
  let peak = 0;
  for (const code of picture.codes) if (code > peak) peak = code;
  picture.peak = peak;
  picture.exact = isExact(picture);
  return picture;
}

const mapName = (layer, head, window) => [layer, head, ...(window ?? [])].join(".");
const windowOf = (picture) =>
  [picture.rowEdges[0], picture.rowEdges.at(-1), picture.columnEdges[0], picture.columnEdges.at(-1)];
const isSingle = (edges) => edges.at(-1) - edges[0] === edges.length - 1;
const isExact = (picture) => isSingle(picture.rowEdges) && isSingle(picture.columnEdges);
const coversAll = (store, picture) => sameList(windowOf(picture), wholeOf(store.atlas));
const wholeOf = (atlas) => [0, atlas.rowEdges.at(-1), 0, atlas.columnEdges.at(-1)];
const sameList = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const contains = (outer, inner) =>
  outer[0] <= inner[0] && outer[1] >= inner[1] && outer[2] <= inner[2] && outer[3] >= inner[3];

function thumbnail(atlas, layer, head) {
  const size = atlas.rows * atlas.columns, at = (layer * atlas.heads + head) * size;
  const { bits, scale, rows, columns, rowEdges, columnEdges } = atlas;
  const codes = atlas.codes.subarray(at, at + size);
  const picture = withPeak({ layer, head, bits, scale, rows, columns, rowEdges, columnEdges, codes, hidden: null });
  if (atlas.hidden) picture.hidden = atlas.hidden[layer * atlas.heads + head];
  else if (atlas.full && atlas.hides && atlas.derives) picture.hidden = restOfRows(picture);
  return picture;
}

function restOfRows(picture) {
  return Array.from({ length: picture.rows }, (_, row) => {
    let sum = 0;
    for (let column = 0; column < picture.columns; column++) sum += valueAt(picture, row, column);
    return Math.max(0, 1 - sum);
  });
}

// The best picture of a head in a window that the browser holds; `wanting` where the server has a better one.
function pictureOf(store, layer, head, window) {
  const whole = wholeOf(store.atlas);
  const target = window ?? whole;
  const named = store.maps.get(mapName(layer, head)) ?? store.maps.get(mapName(layer, head, target));
  if (named) return { picture: named, wanting: false };
  let best = null;
  for (const map of store.maps.values()) {
    if (map.layer !== layer || map.head !== head || !contains(windowOf(map), target)) continue;
    if (!best || map.rowEdges.at(-1) - map.rowEdges[0] < best.rowEdges.at(-1) - best.rowEdges[0]) best = map;
  }
  return { picture: best ?? thumbnail(store.atlas, layer, head), wanting: !store.atlas.complete };
}

const shareOf = (picture, code) => (code / picture.levels) ** 2;
const valueAt = (picture, row, column) => picture.scale * shareOf(picture, picture.codes[row * picture.columns + column]);
const peakOf = (picture) => picture.scale * shareOf(picture, picture.peak);

// Where the scale of colours ends for a picture: at the largest weight of all heads, at its own, or at 1.
const hasFixedScale = ({ store }) => store.atlas.weights !== "value-weighted"; // a norm has no largest value
const topOf = (view, picture) => {
  if (view.scale === "own") return peakOf(picture);
  return view.scale === "fixed" && hasFixedScale(view) ? 1 : Math.max(picture.scale, view.store.atlas.scale);
};

// Index of the block that a coordinate lies in.
function blockAt(edges, coordinate) {
  let low = 0, high = edges.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (edges[middle] <= coordinate) low = middle; else high = middle - 1;
  }
  return low;
}
