"""The same statistics with numpy, scipy, scikit-learn and krippendorff: `reference.py INPUT.json`.

Prints {name: [seconds, result]}."""
import json
import sys
import time

import krippendorff
import numpy as np
from scipy.stats import bootstrap
from sklearn.metrics import cohen_kappa_score

data = {name: np.array(values) for name, values in json.load(open(sys.argv[1])).items()}
RESAMPLES = 10_000


def timed(work, rounds):
    result, times = work(), []
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return [sorted(times)[rounds // 2], float(result)]


def resampled():
    drawn = bootstrap(
        (data["differences"],), np.mean, n_resamples=RESAMPLES, batch=100, method="percentile", vectorized=True,
        rng=np.random.default_rng(1),
    )
    return drawn.standard_error


def multinomial():
    values, counts = np.unique(data["steps"], return_counts=True)
    n = len(data["steps"])
    drawn = np.random.default_rng(1).multinomial(n, counts / n, size=RESAMPLES)
    return (drawn @ values / n).std(ddof=1)


def alpha():
    return krippendorff.alpha(
        reliability_data=np.stack([data["judge"], data["human"]]), level_of_measurement="interval"
    )


def kappa():
    return cohen_kappa_score(data["judge"], data["human"], weights="quadratic")


print(json.dumps({
    "bootstrap": timed(resampled, 3),
    "multinomial": timed(multinomial, 7),
    "alpha": timed(alpha, 7),
    "kappa": timed(kappa, 7),
}))
