// Pictures: letters inside their picture, off each other and off every mark; marks and letters that stand out from the ground.

const SHAPES = 'line, polyline, polygon, path, rect, circle, ellipse';
// Classes of what may be pale because nothing is read from it: grid lines, shaded areas, the ground behind a label.
const DECORATION = ['grid', 'band', 'wash', 'halo'];

const mapped = (matrix, x, y) => ({x: matrix.a * x + matrix.c * y + matrix.e, y: matrix.b * x + matrix.d * y + matrix.f});
const span = points => ({
  l: Math.min(...points.map(p => p.x)), r: Math.max(...points.map(p => p.x)),
  t: Math.min(...points.map(p => p.y)), b: Math.max(...points.map(p => p.y)),
});

// The lines of a <text> as boxes of ink in screen pixels: characters with the same baseline, from its ascent to its descent.
const ruler = document.createElement('canvas').getContext('2d');
const inkOf = el => {
  const count = el.getNumberOfChars(), matrix = el.getScreenCTM(), letters = el.textContent.replace(/\s+/g, ' ').trim(), rows = [];
  if (!count || !matrix) return [];
  const style = getComputedStyle(el);
  ruler.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  for (let k = 0; k < count; k++) {
    const box = el.getExtentOfChar(k), y = el.getStartPositionOfChar(k).y;
    if (!box.width) continue;
    const row = rows.at(-1);
    if (row && Math.abs(row.y - y) < 0.5) { row.l = Math.min(row.l, box.x); row.r = Math.max(row.r, box.x + box.width); }
    else rows.push({y, l: box.x, r: box.x + box.width});
  }
  const size = ruler.measureText(letters);
  return rows.map(row => {
    const [top, bottom] = [row.y - size.actualBoundingBoxAscent, row.y + size.actualBoundingBoxDescent];
    return span([[row.l, top], [row.r, top], [row.l, bottom], [row.r, bottom]].map(([x, y]) => mapped(matrix, x, y)));
  });
};

// The outline of a shape as a chain of points in screen pixels; between two points further apart than `jump` a path was lifted.
const outline = el => {
  const matrix = el.getScreenCTM(), number = name => el[name].baseVal.value, tag = el.tagName;
  let points = [], jump = Infinity;
  if (tag === 'line') points = [[number('x1'), number('y1')], [number('x2'), number('y2')]];
  else if (tag === 'polyline' || tag === 'polygon') points = [...el.points].map(p => [p.x, p.y]);
  else {
    // A step of three screen pixels; a character is wider than that.
    const length = el.getTotalLength(), scale = Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c)) || 1;
    const steps = Math.max(4, Math.ceil(length * scale / 3));
    jump = 1.5 * length * scale / steps + 0.01;
    for (let k = 0; k <= steps; k++) { const p = el.getPointAtLength(length * k / steps); points.push([p.x, p.y]); }
  }
  if (tag === 'polygon' && points.length) points.push(points[0]);
  return {points: points.map(([x, y]) => mapped(matrix, x, y)), jump};
};

// The middle of the part of a stretch inside a box, or null (Liang and Barsky's clipping).
const within = (p, q, box) => {
  let [from, to] = [0, 1];
  for (const [start, step, low, high] of [[p.x, q.x - p.x, box.l, box.r], [p.y, q.y - p.y, box.t, box.b]]) {
    if (Math.abs(step) < 1e-9) { if (start < low || start > high) return null; continue; }
    const [one, other] = [(low - start) / step, (high - start) / step];
    from = Math.max(from, Math.min(one, other));
    to = Math.min(to, Math.max(one, other));
    if (from > to) return null;
  }
  const middle = (from + to) / 2;
  return {x: p.x + middle * (q.x - p.x), y: p.y + middle * (q.y - p.y)};
};

// A shape with its paints: [red, green, blue, alpha], or alpha 0 where it has none.
const shapeOf = (el, order) => {
  const style = getComputedStyle(el), faded = opacity(el), matrix = el.getScreenCTM();
  const paint = (text, alpha) => text === 'none' || text.startsWith('url') ? [0, 0, 0, 0]
    : (([r, g, b, a]) => [r, g, b, a * alpha * faded])(colour(text));
  const scale = style.vectorEffect === 'non-scaling-stroke' ? 1 : Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c));
  const width = parseFloat(style.strokeWidth) * scale;
  const stroke = width > 0 ? paint(style.stroke, parseFloat(style.strokeOpacity)) : [0, 0, 0, 0];
  const fill = el.tagName === 'line' ? [0, 0, 0, 0] : paint(style.fill, parseFloat(style.fillOpacity));
  const {points, jump} = outline(el);
  return {el, order, stroke, fill, half: stroke[3] > 0 ? width / 2 : 0, points, jump, box: span(points), inverse: matrix.inverse()};
};
const covers = (shape, x, y) => {
  if (!shape.fill[3] || x < shape.box.l || x > shape.box.r || y < shape.box.t || y > shape.box.b) return false;
  const p = mapped(shape.inverse, x, y);
  return shape.el.isPointInFill(new DOMPoint(p.x, p.y));
};
// The colour at a point behind what is painted as number `order`.
const backdrop = (svg, shapes, order, x, y) => shapes.reduce(
  (below, shape) => shape.order < order && covers(shape, x, y) ? over(shape.fill, below) : below, ground(svg));

