"""What is known of an image: its contents, its documents, and whether a second build is the same."""

__all__ = ["image_documents", "rebuild", "verify"]
