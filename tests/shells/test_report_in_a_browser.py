"""The report in a real browser: nothing overflows, overlaps or is unreadable, on a wide screen and a phone, light and dark."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import sfumato as sf
from sfumato.shells.report import page, write_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WHY = "no Chromium on this machine: .ci/run installs Debian's when it is root (apt-get install chromium)"
SIZES = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]

# Everything that is looked at, computed by the page itself.
LOOK = """() => {
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  const boxes = [...document.querySelectorAll('svg text')].map(t => {
    const b = t.getBoundingClientRect(), s = t.closest('svg').getBoundingClientRect();
    return {text: t.textContent, l: b.left, r: b.right, t: b.top, b: b.bottom,
            out: Math.max(s.left - b.left, b.right - s.right, s.top - b.top, b.bottom - s.bottom), svg: s.top, size: b.height};
  });
  const clashes = [];
  for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
    const a = boxes[i], c = boxes[j];
    if (a.svg === c.svg && Math.min(a.r, c.r) - Math.max(a.l, c.l) > 1 && Math.min(a.b, c.b) - Math.max(a.t, c.t) > 3)
      clashes.push(a.text + ' / ' + c.text);
  }
  const lum = rgb => { const v = rgb.match(/[0-9.]+/g).slice(0, 3).map(x => x / 255)
    .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const back = el => { for (let e = el; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (c !== 'rgba(0, 0, 0, 0)') return c; } return 'rgb(255, 255, 255)'; };
  const contrast = [...document.querySelectorAll('h1,h2,p,td,th,footer,pre')].map(el => {
    const a = lum(getComputedStyle(el).color), b = lum(back(el)); return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); });
  return {wide, clashes, out: Math.max(...boxes.map(b => b.out)), small: Math.min(...boxes.map(b => b.size)),
          contrast: Math.min(...contrast), letters: document.body.innerText.length,
          pictures: document.querySelectorAll('svg').length};
}"""


def released(model, data, schema, n, **options):
    plan = sf.plan(model, n, 1.0, 1e-6, **options)
    return sf.publish(plan, sf.Dataset.from_table(data, schema=schema))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Reports of three kinds of release, one of them also with an audit."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(5)
    n = 1500
    regions = ["the north and its islands", "east", "a region with a name that is rather long for a table", "west"]
    table = {"region": rng.choice(regions, n), "age": rng.integers(18, 90, n), "ill": rng.random(n) < 0.3}
    region, age, ill = sf.Category(regions), sf.Number(18, 90), sf.Boolean()
    share = released(sf.families.DirichletCategorical(regions), table, sf.Schema({"region": region}, name="survey"), n)
    schema = sf.Schema({"region": region, "age": age, "ill": ill}, target="ill", name="survey")
    design = schema.design()
    radius = sf.losses.radius_with_intercept(design.radius, 0.5)
    model = sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(0.05), design.dimension + 1, 0.5)
    fit = released(model, table, schema, n, goal="estimate", keep=("transcript",))
    bare = released(sf.families.BetaBernoulli(), table, sf.Schema({"ill": ill}, name="survey"), n)
    found = {}
    for name, release in (("share", share), ("fit", fit), ("bare", bare)):
        found[name] = folder / f"{name}.html"
        write_report(release, found[name])
    # The same page with the picture of an attack on its plan.
    attack = folder / "audit.json"
    attack.write_text(json.dumps(sf.audit(sf.plan(sf.families.BetaBernoulli(), n, 1.0, 1e-6), runs=200).to_json()))
    found["audited"] = folder / "audited.html"
    write_report(bare, found["audited"], audit=attack)
    return found


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip(WHY)
    from playwright.sync_api import sync_playwright

    quiet = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=quiet)
        yield found
        found.close()


def look(browser, path, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked = []
    opened = context.new_page()
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(path.as_uri())
    seen = opened.evaluate(LOOK)
    context.close()
    return seen, asked


@pytest.mark.parametrize("name", ["share", "fit", "bare", "audited"])
@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_nothing_overflows_overlaps_or_is_unreadable(name, width, scheme, pages, browser):
    seen, asked = look(browser, pages[name], width, scheme)
    assert asked == [pages[name].as_uri()]
    assert seen["wide"] <= 0
    assert seen["clashes"] == []
    assert seen["out"] <= 1
    assert seen["small"] >= 9
    assert seen["contrast"] >= 4.5
    assert seen["pictures"] >= 1
    assert seen["letters"] > 1500


@pytest.mark.planted
def test_the_look_sees_what_is_wrong(pages, browser, tmp_path):
    """Planted faults: a wide block, grey on grey, and one label moved onto another."""
    text = pages["fit"].read_text()
    bad = tmp_path / "bad.html"
    bad.write_text(
        text.replace(
            "<h1>", '<div style="width:3000px">x</div><p style="color:#999;background:#aaa">pale</p><h1>'
        ).replace('<text x="14" y="64">', '<text x="14" y="26">', 1)
    )
    seen, _ = look(browser, bad, 390, "light")
    assert seen["wide"] > 1000
    assert seen["contrast"] < 2
    assert seen["clashes"]


def test_a_seeded_release_is_marked_in_red():
    schema = sf.Schema({"ill": sf.Boolean()}, name="survey")
    plan = sf.plan(sf.families.BetaBernoulli(), 50, 1.0, 1e-6)
    data = sf.Dataset.from_table({"ill": np.arange(50) % 2 == 0}, schema=schema)
    text = page(sf.publish(plan, data, randomness=sf.seeded(1)))
    assert "NOT PRIVATE" in text
    assert "warning" in text
    assert "guesses this one right" not in text


def test_names_are_escaped():
    schema = sf.Schema({"ill": sf.Boolean()}, name="<script>alert(1)</script>")
    plan = sf.plan(sf.families.BetaBernoulli(), 50, 1.0, 1e-6)
    data = sf.Dataset.from_table({"ill": np.arange(50) % 2 == 0}, schema=schema)
    assert "<script" not in page(sf.publish(plan, data))
