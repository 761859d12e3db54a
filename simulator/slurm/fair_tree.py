"""Fair share as a tree (Slurm's FAIR_TREE) or as it was before (classic), and the usage that it weighs.

Rules: docs/reference/slurm.md, "Priority".
"""

from __future__ import annotations

import numpy as np

from simulator.compiled import compiled


@compiled
def add_usage(usage, parent, owner, used):
    """Adds used billing-seconds to a node of the tree and to all above it."""
    node = owner
    while node >= 0:
        usage[node] += used
        node = parent[node]


@compiled
def decay_of(seconds, half_life):
    """What is left of usage after so many seconds. Slurm takes (1 - 0.693 / half-life) to the power of the seconds."""
    if half_life <= 0:
        return 1.0
    return (1.0 - 0.693 / half_life) ** seconds


@compiled
def share_out(factor, parent, shares, usage, dampening):
    """Writes the factor of each user. dampening: of classic fair share, 0 for Fair Tree."""
    num_accounts = len(parent) - len(factor)
    if dampening > 0:
        factor[:] = classic_factors(parent, shares, usage, num_accounts, dampening)
    else:
        factor[:] = fair_tree_factors(parent, shares, usage, num_accounts)


@compiled
def fair_tree_factors(parent, shares, usage, num_accounts):
    """The factor of each user, float64 (users,), in (0, 1].

    parent, shares, usage: (accounts + users,), accounts first, parent -1 at the top. The level of a node is its part of its siblings'
    shares by its part of their usage, infinite without usage. Siblings are sorted by it, users before accounts where equal. Accounts
    with equal levels are walked as one. Users get ranks in the order of the walk, and equal ones the same.
    """
    size = len(parent)
    level = np.zeros(size)
    of_shares, of_usage = (
        np.zeros(size + 1, np.int64),
        np.zeros(size + 1),
    )  # of the children of each node, and of the top
    for node in range(size):
        of_shares[parent[node]] += shares[node]
        of_usage[parent[node]] += usage[node]
    for node in range(size):
        if usage[node] <= 0.0:
            level[node] = np.inf
        else:
            level[node] = (shares[node] / of_shares[parent[node]]) / (usage[node] / of_usage[parent[node]])
    factors = np.zeros(size - num_accounts)
    top = np.full(1, -1, np.int64)
    _walk(parent, level, factors, top, np.array([len(factors), len(factors)]), False)
    return factors


@compiled
def classic_factors(parent, shares, usage, num_accounts, dampening):
    """The factor of each user before Fair Tree, float64 (users,): 2 to the power of -(effective usage / shares / dampening).

    Shares and usage are parts of the whole. The effective usage of a node lies between its own and that of the account above, by its part
    of its siblings' shares.
    """
    size = len(parent)
    total = 0.0
    for node in range(size):
        if parent[node] < 0:
            total += usage[node]
    factors = np.ones(size - num_accounts)
    for user in range(num_accounts, size):
        if total <= 0.0:
            continue
        chain = np.zeros(size, np.int64)
        length = 0
        node = user
        while node >= 0:
            chain[length] = node
            length += 1
            node = parent[node]
        part, effective = 1.0, 0.0
        for k in range(length - 1, -1, -1):
            node = chain[k]
            of_shares = 0
            for other in range(size):
                if parent[other] == parent[node]:
                    of_shares += shares[other]
            mine = shares[node] / max(of_shares, 1)
            part *= mine
            own = usage[node] / total
            effective = own if parent[node] < 0 else own + (effective - own) * mine
        factors[user - num_accounts] = 2.0 ** -(effective / part / dampening) if part > 0.0 else 0.0
    return factors


@compiled
def _walk(parent, level, factors, above, ranks, tied_with_previous):
    """Gives ranks to the users below the nodes `above`, which are taken as one. ranks: of the last user, and the next one without ties.
    Returns how many users it met."""
    num_accounts = len(parent) - len(factors)
    children = _sorted_children(parent, level, num_accounts, above)
    users = len(factors)
    met = 0
    place = 0
    while place < len(children):
        node = children[place]
        tied = tied_with_previous if place == 0 else level[children[place - 1]] == level[node]
        if node >= num_accounts:
            if not tied:
                ranks[0] = ranks[1]
            factors[node - num_accounts] = ranks[0] / users
            ranks[1] -= 1
            met += 1
            place += 1
            continue
        last = place + 1
        while last < len(children) and level[children[last]] == level[node]:
            last += 1
        met += _walk(parent, level, factors, children[place:last].copy(), ranks, tied)
        place = last
    return met


@compiled
def _sorted_children(parent, level, num_accounts, above):
    """The nodes below those of `above`, by level, users before accounts."""
    children = np.zeros(len(parent), np.int64)
    count = 0
    for node in range(len(parent)):
        for k in range(len(above)):
            if parent[node] == above[k]:
                place = count
                while place > 0 and _comes_before(level, num_accounts, node, children[place - 1]):
                    children[place] = children[place - 1]
                    place -= 1
                children[place] = node
                count += 1
    return children[:count].copy()


@compiled
def _comes_before(level, num_accounts, node, other):
    if level[node] != level[other]:
        return level[node] > level[other]
    return node >= num_accounts and other < num_accounts
