"""What looks into a program while it runs, for ``reprokit diagnose``.

This folder goes onto the program's PYTHONPATH: its ``sitecustomize`` starts ``reprokit_hook`` before the
program's first line. Everything here imports the standard library only, since it runs in the user's
interpreter; NumPy, PyTorch and Gymnasium are reached only where the program itself imports them.
"""

__all__: list[str] = []
