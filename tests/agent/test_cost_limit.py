"""AGT-5: a limit in dollars holds, or says that it can't."""

from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import call, say


async def test_reply_without_usage_leaves_the_cost_limit_unkept(rig: Rig) -> None:
    """Also where the other replies' cost is known."""
    read, silent = call("fs-list", {}), call("fs-list", {}, usage=False)
    with ChatServer([read, silent, say("never")]) as server:
        rig.configure(server, price={"input": 1.0, "output": 1.0})
        await rig.open(max_cost=2.0)
        ended = await rig.ask()
    assert (ended.why, len(server.bodies)) == ("limit", 2)
    assert "cost is unknown" in ended.message
