// Integer instructions against the host's arithmetic, each through inline PTX: what nvcc would choose is not left to
// chance.
#include "check.cuh"

#include <cstdint>

#define OPERATION(NAME, TEMPLATE)                                                                                      \
    __device__ std::uint32_t NAME(std::uint32_t a, std::uint32_t b, std::uint32_t c) {                                 \
        std::uint32_t r;                                                                                               \
        asm volatile(TEMPLATE : "=r"(r) : "r"(a), "r"(b), "r"(c));                                                     \
        return r;                                                                                                      \
    }
OPERATION(add, "add.u32 %0, %1, %2;")
OPERATION(mul_hi_s, "mul.hi.s32 %0, %1, %2;")
OPERATION(mul_hi_u, "mul.hi.u32 %0, %1, %2;")
OPERATION(mad, "mad.lo.s32 %0, %1, %2, %3;")
OPERATION(mad24, "mad24.lo.s32 %0, %1, %2, %3;")
OPERATION(sad, "sad.s32 %0, %1, %2, %3;")
OPERATION(div_s, "div.s32 %0, %1, %2;")
OPERATION(rem_u, "rem.u32 %0, %1, %2;")
OPERATION(min_s, "min.s32 %0, %1, %2;")
OPERATION(max_u, "max.u32 %0, %1, %2;")
OPERATION(shift, "shl.b32 %0, %1, %2;")
OPERATION(shift_arithmetic, "shr.s32 %0, %1, %2;")
OPERATION(funnel, "shf.l.wrap.b32 %0, %1, %2, %3;")
OPERATION(funnel_clamp, "shf.r.clamp.b32 %0, %1, %2, %3;")
OPERATION(field, "bfe.s32 %0, %1, %2, %3;")
OPERATION(field_u, "bfe.u32 %0, %1, %2, %3;")
OPERATION(insert, "bfi.b32 %0, %1, %2, %3, 7;")
OPERATION(permute, "prmt.b32 %0, %1, %2, %3;")
OPERATION(permute_f4e, "prmt.b32.f4e %0, %1, %2, %3;")
OPERATION(logic, "lop3.b32 %0, %1, %2, %3, 0x96;")
OPERATION(zeros, "clz.b32 %0, %1;")
OPERATION(ones, "popc.b32 %0, %1;")
OPERATION(reverse, "brev.b32 %0, %1;")
OPERATION(find, "bfind.u32 %0, %1;")
OPERATION(find_signed, "bfind.shiftamt.s32 %0, %1;")
OPERATION(saturating, "add.sat.s32 %0, %1, %2;")
OPERATION(carry, "{ .reg .u32 t; add.cc.u32 t, %1, %2; addc.u32 %0, %3, 0; }")
OPERATION(borrow, "{ .reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %3, 0; }")
OPERATION(no_borrow, "{ .reg .u32 t; sub.cc.u32 t, %1, %2; addc.u32 %0, %3, 0; }")
OPERATION(dot, "dp4a.s32.s32 %0, %1, %2, %3;")
OPERATION(narrow, "{ .reg .s16 t; cvt.s16.s32 t, %1; cvt.s32.s16 %0, t; }")
OPERATION(clamp, "{ .reg .u16 t; cvt.sat.u8.s32 t, %1; cvt.u32.u16 %0, t; }")
OPERATION(choose, "{ .reg .pred p; setp.lt.u32 p, %1, %2; selp.b32 %0, %2, %3, p; }")
OPERATION(set, "set.lt.u32.s32 %0, %1, %2;")
OPERATION(choose_sign, "slct.s32.s32 %0, %1, %2, %3;")
OPERATION(mask, "{ .reg .u32 t; and.b32 t, %2, 31; bmsk.clamp.b32 %0, %1, t; }")

constexpr int operations = 36;

