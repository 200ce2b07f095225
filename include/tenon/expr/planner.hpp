/// @file
/// From a sketch to a plan: which steps run in which loop. A statement without reductions is one loop. Reductions along
/// the same axes run row by row, with everything before and after them, in one stage; a matrix product runs tile by
/// tile. What fits neither way (a reduction along other axes, a second product) is computed first, into a temporary of
/// its own reduced size.
#pragma once

#include <tenon/expr/stage_writer.hpp>

namespace tenon::expr {

class Planner : StageWriter {
public:
    constexpr explicit Planner(Sketch const& sketch) : StageWriter{sketch} {}

    /// The stages of all stores in the sketch.
    constexpr Plan const& run() {
        int roots[max_nodes]{};
        int count = 0;
        AxisSet axes = 0;
        for (int i = 0; i < s.nodes; ++i)
            if (s.node[i].kind == Node::Kind::scalar && s.node[i].fn == Fn::store) roots[count++] = i;
        for (int axis = 0; axis < s.result_axes; ++axis) axes |= just(axis);
        schedule(roots, count, axes);
        return plan;
    }

private:
    /// What must be computed for `root`, as far as no temporary holds it.
    constexpr void mark(int root, bool (&live)[max_nodes]) const {
        if (root < 0 || live[root]) return;
        live[root] = true;
        if (temporary_of[root] >= 0) return;
        mark(s.node[root].a, live);
        mark(s.node[root].b, live);
        mark(s.node[root].c, live);
    }
    [[nodiscard]] constexpr bool uses(int root, int node) const {
        bool live[max_nodes]{};
        mark(root, live);
        return live[node];
    }

    // --- scheduling

    constexpr void schedule(int const* roots, int count, AxisSet result_axes) {
        if (plan.too_large) return;
        AxisSet const result = long_axes(result_axes);
        bool live[max_nodes]{};
        for (int i = 0; i < count; ++i) mark(roots[i], live);

        bool member[max_nodes]{};
        int const product = choose(live, result, member);
        for (int i = 0; i < s.nodes; ++i)
            if (live[i] && is_anchor(s.node[i]) && temporary_of[i] < 0 && !member[i] && i != product &&
                needed(roots, count, i))
                store_in_temporary(i);
        if (product >= 0) {
            for (int operand : {s.node[product].a, s.node[product].b})
                if (s.node[operand].fn != Fn::load || is_anchor(s.node[operand])) store_in_temporary(operand);
        }
        if (product >= 0) product_stage(roots, count, product);
        else if (any(member)) rows_stage(roots, count, result, member);
        else loop_stage(roots, count, result);
    }

    [[nodiscard]] static constexpr bool any(bool const (&set)[max_nodes]) {
        for (bool b : set)
            if (b) return true;
        return false;
    }
    [[nodiscard]] constexpr bool needed(int const* roots, int count, int node) const {
        for (int i = 0; i < count; ++i)
            if (uses(roots[i], node)) return true;
        return false;
    }

    /// Marks the reductions that run row by row in the stage of `roots`. Without one, returns the product that runs
    /// there, or -1.
    constexpr int choose(bool const (&live)[max_nodes], AxisSet result, bool (&member)[max_nodes]) const {
        for (int top = s.nodes - 1; top >= 0; --top) {
            if (!live[top] || s.node[top].kind != Node::Kind::reduction || temporary_of[top] >= 0) continue;
            Reduction const& group = s.reduction[s.node[top].payload];
            AxisSet const outer = result & ~group.set(), shared = result & group.set();
            if (shared != 0 && shared != long_axes(group.set()))
                continue; // some of its loops are the result's, some are not
            bool found = false;
            for (int i = 0; i < s.nodes; ++i) {
                if (!live[i] || s.node[i].kind != Node::Kind::reduction || temporary_of[i] >= 0) continue;
                Reduction r = s.reduction[s.node[i].payload];
                r.op = group.op;
                member[i] = r == group && long_axes(s.node[i].depends) == outer;
            }
            // What other anchors need is computed before this stage.
            for (int i = 0; i < s.nodes; ++i)
                for (int other = 0; member[i] && other < s.nodes; ++other)
                    if (live[other] && is_anchor(s.node[other]) && !member[other] && temporary_of[other] < 0 &&
                        uses(other, i))
                        member[i] = false;
            for (int i = 0; i < s.nodes; ++i) found = found || member[i];
            if (found) return -1;
        }
        for (int i = s.nodes - 1; i >= 0; --i) {
            Node const& n = s.node[i];
            if (!live[i] || n.kind != Node::Kind::product || temporary_of[i] >= 0) continue;
            bool alone = long_axes(just(n.row) | just(n.column)) == result && n.row != n.column;
            for (int other = 0; other < s.nodes; ++other)
                if (other != i && live[other] && is_anchor(s.node[other]) && temporary_of[other] < 0 && uses(other, i))
                    alone = false;
            if (alone) return i;
        }
        return -1;
    }

    constexpr void store_in_temporary(int node) {
        if (temporary_of[node] >= 0) return;
        if (plan.temporaries == max_stages) plan.too_large = true;
        if (plan.too_large) return;
        schedule(&node, 1, s.node[node].depends);
        temporary_of[node] = plan.temporaries;
        index_t elements = 1;
        for (int axis = 0; axis < s.axes; ++axis)
            if (holds(s.node[node].depends, axis)) elements *= s.extent[axis];
        plan.temporary[plan.temporaries++] = elements;
    }

