#!/usr/bin/env python3
"""Makes reference.json: figures of made-up rows by scikit-learn and SciPy. Run once, by hand:

    python3 reference.py > reference.json    # made with scikit-learn 1.2.1, SciPy 1.10.1, NumPy 1.24.2
"""

import json

import numpy as np
from scipy import stats
from sklearn import calibration, metrics

rng = np.random.default_rng(1)


def two_classes(n, share, digits, strength):
    y = (rng.random(n) < share).astype(int)
    f = np.round(strength * (2 * y - 1) + rng.normal(size=n), digits)  # few digits: ties
    p = np.round(1 / (1 + np.exp(-f)), max(digits, 3))
    fit = calibration._sigmoid_calibration(f, y)
    said = (f > 0).astype(int)
    came, meant = calibration.calibration_curve(y, p, n_bins=10, strategy="quantile")
    tn, fp, fn, tp = metrics.confusion_matrix(y, said).ravel()
    fpr, tpr, _ = metrics.roc_curve(y, f)
    return dict(
        labels=y.tolist(), scores=f.tolist(), probabilities=p.tolist(),
        auc=metrics.roc_auc_score(y, f), error=1 - metrics.accuracy_score(y, said),
        average_precision=metrics.average_precision_score(y, f), log_loss=metrics.log_loss(y, p),
        brier=metrics.brier_score_loss(y, p), ks=stats.ks_2samp(f[y == 1], f[y == 0]).statistic,
        recall=metrics.recall_score(y, said), precision=metrics.precision_score(y, said),
        confusion=[int(tp), int(fp), int(fn), int(tn)], came=came.tolist(), meant=meant.tolist(),
        youden=float(np.max(tpr - fpr)), platt=list(fit))


def numbers(n):
    y = 1000 + 50 * rng.normal(size=n)
    f = y + 20 * rng.normal(size=n) + 3
    return dict(
        labels=y.tolist(), predictions=f.tolist(), rmse=metrics.mean_squared_error(y, f, squared=False),
        mae=metrics.mean_absolute_error(y, f), r2=metrics.r2_score(y, f))


def several(n, k):
    y = rng.integers(0, k, size=n)
    f = np.round(rng.normal(size=(n, k)) + 1.5 * np.eye(k)[y], 3)
    said = np.argmax(f, axis=1)
    return dict(
        labels=y.tolist(), scores=f.tolist(), error=1 - metrics.accuracy_score(y, said),
        recall=metrics.recall_score(y, said, average=None).tolist(),
        precision=metrics.precision_score(y, said, average=None).tolist(),
        mean_recall=metrics.balanced_accuracy_score(y, said),
        confusion=metrics.confusion_matrix(y, said).tolist())


def wilson(k, n):
    low, high = stats.binomtest(k, n).proportion_ci(method="wilson")
    return dict(hits=k, rows=n, low=low, high=high)


print(json.dumps(dict(
    two_classes=[two_classes(120, 0.5, 6, 0.8), two_classes(232, 0.06, 1, 0.5), two_classes(96, 0.8, 0, 1.2)],
    numbers=[numbers(150)], several=[several(140, 4)],
    wilson=[wilson(0, 10), wilson(3, 10), wilson(10, 10), wilson(61, 1000), wilson(1, 150000)])))
