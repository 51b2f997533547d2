// Links below the drawing, from the part that was opened last to the pages that show it in full. Saved drawings have none.
function drawLinks(view) {
  const { header, path } = view, layer = path.open, isLayer = layer !== "" && layer !== "embeddings";
  const head = isLayer && !switchedOff(view).words ? path.head : null;
  const part = head === null ? null : view.parts.get(partName({ kind: "head", layer, head, token: path.token, key: path.key }));
  const place = { token: placeBefore(view, path.token), layer, head, key: part && placeBefore(view, part.key) };
  const cell = part ? [["cell", `Weight of “${header.labels[part.key]}”`]] : [];
  const opened = head !== null ? [["head", `Head ${head}`], ...cell] : [isLayer ? ["layer", `Layer ${layer}`] : ["embeddings", "Embeddings"]];
  const now = JSON.stringify([header.links, place, opened]);
  if (view.linked === now) return;
  view.linked = now;
  view.nav ??= newNav(view.root);
  view.nav.hidden = layer === "" || !header.links.length;
  view.nav.replaceChildren(...opened.flatMap(([kind, name]) => linked(name, header.links.filter((row) => row.part === kind), place)));
}

function newNav(root) {
  const nav = document.createElement("nav");
  nav.className = "links";
  nav.setAttribute("aria-label", "Pages that show the opened part in full");
  root.querySelector(".sheet").after(nav);
  return nav;
}

function linked(name, rows, place) {
  const words = document.createElement("b");
  words.textContent = `${name} in full`;
  return [words, ...rows.map((row) => pageLink(row, place))];
}

function pageLink(row, place) {
  const node = document.createElement("a");
  node.textContent = row.words ? `${row.title}: ${row.words}` : row.title;
  const refresh = () => { node.href = addressOf(row, place); };
  refresh();
  node.onpointerenter = node.onfocus = refresh;
  node.onclick = (event) => {
    if (!isPlain(event)) return;
    event.preventDefault();
    pages.later(() => {
      const address = new URL(addressOf(row, place)), isWhole = row.names.length || row.view;
      // Streamlit drops names that widgets of both pages have; as after Back the whole address is then opened again.
      const shares = row.carried.some((name) => name !== "model" && address.searchParams.has(name));
      pages.follow(address, !isWhole ? pages.LINK : shares ? address.search : pages.EXACT);
      document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    });
  };
  return node;
}

// A value that the page shows anyway is left out: the page would take it out, and the way back would stop there.
function addressOf({ page, view, names, carried }, place) {
  const address = new URL(page, pages.root()), here = new URL(window.location.href).searchParams;
  for (const name of carried) if (here.has(name)) address.searchParams.set(name, here.get(name));
  if (view) address.searchParams.set("view", view);
  for (const [name, template, standard] of names) {
    const value = filled(template, place);
    if (value !== standard) address.searchParams.set(name, value);
  }
  return address.href;
}
