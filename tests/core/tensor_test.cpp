#include <tenon/core/print.hpp>
#include <tenon/expr/expr.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <sstream>
#include <utility>

using namespace tenon;

namespace {

using Matrix = Tensor<float, Shape<2, 3>>;
static_assert(Matrix::rank == 2 && Matrix::size() == 6 && Matrix::bytes() == 24);
static_assert(Tensor<double, Shape<>>::size() == 1);
static_assert(std::is_nothrow_move_constructible_v<Matrix> && std::is_copy_constructible_v<Matrix>);
static_assert(!std::is_constructible_v<Matrix, float>); // a number is no matrix

template <class T>
std::string text(T const& value) {
    std::ostringstream to;
    to << value;
    return to.str();
}

} // namespace

TEST_CASE("a new tensor is zero, aligned to 64 bytes, and on the heap") {
    Tensor<float, Shape<1024, 1024, 12>> large; // 48 MiB: would not fit on a stack
    CHECK(reinterpret_cast<std::uintptr_t>(large.data()) % 64 == 0);
    CHECK(large(0, 0, 0) == 0);
    CHECK(large(1023, 1023, 11) == 0);
    Tensor<std::uint8_t, Shape<7>> small;
    CHECK(reinterpret_cast<std::uintptr_t>(small.data()) % 64 == 0);
    Tensor<float, Shape<3, 0>> empty;
    CHECK(empty.begin() == empty.end());
}

TEST_CASE("tensors are written down as lists") {
    Matrix const rows{{1, 2, 3}, {4, 5, 6}};
    CHECK(rows(1, 0) == 4);
    Matrix const flat{1, 2, 3, 4, 5, 6};
    CHECK(flat(0, 2) == 3);
    Tensor<float, Shape<2, 1>> const column{{1}, {2}};
    CHECK(column(1, 0) == 2);
    Tensor<int, Shape<2, 1, 2>> const matrices{{{1, 2}}, {{3, 4}}};
    CHECK(matrices(1, 0, 1) == 4);
    Tensor<bool, Shape<2>> const truths{true, false};
    CHECK(truths(0));
    Tensor<double, Shape<>> const number{2.5};
    CHECK(number.item() == 2.5);
    std::array<float, 6> const values{6, 5, 4, 3, 2, 1};
    CHECK(Matrix{std::span<float const>{values}}(0, 0) == 6);
}

TEST_CASE("a list of another length is refused and says both lengths") {
    CHECK_THROWS_WITH_AS((Matrix{1, 2, 3, 4, 5}), "tensor initialised with 5 values, its shape has 6", Error);
    CHECK_THROWS_WITH_AS((Matrix{{1, 2, 3}}), "tensor initialised with 1 rows, its shape has 2", Error);
    CHECK_THROWS_WITH_AS((Matrix{{1, 2, 3}, {4, 5}}), "tensor initialised with 2 values in a row, its shape has 3",
                         Error);
    std::array<float, 7> const values{};
    CHECK_THROWS_AS((Matrix{std::span<float const>{values}}), Error);
}

TEST_CASE("copies are deep, moves hand over, and both ways of assignment work") {
    Matrix a{{1, 2, 3}, {4, 5, 6}};
    Matrix b = a;
    b(0, 0) = 9;
    CHECK(a(0, 0) == 1);
    float const* const elements = a.data();
    Matrix c = std::move(a);
    CHECK(c.data() == elements);
    a = c; // a moved-from tensor can be assigned to
    CHECK(a(1, 2) == 6);
    CHECK(a.data() != c.data());
    b = std::move(c);
    CHECK(b.data() == elements);
    Matrix& same = b;
    b = same;
    CHECK(b(1, 2) == 6);
    Matrix d, e;
    d = e = a + 1.0f;
    CHECK(d(0, 0) == 2);
    CHECK(e(0, 0) == 2);
}

#if TENON_CHECK_BOUNDS
TEST_CASE("an index outside says which axis and how long it is") {
    Matrix x;
    CHECK_THROWS_WITH_AS(x(2, 0), "index 2 is outside axis 0, which has 2 elements", Error);
    CHECK_THROWS_WITH_AS(x(0, -1), "index -1 is outside axis 1, which has 3 elements", Error);
}
#endif

TEST_CASE("fill, elements and iteration see every element") {
    Matrix x;
    x.fill(2);
    float sum = 0;
    for (float v : std::as_const(x)) sum += v;
    CHECK(sum == 12);
    CHECK(x.elements().size() == 6);
    x = 3; // a number goes to every element
    CHECK(x(1, 2) == 3);
}

TEST_CASE("a view is a window: writes go through, and one that reads only comes from one that writes") {
    Matrix x{{1, 2, 3}, {4, 5, 6}};
    View<float, Shape<3, 2>, Strides<1, 3>> const columns = transpose(x);
    columns(2, 1) = 60;
    CHECK(x(1, 2) == 60);
    View<float const, Shape<3, 2>, Strides<1, 3>> const reads = columns;
    CHECK(reads(2, 1) == 60);
    static_assert(!std::is_assignable_v<decltype(reads(0, 0)), float>);
}

TEST_CASE("tensors print as nested brackets") {
    CHECK(text(Matrix{{1, 2, 3}, {4, 5.5f, 6}}) == "[[1, 2, 3],\n [4, 5.5, 6]]");
    CHECK(text(Tensor<std::uint8_t, Shape<2>>{7, 65}) == "[7, 65]");
    CHECK(text(Tensor<int, Shape<2, 1, 2>>{1, 2, 3, 4}) == "[[[1, 2]],\n\n [[3, 4]]]");
    CHECK(text(Tensor<double, Shape<>>{0.5}) == "0.5");
    Matrix const x{{1, 2, 3}, {4, 5, 6}};
    CHECK(text(transpose(x)) == "[[1, 4],\n [2, 5],\n [3, 6]]");
    CHECK(text(x * 2.0f) == "[[2, 4, 6],\n [8, 10, 12]]");
    CHECK(text(Shape<2, 3>{}) == "Shape<2, 3>");
}
