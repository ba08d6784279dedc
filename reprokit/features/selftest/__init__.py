"""The gate tests itself: faults planted in copies of real runs, each of which must lead to its verdict.

``table`` says which verdict each kind of fault must lead to; ``faults`` plants them; ``planting`` keeps the
copies; ``judging`` asks the gate; ``score`` counts; ``samples`` finds real runs. Nothing here judges by
itself: it would agree with a gate that is wrong in the same way.
"""
