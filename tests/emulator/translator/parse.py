"""Reads PTX text into functions, variables and instructions, and remembers the line each came from.

Nothing here knows what an instruction means; `emit.py` and the instruction modules do."""

import re
from dataclasses import dataclass, field


class TranslationError(Exception):
    """Something this translator does not know. The message names kernel, instruction and line."""


@dataclass
class Location:
    """Where a statement stands: its line in the PTX text and, from nvcc's .loc, its source file's number and line."""

    ptx_line: int = 0
    file: int = 0
    line: int = 0


@dataclass
class Instruction:
    opcode: str  # "ld.global.v4.f32"
    operands: list  # top-level operands: ["{%f1, %f2, %f3, %f4}", "[%rd1+16]"]
    predicate: str  # "%p1", "!%p1" or ""
    at: Location

    @property
    def parts(self) -> list:
        return self.opcode.split(".")


@dataclass
class Label:
    name: str
    at: Location


@dataclass
class Declaration:
    """A directive inside a body: .reg, .local, .shared, .param, .branchtargets, .callprototype."""

    text: str
    at: Location
    label: str = ""  # the label in front of it: names a table of branch targets


@dataclass
class Scope:
    """A braced block: the body of a function, a call sequence, or inline assembly with registers of its own."""

    statements: list = field(default_factory=list)


@dataclass
class Parameter:
    name: str
    size: int
    align: int


@dataclass
class Function:
    name: str
    is_kernel: bool
    parameters: list
    result: Parameter | None
    body: Scope | None  # None: declared only
    directives: str  # between the parameters and the body: .maxntid, .minnctapersm, ...
    at: Location


@dataclass
class Variable:
    space: str  # global, const, shared
    type: str
    name: str
    count: int  # elements; 0 for an array of unknown size (dynamic shared memory)
    align: int
    initial: str  # initialiser as written, or ""
    is_array: bool = False


@dataclass
class Module:
    target: int = 0  # 90 for sm_90
    files: dict = field(default_factory=dict)
    functions: list = field(default_factory=list)
    variables: list = field(default_factory=list)


