#!/usr/bin/env python3
"""Tests of the translator alone: what it reads, what it refuses, and how its messages name the place."""

import struct
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from translator import fatbin  # noqa: E402
from translator.emit import Emitter  # noqa: E402
from translator.parse import (
    Declaration,
    Instruction,
    Scope,
    TranslationError,
    parse,
    parse_variable,
    split_operands,
)  # noqa: E402

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"


def kernel(body: str, name: str = "kernel") -> str:
    return f"{HEAD}.visible .entry {name}(\n.param .u64 {name}_param_0\n)\n{{\n{body}\n}}\n"


def translate(text: str) -> str:
    return Emitter(parse(text), 0, "test").write()


class Parsing(unittest.TestCase):
    def test_operands_split_outside_of_brackets(self):
        self.assertEqual(split_operands("{%f1, %f2}, [%rd1+4], (a, b), 3"), ["{%f1, %f2}", "[%rd1+4]", "(a, b)", "3"])

    def test_statement_over_several_lines(self):
        module = parse(kernel("call.uni (retval0), \nhelper, \n(\nparam0, \nparam1\n);\nret;"))
        call = module.functions[0].body.statements[0]
        self.assertIsInstance(call, Instruction)
        self.assertEqual(call.operands, ["(retval0)", "helper", "( param0, param1 )"])

    def test_predicate_and_opcode_with_double_colons(self):
        module = parse(kernel("@!%p1 ld.global.L2::128B.f32 %f1, [%rd1];"))
        load = module.functions[0].body.statements[0]
        self.assertEqual((load.predicate, load.opcode), ("!%p1", "ld.global.L2::128B.f32"))

    def test_inline_assembly_opens_a_scope(self):
        module = parse(kernel("{ .reg .pred p; setp.ne.b32 p, %r1, 0; }"))
        scope = module.functions[0].body.statements[0]
        self.assertIsInstance(scope, Scope)
        self.assertIsInstance(scope.statements[0], Declaration)

    def test_lines_of_source_and_ptx(self):
        module = parse(kernel(".loc 1 42 7\nadd.s32 %r1, %r1, 1;") + '.file 1 "some dir/a.cu"\n')
        at = module.functions[0].body.statements[0].at
        self.assertEqual((at.file, at.line, at.ptx_line, module.files[1]), (1, 42, 9, "some dir/a.cu"))

    def test_callers_of_toolkit_headers_are_named(self):
        text = kernel(".loc 2 110 3, function_name $L__info, inlined_at 1 84 5\nadd.s32 %r1, %r1, 1;")
        module = parse(text + '.file 1 "a.cu"\n.file 2 "/usr/local/cuda/targets/x86_64-linux/include/x.hpp"\n')
        at = module.functions[0].body.statements[0].at
        self.assertEqual((at.file, at.line), (1, 84))

    def test_comments(self):
        module = parse(kernel("add.s32 %r1, %r1, 1; // a ; comment {\n/* another\n one; */ ret;"))
        self.assertEqual([s.opcode for s in module.functions[0].body.statements], ["add.s32", "ret"])

    def test_variables(self):
        v = parse_variable(".visible .const .align 8 .b8 table[2][3] = {1, 2, 3, 4, 5, 6}")
        self.assertEqual((v.space, v.name, v.count, v.align), ("const", "table", 6, 8))
        self.assertEqual(parse_variable(".extern .shared .align 16 .b8 dynamic[]").count, 0)

    def test_parameters_of_both_spellings(self):
        header = ".entry k(\n.param .u64 .ptr .align 1 k_param_0,\n"
        header += ".param .align 8 .b8 k_param_1[24],\n.param .u32 k_param_2\n)"
        parameters = parse(HEAD + header + "\n{ ret; }\n").functions[0].parameters
        self.assertEqual([p.name for p in parameters], ["k_param_0", "k_param_1", "k_param_2"])
        self.assertEqual([(p.size, p.align) for p in parameters], [(8, 8), (24, 8), (4, 4)])

    def test_unbalanced_text(self):
        with self.assertRaises(TranslationError):
            parse(HEAD + ".entry k() { ret;")


