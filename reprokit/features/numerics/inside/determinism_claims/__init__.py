"""Operations of PyTorch, repeated with deterministic algorithms off and on: do results keep their bits?"""

__all__: list[str] = []