const lookAtText = (svg, text, shapes, order) => {
  const matrix = text.getScreenCTM(), style = getComputedStyle(text), frame = svg.getBoundingClientRect();
  const what = `the label ${quoted(text.textContent)} of the picture ${pictureName(svg)}`;
  const size = parseFloat(style.fontSize) * Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c));
  if (size < settings.smallestSvg - 0.05) say('small', `${what} has letters of ${size.toFixed(1)} px`);
  const inks = new Map([[style.fill, text]]);
  for (const part of text.querySelectorAll('tspan')) inks.set(getComputedStyle(part).fill, part);
  for (const box of inkOf(text)) {
    lines.push({...box, text: text.textContent, owner: text});
    const out = Math.max(frame.left - box.l, box.r - frame.right, frame.top - box.t, box.b - frame.bottom);
    if (out > 1) say('outside', `${what} stands ${out.toFixed(1)} px outside it`);
    const middle = (box.t + box.b) / 2;
    for (const [paint, part] of inks) {
      const ratios = [0.02, 0.25, 0.5, 0.75, 0.98].map(share => {
        const back = backdrop(svg, shapes, order, box.l + share * (box.r - box.l), middle), ink = colour(paint);
        return contrast(over(ink, back, ink[3] * parseFloat(style.fillOpacity) * opacity(part)), back);
      });
      const ratio = paint === 'none' ? 1 : Math.min(...ratios);
      if (ratio < settings.textContrast) say('contrast', `${what} has contrast ${ratio.toFixed(2)}`);
    }
    for (const shape of shapes) lookAtCrossing(svg, box, shape, shapes, order, what);
  }
};

// A mark whose outline runs through the letters, unless an opaque shape between the two hides it there.
const lookAtCrossing = (svg, box, shape, shapes, order, what) => {
  const centre = {x: (box.l + box.r) / 2, y: (box.t + box.b) / 2};
  if (shape.order > order && shape.fill[3] > 0.5 && covers(shape, centre.x, centre.y))
    say('crossed', `${what} is covered by ${named(shape.el)}`);
  const reach = {l: box.l - shape.half, r: box.r + shape.half, t: box.t - shape.half, b: box.b + shape.half};
  if (shape.box.r < reach.l || shape.box.l > reach.r || shape.box.b < reach.t || shape.box.t > reach.b) return;
  for (let k = 0; k + 1 < shape.points.length; k++) {
    const [p, q] = [shape.points[k], shape.points[k + 1]], at = within(p, q, reach);
    if (!at || Math.hypot(q.x - p.x, q.y - p.y) > shape.jump) continue;
    const back = backdrop(svg, shapes, shape.order, at.x, at.y), paint = shape.half ? shape.stroke : shape.fill;
    if (contrast(over(paint, back), back) < 1.05) continue;  // as good as invisible
    if (shapes.some(other => other.order > shape.order && other.order < order && other.fill[3] > 0.95 && covers(other, at.x, at.y)))
      continue;
    say('crossed', `${what} is crossed by ${named(shape.el)}`);
    return;
  }
};

const lookAtMark = (svg, shape, shapes) => {
  if (DECORATION.some(name => shape.el.closest('.' + name)) || !shape.points.length) return;
  // Dots of one series may lie on each other.
  const twin = other => other.el.tagName === shape.el.tagName && other.el.getAttribute('class') === shape.el.getAttribute('class');
  const others = shapes.filter(other => !twin(other));
  // It must be seen at one of these places at least: lines may run over other marks.
  const ratio = Math.max(...[0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98].map(share => {
    const p = shape.points[Math.round(share * (shape.points.length - 1))], back = backdrop(svg, others, shape.order, p.x, p.y);
    return Math.max(contrast(over(shape.stroke, back), back), contrast(over(shape.fill, back), back));
  }));
  if (ratio < settings.markContrast) say('mark', `${named(shape.el)} of the picture ${pictureName(svg)} has contrast ${ratio.toFixed(2)}`);
};

const accessibleName = el => {
  const label = (el.getAttribute('aria-label') || '').trim();
  const others = (el.getAttribute('aria-labelledby') || '').split(/\s+/).map(id => document.getElementById(id)?.textContent || '');
  const title = el.querySelector(':scope > title')?.textContent || '';
  return others.join(' ').trim() || label || title.trim();
};
const pictureName = svg => quoted(accessibleName(svg) || svg.closest('figure')?.textContent || 'without a name');

const lookAtPictures = () => {
  for (const svg of visible('svg')) {
    if (svg.parentElement.closest('svg')) continue;
    const drawn = [...svg.querySelectorAll(`text, ${SHAPES}`)].filter(
      el => shown(el) && !el.closest('defs, clipPath, mask, marker, pattern, symbol'));
    const shapes = drawn.map((el, order) => [el, order]).filter(([el]) => el.matches(SHAPES)).map(([el, order]) => shapeOf(el, order))
      .filter(shape => shape.stroke[3] > 0 || shape.fill[3] > 0);
    drawn.forEach((el, order) => { if (el.matches('text') && el.textContent.trim()) lookAtText(svg, el, shapes, order); });
    for (const shape of shapes) lookAtMark(svg, shape, shapes);
    if (svg.closest('[aria-hidden=true]')) continue;
    if (svg.getAttribute('role') !== 'img') say('alt', `the picture ${pictureName(svg)} has no role "img"`);
    if (!accessibleName(svg)) say('alt', `an <svg> below ${named(svg.parentElement)} has no alternative text`);
  }
  for (const img of visible('img')) if (!img.hasAttribute('alt')) say('alt', `${named(img)} (${img.getAttribute('src')}) has no alt text`);
};
