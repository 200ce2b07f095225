"""Integer and floating-point arithmetic, logic and bit manipulation. Comparison and selection: compare.py."""

from .parse import Instruction
from .table import instruction
from .types import CPP, is_float, is_half, unsigned, wider

BINARY = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "mul": "*"}
ROUNDINGS = {"rn": "nearest", "rz": "zero", "rm": "down", "rp": "up"}


def type_of(body, ins: Instruction) -> str:
    """The last type in the opcode: the type of the operands."""
    for part in reversed(ins.parts):
        if part in CPP:
            return part
    body.refuse(ins, "no type in the opcode")


def rounding(ins: Instruction) -> str:
    return next((ROUNDINGS[part] for part in ins.parts if part in ROUNDINGS), "nearest")


def only(body, ins: Instruction, *allowed):
    """Refuses modifiers that the handler does not know."""
    for part in ins.parts[1:]:
        if part not in CPP and part not in allowed:
            body.refuse(ins, f"the modifier .{part} is not translated")


def float_operand(body, ins: Instruction, operand: str, ptx_type: str) -> str:
    value = body.value(operand, ptx_type)
    return f"flush({value})" if "ftz" in ins.parts and ptx_type == "f32" else value


def float_result(body, ins: Instruction, destination: str, expression: str, ptx_type: str) -> str:
    """.sat, .relu and .ftz act on the rounded result."""
    if "ftz" in ins.parts and ptx_type == "f32":
        expression = f"flush({expression})"
    if "sat" in ins.parts:
        expression = f"saturate({expression})"
    if "relu" in ins.parts:
        expression = f"relu({expression})"
    return body.assign(destination, expression, ptx_type)


def float_operation(body, ins: Instruction, name: str, count: int) -> str:
    """add, sub, mul, fma, div, sqrt, rcp in float, double and the half formats."""
    only(body, ins, "rn", "rz", "rm", "rp", "ftz", "sat", "relu", "approx", "full")
    ptx_type = type_of(body, ins)
    operands = [float_operand(body, ins, operand, ptx_type) for operand in ins.operands[1 : 1 + count]]
    mode = rounding(ins)
    if mode != "nearest":
        if not is_float(ptx_type):
            body.refuse(ins, "directed rounding of a half format is not translated")
        expression = f"directed::{name}(Rounding::{mode}, {', '.join(operands)})"
    elif is_float(ptx_type) and name in ("add", "sub", "mul"):
        expression = f"({operands[0]} {BINARY[name]} {operands[1]})"
    else:
        expression = f"operation::{name}({', '.join(operands)})"
    return float_result(body, ins, ins.operands[0], expression, ptx_type)


@instruction("add", "sub")
def add(body, ins):
    name, ptx_type = ins.parts[0], type_of(body, ins)
    if is_float(ptx_type) or is_half(ptx_type):
        return float_operation(body, ins, name, 2)
    if ptx_type in ("u16x2", "s16x2"):
        only(body, ins)
        a, b = (body.value(x, "u32") for x in ins.operands[1:3])
        return body.assign(ins.operands[0], f"halfword_{name}({a}, {b})", "u32")
    only(body, ins, "cc", "sat")
    if "sat" in ins.parts:
        a, b = (body.value(x, ptx_type) for x in ins.operands[1:3])
        return body.assign(ins.operands[0], f"saturating_{name}({a}, {b})", ptx_type)
    kind = unsigned(ptx_type)
    a, b = (body.value(x, kind) for x in ins.operands[1:3])
    if "cc" in ins.parts:
        first = "true" if name == "sub" else "false"
        return body.assign(ins.operands[0], f"{name}_with_carry({a}, {b}, {first}, carry)", kind)
    return body.assign(ins.operands[0], f"{CPP[kind]}({a} {BINARY[name]} {b})", kind)


@instruction("addc", "subc")
def add_with_carry(body, ins):
    only(body, ins, "cc")
    kind = unsigned(type_of(body, ins))
    a, b = (body.value(x, kind) for x in ins.operands[1:3])
    carry_out = "carry" if "cc" in ins.parts else "discarded_carry"
    return body.assign(ins.operands[0], f"{ins.parts[0][:3]}_with_carry({a}, {b}, carry, {carry_out})", kind)


