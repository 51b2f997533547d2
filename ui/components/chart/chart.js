// A chart that plotly draws into an element that stays: a change is one `react`, and zoom, hover and an opened module
// survive it. Message: u32 length of the header, JSON header, the figure as JSON, the cells of the layers sent ahead.
// A "layer" is a position of a control, that of the layer or another: the header has its figure, or what of it differs.
const HIERARCHIES = ["sunburst", "treemap", "icicle"];
const AXIS = /^[xy]axis\d*$/;
const CORNERS = "M3 3h7v2H5v5H3zM14 3h7v7h-2V5h-5zM3 14h2v5h5v2H3zM19 14h2v7h-7v-2h5z";
const AHEAD = "200px";
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const SLACK = 10; // pixels that a finger moves in a tap
const charts = new WeakMap();
let library = null;

export default function ({ data, parentElement, setStateValue }) {
  const place = parentElement.querySelector("[data-chart]");
  if (!charts.has(place)) charts.set(place, new Chart(place));
  const chart = charts.get(place);
  chart.take(data, setStateValue);
  return () => {
    chart.end();
    charts.delete(place);
  };
}

class Chart {
  constructor(place) {
    this.place = place;
    this.pressed = 0;
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(place);
    this.control = new MutationObserver(() => this.draw());
    this.sight = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && this.show(), { rootMargin: AHEAD });
    this.sight.observe(place);
    window.addEventListener("beforeprint", this.show);
    document.addEventListener("chart:draw", this.answer);
    document.addEventListener("pointermove", this.point);
    place.addEventListener("pointerdown", (event) => {
      this.pointer = this.down = event;
      const { activeElement: field } = document; // which plotly would leave the focus, so that what is typed were lost
      if (field?.matches("input, textarea")) field.blur();
    }, true);
  }

  end() {
    for (const observer of [this.sizes, this.control, this.sight]) observer.disconnect();
    window.removeEventListener("beforeprint", this.show);
    document.removeEventListener("chart:draw", this.answer);
    document.removeEventListener("pointermove", this.point);
    library?.then((plotly) => plotly.purge(this.place));
  }

  take(data, setStateValue) {
    const length = new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(0, true);
    const text = new TextDecoder(), start = 4 + length;
    this.header = JSON.parse(text.decode(data.subarray(4, start)));
    const { chart, alt, height, nbytes, ahead } = this.header;
    this.figure = JSON.parse(text.decode(data.subarray(start, start + nbytes)));
    this.setStateValue = setStateValue;
    Object.assign(this.place.dataset, { chart });
    this.place.setAttribute("aria-label", alt);
    this.place.style.height = `${height}px`;
    this.layer = null;
    this.control.disconnect();
    if (ahead) {
      const bytes = data.slice(start + nbytes).buffer;
      this.cells = ahead.exact ? new Float32Array(bytes) : new Int16Array(bytes);
      const attributes = { attributes: true, attributeFilter: ["aria-valuetext", "aria-checked"] };
      this.control.observe(document.body, { childList: true, subtree: true, ...attributes });
    }
    this.draw();
  }

  // A chart below the window is drawn when it is looked at, or printed.
  show = () => {
    this.seen = true;
    this.sight.disconnect();
    this.draw();
  };

  async draw() {
    if (!this.seen) return;
    const plotly = await plotlyModule(), { place, header } = this, width = place.clientWidth;
    if (!place.isConnected || !width || (header.ahead && !this.follow())) return;
    const whole = document.fullscreenElement === place, height = whole ? window.innerHeight : header.height;
    const { figure } = this;
    if (this.drawn?.figure === figure && this.drawn.width === width && this.drawn.height === height) return;
    this.drawn = { figure, width, height };
    const layout = { ...figure.layout, width, height, uirevision: meaning(figure) };
    if (header.selects) layout.clickmode = "event+select";
    await plotly.react(place, figure.data, layout, { ...header.config, modeBarButtonsToAdd: [fullScreen(place)] });
    if (!this.listening) this.listen();
    this.hoverAgain();
  }

  // The figure becomes that of the layer at which the control stands; whether the control is on the page already.
  follow() {
    const { control, layers } = this.header.ahead, layer = position(control), shown = layers[layer];
    if (!shown || layer === this.layer) return shown !== undefined;
    this.figure = shown.figure ? JSON.parse(shown.figure) : this.figureOf(layer, shown);
    this.layer = layer;
    this.place.setAttribute("aria-label", shown.alt);
    return true;
  }

  figureOf(layer, shown) {
    const { rows, columns } = this.header.ahead, from = layer * rows * columns;
    const z = Array.from({ length: rows }, (_, row) => this.cells.subarray(from + row * columns, from + (row + 1) * columns));
    const [map, ...others] = this.figure.data, { layout } = this.figure, [zmin, zmax] = shown.ends;
    const { tickvals, ticktext, text, colours } = shown;
    const numbers = (trace) => trace.mode === "text" ? { ...trace, text, textfont: { ...trace.textfont, color: colours } } : trace;
    return {
      data: [{ ...map, z, zmin, zmax, colorbar: { ...map.colorbar, tickvals, ticktext } }, ...others.map(numbers)],
      layout: { ...layout, title: { ...layout.title, text: shown.title } },
    };
  }

  listen() {
    const { place } = this;
    this.listening = true;
    if (this.header.clicks) {
      place.dataset.ready = "";
      place.tabIndex = 0;
      place.onkeydown = (event) => this.step(event);
    }
    // A module with others inside is told before it is opened, a module without by the click of any chart.
    place.on("plotly_click", ({ points: [point] }) => this.isScrolled() || HIERARCHIES.includes(point.data.type) || this.press(point));
    for (const kind of HIERARCHIES) place.on(`plotly_${kind}click`, ({ points: [point] }) => this.isScrolled() || this.press(point));
    place.on("plotly_selected", (event) => event && this.select(event));
    place.on("plotly_deselect", () => this.select({}));
  }

  press({ x, y, id, customdata, curveNumber, data }) {
    if (!this.header.clicks) return;
    const [row, column] = data.meta?.turned ? [x, y] : [y, x]; // of a turned map the rows stand side by side
    const point = { x, y, row, column, id, customdata, curve_number: curveNumber, pressed: ++this.pressed };
    this.setStateValue("point", point);
  }

  // Arrow keys go from cell to cell of a map, and Enter is a click.
  step(event) {
    const curveNumber = this.place.data.findIndex(({ type }) => type === "heatmap"), move = ARROWS[event.key];
    if (curveNumber < 0 || event.target !== this.place || !(move || (event.key === "Enter" && this.at))) return;
    event.preventDefault();
    const map = this.place.data[curveNumber], { x, y, z } = map;
    const size = z.shape?.split(",").map(Number) ?? [z.length, z[0].length];
    const within = (place, axis) => Math.min(Math.max(place, 0), size[axis] - 1);
    if (move) this.at = (this.at ?? [-move[0], -move[1]]).map((place, axis) => within(place + move[axis], axis));
    const [row, column] = this.at.map(within), xval = numbers(x)?.[column] ?? column, yval = numbers(y)?.[row] ?? row;
    if (move) plotlyModule().then((plotly) => plotly.Fx.hover(this.place, [{ curveNumber, xval, yval }]));
    else this.press({ x: xval, y: yval, curveNumber, data: map });
  }

  select({ points = [], selections = [] }) {
    if (!this.header.selects) return;
    const path = (each) => each.slice(1, -1).split("L").map((pair) => pair.split(",").map(Number));
    const around = selections.filter(({ type }) => type === "path").map((each) => path(each.path));
    const box = selections.filter(({ type }) => type === "rect").map(({ x0, x1, y0, y1 }) => ({ x: [x0, x1], y: [y0, y1] }));
    const lasso = around.map((pairs) => ({ x: pairs.map(([x]) => x), y: pairs.map(([, y]) => y) }));
    const single = box.length || lasso.length ? [] : points.map(({ customdata }) => ({ customdata }));
    this.setStateValue("chosen", { points: single, lasso, box });
  }

  point = (event) => { this.pointer = event; };

  // Whether a finger scrolled the page, which plotly takes for a click.
  isScrolled() {
    const { down, pointer } = this;
    return down?.pointerType === "touch" && Math.hypot(pointer.clientX - down.clientX, pointer.clientY - down.clientY) > SLACK;
  }

  // A redrawn chart has forgotten what lies under the pointer, and a click there would be lost.
  hoverAgain() {
    if (this.pointer?.pointerType !== "mouse") return;
    const { clientX, clientY } = this.pointer, under = document.elementFromPoint(clientX, clientY);
    if (!this.place.contains(under)) return;
    for (const name of ["mouseover", "mousemove"]) {
      under.dispatchEvent(new MouseEvent(name, { clientX, clientY, bubbles: true, view: window }));
    }
  }

  // A download asks for the drawing as SVG, in its own theme and size.
  answer = ({ detail }) => {
    if (detail.chart === this.header.chart) detail.svg = this.drawing(detail);
  };

  async drawing({ figure, font, least, medium, selection, width }) {
    const plotly = await plotlyModule(), page = this.place;
    const own = page.data ? { data: page.data, layout: page.layout } : this.figure;
    const other = figure && carried(JSON.parse(figure), own, this.figure.layout), { data, layout } = unselected(other ?? own, selection);
    // As large as on the page; a figure drawn for the file alone has a page's width at least, and its own height.
    const asOnPage = !other || (page.clientWidth >= least && !medium);
    const size = { width: asOnPage ? page.clientWidth : width, height: (!asOnPage && layout.height) || page.clientHeight };
    const drawn = { data, layout: { ...layout, ...size, font: { ...layout.font, family: font } } };
    return plotly.toImage(drawn, { format: "svg", imageDataOnly: true, ...size });
  }
}

