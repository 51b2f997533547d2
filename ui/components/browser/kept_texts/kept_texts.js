// The first run of a session asks what the tab has kept, before it computes anything, and is always answered. A session
// that asked nothing is answered once, where the tab has kept something else; then the tab keeps the session's texts.
let told = null;

export default function ({ data, parentElement, setTriggerValue }) {
  parentElement.hidden = true;
  const { texts, visit, asked } = data;
  if (told !== visit) {
    told = visit;
    const kept = stored();
    const differs = Object.entries(kept).some(([name, text]) => texts?.[name] !== text);
    if (asked || differs) {
      setTriggerValue("found", kept);
      return;
    }
  }
  if (texts) store(texts);
}

function stored() {
  try {
    return JSON.parse(window.sessionStorage.getItem(NAME)) ?? {};
  } catch {
    return {};
  }
}

function store(texts) {
  try {
    window.sessionStorage.setItem(NAME, JSON.stringify(texts));
  } catch {
    // A browser that keeps nothing, or no more, loses what was typed as before.
  }
}
