/// @file
/// Fusion: gathers the nodes of a finished graph into stages. A stage has one anchor (convolution, matrix product, reduction,
/// pool, or none) and the pointwise work after it, which continues on the anchor's tile before the tile leaves the cache.
/// A value crosses from stage to stage through memory; whatever is cheaper to compute again than to store is computed again.
#pragma once

#include <tenon/graph/pointwise.hpp>

#include <algorithm>

namespace tenon::graph {

/// A stretch of bytes that a phase's program reads or writes.
struct Operand {
    int node = -1;       ///< the node that owns the bytes; -1: the tile
    Dims view;           ///< the shape under which the program sees it
    bool batched = false;
    Dtype dtype = Dtype::f32;
};

/// One iteration space of a stage and the program that runs over it.
struct Phase {
    int result = -1;     ///< the node that the tile holds when the program begins; -1: there is no tile
    Dims shape;          ///< of the iteration, for one sample if batched
    bool batched = false;
    bool to_tile = false; ///< the program leaves its last value in the tile, for the next phase
    int code_begin = 0, code_end = 0;
    int operand_begin = 0, operand_end = 0;
};

/// What one kernel does.
struct Stage {
    static constexpr int max_companions = 2;
    /// Longer pointwise work is cut: a program has at most 256 steps and 64 operands. A single node may add a quarter of it.
    static constexpr int max_steps = 192, max_operands = 48;

    int anchor = -1;                                  ///< node; -1: pointwise work only
    std::array<int, max_companions> companion{-1, -1}; ///< further results of the anchor's family
    int pool = -1;                                    ///< phase 1: a plane-wise anchor that follows on the tile
    std::array<int, max_companions> pool_companion{-1, -1};
    std::array<Phase, 2> phase{};
    int phases = 1;
    int layer = -1;
    int steps = 0, operands = 0; ///< what the pointwise nodes that joined take, at most

    /// The stage's operands in Fused::operands: phases are emitted last to first, because the last ones say what they need.
    [[nodiscard]] constexpr int operand_begin() const { return phase[static_cast<std::size_t>(phases - 1)].operand_begin; }
    [[nodiscard]] constexpr int operand_end() const { return phase[0].operand_end; }
};

/// A graph cut into stages.
struct Fused {
    std::vector<Stage> stages;
    std::vector<std::uint64_t> code;   ///< of all phases, Instruction::encode()d
    std::vector<Operand> operands;     ///< of all phases
    std::vector<int> home;             ///< of each node: its stage, or -1
    std::vector<char> stored;          ///< of each node: does it have memory of its own between stages?
    std::vector<int> last_reader;      ///< of each node with memory: the last stage that reads it
};

/// The node whose bytes `id` names, behind reshapes.
[[nodiscard]] constexpr int storage(Builder const& b, int id) {
    while (b[id].op->kind == Kind::view) id = b[id].input[0];
    return id;
}

namespace detail {

class Fuser {
public:
    constexpr Fuser(Builder const& graph, std::vector<int> const& outputs) : b{graph}, live(graph.nodes.size(), 0), phase_of(graph.nodes.size(), 0), reads_parameter(graph.nodes.size(), 0), steps_again(graph.nodes.size(), 1), operands_again(graph.nodes.size(), 1), mark(graph.nodes.size(), -1), value_of(graph.nodes.size(), -1) {
        fused.home.assign(b.nodes.size(), -1);
        fused.stored.assign(b.nodes.size(), 0);
        fused.last_reader.assign(b.nodes.size(), -1);
        find_live(outputs);
        find_homes();
        for (int output : outputs) store(storage(b, output));
        for (int id = 0; id < b.size(); ++id)
            if (live[at(id)] != 0 && b[id].op->kind == Kind::anchor)
                for (int input : b[id].input)
                    if (input >= 0 && !takes_from_tile(id, input)) read(storage(b, input), fused.home[at(id)]);
        place_writes();
        for (int stage = static_cast<int>(fused.stages.size()) - 1; stage >= 0; --stage) emit(stage);
        drop_idle_stages();
    }

