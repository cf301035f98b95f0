"""The guide's commands, and the lines of the adviser."""

import json
import pathlib
import re
import shlex
import subprocess

import pytest
from resp import Error
from servers import MODULE, Server

GUIDE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "guide" / "src" / "redis.md"


def test_the_commands_of_the_guide(client):
    blocks = re.findall(r"^```redis\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).splitlines()
    assert len(lines) > 10
    for line in lines:
        reply = client(*shlex.split(line))
        assert not isinstance(reply, Error), (line, reply)


WORKLOADS = ["", "--need remove", "--static", "--grows", "--hostile --need merge"]


def test_the_lines_of_the_adviser_make_filters(binary, tmp_path):
    program = MODULE.parent / "bouquet"
    if not program.exists():
        pytest.skip("bouquet was not built beside the module")
    secret = tmp_path / "secret"
    secret.write_text("ab" * 32)
    with Server(binary, module_args=["secret_file", secret]) as server, server.client() as client:
        for workload in WORKLOADS:
            command = [program, "advise", "--items", "1000", "--json", *workload.split()]
            advice = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["advice"]
            assert advice, workload
            for one in advice[:5]:
                client("FLUSHALL")
                reply = client(*shlex.split(one["lines"]["redis"]))
                assert reply == "OK", (workload, one["lines"]["redis"], reply)
