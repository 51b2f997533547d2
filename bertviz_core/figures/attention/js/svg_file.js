// The saved picture shows what is on the screen: the opened head, or all heads, drawn again in the requested colours.
const DRAW = "attention:draw", PICTURE_TITLE = 18, TITLE_HIGH = 38, PICTURE_EDGE = 16, LEAST_SIDE = 480;

// Answers who asks for a picture of this view with its drawing as SVG.
function answer(view, detail) {
  if (view.store?.atlas && view.root.isConnected) detail.svg = pictureFile(view, detail.part, detail.look, detail.font);
}

function pictureFile(view, part, look, font) {
  const drawn = Object.assign(Object.create(view), { look, fonts: { text: font, code: view.fonts.code }, looked: undefined });
  const pen = new SvgPen(view.measuring.context), size = pictureSize(view, part);
  pen.fillStyle = look.text;
  pen.font = `${PICTURE_TITLE}px ${font}`;
  pen.textBaseline = "middle";
  const kind = KINDS[view.store.atlas.weights].name, title = part === "atlas" ? allTitle(view, kind) : titleOf(view, kind);
  const wide = Math.max(size.width, Math.ceil(pen.measureText(title).width)) + 2 * PICTURE_EDGE;
  pen.fillText(title, PICTURE_EDGE, PICTURE_EDGE + 8);
  pen.translate(PICTURE_EDGE, PICTURE_EDGE / 2 + TITLE_HIGH);
  const into = part === "atlas" ? atlasInto : view.mode === "map" ? mapInto : linesInto;
  const found = into(pen, drawn, size);
  return found && pen.drawing(wide, Math.ceil(found.height + TITLE_HIGH + PICTURE_EDGE), look.paper);
}

// As large as on the page; on a small screen as large as can be read.
function pictureSize(view, part) {
  const { width, height } = part === "atlas" ? gridSize(view) : stageSize(view);
  return { width: Math.max(width, LEAST_SIDE), height: Math.max(height, LEAST_SIDE) };
}
