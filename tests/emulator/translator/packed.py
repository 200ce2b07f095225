"""Several small integers in one register."""

from .arithmetic import only
from .table import instruction
from .types import CPP


@instruction("dp4a", "dp2a")
def dot_product(body, ins):
    kinds = [part for part in ins.parts if part in CPP]
    low = "" if ins.parts[0] == "dp4a" else ("<false>" if "lo" in ins.parts else "<true>")
    only(body, ins, "lo", "hi")
    result = "s32" if "s32" in kinds else "u32"
    a, b, c = (
        body.value(ins.operands[1], kinds[0]),
        body.value(ins.operands[2], kinds[1]),
        body.value(ins.operands[3], result),
    )
    return body.assign(ins.operands[0], f"{ins.parts[0]}{low}({a}, {b}, {c})", result)


@instruction("vabsdiff4", "vabsdiff2")
def packed_absolute_difference(body, ins):
    kinds = [part for part in ins.parts if part in CPP]
    only(body, ins)
    if set(kinds) not in ({"u32"}, {"s32"}):
        body.refuse(ins)
    lane = {"4": "int8_t", "2": "int16_t"}[ins.parts[0][-1]]
    a, b, _ = (body.value(x, "u32") for x in ins.operands[1:4])
    element = f"std::{'u' if kinds[0] == 'u32' else ''}{lane}"
    return body.assign(ins.operands[0], f"packed_absolute_difference<{element}>({a}, {b})", "u32")
