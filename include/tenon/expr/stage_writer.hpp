/// @file
/// Writes stages: gives steps of a sketch operands, numbers and a place in a program.
#pragma once

#include <tenon/expr/plan.hpp>

namespace tenon::expr {

class StageWriter {
protected:
    Sketch const& s;
    Plan plan;
    int temporary_of[max_nodes]; ///< of a step that has been computed into one; else -1

    constexpr explicit StageWriter(Sketch const& sketch) : s{sketch} {
        plan.too_large = s.too_large;
        for (int& t : temporary_of) t = -1;
    }

    /// Steps whose value a stage reads from one of its operands instead of computing it.
    struct Replaced {
        int operand[max_nodes];
        constexpr Replaced() {
            for (int& o : operand) o = -1;
        }
    };
    [[nodiscard]] constexpr bool replaces(Replaced const& replaced, int node) const {
        return replaced.operand[node] >= 0 || temporary_of[node] >= 0;
    }

    [[nodiscard]] constexpr AxisSet long_axes(AxisSet set) const {
        for (int axis = 0; axis < s.axes; ++axis)
            if (s.extent[axis] == 1) set &= ~just(axis);
        return set;
    }
    [[nodiscard]] static constexpr bool is_anchor(Node const& n) { return n.kind != Node::Kind::scalar; }

    // --- operands

    /// Axis -1 is a loop of one trip.
    constexpr void add_loop(Stage& stage, int axis) const {
        stage.axis[stage.loops] = axis;
        stage.extent[stage.loops++] = axis < 0 ? 1 : s.extent[axis];
    }
    constexpr int add_operand(Stage& stage, StageOperand const& o) {
        for (int i = 0; i < stage.operands; ++i)
            if (stage.operand[i] == o) return i;
        if (stage.operands == max_routes + max_members) plan.too_large = true;
        if (plan.too_large) return 0;
        stage.operand[stage.operands] = o;
        return stage.operands++;
    }
    constexpr StageOperand routed(Stage const& stage, Route const& route) const {
        StageOperand o;
        o.role = route.role;
        o.type = route.type;
        o.number = route.leaf;
        o.offset = route.offset;
        for (int l = 0; l < stage.loops; ++l) o.stride[l] = stage.axis[l] < 0 ? 0 : route.stride[stage.axis[l]];
        return o;
    }
    /// A node's temporary: its axes one after another, the last fastest.
    constexpr StageOperand temporary(Stage const& stage, int node, int number) const {
        StageOperand o;
        o.source = Source::temporary;
        o.type = s.compute;
        o.number = number;
        for (int l = 0; l < stage.loops; ++l) o.stride[l] = temporary_stride(node, stage.axis[l]);
        return o;
    }
    [[nodiscard]] constexpr index_t temporary_stride(int node, int axis) const {
        AxisSet const axes = s.node[node].depends;
        if (axis < 0 || !holds(axes, axis) || s.extent[axis] == 1) return 0;
        index_t stride = 1;
        for (int inner = axis + 1; inner < s.axes; ++inner)
            if (holds(axes, inner)) stride *= s.extent[inner];
        return stride;
    }

    // --- programs

    /// Writes the steps that `roots` need. A root that is no store goes to operand `to[i]`.
    constexpr void write_program(Stage& stage, int const* roots, int const* to, int count, Replaced const& replaced) {
        if (stage.programs == max_programs) plan.too_large = true;
        if (plan.too_large) return;
        bool wanted[max_nodes]{};
        for (int i = 0; i < count; ++i) want(roots[i], wanted, replaced);
        int number[max_nodes]{};
        int const begin = plan.codes;
        for (int i = 0; i < s.nodes; ++i) {
            if (!wanted[i]) continue;
            Node const& n = s.node[i];
            Instruction step;
            step.fn = n.fn;
            step.payload = n.payload;
            if (replaces(replaced, i)) {
                int const operand = replaced.operand[i] >= 0 ? replaced.operand[i]
                                                             : add_operand(stage, temporary(stage, i, temporary_of[i]));
                step = {Fn::load, 0, 0, 0, static_cast<std::uint32_t>(operand)};
            } else if (n.reads() || n.fn == Fn::store) {
                step.payload = static_cast<std::uint32_t>(add_operand(stage, routed(stage, s.route[n.payload])));
                if (n.fn == Fn::store) step.a = static_cast<std::uint8_t>(number[n.a]);
            } else {
                if (n.a >= 0) step.a = static_cast<std::uint8_t>(number[n.a]);
                if (n.b >= 0) step.b = static_cast<std::uint8_t>(number[n.b]);
                if (n.c >= 0) step.c = static_cast<std::uint8_t>(number[n.c]);
            }
            number[i] = write(step) - begin;
        }
        for (int i = 0; i < count; ++i) {
            if (to[i] < 0) continue;
            Instruction step;
            step.fn = Fn::store;
            step.a = static_cast<std::uint8_t>(number[roots[i]]);
            step.payload = static_cast<std::uint32_t>(to[i]);
            write(step);
        }
        if (plan.codes - begin > 256) plan.too_large = true;
        stage.begin[stage.programs] = begin;
        stage.size[stage.programs++] = plan.codes - begin;
    }
    constexpr int write(Instruction const& step) {
        if (plan.codes == max_codes) plan.too_large = true;
        if (plan.too_large) return plan.codes;
        plan.code[plan.codes] = step.encode();
        return plan.codes++;
    }
    constexpr void want(int node, bool (&wanted)[max_nodes], Replaced const& replaced) const {
        if (node < 0 || wanted[node]) return;
        wanted[node] = true;
        if (replaces(replaced, node)) return;
        want(s.node[node].a, wanted, replaced);
        want(s.node[node].b, wanted, replaced);
        want(s.node[node].c, wanted, replaced);
    }
    /// The stores of `roots`: as written, or into the temporary that is being made.
    constexpr void write_roots(Stage& stage, int const* roots, int count, Replaced const& replaced) {
        int to[max_nodes]{};
        for (int i = 0; i < count; ++i) {
            bool const stores = s.node[roots[i]].kind == Node::Kind::scalar && s.node[roots[i]].fn == Fn::store;
            to[i] = stores ? -1 : add_operand(stage, temporary(stage, roots[i], plan.temporaries));
        }
        write_program(stage, roots, to, count, replaced);
    }
    constexpr void add_stage(Stage const& stage) {
        if (plan.stages == max_stages) plan.too_large = true;
        if (!plan.too_large) plan.stage[plan.stages++] = stage;
    }

    /// The result's loops, so that the first store's last loop has the smallest stride.
    constexpr void add_result_loops(Stage& stage, AxisSet axes, int first_root) const {
        bool const stores = s.node[first_root].kind == Node::Kind::scalar && s.node[first_root].fn == Fn::store;
        for (AxisSet left = axes; left != 0;) {
            int next = -1;
            for (int axis = 0; axis < s.axes; ++axis) {
                if (!holds(left, axis)) continue;
                if (next < 0) next = axis;
                else if (stores && magnitude(s.route[s.node[first_root].payload].stride[axis]) >
                                       magnitude(s.route[s.node[first_root].payload].stride[next]))
                    next = axis;
            }
            add_loop(stage, next);
            left &= ~just(next);
        }
    }
    [[nodiscard]] static constexpr index_t magnitude(index_t x) { return x < 0 ? -x : x; }
};

} // namespace tenon::expr
