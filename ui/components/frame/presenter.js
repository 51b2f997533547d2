// The presenter's frame: the way out, by a button, and by Escape where nothing else is open or uses it; and one picture of
// the page, as large as fits below title and note.
const OPEN = "[data-testid=stPopoverBody], [role=dialog], [role=listbox], [popover]:popover-open, .lesson-card[data-open]:not([data-open='']), :fullscreen";
const OWN_ESCAPE = "input, textarea, select, canvas, [contenteditable], [role=combobox]";
const FIGURES = "[data-chart], .st-key-attention_heads, .st-key-journey, .st-key-corpus_plane, .st-key-architecture_tree";
const LARGER = 1.3, SMALLEST_FIGURE = 100, EDGE = 8, MOST_NOTE = 0.4; // of the window's height, title and note together
const LOW = 500; // a phone that is turned

export default function ({ parentElement }) {
  const link = parentElement.querySelector("a");
  link.onclick = (event) => {
    event.preventDefault();
    leave();
  };
  link.onkeydown = (event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    leave();
  };
  forget(link);
  link.before = (event) => {
    showAgain(parentElement);
    link.blocked = event.key === "Escape" && document.querySelector(OPEN) !== null;
  };
  link.after = (event) => {
    const focused = event.composedPath()[0];
    if (event.key === "Escape" && !event.defaultPrevented && !link.blocked && !focused.closest?.(OWN_ESCAPE)) leave();
  };
  window.addEventListener("keydown", link.before, true); // before what is open is closed by the same key
  window.addEventListener("keydown", link.after);
  link.moved = ({ pointerType }) => pointerType === "mouse" && showAgain(parentElement);
  window.addEventListener("pointermove", link.moved);
  const stop = fitted(parentElement);
  return () => { stop(); forget(link); };
}

// Which of the steps is shown, and the keys that lead on: seen again for a moment with each step and key.
function count(parentElement, main) {
  const place = parentElement.querySelector("span"), at = main.querySelector(".lesson-card")?.dataset.step ?? "";
  if (place.textContent === at) return;
  place.textContent = at;
  place.parentElement.hidden = !at;
  showAgain(parentElement);
}

function showAgain(parentElement) {
  for (const each of [...parentElement.querySelectorAll("a, p")].flatMap((part) => part.getAnimations())) Object.assign(each, { currentTime: 0 }).play();
}

// The picture is chosen and sized again whenever the page changes.
function fitted(parentElement) {
  const main = document.querySelector("[data-testid=stMain]"), seen = {};
  let waits = 0;
  const again = () => { waits ||= requestAnimationFrame(() => { waits = 0; count(parentElement, main); fit(main, seen); }); };
  const filled = new MutationObserver(again), grown = new ResizeObserver(again);
  filled.observe(main, { childList: true, subtree: true, attributeFilter: ["data-chart"] });
  for (const each of [main, main.querySelector(".stMainBlockContainer")]) grown.observe(each);
  window.addEventListener("resize", again);
  seen.watch = (each) => grown.observe(each);
  again();
  return () => {
    filled.disconnect();
    grown.disconnect();
    window.removeEventListener("resize", again);
    cancelAnimationFrame(waits);
    for (const each of main.querySelectorAll("[data-picture]")) unmark(each);
    if (seen.room) window.dispatchEvent(new Event("resize")); // the Journey draws itself as on a page again
  };
}

function unmark(place) {
  delete place.dataset.picture;
  for (const name of ["--enlarged", "--top", "--room"]) place.style.removeProperty(name);
}

// The figure that the step names, or the first one that is no strip; without one the first table.
function pictureOf(main) {
  const named = main.querySelector(".lesson-card")?.dataset.figure;
  const high = (each) => !("chart" in each.dataset) || parseFloat(each.style.height) >= SMALLEST_FIGURE;
  const found = named && main.querySelector(`.st-key-${CSS.escape(named)} :is(${FIGURES}), .st-key-${CSS.escape(named)}:is(${FIGURES})`);
  const figure = found || [...main.querySelectorAll(FIGURES)].find(high) || main.querySelector(".stDataFrame");
  return figure?.closest(".stElementContainer");
}

function fit(main, seen) {
  const place = pictureOf(main);
  for (const each of main.querySelectorAll("[data-picture]")) if (each !== place) unmark(each);
  if (!place) return;
  place.dataset.picture = "";
  seen.watch(place);
  const card = main.querySelector(".lesson-card");
  if (card) for (let size = 1; (card.style.setProperty("--note", size), card.offsetHeight > MOST_NOTE * innerHeight && size > 0.6); size -= 0.05);
  const head = card ?? main.querySelector(":has(> .st-key-page_title) + .stElementContainer");
  const top = Math.round(Math.max(head?.getBoundingClientRect().bottom ?? 0, 0)) + EDGE, room = innerHeight - top - EDGE;
  const most = innerHeight <= LOW ? 1 : LARGER * (parseFloat(document.documentElement.style.getPropertyValue("--growth")) || 1);
  const chart = place.querySelector("[data-chart]"), high = parseFloat(chart?.style.height);
  const now = [innerWidth, innerHeight, room, high, most, Math.round(place.getBoundingClientRect().top)].join();
  if (place.matches(".st-key-journey")) {
    if (seen.now !== now) window.dispatchEvent(new Event("resize")); // it draws itself as large as fits
  } else {
    const before = seen.place === place && seen.now === now ? seen.enlarged : most;
    place.style.setProperty("--room", `${room / most}px`);
    if (before === most) place.style.setProperty("--enlarged", most);
    const tall = high || place.offsetHeight;
    seen.enlarged = Math.min(before, room / tall);
    place.style.setProperty("--enlarged", seen.enlarged);
    place.style.setProperty("--top", `${top + Math.max(room - seen.enlarged * tall, 0) / 2}px`);
  }
  Object.assign(seen, { place, now, room });
}

function forget(link) {
  window.removeEventListener("keydown", link.before, true);
  window.removeEventListener("keydown", link.after);
  window.removeEventListener("pointermove", link.moved);
}

// A lesson ends with its frame, as by the button on its card, which the frame hides: the reader has the page back as it
// was before. Without a lesson the address stays as it is but for the frame, so the same view is shown.
function leave() {
  const ending = document.querySelector(".st-key-tour_leave button"), app = document.querySelector(".stApp");
  if (ending) return ending.click();
  const address = new URL(window.location.href);
  if (address.searchParams.has("lesson") && app.dataset.testScriptState !== "notRunning") { // its card is on its way
    const come = new MutationObserver(() => { come.disconnect(); leave(); });
    return come.observe(app, { childList: true, subtree: true, attributeFilter: ["data-test-script-state"] });
  }
  address.searchParams.delete(PRESENT);
  address.searchParams.delete(ARRIVE);
  follow(address, EXACT);
}