    // --- the three kinds of stage

    constexpr void loop_stage(int const* roots, int count, AxisSet result) {
        Stage stage{.kind = Stage::Kind::loop};
        add_result_loops(stage, result, roots[0]);
        write_roots(stage, roots, count, {});
        add_stage(stage);
    }

    constexpr void rows_stage(int const* roots, int count, AxisSet result, bool const (&member)[max_nodes]) {
        Stage stage{.kind = Stage::Kind::rows};
        int first = 0;
        while (!member[first]) ++first;
        Reduction const group = s.reduction[s.node[first].payload];
        AxisSet const along = group.set();
        AxisSet const outer = result & ~along;
        stage.across = group.lane_axis >= 0 && holds(outer, group.lane_axis);
        add_result_loops(stage, stage.across ? outer & ~just(group.lane_axis) : outer, roots[0]);
        if (stage.across) add_loop(stage, group.lane_axis);
        stage.outer = stage.loops;
        index_t length = 1;
        for (int i = 0; i < group.axes; ++i) {
            if (s.extent[group.axis[i]] != 1) add_loop(stage, group.axis[i]);
            length *= s.extent[group.axis[i]];
        }
        stage.along_result = (long_axes(result) & along) != 0;

        Replaced replaced;
        int phase_of[max_nodes]{};
        int phases = 0;
        for (int i = 0; i < s.nodes; ++i) {
            if (!member[i]) continue;
            for (int earlier = 0; earlier < i; ++earlier)
                if (member[earlier] && phase_of[earlier] >= phase_of[i] && uses(s.node[i].a, earlier))
                    phase_of[i] = phase_of[earlier] + 1;
            if (phase_of[i] >= phases) phases = phase_of[i] + 1;
        }
        for (int phase = 0; phase < phases; ++phase) {
            int arguments[max_members]{}, buffers[max_members]{}, nodes[max_members]{};
            int in_phase = 0;
            for (int i = 0; i < s.nodes; ++i) {
                if (!member[i] || phase_of[i] != phase) continue;
                if (stage.members == max_members) plan.too_large = true;
                if (plan.too_large) return;
                nodes[in_phase] = i;
                arguments[in_phase] = s.node[i].a;
                Member& m = stage.member[stage.members];
                m.op = s.reduction[s.node[i].payload].op;
                m.phase = phase;
                m.buffer = buffers[in_phase++] = add_operand(stage, row_buffer(stage, stage.members));
                m.result = add_operand(stage, row_result(stage, stage.members));
                ++stage.members;
            }
            write_program(stage, arguments, buffers, in_phase, replaced);
            for (int i = 0; i < in_phase; ++i) {
                int const number = stage.members - in_phase + i;
                replaced.operand[nodes[i]] = stage.member[number].result;
                bool const kept = !stage.across && length <= row_capacity && !s.node[arguments[i]].reads();
                if (kept && !replaces(replaced, arguments[i]))
                    replaced.operand[arguments[i]] = stage.member[number].buffer;
            }
        }
        write_roots(stage, roots, count, replaced);
        add_stage(stage);
    }
    /// A row's elements one after another; across rows, those of neighbouring rows at one place.
    constexpr StageOperand row_buffer(Stage const& stage, int number) const {
        StageOperand o;
        o.source = Source::buffer;
        o.type = s.compute;
        o.number = number;
        if (stage.across) {
            o.stride[stage.outer - 1] = 1;
            return o;
        }
        index_t stride = 1;
        for (int l = stage.loops - 1; l >= stage.outer; --l) {
            o.stride[l] = stride;
            stride *= stage.extent[l];
        }
        return o;
    }
    constexpr StageOperand row_result(Stage const& stage, int number) const {
        StageOperand o;
        o.source = Source::result;
        o.type = s.compute;
        o.number = number;
        if (stage.across) o.stride[stage.outer - 1] = 1;
        return o;
    }

    constexpr void product_stage(int const* roots, int count, int product) {
        Stage stage{.kind = Stage::Kind::product};
        Node const& n = s.node[product];
        add_loop(stage, n.row);
        add_loop(stage, n.column);
        stage.inner = s.extent[n.inner];
        Replaced replaced;
        stage.left = factor(stage, n.a, n.inner, stage.left_stride);
        stage.right = factor(stage, n.b, n.inner, stage.right_stride);
        StageOperand tile;
        tile.source = Source::tile;
        tile.type = s.compute;
        stage.tile = replaced.operand[product] = add_operand(stage, tile);
        write_roots(stage, roots, count, replaced);
        add_stage(stage);
    }
    /// A factor of the product as an operand, and its stride along the inner loop.
    constexpr int factor(Stage& stage, int node, int inner, index_t& inner_stride) {
        if (temporary_of[node] >= 0) {
            inner_stride = temporary_stride(node, inner);
            return add_operand(stage, temporary(stage, node, temporary_of[node]));
        }
        Route const& route = s.route[s.node[node].payload];
        inner_stride = route.stride[inner];
        return add_operand(stage, routed(stage, route));
    }
};

} // namespace tenon::expr
