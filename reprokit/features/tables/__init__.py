"""Tables of data: shown, compared, split and converted."""
