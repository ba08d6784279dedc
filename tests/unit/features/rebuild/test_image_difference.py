"""Two builds of an image that differ: the file, the place in it and the step are named."""

from __future__ import annotations

import tarfile

import pytest

from reprokit.features.rebuild.image_difference import first_difference
from support.saved_image import EPOCH, form_of, link, member, packed

__all__ = ["form_of"]


def test_images_that_are_equal_have_no_difference(form_of):
    one = form_of(packed(member("a", b"1"), member("b", b"2")))
    two = form_of(packed(member("b", b"2", mtime=EPOCH + 7), member("a", b"1")))
    assert first_difference(one, two) is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (member("a", b"12x45"), "a: content from byte 2: 33 34 35 and 78 34 35"),
        (member("a", b"123"), "a: content from byte 3: 34 35 and the end"),
        (member("a", b"12345", mode=0o600), "a: mode: 0644 and 0600"),
        (member("a", b"12345", uid=7), "a: owner: 0:0 and 7:0"),
        (member("a", b"12345", mtime=12), f"a: time: {EPOCH} and 12"),
        (link("a", "etc", tarfile.SYMTYPE), "a: kind: file and symbolic link"),
    ],
)
def test_a_difference_is_told_with_file_place_and_step(form_of, changed, told):
    one = form_of(packed(member("a", b"12345")), history=["RUN make it"])
    other = form_of(packed(changed), history=["RUN make it"])
    assert first_difference(one, other).sentence() == f"{told} (layer 1: RUN make it)"


def test_a_file_only_in_one_is_named_and_the_others_are_counted(form_of):
    one = form_of(packed(member("b", b"1")))
    difference = first_difference(
        one, form_of(packed(member("b", b"1"), member("extra.pyc"), member("x.pyc")))
    )
    assert (difference.file, difference.what) == ("extra.pyc", "a file only in one")
    assert (difference.expected, difference.actual, difference.num_files) == ("not there", "there", 2)


def test_settings_that_differ_are_named_where_the_files_are_equal(form_of):
    layer = packed(member("a", b"1"))
    difference = first_difference(form_of(layer), form_of(layer, config={"Env": ["A=2"]}))
    assert difference.what == "settings"
    assert "A=1" in difference.expected
    assert "A=2" in difference.actual
