"""Which extensions are loaded, and each reason for which one is not."""

import importlib
import os
import py_compile
import sys
from pathlib import Path

import pytest

from reprokit import extensions
from reprokit.errors import UsageError
from reprokit.extensions import importing
from support.installed_extension import DECLARATION, hashed, install, vouch_again

NAMED = "planted-one==1.0"
LEAVES_A_TRACE = "import pathlib\npathlib.Path({trace!r}).write_text('imported')\n" + DECLARATION


@pytest.fixture(autouse=True)
def _nothing_loaded():
    extensions.unload()
    yield
    extensions.unload()


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    return folder


@pytest.fixture
def trace(tmp_path):
    """A file that the extension's code writes when it is imported."""
    return tmp_path / "trace"


def traced(trace, **more):
    return {"__init__.py": LEAVES_A_TRACE.format(trace=str(trace)), **more}


def load(site, *named):
    extensions.load(named or [NAMED], site_packages=site)
    return [one.label for one in extensions.loaded()]


def why_refused(site):
    assert load(site) == []
    (broken,) = extensions.broken()
    return broken.why


def test_one_that_is_named_with_its_version_is_loaded_with_a_digest_of_its_modules(site, trace):
    install(site, traced(trace))
    assert load(site) == ["planted-one 1.0"]
    assert trace.read_text() == "imported"
    (found,) = extensions.loaded()
    assert found.digest.startswith("sha256:")
    assert extensions.broken() == ()


def test_the_digest_is_that_of_the_wheel_wherever_it_is_installed(tmp_path, site):
    install(site)
    load(site)
    one = extensions.loaded()[0].digest
    extensions.unload()
    other = tmp_path / "other"
    about = install(other)
    (about / "INSTALLER").write_text("pip\n")
    vouch_again(about, f"{about.name}/INSTALLER")
    load(other)
    assert extensions.loaded()[0].digest == one
    extensions.unload()
    install(other, {"__init__.py": DECLARATION + "\nOTHER = 1\n"})
    load(other)
    assert extensions.loaded()[0].digest != one


def test_an_entry_point_alone_loads_nothing(site, trace):
    install(site, traced(trace))
    extensions.load([], site_packages=site)
    assert extensions.loaded() == ()
    assert not trace.exists()


@pytest.mark.parametrize("text", ["planted-one", "planted-one>=1.0", "planted-one==1.*", "a==1;b", 7, "==1"])
def test_a_name_without_exactly_one_version_is_wrong_usage(site, text):
    with pytest.raises(UsageError, match="exact version"):
        extensions.load([text], site_packages=site)


@pytest.mark.parametrize("named", ["planted-one==1.1", "other==1.0"])
def test_a_list_that_is_not_met_imports_nothing_at_all(site, trace, named):
    install(site, traced(trace))
    install(site, {"__init__.py": DECLARATION}, name="good", version="2.0")
    with pytest.raises(UsageError, match="is not installed in this version"):
        extensions.load(["good==2.0", named], site_packages=site)
    assert extensions.loaded() == ()
    assert "good" not in sys.modules
    assert not trace.exists()


def test_the_version_that_is_there_is_named(site):
    install(site, version="3.0")
    with pytest.raises(UsageError, match=r"expected 1\.0. got 3\.0"):
        load(site)


def test_a_file_that_was_changed_after_the_installation_is_refused(site, trace):
    install(site)
    (site / "planted_one" / "__init__.py").write_text(LEAVES_A_TRACE.format(trace=str(trace)))
    assert "was changed after it was installed" in why_refused(site)
    assert not trace.exists()


def test_a_file_of_the_same_size_with_one_other_byte_is_refused(site):
    install(site)
    file = site / "planted_one" / "__init__.py"
    file.write_bytes(file.read_bytes().replace(b"EXTENSION", b"EXTENSIOM", 1))
    assert "was changed" in why_refused(site)


