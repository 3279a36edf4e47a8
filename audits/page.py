"""Write docs/audit.md from the results that are kept in docs/audit: `python -m audits.page [build/audit]`.

With a folder, its battery.json, mutation.json and judges.json are kept first; quick runs are refused.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "audit"
PAGE = ROOT / "docs" / "audit.md"
NAMES = ("battery", "mutation", "judges")
# A case is tight from this share of its claim on; a claim that exceeds what was shown by more than this factor is loose.
TIGHT, SLACK = 0.9, 1.3

HEAD = """# Audit

A guarantee rests on its proof. An audit attacks the code that is supposed to keep it: it cannot prove a promise, but it can
refute one. This page says which attacks are made on every procedure, what they showed, and which planted faults they noticed.
Nothing here was refuted.

There are four kinds of attacks, each on made-up neighbouring data sets, which differ in one record; for plans about persons, in the
rows of one person. `make audit` makes the first three; the fourth is there for plans of your own:

- **Sampled**: the plan is carried out many times on both data sets. A test tells the releases apart: the likelihood ratio where
  every noisy number is published, else a test that was trained on runs of its own. Its error rates, bounded by Clopper and Pearson
  at all thresholds together, prove a lower bound on mu or epsilon.
- **Enumerated**: where a draw is one of finitely many public points, all their probabilities are listed as the sampler draws them,
  and the privacy curve of the two data sets is computed.
- **Replayed**: outputs are frozen, and the plan runs on both data sets. Every number that meets noise is compared with its declared
  sensitivity, and the calls, shapes, arguments and random numbers asked for are compared between the two.
- **One run**: for fits that are too expensive to repeat, many records are chosen by coins and guessed from a single release
  (`sf.one_run`; Steinke, Nasr and Jagielski 2023; Mahloujifar, Melis and Chaudhuri 2024).

The two data sets are worst cases of the model, random ones, ones with an odd record (NaN, infinity, a text in a column of numbers,
a level that was not declared, ...) and the result of a search.

Audit a plan of your own, before anything is spent:

```
sfumato audit smokers.toml --runs 2000 -o smokers-audit.json
sfumato report smokers.sfumato -o smokers.html --audit smokers-audit.json
```

| command | what it does |
|---|---|
| `make audit-quick` | a part of the battery and the faults of a factor 1.5, in minutes; a step of CI |
| `make audit` | the whole battery and all planted faults |
| `make judges` | our auditor beside other auditors, and pointed at another library |
| `make mutants` | faults that nobody chose, planted one at a time against the tests |
| `python -m audits.page build/audit` | this page, from the results of `make audit` and `make judges` |
"""


def keep(folder: Path) -> None:
    """Copy the results of full runs beside the page; those that are not there stay as they are, quick ones are refused."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        stored = folder / f"{name}.json"
        if not stored.exists():
            continue
        report = json.loads(stored.read_text(encoding="utf-8"))
        if report.get("quick") or report.get("form") == "quick":
            raise SystemExit(f"{stored} is from the quick form; run 'make audit' first")
        (KEPT / stored.name).write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (KEPT / "battery.csv").write_text(_csv(), encoding="utf-8")


