"""The judge: pure functions over records. No input or output, no clock, no global state.

The modules that are named here are what other packages and the command line call.
"""

__all__ = ["checklist", "comparison", "determinism_claims", "evidence", "fingerprint", "records", "rounding"]
