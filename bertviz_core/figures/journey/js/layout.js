// The layout: a pure function of sizes and of what is open. No two boxes overlap; tests measure it for
// every number of layers and tokens and every width.
const TALL_BELOW = 640, TOP = 66, BOTTOM = 48, LINE = 20, DETAIL = 208, BODY = 340, LEAST_BODY = 255, FOOT = 100, NOTE = 84, HEADING = 34, LEAST = 300, TALL_STEP = 26, TALL_KEY = 28, TALL_TOUCHED = 44; // on a phone: an operation, a key, a key that opens
const CLOSED = 15, THIN = 13, EDGE = 24, WORKABLE = 440; // slot of a closed layer, and beside an opened one that is short of room; of the first and the last one; width of an opened layer before closed ones get narrower
const MAP = { w: 52, h: 66, size: 44 }, MAP_NUMBERED = { w: 76, h: 84, size: 62 }; // place and size of a head's map on a phone, and of one with a number below
const LISTED = 40; // tokens from which on a phone has a list of them
const STRIP = 168, FRAMED_STRIP = 112, STRIP_ROW = 42, STRIPS = 5; // least width of a strip of an opened layer, also in a frame whose height is short; height of a row of them, how many there are
const SHARED = 28, BEHIND = 130; // height of what all layers share above them, least height of a stage behind them
const AFTER = ["pooler", "task head", "decoder", "aside"]; // stages that read what comes out
const FEW = 24, SEVERAL = 80; // numbers of tokens up to which cells have numbers, and lanes have words

function layoutOf(sizes) {
  return sizes.width < TALL_BELOW ? tallLayout(sizes) : wideLayout(sizes);
}

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

// In a frame all has at least the size SIZE, and takes as much height as the frame has, if that is enough. A presenter
// cannot scroll: many lanes get lower there, so that words need not get smaller.
function lanesOf(tokens, open, above, frame, presented, top, least) {
  const count = Math.max(tokens, 1), heading = (open ? HEADING : 0) + above; // room above the heads and the ribbons
  const room = frame ? frame - heading : open ? 320 : 304;
  const height = count <= FEW ? clamp(room / count, frame ? 14.7 : 22, frame ? 46 : open ? 40 : 38) : presented ? clamp(room / count, count <= SEVERAL ? 14 : 1, 18) : count <= SEVERAL ? (frame ? 18 : 14) : clamp(900 / count, 4, 8);
  const body = Math.max(count * height + heading, least, open ? above + (frame ? clamp(frame - above, LEAST_BODY, BODY) : BODY) : 0), first = top + heading + (body - heading - count * height) / 2;
  const lanes = Array.from({ length: count }, (_, at) => ({ y: first + at * height, h: height, mid: first + (at + 0.5) * height }));
  return { lanes, body };
}

// How many strips stand side by side in an opened layer.
const stripColumns = (width, frame) => Math.max(1, Math.floor((width - 16) / ((frame ? FRAMED_STRIP : STRIP) + 16)));