    Fused fused;

private:
    Builder const& b;
    std::vector<char> live;
    std::vector<int> phase_of;
    std::vector<char> reads_parameter;   ///< would computing the node again read a parameter or state that may have changed?
    std::vector<int> steps_again, operands_again; ///< what computing the node again takes, at most
    std::vector<int> mark, value_of;     ///< per program: last program that needs the node, and its value's number there
    std::vector<int> loaded;             ///< per program: the value's number of each operand that was loaded, or -1
    std::vector<std::vector<int>> roots; ///< of each stage: assignments that end there
    std::vector<std::vector<int>> kept;  ///< of each stage: nodes of it that must be stored
    int program = 0;

    [[nodiscard]] static constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

    /// Does anchor `id` follow in the stage that makes `input`? Then the tile hands the values over and no memory is needed.
    [[nodiscard]] constexpr bool takes_from_tile(int id, int input) const {
        return phase_of[at(id)] == 1 && fused.home[at(storage(b, input))] == fused.home[at(id)];
    }

    constexpr void find_live(std::vector<int> const& outputs) {
        for (int output : outputs) live[at(output)] = 1;
        for (int id = b.size() - 1; id >= 0; --id) {
            if (b[id].op->kind == Kind::assign) live[at(id)] = 1;
            if (live[at(id)] == 0) continue;
            for (int input : b[id].input)
                if (input >= 0) live[at(input)] = 1;
        }
    }

    // --- which stage a node belongs to

    constexpr int new_stage(int anchor, int layer, Dims const& shape, bool batched) {
        Stage stage;
        stage.anchor = anchor;
        stage.layer = layer;
        stage.phase[0].result = anchor;
        stage.phase[0].shape = shape;
        stage.phase[0].batched = batched;
        fused.stages.push_back(stage);
        return static_cast<int>(fused.stages.size()) - 1;
    }

    constexpr void find_homes() {
        std::vector<int> last_use(b.nodes.size(), -1); // of parameters and states: the last stage that reads them
        for (int id = 0; id < b.size(); ++id) {
            if (live[at(id)] == 0) continue;
            Node const& node = b[id];
            switch (node.op->kind) {
            case Kind::anchor: place_anchor(id); break;
            case Kind::pointwise: place_pointwise(id, last_use); break;
            case Kind::assign: place_assigned(node); break;
            case Kind::view: fused.home[at(id)] = fused.home[at(node.input[0])]; break;
            default: break;
            }
            if (node.is(parameter_op) || node.is(state_op)) reads_parameter[at(id)] = 1;
            if (node.op->kind == Kind::view || node.op->kind == Kind::pointwise)
                for (int input : node.input)
                    if (input >= 0 && reads_parameter[at(input)] != 0 && !can_store(input)) reads_parameter[at(id)] = 1;
            count_again(id);
            if (node.op->kind == Kind::anchor || node.op->kind == Kind::pointwise)
                for (int input : node.input) {
                    if (input < 0) continue;
                    int& last = last_use[at(storage(b, input))];
                    if (fused.home[at(id)] > last) last = fused.home[at(id)];
                }
        }
        kept.resize(fused.stages.size());
    }

    /// The most steps that are computed again rather than stored.
    static constexpr int max_steps_again = 48;

    /// What computing the node again takes, if its inputs come from memory or are computed again in their turn.
    constexpr void count_again(int id) {
        Node const& node = b[id];
        if (node.is(constant_op)) operands_again[at(id)] = 0;
        if (node.op->kind != Kind::pointwise) return;
        operands_again[at(id)] = 0;
        for (int input : node.input)
            if (input >= 0) {
                steps_again[at(id)] += steps_elsewhere(storage(b, input));
                operands_again[at(id)] += operands_elsewhere(storage(b, input));
            }
    }
    /// What another stage needs to have the value: a load, or computing it again.
    [[nodiscard]] constexpr int steps_elsewhere(int id) const { return can_store(id) ? 1 : steps_again[at(id)]; }
    [[nodiscard]] constexpr int operands_elsewhere(int id) const { return can_store(id) ? 1 : operands_again[at(id)]; }

