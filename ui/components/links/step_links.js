// Links to steps of lessons, in a row or below each other.
export default function ({ data, parentElement }) {
  const nav = parentElement.querySelector(".links");
  const focused = nav.getRootNode().activeElement?.dataset?.at;
  nav.classList.toggle("list", data.list);
  nav.setAttribute("aria-label", data.label);
  nav.replaceChildren(...data.links.map(linked));
  if (focused !== undefined) nav.querySelector(`a[href][data-at="${focused}"]`)?.focus({ preventScroll: true }); // the page is at its top
  nav.onclick = onClick;
}
