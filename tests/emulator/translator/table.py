"""The table of instructions: mnemonic -> the function that writes its C++.

A handler gets the body it writes for (`operands.Body`) and the instruction, and returns one C++ statement. It must
refuse (`body.refuse`) every form that it does not carry out exactly: a dropped modifier would hide a bug."""

HANDLERS = {}


def instruction(*mnemonics):
    """Registers the decorated function for the first part of the opcode (`ld` of `ld.global.f32`)."""

    def register(handler):
        for mnemonic in mnemonics:
            assert mnemonic not in HANDLERS, mnemonic
            HANDLERS[mnemonic] = handler
        return handler

    return register
