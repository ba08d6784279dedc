"""One archive that a reviewer can reproduce a result from, on another machine."""