class Translation(unittest.TestCase):
    def refused(self, body: str, *words: str):
        with self.assertRaises(TranslationError) as caught:
            translate(kernel(body))
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_unknown_instruction_names_kernel_instruction_and_line(self):
        self.refused(
            ".reg .b32 %r<3>;\nwgmma.fence.sync.aligned;",
            "line 9",
            "kernel",
            "wgmma.fence.sync.aligned",
            "unknown instruction",
        )

    def test_unknown_modifier_is_not_dropped(self):
        self.refused(".reg .f32 %f<3>;\nadd.rn.strange.f32 %f1, %f2, %f2;", ".strange")
        self.refused(".reg .b64 %rd<3>;\n.reg .f32 %f<3>;\nld.global.strange.f32 %f1, [%rd1];", ".strange")

    def test_unknown_operand(self):
        self.refused(".reg .b32 %r<3>;\nadd.s32 %r1, %q7, 1;", "%q7")

    def test_clusters_are_refused(self):
        self.refused("barrier.cluster.arrive;", "clusters")

    def test_labels_of_two_scopes_do_not_meet(self):
        scope = "{ .reg .pred p; AGAIN: setp.eq.b32 p, %r1, 0; @p bra AGAIN; }"
        code = translate(kernel(".reg .b32 %r<3>;\n" + scope + "\n" + scope))
        labels = [line for line in code.splitlines() if line.endswith(":;")]
        self.assertEqual(len(labels), 2)
        self.assertEqual(len(set(labels)), 2)

    def test_shared_arrays_have_guards_between_them(self):
        code = translate(
            kernel(".shared .align 4 .b8 a[100];\n.shared .align 4 .b8 b[100];\n.reg .b32 %r<3>;\nmov.u32 %r1, b;")
        )
        self.assertIn('{"a", 0, 100}, {"b", 368, 100}', code)
        self.assertIn(", 200, 736,", code)  # bytes as nvcc counts them, and with the guards

    def test_variables_with_initial_values(self):
        head = '.global .align 4 .b8 text[3] = {104, 105};\n.const .align 4 .f32 half = 0f3F000000;\n'
        head += ".global .align 8 .u64 pointer = generic(text);\n"
        code = translate(kernel("ret;").replace(".visible", head + ".visible"))
        self.assertIn("variable_v_text[3] = {std::uint8_t(104), std::uint8_t(105)};", code)
        self.assertIn("variable_v_half[1] = {bits<float>(0x3F000000u)};", code)
        self.assertIn("variable_v_pointer[1] = {std::uint64_t(std::uintptr_t(variable_v_text))};", code)

    def test_launch_bounds(self):
        text = kernel("ret;").replace(")\n{", ")\n.maxntid 64, 2, 1\n{")
        self.assertIn(", 128}", translate(text))

    def test_wider_register_is_extended_by_sign(self):
        code = translate(kernel(".reg .b64 %rd<3>;\nld.global.s32 %rd1, [%rd2];\nld.global.u32 %rd1, [%rd2];"))
        self.assertIn("v_rd1 = std::uint64_t(std::int32_t(load<std::int32_t>", code)
        self.assertIn("v_rd1 = std::uint64_t(std::uint32_t(load<std::uint32_t>", code)

    def test_subtraction_starts_with_a_carry(self):
        code = translate(kernel(".reg .b32 %r<4>;\nsub.cc.u32 %r1, %r2, %r3;\nsubc.u32 %r1, %r2, %r3;"))
        self.assertIn("sub_with_carry(v_r2, v_r3, true, carry)", code)
        self.assertIn("sub_with_carry(v_r2, v_r3, carry, discarded_carry)", code)


class Fatbin(unittest.TestCase):
    @staticmethod
    def container(*texts: bytes) -> bytes:
        entries = b""
        for text in texts:
            payload = text + b"\0" * (-len(text) % 8)
            entries += struct.pack("<HHIQ", 1, 0x101, 64, len(payload)) + b"\0" * 48 + payload
        return struct.pack("<IHHQ", fatbin.FATBIN_MAGIC, 1, 16, len(entries)) + entries

    def test_texts_are_found(self):
        a, b = b".version 9.0\n.target sm_75\n", b".version 9.0\n.target sm_90\n//\n"
        self.assertEqual(fatbin.ptx_entries(self.container(a, b) + self.container(b)), [a, b, b])

    def test_compressed_text_is_refused(self):
        with self.assertRaises(fatbin.FatbinError) as caught:
            fatbin.ptx_entries(self.container(b"\x28\xb5\x2f\xfd compressed"))
        self.assertIn("-no-compress", str(caught.exception))

    def test_fingerprint_is_fnv1a(self):
        self.assertEqual(fatbin.fingerprint(b""), 0xCBF29CE484222325)
        self.assertEqual(fatbin.fingerprint(b"a"), 0xAF63DC4C8601EC8C)

    def test_not_an_object(self):
        with self.assertRaises(fatbin.FatbinError):
            fatbin.section(b"#!/bin/sh", ".nv_fatbin")


if __name__ == "__main__":
    unittest.main()
