/// @file
/// What is fused into what, as text: "conv2d add | max_pool2d+max_pool2d_index relu > 2" is an anchor, elementary functions on its
/// tile (sorted by name: compilers order them differently), a pool with a companion, more functions, and how many values leave
/// the stage.
#pragma once

#include <tenon/graph/fuse.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace tenon::test {

[[nodiscard]] inline std::vector<std::string> describe_stages(graph::Builder const& b, graph::Fused const& fused) {
    static constexpr char const* names[] = {
        "load", "store", "constant", "index", "random", "neg",  "abs",        "sign",  "floor",     "ceil",        "round",      "sqrt", "exp",
        "expm1", "log",  "log1p",    "sin",   "cos",    "tanh", "erf",        "sigmoid", "relu",    "is_nan",      "logical_not", "add", "sub",
        "mul",  "div",   "pow",      "min",   "max",    "less", "less_equal", "equal", "not_equal", "logical_and", "logical_or", "select", "fma"};
    std::vector<std::string> all;
    for (graph::Stage const& stage : fused.stages) {
        std::string text;
        int leaving = 0;
        auto const add_family = [&](int anchor, auto const& companions) {
            text += anchor < 0 ? "pointwise" : b[anchor].op->name;
            for (int companion : companions)
                if (companion >= 0) text += std::string{"+"} + b[companion].op->name, ++leaving;
        };
        auto const add_functions = [&](graph::Phase const& phase) {
            std::vector<std::string> functions;
            for (int i = phase.code_begin; i < phase.code_end; ++i) {
                Instruction const step = Instruction::decode(fused.code[static_cast<std::size_t>(i)]);
                bool const to_memory = step.fn == Fn::store && fused.operands[static_cast<std::size_t>(phase.operand_begin + step.operand())].node >= 0;
                leaving += to_memory;
                if (step.fn != Fn::load && step.fn != Fn::store && step.fn != Fn::constant) functions.push_back(names[static_cast<int>(step.fn)]);
            }
            std::sort(functions.begin(), functions.end());
            for (std::string const& function : functions) text += " " + function;
        };
        add_family(stage.anchor, stage.companion);
        if (stage.anchor >= 0 && !b[stage.anchor].op->tiles) ++leaving;
        add_functions(stage.phase[0]);
        if (stage.pool >= 0) {
            text += " | ";
            add_family(stage.pool, stage.pool_companion);
            add_functions(stage.phase[1]);
        }
        all.push_back(text + " > " + std::to_string(leaving));
    }
    return all;
}

} // namespace tenon::test
