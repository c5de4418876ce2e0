"""Fixtures of the gateway tests. A test that leaves an alert or bytes of a client in the log, a sanitizer's report or a process behind has failed."""

import pytest

from harness import tls
from harness.command import Running
from harness.nginx import Gateway
from harness.origin import Origin
from harness.stores import BadStore, Store

pytest_plugins = ("harness.rooms", "harness.shared_rooms", "harness.operator")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed and call.when == "call":
        for gateway in getattr(item, "gateways", []):
            report.sections.append((f"error.log of {gateway.prefix}", gateway.log[-6000:]))
            report.sections.append((f"stderr of {gateway.prefix}", gateway.stderr[-6000:]))


@pytest.fixture
def make_gateway(request):
    """make_gateway(http, **options): a Gateway whose files are written but that is not started."""
    request.node.gateways = []

    def make(http, **options):
        gateway = Gateway(http, **options)
        request.node.gateways.append(gateway)
        return gateway

    yield make
    problems = [problem for gateway in reversed(request.node.gateways) for problem in gateway.close()]
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.fixture
def gateway(make_gateway):
    """gateway(http, **options): nginx with that configuration, listening. Options as harness.nginx.Gateway has them."""
    return lambda http, **options: make_gateway(http, **options).start()


@pytest.fixture
def running():
    """running(*arguments, **options): `fairway run` that is up. Options as harness.command.Running has them."""
    started = []

    def start(*arguments, **options):
        started.append(Running(*arguments, **options))
        return started[-1]

    yield start
    problems = [problem for one in reversed(started) for problem in one.close()]
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.fixture
def make_origin():
    """make_origin(): an application of its own. Options are fields of harness.origin.Origin."""
    origins = []

    def make(**options):
        origins.append(Origin(**options).start())
        return origins[-1]

    yield make
    for origin in origins:
        origin.stop()


@pytest.fixture
def origin(make_origin):
    """The application; @ORIGIN@ in a configuration when given as gateway(…, origin=origin)."""
    return make_origin()


@pytest.fixture
def make_store():
    """make_store(*options, **more): a store server that runs; arguments as harness.stores.Store has them."""
    stores = []

    def make(*options, **more):
        stores.append(Store(*options, **more))
        return stores[-1]

    yield make
    for store in reversed(stores):
        store.close()


@pytest.fixture
def store(make_store):
    """One store server with nothing in it."""
    return make_store()


@pytest.fixture
def bad_store():
    """bad_store(serve): see harness.stores.BadStore."""
    stores = []

    def make(serve):
        stores.append(BadStore(serve))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """(certificate, key) for localhost; readable by root's nginx, which loads them before it gives up its rights."""
    return tls.make_certificate(tmp_path_factory.mktemp("tls"))
