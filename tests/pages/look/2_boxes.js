// HTML text: where its lines are, whether they are cut, hidden behind an edge or on top of each other.

const lines = [];  // every line of text of the page, SVG included: {l, r, t, b, text, owner}

// The part of a box that its ancestors let through; `cutter` is the ancestor that hides a part for good.
const clipped = (box, el) => {
  let {l, r, t, b} = box, cutter = null, scrolled = false;
  for (let e = el; e && e !== document.body && e !== document.documentElement; e = e.parentElement) {
    const style = getComputedStyle(e);
    if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
    if (e instanceof SVGElement && !(e instanceof SVGSVGElement)) continue;
    const edge = e.getBoundingClientRect();
    const hides = way => way === 'hidden' || way === 'clip';
    const across = Math.max(edge.left - l, r - edge.right), down = Math.max(edge.top - t, b - edge.bottom);
    if (across > 1 && style.overflowX !== 'visible') {
      if (hides(style.overflowX) && !scrolled) cutter = cutter || e; else scrolled = true;
      [l, r] = [Math.max(l, edge.left), Math.min(r, edge.right)];
    }
    if (down > 1 && style.overflowY !== 'visible') {
      if (hides(style.overflowY) && !scrolled) cutter = cutter || e; else scrolled = true;
      [t, b] = [Math.max(t, edge.top), Math.min(b, edge.bottom)];
    }
  }
  return {l, r, t, b, cutter, scrolled};
};

const htmlTexts = () => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange(), nodes = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent instanceof SVGElement || /^(STYLE|SCRIPT|TEMPLATE|NOSCRIPT)$/.test(parent.tagName)) continue;
    if (!shown(parent)) continue;
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter(box => box.width > 0.5 && box.height > 0.5);
    if (boxes.length) nodes.push({node, parent, boxes});
  }
  return nodes;
};

const lookAtHtmlBoxes = texts => {
  const page = document.documentElement, wide = Math.max(page.scrollWidth, document.body.scrollWidth) - innerWidth;
  if (wide > 0) {
    const boxes = visible('body *').map(el => [el.getBoundingClientRect().right, el]).sort((a, b) => b[0] - a[0]);
    say('overflow', `the page is ${wide} px wider than the screen, up to ${boxes.length ? named(boxes[0][1]) : 'its body'}`);
  }
  for (const {node, parent, boxes} of texts) for (const box of boxes) {
    // A fifth of the letters' height above and below is room for accents and descenders, not ink.
    const trim = 0.2 * box.height;
    const whole = {l: box.left, r: box.right, t: box.top + trim, b: box.bottom - trim};
    const seen = clipped(whole, parent);
    if (seen.cutter) say('cut', `the text ${quoted(node.data)} of ${named(parent)} is cut by ${named(seen.cutter)}`);
    if (!seen.scrolled && (whole.l + scrollX < -1 || whole.r + scrollX > innerWidth + 1))
      say('cut', `the text ${quoted(node.data)} of ${named(parent)} goes beyond the edge of the page`);
    if (seen.r - seen.l > 1 && seen.b - seen.t > 1) lines.push({...seen, text: node.data, owner: node});
  }
};

const columns = table => Math.max(0, ...[...table.rows].map(row => [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0)));

// Boxes whose content is larger than they are.
const lookAtScrolling = () => {
  for (const el of visible('body *')) {
    if (el instanceof SVGElement) continue;
    const style = getComputedStyle(el), across = el.scrollWidth - el.clientWidth, down = el.scrollHeight - el.clientHeight;
    if (style.display === 'inline' || !el.clientWidth) continue;
    const hides = way => way === 'hidden' || way === 'clip', scrolls = way => way === 'auto' || way === 'scroll';
    if (hides(style.overflowX) && across > 1) say('cut', `${named(el)} hides ${across} px of its content on the side`);
    if (hides(style.overflowY) && down > 1 && el.textContent.trim())
      say('cut', `${named(el)} hides ${down} px of its content below`);
    const sideways = scrolls(style.overflowX) && across > 1;
    if (!sideways && !(scrolls(style.overflowY) && down > 1)) continue;
    const label = el.getAttribute('aria-label') || el.getAttribute('aria-labelledby') || '';
    if (el.tabIndex !== 0 || !el.hasAttribute('tabindex') || el.getAttribute('role') !== 'region' || !label.trim())
      say('scroll', `${named(el)} must be scrolled, but is no region with a label that the keyboard reaches`);
    if (settings.print) say('scroll', `${named(el)} must be scrolled, which paper cannot be`);
    if (sideways && settings.width <= settings.phone) for (const table of [el, ...el.querySelectorAll('table')])
      if (table.tagName === 'TABLE' && columns(table) <= settings.fewColumns)
        say('column', `a column of the table ${named(table)}, which has only ${columns(table)}, is cut at ${settings.width} px`);
  }
};

// Two lines of text that share more than a pixel each way.
const lookAtOverlaps = () => {
  lines.sort((one, other) => one.t - other.t);
  lines.forEach((one, k) => {
    for (let m = k + 1; m < lines.length && lines[m].t < one.b; m++) {
      const other = lines[m];
      if (one.owner === other.owner) continue;
      if (Math.min(one.r, other.r) - Math.max(one.l, other.l) > 1 && Math.min(one.b, other.b) - Math.max(one.t, other.t) > 1)
        say('overlap', `the texts ${quoted(one.text)} and ${quoted(other.text)} overlap`);
    }
  });
};
