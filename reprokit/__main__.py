"""``python -m reprokit`` is ``reprokit``."""

from reprokit.start import main

if __name__ == "__main__":
    main()
