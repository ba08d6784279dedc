"""Records as bytes: protobuf, and the events of TensorBoard in it."""
