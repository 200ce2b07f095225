"""PTX to C++: parse.py reads the text, emit.py writes one C++ function per kernel, the other modules say what each
instruction means."""
