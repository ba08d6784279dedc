"""Two series of records compared value by value: steps, names, errors, windows, clocks."""
