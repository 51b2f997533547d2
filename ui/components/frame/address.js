// The address of what the page shows now, as a page of its own or for a frame, with its
// controls or its figure alone.
function addressOf(carried, framed, alone) {
  const link = new URL(window.location.href);
  link.hash = "";
  for (const name of ["embed", "embed_options", "figure"]) link.searchParams.delete(name);
  for (const [name, value] of carried) link.searchParams.set(name, value);
  if (framed) link.searchParams.set("embed", "true");
  if (alone) link.searchParams.set("figure", "only");
  return link.href;
}
