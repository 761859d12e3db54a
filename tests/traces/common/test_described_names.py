"""Names of a description become those of a log that was ingested with pseudonyms."""

from traces.cluster.accounts import Account, AccountUser, Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Node, Partition
from traces.cluster.reservations import AdvanceReservation
from traces.common.described_names import with_pseudonyms
from traces.common.pseudonyms import DEFAULT_KINDS, pseudonym_of

KEY = b"0123456789abcdef0123456789abcdef"
CLUSTER = ClusterDescription(
    "mine",
    (Node("n1", 4),),
    (Partition("cpu", allow_accounts=("lab",), allow_users=("ada",), allow_groups=("phys",)),),
    (Account("lab"), Account("team", "lab")),
    (AccountUser("ada", "team"),),
    limits=(
        Limit("user", "team/ada", "running", "all", "cpu", 4),
        Limit("user", "team/ada/gpu", "running", "all", "cpu", 4),
        Limit("cluster", "", "running", "group", "cpu", 8, who="phys"),
        Limit("qos", "high", "running", "all", "cpu", 8),
    ),
    reservations=(AdvanceReservation("course", 0, 1, users=("ada",), accounts=("lab",)),),
)


def test_every_name_is_replaced_and_pseudonyms_stay() -> None:
    ada, lab, team, phys = (
        pseudonym_of(KEY, kind, name)
        for kind, name in (("user", "ada"), ("account", "lab"), ("account", "team"), ("group", "phys"))
    )
    hidden = with_pseudonyms(CLUSTER, DEFAULT_KINDS, KEY)
    assert hidden.partitions[0] == Partition("cpu", allow_accounts=(lab,), allow_users=(ada,), allow_groups=(phys,))
    assert hidden.accounts == (Account(lab), Account(team, lab)) and hidden.members == (AccountUser(ada, team),)
    assert [(limit.owner_name, limit.who) for limit in hidden.limits] == [
        (f"{team}/{ada}", ""),
        (f"{team}/{ada}/gpu", ""),
        ("", phys),
        ("high", ""),
    ]
    assert (hidden.reservations[0].users, hidden.reservations[0].accounts) == ((ada,), (lab,))
    assert with_pseudonyms(hidden, DEFAULT_KINDS, b"another key of this length......") == hidden
    assert with_pseudonyms(CLUSTER, (), KEY) == CLUSTER
