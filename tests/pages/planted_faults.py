"""Faults to plant in the good page, one or more for each kind, and changes that are no faults."""

H2 = "<h2>Results"
GRID = '<line class="grid" x1="50" x2="330" y1="140" y2="140"/>'
LONGER = GRID.replace('x1="50"', 'x1="30"')
CURVE = '<polyline class="curve"'
BAR = '<rect class="mark" x="60" y="100" width="30" height="30"/><circle class="dot mark" cx="75" cy="115" r="4"/>'
HIDE = "overflow:hidden;white-space:nowrap"
TABLE = '<table style="min-width:30rem"><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead></table>'
TWO = f'<h2>Two</h2><div class="wide" tabindex="0" role="region" aria-label="Two">{TABLE}</div>'

# kind, words of the sentence that is expected, text of the good page, its replacement.
PLANTED = [
    ("overflow", "wider than the screen, up to <div.far>", H2, '<div class="far" style="width:3000px">x</div>' + H2),
    ("cut", '<p> "a sentence that is longer', H2, f'<p style="width:5rem;{HIDE}">a sentence that is longer than its box</p>' + H2),
    ("cut", "px of its content below", H2, '<p style="height:1rem;overflow:clip">two<br>lines</p>' + H2),
    ("cut", "beyond the edge of the page", H2, '<p style="position:absolute;left:-30px">left of the page</p>' + H2),
    ("scroll", "<div.wide>", ' tabindex="0" role="region"', ""),
    ("scroll", "<div.wide>", 'role="region" aria-label="Seven columns"', 'role="region"'),
    ("scroll", "<pre>", "pre { white-space:pre-wrap;", "pre { height:1rem; overflow:auto;"),
    ("column", "which has only 2", H2, TWO + H2),
    ("overlap", '"label beside the curve" and "epsilon"', 'x="190" y="172"', 'x="190" y="86"'),
    ("overlap", '"code" and "Results"', H2, '<h2 style="margin-top:-2.6rem">Results'),
    ("outside", '"epsilon"', 'x="190" y="172"', 'x="190" y="196"'),
    ("outside", '"share"', 'transform="rotate(-90 14 80)"', 'transform="rotate(-90 4 80)"'),
    ("crossed", '"0" of the picture "A curve that falls from 1 to 0" is crossed by <line.grid>', GRID, LONGER),
    ("crossed", "is crossed by <polyline.curve>", 'x="164" y="84"', 'x="120" y="78"'),
    ("crossed", "is crossed by <circle.mark>", 'cx="150" cy="90"', 'cx="200" cy="80"'),
    ("crossed", "is crossed by <path.curve>", CURVE, f'<path class="curve" d="M60 130 C 150 60 250 60 325 20"/>{CURVE}'),
    ("crossed", '"node" of the picture', '<rect class="node"', '<rect class="node" style="fill:none"'),
    ("crossed", "is crossed by <path.grid>", CURVE, f'<path class="grid" d="M100 84 H150 M290 84 H330"/>{CURVE}'),
    ("crossed", "is covered by <rect.node>", "</svg>", '<rect class="node" x="150" y="60" width="180" height="40"/></svg>'),
    ("contrast", "<code>", "</style>", "code { color:#888; background:#777; }</style>"),
    ("contrast", "<code>", "</style>", "code { opacity:.4; }</style>"),
    ("contrast", "<code>", "</style>", "code { color:rgb(127 127 127 / 50%); }</style>"),
    ("contrast", "picture or gradient of <pre>", "</style>", "pre { background-image:linear-gradient(red, blue); }</style>"),
    ("contrast", '"epsilon"', 'x="190" y="172"', 'x="190" y="172" style="fill:#888" fill-opacity=".5"'),
    ("contrast", '"node"', ".node { fill:var(--box);", ".node { fill:var(--ink);"),
    ("contrast", 'the text "pale" put before <code>', "</style>", "code::before { content:'pale'; color:#aaa; }</style>"),
    ("contrast", '<p> "Hypotheses."', "</style>", "details p { color:#8885; }</style>"),
    ("mark", "<circle.mark>", ".mark { fill:var(--accent);", ".mark { fill:var(--line);"),
    ("mark", "<circle.dot.mark>", "</svg>", f"{BAR}</svg>"),
    ("mark", "<polyline.curve>", ".curve { stroke:var(--accent);", ".curve { stroke:#8888;"),
    ("small", "<code> \"code\" has letters of 10.0 px", "</style>", "code { font-size:10px; }</style>"),
    ("alt", 'has no role "img"', ' role="img"', ""),
    ("alt", "no alternative text", 'aria-label="A curve that falls from 1 to 0"', ""),
    ("alt", "<img>", 'img alt=""', "img"),
    ("table", "no <thead>", "<thead><tr><th scope=\"col\">group</th><th scope=\"col\">rate</th></tr></thead>", ""),
    ("table", '<th> "rate"', '<th scope="col">rate', "<th>rate"),
    ("table", "empty header", '<th scope="col">group', '<th scope="col">'),
    ("table", "no caption, label or heading", "<figure", TABLE + "<figure"),
    ("heading", '<h4#second> "More"', '<h2 id="second">More</h2>', '<h4 id="second">More</h4>'),
    ("heading", "2 <h1>", '<h2 id="second">More</h2>', '<h1 id="second">More</h1>'),
    ("document", "no language", ' lang="en"', ""),
    ("document", "no <title>", "A good page</title>", "</title>"),
    ("document", "viewport", "width=device-width, ", ""),
    ("document", "0 <main>", "<main>", '<div class="main">'),
    ("id", '"second" stands more than once', "<h2>Results", '<h2 id="second">Results'),
    ("id", '"secnd", which does not exist', '"#second"', '"#secnd"'),
    ("keyboard", "no <summary>", "<summary>For experts</summary>", ""),
    ("keyboard", "not reached by the keyboard", "<summary>", '<summary tabindex="-1">'),
    ("keyboard", "above 0", 'tabindex="0"', 'tabindex="3"'),
    ("focus", '<a> "link"', "</style>", "a { outline:none; }</style>"),
    ("focus", "<summary>", "</style>", "summary:focus-visible { outline:2px solid var(--paper); }</style>"),
    ("script", "<script>", "</main>", "<script>1</script></main>"),
    ("script", "onclick", "<code>", '<code onclick="go()">'),
    ("script", "javascript:", '"https://example.org/"', '"javascript:go()"'),
    ("script", "<form>", H2, "<form></form>" + H2),
    ("request", "https://example.org/x.png", "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==", "https://example.org/x.png"),
    ("request", "style sheet", "</style>", "pre { background-image:url(https://example.org/x.png); }</style>"),
    ("policy", "0 content security policies", "Content-Security-Policy", "Other"),
    ("policy", "default-src 'none'", "default-src 'none'; ", ""),
    ("policy", "base-uri 'none'", "base-uri 'none'; ", ""),
    ("policy", "form-action 'none'", "; form-action 'none'", ""),
    ("policy", "names script-src", "img-src data:", "script-src 'unsafe-inline'"),
    ("policy", "allows img-src *", "img-src data:", "img-src *"),
    ("size", "bytes, more than 2,000,000", "</main>", "<!--" + "x" * 2_000_000 + "--></main>"),
]  # fmt: skip

