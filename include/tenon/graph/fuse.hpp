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
    int companion[max_companions]{-1, -1};             ///< further results of the anchor's family
    int pool = -1;                                    ///< phase 1: a plane-wise anchor that follows on the tile
    int pool_companion[max_companions]{-1, -1};
    Phase phase[2]{};
    int phases = 1;
    int layer = -1;
    int steps = 0, operands = 0; ///< what the pointwise nodes that joined take, at most

    /// The stage's operands in Fused::operands: phases are emitted last to first, because the last ones say what they need.
    [[nodiscard]] constexpr int operand_begin() const { return phase[phases - 1].operand_begin; }
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
    constexpr Fuser(Builder const& graph, std::vector<int> const& outputs) : b{graph}, nodes{graph.nodes.data()}, count{graph.size()} {
        fused.home.assign(b.nodes.size(), -1);
        fused.stored.assign(b.nodes.size(), 0);
        fused.last_reader.assign(b.nodes.size(), -1);
        home = fused.home.data(), stored = fused.stored.data(), last_reader = fused.last_reader.data();
        fused.stages.reserve(b.nodes.size()), fused.code.reserve(2 * b.nodes.size()), fused.operands.reserve(2 * b.nodes.size());
        memory.assign(per_node * b.nodes.size(), 0);
        int* next = memory.data();
        for (int** table : {&owner, &live, &phase_of, &reads_parameter, &steps_again, &operands_again, &mark, &value_of, &last_use, &next_in_stage, &needed}) {
            *table = next;
            next += count;
        }
        for (int id = 0; id < count; ++id) {
            owner[id] = nodes[id].op->kind == Kind::view ? owner[nodes[id].input[0]] : id;
            steps_again[id] = operands_again[id] = 1;
            last_use[id] = next_in_stage[id] = -1;
        }
        find_live(outputs);
        find_homes();
        for (int output : outputs) store(owner[output]);
        for (int id = 0; id < count; ++id)
            if (live[id] != 0 && nodes[id].op->kind == Kind::anchor)
                for (int input : nodes[id].input)
                    if (input >= 0 && !takes_from_tile(id, input)) read(owner[input], home[id]);
        place_writes();
        for (int stage = static_cast<int>(fused.stages.size()) - 1; stage >= 0; --stage) emit(stage);
        drop_idle_stages();
    }

    Fused fused;

