// A text cut into tokens. Words of the text enter the page through textContent alone.
const element = (name, className, text) => {
  const made = document.createElement(name);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".text");
  const chips = () => [...root.querySelectorAll("button.chip")];
  const drawn = JSON.stringify([data.runs, data.label, data.clickable]);
  if (root.drawn !== drawn) {
    const focused = root.getRootNode().activeElement?.dataset?.at;
    root.replaceChildren(...data.runs.map((run) => draw(run, data.clickable)));
    root.setAttribute("role", data.clickable ? "toolbar" : "group");
    root.setAttribute("aria-label", data.label);
    const first = data.runs.find((run) => run.word && !run.word[0].marks.includes("special"));
    root.dir = first ? first.dir : "ltr";
    root.drawn = drawn;
    if (focused !== undefined) chips()[Number(focused)]?.focus();
  }
  choose(root, chips(), data.selected);
  if (!data.clickable) return;
  root.onclick = (event) => {
    const chip = event.target.closest("button.chip");
    if (!chip) return;
    choose(root, chips(), Number(chip.dataset.at));
    setTriggerValue("token", Number(chip.dataset.at));
  };
  // One stop for the tabulator; arrows go from token to token, Enter and space choose as on any button.
  root.onkeydown = (event) => {
    const all = chips();
    const here = all.indexOf(event.target.closest("button.chip"));
    const forward = root.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    const backward = root.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
    const there = { [forward]: here + 1, [backward]: here - 1, Home: 0, End: all.length - 1 }[event.key];
    if (here < 0 || there === undefined) return;
    event.preventDefault();
    stop(all, Math.min(Math.max(there, 0), all.length - 1)).focus();
  };
}

function draw(run, clickable) {
  if (run.gap !== undefined) {
    const kind = run.cut ? " cut" : run.gap.trim() ? " unread" : "";
    return element("span", `gap${kind}`, run.gap);
  }
  const word = element("span", `word tone${run.tone}`);
  word.dir = run.dir;
  for (const chip of run.word) {
    const made = element(clickable ? "button" : "span", `chip ${chip.marks}`);
    made.dataset.at = chip.at;
    made.title = chip.label;
    if (clickable) made.setAttribute("aria-label", chip.label);
    made.append(element("span", "main", chip.text), element("span", "below", chip.below));
    word.append(made);
  }
  return word;
}

function stop(all, index) {
  all.forEach((chip, position) => { chip.tabIndex = position === index ? 0 : -1; });
  return all[index];
}

function choose(root, all, selected) {
  if (!all.length) return;
  all.forEach((chip) => chip.setAttribute("aria-pressed", String(Number(chip.dataset.at) === selected)));
  const chip = stop(all, Math.min(Math.max(selected ?? 0, 0), all.length - 1));
  const top = chip.offsetTop - root.offsetTop;
  if (top < root.scrollTop || top + chip.offsetHeight > root.scrollTop + root.clientHeight) root.scrollTop = top - 40;
}
