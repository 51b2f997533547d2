// Places of the drawing in the address of a page: a template such as "layer {layer}, head {head}".
const FIELD = /\{(\w+)\}/g;

function filled(template, place) {
  return template.replace(FIELD, (_, field) => place[field]);
}

// The fields that a value names; none if it is written in another way.
function fieldsOf(template, written) {
  const names = [...template.matchAll(FIELD)].map(([, field]) => field);
  const found = written.match(new RegExp(`^${template.replace(FIELD, "(\\w+)")}$`));
  return found ? Object.fromEntries(names.map((name, at) => [name, found[at + 1]])) : {};
}

const isPlain = (event) => !(event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
