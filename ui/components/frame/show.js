// The link from a page to its place in the drawing. Controls change the address, so it is read when the link is used.
const DEEPER = { token: ["key"], layer: ["head", "key"], head: ["key"] };

export default function ({ data, parentElement }) {
  const link = parentElement.querySelector("a");
  const refresh = () => { link.href = journeyAddress(data); };
  refresh();
  link.onpointerenter = link.onfocus = refresh;
  link.onclick = (event) => {
    if (!isPlain(event)) return;
    event.preventDefault();
    later(() => {
      // As after Back the whole address is opened again: Streamlit drops names that widgets of the page left had, too.
      const address = new URL(journeyAddress(data));
      follow(address, address.search || "?");
      document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    });
  };
}

// The drawing as it was left, opened at what the page shows.
function journeyAddress({ page, place, left, views, shared }) {
  const here = new URL(window.location.href).searchParams, address = new URL(page, root()), query = address.searchParams;
  for (const [name, value] of left) query.set(name, value);
  for (const name of shared) here.has(name) ? query.set(name, here.get(name)) : query.delete(name);
  if (here.has("model")) query.set("model", here.get("model"));
  const names = views.find(({ view }) => view === (here.get("view") ?? ""))?.names ?? [];
  const shown = names.map(([name, template, standard]) => fieldsOf(template, here.get(name) ?? standard ?? ""));
  const now = Object.assign({}, ...shown);
  for (const [field, deeper] of Object.entries(DEEPER)) {
    if (field in now && now[field] !== query.get(place[field])) deeper.forEach((each) => query.delete(place[each]));
  }
  for (const [field, value] of Object.entries(now)) query.set(place[field], value);
  return address.href;
}
