// HTML text: colours and sizes of letters, generated text (::before, ::after) included.

const onWhite = () => luminance(ground(document.body).slice(0, 3)) >= settings.whitePaper;

const judgeHtmlText = (el, style, what) => {
  const behind = papered(el), back = ground(el), ink = colour(style.color);
  const seen = over(ink, back, ink[3] * opacity(el)), ratio = contrast(seen, back);
  if (behind) say('contrast', `${what} stands on the picture or gradient of ${named(behind)}, whose contrast is unknown`);
  else if (ratio < settings.textContrast) say('contrast', `${what} has contrast ${ratio.toFixed(2)}`);
  const size = parseFloat(style.fontSize);
  if (size < settings.smallestHtml) say('small', `${what} has letters of ${size.toFixed(1)} px`);
  if (settings.print && onWhite() && luminance(back.slice(0, 3)) < settings.paleGround)
    say('print', `${what} would be printed on a dark ground`);
};

const lookAtHtmlText = texts => {
  for (const parent of new Set(texts.map(text => text.parent)))
    judgeHtmlText(parent, getComputedStyle(parent), `the text of ${named(parent)}`);
  for (const el of visible('body, body *')) for (const side of ['::before', '::after']) {
    if (el instanceof SVGElement) continue;
    const style = getComputedStyle(el, side);
    if (/^(none|normal|"\s*"|counters?\(.*)$/.test(style.content) || style.display === 'none') continue;
    if (/^"/.test(style.content)) judgeHtmlText(el, style, `the text ${style.content.slice(0, 40)} put ${side.slice(2)} ${named(el)}`);
  }
};

const lookAtPaper = () => {
  if (!settings.print) return;
  if (!onWhite()) say('print', 'the paper is not white in print');
  for (const details of all('details')) for (const child of details.children)
    if (child.tagName !== 'SUMMARY' && child.textContent.trim() && getComputedStyle(child).display !== 'none') {
      const box = child.getBoundingClientRect();
      if (!child.checkVisibility({contentVisibilityAuto: true}) || box.height < 1) {
        say('print', `${named(child)} is folded away in print`);
        break;
      }
    }
};
