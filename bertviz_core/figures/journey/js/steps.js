// The operations of an opened layer from left to right, each with its parameters; in words where there is no room.
const STEP_COLOURS = { attention: "attention", "cross-attention": "attention", "mixing of tokens": "attention", "feed-forward": "feed_forward", norm: "layer_norm" };
const STEP_GAP = 16, STEP_HEIGHT = 40;

const counted = (step) => (step.numel === null ? "" : step.numel.toLocaleString("en-US"));

const stepColour = ({ look }, { kind }) => look.parts[STEP_COLOURS[kind]] ?? look.neutral;

// Boxes of the widest wording that fits; null if none does.
function stepBoxes(steps, room) {
  for (const added of ["+ what entered", "+"]) {
    const boxes = steps.map((step) => {
      const name = step.kind === "add" ? added : step.name;
      return { step, name, w: Math.max(textWidth(name), textWidth(counted(step))) + 14 };
    });
    const total = boxes.reduce((sum, { w }) => sum + w, STEP_GAP * (boxes.length - 1));
    if (total <= room) return boxes;
  }
  return null;
}

// The operations in words, as many as fit in two lines.
function stepWords({ steps, note, name }, room) {
  if (!steps.length) return note || name;
  const between = steps.every(({ placed }) => placed) ? " → " : ", ", brief = (step) => (step.kind === "add" ? "+" : step.name);
  const forms = [(step) => `${step.name} ${counted(step)}`.trim(), (step) => `${brief(step)} ${counted(step)}`.trim(), brief, (step) => brief(step).replace("feed-forward", "f.-f.")];
  const all = forms.map((form) => steps.map(form).join(between));
  return all.find((words) => wrapped(words, room, 9).length < 3) ?? all.at(-1);
}

function drawSteps(view, svg, stage) {
  const { plan, look } = view, { box } = plan, room = box.w - 32, y = plan.stepsY;
  const boxes = stage.steps.length ? stepBoxes(stage.steps, room) : null;
  if (!boxes) {
    wrapped(stepWords(stage, room), room, 2).forEach((line, at) => svg.append(label(view, line, box.x + 16, y + 10 + 19 * at, { fill: look.muted })));
    return;
  }
  let x = box.x + 16;
  boxes.forEach(({ step, name, w }, at) => {
    const colour = stepColour(view, step), middle = y + STEP_HEIGHT / 2;
    if (at && step.placed) svg.append(el("path", { d: `M${x - STEP_GAP + 2} ${middle} h${STEP_GAP - 6} m-4 -4 l4 4 l-4 4`, fill: "none", stroke: look.muted, "stroke-width": 1.5 }));
    const adds = step.kind === "add", high = adds ? 24 : STEP_HEIGHT;
    const node = el("g", { class: "step", "data-numel": step.numel },
      el("rect", { x, y: middle - high / 2, width: w, height: high, rx: adds ? 12 : 4, fill: look.paper, stroke: adds ? look.muted : colour, "stroke-width": adds ? 1 : 2 }),
      label(view, name, x + w / 2, adds ? middle + 4.5 : y + 16, { anchor: "middle" }),
      adds ? null : label(view, counted(step), x + w / 2, y + 33, { anchor: "middle", fill: look.muted }));
    svg.append(explained(node, STEP_TERMS[step.kind] ?? [], adds ? "Add what entered the block." : `${step.name}: ${counted(step)} parameters.`));
    x += w + STEP_GAP;
  });
}

// On a phone: the vectors that the blocks add, beside each other as far as there is room.
function drawTallStrips(view, svg, { x, w, y }) {
  const abreast = tallAbreast(w), width = (w - 12 * (abreast - 1)) / abreast;
  addedVectors(view, openPart(view)).forEach(({ forms, terms, ...each }, at) => {
    const left = x + (at % abreast) * (width + 12), top = y + Math.floor(at / abreast) * STRIP_ROW;
    svg.append(explained(label(view, fitting(forms, width), left, top + 10, { fill: view.look.muted }), terms), addedStrip(view, each, view.strips().shape[2], { x: left, y: top + 15, width, height: 14 }));
  });
}

// The operations, from top to bottom.
function drawTallSteps(view, svg, stage, { x, w, y }) {
  if (!stage.steps.length) return;
  svg.append(label(view, "operations and their parameters", x, y + 8, { weight: 600 }));
  stage.steps.forEach((step, at) => {
    const top = y + 14 + TALL_STEP * at, adds = step.kind === "add";
    svg.append(el("rect", { x, y: top + 3, width: 5, height: TALL_STEP - 6, rx: 2, fill: adds ? "none" : stepColour(view, step) }),
      explained(label(view, cut(adds ? "+ what entered" : step.name, w - 120), x + 14, top + 18, { fill: adds ? view.look.muted : view.look.text }), STEP_TERMS[step.kind] ?? []),
      label(view, counted(step), x + w, top + 18, { anchor: "end", fill: view.look.muted }));
  });
}