@pytest.mark.parametrize("told", ["", "md5=d41d8cd98f00b204e9800998ecf8427e", "sha256="])
def test_a_record_without_a_real_hash_of_a_file_is_refused(site, told):
    about = install(site)
    record = about / "RECORD"
    lines = [
        f"planted_one/__init__.py,{told}," if line.startswith("planted_one/") else line
        for line in record.read_text().splitlines()
    ]
    record.write_text("\n".join(lines) + "\n")
    assert "no hash of planted_one/__init__.py" in why_refused(site)


def test_a_module_that_the_record_does_not_name_cannot_be_imported(site):
    install(site, {"__init__.py": DECLARATION + "from planted_one import added\n"})
    (site / "planted_one" / "added.py").write_text("X = 1\n")
    assert "added" in why_refused(site)


def test_a_submodule_that_the_record_does_not_name_cannot_be_imported_later_either(site, monkeypatch):
    install(site)
    load(site)
    (site / "planted_one" / "added.py").write_text("X = 1\n")
    monkeypatch.syspath_prepend(str(site))
    with pytest.raises(ModuleNotFoundError, match="not in the RECORD"):
        importlib.import_module("planted_one.added")


def test_what_was_verified_is_imported_even_if_the_file_is_exchanged_meanwhile(site, trace, monkeypatch):
    install(site)
    put_first = importing.put_first

    def exchanged(extension):
        (site / "planted_one" / "__init__.py").write_text(LEAVES_A_TRACE.format(trace=str(trace)))
        return put_first(extension)

    monkeypatch.setattr(importing, "put_first", exchanged)
    assert load(site) == ["planted-one 1.0"]
    assert not trace.exists()


def test_byte_code_caches_are_not_read(site, trace):
    about = install(site)
    evil = site / "evil.py"
    evil.write_text(LEAVES_A_TRACE.format(trace=str(trace)))
    cache = site / "planted_one" / "__pycache__" / f"__init__.{sys.implementation.cache_tag}.pyc"
    py_compile.compile(
        str(evil), cfile=str(cache), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    with (about / "RECORD").open("a") as record:
        record.write(f"planted_one/__pycache__/{cache.name},,\n")
    assert load(site) == ["planted-one 1.0"]
    assert not trace.exists()


def test_a_byte_code_file_in_place_of_a_module_is_never_found(site):
    install(site, {"__init__.py": DECLARATION + "from planted_one import hidden\n"})
    source = site / "hidden.py"
    source.write_text("X = 1\n")
    py_compile.compile(str(source), cfile=str(site / "planted_one" / "hidden.pyc"))
    assert "hidden" in why_refused(site)


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("../outside.py", "outside of site-packages"),
        ("planted_one/../../outside.py", "outside of site-packages"),
        ("/etc/hostname", "outside of site-packages"),
        ("planted_one//x.py", "outside of site-packages"),
        ("planted_one\\x.py", "outside of site-packages"),
        ("planted_one.pth", "changes where Python looks"),
        ("planted_one/fast.cpython-311-x86_64-linux-gnu.so", "not Python"),
        ("planted_one/libx.so.1", "not Python"),
        ("other_package/__init__.py", "its only package may be planted_one"),
        ("sitecustomize.py", "its only package may be planted_one"),
    ],
)
def test_files_of_a_record_that_no_extension_may_have_are_refused(site, file, why):
    about = install(site)
    content = b"X = 1\n"
    if not file.startswith(("/", "..")) and ".." not in file and "\\" not in file:
        (site / file).parent.mkdir(exist_ok=True)
        (site / file).write_bytes(content)
    with (about / "RECORD").open("a") as record:
        record.write(f"{file},{hashed(content)},{len(content)}\n")
    assert why in why_refused(site)


def test_a_link_out_of_site_packages_is_refused_although_its_content_is_right(site, tmp_path):
    install(site)
    file = site / "planted_one" / "__init__.py"
    outside = tmp_path / "outside.py"
    outside.write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(outside)
    assert "a link to somewhere else" in why_refused(site)


