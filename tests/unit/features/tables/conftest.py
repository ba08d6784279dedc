"""What the tests of tables share."""

from support.written_table import table

__all__ = ["table"]