    /// Is this a node that gets memory when another stage wants it?
    [[nodiscard]] constexpr bool can_store(int id) const {
        Node const& node = b[id];
        return node.op->kind == Kind::anchor || (node.op->kind == Kind::pointwise && fused.home[at(id)] >= 0 &&
                                                 (node.boundary || reads_parameter[at(id)] != 0 || steps_again[at(id)] > max_steps_again));
    }

    constexpr void place_anchor(int id) {
        Node const& node = b[id];
        for (int input : node.input) // a value that is free to compute anywhere needs a place now
            if (input >= 0) give_home(storage(b, input));
        int const before = fused.home[at(storage(b, node.input[0]))];
        if (node.op->family != 0 && join_family(id)) return;
        if (node.op->takes_planes && before >= 0) {
            Stage& stage = fused.stages[at(before)];
            Node const& input = b[node.input[0]];
            if (stage.anchor >= 0 && b[stage.anchor].op->makes_planes && stage.phases == 1 && input.shape == stage.phase[0].shape && input.batched) {
                stage.pool = id;
                stage.phases = 2;
                stage.phase[1].result = id;
                stage.phase[1].shape = node.shape;
                stage.phase[1].batched = node.batched;
                fused.home[at(id)] = before;
                phase_of[at(id)] = 1;
                return;
            }
        }
        fused.home[at(id)] = new_stage(id, node.layer, node.shape, node.batched);
    }

    /// Does a stage compute an operation of the same family from the same inputs? Then this is one more result of it.
    constexpr bool join_family(int id) {
        Node const& node = b[id];
        auto const joins = [&](int other) { return other >= 0 && b[other].op->family == node.op->family && b[other].input == node.input && b[other].attribute == node.attribute; };
        for (int s = static_cast<int>(fused.stages.size()) - 1; s >= 0; --s) {
            Stage& stage = fused.stages[at(s)];
            bool const with_pool = joins(stage.pool);
            if (!with_pool && !joins(stage.anchor)) continue;
            for (int& companion : with_pool ? stage.pool_companion : stage.companion) {
                if (companion >= 0) continue;
                companion = id;
                fused.home[at(id)] = s;
                phase_of[at(id)] = with_pool ? 1 : 0;
                return true;
            }
        }
        return false;
    }

    constexpr void place_pointwise(int id, std::vector<int> const& last_use) {
        Node const& node = b[id];
        int home = -1;
        bool parameters = false;
        for (int input : node.input) {
            if (input < 0) continue;
            int const owner = storage(b, input);
            if (fused.home[at(owner)] > home) home = fused.home[at(owner)];
            parameters = parameters || reads_parameter[at(owner)] != 0;
        }
        // Made of numbers only, or the part of an update that no gradient has entered: computed wherever it is used.
        if (home < 0 && (!parameters || node.update >= 0)) return;
        if (node.update >= 0) { // must not change a parameter that a later stage, or this stage's own anchor, reads
            int const target = b.parameters[at(node.update)].node;
            if (home >= 0 && (last_use[at(target)] > home || anchor_reads(home, target))) home = -1;
        }
        if (home >= 0 && join(id, home)) return;
        int const last = static_cast<int>(fused.stages.size()) - 1;
        if (last > home && last >= 0 && fused.stages[at(last)].anchor < 0 && node.update < 0 && join(id, last)) return;
        fused.home[at(id)] = new_stage(-1, node.layer, node.shape, node.batched);
    }

    [[nodiscard]] constexpr bool anchor_reads(int stage, int target) const {
        int const anchor = fused.stages[at(stage)].anchor;
        if (anchor < 0) return false;
        for (int input : b[anchor].input)
            if (input >= 0 && storage(b, input) == target) return true;
        return false;
    }

