// The link to what the page shows now, the codes of a frame with it and with its figure alone, and a badge. Controls change the address without a word to
// these fields, so it is read again whenever a field or a button is used.
export default function ({ data, parentElement }) {
  const [linkPart, framePart, alonePart, badgePart] = parentElement.querySelectorAll(".share");
  const status = parentElement.querySelector("[role=status]");
  offer(linkPart, status, "The link is", () => addressOf(data.carried, false));
  offer(framePart, status, "The code is", () => frameCode(addressOf(data.carried, true), data.title, 700, 700));
  offer(alonePart, status, "The code is", () => frameCode(addressOf(data.carried, true, true), data.title, 900, 560));
  offer(badgePart, status, "The badge is", () => badgeOf(data.model));
}

function offer(part, status, subject, words) {
  const field = part.querySelector("input");
  const refresh = () => {
    const now = words();
    if (field.value === now) return;
    field.value = now;
    status.textContent = "";
  };
  refresh();
  field.onfocus = () => { refresh(); field.select(); };
  field.onpointerenter = refresh;
  part.querySelector("button").onclick = async () => {
    refresh();
    field.focus();
    field.select();
    // Without https a browser has no clipboard for pages; what is selected can still be copied by hand.
    const copied = await copy(field.value);
    status.textContent = copied ? `${subject} copied.` : `${subject} selected: copy it with Ctrl+C, or ⌘C on a Mac.`;
  };
}

// The browser writes the code itself, so that the content of an address is escaped.
function frameCode(address, title, width, height) {
  const frame = document.createElement("iframe");
  const attributes = { src: address, width, height, title, loading: "lazy", style: "border: 0" };
  for (const [name, value] of Object.entries(attributes)) frame.setAttribute(name, value);
  return frame.outerHTML;
}

// Markdown of an image that opens the dashboard with the model; escaped, a name has no bracket that would end the address.
function badgeOf(model) {
  const root = window.__streamlit?.BACKEND_BASE_URL ?? new URL(".", window.location.href).href.replace(/\/$/, "");
  const name = encodeURIComponent(model).replace(/%2F/g, "/").replace(/[()]/g, (sign) => (sign === "(" ? "%28" : "%29"));
  return `[![Open in Inside BERT](${root}/badge.svg)](${root}/?model=${name})`;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return document.execCommand?.("copy") ?? false;
  }
}
