"""What tests of several folders share: stand-ins, planted evidence, samples, reference implementations."""
