#include <tenon/core/dtype.hpp>
#include <tenon/core/shape.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace tenon;

namespace {

using Image = Shape<3, 28, 20>;
static_assert(Image::rank == 3 && Image::count == 3 * 28 * 20);
static_assert(Shape<>::rank == 0 && Shape<>::count == 1);
static_assert(Shape<4, 0, 5>::count == 0);
static_assert(Shape<1 << 20, 1 << 20>::count == index_t{1} << 40); // sizes are 64 bits wide

static_assert(std::is_same_v<shape_of<Dims{}>, Shape<>>);
static_assert(std::is_same_v<shape_of<Dims{7}>, Shape<7>>);
static_assert(std::is_same_v<shape_of<Image::dims>, Image>);
static_assert(std::is_same_v<strides_of<contiguous_strides(Image::dims)>, Strides<560, 20, 1>>);

static_assert(is_contiguous({3, 4}, {4, 1}));
static_assert(!is_contiguous({3, 4}, {1, 3}));
static_assert(is_contiguous({1, 4}, {99, 1})); // the stride of a single element does not matter
static_assert(!is_contiguous({3, 4}, {8, 1}));

static_assert(normalised_axis(-1, 3) == 2 && normalised_axis(0, 3) == 0 && normalised_axis(-3, 3) == 0);
static_assert(normalised_axis(3, 3) == -1 && normalised_axis(-4, 3) == -1 && normalised_axis(0, 0) == -1);

constexpr bool gives(Dims const& a, Dims const& b, Dims const& together) {
    return broadcast(a, b).fits && broadcast(a, b).dims == together;
}
static_assert(gives({2, 3}, {3}, {2, 3}));
static_assert(gives({3}, {2, 3}, {2, 3}));
static_assert(gives({2, 1}, {1, 5}, {2, 5}));
static_assert(gives({}, {4}, {4}));
static_assert(gives({0, 3}, {1, 3}, {0, 3}));
static_assert(gives({6, 1, 4}, {5, 1}, {6, 5, 4}));
static_assert(!broadcast({2, 3}, {2}).fits);
static_assert(!broadcast({0}, {3}).fits);

static_assert(promote(DType::int64, DType::float32) == DType::float32);
static_assert(promote(DType::uint8, DType::int32) == DType::int32);
static_assert(promote_with_scalar(DType::float32, DType::float64) == DType::float32);
static_assert(promote_with_scalar(DType::int32, DType::float64) == DType::float32);
static_assert(promote_with_scalar(DType::uint8, DType::int64) == DType::uint8);
static_assert(promote_with_scalar(DType::boolean, DType::int32) == DType::int64);
static_assert(dtype_of<double const> == DType::float64 && std::is_same_v<type_of<DType::uint8>, std::uint8_t>);

} // namespace

TEST_CASE("every element type knows its size") {
    CHECK(size_of(DType::boolean) == sizeof(bool));
    CHECK(size_of(DType::uint8) == 1);
    CHECK(size_of(DType::int32) == 4);
    CHECK(size_of(DType::int64) == 8);
    CHECK(size_of(DType::float32) == sizeof(float));
    CHECK(size_of(DType::float64) == sizeof(double));
}
