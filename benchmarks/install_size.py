"""What the base and each extra bring: packages, and megabytes of their files with byte-code, without numpy's.

    python benchmarks/install_size.py [WHEEL]

It builds the wheel (or takes that one), and installs it into an empty folder for each combination.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMBINATIONS = ("", "containers", "environments", "gpu", "html", "statistics", "remote", "data", "tune",
                "containers,environments", "html,statistics", "all")  # fmt: skip
#: Most that the base may have: packages, and megabytes without numpy's.
MOST_PACKAGES, MOST_MB = 12, 40.0


def run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def built(folder: Path) -> Path:
    source = folder / "source"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*pip, "--wheel-dir", folder, source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(wheel: Path, extras: str, folder: Path) -> dict[str, int]:
    """Package → bytes of its files, byte-code included."""
    named = (
        f"reprokit-verify[{extras}] @ {wheel.as_uri()}" if extras else f"reprokit-verify @ {wheel.as_uri()}"
    )
    run(sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, named)
    run(sys.executable, "-m", "compileall", "-q", folder)
    return {one.name: size_of(one) for one in metadata.distributions(path=[str(folder)])}


def size_of(package: metadata.Distribution) -> int:
    files = {Path(str(package.locate_file(file))) for file in package.files or ()}
    for file in [*files]:
        if file.suffix == ".py":
            files |= set((file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"))
    return sum(file.stat().st_size for file in files if file.is_file())


def main(wheel: Path | None) -> int:
    with tempfile.TemporaryDirectory() as name:
        wheel = wheel or built(Path(name))
        fits = True
        print("| extras | packages | MB | without numpy |\n|---|---|---|---|")
        for number, extras in enumerate(COMBINATIONS):
            sizes = installed(wheel.resolve(), extras, Path(name) / f"packages-{number}")
            whole, beside = sum(sizes.values()) / 1e6, (sum(sizes.values()) - sizes["numpy"]) / 1e6
            print(f"| {extras or 'none'} | {len(sizes)} | {whole:.1f} | {beside:.1f} |", flush=True)
            if not extras:
                fits = len(sizes) <= MOST_PACKAGES and beside <= MOST_MB
                print(
                    "".join(f"| – {one} | | {size / 1e6:.2f} | |\n" for one, size in sorted(sizes.items())),
                    end="",
                )
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