def report_of(name: str) -> dict[str, Any]:
    """The kept results of a command."""
    return dict(json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8")))


def page() -> str:
    """The text of docs/audit.md."""
    parts = [
        HEAD,
        _battery(),
        _loose(),
        _mutation(),
        _kinds(),
        _judges(),
        _mutants(),
        LIMITS,
        "Words: [glossary](glossary.md).\n",
    ]
    return "\n".join(parts)


# --- the battery ----------------------------------------------------------------------------------------------------------


def share(row: dict[str, Any]) -> float:
    """The part of the claim that sampling or enumeration showed."""
    return float(max(row["shown"], row["exact"] or 0.0) / row["claim"])


def reason(row: dict[str, Any]) -> str | None:
    """Why the claim of a case is loose, from loose.toml; the first entry that fits."""
    for entry in tomllib.loads((ROOT / "audits" / "loose.toml").read_text(encoding="utf-8"))["loose"]:
        fits = any(row["name"].startswith(start) for start in entry["cases"])
        if fits and (not entry.get("looks") or any(row["name"].endswith(look) for look in entry["looks"])):
            return str(entry["reason"])
    return None


def _battery() -> str:
    rows = report_of("battery")["rows"]
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["procedure"]].append(row)
    broken = sum(bool(row["broken"]) for row in rows)
    lines = [
        "## Every procedure with every model that it serves\n",
        f"`make audit` attacks {len(rows)} cases, {broken} of which are refuted. The probability that it would call any true claim",
        "refuted is at most 1e-6, all cases together. All numbers of all cases: [battery.csv](audit/battery.csv).\n",
        "| procedure | cases | refuted | tight: at least 0.9 of the claim shown | largest share shown | replayed: largest part of "
        "what is declared | runs a side | would have seen (median) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for procedure, members in groups.items():
        sampled = [row for row in members if row["runs"]]
        # Looks with few runs, at what others look at with many, would see no factor below 64: they are left out of the median.
        powers = sorted(row["power"] for row in sampled if row["power"] is not None)
        runs = sorted({row["runs"] for row in sampled})
        span = f"{runs[0]:,} to {runs[-1]:,}" if len(runs) > 1 else (f"{runs[0]:,}" if runs else "not sampled")
        lines.append(
            f"| {procedure} | {len(members)} | {sum(bool(row['broken']) for row in members)} | "
            f"{sum(share(row) >= TIGHT for row in members)} | {max(map(share, members)):.3f} | "
            f"{max(row['replayed'] for row in members):.4f} | {span} | "
            f"{f'{powers[len(powers) // 2]:.2f} times the claim' if powers else ''} |"
        )
    lines.append(
        "\nClaims are mu = 2, or epsilon = 2, wherever the model can meet it. `reference-chain` draws take seconds each and "
        "their promise says that it assumes convergence: they are replayed and not sampled.\n"
    )
    return "\n".join(lines)


def _loose() -> str:
    """Cases in which less than 1/1.3 of the claim was shown, by their reason."""
    rows = [row for row in report_of("battery")["rows"] if row["runs"] and share(row) * SLACK < 1]
    reasons: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        reasons[reason(row) or "NO REASON IS GIVEN"].append(row)
    lines = [
        "## Claims that the attacks do not reach\n",
        "In these cases the claim exceeds what sampling and enumeration showed by a factor of more than 1.3: the price is loose at "
        "the pairs that were tried, or the test is weaker than the best one.\n",
        "| reason | cases | shown / claimed |",
        "|---|---|---|",
    ]
    for text, members in sorted(reasons.items(), key=lambda each: -len(each[1])):
        named = Counter(row["procedure"] for row in members)
        cases = ", ".join(f"{procedure} {count}" for procedure, count in named.items())
        shares = sorted(map(share, members))
        lines.append(f"| {text} | {cases} | {shares[0]:.2f} to {shares[-1]:.2f} |")
    return "\n".join(lines) + "\n"


def _csv() -> str:
    rows = report_of("battery")["rows"]
    out = io.StringIO()
    columns = [key for key in rows[0] if key != "seconds"]
    writer = csv.DictWriter(out, [*columns, "share", "reason"], extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        why = reason(row) if row["runs"] and share(row) * SLACK < 1 else ""
        writer.writerow({**row, "share": f"{share(row):.4f}", "reason": why})
    return out.getvalue()


# --- planted faults ---------------------------------------------------------------------------------------------------------


def _mutation() -> str:
    report = report_of("mutation")
    lines = [
        "## Planted faults\n",
        f"`make audit` plants {report['total']} faults in copies of the source, one at a time: {report['killed']} are noticed by "
        "the attack or the test that is named for them. Faults named by a number are those of the threat list: 4 a wrong adjacency "
        "factor, 13 noise, clipping, steps, start, generator, delta, 14 one record that decides how all are read, 23 a map from "
        "numbers that are not published; `6` are the constants of a shape-first regression. Runs are those a side that it took, "
        "doubled until the claim was refuted; attacks that enumerate or replay need none. The attacks are on small plans of their "
        "own, chosen so that the price is nearly reached; a chain that stands for exact draws is enumerated as those.\n",
        "| fault | threat | procedure | factor | noticed by | how | runs |",
        "|---|---|---|---|---|---|---|",
    ]
    for fault in report["faults"]:
        factor = "" if fault["factor"] is None else f"{fault['factor']:.3g}"
        runs = f"{fault['runs']:,}" if fault["runs"] else ""
        verdict = f"`{fault['killer']}`" if fault["killed"] else "**SURVIVED**"
        cells = (fault["name"], fault["threat"], fault["procedure"], factor, verdict, fault["how"], runs)
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _kinds() -> str:
    kinds = tomllib.loads((ROOT / "audits" / "dp_recorder.toml").read_text(encoding="utf-8"))["kind"]
    report = report_of("mutation")
    lines = [
        "## The seven kinds of dp-recorder\n",
        "Cebere, Erb, Desfontaines, Bellet and Fitzsimons (2026, arXiv 2602.17454) audited twelve libraries by record and replay "
        "and reported thirteen violations. Their kinds of faults, where they saw them, and how many of ours are planted. Six have "
        "a reduced example in their repository; control flow is what their audits of libraries report beside them.\n",
        "| kind | what goes wrong | seen in | planted here |",
        "|---|---|---|---|",
    ]
    for kind in kinds:
        planted = sum(any(fault["threat"].startswith(each) for each in kind["threats"]) for fault in report["faults"])
        lines.append(f"| {kind['kind']} | {kind['what']} | {', '.join(kind['seen'])} | {planted} |")
    return "\n".join(lines) + "\n"


def _judges() -> str:
    said = report_of("judges")
    lines = [
        "## Judges from outside\n",
        "`make judges`. jax_privacy 2.0.0's `CanaryScoreAuditor` bounds epsilon from the same scores, at the same level (0.95) and "
        "delta (1e-5), by Clopper and Pearson with Bonferroni's correction:\n",
        "| procedure | runs a side | ours | jax_privacy | ratio |",
        "|---|---|---|---|---|",
    ]
    for row in said["bounds"]:
        ratio = row["ours"] / row["theirs"]
        lines.append(
            f"| {row['procedure']} | {row['runs']:,} | {row['ours']:.3f} | {row['theirs']:.3f} | {ratio:.3f} |"
        )
    off = max(abs(math.log(row["ours"] / row["theirs"])) for row in said["bounds"])
    noise, peer = said["noise"], said["diffprivlib"]
    tests = "; ".join(f"{name}: p = {p:.2g}" for name, p in noise["p"].items())
    lines += [
        f"\nThe largest difference is {100 * math.expm1(off):.1f} %.\n",
        f"OpenDP 0.16's exact Gaussian noise and ours, {noise['samples']:,} samples of scale {noise['scale']:g} each, compared by "
        f"a chi-squared test: {tests}.\n",
        f"diffprivlib 0.6.6's logistic regression with `data_norm=100` claims epsilon = {peer['claimed']:g}. With x = 100 against "
        f"x = 0 in one row, and {peer['runs']:,} counted fits a side, our auditor shows epsilon of at least {peer['epsilon']:.2f} "
        f"with 95 % confidence and {'calls the claim refuted' if peer['broken'] else 'does not refute the claim'}.\n",
    ]
    return "\n".join(lines)


def _mutants() -> str:
    """The kept list of random faults, by room."""
    lines = [
        "## Faults that nobody chose\n",
        "`make mutants` plants faults that were drawn at random from the syntax tree, in every room of the source, and runs the "
        "tests of the room. The list is kept in tests/mutants; `SEED=7 NUMBER=100` draws others.\n",
        "| room | planted | killed | survived, and why that is harmless |",
        "|---|---|---|---|",
    ]
    planted = survived = 0
    for path in sorted((ROOT / "tests" / "mutants").glob("*.toml")):
        faults = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
        reasons = [fault["reason"] for fault in faults if "reason" in fault]
        planted, survived = planted + len(faults), survived + len(reasons)
        room = path.stem.replace("_", " ")
        lines.append(f"| {room} | {len(faults)} | {len(faults) - len(reasons)} | {' '.join(reasons)} |")
    lines.append(f"| all | {planted} | {planted - survived} | {100 * (planted - survived) / planted:.1f} % killed |")
    return "\n".join(lines) + "\n"


LIMITS = """## What this does not show

- An attack that fails proves nothing: a worse pair of data sets, or a better test, may exist. Only the proof rules them out.
- The kept list of random faults was chosen among faults that tests kill. Faults drawn with a new seed are killed less often; many
  of the survivors change nothing that can be observed, some are gaps in the tests.
- Enumeration lists the weights that are handed to a sampler and replay the numbers that meet its noise: what the sampler makes of
  them is attacked by sampling alone. Noise that is cut off far in its tails, or a fault of the first draw of many that are drawn in
  one pass, is left to the tests of the samplers.
- "Would have seen" supposes that the pair and the test reach a fault. Where a claim is loose, a fault must make up for that first.
- What publishing, the budget, the report and the queries do with a release is not attacked here; they have tests of their own.
- Time, memory and the machine itself are not audited.
"""


def main(arguments: list[str]) -> None:
    """Keep the results of a folder, if one is given, and write the page."""
    if arguments:
        keep(Path(arguments[0]))
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
