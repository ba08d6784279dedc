"""``python -m reprokit`` is ``reprokit``.

$ python -m reprokit --help
"""

from reprokit.cli import main

if __name__ == "__main__":
    main()