@instruction("mul", "mad", "madc")
def multiply(body, ins):
    name, ptx_type = ins.parts[0], type_of(body, ins)
    if is_float(ptx_type) or is_half(ptx_type):
        return float_operation(body, ins, "mul" if name == "mul" else "fma", 2 if name == "mul" else 3)
    only(body, ins, "lo", "hi", "wide", "cc")
    a, b = ins.operands[1:3]
    if "wide" in ins.parts:
        result = wider(ptx_type)
        product = f"{CPP[result]}({CPP[result]}({body.value(a, ptx_type)}) * {CPP[result]}({body.value(b, ptx_type)}))"
    elif "hi" in ins.parts:
        result = ptx_type
        product = f"high_product({body.value(a, ptx_type)}, {body.value(b, ptx_type)})"
    else:
        result = unsigned(ptx_type)
        product = f"low_product({body.value(a, result)}, {body.value(b, result)})"
    if name == "mul":
        return body.assign(ins.operands[0], product, result)
    kind = unsigned(result)
    c = body.value(ins.operands[3], kind)
    if name == "madc" or "cc" in ins.parts:
        carry_in = "carry" if name == "madc" else "false"
        carry_out = "carry" if "cc" in ins.parts else "discarded_carry"
        return body.assign(
            ins.operands[0], f"add_with_carry({CPP[kind]}({product}), {c}, {carry_in}, {carry_out})", kind
        )
    return body.assign(ins.operands[0], f"{CPP[kind]}({CPP[kind]}({product}) + {c})", kind)


@instruction("fma")
def fused_multiply_add(body, ins):
    return float_operation(body, ins, "fma", 3)


@instruction("mul24", "mad24")
def multiply24(body, ins):
    only(body, ins, "lo")
    ptx_type = type_of(body, ins)
    a, b = (body.value(x, ptx_type) for x in ins.operands[1:3])
    c = f" + {body.value(ins.operands[3], ptx_type)}" if ins.parts[0] == "mad24" else ""
    return body.assign(ins.operands[0], f"{CPP[ptx_type]}(product24({a}, {b}){c})", ptx_type)


@instruction("div")
def divide(body, ins):
    ptx_type = type_of(body, ins)
    if is_float(ptx_type):
        return float_operation(body, ins, "div", 2)
    return integer_function(body, ins, "divide")


@instruction("rem")
def remainder(body, ins):
    return integer_function(body, ins, "remainder")


def integer_function(body, ins, name):
    only(body, ins)
    ptx_type = type_of(body, ins)
    a, b = (body.value(x, ptx_type) for x in ins.operands[1:3])
    return body.assign(ins.operands[0], f"{name}({a}, {b})", ptx_type)


@instruction("min", "max")
def extremum(body, ins):
    only(body, ins, "ftz", "NaN", "relu")
    ptx_type = type_of(body, ins)
    suffix = "_or_nan" if "NaN" in ins.parts else ""
    if len(ins.operands) != 3:
        body.refuse(ins)
    if ptx_type in ("u16x2", "s16x2"):
        if "relu" in ins.parts:
            body.refuse(ins)
        a, b = (body.value(x, "u32") for x in ins.operands[1:3])
        return body.assign(ins.operands[0], f"halfword_{ins.parts[0]}<{CPP[ptx_type[:3]]}>({a}, {b})", "u32")
    a, b = (float_operand(body, ins, x, ptx_type) for x in ins.operands[1:3])
    return float_result(body, ins, ins.operands[0], f"{ins.parts[0]}imum{suffix}({a}, {b})", ptx_type)


@instruction("neg", "abs")
def sign(body, ins):
    only(body, ins, "ftz")
    ptx_type = type_of(body, ins)
    value = float_operand(body, ins, ins.operands[1], ptx_type)
    name = {"neg": "negate", "abs": "absolute"}[ins.parts[0]]
    return body.assign(ins.operands[0], f"{name}({value})", ptx_type)


