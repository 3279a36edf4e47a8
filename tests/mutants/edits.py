"""Single faults of a module, from its syntax tree: each is a span of the source and the text that takes its place.

Texts for people are left alone: docstrings, messages of exceptions, f-strings, annotations, decorators.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

# Calls that are replaced by a call of the other function.
SWAPPED = {
    "min": "max", "minimum": "maximum", "fmin": "fmax", "ceil": "floor", "any": "all", "cumsum": "cumprod",
    "logical_and": "logical_or", "argmin": "argmax", "union": "intersection",
}  # fmt: skip
SWAPPED |= {after: before for before, after in SWAPPED.items()}
# Calls of which the first argument alone is left: a clip, a safe rounding, a sign, a root.
UNWRAPPED = {"abs", "fabs", "clip", "sqrt", "nextafter", "sorted", "project", "round_up", "up", "down", "rint", "expm1"}
# Calls whose first two arguments may change places, or whose exchange only raises.
UNORDERED = {"isinstance", "issubclass", "max", "min", "maximum", "minimum", "hypot", "gcd", "isclose", "samefile"}
COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
COUNTED: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}


# Below this a constant is a tolerance, a rounding error or a chance, and is scaled by 1000 rather than 2.
SMALL = 1e-3


class Edit(NamedTuple):
    """A kind of fault, the span of the source that it replaces (in characters), and the text that replaces it."""

    kind: str
    start: int
    end: int
    text: str


class Source:
    """A module's text, its tree, and where each node begins and ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def place(self, line: int, column: int) -> int:
        """Position in characters; the tree counts columns in bytes."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends, in characters."""
        return (
            self.place(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self.place(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def of(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def replaced(self, kind: str, node: ast.AST, text: str) -> Edit:
        """The fault that writes this text for a node."""
        return Edit(kind, *self.span(node), text)


def _left_alone(node: ast.AST) -> bool:
    """Whether a fault in this node would change no more than what people read, or what runs at import only."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.arg):
        return True
    if isinstance(node, ast.keyword) and node.arg in ("strict", "dtype", "repr", "frozen"):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    name = node.targets[0] if isinstance(node, ast.Assign) else None
    return isinstance(name, ast.Name) and name.id == "__all__"


def _visited(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that may be changed, parents first."""
    if _left_alone(node):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _visited(child)


def _name(function: ast.expr) -> str:
    """The last name of what is called: `np.clip` and `clip` are both "clip"."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _textual(node: ast.AST) -> bool:
    """Whether an operand is text or a list, where + joins."""
    if isinstance(node, ast.BinOp):
        return _textual(node.left) or _textual(node.right)
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp | ast.GeneratorExp)


def _arithmetic(source: Source, node: ast.BinOp) -> Iterator[Edit]:
    left, right = source.of(node.left), source.of(node.right)
    if _textual(node):
        return
    if type(node.op) in COUNTED:
        sign = COUNTED[type(node.op)]
        yield source.replaced("other operation", node, f"(({left}) {sign} ({right}))")
        yield source.replaced("right term dropped", node, f"({left})")
        if isinstance(node.op, ast.Mult | ast.Add):
            yield source.replaced("left term dropped", node, f"({right})")
    elif isinstance(node.op, ast.Pow):
        yield source.replaced("power dropped", node, f"({left})")
    elif isinstance(node.op, ast.FloorDiv | ast.Mod):
        yield source.replaced("right term dropped", node, f"({left})")
    elif isinstance(node.op, ast.BitAnd | ast.BitOr):
        yield source.replaced("right term dropped", node, f"({left})")
        yield source.replaced("left term dropped", node, f"({right})")


def _constant(source: Source, node: ast.Constant) -> Iterator[Edit]:
    value = node.value
    if type(value) is bool:
        yield source.replaced("other truth", node, str(not value))
    elif type(value) is int and abs(value) < 2**31:
        yield source.replaced("one more", node, str(value + 1))
        yield source.replaced("one less", node, f"({value - 1})" if value < 1 else str(value - 1))
    elif type(value) is float and value:
        scale = 2.0 if abs(value) > SMALL else 1000.0
        yield source.replaced("scaled down", node, f"{value / scale:.6g}")
        yield source.replaced("scaled up", node, f"{value * scale:.6g}")


def _comparison(source: Source, node: ast.Compare) -> Iterator[Edit]:
    terms = [node.left, *node.comparators]
    for place, operator in enumerate(node.ops):
        start, end = source.span(terms[place])[1], source.span(terms[place + 1])[0]
        between = source.text[start:end]
        # Parentheses around the operands stand between their spans; the operator itself is the text without them.
        bare = between.strip(" ()\n")
        if between.count(bare) == 1 and "#" not in between:
            yield Edit("other comparison", start, end, between.replace(bare, COMPARED[type(operator)]))


def _call(source: Source, node: ast.Call) -> Iterator[Edit]:
    name = _name(node.func)
    if name in SWAPPED:
        start, end = source.span(node.func)
        yield Edit("other function", start, end, source.text[start:end].removesuffix(name) + SWAPPED[name])
    plain = bool(node.args) and not isinstance(node.args[0], ast.Starred | ast.GeneratorExp)
    if name in UNWRAPPED and plain:
        yield source.replaced("call left out", node, f"({source.of(node.args[0])})")
    elif name in UNWRAPPED and isinstance(node.func, ast.Attribute):
        yield source.replaced("call left out", node, source.of(node.func.value))
    if (
        len(node.args) > 1
        and name != "isinstance"
        and all(isinstance(each, ast.Name | ast.Attribute) for each in node.args[:2])
    ):
        first, second = node.args[:2]
        start, end = source.span(first)[0], source.span(second)[1]
        between = source.text[source.span(first)[1] : source.span(second)[0]]
        yield Edit("arguments swapped", start, end, source.of(second) + between + source.of(first))
    for keyword in node.keywords:
        if keyword.arg in (None, "dtype") or (keyword is node.keywords[0] and not node.args):
            continue
        start, end = source.span(keyword)
        before = source.text[:start].rstrip()
        if before.endswith(",") and not isinstance(keyword.value, ast.Constant | ast.JoinedStr):
            yield Edit("argument left at its default", len(before) - 1, end, "")


def _condition(source: Source, node: ast.If | ast.While) -> Iterator[Edit]:
    if not isinstance(node, ast.If):
        return
    kind = "guard removed" if isinstance(node.body[-1], ast.Raise) else "branch never taken"
    yield source.replaced(kind, node.test, "False")
    if kind == "branch never taken" and not any(isinstance(each, ast.Raise) for each in node.orelse):
        yield source.replaced("branch always taken", node.test, "True")


def _statement(source: Source, node: ast.stmt, boolean: bool) -> Iterator[Edit]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield source.replaced("statement left out", node, "pass")
    elif isinstance(node, ast.Return) and boolean and node.value is not None:
        yield source.replaced("always true", node.value, "True")
    elif isinstance(node, ast.Continue | ast.Break):
        yield source.replaced("loop left otherwise", node, "break" if isinstance(node, ast.Continue) else "continue")
    elif isinstance(node, ast.AugAssign) and type(node.op) in COUNTED and not _textual(node.value):
        left, sign = source.of(node.target), COUNTED[type(node.op)]
        yield source.replaced("other operation", node, f"{left} {sign}= {source.of(node.value)}")
        yield source.replaced("statement left out", node, "pass")


def _expression(source: Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BinOp):
        yield from _arithmetic(source, node)
    elif isinstance(node, ast.Constant):
        yield from _constant(source, node)
    elif isinstance(node, ast.Compare):
        yield from _comparison(source, node)
    elif isinstance(node, ast.Call):
        yield from _call(source, node)
    elif isinstance(node, ast.BoolOp):
        terms = [f"({source.of(each)})" for each in node.values]
        other = " or " if isinstance(node.op, ast.And) else " and "
        yield source.replaced("and for or", node, f"({other.join(terms)})")
        same = " and " if isinstance(node.op, ast.And) else " or "
        for place in range(len(terms)):
            yield source.replaced("condition dropped", node, f"({same.join(terms[:place] + terms[place + 1 :])})")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub) and not _number(node.operand):
        kind = "not dropped" if isinstance(node.op, ast.Not) else "sign dropped"
        yield source.replaced(kind, node, f"({source.of(node.operand)})")
    elif isinstance(node, ast.IfExp):
        yield source.replaced("first choice always", node, f"({source.of(node.body)})")
        yield source.replaced("second choice always", node, f"({source.of(node.orelse)})")
    elif isinstance(node, ast.Slice) and (node.lower or node.upper):
        bounds = [each for each in (node.lower, node.upper) if each is not None]
        yield Edit(
            "slice whole", source.span(bounds[0])[0], source.span(bounds[-1])[1], "" if len(bounds) == 1 else ":"
        )
    elif isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield source.replaced("filter removed", test, "True")


def edits(text: str) -> list[tuple[Edit, str]]:
    """Every fault of a module's source that still compiles, with the function that it stands in ("" for none)."""
    source = Source(text)
    owners: dict[ast.AST, tuple[str, bool]] = {}
    listed = []
    for node in _visited(source.tree):
        owner, boolean = owners.get(node, ("", False))
        if isinstance(node, ast.FunctionDef):
            owner, boolean = node.name, isinstance(node.returns, ast.Name) and node.returns.id == "bool"
        for child in ast.iter_child_nodes(node):
            owners[child] = (owner, boolean)
        if isinstance(node, ast.If | ast.While):
            made = list(_condition(source, node))
        elif isinstance(node, ast.stmt):
            made = list(_statement(source, node, boolean))
        else:
            made = list(_expression(source, node))
        listed += [(edit, owner) for edit in made if edit.text != text[edit.start : edit.end]]
    return listed
