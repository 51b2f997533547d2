// Links to pages and views that leave one entry in the browser's history each. See __init__.py for what ARRIVE says.
const MAIN = "[data-testid=stMain]", PHONE = window.matchMedia("(max-width: 767px), (max-height: 500px)");
let path = window.location.pathname;
let carried = null;

// A page that a link left says in its address how to come back. One that was left by the way back could not say so: the
// words are put in before Streamlit reads the address, or, in a browser without that event, Streamlit gets it again.
function stampPageComeTo() {
  const elsewhere = carried && window.location.pathname !== path;
  path = window.location.pathname;
  return elsewhere && stamp();
}
window.navigation?.addEventListener("currententrychange", (event) => {
  if (event.navigationType === "traverse") stampPageComeTo();
});
window.addEventListener("popstate", () => {
  if (stampPageComeTo()) tell();
});

// Where a page is left while it is still being drawn, Streamlit makes entries of its own for the addresses of an arrival,
// and the way forward is lost. A page come to has one entry, the one that its link made. Browsers without this event keep
// them all.
window.navigation?.addEventListener("navigate", (event) => {
  if (event.navigationType !== "push" || !event.destination.sameDocument || document.documentElement.dataset.entry) return;
  const [from, to] = [window.location.href, event.destination.url].map((address) => new URL(address));
  const arriving = from.pathname !== to.pathname || [from, to].some((each) => each.searchParams.has(ARRIVE));
  // Of a lesson that is left the names go one after another: what remains of them is no address to come back to.
  const leaving = !from.searchParams.has("lesson") && ["step", "try", "present"].some((name) => from.searchParams.has(name));
  if (!arriving && !leaving) return;
  event.preventDefault();
  window.history.replaceState({}, "", to);
});

// The help of a switch stands in its label: a click on it shows the help and switches nothing.
document.addEventListener("click", (event) => event.target.closest?.("label .stTooltipIcon") && event.stopPropagation(), true);

export default function ({ data, parentElement }) {
  const shown = data;
  carried = data.carried;
  path = window.location.pathname;
  const nav = parentElement.querySelector("nav");
  if (shown.views) drawViews(nav, shown);
  else drawPages(nav, shown);
  if (!shown.again) return;
  window.history.replaceState({}, "", window.location.pathname + (shown.again === "?" ? "" : shown.again));
  tell();
}

function drawPages(nav, shown) {
  nav.setAttribute("aria-label", shown.label);
  const focused = nav.getRootNode().activeElement?.dataset?.at;
  nav.replaceChildren(...shown.groups.flatMap((group) => {
    const list = document.createElement("ul");
    list.setAttribute("aria-label", group.name || shown.label);
    list.append(...group.links.map(item));
    return group.name ? [element("p", group.name), list] : [list];
  }));
  if (focused) nav.querySelector(`a[data-at="${focused}"]`)?.focus();
  nav.onclick = (event) => {
    const link = event.target.closest("a");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    later(() => {
      const address = new URL(withCarried(link.dataset.address));
      // On a phone the menu lies over the page, or takes a third of it.
      if (PHONE.matches) document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
      if (address.pathname === window.location.pathname) return;
      open(address);
      document.querySelector(MAIN)?.scrollTo(0, 0);
    });
  };
}

// One is chosen at a time: a group of radio buttons, for the keyboard too.
function drawViews(nav, shown) {
  const hadFocus = nav.getRootNode().activeElement?.role === "radio";
  nav.role = "radiogroup";
  nav.setAttribute("aria-label", "View");
  nav.replaceChildren(...shown.views.map((name) => {
    const made = element("button", name);
    made.type = "button";
    made.role = "radio";
    made.setAttribute("aria-checked", name === shown.current);
    made.tabIndex = name === shown.current ? 0 : -1;
    return made;
  }));
  const buttons = [...nav.children], current = buttons[shown.views.indexOf(shown.current)];
  if (hadFocus) current?.focus();
  if (current) nav.scrollLeft = current.offsetLeft - (nav.clientWidth - current.offsetWidth) / 2;
  nav.onscroll = () => nav.classList.toggle("scrolled", nav.scrollLeft > 0);
  nav.onscroll();
  const choose = (at) => later(() => {
    buttons.forEach((each, place) => each.setAttribute("aria-checked", place === at));
    const address = new URL(window.location.href);
    address.searchParams.set(shown.name, shown.views[at]);
    open(address);
  });
  nav.onclick = (event) => {
    const at = buttons.indexOf(event.target.closest("button"));
    if (at >= 0 && shown.views[at] !== shown.current) choose(at);
  };
  nav.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = buttons.indexOf(event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = (at + step + buttons.length) % buttons.length;
    buttons[next].focus();
    choose(next);
  };
}

function open(address) {
  path = address.pathname;
  follow(address, LINK);
}

function item(link) {
  const place = document.createElement("li");
  const made = document.createElement("a");
  const icon = element("span", link.icon);
  icon.setAttribute("aria-hidden", "true");
  made.append(icon, element("b", link.label));
  made.dataset.at = made.dataset.address = link.address;
  made.href = withCarried(link.address);
  made.onpointerenter = () => { made.href = withCarried(link.address); };
  if (link.current) made.setAttribute("aria-current", "page");
  place.append(made);
  return place;
}

function withCarried(place) {
  const address = new URL(place, root());
  const here = new URL(window.location.href).searchParams;
  for (const name of carried) if (here.has(name)) address.searchParams.set(name, here.get(name));
  return address.href;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
