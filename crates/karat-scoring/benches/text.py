"""The same text metrics with rouge-score and sacrebleu: `text.py PAIRS.json`.

Prints {name: [seconds for all pairs, sum of the scores]}."""
import json
import sys
import time

from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF

PAIRS = json.load(open(sys.argv[1]))
ROUGE = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
BLEU_OF_SENTENCE, CHRF_OF_SENTENCE = BLEU(effective_order=True), CHRF()


def rouge(reference, candidate):
    return sum(score.fmeasure for score in ROUGE.score(reference, candidate).values())


def bleu(reference, candidate):
    return BLEU_OF_SENTENCE.sentence_score(candidate, [reference]).score


def chrf(reference, candidate):
    return CHRF_OF_SENTENCE.sentence_score(candidate, [reference]).score


def timed(score):
    score(*PAIRS[0])
    start = time.perf_counter()
    total = sum(score(reference, candidate) for reference, candidate in PAIRS)
    return [time.perf_counter() - start, total]


print(json.dumps({"rouge": timed(rouge), "bleu": timed(bleu), "chrf": timed(chrf)}))
