"""Operands of an instruction as C++ expressions: registers, immediates, special registers, symbols and addresses."""

import re

from .parse import Instruction, TranslationError, elements
from .types import CPP, is_float, is_half, is_integer, is_signed, width

SPECIAL_REGISTERS = {
    "%laneid": "t.lane",
    "%warpid": "t.warp",
    "%nwarpid": "t.warps",
    "%smid": "0",
    "%nsmid": "1",
    "%gridid": "t.grid_number",
    "%lanemask_eq": "(1u << t.lane)",
    "%lanemask_lt": "((1u << t.lane) - 1u)",
    "%lanemask_le": "((2u << t.lane) - 1u)",
    "%lanemask_gt": "~((2u << t.lane) - 1u)",
    "%lanemask_ge": "~((1u << t.lane) - 1u)",
    "%clock": "clock_ticks()",
    "%clock64": "clock_ticks()",
    "%globaltimer": "clock_ticks()",
    "%dynamic_smem_size": "t.dynamic_shared_bytes",
    "%total_smem_size": "t.shared_bytes",
    "%aggr_smem_size": "t.shared_bytes",
    # The grid's workspace, through which cooperative groups find the barrier of the grid: high word, low word.
    "%envreg1": "std::uint32_t(t.grid_workspace >> 32)",
    "%envreg2": "std::uint32_t(t.grid_workspace)",
    # Every block is a cluster of its own.
    "%is_explicit_cluster": "0",
    "%cluster_ctarank": "0",
    "%cluster_nctarank": "1",
}
for _name, _member in (
    ("tid", "tid"),
    ("ntid", "ntid"),
    ("ctaid", "ctaid"),
    ("nctaid", "nctaid"),
    ("clusterid", "ctaid"),
    ("nclusterid", "nctaid"),
):
    for _axis, _letter in enumerate("xyz"):
        SPECIAL_REGISTERS[f"%{_name}.{_letter}"] = f"t.{_member}[{_axis}]"
for _letter in "xyz":
    SPECIAL_REGISTERS[f"%cluster_ctaid.{_letter}"] = "0"
    SPECIAL_REGISTERS[f"%cluster_nctaid.{_letter}"] = "1"

SPACES = ("global", "shared", "local", "param", "const")


def cpp_name(name: str) -> str:
    """A C++ name for a PTX one. The prefix keeps registers of inline assembly (`if`, `t`) away from C++'s own names."""
    return "v_" + re.sub(r"[^\w]", "_", name.lstrip("%"))