@instruction("and", "or", "xor")
def logic(body, ins):
    only(body, ins)
    ptx_type = type_of(body, ins)
    a, b = (body.value(x, ptx_type) for x in ins.operands[1:3])
    return body.assign(ins.operands[0], f"{CPP[ptx_type]}({a} {BINARY[ins.parts[0]]} {b})", ptx_type)


@instruction("not", "cnot")
def complement(body, ins):
    only(body, ins)
    ptx_type = type_of(body, ins)
    value = body.value(ins.operands[1], ptx_type)
    if ins.parts[0] == "cnot" or ptx_type == "pred":
        return body.assign(ins.operands[0], f"{CPP[ptx_type]}(!{value})", ptx_type)
    return body.assign(ins.operands[0], f"{CPP[ptx_type]}(~{value})", ptx_type)


# Instructions that are one function of device/integer.hpp: (function, types of the operands; T: the opcode's).
FUNCTIONS = {
    "shl": ("shift_left", "T u32"),
    "shr": ("shift_right", "T u32"),
    "bfe": ("bit_field", "T u32 u32"),
    "bfi": ("insert_bits", "T T u32 u32"),
    "prmt": ("permute_bytes", "u32 u32 u32"),
    "clz": ("leading_zeros", "T"),
    "popc": ("population", "T"),
    "brev": ("reverse_bits", "T"),
    "fns": ("nth_set_bit", "u32 u32 s32"),
    "sad": ("absolute_difference", "T T T"),
    "copysign": ("copy_sign", "T T"),
}
COUNTS = ("clz", "popc")


@instruction(*FUNCTIONS)
def function(body, ins):
    modes = ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16") if ins.parts[0] == "prmt" else ()
    only(body, ins, *modes)
    name, kinds = FUNCTIONS[ins.parts[0]]
    ptx_type = type_of(body, ins)
    kinds = [ptx_type if kind == "T" else kind for kind in kinds.split()]
    arguments = [body.value(x, kind) for x, kind in zip(ins.operands[1:], kinds)]
    if len(ins.operands) != len(kinds) + 1:
        body.refuse(ins)
    mode = next((part for part in ins.parts if part in modes), None)
    if mode:
        name = f"permute_bytes_{mode}"
    return body.assign(
        ins.operands[0], f"{name}({', '.join(arguments)})", "u32" if ins.parts[0] in COUNTS else ptx_type
    )


@instruction("bfind")
def find_leading_bit(body, ins):
    only(body, ins, "shiftamt")
    shift = "true" if "shiftamt" in ins.parts else "false"
    return body.assign(
        ins.operands[0], f"leading_bit({body.value(ins.operands[1], type_of(body, ins))}, {shift})", "u32"
    )


@instruction("bmsk", "szext")
def mask_bits(body, ins):
    only(body, ins, "clamp", "wrap")
    ptx_type = type_of(body, ins)
    name = {"bmsk": "bit_mask", "szext": "extend_bits"}[ins.parts[0]]
    a, b = body.value(ins.operands[1], ptx_type), body.value(ins.operands[2], "u32")
    return body.assign(ins.operands[0], f"{name}({a}, {b}, {'true' if 'wrap' in ins.parts else 'false'})", ptx_type)


@instruction("shf")
def funnel_shift(body, ins):
    only(body, ins, "l", "r", "wrap", "clamp")
    a, b, c = (body.value(x, "u32") for x in ins.operands[1:4])
    direction = "left" if "l" in ins.parts else "right"
    return body.assign(
        ins.operands[0], f"funnel_{direction}({a}, {b}, {c}, {'true' if 'wrap' in ins.parts else 'false'})", "u32"
    )


@instruction("lop3")
def three_input_logic(body, ins):
    only(body, ins)
    a, b, c = (body.value(x, "u32") for x in ins.operands[1:4])
    return body.assign(ins.operands[0], f"three_input_logic<{ins.operands[4]}>({a}, {b}, {c})", "u32")


@instruction("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")
def special_function(body, ins):
    names = {
        "rcp": "rcp",
        "sqrt": "sqrt",
        "rsqrt": "rsqrt",
        "ex2": "ex2",
        "lg2": "lg2",
        "sin": "sin",
        "cos": "cos",
        "tanh": "tanh",
    }
    return float_operation(body, ins, names[ins.parts[0]], 1)
