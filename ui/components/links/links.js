// What links of lessons share: a click changes the address as the browser's own back and forward do, and the page is
// not loaded anew. Words of a lesson enter the page through textContent alone.
const MAIN = "[data-testid=stMain]";

function linked(link, at = 0) {
  const element = document.createElement("a");
  element.textContent = link.label;
  element.dataset.at = at;
  element.className = link.main ? "main" : "";
  if (link.current) element.setAttribute("aria-current", "step");
  element.dataset.carried = link.carried.join(" ");
  if (link.address) element.href = carrying(new URL(link.address, root()), element);
  else element.setAttribute("aria-disabled", "true");
  return element;
}

// The address with what the link takes along; controls change the current address, so it is read when followed.
function carrying(address, link) {
  const here = new URL(window.location.href).searchParams;
  for (const name of link.dataset.carried.split(" ")) if (here.has(name)) address.searchParams.set(name, here.get(name));
  return address;
}

function onClick(event) {
  const link = event.target.closest("a[href]");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  later(() => { // a panel that the click closes says so first, since it belongs to the page that is left
    follow(carrying(new URL(link.href), link), EXACT);
    document.querySelector(MAIN)?.scrollTo(0, 0);
  });
}

// back: as after Back, an address on another page is opened twice, since Streamlit drops what both pages have from it.
function openAgain(address, back = false) {
  const whole = new URL(address, root());
  whole.searchParams.set(ARRIVE, back ? whole.search || "?" : EXACT);
  window.history.replaceState({}, "", whole);
  tell();
  document.querySelector(MAIN)?.scrollTo(0, 0);
}
