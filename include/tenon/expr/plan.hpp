/// @file
/// From a sketch to stages: which steps run in which loop. A statement without reductions is one loop. Reductions along the same
/// axes run row by row, with everything before and after them, in one stage; a matrix product runs tile by tile. What fits neither way
/// (a reduction along other axes, a second product) is computed first, into a temporary of its own reduced size.
#pragma once

#include <tenon/expr/sketch.hpp>

namespace tenon::expr {

inline constexpr int max_stages = 8;
inline constexpr int max_programs = 8;
inline constexpr int max_members = 8;
inline constexpr int max_codes = 640;

/// Where a stage's operand is.
enum class Source : std::uint8_t {
    leaf,      ///< elements, an index or a random source of the statement: leaf `number`
    temporary, ///< temporary `number`
    result,    ///< what a row's reduction gave
    buffer,    ///< a reduction's argument along the row
    tile,      ///< a tile of the matrix product
};

struct StageOperand {
    Source source = Source::leaf;
    Route::Role role = Route::Role::memory;
    DType type = DType::float32;
    int number = 0;
    index_t offset = 0;
    index_t stride[max_axes]{}; ///< along the stage's loops

    constexpr bool operator==(StageOperand const&) const = default;
};

/// A reduction of a rows stage: its argument goes to operand `buffer`, its result to operand `result`.
struct Member {
    ReduceOp op = ReduceOp::sum;
    int phase = 0;
    int buffer = 0;
    int result = 0;
};

struct Stage {
    enum class Kind : std::uint8_t { loop, rows, product };

    Kind kind = Kind::loop;
    int loops = 0;
    index_t extent[max_axes]{};
    int axis[max_axes]{};      ///< of the sketch
    int outer = 0;             ///< rows: the first loops, one row per trip; the others run along the row
    bool across = false;       ///< rows: vector lanes hold neighbouring rows (the last outer loop), not neighbours in the row
    bool along_result = false; ///< rows: the last program runs along the row
    int operands = 0;
    StageOperand operand[max_routes + max_members]{};
    int programs = 0;
    int begin[max_programs]{}, size[max_programs]{}; ///< in Plan::code; rows: one per phase, then the last one
    int members = 0;
    Member member[max_members]{};
    int left = 0, right = 0, tile = 0; ///< product: operands
    index_t inner = 0;                 ///< product: elements summed
    index_t left_stride = 0, right_stride = 0; ///< product: of the operands along the inner loop
};

struct Plan {
    int stages = 0;
    Stage stage[max_stages]{};
    int codes = 0;
    std::uint64_t code[max_codes]{};
    int temporaries = 0;
    index_t temporary[max_stages]{}; ///< elements
    bool too_large = false;
};

class Planner {
public:
    constexpr explicit Planner(Sketch const& sketch) : s{sketch} {
        plan.too_large = s.too_large;
        for (int& t : temporary_of) t = -1;
    }

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
    Sketch const& s;
    Plan plan;
    int temporary_of[max_nodes];

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
        int const product = choose(roots, count, live, result, member);
        for (int i = 0; i < s.nodes; ++i)
            if (live[i] && is_anchor(s.node[i]) && temporary_of[i] < 0 && !member[i] && i != product && needed(roots, count, i)) store_in_temporary(i);
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

    /// Marks the reductions that run row by row in the stage of `roots`. Without one, returns the product that runs there, or -1.
    constexpr int choose(int const* roots, int count, bool const (&live)[max_nodes], AxisSet result, bool (&member)[max_nodes]) const {
        for (int top = s.nodes - 1; top >= 0; --top) {
            if (!live[top] || s.node[top].kind != Node::Kind::reduction || temporary_of[top] >= 0) continue;
            Reduction const& group = s.reduction[s.node[top].payload];
            AxisSet const outer = result & ~group.set(), shared = result & group.set();
            if (shared != 0 && shared != long_axes(group.set())) continue; // some of its loops are the result's, some are not
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
                    if (live[other] && is_anchor(s.node[other]) && !member[other] && temporary_of[other] < 0 && uses(other, i)) member[i] = false;
            for (int i = 0; i < s.nodes; ++i) found = found || member[i];
            if (found) return -1;
        }
        for (int i = s.nodes - 1; i >= 0; --i) {
            Node const& n = s.node[i];
            if (!live[i] || n.kind != Node::Kind::product || temporary_of[i] >= 0) continue;
            bool alone = long_axes(just(n.row) | just(n.column)) == result && n.row != n.column;
            for (int other = 0; other < s.nodes; ++other)
                if (other != i && live[other] && is_anchor(s.node[other]) && temporary_of[other] < 0 && uses(other, i)) alone = false;
            if (alone) return i;
        }
        (void)roots;
        (void)count;
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

    // --- operands

    [[nodiscard]] constexpr Stage new_stage(Stage::Kind kind) const {
        Stage stage;
        stage.kind = kind;
        return stage;
    }
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
                int const operand = replaced.operand[i] >= 0 ? replaced.operand[i] : add_operand(stage, temporary(stage, i, temporary_of[i]));
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
                else if (stores && magnitude(s.route[s.node[first_root].payload].stride[axis]) > magnitude(s.route[s.node[first_root].payload].stride[next])) next = axis;
            }
            add_loop(stage, next);
            left &= ~just(next);
        }
    }
    [[nodiscard]] static constexpr index_t magnitude(index_t x) { return x < 0 ? -x : x; }

    // --- the three kinds of stage

    constexpr void loop_stage(int const* roots, int count, AxisSet result) {
        Stage stage = new_stage(Stage::Kind::loop);
        add_result_loops(stage, result, roots[0]);
        write_roots(stage, roots, count, {});
        add_stage(stage);
    }

    constexpr void rows_stage(int const* roots, int count, AxisSet result, bool const (&member)[max_nodes]) {
        Stage stage = new_stage(Stage::Kind::rows);
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
                if (member[earlier] && phase_of[earlier] >= phase_of[i] && uses(s.node[i].a, earlier)) phase_of[i] = phase_of[earlier] + 1;
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
                if (kept && !replaces(replaced, arguments[i])) replaced.operand[arguments[i]] = stage.member[number].buffer;
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
        Stage stage = new_stage(Stage::Kind::product);
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
