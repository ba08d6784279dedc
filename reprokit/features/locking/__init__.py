"""From what a project asks for to a lock: its files read, solved with uv, an environment of its own made.

What a lock says is read by ``reprokit.images.locks``; nothing here is needed to build or run.
"""
