// The card of a step. It lies over nothing: unfolded it pushes the page down. At the Journey nothing is scrolled.
const FIGURES = "[data-testid^=stBidiComponent]", SMALLEST_FIGURE = 100;
const OPENED = ".stage, .journey .sheet"; // of the attention view the opened head, of the journey the drawing
const PHONE = window.matchMedia("(max-width: 640px)"); // here the note scrolls away (see lesson_card.css)
const TURNED = window.matchMedia("(min-width: 641px) and (max-height: 500px)"); // a phone: the card is beside the page
const UPRIGHT = window.matchMedia("(max-width: 640px) and (min-height: 700px)"); // but not above the Journey
const LAYER = "[data-name^='Close ']", CELL = ".journey .asks"; // what is opened in the drawing
const MOVES = ["wheel", "touchmove", "pointerdown", "keydown"];

const TEXT_FIELDS = "input, textarea, select, [contenteditable], [role=combobox]";
const OWN_KEYS = "input, textarea, select, canvas, [contenteditable], [role=slider], [role=radio], [role=spinbutton], [role=combobox], [role=gridcell], [role=tab], [role=option], [role=menuitem]";

export default function ({ data, parentElement }) {
  const card = parentElement.querySelector(".lesson-card");
  const content = JSON.stringify(data), step = JSON.stringify([data.lesson, data.count, data.trials, data.away]);
  card.summary = data.end ? data.summary : "";
  card.presented = document.querySelector(".st-key-presenter") !== null;
  card.dataset.step = data.count.match(/\d+/g).join(" / ");
  listen(card);
  if (card.content === content) return () => leave(card);
  if (data.again) openAgain(data.again);
  const other = card.step !== step;
  const focused = card.contains(document.activeElement) ? document.activeElement.dataset.at : undefined;
  if (other) card.open = "";
  if (other && PHONE.matches) card.closest(".stMain")?.scrollTo({ top: 0 }); // the note is read first
  if (other && TURNED.matches) for (let each = card; each && !each.matches(".stMain"); each = each.parentElement) each.scrollTop = 0;
  Object.assign(card, { content, step });
  card.dataset.figure = data.figure;
  card.atJourney = data.beside;
  card.classList.toggle("away", data.away !== "");
  card.onclick = (event) => {
    const opener = event.target.closest("button[data-opens]");
    if (!opener) return onClick(event);
    const main = card.closest(".stMain"), top = opener.getBoundingClientRect().top;
    unfold(card, card.open === opener.dataset.opens ? "" : opener.dataset.opens);
    // What opens is above: what was tapped stays where it is, unless what opens is higher than the room there.
    if (PHONE.matches) main?.scrollBy(0, opener.getBoundingClientRect().top - top);
    if (card.open && card.querySelector(`.panel.${card.open}`).getBoundingClientRect().top < 0) main?.scrollTo({ top: 0 });
    if (card.open && TURNED.matches) card.querySelector(`.panel.${card.open}`).scrollIntoView({ block: "nearest" });
  };
  card.onkeydown = (event) => {
    if (event.key !== "Escape" || !card.open) return;
    const opened = card.open;
    unfold(card, "");
    card.querySelector(`button[data-opens=${opened}]`)?.focus();
  };
  draw(card, data);
  if (other && document.activeElement === document.body) [...card.querySelectorAll(".row .ways .main")].at(-1)?.focus({ preventScroll: true });
  if (focused !== undefined) card.querySelector(`:is(a[href], button)[data-at="${focused}"]`)?.focus();
  card.leave?.();
  const watches = data.beside ? UPRIGHT.matches || TURNED.matches : !PHONE.matches;
  card.leave = watched(card, data, (other || card.reopened) && !data.again && !data.away && watches);
  card.reopened = Boolean(data.again);  // the same step comes once more, with the whole address
  return () => leave(card);
}

function leave(card) {
  deafen(card);
  card.leave?.();
}

