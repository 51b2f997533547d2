// The address of what the page shows now, as a page of its own or for a frame.
function addressOf(carried, framed) {
  const link = new URL(window.location.href);
  link.hash = "";
  for (const name of ["embed", "embed_options"]) link.searchParams.delete(name);
  for (const [name, value] of carried) link.searchParams.set(name, value);
  if (framed) link.searchParams.set("embed", "true");
  return link.href;
}
