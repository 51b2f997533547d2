// The link to what the page shows now. Controls change the address without a word to this field, so it is read again
// whenever the field or the button is used.
export default function ({ data, parentElement }) {
  const field = parentElement.querySelector("input");
  const status = parentElement.querySelector("[role=status]");
  const refresh = () => {
    const link = new URL(window.location.href);
    link.hash = "";
    for (const [name, value] of data.carried) link.searchParams.set(name, value);
    if (field.value !== link.href) {
      field.value = link.href;
      status.textContent = "";
    }
  };
  refresh();
  field.onfocus = () => { refresh(); field.select(); };
  field.onpointerenter = refresh;
  parentElement.querySelector("button").onclick = async () => {
    refresh();
    field.focus();
    field.select();
    // Without https a browser has no clipboard for pages; what is selected can still be copied by hand.
    const copied = await copy(field.value);
    status.textContent = copied ? "The link is copied." : "The link is selected: copy it with Ctrl+C, or ⌘C on a Mac.";
  };
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return document.execCommand?.("copy") ?? false;
  }
}
