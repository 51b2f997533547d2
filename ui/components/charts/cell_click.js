// Clicks on the cells of a chart that is already on the page; a heatmap's own clicks do not reach the server.
const EVERY_MS = 250;

export default function ({ data, parentElement, setStateValue }) {
  parentElement.hidden = true;
  const listen = () => {
    const chart = document.querySelector(`.st-key-${CSS.escape(data.chart)} .js-plotly-plot`);
    // A redrawn chart is another element, or has lost its listeners: the mark is on the emitter that would call us.
    if (!chart || !chart.on || chart._ev.insideBert) return;
    chart._ev.insideBert = true;
    chart.on("plotly_click", (event) => {
      const { x, y, data: trace } = event.points[0];
      setStateValue("cell", trace.meta?.turned ? [x, y] : [y, x]); // of a turned map the rows stand side by side
    });
  };
  listen();
  const timer = setInterval(listen, EVERY_MS);
  return () => clearInterval(timer);
}