__global__ void run(std::uint32_t const* in, std::uint32_t* out, int count) {
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    std::uint32_t const a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2], s = b & 63, nonzero = b ? b : 1;
    std::uint32_t const results[operations] = {add(a, b, c),
                                               mul_hi_s(a, b, c),
                                               mul_hi_u(a, b, c),
                                               mad(a, b, c),
                                               mad24(a, b, c),
                                               sad(a, b, c),
                                               div_s(a, nonzero, c),
                                               rem_u(a, nonzero, c),
                                               min_s(a, b, c),
                                               max_u(a, b, c),
                                               shift(a, s, c),
                                               shift_arithmetic(a, s, c),
                                               funnel(a, b, c),
                                               funnel_clamp(a, b, c & 63),
                                               field(a, b & 31, c & 31),
                                               field_u(a, b & 31, c & 31),
                                               insert(a, b, c & 15),
                                               permute(a, b, c),
                                               permute_f4e(a, b, c),
                                               logic(a, b, c),
                                               zeros(a, b, c),
                                               ones(a, b, c),
                                               reverse(a, b, c),
                                               find(a, b, c),
                                               find_signed(a, b, c),
                                               saturating(a, b, c),
                                               carry(a, b, c),
                                               borrow(a, b, c),
                                               no_borrow(a, b, c),
                                               dot(a, b, c),
                                               narrow(a, b, c),
                                               clamp(a, b, c),
                                               choose(a, b, c),
                                               set(a, b, c),
                                               choose_sign(a, b, c),
                                               mask(a & 31, b, c)};
    for (int k = 0; k < operations; ++k) out[operations * i + k] = results[k];
}

