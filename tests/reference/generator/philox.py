"""The library's counter-based random numbers, written a second time in numpy.

Philox4x32-10 is from Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC11). `self_check`
holds the known answers that its authors publish with Random123 (tests/kat_vectors, philox4x32, 10 rounds).
"""

import numpy as np

from .table import Table

MASK = np.uint64(0xFFFFFFFF)
MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)

# What a stream of numbers is for: the high 8 bits of the stream word.
INITIAL_WEIGHTS, SHUFFLE, DROPOUT, USER = 0, 1, 2, 3

CONVENTION = """\
bits(stream, element): Philox4x32-10, key = seed (low word first), counter = {low(element / 4), high(element / 4),
    stream, step}, step 0 unless said, output word element % 4. stream(purpose, number) = purpose << 24 | number."""

KNOWN_ANSWERS = (  # counter, key, output
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
)


def philox4x32(counter, key):
    """Ten rounds over `counter` (..., 4) with `key` (2 words): four random words each, of 32 bits in uint64 arrays."""
    c = [np.asarray(counter[..., word], dtype=np.uint64) for word in range(4)]
    k = [int(word) for word in key]
    for _ in range(10):
        products = (MULTIPLIERS[0] * c[0], MULTIPLIERS[1] * c[2])
        high = [product >> np.uint64(32) for product in products]
        low = [product & MASK for product in products]
        c = [high[1] ^ c[1] ^ np.uint64(k[0]), low[1], high[0] ^ c[3] ^ np.uint64(k[1]), low[0]]
        k = [(word + step) & 0xFFFFFFFF for word, step in zip(k, KEY_STEPS)]
    return np.stack(c, axis=-1)


def stream(purpose, number):
    """The stream word: what the numbers are for, and which of these (a parameter's number, a layer's number)."""
    return purpose << 24 | number


def bits(seed, stream_word, elements, step=0):
    """The 32 random bits of each of `elements` (integers below 2^64), as uint64."""
    elements = np.asarray(elements, dtype=np.uint64)
    block, word = elements >> np.uint64(2), elements & np.uint64(3)
    constant = np.zeros_like(block)
    counter = np.stack([block & MASK, block >> np.uint64(32), constant + np.uint64(stream_word),
                        constant + np.uint64(step)], axis=-1)
    output = philox4x32(counter, (seed & 0xFFFFFFFF, seed >> 32))
    return np.take_along_axis(output, word[..., None].astype(np.int64), axis=-1)[..., 0]


def uniform(seed, stream_word, elements, step=0):
    """float32 in [0, 1): the upper 24 bits of each element, exact."""
    return (bits(seed, stream_word, elements, step) >> np.uint64(8)).astype(np.float32) * np.float32(2.0 ** -24)


def self_check():
    """Raises if this implementation disagrees with the published answers."""
    for counter, key, expected in KNOWN_ANSWERS:
        counter_words, key_words, expected_words = ([int(word, 16) for word in text.split()]
                                                    for text in (counter, key, expected))
        found = philox4x32(np.array(counter_words, dtype=np.uint64), key_words)
        if not np.array_equal(found, expected_words):
            raise AssertionError(f"philox4x32-10 of {counter}, key {key}: {found} is not {expected}")


def random_numbers():
    """bits (32-bit words) and uniform of some elements, for several seeds, streams and steps."""
    table = Table()
    table.comment(f"{random_numbers.__doc__}\n{CONVENTION}")
    element = np.array([0, 1, 2, 3, 4, 5, 6, 7, 1023, 2 ** 32 - 1, 2 ** 34 - 1, 2 ** 34, 2 ** 34 + 5, 2 ** 62 + 2])
    cases = (("zero", 0, 0, 0), ("one", 1, stream(INITIAL_WEIGHTS, 3), 0),
             ("wide_seed", 0x123456789ABCDEF0, stream(DROPOUT, 0xFFFFFF), 7),
             ("all_ones", 2 ** 63 - 1, 0xFFFFFFFF, 0xFFFFFFFF), ("user", 42, stream(USER, 1), 1))
    table.add("element", element, "i64")
    for case, seed, stream_word, step in cases:
        table.comment("")
        table.comment(f"{case}: seed {seed:#x}, stream {stream_word:#x}, step {step:#x}")
        for name, value in {"seed": seed, "stream": stream_word, "step": step}.items():
            table.add(f"{case}.{name}", value, "i64")
        table.add(f"{case}.bits", bits(seed, stream_word, element, step), "i64")
        table.add(f"{case}.uniform", uniform(seed, stream_word, element, step), "f32")
    return table
