"""What a program left in a run folder, which of it are logs, and how two folders compare."""
