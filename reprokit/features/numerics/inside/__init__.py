"""What runs inside the environment of a training, in its Python: the syntax of Python 3.8."""
