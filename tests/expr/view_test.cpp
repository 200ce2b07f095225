#include "random_tensor.hpp"

#include <tenon/expr/expr.hpp>

#include <doctest/doctest.h>

using namespace tenon;
using namespace tenon::test;

TEST_CASE("transposed, permuted, sliced, reshaped, repeated and inserted axes of a tensor are windows on it") {
    using S = Shape<3, 4, 5>;
    Tensor<float, S> x = random_tensor<float, S>(1);
    auto const swapped = transpose(x);
    auto const turned = permute<2, 0, 1>(x);
    auto const part = slice<1, 1, 4, 2>(x);
    auto const flat = reshape<Shape<12, 5>>(x);
    auto const row = at<0>(x, 2);
    auto const inserted = insert_axis<1>(x);
    static_assert(std::is_same_v<decltype(swapped), View<float, Shape<3, 5, 4>, Strides<20, 1, 5>> const>);
    static_assert(std::is_same_v<decltype(turned), View<float, Shape<5, 3, 4>, Strides<1, 20, 5>> const>);
    static_assert(std::is_same_v<decltype(part), View<float, Shape<3, 2, 5>, Strides<20, 10, 1>> const>);
    static_assert(std::is_same_v<decltype(row), View<float, Shape<4, 5>, Strides<5, 1>> const>);
    static_assert(std::is_same_v<decltype(inserted)::shape, Shape<3, 1, 4, 5>>);
    static_assert(std::is_same_v<decltype(flatten(x))::shape, Shape<60>>);
    for (index_t i = 0; i < 3; ++i)
        for (index_t j = 0; j < 4; ++j)
            for (index_t k = 0; k < 5; ++k) {
                CHECK(&swapped(i, k, j) == &x(i, j, k));
                CHECK(&turned(k, i, j) == &x(i, j, k));
                CHECK(&flat(4 * i + j, k) == &x(i, j, k));
                CHECK(&inserted(i, 0, j, k) == &x(i, j, k));
                if (j % 2 == 1) CHECK(&part(i, (j - 1) / 2, k) == &x(i, j, k));
                if (i == 2) CHECK(&row(j, k) == &x(i, j, k));
            }
    CHECK_THROWS_WITH_AS(at<0>(x, 3), "at: index 3 is outside an axis of 3 elements", Error);
    CHECK_THROWS_AS(at<-1>(x, -1), Error);
}

TEST_CASE("views can be written to, also with each other's elements") {
    Tensor<float, Shape<4, 6>> x = random_tensor<float, Shape<4, 6>>(2);
    Tensor<float, Shape<4, 6>> const before = x;
    slice<1, 0, 2>(x) = 1.0f;
    slice<1, 2, 4>(x) = slice<1, 4, 6>(x);
    at<0>(x, 3) = at<0>(x, 0) + 1.0f;
    transpose(slice<1, 4, 6>(x)) *= 2.0f;
    for (index_t i = 0; i < 3; ++i)
        for (index_t j = 0; j < 6; ++j) CHECK(x(i, j) == (j < 2 ? 1.0f : j < 4 ? before(i, j + 2) : 2 * before(i, j)));
    for (index_t j = 0; j < 6; ++j)
        CHECK(x(3, j) == (j < 2 ? 2.0f : j < 4 ? before(0, j + 2) + 1 : 2 * (before(0, j) + 1)));
}

TEST_CASE("views of expressions are expressions") {
    using S = Shape<7, 18>;
    Tensor<float, S> const x = random_tensor<float, S>(3), y = random_tensor<float, S>(4);
    Tensor swapped = transpose(x * y);
    Tensor part = slice<1, 2, 17, 5>(x - y);
    Tensor repeated = broadcast_to<Shape<2, 7, 18>>(x + y);
    Tensor turned = permute<1, 2, 0>(broadcast_to<Shape<2, 7, 18>>(x + 1.0f));
    Tensor column = insert_axis<1>(sum<1>(x)) * x; // the axis is given back by hand
    Tensor sums = sum<0>(transpose(x + y));
    Tensor some = slice<0, 2, 5>(sum<1>(x));
    Tensor softmax_part = slice<1, 3, 6>(softmax<1>(x));
    static_assert(std::is_same_v<decltype(swapped), Tensor<float, Shape<18, 7>>>);
    static_assert(std::is_same_v<decltype(part), Tensor<float, Shape<7, 3>>>);
    static_assert(std::is_same_v<decltype(turned), Tensor<float, Shape<7, 18, 2>>>);
    static_assert(std::is_same_v<decltype(some), Tensor<float, Shape<3>>>);
    Tensor whole_softmax = softmax<1>(x);
    for (index_t i = 0; i < 7; ++i) {
        double total = 0, both = 0;
        for (index_t j = 0; j < 18; ++j) {
            total += static_cast<double>(x(i, j));
            both += static_cast<double>(x(i, j)) + static_cast<double>(y(i, j));
        }
        CHECK(static_cast<double>(sums(i)) == doctest::Approx(both).epsilon(1e-5).scale(1));
        if (i >= 2 && i < 5) CHECK(static_cast<double>(some(i - 2)) == doctest::Approx(total).epsilon(1e-5).scale(1));
        for (index_t j = 0; j < 18; ++j) {
            CHECK(swapped(j, i) == x(i, j) * y(i, j));
            CHECK(repeated(1, i, j) == x(i, j) + y(i, j));
            CHECK(turned(i, j, 1) == x(i, j) + 1);
            CHECK(static_cast<double>(column(i, j)) ==
                  doctest::Approx(total * static_cast<double>(x(i, j))).epsilon(1e-5).scale(1));
            if (j >= 2 && (j - 2) % 5 == 0 && j < 17) CHECK(part(i, (j - 2) / 5) == x(i, j) - y(i, j));
            if (j >= 3 && j < 6) CHECK(softmax_part(i, j - 3) == doctest::Approx(whole_softmax(i, j)).epsilon(1e-6));
        }
    }
}