def test_a_package_folder_that_is_a_link_is_refused(site, tmp_path):
    install(site)
    (site / "planted_one").rename(tmp_path / "elsewhere")
    (site / "planted_one").symlink_to(tmp_path / "elsewhere")
    assert "a link to somewhere else" in why_refused(site)


def test_a_dist_info_that_is_a_link_is_refused(site, tmp_path):
    about = install(site)
    about.rename(tmp_path / about.name)
    about.symlink_to(tmp_path / about.name)
    assert "a link to somewhere else" in why_refused(site)


def test_a_pipe_in_place_of_a_file_is_refused_without_a_wait(site):
    install(site)
    file = site / "planted_one" / "__init__.py"
    file.unlink()
    os.mkfifo(file)
    assert "cannot be read" in why_refused(site)


@pytest.mark.parametrize(
    "content",
    [
        '{"url": "file:///home/me/planted", "dir_info": {"editable": true}}',
        '{"url": "file:///home/me/planted", "dir_info": {}}',
        '{"url": "https://example.org/x.git", "vcs_info": {"vcs": "git"}}',
        "[]",
        "7",
        "{",
    ],
)
def test_an_installation_from_a_folder_or_a_repository_is_refused(site, content):
    about = "planted_one-1.0.dist-info"
    install(site, more={f"{about}/direct_url.json": content})
    assert "install a wheel of it" in why_refused(site)


def test_a_wheel_that_was_named_by_its_file_is_loaded(site):
    url = '{"url": "file:///tmp/planted_one-1.0-py3-none-any.whl", "archive_info": {}}'
    install(site, more={"planted_one-1.0.dist-info/direct_url.json": url})
    assert load(site) == ["planted-one 1.0"]


@pytest.mark.parametrize("pure", ["false", "maybe"])
def test_a_wheel_that_is_not_pure_is_refused(site, pure):
    install(site, pure=pure)
    assert "nothing but Python" in why_refused(site)


def test_metadata_of_another_distribution_are_refused(site):
    about = install(site)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    vouch_again(about, f"{about.name}/METADATA")
    assert "its METADATA say other 1.0" in why_refused(site)


@pytest.mark.parametrize(
    "line", ["import requests", "from pandas import DataFrame", "def f():\n    import torch"]
)
def test_code_that_imports_what_nothing_vouches_for_is_refused(site, line):
    install(site, {"__init__.py": f"{line}\n{DECLARATION}"})
    assert "which its own RECORD does not vouch for" in why_refused(site)


@pytest.mark.parametrize(
    "line",
    [
        "import reprokit",
        "import reprokit.errors",
        "import reprokit.api, reprokit.harness as h",
        "from reprokit import harness",
        "from reprokit import *",
        "from reprokit.core.checklist import judge",
        "def f():\n    from reprokit import api, harness",
        "import reprokit.apiary",
    ],
)
def test_code_that_imports_what_is_inside_of_reprokit_is_refused(site, line):
    install(site, {"__init__.py": f"{line}\n{DECLARATION}"})
    assert "of reprokit only reprokit.api is for others" in why_refused(site)


def test_all_of_the_api_may_be_imported(site):
    lines = "import reprokit.api\nfrom reprokit import api\nfrom reprokit.api.testing import check_row\n"
    install(site, {"__init__.py": f"{lines}{DECLARATION}"})
    extensions.load(["planted-one==1.0"], site_packages=site)
    assert extensions.broken() == ()


@pytest.mark.parametrize("name", ["json", "numpy", "reprokit", "click"])
def test_the_name_of_a_module_that_the_tool_needs_is_refused(site, name):
    install(site, name=name)
    extensions.load([f"{name}==1.0"], site_packages=site)
    assert "a module that the tool needs" in extensions.broken()[0].why


def test_a_package_that_was_imported_from_elsewhere_before_is_refused(site, monkeypatch):
    install(site)
    monkeypatch.setitem(sys.modules, "planted_one", type(sys)("planted_one"))
    assert "was imported before it" in why_refused(site)