std::uint32_t expected(int operation, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    auto const sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
    std::uint64_t const pair = std::uint64_t{b} << 32 | a;
    std::uint32_t const nonzero = b ? b : 1, s = b & 63;
    auto const low24 = [](std::uint32_t x) {
        return static_cast<std::int64_t>(static_cast<std::int32_t>(x << 8) >> 8);
    };
    auto const byte = [&](std::uint32_t k) { return static_cast<std::uint32_t>(pair >> (8 * (k & 7))) & 0xff; };
    std::uint32_t r = 0;
    switch (operation) {
    case 0: return a + b;
    case 1: return static_cast<std::uint32_t>((std::int64_t{sa} * sb) >> 32);
    case 2: return static_cast<std::uint32_t>((std::uint64_t{a} * b) >> 32);
    case 3: return a * b + c;
    case 4: return static_cast<std::uint32_t>(low24(a) * low24(b)) + c;
    case 5: return c + static_cast<std::uint32_t>(std::llabs(static_cast<long long>(sa) - sb));
    case 6: return nonzero == ~0u ? 0u - a : static_cast<std::uint32_t>(sa / static_cast<std::int32_t>(nonzero));
    case 7: return a % nonzero;
    case 8: return sa < sb ? a : b;
    case 9: return a > b ? a : b;
    case 10: return s > 31 ? 0 : a << s;
    case 11: return static_cast<std::uint32_t>(s > 31 ? sa >> 31 : sa >> s);
    case 12: return static_cast<std::uint32_t>((pair << (c & 31)) >> 32);
    case 13: return static_cast<std::uint32_t>(pair >> ((c & 63) > 32 ? 32 : c & 63));
    case 14: {
        std::int64_t const wide = static_cast<std::int64_t>(sa) >> (b & 31);
        return (c & 31) == 0 ? 0
                             : static_cast<std::uint32_t>(
                                   static_cast<std::int32_t>(static_cast<std::uint32_t>(wide) << (32 - (c & 31))) >>
                                   (32 - (c & 31)));
    }
    case 15: return (a >> (b & 31)) & ((1u << (c & 31)) - 1);
    case 16: return (b & ~(0x7fu << (c & 15))) | ((a & 0x7f) << (c & 15));
    case 17:
        for (int i = 0; i < 4; ++i) {
            std::uint32_t const k = c >> (4 * i) & 15, v = byte(k);
            r |= (k & 8 ? (v & 0x80 ? 0xffu : 0u) : v) << (8 * i);
        }
        return r;
    case 18:
        for (std::uint32_t i = 0; i < 4; ++i) r |= byte((c & 3) + i) << (8 * i);
        return r;
    case 19: return a ^ b ^ c;
    case 20: return a ? static_cast<std::uint32_t>(__builtin_clz(a)) : 32;
    case 21: return static_cast<std::uint32_t>(__builtin_popcount(a));
    case 22:
        for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
        return r;
    case 23: return a ? 31 - static_cast<std::uint32_t>(__builtin_clz(a)) : ~0u;
    case 24: {
        std::uint32_t const v = sa < 0 ? ~a : a;
        return v ? static_cast<std::uint32_t>(__builtin_clz(v)) : ~0u;
    }
    case 25: {
        std::int64_t const sum = std::int64_t{sa} + sb;
        return static_cast<std::uint32_t>(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
    }
    case 26: return c + (a + b < a);
    case 27: return c - (a < b);
    case 28: return c + (a >= b);
    case 29:
        r = c;
        for (int i = 0; i < 4; ++i)
            r += static_cast<std::uint32_t>(static_cast<std::int8_t>(a >> (8 * i)) *
                                            static_cast<std::int8_t>(b >> (8 * i)));
        return r;
    case 30: return static_cast<std::uint32_t>(static_cast<std::int16_t>(a));
    case 31: return sa < 0 ? 0 : sa > 255 ? 255 : a;
    case 32: return a < b ? b : c;
    case 33: return sa < sb ? ~0u : 0;
    case 34: return static_cast<std::int32_t>(c) >= 0 ? a : b;
    default: return ((b & 31) ? (~0u >> (32 - (b & 31))) : 0) << (a & 31);
    }
}

__global__ void wide(unsigned long long const* in, unsigned long long* out) {
    unsigned long long const a = in[0], b = in[1];
    __int128 const product = static_cast<__int128>(static_cast<long long>(a)) * static_cast<long long>(b);
    out[0] = __umul64hi(a, b);
    out[1] = static_cast<unsigned long long>(product >> 64);
    out[2] = a / b;
    out[3] = a % b;
    out[4] = static_cast<unsigned long long>(__clzll(static_cast<long long>(a)));
    out[5] = static_cast<unsigned long long>(__ffsll(static_cast<long long>(b)));
    out[6] = __brevll(a);
    out[7] = static_cast<unsigned long long>(product / 1000003);
}

int main() {
    constexpr int count = 1000;
    std::mt19937 generator(5);
    std::vector<std::uint32_t> in(3 * count);
    std::uint32_t const special[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 31, 32, 33};
    for (auto& x : in) x = generator() % 3 ? static_cast<std::uint32_t>(generator()) : special[generator() % 8];
    check::Device<std::uint32_t> input(in), output(static_cast<std::size_t>(count) * operations);
    run<<<(count + 63) / 64, 64>>>(input.data(), output.data(), count);
    CHECK_CUDA(cudaDeviceSynchronize());
    auto const out = output.host();
    for (int k = 0; k < operations; ++k) {
        bool good = true;
        for (int i = 0; i < count; ++i) {
            std::uint32_t const want = expected(k, in[3 * i], in[3 * i + 1], in[3 * i + 2]),
                                got = out[operations * i + k];
            if (want != got && good)
                std::printf("operation %d of %x %x %x: %x, expected %x\n", k, in[3 * i], in[3 * i + 1], in[3 * i + 2],
                            got, want);
            good &= want == got;
        }
        CHECK(good);
    }

    unsigned long long const a = 0x9876543210fedcbaull, b = 0x123456789ull;
    check::Device<unsigned long long> pair(std::vector<unsigned long long>{a, b}), results(std::size_t{8});
    wide<<<1, 1>>>(pair.data(), results.data());
    auto const w = results.host();
    __int128 const product = static_cast<__int128>(static_cast<long long>(a)) * static_cast<long long>(b);
    CHECK(w[0] == static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64));
    CHECK(w[1] == static_cast<unsigned long long>(product >> 64));
    CHECK(w[2] == a / b && w[3] == a % b && w[4] == 0 && w[5] == 1);
    unsigned long long reversed = 0;
    for (int i = 0; i < 64; ++i) reversed |= (a >> i & 1) << (63 - i);
    CHECK(w[6] == reversed);
    CHECK(w[7] == static_cast<unsigned long long>(product / 1000003));
    return check::summary();
}
