"""What is known of an image: its contents, and its documents."""

__all__ = ["image_documents"]