function wideLayout({ width: available, tokens, stages, heads, open, head, off, changed, ends, filed, presented, frame = 0 }) {
  let width = available;
  const shared = stages.findIndex(({ kind }) => kind === "shared"), top = TOP + (shared < 0 ? 0 : SHARED);
  const behind = stages.filter((stage) => !["embeddings", "shared", "layer"].includes(stage.kind));
  const behindWidth = 28, layers = stages.filter((stage) => stage.kind === "layer").length;
  const openFirst = open === "embeddings", closed = layers - (open === "" || openFirst ? 0 : 1);
  const gap = width >= 1000 ? 14 : 8;
  const sizesAt = (at) => { // widths of the columns that are no layers, and of all of them together
    const widest = at >= 1000 ? 160 : at >= 760 ? 128 : 112, endWidth = ends ? widest : 0, closedFirst = at >= 1000 ? 84 : 56;
    const tokenWidth = at >= 1000 ? 132 : at >= 760 ? 108 : 88, outWidth = !ends && open === "" ? widest : at >= 1000 ? 110 : 64;
    return { tokenWidth, outWidth, endWidth, closedFirst, fixed: tokenWidth + outWidth + 22 + endWidth + behind.length * (behindWidth + 8) + 3 * gap };
  };
  const spacious = sizesAt(width), edges = 2 * (EDGE - CLOSED);
  const crowded = open !== "" && spacious.fixed + (openFirst ? 0 : spacious.closedFirst) + 2 * gap + WORKABLE + closed * CLOSED + edges > width; // an opened layer comes before wide words
  const { tokenWidth, outWidth, endWidth, closedFirst, fixed } = crowded ? sizesAt(Math.min(width, 999)) : spacious;
  let room = width - fixed - (openFirst ? 0 : closedFirst);
  const lacking = open === "" ? 0 : LEAST + 2 * gap + closed * 4 - room; // a drawing that is wider than its place is scrolled
  if (lacking > 0) [width, room] = [width + lacking, room + lacking];
  const beside = room - 2 * gap, most = Math.max(beside - closed * CLOSED - edges, Math.min(beside - closed * THIN - 2 * (EDGE - THIN), WORKABLE), LEAST); // closed layers keep some room
  const box = open === "" ? 0 : Math.min(Math.max(room * 0.78, 420, openFirst ? 0 : 656), most);
  const slots = slotsOf(room - (box ? box + 2 * gap : 0), layers, open, box ? 40 : presented ? 200 : frame || filed ? 120 : 76), space = spaceOf(slots.inner);
  const abreast = stripColumns(box, frame), rows = Math.ceil(STRIPS / abreast);
  const needed = open === "" || openFirst ? 0 : head !== null && !off?.words ? DETAIL : FOOT + (rows - 1) * STRIP_ROW;
  // Below many lanes nobody would find what is known of the opened part: it stands above them, and where the heads would be if there are none.
  const noHeads = needed && !heads, above = tokens > FEW && heads ? needed : 0, foot = noHeads ? 0 : needed - above, lines = (tokens > FEW ? 5 : 3) - (frame ? 1 : 0), below = BOTTOM + LINE * lines + (changed ? 24 : 0); // the scale, and the sentence in so many lines
  const { lanes, body } = lanesOf(tokens, open !== "", above, frame && frame - top - foot - below, presented, top, Math.max(behind.length ? BEHIND : 0, noHeads ? NOTE + needed : 0));
  const under = top + (noHeads ? NOTE : above ? 0 : body);
  const columns = [];
  let x = tokenWidth + gap;
  let boxAt = null, out = null;
  const putOut = () => {
    const last = columns.at(-1);
    x += last?.behind ? 0 : gap - space; // an opened layer and the embeddings have a gap behind them
    out = { x, w: outWidth };
    x += outWidth + 8;
  };
  stages.forEach((stage, index) => {
    const isOpen = (stage.kind === "embeddings" && openFirst) || (stage.kind === "layer" && String(layerAt(stages, index)) === open);
    if (stage.kind === "shared") return;
    if (isOpen) {
      if (stage.kind === "layer") x += gap - space;
      boxAt = { x, y: top - 34, w: box, h: body + 40 + foot };
      columns.push({ index, x, w: box, open: true });
      x += box + gap;
    } else if (stage.kind === "embeddings") {
      columns.push({ index, x, w: closedFirst, open: false });
      x += closedFirst + gap;
    } else if (stage.kind === "layer") {
      const slot = slots.of(layerAt(stages, index));
      columns.push({ index, x, w: slot - space, open: false });
      x += slot;
    } else {
      if (!out && AFTER.includes(stage.kind)) putOut();
      else if (!out && !columns.at(-1).behind) x += gap - space;
      columns.push({ index, x, w: behindWidth, open: false, behind: true });
      x += behindWidth + 8;
    }
  });
  if (!out) putOut();
  const end = ends ? { x: Math.min(x + 14, width - endWidth), w: endWidth } : null;
  const own = columns.filter(({ index }) => stages[index].kind === "layer"), last = own.at(-1);
  const span = shared < 0 || !last ? null : { index: shared, x: own[0].x, y: 4, w: last.x + last.w - own[0].x, h: SHARED - 6 };
  return {
    mode: "wide", width, lines, abreast, height: top + body + foot + below, legendY: top + body + foot + 26, top, body, lanes, columns, above, shared: span,
    token: { x: 0, w: tokenWidth }, box: boxAt, out, end, inside: boxAt && insideOf(boxAt, body - above, heads, openFirst, top + above), footY: under + 8, stepsY: under + 10 + rows * STRIP_ROW,
  };
}

