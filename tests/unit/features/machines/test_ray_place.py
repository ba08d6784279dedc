"""Ray as a place, as far as it is seen without Ray: what is asked before Ray itself is."""

import signal
import socket
import sys
from types import SimpleNamespace

import pytest

from reprokit.errors import SchedulerError
from reprokit.features.machines import ray as ray_place


@pytest.fixture
def asked(monkeypatch):
    """The addresses that Ray was asked to connect to; each time it finds no one."""
    addresses = []

    def init(*, address, **_more):
        addresses.append(address)
        raise ConnectionError("Ray finds no one")

    cloudpickle = SimpleNamespace(register_pickle_by_value=lambda _module: None)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init, cloudpickle=cloudpickle))
    monkeypatch.setattr(ray_place, "_HEAD_S", 0.1)
    monkeypatch.setattr(ray_place, "_AGAIN_S", 0.01)
    return addresses


@pytest.fixture
def port():
    """A port of this machine, and whether someone listens there."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        yield listening


def test_a_cluster_whose_head_is_gone_is_told_at_once_and_not_after_many_minutes(asked, port):
    address = f"127.0.0.1:{port.getsockname()[1]}"
    with pytest.raises(SchedulerError, match=r"no Ray cluster answers: .*refused") as told:
        ray_place.RayPlace({"address": address})
    assert told.value.where == f"--address {address}"
    assert asked == []


@pytest.mark.parametrize("address", ["127.0.0.1:99999", "no-such-host.invalid:6379"])
def test_an_address_that_cannot_be_is_told_alike(asked, address):
    with pytest.raises(SchedulerError, match="no Ray cluster answers"):
        ray_place.RayPlace({"address": address})
    assert asked == []


def test_where_somebody_listens_ray_is_asked(asked, port):
    port.listen()
    address = f"127.0.0.1:{port.getsockname()[1]}"
    with pytest.raises(SchedulerError, match="Ray finds no one"):
        ray_place.RayPlace({"address": address})
    assert asked == [address]


@pytest.mark.parametrize("address", ["auto", "ray://127.0.0.1:1"])
def test_what_is_no_plain_address_is_for_ray_to_find(asked, address):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SchedulerError, match="Ray finds no one"):
        ray_place.RayPlace({"address": address})
    assert asked == [address]
    assert signal.getsignal(signal.SIGTERM) is before
