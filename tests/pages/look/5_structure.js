// The document: landmarks, headings, tables, links, keyboard, and that nothing is run or asked for.

const lookAtDocument = () => {
  if (!document.documentElement.lang.trim()) say('document', 'the <html> element says no language (lang)');
  if (!document.title.trim()) say('document', 'the page has no <title>');
  const port = document.querySelector('meta[name=viewport]')?.content || '';
  if (!/width\s*=\s*device-width/.test(port)) say('document', 'there is no <meta name="viewport"> with width=device-width');
  if (/user-scalable\s*=\s*(no|0)|maximum-scale/.test(port)) say('document', 'the viewport forbids zooming');
  const mains = visible('main, [role=main]').length;
  if (mains !== 1) say('document', `there are ${mains} <main> elements instead of one`);
  const ids = all('[id]').map(el => el.id);
  for (const id of new Set(ids.filter((id, k) => ids.indexOf(id) !== k))) say('id', `the id ${quoted(id)} stands more than once`);
  for (const el of all('[aria-labelledby], [aria-describedby], a[href^="#"], use[href^="#"]')) {
    const refs = ['aria-labelledby', 'aria-describedby'].flatMap(name => (el.getAttribute(name) || '').split(/\s+/));
    for (const id of [...refs, decodeURIComponent((el.getAttribute('href') || '').slice(1))])
      if (id && !document.getElementById(id)) say('id', `${named(el)} refers to the id ${quoted(id)}, which does not exist`);
  }
};

const lookAtHeadings = () => {
  let last = 0;
  for (const el of visible('h1, h2, h3, h4, h5, h6')) {
    const level = Number(el.tagName[1]);
    if (level > last + 1) say('heading', `${named(el)} follows ${last ? 'a heading of level ' + last : 'no heading'}: a level is skipped`);
    if (!el.textContent.trim()) say('heading', `${named(el)} is empty`);
    last = level;
  }
  const first = all('h1').length;
  if (first !== 1) say('heading', `there are ${first} <h1> elements instead of one`);
};

const lookAtTables = () => {
  const marks = all('h2, h3, h4, h5, h6, summary, table');
  for (const table of visible('table')) {
    const heads = [...table.querySelectorAll('th')];
    if (!table.tHead || !table.tHead.querySelector('th')) say('table', `the table ${named(table)} has no <thead> with header cells`);
    const loose = heads.filter(head => !head.hasAttribute('scope'));
    if (loose.length) say('table', `headers of the table ${named(table)} have no scope: ${loose.map(named).join(', ')}`);
    if (heads.some(head => !head.textContent.trim() && !head.hasAttribute('aria-label')))
      say('table', `the table ${named(table)} has an empty header`);
    // Its own name, or a heading with no other table between.
    const before = marks.filter(el => el.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING
      && !el.contains(table)).at(-1);
    const titled = table.caption?.textContent.trim() || accessibleName(table);
    if (!titled && (!before || before.tagName === 'TABLE')) say('table', `the table ${named(table)} has no caption, label or heading`);
  }
};

const lookAtKeyboard = () => {
  for (const details of visible('details')) {
    const summary = details.querySelector(':scope > summary');
    if (!summary || !summary.textContent.trim()) say('keyboard', `${named(details)} has no <summary> with words`);
    else if (summary.tabIndex < 0 || details.closest('[inert]')) say('keyboard', `${named(summary)} is not reached by the keyboard`);
  }
  const held = document.activeElement;
  for (const el of visible('a[href], button, input, select, textarea, summary, [tabindex]')) {
    if (el.tabIndex < 0) continue;
    if (el.tabIndex > 0) say('keyboard', `${named(el)} has a tabindex above 0, which changes the order of the page`);
    const marks = () => { const s = getComputedStyle(el); return [s.boxShadow, s.backgroundColor, s.borderColor, s.borderWidth].join(); };
    if (el === document.activeElement) el.blur();
    const before = marks();
    el.focus({preventScroll: true, focusVisible: true});
    const style = getComputedStyle(el), ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
    const pale = style.outlineStyle !== 'auto' && ring
      && contrast(over(colour(style.outlineColor), ground(el)), ground(el)) < settings.markContrast;
    if (document.activeElement !== el) say('keyboard', `${named(el)} cannot be focused`);
    else if ((!ring || pale) && marks() === before) say('focus', `${named(el)} looks the same with and without the keyboard's focus`);
    el.blur();
    const name = accessibleName(el) || el.textContent.trim() || el.getAttribute('title') || el.labels?.length;
    if (!name) say('keyboard', `${named(el)} can be focused but has no name`);
  }
  if (held && held !== document.body) held.focus({preventScroll: true});
};

const lookAtSafety = () => {
  for (const el of all('script')) say('script', `there is a <script>: ${quoted(el.textContent || el.src)}`);
  for (const el of all('*')) for (const {name, value} of el.attributes) {
    if (/^on/.test(name)) say('script', `${named(el)} has the attribute ${name}, which runs a script`);
    if (/^\s*javascript:/i.test(value)) say('script', `${named(el)} has a javascript: address`);
    const loads = /^(src|srcset|poster|background|data)$/.test(name)
      || (/^(xlink:)?href$/.test(name) && !/^(a|area)$/i.test(el.tagName));
    if (loads && !/^\s*(#|data:)/.test(value)) say('request', `${named(el)} asks for ${quoted(value)}`);
    if (name === 'style' && /url\(\s*['"]?(?!#|data:)/.test(value)) say('request', `the style of ${named(el)} asks for an address`);
  }
  for (const el of all('style')) if (/@import|url\(\s*['"]?(?!#|data:)/i.test(el.textContent)) say('request', 'the style sheet asks for an address');
  for (const el of all('iframe, object, embed, form, base')) say('script', `there is a <${el.tagName.toLowerCase()}>`);
  for (const el of all('meta[http-equiv=refresh]')) say('request', 'the page loads another after a while');
};

const lookAtPolicy = () => {
  const metas = all('meta[http-equiv="Content-Security-Policy" i]');
  if (metas.length !== 1) return say('policy', `there are ${metas.length} content security policies instead of one`);
  const rules = new Map(metas[0].content.split(';').map(rule => rule.trim().split(/\s+/)).map(([name, ...rest]) => [name, rest.join(' ')]));
  for (const name of ['default-src', 'base-uri', 'form-action'])
    if (rules.get(name) !== "'none'") say('policy', `the content security policy does not say ${name} 'none'`);
  for (const [name, value] of rules) {
    if (/^script-src/.test(name)) say('policy', `the content security policy names ${name}`);
    if (/\*|https?:|unsafe-eval|'self'/.test(value)) say('policy', `the content security policy allows ${name} ${value}`);
  }
  if (!metas[0].closest('head') || all('head style, head link').some(el => el.compareDocumentPosition(metas[0]) & 4))
    say('policy', 'the content security policy does not come first in the head');
};
