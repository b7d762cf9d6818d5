"""The scorer of session summaries in plain Python, as an oracle and for the ratio: `summary.py PAIRS.json`.

Prints {"summary": [seconds for all pairs, sum of the scores]}."""
import json
import re
import sys
import time
import unicodedata

WORDS = re.compile(r"[^\W_]+")
ROUNDS = 5
WEIGHTS = [0.20, 0.30, 0.30, 0.10, 0.10]


def words(text):
    return {word.lower() for word in WORDS.findall(unicodedata.normalize("NFC", text))}


def jaccard(a, b):
    return len(a & b) / len(a | b) if a or b else 1.0


def text(reference, candidate, low, high, short, long):
    a, b = words(reference), words(candidate)
    if not a or not b:
        return float(not a and not b)
    ratio = len(b) / len(a)
    return jaccard(a, b) * (short if ratio < low else long if ratio > high else 1.0)


def actions(reference, candidate):
    if not reference or not candidate:
        return float(not reference and not candidate)
    a, b = [words(text) for text in reference], [words(text) for text in candidate]
    recall = sum(any(jaccard(x, y) >= 0.3 for y in b) for x in a) / len(a)
    precision = sum(any(jaccard(x, y) >= 0.3 for x in a) for y in b) / len(b)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def moments(reference, candidate):
    if not reference or not candidate:
        return 1.0 if not reference and not candidate else 0.5 if not reference else 0.0
    count = 1 - abs(len(reference) - len(candidate)) / max(len(reference), len(candidate))
    kinds = [{moment["type"].lower() for moment in side} for side in (reference, candidate)]
    return 0.6 * count + 0.4 * jaccard(*kinds)


def score(reference, candidate):
    scores = [
        text(reference["title"], candidate["title"], 0.5, 2, 0.7, 0.7),
        text(reference["summary"], candidate["summary"], 0.3, 3, 0.5, 0.8),
        actions(reference["key_actions"], candidate["key_actions"]),
        float(reference["outcome"].strip().lower() == candidate["outcome"].strip().lower()),
        moments(reference.get("aha_moments", []), candidate.get("aha_moments", [])),
    ]
    return sum(weight * score for weight, score in zip(WEIGHTS, scores))


with open(sys.argv[1], encoding="utf-8") as file:
    pairs = json.load(file)
times = []
for _ in range(ROUNDS):
    start = time.perf_counter()
    total = sum(score(reference, candidate) for reference, candidate in pairs)
    times.append(time.perf_counter() - start)
print(json.dumps({"summary": [sorted(times)[ROUNDS // 2], total]}))
