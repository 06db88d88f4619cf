"""What a person would write instead of benchbatch's statistics: the same numbers with NumPy and SciPy, pair by pair and draw by draw.

usage: stats.py IN.json OUT.json

IN holds pass, cost and wall by variant, task and run, the family number of each task, margin, alpha and draws. Complete data: no
failures, no holes. OUT holds what does not depend on chance, for comparison; what is drawn is only timed and given.
"""
import json
import sys
import time

import numpy as np
from scipy import stats

with open(sys.argv[1]) as f:
    given = json.load(f)
started = time.perf_counter()
y, cost, wall = (np.array(given[k]) for k in ("pass", "cost", "wall"))  # variant × task × run
family, margin, alpha, draws = np.array(given["family"]), given["margin"], given["alpha"], given["draws"]
M, N, K = y.shape
G = len(set(family.tolist()))
members = [np.flatnonzero(family == g) for g in range(G)]
rng = np.random.default_rng(1)


def clustered(x):
    """Variance of the mean of x and its degrees of freedom: tasks or families, whichever is larger."""
    plain = x.var(ddof=1) / len(x)
    sums = np.array([(x[m] - x.mean()).sum() for m in members])
    cluster = (sums**2).sum() * G / (G - 1) / len(x) ** 2
    return (cluster, G - 1) if cluster > plain else (plain, len(x) - 1)


def mean_of(x, high):
    v, df = clustered(x)
    half = stats.t.isf(0.025, df) * np.sqrt(v)
    return [x.mean(), np.sqrt(v), max(0, x.mean() - half), min(high, x.mean() + half)]


def pass_hat(n, c, k):
    p = 1.0
    for i in range(k):
        p *= max(0, c - i) / (n - i)
    return p


def holm(p):
    out, worst = [0.0] * len(p), 0.0
    for i, j in enumerate(np.argsort(p, kind="stable")):
        worst = max(worst, min(1.0, (len(p) - i) * p[j]))
        out[j] = worst
    return out


mean = y.mean(axis=2)
s2 = y.var(axis=2, ddof=1)
w = s2.mean(axis=1)
runs = y.mean(axis=1)
spread = runs.var(axis=1, ddof=1)
extra = spread - w / N
nu = M * (K - 1)
expected, excess = (w / N).mean(), max(0.0, extra.mean())
phi = ((K - 1) * N * spread / w).sum()

variants = []
for v in range(M):
    passes = y[v].sum(axis=1)
    between = K * ((mean[v] - mean[v].mean()) ** 2).sum() / (N - 1)
    icc = (between - w[v]) / (between + (K - 1) * w[v])
    variants.append({
        "mean": mean_of(mean[v], 1.0), "rerun": w[v], "runs": runs[v].tolist(), "icc": icc,
        "pass_hat": [mean_of(np.array([pass_hat(K, c, k) for c in passes]), 1.0)[0] for k in range(1, K + 1)],
        "pass_at": [mean_of(np.array([1 - pass_hat(K, K - c, k) for c in passes]), 1.0)[0] for k in range(1, K + 1)],
        "flips": float(((passes > 0) & (passes < K)).mean()),
        "cost": mean_of(cost[v].mean(axis=1), np.inf), "wall": mean_of(wall[v].mean(axis=1), np.inf),
        "wall_median": float(np.quantile(wall[v], 0.5)), "wall_p90": float(np.quantile(wall[v], 0.9)),
        "pass_per_usd": float(mean[v].sum() / cost[v].mean(axis=1).sum()),
    })

pairs = []
for a in range(M):
    for b in range(a + 1, M):
        d = mean[a] - mean[b]
        dbar = d.mean()
        v_task, df_task = clustered(d)
        v_rerun = (s2[a] / K + s2[b] / K).sum() / N**2
        c, own = 2 / K, (extra[a] + extra[b]) / 2
        v_run = c * max(excess, own)

        def test(vm, dfm):
            v = vm + v_run
            df = v**2 / (vm**2 / dfm + (c * (excess + expected)) ** 2 / nu + (v_run - c * excess) ** 2 / (2 * K - 5))
            return v, df, 2 * stats.t.sf(abs(dbar) / np.sqrt(v), df)

        v_list, df_list, p_list = test(v_rerun, N - 1)
        v, df, p = (v_list, df_list, p_list) if v_rerun > v_task else test(v_task, df_task)
        half = stats.t.isf(0.025, df) * np.sqrt(v)
        pairs.append({"difference": dbar, "low": max(-1, dbar - half), "high": min(1, dbar + half), "v_task": v_task, "v_rerun": v_rerun,
                      "v": v, "df": df, "p": p, "p_list": p_list, "p_tost": stats.t.sf((margin - abs(dbar)) / np.sqrt(v), df),
                      "mde": (stats.t.isf(alpha / (M * (M - 1) / 2), df) + stats.t.isf(0.2, df)) * np.sqrt(v)})
for name in ("p", "p_list", "p_tost"):
    for pair, adjusted in zip(pairs, holm([x[name] for x in pairs])):
        pair[name + "_adj"] = adjusted

item_rest = []
for t in range(N):
    rest = (mean.sum(axis=1) - mean[:, t]) / (N - 1)
    flat = mean[:, t].std() < 1e-9 or rest.std() < 1e-9
    item_rest.append(None if flat else float(np.corrcoef(mean[:, t], rest)[0, 1]))

ms_v = N * K * mean.mean(axis=1).var(ddof=1)
residual = mean - mean.mean(axis=1, keepdims=True) - mean.mean(axis=0, keepdims=True) + mean.mean()
ms_vt = K * (residual**2).sum() / (M - 1) / (N - 1)

# Everything below is drawn.
ratios = np.empty((draws, M))
task_pass, task_cost = mean, cost.mean(axis=2)
for b in range(draws):
    drawn = []
    for g in rng.integers(G, size=G):
        drawn.extend(rng.choice(members[g], size=len(members[g])))
    for v in range(M):
        ratios[b, v] = task_pass[v, drawn].sum() / task_cost[v, drawn].sum()
for v in range(M):
    ordered = np.sort(ratios[:, v])
    variants[v]["pass_per_usd_low"] = float(ordered[int(np.ceil(0.025 * draws)) - 1])
    variants[v]["pass_per_usd_high"] = float(ordered[int(np.ceil(0.975 * draws)) - 1])

family_p = []
for g in range(G):
    rows = mean[:, members[g]].T
    seen, least, reached, n = rows.sum(axis=0), 0.0, 0, 0
    least = (seen**2).sum() * (1 - 1e-12)
    while n < draws:
        total = np.zeros(M)
        for row in rows:
            total += rng.permutation(row)
        reached += (total**2).sum() >= least
        n += 1
        if n % 100 == 0 and abs(reached / n - 0.05) > 3.5 * np.sqrt(0.05 * 0.95 / n):
            break
    family_p.append((reached + 1) / (n + 1))

seconds = time.perf_counter() - started
with open(sys.argv[2], "w") as f:
    json.dump({"seconds": seconds, "variants": variants, "pairs": pairs, "item_rest": item_rest, "rho2": max(0, 1 - ms_vt / ms_v),
               "shock": [excess, expected, float(phi), float(stats.chi2.sf(phi, nu))], "family_p": family_p}, f)
