// The layers of a chart on the page, drawn here while its control moves: the server's answer is not waited for. Its
// answers leave the chart as it is, so that an older one cannot paint over a newer layer.
// One message: u32 length of the header, JSON header, the cells of all layers.
const PLACES = "[data-testid=stPlotlyChart]";
const EVERY_MS = 250;

export default function ({ data, parentElement }) {
  parentElement.hidden = true;
  const length = new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  const bytes = data.slice(4 + length).buffer;
  const cells = header.exact ? new Float32Array(bytes) : new Int16Array(bytes);
  const { rows, columns, layers } = header;

  const drawn = (layer) => {
    const start = layer * rows * columns;
    return Array.from({ length: rows }, (_, row) => cells.subarray(start + row * columns, start + (row + 1) * columns));
  };
  const follow = () => {
    const thumb = document.querySelector(`.st-key-${CSS.escape(header.control)} input[type=range]`);
    const chart = document.querySelector(`.st-key-${CSS.escape(header.chart)} .js-plotly-plot`);
    const layer = Number(thumb?.value ?? -1), shown = layers[layer];
    const title = chart?.layout?.title?.text;
    // A chart of another model or other dimensions is about to be replaced, or this message is.
    if (!shown || title === shown.title || !layers.some((each) => each.title === title)) return;
    const { ends, ticktext, tickvals, text, colours } = shown;
    const trace = { z: [drawn(layer)], zmin: ends[0], zmax: ends[1] };
    Object.assign(trace, { "colorbar.tickvals": [tickvals], "colorbar.ticktext": [ticktext] });
    window.Plotly.update(chart, trace, { "title.text": shown.title }, [0]);
    if (chart.data[1]?.mode === "text") window.Plotly.restyle(chart, { text: [text], "textfont.color": [colours] }, [1]);
    chart.closest(PLACES)?.setAttribute("aria-label", shown.alt);
  };
  follow();
  const timer = setInterval(follow, EVERY_MS); // a control that is moved before the chart is there is heard then
  const observer = new MutationObserver(follow);
  const control = document.querySelector(`.st-key-${CSS.escape(header.control)}`);
  if (control) observer.observe(control, { attributes: true, attributeFilter: ["aria-valuetext"], subtree: true });
  return () => {
    clearInterval(timer);
    observer.disconnect();
  };
}
