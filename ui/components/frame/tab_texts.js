// The first run of a session requests the stored texts before it computes anything, and is always answered. Any other
// session is answered once, if the tab has stored other texts; then the tab stores the texts of the session.
let answeredVisit = null;

// Escape closes a panel: what was typed in it is applied first, as a click outside does.
const OWN_FIELD = "[data-testid=stPopoverBody] :is(input:not([role=combobox]), textarea)";
window.addEventListener("keydown", ({ key, target }) => key === "Escape" && target.matches?.(OWN_FIELD) && target.blur(), true);

export default function ({ data, parentElement, setTriggerValue }) {
  parentElement.hidden = true;
  const { texts, visit, always_answer: alwaysAnswer } = data;
  if (answeredVisit !== visit) {
    answeredVisit = visit;
    const tabTexts = stored();
    const differs = Object.entries(tabTexts).some(([name, text]) => texts?.[name] !== text);
    if (alwaysAnswer || differs) {
      setTriggerValue("found", tabTexts);
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
