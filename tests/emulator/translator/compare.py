"""Comparison, tests and selection."""

from .arithmetic import float_operand, only, type_of
from .table import instruction
from .types import CPP, is_float, is_half, is_integer


@instruction("testp")
def test_property(body, ins):
    ptx_type = type_of(body, ins)
    test = ins.parts[1]
    if test not in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        body.refuse(ins)
    return body.assign(ins.operands[0], f"test::{test}({body.value(ins.operands[1], ptx_type)})", "pred")


COMPARISONS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}
BOOLEANS = {"and": "&&", "or": "||", "xor": "!="}


def comparison(body, ins, kind: str, ptx_type: str, a: str, b: str) -> str:
    if is_integer(ptx_type):
        return f"({a} {COMPARISONS[kind]} {b})"
    if kind in ("num", "nan"):
        return f"{'!' if kind == 'num' else ''}unordered({a}, {b})"
    if kind.endswith("u") and kind[:2] in COMPARISONS:  # true when either is NaN
        return f"(unordered({a}, {b}) || {a} {COMPARISONS[kind[:2]]} {b})"
    if kind == "ne":  # false when either is NaN, unlike C++'s !=
        return f"({a} < {b} || {a} > {b})"
    return f"({a} {COMPARISONS[kind]} {b})"


def compare_and_combine(body, ins, ptx_type: str, a: str, b: str) -> str:
    expression = comparison(body, ins, ins.parts[1], ptx_type, a, b)
    if len(ins.operands) > 3:
        expression = f"({expression} {BOOLEANS[ins.parts[2]]} {body.value(ins.operands[3], 'pred')})"
    return expression


@instruction("setp")
def set_predicate(body, ins):
    ptx_type = type_of(body, ins)
    only(body, ins, *COMPARISONS, *[c + "u" for c in COMPARISONS], "num", "nan", "and", "or", "xor", "ftz")
    destinations = [d.strip() for d in ins.operands[0].split("|")]
    if ptx_type in ("f16x2", "bf16x2"):
        a, b = (body.value(x, ptx_type) for x in ins.operands[1:3])
        return (
            "{ auto const a = "
            + a
            + "; auto const b = "
            + b
            + "; "
            + " ".join(
                body.assign(d, compare_and_combine(body, ins, ptx_type[:-2], f"a.{half}()", f"b.{half}()"), "pred")
                for d, half in zip(destinations, ("low", "high"))
            )
            + " }"
        )
    a, b = (float_operand(body, ins, x, ptx_type) for x in ins.operands[1:3])
    expression = compare_and_combine(body, ins, ptx_type, a, b)
    if len(destinations) == 1:
        return body.assign(destinations[0], expression, "pred")
    return (
        f"{{ bool const outcome = {expression}; {body.assign(destinations[0], 'outcome', 'pred')} "
        f"{body.assign(destinations[1], '!outcome', 'pred')} }}"
    )


@instruction("set")
def set_value(body, ins):
    kinds = [part for part in ins.parts if part in CPP]
    only(body, ins, *COMPARISONS, *[c + "u" for c in COMPARISONS], "num", "nan", "ftz")
    if len(kinds) != 2 or len(ins.operands) != 3:
        body.refuse(ins)
    result, source = kinds
    a, b = (float_operand(body, ins, x, source) for x in ins.operands[1:3])
    if source in ("f16x2", "bf16x2"):
        pair = [
            comparison(body, ins, ins.parts[1], source[:-2], f"a.{half}()", f"b.{half}()") for half in ("low", "high")
        ]
        maker = f"{CPP[source]}::flags" if result == source else "halfword_flags"
        return (
            f"{{ auto const a = {a}; auto const b = {b}; "
            + body.assign(ins.operands[0], f"{maker}({pair[0]}, {pair[1]})", result)
            + " }"
        )
    expression = comparison(body, ins, ins.parts[1], source, a, b)
    one = f"{CPP[result]}(1.0f)" if is_float(result) or is_half(result) else f"{CPP[result]}(-1)"
    zero = f"{CPP[result]}(0.0f)" if is_half(result) else f"{CPP[result]}(0)"
    return body.assign(ins.operands[0], f"({expression} ? {one} : {zero})", result)


@instruction("selp")
def select(body, ins):
    only(body, ins)
    ptx_type = type_of(body, ins)
    a, b, p = (
        body.value(ins.operands[1], ptx_type),
        body.value(ins.operands[2], ptx_type),
        body.value(ins.operands[3], "pred"),
    )
    return body.assign(ins.operands[0], f"({p} ? {a} : {b})", ptx_type)


@instruction("slct")
def select_by_sign(body, ins):
    only(body, ins, "ftz")
    result, chooser = [part for part in ins.parts if part in CPP]
    a, b, c = (
        body.value(ins.operands[1], result),
        body.value(ins.operands[2], result),
        body.value(ins.operands[3], chooser),
    )
    return body.assign(ins.operands[0], f"({c} >= 0 ? {a} : {b})", result)
