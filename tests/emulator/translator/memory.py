"""Loads, stores, atomics, asynchronous copies, address conversion and fences."""

from .arithmetic import type_of
from .parse import elements
from .table import instruction
from .types import CPP, is_float, is_half, unsigned, width

# Hints to the caches: no effect on results.
HINTS = ("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "u", "weak")
ORDERS = ("volatile", "relaxed", "acquire", "release", "acq_rel")
SCOPES = ("cta", "cluster", "gpu", "sys", "gl")
VECTORS = ("v2", "v4", "v8")
CACHE_LEVELS = ("L1::", "L2::")
SPACE_NAMES = (
    "global",
    "shared",
    "local",
    "param",
    "const",
    "shared::cta",
    "shared::cluster",
    "param::entry",
    "param::func",
)


def check_modifiers(body, ins, *allowed):
    for part in ins.parts[1:]:
        known = (
            part in CPP or part in HINTS or part in ORDERS or part in SCOPES or part in VECTORS or part in SPACE_NAMES
        )
        if not (known or part in allowed or part.startswith(CACHE_LEVELS)):
            body.refuse(ins, f"the modifier .{part} is not translated")


def access_of(order: str, otherwise: str) -> str:
    return "ordered" if order in ("acquire", "release", "acq_rel") else "atomic" if order else otherwise


def memory_order(ins) -> str:
    return next((part for part in ins.parts if part in ORDERS), "")


@instruction("ld", "ldu")
def load(body, ins):
    check_modifiers(body, ins)
    ptx_type, space, order = type_of(body, ins), body.space_of(ins), memory_order(ins)
    registers = elements(ins.operands[0])
    size = width(ptx_type) // 8
    address = body.address(ins, ins.operands[1], space, size * len(registers), access_of(order, "read"))
    # Another thread may change what a volatile or ordered load waits for: let it run.
    prefix = "spin(t); " if order else ""
    function = {"": "load", "volatile": "load_relaxed", "relaxed": "load_relaxed", "acquire": "load_acquire"}.get(order)
    if not function:
        body.refuse(ins)
    cpp = CPP[ptx_type]
    if len(registers) == 1:
        return prefix + body.assign(registers[0], f"{function}<{cpp}>({address})", ptx_type)
    # All elements are read before a register changes: the address may be one of them.
    reads = " ".join(f"auto const e{i} = {function}<{cpp}>(a + {i * size});" for i in range(len(registers)))
    writes = " ".join(body.assign(register, f"e{i}", ptx_type) for i, register in enumerate(registers))
    return f"{{ {prefix}char* const a = {address}; {reads} {writes} }}"


@instruction("st")
def store(body, ins):
    check_modifiers(body, ins)
    ptx_type, space, order = type_of(body, ins), body.space_of(ins), memory_order(ins)
    values = elements(ins.operands[1])
    size = width(ptx_type) // 8
    address = body.address(ins, ins.operands[0], space, size * len(values), access_of(order, "write"))
    function = {"": "store", "volatile": "store_relaxed", "relaxed": "store_relaxed", "release": "store_release"}.get(
        order
    )
    if not function:
        body.refuse(ins)
    cpp = CPP[ptx_type]
    if len(values) == 1:
        return f"{function}<{cpp}>({address}, {body.value(values[0], ptx_type)});"
    stores = " ".join(
        f"{function}<{cpp}>(a + {i * size}, {body.value(value, ptx_type)});" for i, value in enumerate(values)
    )
    return f"{{ char* const a = {address}; {stores} }}"


@instruction("atom", "red")
def atomic(body, ins):
    operations = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
    check_modifiers(body, ins, *operations, "noftz")
    name = next((part for part in ins.parts if part in operations), None)
    if not name or any(part in VECTORS for part in ins.parts):
        body.refuse(ins)
    operands = list(ins.operands)
    destination = operands.pop(0) if ins.parts[0] == "atom" else "_"
    ptx_type, order = type_of(body, ins), memory_order(ins)
    kind = ptx_type if name in ("min", "max") or is_float(ptx_type) or is_half(ptx_type) else unsigned(ptx_type)
    address = body.address(ins, operands[0], body.space_of(ins), width(ptx_type) // 8, access_of(order, "atomic"))
    values = ", ".join(body.value(operand, kind) for operand in operands[1 : 3 if name == "cas" else 2])
    ordering = "Order::relaxed" if order in ("", "relaxed", "volatile") else "Order::acquire_release"
    cpp = CPP[kind]
    function = name + "_" if name in ("and", "or", "xor") else name  # these words are C++'s own
    call = f"atomic::{function}<{cpp}>(t, {address}, {ordering}, {values})"
    return body.assign(destination, call, kind)


@instruction("cp")
def copy_async(body, ins):
    parts = ins.parts
    if parts[1:3] == ["async", "commit_group"]:
        return "commit_copies(t);"
    if parts[1:3] == ["async", "wait_group"]:
        return f"wait_for_copies(t, {body.value(ins.operands[0], 'u32')});"
    if parts[1:3] == ["async", "wait_all"]:
        return "commit_copies(t); wait_for_copies(t, 0);"
    if parts[1] != "async" or parts[2] not in ("ca", "cg") or body.space_of(ins) != "shared":
        body.refuse(ins)
    size = ins.operands[2]
    if not size.isdigit() or int(size) not in (4, 8, 16):
        body.refuse(ins, "cp.async copies 4, 8 or 16 bytes")
    read = body.value(size, "u32")
    if len(ins.operands) > 3 and not any(part.startswith("L2::cache_hint") for part in parts):
        extra = ins.operands[3]
        if body.register_type(extra.lstrip("!")) == "pred":  # ignore-src: true means fill with zeros
            read = f"({body.value(extra, 'pred')} ? 0u : {size}u)"
        else:
            read = body.value(extra, "u32")
    target = body.address(ins, ins.operands[0], "shared", int(size), "write")
    base, offset = body.split_address(ins.operands[1])
    return f"copy_async(t, {target}, {body.value(base, 'u64')} + {offset}, {size}, {read}, {body.site(ins)});"


@instruction("cvta")
def convert_address(body, ins):
    space = body.space_of(ins)
    value = body.value(ins.operands[1], "u64")
    if space == "shared":
        value = f"({value} - t.shared_base())" if "to" in ins.parts else f"(t.shared_base() + {value})"
    if type_of(body, ins) == "u32":
        body.refuse(ins, "32-bit generic addresses are not translated")
    return body.assign(ins.operands[0], value, "u64")


@instruction("isspacep")
def is_in_space(body, ins):
    space = body.space_of(ins)
    if space not in ("global", "shared", "local"):
        body.refuse(ins)
    return body.assign(ins.operands[0], f"is_{space}(t, {body.value(ins.operands[1], 'u64')})", "pred")


@instruction("prefetch", "prefetchu", "discard", "applypriority", "griddepcontrol", "pmevent", "setmaxnreg")
def no_effect(body, ins):
    return ";"


@instruction("createpolicy")
def cache_policy(body, ins):
    return body.assign(ins.operands[0], "0", "b64")


@instruction("membar", "fence")
def fence(body, ins):
    if "mbarrier_init" in ins.parts or "proxy" in ins.parts:
        return ";"
    return f"fence(t, {'true' if 'cta' in ins.parts else 'false'});"
