// The way out of the presenter's frame: a button, and Escape where nothing else is open or uses it.
const OPEN = "[data-testid=stPopoverBody], [role=dialog], [role=listbox], [popover]:popover-open, .lesson-card[data-open]:not([data-open='']), :fullscreen";
const OWN_ESCAPE = "input, textarea, select, canvas, [contenteditable], [role=combobox]";

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
  link.before = (event) => { link.blocked = event.key === "Escape" && document.querySelector(OPEN) !== null; };
  link.after = (event) => {
    const focused = event.composedPath()[0];
    if (event.key === "Escape" && !event.defaultPrevented && !link.blocked && !focused.closest?.(OWN_ESCAPE)) leave();
  };
  window.addEventListener("keydown", link.before, true); // before what is open is closed by the same key
  window.addEventListener("keydown", link.after);
  return () => forget(link);
}

function forget(link) {
  window.removeEventListener("keydown", link.before, true);
  window.removeEventListener("keydown", link.after);
}

// A lesson ends with its frame, as by the button on its card, which the frame hides: the reader has the page back as it
// was before. Without a lesson the address stays as it is but for the frame, so the same view is shown.
function leave() {
  const ending = document.querySelector(".st-key-tour_leave button");
  if (ending) return ending.click();
  const address = new URL(window.location.href);
  address.searchParams.delete(PRESENT);
  address.searchParams.delete(ARRIVE);
  follow(address, EXACT);
}
