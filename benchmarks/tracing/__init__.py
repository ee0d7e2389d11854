"""Where the time of one run goes: notes of its calls into the C library, sorted into phases."""
