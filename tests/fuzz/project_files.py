"""What lies in a project: recipes, locks, ignore rules, git's objects and index, lists of signers."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from reprokit import recipes
from reprokit.capture import capture_source, git_objects
from reprokit.capture.ignore_rules import IgnoreRules
from reprokit.features.signing import signing
from reprokit.images.locks import read_lock
from reprokit.images.packages import Target as Platform
from reprokit.images.packages import packages_for, read_packages
from reprokit.recipes.document import read_text
from reprokit.recipes.source_file import decoded

from .target import Target, mutated

ROOT = Path(__file__).resolve().parents[2]
_RECIPE = b"""schema: 1
name: train
title: A program as it is
variant: none
command: [python, train.py, "{seed}", "{run_dir}"]
seeds: [3, 0x1F]
platforms: [cpu-x86_64]
printed: ['step (?P<step>\\d+) loss (?P<loss>\\S+)']
volatile: [{metric: sec*, because: the clock}]
tolerances: {metrics: {loss: {rtol: 1e-3}}}
"""
_YAML = (
    b"a: |\n  b\n",
    b"&x ",
    b"*x",
    b"!!python/name:os.system ",
    b"'",
    b"1e400",
    b".inf",
    b"NO",
    b"<<: *x",
    b"- ",
)


@functools.cache
def _recipe_files() -> tuple[bytes, ...]:
    return (_RECIPE, _RECIPE, (ROOT / "recipes" / "pinpad" / "recipe.yaml").read_bytes())


def _check_recipe(data: bytes, folder: Path) -> None:
    path = folder / "recipes" / "train" / "recipe.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    text = decoded(data, where="r")
    document = read_text(text, where="r")
    try:
        official = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  (it makes nothing but text)
    except (yaml.YAMLError, ValueError):
        pass
    else:
        assert _shape(document.data) == _shape(official)
    recipes.load("train", recipes_dir=folder / "recipes")


def _shape(value: Any) -> Any:
    """Structure, keys and the texts that are texts in any version of YAML."""
    if isinstance(value, dict):
        return {key: _shape(one) for key, one in value.items()}
    return [_shape(one) for one in value] if isinstance(value, list) else "scalar"


@functools.cache
def _locks() -> tuple[bytes, ...]:
    lines = (ROOT / "images" / "cpu" / "requirements.lock").read_bytes().split(b"\n")
    return (b"\n".join(lines[:9]), b'a==1.0 ; python_version < "3.12" --hash=sha256:' + b"0" * 64 + b"\n")


def _check_packages(data: bytes, folder: Path) -> None:
    # Here, because the import takes setuptools' distutils away from the whole process, which PyTorch's
    # compiler needs.
    from pip._internal.exceptions import InstallationError
    from pip._internal.req.constructors import install_req_from_line
    from pip._internal.req.req_file import parse_requirements

    path = folder / "requirements.lock"
    path.write_bytes(data)
    found = read_packages(path)
    packages_for(found, Platform(machine="x86_64", python="3.11"))
    try:
        official = list(parse_requirements(str(path), session=None))  # type: ignore[arg-type]
    except (InstallationError, ValueError, SystemExit) as error:
        raise AssertionError("pip refuses this lock") from error
    for ours, theirs in zip(found, official, strict=True):
        wanted = install_req_from_line(theirs.requirement).req
        (pin,) = wanted.specifier
        assert (ours.name, ours.version) == (canonicalize_name(wanted.name), pin.version)
        hashes = {f"{kind}:{one}" for kind, all_ in theirs.options["hashes"].items() for one in all_}
        assert set(ours.hashes) == hashes


def _check_images(data: bytes, folder: Path) -> None:
    (folder / "images").mkdir()
    (folder / "images" / "lock.toml").write_bytes(data)
    lock = read_lock(folder)
    for variant in lock.variants.values():
        lock.based_for(variant).base_packages("x86_64")
    assert lock.bootstrap.date


_RULES = st.lists(
    st.text(alphabet="ab*?[]!\\/-#. ^:", max_size=7)
    | st.sampled_from(["*", "!*.py", "a/", "**/b", "!a--b", "[[:alpha:]]", "!*a*b*a*b*a*b*", "/a", "a/**/b"]),
    min_size=1,
    max_size=5,
)
_PATHS = st.lists(st.text(alphabet="ab-.", min_size=1, max_size=4), min_size=1, max_size=3).map("/".join)
_PATHS |= st.sampled_from(["a--b", "ab.py", "a/b.py", "b/a", "abababab", "a/a/b"])


@functools.cache
def _repository() -> Path:
    place = Path(tempfile.mkdtemp(prefix="reprokit-fuzz-git-"))
    _git(place, "init", "--quiet")
    (place / "train.py").write_text("print(1)\n")
    (place / "sub").mkdir()
    (place / "sub" / "x.txt").write_text("x\n")
    _git(place, "add", "--all")
    _git(place, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "a")
    return place


def _git(place: Path, *arguments: str, sent: bytes = b"") -> bytes:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *arguments], cwd=place, input=sent, capture_output=True, check=False, env=environment
    )
    return done.stdout


def _check_ignored(given: tuple[list[str], list[str]], _folder: Path) -> None:
    """Nothing is left out that git would show; the other way round only makes more files count."""
    lines, paths = given
    paths = [path for path in paths if not {".", "..", ".git"} & set(path.split("/"))]
    place, text = _repository(), "\n".join(lines) + "\n"
    (place / ".gitignore").write_text(text)
    asked = "".join(f"{path}\0" for path in paths).encode()
    said = _git(place, "check-ignore", "--no-index", "-z", "--stdin", sent=asked).decode().split("\0")
    rules = IgnoreRules({"": text})
    for path in paths:
        parts = path.split("/")
        above = ("/".join(parts[:count]) for count in range(1, len(parts)))
        hidden = any(rules.leaves_out(one, is_folder=True) for one in above) or rules.leaves_out(
            path, is_folder=False
        )
        assert not hidden or path in said, f"{path!r} is hidden, and git would show it"


_TREES = st.lists(
    st.tuples(
        st.sampled_from(
            [b"100644", b"100755", b"120000", b"160000", b"40000", b"040000", b"1", b"", b"\xff"]
        ),
        st.sampled_from([b"a", b"b.py", b"..", b"a/b", b"", b"\xff", b"\n", b".git"]),
    ),
    max_size=4,
)


def _check_objects(given: tuple[list[tuple[bytes, bytes]], bytes, bytes], folder: Path) -> None:
    """A tree of any content under its right name, a changed answer of git, a changed index."""
    rows, answer, index = given
    place = folder / "tree"
    shutil.copytree(_repository(), place)
    repository = git_objects.find_repository(place)
    assert repository is not None
    (place / ".git" / "index").write_bytes(index)
    facts = capture_source(place)
    assert facts["missing"].get("commit") or facts["commit"] == _head(place)
    content = b"".join(mode + b" " + name + b"\0" + b"\x11" * 20 for mode, name in rows)
    tree = hashlib.sha1(b"tree %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    for tree_content in (content, answer):
        with contextlib.suppress(git_objects.GitError):
            list(git_objects._walk({tree: tree_content}, tree, size=20))
    asked = git_objects.ask
    git_objects.ask = lambda *_arguments, **_options: answer  # type: ignore[assignment]
    try:
        name = hashlib.sha1(b"blob 1\0a", usedforsecurity=False).hexdigest()
        assert git_objects.objects(repository, [name]) == {name: b"a"}
    finally:
        git_objects.ask = asked


def _head(place: Path) -> str:
    return _git(place, "rev-parse", "HEAD").decode().strip()


@functools.cache
def _index() -> bytes:
    return (_repository() / ".git" / "index").read_bytes()


@functools.cache
def _signed() -> tuple[Path, bytes]:
    """A signed report, and the line that allows its signer."""
    place = Path(tempfile.mkdtemp(prefix="reprokit-fuzz-key-"))
    key = place / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", str(key)], check=True)
    (place / "report.json").write_text("{}\n")
    signing.sign_report(place / "report.json", key=signing.SigningKey(path=key))
    return place, (place / "key.pub").read_bytes()


@st.composite
def _signers(draw: st.DrawFn) -> bytes:
    key = _signed()[1]
    lines = (
        b"ada@example.org " + key,
        key,
        b'!ada@example.org,*@example.org namespaces="git,reprokit-report" ' + key,
        b'ada@example.org namespaces="git" ' + key + b'# a\nada@example.org valid-before="20200101" ' + key,
    )
    words = (
        b"cert-authority ",
        b'namespaces="reprokit-report" ',
        b'valid-after="20990101" ',
        b"\t",
        b"!",
        b"* ",
        key,
    )
    return draw(mutated(lines, words, most=3))


def _check_signers(data: bytes, folder: Path) -> None:
    report, signers = _signed()[0] / "report.json", folder / "allowed_signers"
    signers.write_bytes(data)
    found = signing.check(report, signers=signers)
    assert bool(found.by) != bool(found.problem)
    if found.problem or signing._public_keys(data.decode()):
        assert found.problem or _signed()[1].split()[1] in data
        return
    command = ["ssh-keygen", "-Y", "verify", "-n", signing.NAMESPACE, "-I", found.by, "-f", str(signers)]
    command += ["-s", f"{report}.sig"]
    done = subprocess.run(command, input=report.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


TARGETS = (
    Target(name="recipe", inputs=st.deferred(lambda: mutated(_recipe_files(), _YAML)), check=_check_recipe),
    Target(
        name="pip-lock",
        inputs=st.deferred(
            lambda: mutated(_locks(), (b" --hash=", b"==", b"; ", b" \\\n", b" @ http://x ", b"-r x\n"))
        ),
        check=_check_packages,
    ),
    Target(
        name="image-lock",
        inputs=st.deferred(
            lambda: mutated(((ROOT / "images" / "lock.toml").read_bytes(),), (b'"', b"[[", b" = 1\n"))
        ),
        check=_check_images,
    ),
    Target(
        name="gitignore",
        inputs=st.tuples(_RULES, st.lists(_PATHS, min_size=1, max_size=12)),
        check=_check_ignored,
    ),
    Target(
        name="git-objects",
        inputs=st.tuples(
            _TREES,
            st.deferred(lambda: mutated((b"2e65efe2a145dda7ee51d1741299f848e5bf752e blob 1\na\n",))),
            st.deferred(lambda: mutated((_index(),), (b"\0\0\0\1", b"TREE", b"\x7f\xff\xff\xff"))),
        ),
        check=_check_objects,
        slice_examples=15,
    ),
    Target(name="allowed-signers", inputs=st.deferred(_signers), check=_check_signers, slice_examples=10),
)