    /// Can the node be computed in one of the stage's phases? Its inputs there must lie in that very phase. Under another shape
    /// of as many elements it can, if every input has as many or is a single number.
    constexpr bool join(int id, int home) {
        Node const& node = b[id];
        Stage& stage = fused.stages[at(home)];
        if (stage.anchor >= 0 && !b[stage.anchor].op->tiles) return false;
        for (int p = stage.phases - 1; p >= 0; --p) {
            Phase const& phase = stage.phase[at(p)];
            if (node.batched != phase.batched || node.shape.count() != phase.shape.count()) continue;
            bool const same_shape = node.shape == phase.shape;
            bool fits = true;
            int steps = 2, operands = 1; // of the node, and of storing it
            for (int input : node.input) {
                if (input < 0) continue;
                int const owner = storage(b, input);
                if (fused.home[at(owner)] == home && phase_of[at(owner)] != p) fits = false;
                if (fused.home[at(owner)] != home) steps += steps_elsewhere(owner), operands += operands_elsewhere(owner);
                index_t const count = b.shape(input).count();
                if (!same_shape && count != 1 && count != phase.shape.count()) fits = false;
                if (b[owner].shape != b.shape(input) && fused.home[at(owner)] == home && count != phase.shape.count()) fits = false;
            }
            if (!fits || stage.steps + steps > Stage::max_steps || stage.operands + operands > Stage::max_operands) continue;
            fused.home[at(id)] = home;
            phase_of[at(id)] = p;
            stage.steps += steps;
            stage.operands += operands;
            return true;
        }
        return false;
    }

    constexpr void give_home(int id) {
        if (b[id].op->kind != Kind::pointwise || fused.home[at(id)] >= 0) return;
        fused.home[at(id)] = new_stage(-1, b[id].layer, b[id].shape, b[id].batched);
    }

    constexpr void place_assigned(Node const& node) { give_home(storage(b, node.input[1])); }

    // --- where parameters and states are written

    /// An assignment ends the stage that computes its value, unless somebody reads the old value there or later: then a stage of
    /// its own at the end writes it. Plain copies come first, because they read what others write.
    constexpr void place_writes() {
        std::vector<int> last = last_reading_stages();
        roots.resize(fused.stages.size());
        for (bool const copies : {true, false})
            for (int id = 0; id < b.size(); ++id) {
                if (live[at(id)] == 0 || b[id].op->kind != Kind::assign) continue;
                int const target = b[id].input[0], value = storage(b, b[id].input[1]);
                int stage = fused.home[at(value)];
                if (copies != (stage < 0)) continue;
                if (stage < 0 || last[at(target)] > stage || anchor_reads(stage, target)) {
                    stage = new_stage(-1, b[id].layer, b[value].shape, false);
                    roots.resize(fused.stages.size());
                    kept.resize(fused.stages.size());
                }
                if (copies) last[at(value)] = stage;
                roots[at(stage)].push_back(id);
            }
    }

    /// Of each parameter and state the last stage that reads it, itself or to compute something again.
    [[nodiscard]] constexpr std::vector<int> last_reading_stages() const {
        std::vector<int> last(b.nodes.size(), -1);
        std::vector<std::vector<int>> homeless(b.nodes.size()); // of values that every stage computes for itself: what they read
        for (int id = 0; id < b.size(); ++id) {
            Kind const kind = b[id].op->kind;
            if (live[at(id)] == 0 || (kind != Kind::anchor && kind != Kind::pointwise)) continue;
            int const home = fused.home[at(id)];
            auto const reads = [&](int source) {
                if (home < 0) homeless[at(id)].push_back(source);
                else if (home > last[at(source)]) last[at(source)] = home;
            };
            for (int input : b[id].input) {
                if (input < 0) continue;
                int const owner = storage(b, input);
                if (b[owner].is(parameter_op) || b[owner].is(state_op)) reads(owner);
                for (int source : homeless[at(owner)]) reads(source);
            }
        }
        return last;
    }

    // --- what must be stored, and the programs