# The same, for what is seen on printed paper only.
PLANTED_IN_PRINT = [
    ("print", "paper is not white", "@media screen and (prefers", "@media (prefers"),
    ("print", '<p> "Hypotheses." is folded away', "details::details-content { content-visibility:visible; }", ""),
    ("print", "on a dark ground", "</style>", "pre { background:#333; color:#fff; }</style>"),
    ("scroll", "which paper cannot be", ".wide { overflow:visible; } }", ".wide table { min-width:60rem } }"),
    ("overflow", "px wider than the screen", "</style>", "@media print { pre { width:1200px; } }</style>"),
]

# What is right although a careless check would name it.
ALLOWED = [
    ("a line that a filled node hides", H2, H2),
    ("a text of no display", H2, '<p style="display:none;color:#888;background:#888">x</p>' + H2),
    ("a picture for sight alone", 'role="img" aria-label="A curve that falls from 1 to 0"', 'aria-hidden="true"'),
    ("a picture with a title", ' aria-label="A curve that falls from 1 to 0">', "><title>A curve</title>"),
    ("another sign of focus", "</style>", "a { outline:none; } a:focus { box-shadow:0 0 0 3px; }</style>"),
    ("a pale area behind marks", CURVE, f'<rect class="wash" style="fill:#8883" x="60" y="30" width="20" height="60"/>{CURVE}'),
    ("two strokes of one path", CURVE, f'<path class="grid" d="M100 84 H150 M310 84 H330"/>{CURVE}'),
    ("two dots of one series", CURVE, f'<circle class="mark" cx="150" cy="90" r="4"/>{CURVE}'),
    ("a halo", CURVE, f'<rect class="halo" style="fill:var(--paper)" x="160" y="66" width="150" height="30"/>{CURVE}'),
]  # fmt: skip