private:
    static constexpr std::size_t per_node = 11;
    /// A program's operands are numbered in six bits.
    static constexpr int most_operands = 64;

    /// The first and the last of a stage's nodes that are linked by next_in_stage.
    struct Chain {
        int first = -1, last = -1;
    };

    Builder const& b;
    Node const* nodes;
    int count;
    std::vector<int> memory; ///< of the tables below. They are plain pointers because each access to a vector is a call, which
                             ///< compilers carry out by the thousand.
    int *home = nullptr, *last_reader = nullptr; ///< of `fused`
    char* stored = nullptr;
    int* owner = nullptr;            ///< the node whose bytes this one names, behind reshapes
    int* live = nullptr;             ///< does something that is asked for depend on the node?
    int* phase_of = nullptr;
    int* reads_parameter = nullptr;  ///< would computing the node again read a parameter or state that may have changed?
    int *steps_again = nullptr, *operands_again = nullptr; ///< what computing the node again takes, at most
    int *mark = nullptr, *value_of = nullptr; ///< per program: last program that needs the node, and its value's number there
    int* last_use = nullptr;         ///< of parameters and states: the last stage that reads them
    int* next_in_stage = nullptr;    ///< the next node of the stage's chain
    int* needed = nullptr;           ///< per program: the nodes that it computes
    int needed_count = 0;
    int loaded[most_operands]{};     ///< per program: the value's number of each operand that was loaded, or -1
    std::vector<Chain> roots;        ///< of each stage: assignments that end there
    std::vector<Chain> kept;         ///< of each stage: nodes of it that must be stored
    int program = 0;

    [[nodiscard]] static constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

    constexpr void link(Chain& chain, int id) {
        if (chain.last < 0) chain.first = id;
        else next_in_stage[chain.last] = id;
        chain.last = id;
    }

    /// Does anchor `id` follow in the stage that makes `input`? Then the tile hands the values over and no memory is needed.
    [[nodiscard]] constexpr bool takes_from_tile(int id, int input) const {
        return phase_of[id] == 1 && home[owner[input]] == home[id];
    }

    constexpr void find_live(std::vector<int> const& outputs) {
        for (int output : outputs) live[output] = 1;
        for (int id = count - 1; id >= 0; --id) {
            if (nodes[id].op->kind == Kind::assign) live[id] = 1;
            if (live[id] == 0) continue;
            for (int input : nodes[id].input)
                if (input >= 0) live[input] = 1;
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
        for (int id = 0; id < count; ++id) {
            if (live[id] == 0) continue;
            Node const& node = nodes[id];
            switch (node.op->kind) {
            case Kind::anchor: place_anchor(id); break;
            case Kind::pointwise: place_pointwise(id); break;
            case Kind::assign: place_assigned(node); break;
            case Kind::view: home[id] = home[node.input[0]]; break;
            default: break;
            }
            if (node.is(parameter_op) || node.is(state_op)) reads_parameter[id] = 1;
            if (node.op->kind == Kind::view || node.op->kind == Kind::pointwise)
                for (int input : node.input)
                    if (input >= 0 && reads_parameter[input] != 0 && !can_store(input)) reads_parameter[id] = 1;
            count_again(id);
            if (node.op->kind == Kind::anchor || node.op->kind == Kind::pointwise)
                for (int input : node.input) {
                    if (input < 0) continue;
                    int& last = last_use[owner[input]];
                    if (home[id] > last) last = home[id];
                }
        }
        kept.resize(fused.stages.size());
    }

    /// The most steps that are computed again rather than stored.
    static constexpr int max_steps_again = 48;

    /// What computing the node again takes, if its inputs come from memory or are computed again in their turn.
    constexpr void count_again(int id) {
        Node const& node = nodes[id];
        if (node.is(constant_op)) operands_again[id] = 0;
        if (node.op->kind != Kind::pointwise) return;
        operands_again[id] = 0;
        for (int input : node.input)
            if (input >= 0) {
                steps_again[id] += steps_elsewhere(owner[input]);
                operands_again[id] += operands_elsewhere(owner[input]);
            }
    }
    /// What another stage needs to have the value: a load, or computing it again.
    [[nodiscard]] constexpr int steps_elsewhere(int id) const { return can_store(id) ? 1 : steps_again[id]; }
    [[nodiscard]] constexpr int operands_elsewhere(int id) const { return can_store(id) ? 1 : operands_again[id]; }

    /// Is this a node that gets memory when another stage wants it?
    [[nodiscard]] constexpr bool can_store(int id) const {
        Node const& node = nodes[id];
        return node.op->kind == Kind::anchor || (node.op->kind == Kind::pointwise && home[id] >= 0 &&
                                                 (node.boundary || reads_parameter[id] != 0 || steps_again[id] > max_steps_again));
    }

    constexpr void place_anchor(int id) {
        Node const& node = nodes[id];
        for (int input : node.input) // a value that is free to compute anywhere needs a place now
            if (input >= 0) give_home(owner[input]);
        int const before = home[owner[node.input[0]]];
        if (node.op->family != 0 && join_family(id)) return;
        if (node.op->takes_planes && before >= 0) {
            Stage& stage = fused.stages[at(before)];
            Node const& input = nodes[node.input[0]];
            if (stage.anchor >= 0 && nodes[stage.anchor].op->makes_planes && stage.phases == 1 && input.shape == stage.phase[0].shape && input.batched) {
                stage.pool = id;
                stage.phases = 2;
                stage.phase[1].result = id;
                stage.phase[1].shape = node.shape;
                stage.phase[1].batched = node.batched;
                home[id] = before;
                phase_of[id] = 1;
                return;
            }
        }
        home[id] = new_stage(id, node.layer, node.shape, node.batched);
    }

    /// Does a stage compute an operation of the same family from the same inputs? Then this is one more result of it.
    constexpr bool join_family(int id) {
        Node const& node = nodes[id];
        auto const joins = [&](int other) { return other >= 0 && nodes[other].op->family == node.op->family && nodes[other].same_arguments(node); };
        for (int s = static_cast<int>(fused.stages.size()) - 1; s >= 0; --s) {
            Stage& stage = fused.stages[at(s)];
            bool const with_pool = joins(stage.pool);
            if (!with_pool && !joins(stage.anchor)) continue;
            for (int& companion : with_pool ? stage.pool_companion : stage.companion) {
                if (companion >= 0) continue;
                companion = id;
                home[id] = s;
                phase_of[id] = with_pool ? 1 : 0;
                return true;
            }
        }
        return false;
    }

    constexpr void place_pointwise(int id) {
        Node const& node = nodes[id];
        int stage = -1; // the last that makes an input
        bool parameters = false;
        for (int input : node.input) {
            if (input < 0) continue;
            int const from = owner[input];
            if (home[from] > stage) stage = home[from];
            parameters = parameters || reads_parameter[from] != 0;
        }
        // Made of numbers only, or the part of an update that no gradient has entered: computed wherever it is used.
        if (stage < 0 && (!parameters || node.update >= 0)) return;
        if (node.update >= 0) { // must not change a parameter that a later stage, or this stage's own anchor, reads
            int const target = b.parameters[at(node.update)].node;
            if (stage >= 0 && (last_use[target] > stage || anchor_reads(stage, target))) stage = -1;
        }
        if (stage >= 0 && join(id, stage)) return;
        int const last = static_cast<int>(fused.stages.size()) - 1;
        if (last > stage && last >= 0 && fused.stages[at(last)].anchor < 0 && node.update < 0 && join(id, last)) return;
        home[id] = new_stage(-1, node.layer, node.shape, node.batched);
    }

    [[nodiscard]] constexpr bool anchor_reads(int stage, int target) const {
        int const anchor = fused.stages[at(stage)].anchor;
        if (anchor < 0) return false;
        for (int input : nodes[anchor].input)
            if (input >= 0 && owner[input] == target) return true;
        return false;
    }

    /// Can the node be computed in one of the stage's phases? Its inputs there must lie in that very phase. Under another shape
    /// of as many elements it can, if every input has as many or is a single number.
    constexpr bool join(int id, int s) {
        Node const& node = nodes[id];
        Stage& stage = fused.stages[at(s)];
        if (stage.anchor >= 0 && !nodes[stage.anchor].op->tiles) return false;
        index_t const elements = node.shape.count();
        for (int p = stage.phases - 1; p >= 0; --p) {
            Phase const& phase = stage.phase[p];
            if (node.batched != phase.batched || elements != phase.shape.count()) continue;
            bool const same_shape = node.shape == phase.shape;
            bool fits = true;
            int steps = 2, operands = 1; // of the node, and of storing it
            for (int input : node.input) {
                if (input < 0) continue;
                int const from = owner[input];
                bool const made_here = home[from] == s;
                if (made_here && phase_of[from] != p) fits = false;
                if (!made_here) steps += steps_elsewhere(from), operands += operands_elsewhere(from);
                bool const reshaped = made_here && from != input;
                if (same_shape && !reshaped) continue;
                index_t const of_input = nodes[input].shape.count();
                if (!same_shape && of_input != 1 && of_input != elements) fits = false;
                if (reshaped && of_input != elements && nodes[from].shape != nodes[input].shape) fits = false;
            }
            if (!fits || stage.steps + steps > Stage::max_steps || stage.operands + operands > Stage::max_operands) continue;
            home[id] = s;
            phase_of[id] = p;
            stage.steps += steps;
            stage.operands += operands;
            return true;
        }
        return false;
    }

    constexpr void give_home(int id) {
        if (nodes[id].op->kind != Kind::pointwise || home[id] >= 0) return;
        home[id] = new_stage(-1, nodes[id].layer, nodes[id].shape, nodes[id].batched);
    }

    constexpr void place_assigned(Node const& node) { give_home(owner[node.input[1]]); }

    // --- where parameters and states are written

    /// An assignment ends the stage that computes its value, unless somebody reads the old value there or later: then a stage of
    /// its own at the end writes it. Plain copies come first, because they read what others write.
    constexpr void place_writes() {
        find_last_reads();
        roots.resize(fused.stages.size());
        for (bool const copies : {true, false})
            for (int id = 0; id < count; ++id) {
                if (live[id] == 0 || nodes[id].op->kind != Kind::assign) continue;
                int const target = nodes[id].input[0], value = owner[nodes[id].input[1]];
                int stage = home[value];
                if (copies != (stage < 0)) continue;
                if (stage < 0 || last_use[target] > stage || anchor_reads(stage, target)) {
                    stage = new_stage(-1, nodes[id].layer, nodes[value].shape, false);
                    roots.resize(fused.stages.size());
                    kept.resize(fused.stages.size());
                }
                if (copies) last_use[value] = stage;
                link(roots[at(stage)], id);
            }
    }

    /// Finds of each parameter and state the last stage that reads it, itself or to compute something again.
    constexpr void find_last_reads() {
        for (int id = 0; id < count; ++id) last_use[id] = -1;
        for (int id = 0; id < count; ++id) {
            Kind const kind = nodes[id].op->kind;
            if (live[id] == 0 || home[id] < 0 || (kind != Kind::anchor && kind != Kind::pointwise)) continue;
            ++program;
            needed[0] = id;
            needed_count = 1;
            while (needed_count > 0) {
                int const reader = needed[--needed_count];
                for (int input : nodes[reader].input) {
                    if (input < 0) continue;
                    int const from = owner[input];
                    Op const& op = *nodes[from].op;
                    if (op.id == parameter_op.id || op.id == state_op.id) {
                        if (home[id] > last_use[from]) last_use[from] = home[id];
                    } else if (op.kind == Kind::pointwise && home[from] < 0 && mark[from] != program) { // every stage computes it for itself
                        mark[from] = program;
                        needed[needed_count++] = from;
                    }
                }
            }
        }
    }

    // --- what must be stored, and the programs

    constexpr void store(int id) {
        if (stored[id] != 0 || nodes[id].op->kind == Kind::source || nodes[id].op->kind == Kind::constant) return;
        give_home_late(id);
        stored[id] = 1;
        link(kept[at(home[id])], id);
    }
    constexpr void give_home_late(int id) {
        if (home[id] >= 0) return;
        give_home(id);
        kept.resize(fused.stages.size());
    }
    constexpr void read(int id, int stage) {
        store(id);
        if (stage > last_reader[id]) last_reader[id] = stage;
    }

    constexpr void emit(int s) {
        Stage stage = fused.stages[at(s)];
        for (int p = stage.phases - 1; p >= 0; --p) {
            if (stage.anchor >= 0 && !nodes[stage.anchor].op->tiles) continue;
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
        for (int* stage_of : {home, last_reader})
            for (int id = 0; id < count; ++id)
                if (stage_of[id] >= 0) stage_of[id] = number[at(stage_of[id])];
    }

    /// Appends the instruction for one node; returns the number of its value.
    template <class Append>
    constexpr int compute(int id, int s, int p, Phase const& phase, Append const& append) {
        Node const& node = nodes[id];
        if (id == phase.result) return append({Fn::load, 0, 0, 0, 0});
        if (node.is(constant_op)) return append({Fn::constant, 0, 0, 0, std::bit_cast<std::uint32_t>(node.value)});
        if (!computed_here(id, s, p)) { // what an assignment copies
            read(id, s);
            return append({Fn::load, 0, 0, 0, operand(phase, id, node.shape)});
        }
        if (node.fn() == Fn::random) {
            read(node.input[0], s);
            Dims const elements = node.shape.count() == phase.shape.count() ? phase.shape : node.shape; // the same numbers under either shape
            return append({Fn::random, 0, 0, 0, new_operand(phase, {node.input[0], elements, node.batched, Dtype::random_source})});
        }
        std::uint8_t argument[3]{};
        for (int i = 0; i < 3; ++i) {
            if (node.input[i] < 0) continue;
            int const from = owner[node.input[i]];
            if (mark[from] == program) { // needed, so computed here
                argument[i] = value_number(from);
                continue;
            }
            read(from, s);
            std::uint32_t const place = operand(phase, from, nodes[node.input[i]].shape);
            if (loaded[place] < 0) loaded[place] = append({Fn::load, 0, 0, 0, place});
            argument[i] = static_cast<std::uint8_t>(loaded[place]);
        }
        return append({node.fn(), argument[0], argument[1], argument[2], 0});
    }

    constexpr void emit_phase(int s, Stage& stage, int p) {
        Phase& phase = stage.phase[p];
        // Everything that this program computes: what is asked of it, and the inputs of that which are computed here.
        needed_count = 0;
        auto const need = [&](int id) {
            if (mark[id] == program) return;
            mark[id] = program;
            value_of[id] = -1;
            needed[needed_count++] = id;
        };
        bool const leads_on = p == 0 && stage.pool >= 0;
        if (leads_on) need(owner[nodes[stage.pool].input[0]]);
        for (int id = kept[at(s)].first; id >= 0; id = next_in_stage[id])
            if (phase_of[id] == p && !is_companion(stage, id)) need(id);
        for (int assign = roots[at(s)].first; assign >= 0; assign = next_in_stage[assign])
            if (writes_in(assign, s, p)) need(owner[nodes[assign].input[1]]);
        for (int i = 0; i < needed_count; ++i)
            if (int const id = needed[i]; id != phase.result && computed_here(id, s, p))
                for (int input : nodes[id].input)
                    if (input >= 0) {
                        int const from = owner[input];
                        if (mark[from] != program && (nodes[from].is(constant_op) || computed_here(from, s, p))) need(from);
                    }
        for (int i = 1; i < needed_count; ++i) { // into the order of the graph; there are few, and almost in order
            int const id = needed[i];
            int k = i;
            for (; k > 0 && needed[k - 1] > id; --k) needed[k] = needed[k - 1];
            needed[k] = id;
        }

        phase.code_begin = static_cast<int>(fused.code.size());
        phase.operand_begin = static_cast<int>(fused.operands.size());
        if (phase.result >= 0) (void)new_operand(phase, {-1, phase.shape, phase.batched, Dtype::f32});
        int appended = 0;
        auto const append = [&](Instruction instruction) {
            fused.code.push_back(instruction.encode());
            return appended++;
        };
        for (int i = 0; i < needed_count; ++i) value_of[needed[i]] = compute(needed[i], s, p, phase, append);
        if (leads_on) append({Fn::store, value_number(owner[nodes[stage.pool].input[0]]), 0, 0, 0});
        phase.to_tile = leads_on;
        for (int id = kept[at(s)].first; id >= 0; id = next_in_stage[id])
            if (phase_of[id] == p && !is_companion(stage, id))
                append({Fn::store, value_number(id), 0, 0, operand(phase, id, nodes[id].shape)});
        for (int assign = roots[at(s)].first; assign >= 0; assign = next_in_stage[assign]) {
            int const value = owner[nodes[assign].input[1]];
            if (writes_in(assign, s, p)) append({Fn::store, value_number(value), 0, 0, operand(phase, nodes[assign].input[0], nodes[value].shape)});
        }
        phase.code_end = static_cast<int>(fused.code.size());
        phase.operand_end = static_cast<int>(fused.operands.size());
    }

    /// Does the assignment belong to phase p of stage s?
    [[nodiscard]] constexpr bool writes_in(int assign, int s, int p) const {
        int const value = owner[nodes[assign].input[1]];
        return p == (home[value] == s ? phase_of[value] : 0);
    }

    [[nodiscard]] static constexpr bool is_companion(Stage const& stage, int id) {
        for (int c : stage.companion)
            if (c == id) return true;
        for (int c : stage.pool_companion)
            if (c == id) return true;
        return false;
    }

    [[nodiscard]] constexpr std::uint8_t value_number(int id) const { return static_cast<std::uint8_t>(value_of[id]); }

    /// Is the node computed by the program of stage s, phase p (rather than loaded)?
    [[nodiscard]] constexpr bool computed_here(int id, int s, int p) const {
        if (id == fused.stages[at(s)].phase[p].result) return true;
        if (nodes[id].op->kind != Kind::pointwise) return false;
        if (home[id] == s) return phase_of[id] == p;
        if (home[id] > s) return true; // stored too late for this stage
        return home[id] < 0 || (stored[id] == 0 && !can_store(id));
    }

    /// The number of an operand of this phase, which is appended if there is none yet.
    constexpr std::uint32_t operand(Phase const& phase, int node, Dims view) {
        if (view.count() == phase.shape.count()) view = phase.shape; // contiguous under either shape
        Operand const* const operands = fused.operands.data() + phase.operand_begin;
        int const existing = static_cast<int>(fused.operands.size()) - phase.operand_begin;
        for (int i = 0; i < existing; ++i)
            if (operands[i].node == node && operands[i].view == view && operands[i].dtype != Dtype::random_source)
                return static_cast<std::uint32_t>(i);
        return new_operand(phase, {node, view, nodes[node].batched, nodes[node].dtype});
    }
    constexpr std::uint32_t new_operand(Phase const& phase, Operand const& operand) {
        int const number = static_cast<int>(fused.operands.size()) - phase.operand_begin;
        fused.operands.push_back(operand);
        loaded[number] = -1;
        return static_cast<std::uint32_t>(number);
    }
};

} // namespace detail

/// Cuts the graph into stages. `outputs`: nodes that are read after the step.
[[nodiscard]] constexpr Fused fuse(Builder const& b, std::vector<int> const& outputs) { return detail::Fuser{b, outputs}.fused; }

} // namespace tenon::graph