    constexpr void store(int id) {
        if (fused.stored[at(id)] != 0 || b[id].op->kind == Kind::source || b[id].op->kind == Kind::constant) return;
        give_home_late(id);
        fused.stored[at(id)] = 1;
        kept[at(fused.home[at(id)])].push_back(id);
    }
    constexpr void give_home_late(int id) {
        if (fused.home[at(id)] >= 0) return;
        give_home(id);
        kept.resize(fused.stages.size());
    }
    constexpr void read(int id, int stage) {
        store(id);
        if (stage > fused.last_reader[at(id)]) fused.last_reader[at(id)] = stage;
    }

    constexpr void emit(int s) {
        Stage stage = fused.stages[at(s)];
        for (int p = stage.phases - 1; p >= 0; --p) {
            if (stage.anchor >= 0 && !b[stage.anchor].op->tiles) continue;
            ++program; // marks of another program no longer count
            emit_phase(s, stage, p);
        }
        fused.stages[at(s)] = stage;
    }

    /// Stages of which everything was computed again elsewhere have nothing left to do.
    constexpr void drop_idle_stages() {
        std::vector<int> number(fused.stages.size(), -1);
        int kept_stages = 0;
        for (std::size_t s = 0; s < fused.stages.size(); ++s) {
            Stage const& stage = fused.stages[s];
            if (stage.anchor < 0 && stage.phase[0].code_begin == stage.phase[0].code_end) continue;
            number[s] = kept_stages;
            fused.stages[at(kept_stages++)] = stage;
        }
        fused.stages.resize(at(kept_stages));
        for (std::vector<int>* stages : {&fused.home, &fused.last_reader})
            for (int& s : *stages)
                if (s >= 0) s = number[at(s)];
    }

    /// Appends the instruction for one node; returns the number of its value.
    template <class Append>
    constexpr int compute(int id, int s, int p, Phase const& phase, Append const& append) {
        Node const& node = b[id];
        if (id == phase.result) return append({Fn::load, 0, 0, 0, 0});
        if (node.is(constant_op)) return append({Fn::constant, 0, 0, 0, std::bit_cast<std::uint32_t>(node.value)});
        if (!computed_here(id, s, p)) { // what an assignment copies
            read(id, s);
            return append({Fn::load, 0, 0, 0, operand(phase, id, node.shape)});
        }
        if (node.fn() == Fn::random) {
            read(node.input[0], s);
            Dims const elements = node.shape.count() == phase.shape.count() ? phase.shape : node.shape; // the same numbers under either shape
            fused.operands.push_back({node.input[0], elements, node.batched, Dtype::random_source});
            loaded.push_back(-1);
            return append({Fn::random, 0, 0, 0, static_cast<std::uint32_t>(loaded.size() - 1)});
        }
        std::uint8_t argument[3]{};
        for (std::size_t i = 0; i < 3; ++i) {
            if (node.input[i] < 0) continue;
            int const owner = storage(b, node.input[i]);
            if (b[owner].is(constant_op) || computed_here(owner, s, p)) {
                argument[i] = value_number(owner);
                continue;
            }
            read(owner, s);
            std::uint32_t const from = operand(phase, owner, b[node.input[i]].shape);
            if (loaded[from] < 0) loaded[from] = append({Fn::load, 0, 0, 0, from});
            argument[i] = static_cast<std::uint8_t>(loaded[from]);
        }
        return append({node.fn(), argument[0], argument[1], argument[2], 0});
    }

