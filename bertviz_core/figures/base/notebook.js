// A drawing as a widget of a notebook. The model of anywidget takes the place of the server: its trait _payload is the
// message of the drawing, and what is chosen in the drawing is sent to Python, which sets the other traits.
function inNotebook(draw, html, style, looks) {
  const night = matchMedia("(prefers-color-scheme: dark)");

  // What the notebook itself says (JupyterLab, VS Code, Colab), else what the browser prefers.
  function isDark(theme) {
    const { body, documentElement: { dataset, attributes } } = document;
    if (theme) return theme === "dark";
    if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false";
    if (body.dataset.vscodeThemeKind) return !body.dataset.vscodeThemeKind.includes("light");
    const named = dataset.theme ?? attributes.theme?.value;
    return named ? named.includes("dark") : night.matches;
  }

  function render({ model, el }) {
    const parentElement = el.attachShadow({ mode: "open" }), watcher = new MutationObserver(show);
    let end;
    parentElement.innerHTML = `<style>${style}</style>${html}<p role="status"></p>`;
    const note = parentElement.lastChild, setStateValue = (_, message) => model.send({ message });
    function show() {
      const { buffer, byteOffset, byteLength } = model.get("_payload"), look = looks[isDark(model.get("theme")) ? "dark" : "light"];
      note.textContent = model.get("_note");
      note.hidden = !note.textContent;
      el.style.background = look.paper;
      note.style.color = look.muted;
      end = draw({ data: new Uint8Array(buffer, byteOffset, byteLength), parentElement, setStateValue, look }) ?? end;
    }
    const stay = (event) => event.stopPropagation(), traits = "change:_payload change:_note change:theme";
    el.dataset.lmSuppressShortcuts = "true"; // JupyterLab's keys are not meant here
    el.addEventListener("keydown", stay);
    model.on(traits, show);
    night.addEventListener("change", show);
    for (const node of [document.body, document.documentElement]) watcher.observe(node, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-vscode-theme-kind", "theme", "data-theme"] });
    show();
    return () => {
      model.off(traits, show);
      night.removeEventListener("change", show);
      watcher.disconnect();
      end?.();
    };
  }
  return { render };
}
