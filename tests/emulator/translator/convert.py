"""mov, and cvt between every pair of formats."""

from .parse import elements
from .table import instruction
from .types import CPP, is_float, is_half, is_integer, width

INTEGER_ROUNDINGS = {"rni": "nearest", "rzi": "zero", "rmi": "down", "rpi": "up"}
FLOAT_ROUNDINGS = {"rn": "nearest", "rz": "zero", "rm": "down", "rp": "up"}


@instruction("mov")
def move(body, ins):
    ptx_type = ins.parts[-1]
    destination, source = ins.operands
    if source.startswith("{"):
        parts = elements(source)
        piece = f"b{width(ptx_type) // len(parts)}"
        joined = " | ".join(
            f"{CPP[ptx_type]}({CPP[ptx_type]}({body.value(x, piece)}) << {i * int(piece[1:])})"
            for i, x in enumerate(parts)
        )
        return body.assign(destination, f"({joined})", ptx_type)
    if destination.startswith("{"):
        parts = elements(destination)
        piece = f"b{width(ptx_type) // len(parts)}"
        pieces = " ".join(
            body.assign(x, f"{CPP[piece]}(whole >> {i * int(piece[1:])})", piece) for i, x in enumerate(parts)
        )
        return f"{{ {CPP[ptx_type]} const whole = {body.value(source, ptx_type)}; {pieces} }}"
    return body.assign(destination, body.value(source, ptx_type), ptx_type)


@instruction("cvt")
def convert(body, ins):
    kinds = [part for part in ins.parts[1:] if part in CPP]
    modifiers = [part for part in ins.parts[1:] if part not in CPP]
    if len(kinds) < 2 or "pack" in modifiers:
        return convert_pack(body, ins, kinds, modifiers)
    target, source = kinds[:2]
    for modifier in modifiers:
        if modifier not in (*INTEGER_ROUNDINGS, *FLOAT_ROUNDINGS, "rna", "sat", "ftz", "relu", "satfinite"):
            body.refuse(ins, f"the modifier .{modifier} is not translated")
    if target == "tf32":
        mode = "away" if "rna" in modifiers else "nearest" if "rn" in modifiers else "zero"
        return body.assign(ins.operands[0], f"to_tf32(Rounding::{mode}, {body.value(ins.operands[1], 'f32')})", "b32")
    if len(ins.operands) == 3:  # cvt.rn.bf16x2.f32 d, high, low
        if target not in ("f16x2", "bf16x2") or source != "f32":
            body.refuse(ins)
        high, low = (
            half_from_float(body, ins, CPP[target[:-2]], body.value(x, "f32"), modifiers) for x in ins.operands[1:]
        )
        return body.assign(ins.operands[0], f"{CPP[target]}::join({low}, {high})", target)
    return body.assign(ins.operands[0], conversion(body, ins, target, source, modifiers), target)


def conversion(body, ins, target: str, source: str, modifiers: list) -> str:
    value = body.value(ins.operands[1], source)
    cpp = CPP[target]
    to_integer = next((INTEGER_ROUNDINGS[m] for m in modifiers if m in INTEGER_ROUNDINGS), None)
    directed = next((FLOAT_ROUNDINGS[m] for m in modifiers if m in FLOAT_ROUNDINGS), "nearest")
    if "ftz" in modifiers and source == "f32":
        value = f"flush({value})"
    if is_integer(target) and is_integer(source):
        return f"clamp_to<{cpp}>({value})" if "sat" in modifiers else f"{cpp}({value})"
    if is_integer(target):
        return f"to_integer<{cpp}>(Rounding::{to_integer or 'zero'}, {value})"
    if is_half(target):
        result = half_from_float(
            body,
            ins,
            cpp,
            f"round_to_integer(Rounding::{to_integer}, float({value}))" if to_integer else value,
            modifiers,
        )
    elif is_integer(source) or (is_float(target) and width(target) < width(source)):
        result = (
            f"directed::convert<{cpp}>(Rounding::{directed}, {value})" if directed != "nearest" else f"{cpp}({value})"
        )
    else:
        result = f"{cpp}({value})"
        if to_integer:
            result = f"round_to_integer(Rounding::{to_integer}, {result})"
    if "ftz" in modifiers and target == "f32":
        result = f"flush({result})"
    return f"saturate({result})" if "sat" in modifiers else result


def half_from_float(body, ins, cpp: str, value: str, modifiers: list) -> str:
    """From float, double or an integer: all are exact in double, so the value is rounded once."""
    if any(m in modifiers for m in ("rm", "rp")):
        body.refuse(ins)
    mode = "zero" if "rz" in modifiers else "nearest"
    result = f"{cpp}::from(double({value}), Rounding::{mode})"
    for modifier, name in (("relu", "relu"), ("satfinite", "saturate_finite"), ("sat", "saturate")):
        if modifier in modifiers:
            result = f"{name}({result})"
    return result


def convert_pack(body, ins, kinds: list, modifiers: list) -> str:
    """cvt.pack.sat.u8.s32.b32 d, a, b, c: the low half or quarter of d is a and b clamped, the rest is c."""
    if modifiers != ["pack", "sat"] or kinds[1] != "s32":
        body.refuse(ins)
    a, b = (body.value(x, "s32") for x in ins.operands[1:3])
    c = body.value(ins.operands[3], "u32") if len(ins.operands) > 3 else "0u"
    return body.assign(ins.operands[0], f"pack_clamped<{CPP[kinds[0]]}>({a}, {b}, {c})", "b32")
