// PNG and SVG of a chart that is already on the page: the chart's own export, asked for in another format.
export default function ({ data, parentElement }) {
  const chart = () => document.querySelector(`.st-key-${CSS.escape(data.chart)} .js-plotly-plot`);
  for (const format of ["png", "svg"]) {
    const button = parentElement.querySelector(`[data-format=${format}]`);
    button.setAttribute("aria-label", `Download ${data.filename} as ${format.toUpperCase()}`);
    button.onclick = () => {
      const plot = chart();
      const camera = plot && plot.querySelector('.modebar-btn[data-attr="toImage"], .modebar-btn[data-title^="Download"]');
      if (!camera) return;
      const before = plot._context.toImageButtonOptions;
      const size = plot.getBoundingClientRect();
      plot._context.toImageButtonOptions = {
        format, filename: data.filename, scale: format === "png" ? 2 : 1,
        width: Math.round(size.width), height: Math.round(size.height),
      };
      camera.click();
      plot._context.toImageButtonOptions = before;
    };
  }
}
