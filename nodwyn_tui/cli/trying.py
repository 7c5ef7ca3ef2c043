"""`nodwyn models test`: what works with a model, found out by asking it (PRV-12)."""

from dataclasses import asdict

from nodwyn_tui.agent import trial
from nodwyn_tui.agent.opening import Household
from nodwyn_tui.agent.trial import Planned
from nodwyn_tui.cli import output
from nodwyn_tui.errors import UsageError
from nodwyn_tui.providers.probe import Outcomes
from nodwyn_tui.store.places import new_id

MARKS = {"yes": "✓", "no": "✗", "unknown": "?"}
DEAR = 0.10
"""US dollars from which on the person is asked first."""


async def test(home: Household, name: str, *, sure: bool, as_json: bool) -> int:
    """Tells the price, sends the requests, and prints what came of them. The exit code is 0 where
    the model answered both of the task's, else that of its refusal.
    """
    clock = home.rooms.clock
    target = (await home.models.choose(name, new_id(clock.now()))).target
    if target is None:
        raise home.models.missing()
    try:
        tools = [tool.spec for tool in home.rooms.make_tools({})]
        plan = trial.planned(target, tools, clock.now())
        _tell_price(plan, target.ref.name, sure=sure)
        outcomes = await trial.tried(target, plan)
    finally:
        await target.provider.aclose()
    spent = trial.cost(target, outcomes, clock.now())
    if as_json:
        output.json_line(_value(target.ref.name, outcomes, spent))
    else:
        for finding in outcomes.findings:
            output.show(f"{MARKS[finding.outcome]} {finding.what:<22} {finding.detail}".rstrip())
        output.show(f"  {'cost':<22} {'unknown' if spent is None else f'${spent:.4f}'}")
    if outcomes.refusal is None:
        return 0
    output.tell(f"nodwyn: {outcomes.refusal}")
    return outcomes.refusal.exit_code


def _value(name: str, outcomes: Outcomes, spent: float | None) -> dict[str, object]:
    refusal = outcomes.refusal
    return {
        "model": name,
        "findings": [asdict(finding) for finding in outcomes.findings],
        "refusal": None if refusal is None else str(refusal),
        "cost_usd": spent,
    }


def _tell_price(plan: Planned, name: str, *, sure: bool) -> None:
    """The price, before anything is sent; a high one is asked about."""
    price = "an unknown sum" if plan.cost_usd is None else f"at most ${plan.cost_usd:.3f}"
    text = f"{plan.requests} requests to {name} with about {plan.tokens:,} tokens cost {price}"
    if plan.cost_usd is None or plan.cost_usd <= DEAR or sure:
        output.tell(text)
    elif not output.confirmed(f"{text}. Send them?"):
        raise UsageError("nothing was sent; --yes sends without being asked")
