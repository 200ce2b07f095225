"""Writes one C++ file for one PTX module: a function per kernel or device function, and the tables that the runtime
registers (kernels, variables, source files)."""

import re

from . import arithmetic, compare, control, convert, memory, packed, warp  # noqa: F401  (each fills the table)
from .operands import Body, cpp_name
from .parse import (
    Declaration,
    Function,
    Instruction,
    Label,
    Location,
    Module,
    Scope,
    TranslationError,
    parse_variable,
    split_operands,
)
from .table import HANDLERS
from .types import CPP, width

# Bytes kept free behind each shared array, so that an index past its end meets a guard and not a neighbour.
GUARD = 256
SYSTEM_CALLS = ("vprintf", "__assertfail", "malloc", "free")


def align_up(value: int, alignment: int) -> int:
    return (value + alignment - 1) // alignment * alignment


class SharedLayout:
    """Offsets of the shared arrays of one kernel. `size` is what nvcc counts; `extent` includes the guards."""

    def __init__(self, start: int = 0):
        self.arrays, self.size, self.extent = [], 0, start

    def add(self, variable) -> int:
        size = variable.count * max(1, width(variable.type) // 8)
        offset = align_up(self.extent, max(variable.align, 16))
        self.size = align_up(self.size, variable.align) + size
        self.arrays.append((variable.name, offset, size))
        self.extent = align_up(offset + size, 16) + GUARD
        return offset


class Emitter:
    def __init__(self, module: Module, fingerprint: int, name: str):
        self.module, self.fingerprint, self.name = module, fingerprint, name
        self.lines, self.symbols, self.kernels, self.variables = [], {}, [], []
        self.module_shared = SharedLayout()
        self.dynamic_names = set()
        self.uses_module_shared = self.find_users_of_module_shared()

    # ---- module level

    def write(self) -> str:
        self.lines += ['#include "device/device.hpp"', "using namespace emu;", "namespace {"]
        for function in self.module.functions:  # a table of function pointers may name them
            if not function.is_kernel and function.name not in SYSTEM_CALLS:
                self.symbols[function.name] = f"std::uintptr_t(&function_{cpp_name(function.name)})"
                self.lines.append(self.signature(function) + ";")
        for variable in self.module.variables:
            self.module_variable(variable)
        for function in self.module.functions:
            if function.body:
                self.function(function)
        self.tables()
        return "\n".join(self.lines) + "\n"

    def module_variable(self, variable):
        if variable.space == "shared":
            if variable.count == 0:
                self.dynamic_names.add(variable.name)
            else:
                self.symbols[variable.name] = str(self.module_shared.add(variable))
            return
        if variable.space == "local":
            raise TranslationError(f"{variable.name}: local memory outside of a function")
        name = f"variable_{cpp_name(variable.name)}"
        count, element = max(1, variable.count), max(1, width(variable.type) // 8)
        text = re.sub(r"generic\(([\w$.]+)\)", r"\1", re.sub(r"[{}]", "", variable.initial))
        body = Body(variable.name, self.symbols)
        body.current = Instruction("initialiser of", [variable.name], "", Location())
        values = ", ".join(body.value(value, variable.type) for value in split_operands(text))
        alignment = max(16, variable.align)
        self.lines.append(f"alignas({alignment}) {CPP[variable.type]} {name}[{count}] = {{{values}}};")
        self.symbols[variable.name] = f"std::uintptr_t({name})"
        is_constant = "true" if variable.space == "const" else "false"
        self.variables.append(f'{{"{variable.name}", {name}, {count * element}, {is_constant}}}')

    def find_users_of_module_shared(self) -> set:
        """Functions that reach a shared array of module scope, through others too: only such kernels pay for it."""
        names = [v.name for v in self.module.variables if v.space == "shared" and v.count]
        if not names:
            return set()
        calls, users = {}, set()
        for function in self.module.functions:
            text = function_text(function.body) if function.body else ""
            words = set(re.findall(r"[\w$]+", text))
            calls[function.name] = words
            if words & set(names):
                users.add(function.name)
        changed = True
        while changed:
            more = {name for name, words in calls.items() if words & users} - users
            users |= more
            changed = bool(more)
        return users

    def tables(self):
        files = dict(self.module.files)
        count = max(files, default=0) + 1
        names = ", ".join('"' + files.get(i, "").replace("\\", "\\\\") + '"' for i in range(count))
        self.lines.append('#line 1 "tables"')
        self.lines.append(f"char const* const files[] = {{{names}}};")
        self.lines.append("Kernel const kernels[] = {" + ", ".join(self.kernels + ["{}"]) + "};")
        self.lines.append("Variable const variables[] = {" + ", ".join(self.variables + ["{}"]) + "};")
        self.lines.append(
            f'ModuleTable const table{{"{self.name}", {self.fingerprint:#x}ull, {self.module.target}, files, {count}, '
            f"kernels, {len(self.kernels)}, variables, {len(self.variables)}}};"
        )
        self.lines.append("[[gnu::constructor(101)]] void register_this() { register_module(table); }")
        self.lines.append("} // namespace")

    # ---- functions

    @staticmethod
    def signature(function: Function) -> str:
        arguments = ["Thread& t"]
        if function.result:
            arguments.append(f"char* {cpp_name(function.result.name)}")
        arguments += [f"char* {cpp_name(p.name)}" for p in function.parameters]
        return f"[[gnu::unused]] void function_{cpp_name(function.name)}({', '.join(arguments)})"

    def function(self, function: Function):
        body = Body(function.name, self.symbols)
        body.is_kernel = function.is_kernel
        start = self.module_shared.extent if function.name in self.uses_module_shared else 0
        self.shared = SharedLayout(start)
        if function.is_kernel:
            self.lines.append(f"void kernel_{cpp_name(function.name)}(Thread& t, char* const* arguments) {{")
            for index, parameter in enumerate(function.parameters):
                body.param_buffers[parameter.name] = f"arguments[{index}]"
        else:
            self.lines.append(self.signature(function) + " {")
            for parameter in function.parameters + ([function.result] if function.result else []):
                body.param_buffers[parameter.name] = cpp_name(parameter.name)
        self.lines.append("[[gnu::unused]] bool carry = false, discarded_carry = false;")
        self.local_bytes, self.scope_number = 0, 0
        for name in self.dynamic_names:
            body.symbols[name] = "t.dynamic_shared"
        self.collect_shared(body, function.body)
        self.scope(body, function.body)
        self.lines.append("}")
        if function.is_kernel:
            self.kernels.append(self.kernel_row(function))
        elif self.shared.arrays:
            raise TranslationError(f"{function.name}: a shared array inside a device function")

    def kernel_row(self, function: Function) -> str:
        arrays = self.shared.arrays
        size = self.shared.size
        if function.name in self.uses_module_shared:
            arrays = self.module_shared.arrays + arrays
            size = align_up(size, 16) + self.module_shared.size
        limits = re.search(r"\.(?:maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", function.directives)
        threads = int(limits[1]) * int(limits[2] or 1) * int(limits[3] or 1) if limits else 1024
        parameters = "".join(f"{{{p.size}, {p.align}}}, " for p in function.parameters)
        shared = "".join(f'{{"{name}", {offset}, {bytes_}}}, ' for name, offset, bytes_ in arrays)
        name = cpp_name(function.name)
        self.lines.append(f"KernelParameter const parameters_{name}[] = {{{parameters}{{}}}};")
        self.lines.append(f"SharedArray const shared_{name}[] = {{{shared}{{}}}};")
        return (
            f'{{"{function.name}", kernel_{name}, parameters_{name}, {len(function.parameters)}, '
            f"shared_{name}, {len(arrays)}, {size}, {self.shared.extent}, {self.local_bytes}, {threads}}}"
        )

    def collect_shared(self, body: Body, scope: Scope):
        """Shared arrays come first: an instruction may name one that is declared further down."""
        for statement in scope.statements:
            if isinstance(statement, Scope):
                self.collect_shared(body, statement)
            elif isinstance(statement, Declaration) and ".shared" in statement.text:
                variable = parse_variable(statement.text)
                if variable is None:
                    raise TranslationError(f"line {statement.at.ptx_line}: cannot read {statement.text!r}")
                if variable.count:
                    body.symbols[variable.name] = str(self.shared.add(variable))
                else:
                    body.symbols[variable.name] = "t.dynamic_shared"

    def scope(self, body: Body, scope: Scope):
        self.scope_number += 1
        number = self.scope_number
        body.register_scopes.append({})
        body.label_scopes.append(
            {s.name: f"{cpp_name(s.name)}_{number}" for s in scope.statements if isinstance(s, Label)}
        )
        for statement in scope.statements:  # tables may stand behind the branch that uses them
            if isinstance(statement, Declaration) and statement.text.startswith(".branchtargets"):
                body.branch_tables[statement.label] = control.branch_targets(statement.text)
        for statement in scope.statements:
            if isinstance(statement, Scope):
                self.lines.append("{")
                self.scope(body, statement)
                self.lines.append("}")
            elif isinstance(statement, Label):
                self.lines.append(f"{body.label(statement.name)}:;")
            elif isinstance(statement, Declaration):
                self.declaration(body, statement)
            else:
                self.instruction(body, statement)
        body.label_scopes.pop()
        body.register_scopes.pop()

    def declaration(self, body: Body, statement: Declaration):
        text = statement.text
        if match := re.match(r"\.reg\s*\.(\w+)\s+(.*)$", text):
            names = []
            for item in split_operands(match[2]):
                if family := re.match(r"(%?[\w$]+)<(\d+)>$", item):
                    body.register_scopes[-1][family[1] + "<>"] = match[1]
                    names += [f"{cpp_name(family[1])}{i}" for i in range(int(family[2]))]
                else:
                    body.register_scopes[-1][item] = match[1]
                    names.append(cpp_name(item))
            self.lines.append(f"[[gnu::unused]] {CPP[match[1]]} {', '.join(names)};")
        elif text.startswith(".local") and (variable := parse_variable(text)):
            size = variable.count * (width(variable.type) // 8)
            name = "local_" + cpp_name(variable.name)
            self.local_bytes += size
            self.lines.append(
                f"alignas({max(16, variable.align)}) char {name}[{max(1, size)}]; poison({name}, sizeof {name});"
            )
            body.symbols[variable.name] = f"std::uintptr_t({name})"
        elif match := re.match(r"\.param\s+(?:\.align\s+\d+\s+)?\.[bufs](\d+)\s+([\w$]+)\s*(?:\[(\d+)\])?$", text):
            size = int(match[1]) // 8 * int(match[3] or 1)
            name = f"param_{cpp_name(match[2])}"
            self.lines.append(f"alignas(16) char {name}[{max(1, size)}];")
            body.param_buffers[match[2]] = name
        elif text.startswith((".branchtargets", ".shared", ".callprototype", ".noreturn")):
            pass
        else:
            raise TranslationError(f"line {statement.at.ptx_line}, {body.function_name}: unknown directive {text!r}")

    def instruction(self, body: Body, statement: Instruction):
        body.current = statement
        handler = HANDLERS.get(statement.parts[0])
        if handler is None:
            body.refuse(statement, "unknown instruction")
        try:
            text = handler(body, statement)
        except (IndexError, ValueError, KeyError) as error:
            body.refuse(statement, f"cannot be read ({error!r})")
        if statement.predicate:
            text = f"if ({body.value(statement.predicate, 'pred')}) {{ {text} }}"
        if statement.at.line:
            source = self.module.files.get(statement.at.file, "ptx").replace("\\", "\\\\")
            self.lines.append(f'#line {statement.at.line} "{source}"')
        self.lines.append(text)


def function_text(scope: Scope) -> str:
    """All operands of a body in one string."""
    parts = []
    for statement in scope.statements:
        if isinstance(statement, Scope):
            parts.append(function_text(statement))
        elif isinstance(statement, Instruction):
            parts.append(" ".join(statement.operands))
    return " ".join(parts)
