import pytest
from servers import Server, binaries, version


def pytest_generate_tests(metafunc):
    if "binary" in metafunc.fixturenames:
        found = binaries()
        names = [f"{path.rsplit('/', 1)[-1]}-{'.'.join(map(str, version(path)))}" for path in found]
        metafunc.parametrize("binary", found, ids=names, scope="module")


@pytest.fixture(scope="module")
def server(binary):
    with Server(binary) as one:
        yield one


@pytest.fixture
def client(server):
    with server.client() as one:
        one("FLUSHALL")
        yield one