    constexpr void emit_phase(int s, Stage& stage, int p) {
        Phase& phase = stage.phase[at(p)];
        // Everything that this program computes: what is asked of it, and the inputs of that which are computed here.
        std::vector<int> needed;
        auto const need = [&](int id) {
            if (mark[at(id)] == program) return;
            mark[at(id)] = program;
            value_of[at(id)] = -1;
            needed.push_back(id);
        };
        bool const leads_on = p == 0 && stage.pool >= 0;
        if (leads_on) need(storage(b, b[stage.pool].input[0]));
        for (int id : kept[at(s)])
            if (phase_of[at(id)] == p && !is_companion(stage, id)) need(id);
        for (int assign : roots[at(s)])
            if (writes_in(assign, s, p)) need(storage(b, b[assign].input[1]));
        for (std::size_t i = 0; i < needed.size(); ++i)
            if (needed[i] != phase.result && computed_here(needed[i], s, p))
                for (int input : b[needed[i]].input)
                    if (input >= 0) {
                        int const owner = storage(b, input);
                        if (b[owner].is(constant_op) || computed_here(owner, s, p)) need(owner);
                    }
        std::sort(needed.begin(), needed.end());

        phase.code_begin = static_cast<int>(fused.code.size());
        phase.operand_begin = static_cast<int>(fused.operands.size());
        loaded.clear();
        if (phase.result >= 0) {
            fused.operands.push_back({-1, phase.shape, phase.batched, Dtype::f32});
            loaded.push_back(-1);
        }
        int count = 0;
        auto const append = [&](Instruction instruction) {
            fused.code.push_back(instruction.encode());
            return count++;
        };
        for (int id : needed) value_of[at(id)] = compute(id, s, p, phase, append);
        if (leads_on) append({Fn::store, value_number(storage(b, b[stage.pool].input[0])), 0, 0, 0});
        phase.to_tile = leads_on;
        for (int id : kept[at(s)])
            if (phase_of[at(id)] == p && !is_companion(stage, id))
                append({Fn::store, value_number(id), 0, 0, operand(phase, id, b[id].shape)});
        for (int assign : roots[at(s)]) {
            int const owner = storage(b, b[assign].input[1]);
            if (writes_in(assign, s, p)) append({Fn::store, value_number(owner), 0, 0, operand(phase, b[assign].input[0], b[owner].shape)});
        }
        phase.code_end = static_cast<int>(fused.code.size());
        phase.operand_end = static_cast<int>(fused.operands.size());
    }

    /// Does the assignment belong to phase p of stage s?
    [[nodiscard]] constexpr bool writes_in(int assign, int s, int p) const {
        int const value = storage(b, b[assign].input[1]);
        return p == (fused.home[at(value)] == s ? phase_of[at(value)] : 0);
    }

    [[nodiscard]] static constexpr bool is_companion(Stage const& stage, int id) {
        for (int c : stage.companion)
            if (c == id) return true;
        for (int c : stage.pool_companion)
            if (c == id) return true;
        return false;
    }

    [[nodiscard]] constexpr std::uint8_t value_number(int id) const { return static_cast<std::uint8_t>(value_of[at(id)]); }

    /// Is the node computed by the program of stage s, phase p (rather than loaded)?
    [[nodiscard]] constexpr bool computed_here(int id, int s, int p) const {
        if (id == fused.stages[at(s)].phase[at(p)].result) return true;
        if (b[id].op->kind != Kind::pointwise) return false;
        if (fused.home[at(id)] == s) return phase_of[at(id)] == p;
        if (fused.home[at(id)] > s) return true; // stored too late for this stage
        return fused.home[at(id)] < 0 || (fused.stored[at(id)] == 0 && !can_store(id));
    }

    /// The number of an operand of this phase, which is appended if there is none yet.
    constexpr std::uint32_t operand(Phase const& phase, int owner, Dims view) {
        if (view.count() == phase.shape.count()) view = phase.shape; // contiguous under either shape
        for (int i = phase.operand_begin; i < static_cast<int>(fused.operands.size()); ++i)
            if (fused.operands[at(i)].node == owner && fused.operands[at(i)].view == view && fused.operands[at(i)].dtype != Dtype::random_source)
                return static_cast<std::uint32_t>(i - phase.operand_begin);
        fused.operands.push_back({owner, view, b[owner].batched, b[owner].dtype});
        loaded.push_back(-1);
        return static_cast<std::uint32_t>(loaded.size() - 1);
    }
};

} // namespace detail

/// Cuts the graph into stages. `outputs`: nodes that are read after the step.
[[nodiscard]] constexpr Fused fuse(Builder const& b, std::vector<int> const& outputs) { return detail::Fuser{b, outputs}.fused; }

} // namespace tenon::graph
