"""Branches, calls, barriers and the end of a thread."""

import re

from .operands import cpp_name
from .parse import elements
from .table import instruction


@instruction("bra")
def branch(body, ins):
    return f"goto {body.label(ins.operands[0])};"


@instruction("brx")
def branch_by_index(body, ins):
    targets = body.branch_tables.get(ins.operands[1])
    if targets is None:
        body.refuse(ins, "unknown table of targets")
    cases = " ".join(f"case {i}: goto {body.label(target)};" for i, target in enumerate(targets))
    return f"switch ({body.value(ins.operands[0], 'u32')}) {{ {cases} default: bad_branch(t, {body.site(ins)}); }}"


@instruction("ret", "exit")
def leave(body, ins):
    # `exit` ends the thread even inside a called function; only there it differs from a return.
    return "return;" if ins.parts[0] == "ret" or body.is_kernel else f"exit_thread(t, {body.site(ins)});"


@instruction("trap", "brkpt")
def trap(body, ins):
    return f"trap(t, {body.site(ins)});"


@instruction("call")
def call(body, ins):
    operands = list(ins.operands)
    results = elements(operands.pop(0).strip("()")) if operands[0].startswith("(") else []
    target = operands.pop(0)
    arguments = elements(operands.pop(0).strip("()")) if operands and operands[0].startswith("(") else []
    buffers = [body.param_buffers.get(name) for name in results + arguments]
    if None in buffers:
        body.refuse(ins, "an argument that is not a .param variable")
    if target in ("vprintf", "__assertfail", "malloc", "free"):
        return f"system_call::{target.strip('_')}(t, {body.site(ins)}{''.join(', ' + b for b in buffers)});"
    if body.register_type(target):  # through a pointer
        kinds = ", ".join(["Thread&"] + ["char*"] * len(buffers))
        return (
            f"reinterpret_cast<void (*)({kinds})>({body.value(target, 'u64')})(t"
            f"{''.join(', ' + b for b in buffers)});"
        )
    return f"function_{cpp_name(target)}(t{''.join(', ' + b for b in buffers)});"


@instruction("bar", "barrier")
def barrier(body, ins):
    parts = ins.parts
    site = body.site(ins)
    if "warp" in parts:
        return f"sync_warp(t, {body.value(ins.operands[0], 'u32')}, {site});"
    if "cluster" in parts:
        body.refuse(ins, "clusters are not translated")
    aligned = "true" if parts[0] == "bar" or "aligned" in parts else "false"
    if "red" in parts:
        kind = next(part for part in parts if part in ("popc", "and", "or"))
        name, *count, predicate = ins.operands[1:]
        threads = body.value(count[0], "u32") if count else "0u"
        vote = (
            f"block_vote(t, {body.value(name, 'u32')}, {threads}, Vote::{kind}_, {body.value(predicate, 'pred')}, "
            f"{site})"
        )
        return body.assign(
            ins.operands[0], f"({vote} != 0)" if kind != "popc" else vote, "pred" if kind != "popc" else "u32"
        )
    name = body.value(ins.operands[0], "u32") if ins.operands else "0u"
    threads = body.value(ins.operands[1], "u32") if len(ins.operands) > 1 else "0u"
    function = "arrive_at_barrier" if "arrive" in parts else "sync_block"
    return f"{function}(t, {name}, {threads}, {aligned}, {site});"


@instruction("nanosleep")
def sleep(body, ins):
    return "spin(t);"


def branch_targets(declaration: str) -> list:
    """.branchtargets A, B; -> [A, B]"""
    return [name.strip() for name in re.sub(r"^\.branchtargets\s*", "", declaration).split(",")]
