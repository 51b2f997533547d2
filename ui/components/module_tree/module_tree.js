// A module tree to fold and unfold. Names of modules enter the page through textContent alone.
const HEADS = ["module", "parameters", "share", "shape in \u2192 shape out"];
const element = (name, className, text) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement;
  const table = root.querySelector("table");
  const body = table.tBodies[0];
  const drawn = JSON.stringify([data.rows, data.colours]);
  if (table.drawn !== drawn) {
    draw(table, data);
    table.drawn = drawn;
    table.opened = undefined;
  }
  table.setAttribute("aria-label", data.label);
  if (table.opened !== data.depth) {
    data.rows.forEach((row, at) => { body.rows[at].open = row.depth < data.depth; });
    table.opened = data.depth;
    table.search = undefined;
  }
  if (table.search !== data.search) {
    search(root, body, data);
    table.search = data.search;
  }
  refresh(body);
  choose(body, data.rows, data.selected);
  for (const button of root.querySelectorAll(".bar button")) {
    button.onclick = () => {
      for (const row of body.rows) row.open = button.dataset.do === "open" || row.level < 1;
      refresh(body);
    };
  }
  const pick = (row) => {
    choose(body, data.rows, data.rows[row.at].id);
    setTriggerValue("module", data.rows[row.at].id);
  };
  body.onclick = (event) => {
    const row = event.target.closest("tr");
    if (!row) return;
    if (event.target.closest(".fold") && row.inside) { flip(body, row, !row.open); return; }
    row.focus();
    pick(row);
  };
  body.ondblclick = (event) => {
    const row = event.target.closest("tr");
    if (row && row.inside && !event.target.closest(".fold")) flip(body, row, !row.open);
  };
  // One stop for the tabulator; arrows move, open and shut as in any tree, Enter chooses.
  body.onkeydown = (event) => {
    const row = event.target.closest("tr");
    if (!row) return;
    const shown = [...body.rows].filter((each) => !each.hidden);
    const here = shown.indexOf(row);
    const go = (to) => { if (to) { stop(body, to); to.focus(); } };
    const actions = {
      ArrowDown: () => go(shown[here + 1]), ArrowUp: () => go(shown[here - 1]),
      Home: () => go(shown[0]), End: () => go(shown[shown.length - 1]),
      ArrowRight: () => (row.inside && !row.open ? flip(body, row, true) : go(row.inside ? shown[here + 1] : null)),
      ArrowLeft: () => (row.inside && row.open ? flip(body, row, false) : go(body.rows[row.parent])),
      Enter: () => pick(row), " ": () => pick(row),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  };
}

function draw(table, data) {
  const heads = element("tr");
  HEADS.forEach((words, at) => {
    const cell = element("th", at === 1 || at === 2 ? "number" : "", words);
    cell.scope = "col";
    heads.append(cell);
  });
  table.tHead.replaceChildren(heads);
  const places = new Map(data.rows.map((row, at) => [row.id, at]));
  const rows = data.rows.map((row, at) => {
    const made = element("tr");
    made.at = at;
    made.level = row.depth;
    made.parent = row.parent === null ? -1 : places.get(row.parent);
    made.inside = row.inside;
    made.dataset.module = row.id;
    made.style.setProperty("--depth", row.depth);
    made.setAttribute("role", "row");
    made.setAttribute("aria-level", row.depth + 1);
    made.append(words(row, data.colours), element("td", "number", row.count), share(row, data.colours), shapes(row));
    [...made.cells].forEach((cell) => cell.setAttribute("role", "gridcell"));
    return made;
  });
  table.tBodies[0].replaceChildren(...rows);
}

function words(row, colours) {
  const cell = element("td", "words");
  const swatch = element("span", "swatch");
  swatch.style.background = colours[row.part] ?? "transparent";
  cell.append(element("span", "fold"), swatch);
  if (row.depth) cell.append(element("span", "name", `(${row.name}): `));
  if (row.times) cell.append(element("span", "times", row.times));
  cell.append(element("span", "head", row.head), element("span", "rest"));
  if (row.extra) cell.append(element("span", "rest", ` ${row.extra}`));
  return cell;
}

function share(row, colours) {
  const cell = element("td", "number");
  const box = element("span", "share");
  const track = element("span", "track");
  const fill = element("span", "fill");
  fill.style.width = `${100 * row.fraction}%`;
  fill.style.background = colours[row.part] ?? "var(--muted)";
  track.append(fill);
  if (row.share) box.append(track, element("span", "", row.share));
  cell.append(box);
  return cell;
}

function shapes(row) {
  const cell = element("td", row.shapes ? "shapes" : "shapes none", row.shapes ? "" : row.unshaped);
  cell.append(...row.shapes.split(/(?<=\u2192 )/).map((part) => element("span", "", part))); // no shape in two lines
  return cell;
}

function search(root, body, data) {
  const pattern = data.search.toLowerCase();
  let found = 0;
  let first;
  data.rows.forEach((row, at) => {
    const made = body.rows[at];
    const hit = pattern && `${row.id} ${row.times}${row.head}`.toLowerCase().includes(pattern);
    for (const part of made.querySelectorAll(".name, .head")) {
      const text = part.textContent;
      part.replaceChildren(hit ? element("mark", "", text) : text);
    }
    if (!hit) return;
    found += row.modules;
    first ??= made;
    for (let place = made.parent; place >= 0; place = body.rows[place].parent) body.rows[place].open = true;
  });
  root.querySelector(".bar span").textContent = pattern ? `${found} found` : "";
  if (first) requestAnimationFrame(() => first.scrollIntoView({ block: "nearest" }));
}

function refresh(body) {
  for (const row of body.rows) {
    const around = row.parent >= 0 ? body.rows[row.parent] : null;
    row.hidden = around !== null && (around.hidden || !around.open);
    if (row.inside) row.setAttribute("aria-expanded", String(row.open));
    row.querySelector(".fold").textContent = row.inside ? (row.open ? "\u25be" : "\u25b8") : "";
    row.querySelector(".head + .rest").textContent = row.inside && !row.open ? "\u2026)" : "";
  }
  const tabbed = [...body.rows].find((row) => row.tabIndex === 0);
  if (!tabbed || tabbed.hidden) stop(body, body.rows[0]);
}

function flip(body, row, open) {
  row.open = open;
  refresh(body);
}

function stop(body, row) {
  for (const each of body.rows) each.tabIndex = each === row ? 0 : -1;
}

function choose(body, rows, selected) {
  rows.forEach((row, at) => body.rows[at].setAttribute("aria-selected", String(row.id === selected)));
  const chosen = rows.findIndex((row) => row.id === selected);
  if (chosen >= 0 && !body.rows[chosen].hidden) stop(body, body.rows[chosen]);
}
