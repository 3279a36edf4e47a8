// Names of elements, visibility and colours: what the other files of this folder share.
// `settings` = {width, print, smallestHtml, smallestSvg, textContrast, markContrast, phone, fewColumns}; see looking.py.

const faults = [];
const say = (kind, sentence) => faults.push([kind, sentence]);

// An element in words: its tag, id or classes, and the beginning of its text.
const named = el => {
  const id = el.id ? '#' + el.id : [...(el.classList || [])].map(c => '.' + c).join('');
  const text = (el.textContent || '').replace(/\s+/g, ' ').trim().slice(0, 40);
  return `<${el.tagName.toLowerCase()}${id}>` + (text ? ` "${text}"` : '');
};
const quoted = text => '"' + text.replace(/\s+/g, ' ').trim().slice(0, 40) + '"';

// Text for screen readers alone stands in a box of at most one pixel.
const unseen = new Map();
const forReadersOnly = el => {
  if (!el || el === document.documentElement) return false;
  if (unseen.has(el)) return unseen.get(el);
  const box = el.getBoundingClientRect(), style = getComputedStyle(el);
  const tiny = style.position === 'absolute' && box.width <= 1 && box.height <= 1 && style.overflowX !== 'visible';
  const answer = tiny || forReadersOnly(el.parentElement);
  unseen.set(el, answer);
  return answer;
};
const shown = el => el.checkVisibility({opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true})
  && !forReadersOnly(el);
const all = selector => [...document.querySelectorAll(selector)];
const visible = selector => all(selector).filter(shown);

// Any CSS colour as [red, green, blue, alpha], the first three from 0 to 255: painted on one pixel and read back.
const pixel = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d', {willReadFrequently: true});
const colours = new Map();
const colour = text => {
  if (!colours.has(text)) {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = 'rgba(0, 0, 0, 0)';
    pixel.fillStyle = text;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    colours.set(text, [r, g, b, a / 255]);
  }
  return colours.get(text);
};
const over = (top, below, alpha = top[3]) => [0, 1, 2].map(k => top[k] * alpha + below[k] * (1 - alpha)).concat(1);

// Relative luminance and contrast of WCAG 2.
const luminance = rgb => {
  const [r, g, b] = rgb.map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [a, b] = [luminance(one.slice(0, 3)), luminance(other.slice(0, 3))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
};

// What is behind an element: the backgrounds of its ancestors, painted from the root inwards on the browser's canvas.
const canvasColour = () => {
  const probe = document.createElement('div');
  probe.style.cssText = 'position:absolute;background:Canvas;forced-color-adjust:none';
  document.body.append(probe);
  const answer = colour(getComputedStyle(probe).backgroundColor);
  probe.remove();
  return answer;
};
const canvas = canvasColour();
const grounds = new Map();
const ground = el => {
  if (!el) return canvas;
  if (!grounds.has(el)) grounds.set(el, over(colour(getComputedStyle(el).backgroundColor), ground(el.parentElement)));
  return grounds.get(el);
};
const opacity = el => {
  let product = 1;
  for (let e = el; e; e = e.parentElement) product *= parseFloat(getComputedStyle(e).opacity);
  return product;
};
// The nearest ancestor with a picture or a gradient behind its content, if any.
const papered = el => {
  for (let e = el; e; e = e.parentElement) {
    const style = getComputedStyle(e);
    if (style.backgroundImage !== 'none') return e;
    if (colour(style.backgroundColor)[3] === 1) return null;
  }
  return null;
};
