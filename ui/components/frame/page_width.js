// How wide the page is, by steps: reported to the server once it is not what it takes for granted, and at each change.
// Where a figure fills the window, also how high that is; in the presenter's frame, where a larger window enlarges all,
// the height below title and note. A change of theme is reported, too, since the server draws in its colours.
const BELOW = 0.84; // of the window
const SLACK = 24; // pixels above a step that are needed to climb it: a scroll bar that comes and goes is none

export default function ({ data, parentElement, setStateValue }) {
  const line = parentElement.querySelector("div");
  const step = (pixels) => data.widths.filter((each) => each <= pixels).at(-1) ?? data.widths[0];
  const look = () => {
    const presents = data.enlarged > 1, growth = presents ? Math.max(1, Math.min(innerWidth / 1280, innerHeight / 720)) : 1;
    const enlarged = data.enlarged * growth, tall = Math.round(presents ? (BELOW * innerHeight) / enlarged : innerHeight);
    document.documentElement.style.setProperty("--growth", growth);
    if (data.tall && line.tall !== tall) {
      line.tall = tall;
      setStateValue("height", line.tall);
    }
    const pixels = line.getBoundingClientRect().width / enlarged;
    const reported = line.reported ?? data.usual;
    const now = pixels < reported || Math.abs(pixels - line.measured) > SLACK ? step(pixels) : Math.max(reported, step(pixels - SLACK));
    if (!pixels || now === reported) return;
    Object.assign(line, { reported: now, measured: pixels });
    setStateValue("pixels", now);
  };
  const recolour = () => setStateValue("theme", getComputedStyle(line).color);
  Object.assign(line.style, { color: "var(--st-text-color)", transition: "color 1ms" }); // whose end tells of another theme
  line.ontransitionend = recolour;
  line.watch?.disconnect();
  line.watch = new ResizeObserver(look);
  line.watch.observe(line);
  if (line.heard) window.removeEventListener("resize", line.heard);
  if (data.tall) window.addEventListener("resize", look);
  line.heard = look;
  look();
  return () => {
    line.watch.disconnect();
    window.removeEventListener("resize", look);
  };
}
