"""What the host's software says of itself."""

import platform

from reprokit import __version__
from reprokit.capture import software as software_module
from reprokit.capture.software import capture_software


def test_the_tool_and_the_system_are_named():
    facts = capture_software()
    assert facts["tool"]["version"] == __version__
    assert facts["tool"]["python"] == platform.python_version()
    assert facts["kernel"] == platform.release()
    assert facts["os"]["system"] == platform.system()


def test_a_system_without_a_release_file_says_so(monkeypatch):
    def none():
        raise OSError

    monkeypatch.setattr(software_module.platform, "freedesktop_os_release", none)
    facts = capture_software()
    assert facts["missing"]["os.name"] == "no os-release file"
    assert "name" not in facts["os"]


def test_macos_goes_by_its_version(monkeypatch):
    def none():
        raise OSError

    monkeypatch.setattr(software_module.platform, "freedesktop_os_release", none)
    monkeypatch.setattr(software_module.platform, "mac_ver", lambda: ("15.1", ("", "", ""), "arm64"))
    assert capture_software()["os"]["name"] == "macOS 15.1"


def test_another_c_library_than_glibc_is_missing_with_a_reason(monkeypatch):
    def unknown(_name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr("os.confstr", unknown)
    facts = capture_software()
    assert facts["libc"] == {"name": "not glibc"}
    assert "not glibc" in facts["missing"]["libc.version"]
