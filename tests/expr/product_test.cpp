#include "random_tensor.hpp"

#include <tenon/expr/expr.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace tenon;
using namespace tenon::test;

namespace {

template <class T, class SA, class SB>
Tensor<double, Shape<SA::dims[0], SB::dims[1]>> product(Tensor<T, SA> const& a, Tensor<T, SB> const& b) {
    Tensor<double, Shape<SA::dims[0], SB::dims[1]>> c;
    for (index_t i = 0; i < SA::dims[0]; ++i)
        for (index_t j = 0; j < SB::dims[1]; ++j)
            for (index_t k = 0; k < SA::dims[1]; ++k)
                c(i, j) += static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
    return c;
}

template <index_t M, index_t K, index_t N>
void check() {
    CAPTURE(M);
    CAPTURE(K);
    CAPTURE(N);
    Tensor<float, Shape<M, K>> const x = random_tensor<float, Shape<M, K>>(static_cast<unsigned>(M + K));
    Tensor<float, Shape<K, N>> const w = random_tensor<float, Shape<K, N>>(static_cast<unsigned>(N));
    Tensor<float, Shape<M, N>> y = poisoned<float, Shape<M, N>>();
    y = matmul(x, w);
    auto const expected = product(x, w);
    double worst = 0;
    for (index_t i = 0; i < M; ++i)
        for (index_t j = 0; j < N; ++j)
            worst = std::max(worst, std::fabs(static_cast<double>(y(i, j)) - expected(i, j)));
    CHECK(worst < 1e-6 * static_cast<double>(K + 10));
}

} // namespace

TEST_CASE("products of every kind of size") {
    check<1, 1, 1>();
    check<2, 3, 5>();
    check<61, 130, 67>();
    check<5, 257, 10>();
    check<120, 7, 128>();
    check<1, 300, 65>();
    check<64, 1, 1>();
    check<3, 0, 4>();
    check<247, 131, 67>(); // more than a tile of rows
    check<481, 5, 129>();
}

TEST_CASE("transposed and sliced factors, and factors that are expressions") {
    Tensor<float, Shape<23, 31>> const x = random_tensor<float, Shape<23, 31>>(1);
    Tensor<float, Shape<40, 62>> const w = random_tensor<float, Shape<40, 62>>(2);
    Tensor<float, Shape<31>> const scale = random_tensor<float, Shape<31>>(3);
    Tensor<float, Shape<31, 40>> const thin = transpose(slice<1, 0, 62, 2>(w));
    Tensor y = matmul(x, transpose(slice<1, 0, 62, 2>(w)));
    Tensor z = matmul(x * scale, thin + 1.0f);
    Tensor t = transpose(matmul(x, thin)); // the result turned round
    Tensor<float, Shape<23, 31>> const scaled = x * scale;
    Tensor<float, Shape<31, 40>> const more = thin + 1.0f;
    auto const expected = product(x, thin);
    auto const expected_z = product(scaled, more);
    for (index_t i = 0; i < 23; ++i)
        for (index_t j = 0; j < 40; ++j) {
            CHECK(static_cast<double>(y(i, j)) == doctest::Approx(expected(i, j)).epsilon(1e-4).scale(1));
            CHECK(static_cast<double>(z(i, j)) == doctest::Approx(expected_z(i, j)).epsilon(1e-4).scale(1));
            CHECK(static_cast<double>(t(j, i)) == doctest::Approx(expected(i, j)).epsilon(1e-4).scale(1));
        }
}

TEST_CASE("an epilogue, a reduction of a product, and two products in one statement") {
    Tensor<float, Shape<70, 33>> const x = random_tensor<float, Shape<70, 33>>(4);
    Tensor<float, Shape<33, 65>> const w = random_tensor<float, Shape<33, 65>>(5);
    Tensor<float, Shape<65>> const b = random_tensor<float, Shape<65>>(6);
    Tensor<float, Shape<70, 65>> const residual = random_tensor<float, Shape<70, 65>>(7);
    Tensor y = relu(matmul(x, w) + b) * 2 + residual;
    Tensor p = softmax<1>(matmul(x, w) + b);
    Tensor s = sum<1>(matmul(x, w));
    Tensor two = matmul(x, w) - matmul(tanh(x), w);
    Tensor chain = matmul(matmul(x, w), transpose(w));
    Tensor<float, Shape<70, 33>> const bent = tanh(x);
    auto const expected = product(x, w), expected_bent = product(bent, w);
    for (index_t i = 0; i < 70; ++i) {
        double total = 0, row = 0;
        for (index_t j = 0; j < 65; ++j) {
            total += std::exp(expected(i, j) + static_cast<double>(b(j)));
            row += expected(i, j);
        }
        CHECK(static_cast<double>(s(i)) == doctest::Approx(row).epsilon(1e-4).scale(10));
        for (index_t j = 0; j < 65; ++j) {
            double const sum = expected(i, j) + static_cast<double>(b(j));
            CHECK(static_cast<double>(y(i, j)) ==
                  doctest::Approx(std::fmax(sum, 0) * 2 + static_cast<double>(residual(i, j))).epsilon(1e-4).scale(1));
            CHECK(static_cast<double>(p(i, j)) == doctest::Approx(std::exp(sum) / total).epsilon(1e-3));
            CHECK(static_cast<double>(two(i, j)) ==
                  doctest::Approx(expected(i, j) - expected_bent(i, j)).epsilon(1e-4).scale(1));
        }
        for (index_t j = 0; j < 33; ++j) {
            double sum = 0;
            for (index_t k = 0; k < 65; ++k) sum += expected(i, k) * static_cast<double>(w(j, k));
            CHECK(static_cast<double>(chain(i, j)) == doctest::Approx(sum).epsilon(1e-4).scale(10));
        }
    }
}

TEST_CASE("products in double and in whole numbers") {
    Tensor<double, Shape<7, 150>> const x = random_tensor<double, Shape<7, 150>>(8);
    Tensor<double, Shape<150, 9>> const w = random_tensor<double, Shape<150, 9>>(9);
    Tensor y = matmul(x, w);
    auto const expected = product(x, w);
    for (index_t i = 0; i < 7; ++i)
        for (index_t j = 0; j < 9; ++j) CHECK(y(i, j) == doctest::Approx(expected(i, j)).epsilon(1e-13));
    Tensor<std::int32_t, Shape<2, 3>> const a{{1, 2, 3}, {4, 5, 6}};
    Tensor<std::int32_t, Shape<3, 2>> const b{{7, 8}, {9, 10}, {11, 12}};
    Tensor c = matmul(a, b);
    static_assert(std::is_same_v<decltype(c), Tensor<std::int32_t, Shape<2, 2>>>);
    CHECK(c(0, 0) == 58);
    CHECK(c(1, 1) == 154);
}

TEST_CASE("a product may be assigned to one of its factors") {
    Tensor<float, Shape<33, 33>> x = random_tensor<float, Shape<33, 33>>(10);
    Tensor<float, Shape<33, 33>> const w = random_tensor<float, Shape<33, 33>>(11);
    auto const expected = product(x, w);
    x = matmul(x, w);
    for (index_t i = 0; i < 33; ++i)
        for (index_t j = 0; j < 33; ++j)
            CHECK(static_cast<double>(x(i, j)) == doctest::Approx(expected(i, j)).epsilon(1e-4).scale(1));
}