@pytest.mark.parametrize("name", ["machines", "compare"])
def test_one_that_calls_itself_as_a_built_in_is_wrong_usage_and_not_imported(site, trace, name):
    install(site, traced(trace), entry=f"{name} = planted_one:EXTENSION")
    with pytest.raises(UsageError, match=f"calls itself {name}, which is built in"):
        load(site)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("a = planted_one:EXTENSION\nb = planted_one:EXTENSION", "it has 2 entry points"),
        ("a = planted_one", "not one `module:name`"),
        ("a = os:environ", "which is not one of its modules"),
        ("a = planted_one:NOTHING", "has no attribute 'NOTHING'"),
        ("a = planted_one:__name__", "is not a reprokit.api.extensions.Extension"),
    ],
)
def test_an_entry_point_that_leads_to_no_declaration_is_refused(site, entry, why):
    install(site, entry=entry)
    assert why in why_refused(site)


@pytest.mark.parametrize("code", ["raise RuntimeError('no')", "import sys; sys.exit(0)", "1 / 0"])
def test_one_that_fails_while_it_is_imported_is_left_out_with_the_reason(site, code):
    install(site, {"__init__.py": f"{code}\n"})
    assert any(word in why_refused(site) for word in ("RuntimeError: no", "SystemExit", "ZeroDivisionError"))
    assert "planted_one" not in sys.modules


@pytest.mark.parametrize(
    "declared",
    [
        "rows={'Upper': 'planted_one:x'}",
        "rows={'a/b': 'planted_one:x'}",
        "rows={'fine': 'os:environ'}",
        "verbs={'fine': Verb(command='os:environ', help='')}",
    ],
)
def test_a_declaration_of_something_outside_its_own_modules_is_refused(site, declared):
    code = f"from reprokit.api.extensions import Extension, Verb\nEXTENSION = Extension({declared})\n"
    install(site, {"__init__.py": code})
    assert "ValueError" in why_refused(site)


def test_two_that_bring_one_name_are_wrong_usage(site):
    code = "from reprokit.api.extensions import Extension\nEXTENSION = Extension(rows={{'same': '{0}:x'}})\n"
    install(site, {"__init__.py": code.format("planted_one")})
    install(site, {"__init__.py": code.format("planted_two")}, name="planted-two")
    with pytest.raises(UsageError, match="two extensions bring the row 'same'"):
        load(site, NAMED, "planted-two==1.0")


def test_one_that_is_named_twice_is_wrong_usage(site):
    install(site)
    with pytest.raises(UsageError, match="names planted-one twice"):
        load(site, NAMED, "Planted_One==1.0")


def test_a_process_does_not_change_to_another_list(site):
    install(site)
    load(site)
    extensions.load([NAMED], site_packages=site)
    with pytest.raises(UsageError, match="this process has loaded other extensions"):
        extensions.load([], site_packages=site)


def test_only_the_site_packages_of_the_tool_is_looked_at(site, tmp_path, monkeypatch):
    """Neither the working folder, nor PYTHONPATH, nor the environment of the program."""
    planted = tmp_path / "judged"
    planted.mkdir()
    install(planted)
    monkeypatch.chdir(planted)
    monkeypatch.setenv("PYTHONPATH", str(planted))
    monkeypatch.syspath_prepend(str(planted))
    with pytest.raises(UsageError, match="is not installed"):
        load(site)
    with pytest.raises(UsageError, match="is not installed"):
        extensions.load([NAMED])
    assert "planted_one" not in sys.modules


def test_no_other_distribution_is_looked_at(site, monkeypatch):
    """However many are installed: the folder is not even listed."""
    install(site)
    for number in range(200):
        (site / f"filler_{number}-1.0.dist-info").mkdir()

    def listed(path=None):
        raise AssertionError(f"{path} was listed")

    monkeypatch.setattr(os, "listdir", listed)
    monkeypatch.setattr(os, "scandir", listed)
    monkeypatch.setattr(Path, "iterdir", listed)
    assert load(site) == ["planted-one 1.0"]
