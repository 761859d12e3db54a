"""What accounts and users do not say holds as their parents have it."""

from __future__ import annotations

from traces.cluster.accounts import PARENTS_SHARE, Account, AccountUser, ServiceQuality
from traces.cluster.notes import Entry, Notes
from traces.slurm.configuration.accounts.tree import AccountTree, shared_cluster


def options(**values: str) -> dict[str, Entry]:
    return {key: Entry("f", 1, key, value) for key, value in values.items()}


def test_inherited_qos_and_shares() -> None:
    tree = AccountTree()
    tree.accounts["root"] = options(qos="normal")
    tree.accounts["b"] = options(parent="a", fairshare="parent")
    tree.accounts["a"] = options(parent="root", qos="high,low", defaultqos="low", fairshare="5", maxjobs="3")
    tree.users["ada", "b", ""] = options(qos="high", priority="7")
    tree.users["bob", "b", "gpu"] = options(grpjobs="2")
    tree.default_accounts = {"ada": "b", "bob": "a"}
    tree.qualities["high"] = options(
        priority="9", preempt="low", preemptmode="cluster", flags="NoDecay", usagethreshold="0.5"
    )
    shared = shared_cluster(tree, Notes())
    assert shared.accounts == (
        Account("b", "a", PARENTS_SHARE, ("high", "low"), "low"),
        Account("a", "root", 5, ("high", "low"), "low"),
    )
    assert shared.members == (
        AccountUser("ada", "b", 1, "", ("high",), "low", 7, True),
        AccountUser("bob", "b", 1, "gpu", ("high", "low"), "low"),
    )
    assert shared.qualities == (ServiceQuality("high", 9, ("low",), "", 0, ("nodecay",), 1.0, 0.5),)
    assert [(limit.owner, limit.owner_name, limit.each) for limit in shared.limits] == [
        ("account", "a", "user"),
        ("user", "b/bob/gpu", "all"),
    ]


def test_a_circle_ends() -> None:
    tree = AccountTree()
    tree.accounts |= {"a": options(parent="b"), "b": options(parent="a")}
    assert [account.qos for account in shared_cluster(tree, Notes()).accounts] == [(), ()]
