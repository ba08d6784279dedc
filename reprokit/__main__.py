"""``python -m reprokit`` is ``reprokit``."""

from reprokit.cli import main

if __name__ == "__main__":
    main()
