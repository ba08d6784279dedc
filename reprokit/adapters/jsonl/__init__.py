"""JSON Lines read and compared at the speed of their bytes."""