def split_operands(text: str) -> list:
    """Splits at the commas that stand outside of brackets."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += character in "{[("
        depth -= character in ")]}"
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    if current.strip():
        parts.append(current.strip())
    return parts


def elements(operand: str) -> list:
    """{a, b} -> [a, b]; a -> [a]"""
    return [part.strip() for part in operand.strip().strip("{}").split(",") if part.strip()]


_TYPE = r"(?:pred|[bus]\d+|f\d+(?:x2)?|bf16(?:x2)?)"
_VARIABLE = re.compile(
    rf"(?:\.(?:visible|extern|weak|common)\s+)*\.(global|const|shared|local)\s*(?:\.attribute\([^)]*\)\s*)?"
    rf"(?:\.align\s+(\d+)\s+)?(?:\.ptr\S*\s+)?\.({_TYPE})\s+([\w$.%]+)\s*((?:\[\d*\])*)\s*(?:=\s*(.*))?$",
    re.S,
)
_PARAMETER = re.compile(
    rf"\.(?:param|reg)\s+(?:\.align\s+(\d+)\s+)?\.({_TYPE})\s*"
    rf"(?:\.ptr\s*(?:\.(?:global|const|shared|local)\s*)?(?:\.align\s+\d+\s+)?)?([\w$.%]+)\s*(?:\[(\d+)\])?",
    re.S,
)


def parse_parameter(text: str) -> Parameter:
    match = _PARAMETER.search(text)
    if not match:
        raise TranslationError(f"cannot read the parameter {text!r}")
    align, ptx_type, name, count = match.groups()
    size = max(1, int(re.sub(r"\D.*", "", ptx_type.lstrip("busfpred")) or 8) // 8)
    return Parameter(name, size * int(count or 1), int(align or size))


def parse_variable(text: str) -> Variable | None:
    match = _VARIABLE.match(text.strip())
    if not match:
        return None
    space, align, ptx_type, name, extents, initial = match.groups()
    count = 1
    for extent in re.findall(r"\[(\d*)\]", extents):
        count *= int(extent or 0)
    size = max(1, int(re.sub(r"\D", "", ptx_type) or 8) // 8)
    return Variable(space, ptx_type, name, count, int(align or size), (initial or "").strip(), bool(extents))


class Parser:
    """One pass over the characters. A statement ends at ';', at a scope's brace, or at a label's ':'."""

    def __init__(self, text: str):
        self.module = Module()
        self.location = Location()
        self.statement, self.statement_line, self.depth = "", 0, 0
        self.scopes, self.label = [], ""
        # The table of source files stands at the end of the text.
        self.module.files = {int(n): path for n, path in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.M)}
        lines = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S).split("\n")
        in_section = False
        for number, line in enumerate(lines, 1):
            stripped = line.strip()
            if in_section or stripped.startswith(".section"):  # debug information
                in_section = stripped != "}"
                continue
            self.location = Location(number, self.location.file, self.location.line)
            if not self.read_line_directive(stripped):
                self.scan(line.split("//")[0] + "\n")
        if self.statement.strip() or self.scopes:
            raise TranslationError("the PTX text ends inside a statement")

    def read_line_directive(self, line: str) -> bool:
        if match := re.match(r"\.loc\s+(\d+)\s+(\d+)(?:.*inlined_at\s+(\d+)\s+(\d+))?", line):
            file, number, outer_file, outer_number = (int(x or 0) for x in match.groups())
            if self.is_toolkit(file):  # who called CUDA's own headers says more than they do
                if outer_file and not self.is_toolkit(outer_file):
                    file, number = outer_file, outer_number
                elif self.location.file and not self.is_toolkit(self.location.file):
                    file, number = self.location.file, self.location.line
            self.location = Location(self.location.ptx_line, file, number)
        elif match := re.match(r"\.target\s+sm_(\d+)", line):
            self.module.target = int(match[1])
        elif not re.match(r"\.(version|address_size|file)\b", line):
            return False
        return True

    def is_toolkit(self, file: int) -> bool:
        return "/targets/" in self.module.files.get(file, "")

    def scan(self, line: str):
        for i, character in enumerate(line):
            pending = self.statement.strip()
            if character == ";" and self.depth == 0:
                self.statement = ""
                self.finish(pending)
            elif character == "{":
                if not pending:
                    self.open_scope()
                elif re.search(r"\.(entry|func)\b", pending) and "=" not in pending:
                    self.statement = ""
                    self.open_function(pending)
                else:
                    self.depth += 1
                    self.statement += character
            elif character == "}":
                if self.depth:
                    self.depth -= 1
                    self.statement += character
                else:
                    self.close_scope()
            elif character == ":" and re.fullmatch(r"[\w$]+", pending) and line[i + 1 : i + 2] != ":":
                self.statement = ""
                self.label = pending
                self.scopes[-1].statements.append(Label(pending, self.location))
            else:
                if not pending:
                    self.statement_line = self.location.ptx_line
                self.statement += character

    def open_scope(self):
        if not self.scopes:
            raise TranslationError(f"line {self.location.ptx_line}: a block outside of a function")
        scope = Scope()
        self.scopes[-1].statements.append(scope)
        self.scopes.append(scope)

    def close_scope(self):
        if not self.scopes or self.statement.strip():
            raise TranslationError(f"line {self.location.ptx_line}: unexpected '}}' after {self.statement.strip()!r}")
        self.scopes.pop()

    def open_function(self, header: str):
        function = self.read_header(header)
        function.body = Scope()
        self.location = Location(self.location.ptx_line)
        self.module.functions.append(function)
        self.scopes.append(function.body)

    def read_header(self, header: str) -> Function:
        match = re.search(r"\.(entry|func)\s*(\([^)]*\))?\s*([\w$]+)\s*(?:\(([^)]*)\))?(.*)$", header, re.S)
        if not match:
            raise TranslationError(f"line {self.location.ptx_line}: cannot read the function {header[:80]!r}")
        kind, result, name, parameters, directives = match.groups()
        return Function(
            name,
            kind == "entry",
            [parse_parameter(p) for p in split_operands(parameters or "")],
            parse_parameter(result) if result and result.strip("() \n\t") else None,
            None,
            directives.strip(),
            self.location,
        )

    def finish(self, text: str):
        text = re.sub(r"\s+", " ", text)
        if not text or text.startswith((".pragma", ".alias")):
            return
        if not self.scopes:
            self.finish_at_module_level(text)
        elif text.startswith("."):
            self.scopes[-1].statements.append(Declaration(text, self.location, self.label))
        else:
            self.label = ""
            match = re.match(r"(?:@(!?[\w%$]+)\s+)?([\w.:]+)\s*(.*)$", text, re.S)
            if not match:
                raise TranslationError(f"line {self.statement_line}: cannot read the statement {text!r}")
            predicate, opcode, operands = match.groups()
            at = Location(self.statement_line, self.location.file, self.location.line)
            self.scopes[-1].statements.append(Instruction(opcode, split_operands(operands), predicate or "", at))

    def finish_at_module_level(self, text: str):
        if variable := parse_variable(text):
            self.module.variables.append(variable)
        elif re.search(r"\.func\b", text):
            self.module.functions.append(self.read_header(text))
        else:
            raise TranslationError(f"line {self.location.ptx_line}: unknown directive {text[:80]!r}")


def parse(text: str) -> Module:
    return Parser(text).module
