// The saved picture shows what is on the screen: the opened head, or all heads, drawn again in the requested colours.
const DRAW = "attention:draw", PICTURE_EDGE = 16, LEAST_SIDE = 480, LEAST_LINES = 1000, SLIDE_HIGH = 400, BESIDE = 32; // so letters on a slide are large

// Answers who asks for a picture of this view with its drawing as SVG.
function answer(view, detail) {
  if (view.store?.atlas && view.root.isConnected) detail.svg = pictureFile(view, detail.part, detail.look, detail.font, detail.slide);
}

function pictureFile(view, part, look, font, slide = false) {
  const drawn = Object.assign(Object.create(view), { look, fonts: { text: font, code: view.fonts.code }, looked: undefined });
  const pen = new SvgPen(view.measuring.context), size = pictureSize(view, part, slide);
  pen.translate(PICTURE_EDGE, PICTURE_EDGE / 2);
  const into = part === "atlas" ? atlasInto : view.mode === "map" ? mapInto : linesInto;
  const found = into(pen, drawn, size);
  if (slide && part !== "atlas" && found?.width < size.width * 0.6) besideMap(pen, drawn, size, found);
  return found && pen.drawing(Math.ceil((found.width ?? size.width) + 2 * PICTURE_EDGE), Math.ceil(found.height + PICTURE_EDGE), look.paper);
}

// All heads beside the map of one, as on the page, where a slide has room for them; the open one has a frame.
function besideMap(pen, view, { width, height }, found) {
  const { layers, heads } = view.store.atlas, left = found.width + BESIDE, size = { width: width - left, height };
  if (layers * heads < 2) return;
  pen.translate(left, 0);
  const grid = atlasInto(pen, view, size), form = atlasGeometry(view, size);
  const [x, y] = placeAt(form, view.places.findIndex((each) => sameList(each, view.opened)));
  pen.strokeStyle = view.look.hues[0];
  pen.lineWidth = 2.5;
  pen.strokeRect(x - 1, y - 1, form.wide + 2, form.high + 2);
  Object.assign(found, { width: left + grid.width, height: Math.max(found.height, grid.height) });
}

// As large as on the page, lines as wide as a file, on a slide as high as there is room; on a small screen as large as can be read.
function pictureSize(view, part, slide) {
  if (slide && part !== "atlas") return { width: LEAST_LINES, height: SLIDE_HIGH };
  const { width, height } = part === "atlas" ? gridSize(view) : stageSize(view);
  const least = part !== "atlas" && view.mode !== "map" ? LEAST_LINES : LEAST_SIDE;
  return { width: Math.max(width, least), height: Math.max(height, LEAST_SIDE) };
}