class Body:
    """What is known while one function is written: its registers, the symbols it can see, and where its labels go."""

    def __init__(self, function_name: str, symbols: dict):
        self.function_name = function_name
        self.symbols = dict(symbols)  # name -> C++ expression of its address
        self.param_buffers = {}  # .param variables: name -> C++ expression of its bytes
        self.register_scopes = [{}]  # innermost last: name or family prefix -> PTX type
        self.label_scopes = [{}]
        self.branch_tables = {}
        self.prototypes = set()
        self.current = None

    # ---- errors

    def refuse(self, instruction: Instruction, reason: str = "this form is not translated"):
        raise TranslationError(
            f"line {instruction.at.ptx_line}, {self.function_name}: {instruction.opcode} "
            f"{', '.join(instruction.operands)}: {reason}"
        )

    # ---- registers

    def register_type(self, name: str):
        for scope in reversed(self.register_scopes):
            if name in scope:
                return scope[name]
            if match := re.match(r"(%?[A-Za-z_$]+[A-Za-z_$0-9]*?)(\d+)$", name):
                if match[1] + "<>" in scope:
                    return scope[match[1] + "<>"]
        return None

    # ---- values

    def value(self, operand: str, ptx_type: str) -> str:
        """`operand` read as a value of `ptx_type`: a C++ expression of type CPP[ptx_type]."""
        operand = operand.strip()
        cpp = CPP[ptx_type]
        if operand.startswith("!"):
            return f"!{self.value(operand[1:], ptx_type)}"
        if declared := self.register_type(operand):
            return self.convert_register(cpp_name(operand), declared, ptx_type)
        if operand in SPECIAL_REGISTERS:
            return f"{cpp}({SPECIAL_REGISTERS[operand]})"
        if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", operand):
            return self.literal(f"0x{operand[2:]}u", "float", "f32", ptx_type)
        if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", operand):
            return self.literal(f"0x{operand[2:]}ull", "double", "f64", ptx_type)
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", operand):
            return self.integer_literal(operand.rstrip("U"), ptx_type)
        if operand == "WARP_SZ":
            return f"{cpp}(32)"
        if match := re.fullmatch(r"([\w$.%]+)\s*\+\s*(-?\d+)", operand):
            return f"{cpp}({self.value(match[1], ptx_type)} + {match[2]})"
        if operand in self.symbols:
            return f"{cpp}({self.symbols[operand]})"
        if operand in self.param_buffers:
            return f"{cpp}(std::uintptr_t({self.param_buffers[operand]}))"
        self.refuse(self.current, f"unknown operand {operand!r}")

    @staticmethod
    def convert_register(name: str, declared: str, wanted: str) -> str:
        if CPP[declared] == CPP[wanted]:
            return name
        if is_integer(declared) and (is_integer(wanted) or wanted in ("u16x2", "s16x2", "tf32")):
            return f"{CPP[wanted]}({name})"
        return f"bits<{CPP[wanted]}>({name})"

    @staticmethod
    def literal(pattern: str, cpp: str, literal_type: str, wanted: str) -> str:
        value = f"bits<{cpp}>({pattern})"
        if wanted == literal_type:
            return value
        if is_float(wanted):
            return f"{CPP[wanted]}({value})"
        return f"bits<{CPP[wanted]}>({pattern})"

    @staticmethod
    def integer_literal(text: str, wanted: str) -> str:
        number = int(text, 16 if "x" in text.lower() else 10)
        if wanted == "pred":
            return "true" if number else "false"
        if is_half(wanted):
            return f"bits<{CPP[wanted]}>({number & 0xFFFFFFFF}u)"
        if is_integer(wanted):
            number &= (1 << width(wanted)) - 1
            if is_signed(wanted) and number >> (width(wanted) - 1):
                number -= 1 << width(wanted)
        if number == -(1 << 63):
            return f"{CPP[wanted]}(1ull << 63)"
        suffix = "ull" if number > 0x7FFFFFFFFFFFFFFF else "ll" if abs(number) > 0x7FFFFFFF else ""
        return f"{CPP[wanted]}({number}{suffix})"

    # ---- results

    def assign(self, destination: str, expression: str, ptx_type: str) -> str:
        """Writes a value of `ptx_type`. A wider register is filled by sign or zero extension, as PTX prescribes."""
        destination = destination.strip()
        if destination == "_":
            return f"(void)({expression});"
        declared = self.register_type(destination)
        if declared is None:
            self.refuse(self.current, f"unknown register {destination!r}")
        name = cpp_name(destination)
        if CPP[declared] == CPP[ptx_type]:
            return f"{name} = {expression};"
        if is_integer(declared) and is_integer(ptx_type):
            return f"{name} = {CPP[declared]}({CPP[ptx_type]}({expression}));"
        return f"{name} = bits<{CPP[declared]}>({expression});"

    # ---- addresses

    def site(self, instruction: Instruction) -> str:
        """Where this is, packed into one number: source file, source line, PTX line (see Site in device/thread.hpp)."""
        at = instruction.at
        return f"Site{{{at.file << 48 | at.line << 24 | at.ptx_line:#x}}}"

    def split_address(self, operand: str) -> tuple:
        match = re.fullmatch(r"\[\s*([^\]+]+?)\s*(?:\+\s*(-?\w+))?\s*\]", operand.strip())
        if not match:
            self.refuse(self.current, f"cannot read the address {operand!r}")
        return match[1], match[2] or "0"

    def address(self, instruction: Instruction, operand: str, space: str, size: int, access: str) -> str:
        """A checked `char*` to `size` bytes. access: as in device/thread.hpp."""
        base, offset = self.split_address(operand)
        plus = "" if offset == "0" else f" + {offset}"
        if space in ("param", "local") and base in self.param_buffers:
            return f"({self.param_buffers[base]}{plus})"
        arguments = f"{size}, Access::{access}, {self.site(instruction)})"
        if space == "shared":
            return f"shared(t, std::uint32_t({self.value(base, 'u32')}{plus}), {arguments}"
        where = "local" if space == "local" else "global"
        return f"{where}(t, {self.value(base, 'u64')}{plus}, {arguments}"

    def space_of(self, instruction: Instruction) -> str:
        for part in instruction.parts:
            if part.split("::")[0] in SPACES:
                return part.split("::")[0]
        return "generic"

    # ---- labels

    def label(self, name: str) -> str:
        for scope in reversed(self.label_scopes):
            if name in scope:
                return scope[name]
        self.refuse(self.current, f"unknown label {name!r}")

    def vector(self, operand: str, ptx_type: str) -> str:
        """{a, b} -> "a, b" as values of ptx_type."""
        return ", ".join(self.value(element, ptx_type) for element in elements(operand))
