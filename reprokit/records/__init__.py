"""What reprokit writes to disk, read once and strictly into typed records; what is not so is refused here.

One module a file. No code behind them asks whether a value is of the type that its record says.
"""

__all__ = ["environment_json", "json_file", "provenance_json", "run_json", "strict"]
