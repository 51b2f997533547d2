// How links change the address and the page is not loaded anew; ui/address/visit.py reads what ARRIVE says.

// An address that is left says in itself how to come back to it; whether it did not say so before.
function stamp() {
  const address = new URL(window.location.href);
  if (address.searchParams.has(ARRIVE)) return false;
  address.searchParams.set(ARRIVE, `?${address.searchParams}`);
  window.history.replaceState({}, "", address);
  return true;
}

// Streamlit hears of an address as it does of the browser's back and forward.
function tell() {
  window.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
}

// One more entry of the history; how: LINK, EXACT, or the whole query, which is then opened again.
function follow(address, how) {
  stamp();
  address.searchParams.set(ARRIVE, how);
  document.documentElement.dataset.entry = "new";
  window.history.pushState({}, "", address);
  delete document.documentElement.dataset.entry;
  tell();
}

// A field that is left hands its text over in the tasks that wait now.
function later(work) {
  requestAnimationFrame(() => setTimeout(work));
}

// The page's own script says where the dashboard is; without it every page stands in the same folder.
function root() {
  const known = window.__streamlit?.BACKEND_BASE_URL;
  return known ? `${known}/` : new URL(".", window.location.href).href;
}
