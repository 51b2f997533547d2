// The link to what the page shows now. Controls change the address without a word to this field, so it is read again
// whenever the field or the button is used.
export default function ({ data, parentElement }) {
  const field = parentElement.querySelector("input");
  const status = parentElement.querySelector("[role=status]");
  const refresh = () => {
    const link = new URL(window.location.href);
    link.hash = "";
    for (const [name, value] of data.carried) link.searchParams.set(name, value);
    for (const word of chartsAsTheyStand()) link.searchParams.append(data.drawn, word);
    if (field.value !== link.href) {
      field.value = link.href;
      status.textContent = "";
    }
  };
  refresh();
  field.onfocus = () => { refresh(); field.select(); };
  field.onpointerenter = refresh;
  parentElement.querySelector("button").onclick = async () => {
    refresh();
    field.focus();
    field.select();
    // Without https a browser has no clipboard for pages; what is selected can still be copied by hand.
    const copied = await copy(field.value);
    status.textContent = copied ? "The link is copied." : "The link is selected: copy it with Ctrl+C, or ⌘C on a Mac.";
  };
}

// A word for every chart that its reader has moved: zoomed, run through, opened, switched off, encircled.
const MOST_CHARACTERS = 1200, MOST_CORNERS = 48;

function chartsAsTheyStand() {
  const found = [];
  for (const chart of document.querySelectorAll("[data-testid=stMain] .js-plotly-plot")) {
    const place = chart.closest("[class*=st-key-]");
    const key = place && [...place.classList].find((name) => name.startsWith("st-key-")).slice(7);
    if (!key || !chart._fullLayout) continue;
    const moved = [...ranges(chart), ...steps(chart)], around = [...outlines(chart)];
    const word = [key, ...moved, ...around].join("*");
    if (moved.length + around.length) found.push(word.length > MOST_CHARACTERS ? [key, ...moved].join("*") : word);
  }
  return found;
}

function* ranges(chart) {
  for (const [name, axis] of Object.entries(chart.layout)) {
    const full = /^[xy]axis\d*$/.test(name) && chart._fullLayout[name];
    if (!full || full.fixedrange || full.autorange || !axis?.range) continue;
    const first = [full._rangeInitial0, full._rangeInitial1];
    if (!axis.range.every((end, place) => end === first[place])) yield* [name, ...axis.range.map(short)];
  }
}

function* steps(chart) {
  const slider = chart.layout.sliders?.[0];
  if (slider?.steps?.length && slider.active !== slider.steps.length - 1) yield* ["slider", slider.active ?? 0];
  const level = chart.data.find((trace) => trace.level)?.level;
  if (level) yield* ["level", level];
  const hidden = chart.data.flatMap((trace, place) => (trace.visible === "legendonly" ? [place] : []));
  if (hidden.length) yield* ["hidden", ...hidden];
}

function* outlines(chart) {
  for (const shape of chart.layout.selections ?? []) {
    if (shape.type === "rect") yield* ["box", ...[shape.x0, shape.y0, shape.x1, shape.y1].map(short)];
    const corners = shape.type === "path" ? shape.path.match(/-?[\d.]+(?:e-?\d+)?,-?[\d.]+(?:e-?\d+)?/g) ?? [] : [];
    const every = Math.ceil(corners.length / MOST_CORNERS);
    const kept = corners.filter((_, place) => place % every === 0);
    if (kept.length > 2) yield* ["lasso", ...kept.flatMap((corner) => corner.split(",").map((each) => short(+each)))];
  }
}

function short(number) {
  return String(+(+number).toPrecision(6));
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return document.execCommand?.("copy") ?? false;
  }
}