const spaceOf = (slot) => (slot > 30 ? 8 : slot > 14 ? 3 : 1);

// Widths of the closed layers, with the space behind them: where they are narrow, the first and the last are wider.
function slotsOf(room, layers, open, most) {
  const edges = [...new Set([0, layers - 1])].filter((layer) => String(layer) !== open), closed = layers - (Number(open) < layers && open !== "" ? 1 : 0);
  const each = Math.min(room / Math.max(closed, 1), most), within = closed - edges.length;
  const edge = Math.max(each, Math.min(EDGE, each + (each * within) / 2 / Math.max(edges.length, 1))); // others keep at least half
  const inner = within > 0 ? (each * closed - edges.length * edge) / within : each;
  return { inner, of: (layer) => (edges.includes(layer) ? edge : inner) };
}

const layerAt = (stages, index) => stages.slice(0, index).filter((stage) => stage.kind === "layer").length;

// Inside an opened layer: heads, ribbons, strips.
function insideOf(box, body, heads, isEmbeddings, top) {
  const wide = isEmbeddings ? 0 : clamp(box.w * 0.36, 90, 330), tall = Math.min(body - 44, 420);
  let best = { size: 0, columns: 1 };
  for (let columns = 1; columns <= Math.max(heads, 1); columns++) {
    const rows = Math.ceil(heads / columns);
    const size = Math.min((wide - 10 * (columns - 1)) / columns, tall / rows - 20, 92);
    if (size > best.size) best = { size, columns };
  }
  const left = box.x + 16;
  const ribbonLeft = left + wide + (isEmbeddings ? 0 : 74), room = box.x + box.w - 16 - ribbonLeft, names = room < 180 ? 0 : 62;
  return { heads: { x: left, y: top + 22, ...best }, ribbons: { x: ribbonLeft + names, w: room - names, names } };
}

// How many strips stand side by side on a phone.
const tallAbreast = (width) => Math.max(1, Math.floor((width + 12) / 162));

// On a phone one token runs from top to bottom: a row a stage.
function tallLayout({ width, tokens, stages, heads, open, head, bars = 1, added = 0, acts, filed, changed, ends, off, numbered }) {
  const row = 46, rows = [];
  let y = filed ? 44 : tokens > LISTED ? 148 : 96; // without what chooses a token
  stages.forEach((stage, index) => {
    const isOpen = (stage.kind === "embeddings" && open === "embeddings") || (stage.kind === "layer" && String(layerAt(stages, index)) === open);
    const map = numbered ? MAP_NUMBERED : MAP, columns = Math.max(1, Math.floor((width - 16 + map.w - map.size) / map.w)), grid = Math.ceil(heads / columns) * map.h;
    const buttons = acts ? 52 : 0; // a row of buttons that switch the layer and the head off
    const gone = isOpen && off?.words, attention = gone ? (off.head === null ? 0 : grid) + 72 : heads ? grid + bars * (head === null ? TALL_KEY : TALL_TOUCHED) + 52 : 112;
    const strips = gone || head !== null ? 0 : STRIP_ROW * Math.ceil(added / tallAbreast(width - 16)), below = gone ? 0 : head === null ? TALL_STEP * (stage.steps.length + 1) : DETAIL;
    const inner = !isOpen ? 0 : stage.kind === "embeddings" ? 228 : buttons + strips + attention + below;
    rows.push({ index, y, h: row, inner, open: isOpen, grid, map, columns, strips, attention, buttons: stage.kind === "layer" ? buttons : 0 });
    y += row + 4 + inner;
  });
  const lines = changed ? 7 : open === "" ? 5 : 8; // of the sentence below, under the scale of a change
  return { mode: "tall", width, height: y + 50 + LINE * lines + (changed ? 50 : 0) + (ends ? 122 : 0), rows, endY: y + 10, lines, tokens };
}
