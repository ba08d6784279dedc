"""Fuzzers over every parser that reads bytes which this project did not write.

make fuzz                        # two minutes each
make fuzz SECONDS=7200           # hours
make fuzz TARGETS="csv jsonl"    # some of them
"""
