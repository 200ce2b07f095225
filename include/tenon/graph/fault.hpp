/// @file
/// What can be wrong with a network, found while its graph is written, and how the compiler says so.
#pragma once

#include <tenon/core/dims.hpp>

#include <array>

namespace tenon {

/// A kind of mistake. Each is an object with a telling name, which the compiler prints; an operation may define more.
struct Fault {
    bool at_input = false; ///< is Input named, rather than a numbered layer?
};

namespace fault {

inline constexpr Fault network_must_begin_with_Input{true};
inline constexpr Fault Input_must_come_first{};
inline constexpr Fault extents_must_be_positive{true};
inline constexpr Fault layer_takes_another_rank{};
inline constexpr Fault in_differs_from_what_arrives{};
inline constexpr Fault flatten_size_differs_from_what_arrives{};
inline constexpr Fault shape_differs_from_what_arrives{};
inline constexpr Fault kernel_is_larger_than_the_padded_input{};
inline constexpr Fault padding_is_over_half_of_the_kernel{};
inline constexpr Fault option_must_be_positive{};
inline constexpr Fault option_must_not_be_negative{};
inline constexpr Fault groups_do_not_divide_the_channels{};
inline constexpr Fault probability_is_outside_0_to_1{};
inline constexpr Fault branch_changes_the_shape{};
inline constexpr Fault output_is_not_one_row_of_scores{};
inline constexpr Fault network_has_no_parameters{};

} // namespace fault

/// Where a graph stopped: the first mistake.
struct Verdict {
    static constexpr int max_depth = 4;

    Fault const* fault = nullptr;
    bool failed = false; ///< not told by `fault`, whose address cannot always be compared in constant expressions
    std::array<int, max_depth> path{}; ///< number of the layer; inside Residual and Repeat the numbers there follow
    int depth = 0;
    Dims arrives;  ///< the shape that reached the layer
    Dims expected; ///< what the layer would have taken, as far as a shape can say it

    [[nodiscard]] constexpr bool ok() const { return !failed; }
};

} // namespace tenon
