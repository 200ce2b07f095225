"""What the lanes of a warp do together: shuffles, votes, reductions and tensor-core products."""

import re

from .parse import elements
from .table import instruction


@instruction("shfl")
def shuffle(body, ins):
    if ins.parts[1] != "sync":
        body.refuse(ins, "shfl without .sync does not exist on these architectures")
    value, lane, clamp, mask = (body.value(x, "b32") for x in ins.operands[1:5])
    destinations = [d.strip() for d in ins.operands[0].split("|")]
    call = f"shuffle(t, Shuffle::{ins.parts[2]}, {value}, {lane}, {clamp}, {mask}, {body.site(ins)})"
    if len(destinations) == 1:
        return body.assign(destinations[0], f"{call}.value", "b32")
    return (
        f"{{ auto const s = {call}; {body.assign(destinations[0], 's.value', 'b32')} "
        f"{body.assign(destinations[1], 's.in_range', 'pred')} }}"
    )


@instruction("vote")
def vote(body, ins):
    parts = [part for part in ins.parts if part != "sync"]
    site, predicate = body.site(ins), body.value(ins.operands[1], "pred")
    mask = body.value(ins.operands[2], "b32")
    if parts[1] == "ballot":
        return body.assign(ins.operands[0], f"ballot(t, {mask}, {predicate}, {site})", "b32")
    if parts[1] not in ("any", "all", "uni"):
        body.refuse(ins)
    return body.assign(ins.operands[0], f"vote_{parts[1]}(t, {mask}, {predicate}, {site})", "pred")


@instruction("match")
def match(body, ins):
    kind = "b64" if "b64" in ins.parts else "b32"
    value, mask = body.value(ins.operands[1], kind), body.value(ins.operands[2], "b32")
    destinations = [d.strip() for d in ins.operands[0].split("|")]
    call = f"match_{ins.parts[1]}(t, {mask}, {value}, {body.site(ins)})"
    text = f"{{ std::uint32_t const lanes = {call}; {body.assign(destinations[0], 'lanes', 'b32')} "
    if len(destinations) > 1:
        text += body.assign(destinations[1], "lanes != 0", "pred")
    return text + " }"


@instruction("redux")
def reduce(body, ins):
    kind = ins.parts[-1]
    if kind not in ("u32", "s32", "b32"):
        body.refuse(ins)
    value, mask = body.value(ins.operands[1], "b32"), body.value(ins.operands[2], "b32")
    signed = "true" if kind == "s32" else "false"
    return body.assign(
        ins.operands[0], f"reduce(t, Reduction::{ins.parts[2]}_, {signed}, {mask}, {value}, {body.site(ins)})", "b32"
    )


@instruction("activemask")
def active_mask(body, ins):
    # Any set of lanes that contains this one is right. The smallest one finds code that takes it for the whole warp.
    return body.assign(ins.operands[0], "(1u << t.lane)", "b32")


@instruction("elect")
def elect(body, ins):
    lane, predicate = [d.strip() for d in ins.operands[0].split("|")]
    return (
        f"{{ std::uint32_t const leader = elect(t, {body.value(ins.operands[1], 'b32')}, {body.site(ins)}); "
        f"{body.assign(lane, 'leader', 'b32')} {body.assign(predicate, 'leader == t.lane', 'pred')} }}"
    )


# Formats of a and b in mma.sync; the number is how many 32-bit registers of a and b a lane holds.
MMA = {
    ("m16n8k4", "tf32"): (2, 1),
    ("m16n8k8", "tf32"): (4, 2),
    ("m16n8k8", "bf16"): (2, 1),
    ("m16n8k16", "bf16"): (4, 2),
    ("m16n8k8", "f16"): (2, 1),
    ("m16n8k16", "f16"): (4, 2),
}


@instruction("mma")
def multiply_matrices(body, ins):
    match = re.fullmatch(
        r"mma\.sync\.aligned\.(m16n8k\d+)\.row\.col\.(f32|f16)\.(tf32|bf16|f16)\.(tf32|bf16|f16)\.(f32|f16)", ins.opcode
    )
    if not match or match[3] != match[4] or match[2] != match[5] or (match[1], match[3]) not in MMA:
        body.refuse(ins)
    shape, accumulate, kind = match[1], match[2], match[3]
    depth = shape.split("k")[1]
    d, a, b, c = (elements(operand) for operand in ins.operands)
    if (len(a), len(b)) != MMA[shape, kind] or len(c) != len(d) or len(d) != (4 if accumulate == "f32" else 2):
        body.refuse(ins, "wrong number of registers")
    values = {
        name: ", ".join(body.value(x, "b32") for x in registers) for name, registers in (("a", a), ("b", b), ("c", c))
    }
    results = " ".join(body.assign(register, f"d[{i}]", "b32") for i, register in enumerate(d))
    return (
        f"{{ std::uint32_t const a[] = {{{values['a']}}}, b[] = {{{values['b']}}}, c[] = {{{values['c']}}}; "
        f"std::uint32_t d[4]; "
        f"multiply_matrices(t, {{Format::{kind}, {depth}, {'true' if accumulate == 'f16' else 'false'}, a, b, c, d}}, "
        f"{body.site(ins)}); {results} }}"
    )


@instruction("ldmatrix", "stmatrix")
def matrix_access(body, ins):
    match = re.fullmatch(r"(ld|st)matrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.shared(?:::cta)?\.b16", ins.opcode)
    if not match:
        body.refuse(ins)
    count, transposed = int(match[2]), "true" if match[3] else "false"
    registers, address = (ins.operands[0], ins.operands[1]) if match[1] == "ld" else (ins.operands[1], ins.operands[0])
    registers = elements(registers)
    base, offset = body.split_address(address)
    where = f"std::uint32_t({body.value(base, 'u32')} + {offset})"
    if match[1] == "ld":
        results = " ".join(body.assign(register, f"m[{i}]", "b32") for i, register in enumerate(registers))
        call = f"load_matrices(t, {count}, {transposed}, {where}, m, {body.site(ins)});"
        return f"{{ std::uint32_t m[4]; {call} {results} }}"
    values = ", ".join(body.value(register, "b32") for register in registers)
    call = f"store_matrices(t, {count}, {transposed}, {where}, m, {body.site(ins)});"
    return f"{{ std::uint32_t m[4] = {{{values}}}; {call} }}"


@instruction("movmatrix")
def transpose_matrix(body, ins):
    return body.assign(
        ins.operands[0], f"transpose_matrix(t, {body.value(ins.operands[1], 'b32')}, {body.site(ins)})", "b32"
    )
