"""Servers that are closed behind a test."""

import pytest

from helpers.agents.endpoints import Server


@pytest.fixture
def serve():
    servers = []

    def make(*replies):
        servers.append(Server(*replies))
        return servers[-1]

    yield make
    for server in servers:
        server.close()
