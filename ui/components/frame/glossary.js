// Words of the glossary, marked where they stand. The page's own elements are left as they are: the browser draws the
// marks over ranges of its text (CSS Custom Highlight API), and a pointer over one of them, or a tap, shows the meaning.
const NAME = "glossary";
const TEXTS = "[data-testid=stMarkdownContainer], .lesson-card :is(.note, .panel p)";
const LEFT_OUT = "h1, a, button, code, pre, summary, [role=radio], [role=tab], [role=option], .katex, .glossary-list";

export default function ({ data, parentElement }) {
  const at = (name) => parentElement.querySelector(`.glossary-${name}`);
  const view = (parentElement.glossary ??= { button: at("open"), list: at("list"), search: at("search"), count: at("count"), found: at("found"), meaning: at("meaning"), marks: [] });
  const unlike = data.unlike.join(); // words that have another sense on this page
  if (view.unlike !== unlike) {
    view.unlike = unlike;
    view.all = WORDS.map((each) => (data.unlike.includes(each.word) ? { ...each, forms: [] } : each));
    view.words = new Map(view.all.flatMap((word) => word.forms.map((form) => [form.toLowerCase(), word])));
    view.pattern = patternOf([...view.words.keys()]);
    mark(view);
  }
  view.button.onclick = () => list(view);
  view.stop ??= watched(view, parentElement);
  return () => view.stop?.();
}

// The longest first, each as a whole word.
function patternOf(forms) {
  const escaped = forms.sort((one, other) => other.length - one.length).map((form) => form.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return new RegExp(`(?<![\\p{L}\\p{N}_-])(?:${escaped.join("|")})(?![\\p{L}\\p{N}_-])`, "giu");
}

function mark(view) {
  view.due = false;
  const places = [...document.querySelectorAll(TEXTS)].filter((each) => each.closest("[data-testid=stMain]"));
  view.marks = places.flatMap((place) => marked(place, view));
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.set(NAME, new Highlight(...view.marks.map(({ range }) => range)));
}

// The first occurrence of each word in a text.
function marked(place, { pattern, words }) {
  const found = new Map();
  const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest(LEFT_OUT) || node.parentElement.closest(TEXTS) !== place) continue;
    for (const hit of node.data.matchAll(pattern)) {
      const word = words.get(hit[0].toLowerCase());
      // After "task head" a head is that one, which the meaning of "head" says it is not.
      if (found.has(word) || [...found.keys()].some((other) => word.meaning.includes(`not the ${other.word}`))) continue;
      const range = document.createRange();
      range.setStart(node, hit.index);
      range.setEnd(node, hit.index + hit[0].length);
      found.set(word, { range, word, place });
    }
  }
  return [...found.values()];
}

function watched(view, own) {
  const later = globalThis.requestIdleCallback ?? requestAnimationFrame;
  const changed = new MutationObserver((changes) => {
    if (view.due || changes.every(({ target }) => target instanceof SVGElement || own.contains(target))) return;
    view.due = true;
    later(() => mark(view));
  });
  changed.observe(document.body, { subtree: true, childList: true, characterData: true });
  const listeners = {
    pointermove: (event) => event.pointerType === "mouse" && show(view, event),
    pointerdown: (event) => show(view, event),
    keydown: (event) => event.key === "Escape" && hide(view),
    scroll: () => hide(view),
  };
  const options = { capture: true, passive: true };
  for (const [name, heard] of Object.entries(listeners)) document.addEventListener(name, heard, options);
  return () => {
    changed.disconnect();
    for (const [name, heard] of Object.entries(listeners)) document.removeEventListener(name, heard, options);
    globalThis.CSS?.highlights?.delete(NAME);
    delete view.stop;
  };
}

function show(view, { target, clientX, clientY }) {
  if (!(target instanceof Element) || view.meaning.contains(target)) return;
  const inside = (box) => box.left <= clientX && clientX <= box.right && box.top <= clientY && clientY <= box.bottom;
  const boxOf = ({ range, place }) => place.contains(target) && [...range.getClientRects()].find(inside);
  const pointed = view.marks.find(boxOf);
  if (!pointed) return hide(view);
  if (view.shown === pointed) return;
  view.shown = pointed;
  view.meaning.replaceChildren(described([pointed.word]));
  view.meaning.showPopover();
  const box = boxOf(pointed), own = view.meaning.getBoundingClientRect();
  const below = box.bottom + own.height < innerHeight;
  view.meaning.style.left = `${Math.max(4, Math.min(box.left, innerWidth - own.width - 4))}px`;
  view.meaning.style.top = `${below ? box.bottom : box.top - own.height}px`;
}

function hide(view) {
  if (!view.shown) return;
  delete view.shown;
  view.meaning.hidePopover();
}

function list(view) {
  view.search.value = "";
  view.search.oninput = () => fill(view);
  fill(view);
  view.list.togglePopover();
  view.list.scrollTop = 0;
  // On a touch screen the keyboard would cover the list.
  if (view.list.matches(":popover-open") && matchMedia("(pointer: fine)").matches) view.search.focus();
}

// All words, those of this page first; or those found, with the term in the word itself before in its meaning.
function fill({ search, count, found, marks, all }) {
  const plain = (text) => text.toLowerCase().replaceAll("-", " ");
  const term = plain(search.value.trim());
  const here = new Set(marks.map(({ word }) => word));
  const named = ({ word, forms }) => [word, ...forms].some((form) => plain(form).includes(term));
  const exact = ({ word, forms }) => Number([word, ...forms].some((form) => plain(form) === term));
  const explained = (each) => !named(each) && plain(each.meaning).includes(term);
  const sections = term
    ? [["Words", all.filter(named).sort((one, other) => exact(other) - exact(one))], ["In the meaning", all.filter(explained)]]
    : [
        ["On this page", all.filter((word) => here.has(word))],
        [here.size ? "More words" : "All words", all.filter((word) => !here.has(word))],
      ];
  const hits = sections.flatMap(([, words]) => words).length;
  count.textContent = term && (hits ? `${hits} of ${all.length} words` : "No word of the glossary, and no meaning, has these letters.");
  found.replaceChildren(
    ...sections.flatMap(([title, words]) => (words.length ? [made("h2", title), described(words)] : [])),
  );
}

function described(words) {
  const rows = document.createElement("dl");
  rows.append(...words.flatMap(({ word, meaning }) => [made("dt", word), made("dd", meaning)]));
  return rows;
}

function made(name, text) {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}
