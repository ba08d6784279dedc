"""What the harness' tests share."""

from support.harness_fixtures import fake, here, inside, make, plant, programs, recipe, repository, told

__all__ = ["fake", "here", "inside", "make", "plant", "programs", "recipe", "repository", "told"]