// The place of what is chosen among the values of a control: of a slider, or of values side by side.
function position(control) {
  const box = document.querySelector(`.st-key-${CSS.escape(control)}`), thumb = box?.querySelector("input[type=range]");
  if (thumb) return Number(thumb.value);
  return [...(box?.querySelectorAll("[role=radio]") ?? [])].findIndex((each) => each.ariaChecked === "true");
}

function plotlyModule() {
  library ??= import(root() + LIBRARY).then((module) => module.default);
  return library;
}

// What the axes count: while it stays, so does the part of them that the reader has enlarged.
function meaning({ data, layout }) {
  const axes = Object.entries(layout).filter(([name]) => AXIS.test(name)).map(([name, { ticktext }]) => [name, ticktext]);
  return JSON.stringify([data.map(({ type, ids }) => [type, ids?.length]), axes]);
}

// The numbers of a typed array as plotly's JSON has them, or of a list.
function numbers(values) {
  const type = { i1: Int8Array, u1: Uint8Array, i2: Int16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array }[values?.dtype];
  return type ? new type(Uint8Array.from(atob(values.bdata), (each) => each.charCodeAt(0)).buffer) : values;
}

function fullScreen(place) {
  const icon = { width: 24, height: 24, path: CORNERS };
  const click = () => (document.fullscreenElement ? document.exitFullscreen() : place.requestFullscreen());
  return { name: "Full screen", title: "Full screen", icon, click };
}

// The figure of another theme or width as the reader has moved it on the page: part of an axis, opened module.
function carried(figure, own, first) {
  for (const [name, axis] of Object.entries(own.layout)) {
    const isMoved = AXIS.test(name) && axis?.range && !axis.autorange && String(axis.range) !== String(first[name]?.range);
    if (isMoved && figure.layout[name]) Object.assign(figure.layout[name], { range: axis.range, autorange: false });
  }
  figure.data.forEach((trace, index) => {
    if (own.data[index]?.level) trace.level = own.data[index].level;
  });
  return figure;
}

// The figure without the frame around what was chosen on the page.
function unselected({ data, layout }, selection) {
  const shapes = layout.shapes?.filter((shape) => shape.name !== selection);
  return { data: data.filter((trace) => trace.meta !== selection), layout: shapes ? { ...layout, shapes } : layout };
}
