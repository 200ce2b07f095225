"""PTX's types and the C++ types that stand for them."""

# The value of a PTX type in C++. Half formats are classes of device/half.hpp that hold the bits.
CPP = {
    "pred": "bool",
    "b8": "std::uint8_t",
    "u8": "std::uint8_t",
    "s8": "std::int8_t",
    "b16": "std::uint16_t",
    "u16": "std::uint16_t",
    "s16": "std::int16_t",
    "b32": "std::uint32_t",
    "u32": "std::uint32_t",
    "s32": "std::int32_t",
    "b64": "std::uint64_t",
    "u64": "std::uint64_t",
    "s64": "std::int64_t",
    "b128": "unsigned __int128",
    "u128": "unsigned __int128",
    "s128": "__int128",
    "f32": "float",
    "f64": "double",
    "f16": "Half",
    "bf16": "Bfloat",
    "f16x2": "Half2",
    "bf16x2": "Bfloat2",
    "u16x2": "std::uint32_t",
    "s16x2": "std::uint32_t",
    "tf32": "std::uint32_t",
}

_WIDTH = {"pred": 1, "tf32": 32, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "bf16": 16}


def width(ptx_type: str) -> int:
    """Bits in a value of this type."""
    return _WIDTH.get(ptx_type) or int(ptx_type[1:])


def is_signed(ptx_type: str) -> bool:
    return ptx_type in ("s8", "s16", "s32", "s64", "s128")


def is_integer(ptx_type: str) -> bool:
    return ptx_type[0] in "bus" and ptx_type not in ("bf16", "bf16x2", "u16x2", "s16x2")


def is_half(ptx_type: str) -> bool:
    return ptx_type in ("f16", "bf16", "f16x2", "bf16x2")


def is_float(ptx_type: str) -> bool:
    return ptx_type in ("f32", "f64")


def unsigned(ptx_type: str) -> str:
    """The type that wraps around where the signed one would overflow, which C++ leaves undefined."""
    return "u" + ptx_type[1:] if is_signed(ptx_type) else ptx_type


def wider(ptx_type: str) -> str:
    """The type of twice the width: what mul.wide returns."""
    return f"{ptx_type[0]}{2 * width(ptx_type)}"
