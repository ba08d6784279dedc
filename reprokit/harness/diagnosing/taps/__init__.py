"""Native taps: what compiled code draws, which clocks it reads and which threads it starts, and these held.

A small library of C (``taps.c``) that the dynamic linker loads before others (``LD_PRELOAD``) into runs of
``diagnose``, never into a judged one. Without it ``diagnose`` works as before and says what it cannot see.
"""

__all__: list[str] = []