function deafen(card) {
  document.removeEventListener("keydown", card.onKeys);
  window.removeEventListener("keydown", card.onKeys, true);
}

// In the presenter's frame before the picture hears the key, whichever part of it was clicked.
function listen(card) {
  deafen(card);
  card.onKeys = (event) => card.presented ? onPresented(card, event) : onKeys(card, event);
  (card.presented ? window : document).addEventListener("keydown", card.onKeys, card.presented);
}

const held = (event) => event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;

// Space and the arrow keys go on and back, unless what has the focus uses them itself.
function onKeys(card, event) {
  const focused = event.composedPath()[0];
  if (held(event) || focused.closest?.(OWN_KEYS) || (event.key === " " && focused.closest?.("button, summary, [role=button]"))) return;
  const label = { " ": "Next", ArrowRight: "Next", ArrowLeft: "Back" }[event.key];
  const link = label && [...card.querySelectorAll(".row .ways :is(a[href], button[data-opens=end])")].find((each) => each.textContent === label || (label === "Next" && each.dataset.opens && card.open !== "end"));
  if (!link) return;
  event.preventDefault();
  link.click();
}

// Here they do so from everywhere but a text field and the way out, as do the keys of a remote control.
function onPresented(card, event) {
  if (held(event) || event.composedPath()[0].closest?.(`${TEXT_FIELDS}, [aria-keyshortcuts=Escape]`)) return;
  const all = [...card.querySelectorAll(".list a")], now = all.findIndex((each) => each.hasAttribute("aria-current"));
  const to = { " ": now + 1, ArrowRight: now + 1, PageDown: now + 1, ArrowLeft: now - 1, PageUp: now - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  if (to === all.length && card.summary) card.querySelector(".note").textContent = `In short: ${card.summary}`; // as the last slide
  else if (to !== now) all[to]?.click();
}

function draw(card, data) {
  card.setAttribute("aria-label", `${data.lesson}, ${data.count}`);
  const title = made("p", "title", made("span", "where", `${data.lesson}, `), made("span", "where count", data.count));
  title.append(made("strong", "", data.title));
  const ways = made("nav", "ways", ...data.ways.map((link, at) => linked(link, `way${at}`)));
  ways.setAttribute("aria-label", "Steps of the lesson");
  if (data.end && (data.summary || data.onward)) ways.append(opener("end", "Sum up", "main"));
  ways.append(opener("steps", "All steps"));
  if (data.present) ways.append(linked(data.present, "present"));
  const note = made("p", "note", ...(data.away ? [made("em", "", `${data.away} `)] : []), data.note);
  const words = made("div", "words", note, opener("more", "Try"));
  card.replaceChildren(
    made("div", "inner", made("div", "row", title, ways), words, more(data), end(data), steps(data)),
  );
  unfold(card, card.open ?? "");
}

function more(data) {
  const place = made("div", "panel more");
  if (data.question) place.append(made("p", "try", made("strong", "", "Try: "), data.question));
  if (data.trials.length) place.append(made("nav", "ways", ...data.trials.map((link, at) => linked(link, `try${at}`))));
  if (data.answer) place.append(made("details", "", made("summary", "", "Answer"), made("p", "", data.answer)));
  return place;
}

function end(data) {
  const place = made("div", "panel end");
  if (data.summary) place.append(made("p", "", made("strong", "", "In short: "), data.summary));
  if (data.onward) place.append(made("nav", "ways", linked(data.onward, "onward")));
  return place;
}

function steps(data) {
  const list = made("nav", "list", ...data.steps.map((link, at) => linked(link, `step${at}`)));
  list.setAttribute("aria-label", "All steps of the lesson");
  const author = data.author ? ` By ${data.author}.` : "";
  return made("div", "panel steps", made("p", "", `Each step is a link of its own.${author}`), list);
}

function unfold(card, name) {
  card.open = name;
  card.dataset.open = name;
  for (const each of card.querySelectorAll("button[data-opens]")) {
    each.setAttribute("aria-expanded", String(each.dataset.opens === name));
  }
  label(card);
}

// Whether there is something to try; and where the page goes on, beside the card or below its height (see lesson_card.css).
function label(card) {
  card.classList.toggle("beside", card.atJourney || (TURNED.matches && !card.presented));
  const button = card.querySelector("button[data-opens=more]");
  button.hidden = !card.querySelector(".more").hasChildNodes();
  button.textContent = card.open === "more" ? "Less" : "Try";
  card.closest(".stMain")?.style.setProperty("--card", `${card.offsetHeight}px`);
}

// Until the reader moves, the figure is kept in sight while the page grows around it.
function watched(card, data, arrived) {
  const words = new ResizeObserver(() => label(card));
  words.observe(card);
  if (!arrived) return () => words.disconnect();
  const page = card.closest(".stMainBlockContainer") ?? card;
  const look = () => {
    const figure = shown(page, card, data.figure);
    const layer = data.beside && inside(page, new URL(window.location.href).searchParams.has("key") ? CELL : LAYER);
    const named = data.beside && UPRIGHT.matches && data.figure && inside(page, `.journey .${data.figure}`);
    if (named) return named.scrollIntoView({ block: "end" });
    // Where its controls or the window would leave little of the drawing in sight, it is brought itself.
    if (data.beside) return bring(layer || ((TURNED.matches || data.end) && page.querySelector(".st-key-journey")), card);
    figure?.scrollIntoView({ block: "nearest" });
    if (figure) uncut(page, card, figure);
  };
  const grown = new ResizeObserver(look), filled = new MutationObserver(look);
  grown.observe(page);
  filled.observe(page, { subtree: true, childList: true });
  const stop = () => {
    grown.disconnect();
    filled.disconnect();
    for (const move of MOVES) window.removeEventListener(move, stop, true);
  };
  for (const move of MOVES) window.addEventListener(move, stop, { capture: true, passive: true });
  return () => {
    words.disconnect();
    stop();
  };
}

// The opened part of the Journey stands below the card; without one the page is at its top.
function bring(part, card) {
  if (part) part.scrollIntoView({ block: "start" });
  else card.closest(".stMain")?.scrollTo({ top: 0 });
}

// What the card cuts at its lower edge goes behind it whole, if the figure stays in sight.
function uncut(page, card, figure) {
  const edge = card.getBoundingClientRect().bottom;
  const boxes = [...page.querySelectorAll(":is([data-testid=stElementContainer], [data-testid=stPopover])")]
    .filter((each) => !each.contains(card) && !each.contains(figure) && !figure.contains(each))
    .map((each) => each.getBoundingClientRect());
  const below = Math.max(...boxes.filter((box) => box.top < edge - 1 && box.bottom > edge + 1).map((box) => box.bottom));
  if (below <= figure.getBoundingClientRect().top) card.closest(".stMain")?.scrollBy(0, below - edge);
}

// The figure that the step names; until it is drawn, or without a name, the first of the page.
function shown(page, card, name) {
  const named = name ? page.querySelector(`.st-key-${name} :is(${FIGURES}), .st-key-${name}:is(${FIGURES})`) : null;
  const figures = [...page.querySelectorAll(FIGURES)].filter((each) => !each.contains(card));
  const figure = named ?? figures.find((each) => each.getBoundingClientRect().height >= SMALLEST_FIGURE);
  return opened(figure) ?? figure;
}

const opened = (figure) => figure && inside(figure, OPENED);

// The first such part of what components draw.
function inside(place, part) {
  const roots = [place, ...place.querySelectorAll("*")].map((each) => each.shadowRoot).filter(Boolean);
  return roots.map((root) => root.querySelector(part)).find(Boolean);
}

function opener(name, label, className = "") {
  const button = made("button", className, label);
  button.type = "button";
  button.dataset.opens = button.dataset.at = name;
  return button;
}

function made(name, className, ...content) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...content);
  return element;
}
