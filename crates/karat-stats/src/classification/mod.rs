//! Classification metrics: precision, recall, F1, MCC, ROC AUC, average precision.

use crate::numeric::input::{InputError, finite, same_length};

/// Precision, recall and F1; a quotient 0/0 is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// True positives over predicted positives.
    pub precision: f64,
    /// True positives over actual positives.
    pub recall: f64,
    /// Harmonic mean of the two.
    pub f1: f64,
}

/// The scores of one declared label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassScores {
    /// Index in the declared list.
    pub label: usize,
    /// Precision, recall, F1.
    pub scores: Scores,
    /// Items that have this label; recall is 0/0 when 0.
    pub support: u64,
    /// Items predicted to have it; precision is 0/0 when 0.
    pub predicted: u64,
    /// Items that have it and are predicted to.
    pub hits: u64,
}

/// Metrics over all declared labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    /// One entry per declared label, in order.
    pub per_class: Vec<ClassScores>,
    /// Share of right predictions.
    pub accuracy: f64,
    /// Mean recall over the labels that occur in the truth.
    pub balanced_accuracy: f64,
    /// Matthews correlation (Gorodkin 2004 for more than two labels); 0 when one side is constant.
    pub matthews: f64,
    /// Scores of the pooled counts.
    pub micro: Scores,
    /// Mean over all declared labels, also those that never occur.
    pub macro_mean: Scores,
    /// Mean over labels weighted by support.
    pub weighted: Scores,
}

/// Metrics of predicted against true labels, both as indices into a declared list of `labels` labels.
///
/// `None` without items.
///
/// # Errors
/// Slices of different length, or an index past the declared list.
pub fn classification(
    truth: &[usize],
    predicted: &[usize],
    labels: usize,
) -> Result<Option<Classification>, InputError> {
    same_length("truth", truth.len(), "predicted", predicted.len())?;
    let mut counts = vec![Counts::default(); labels];
    for (&actual, &guess) in truth.iter().zip(predicted) {
        let worst = actual.max(guess);
        if worst >= labels {
            return Err(InputError::OutOfBounds { name: "label index", index: worst, len: labels });
        }
        counts[actual].support += 1;
        counts[guess].predicted += 1;
        counts[actual].hits += u64::from(actual == guess);
    }
    Ok((!truth.is_empty()).then(|| summarise(&counts, truth.len() as f64)))
}

#[derive(Clone, Copy, Default)]
struct Counts {
    hits: u64,
    support: u64,
    predicted: u64,
}

impl Counts {
    fn scores(self) -> Scores {
        let share = |part: u64, whole: u64| {
            if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
        };
        Scores {
            precision: share(self.hits, self.predicted),
            recall: share(self.hits, self.support),
            f1: share(2 * self.hits, self.predicted + self.support),
        }
    }
}

fn summarise(counts: &[Counts], n: f64) -> Classification {
    let total = counts.iter().fold(Counts::default(), |sum, class| Counts {
        hits: sum.hits + class.hits,
        support: sum.support + class.support,
        predicted: sum.predicted + class.predicted,
    });
    let average = |weight: &dyn Fn(&Counts) -> f64| {
        let all: f64 = counts.iter().map(weight).sum();
        let of = |part: fn(Scores) -> f64| {
            counts.iter().map(|class| weight(class) * part(class.scores())).sum::<f64>() / all
        };
        Scores {
            precision: of(|scores| scores.precision),
            recall: of(|scores| scores.recall),
            f1: of(|scores| scores.f1),
        }
    };
    let occurs = |class: &Counts| f64::from(u8::from(class.support > 0));
    Classification {
        per_class: counts
            .iter()
            .enumerate()
            .map(|(label, class)| ClassScores {
                label,
                scores: class.scores(),
                support: class.support,
                predicted: class.predicted,
                hits: class.hits,
            })
            .collect(),
        accuracy: total.hits as f64 / n,
        balanced_accuracy: average(&occurs).recall,
        matthews: matthews(counts, n),
        micro: total.scores(),
        macro_mean: average(&|_| 1.0),
        weighted: average(&|class| class.support as f64),
    }
}

/// (c·n − Σ t_k p_k) / √((n² − Σ p_k²)(n² − Σ t_k²)), c right predictions, t and p the margins.
fn matthews(counts: &[Counts], n: f64) -> f64 {
    let sum = |term: fn(&Counts) -> f64| counts.iter().map(term).sum::<f64>();
    let right = sum(|class| class.hits as f64);
    let both = sum(|class| class.support as f64 * class.predicted as f64);
    let truth_spread = n * n - sum(|class| (class.support as f64).powi(2));
    let guess_spread = n * n - sum(|class| (class.predicted as f64).powi(2));
    if truth_spread > 0.0 && guess_spread > 0.0 {
        (right * n - both) / (truth_spread.sqrt() * guess_spread.sqrt())
    } else {
        0.0
    }
}

/// The quality with which scores rank positives before negatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranking {
    /// Area under the ROC curve: P(score of a positive > that of a negative), ties half. `None`
    /// unless both classes occur.
    pub roc_auc: Option<f64>,
    /// Σ (R_i − R_{i−1})·P_i over the distinct thresholds, without interpolation. `None` without
    /// positives.
    pub average_precision: Option<f64>,
}

/// Ranking quality of `scores` for a binary `truth`; O(n log n).
///
/// # Errors
/// Slices of different length, scores that are not finite.
pub fn ranking(truth: &[bool], scores: &[f64]) -> Result<Ranking, InputError> {
    same_length("truth", truth.len(), "scores", scores.len())?;
    finite("scores", scores)?;
    let mut items: Vec<(f64, bool)> = scores.iter().map(|s| s + 0.0).zip(truth.iter().copied()).collect();
    items.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut positives, mut negatives) = (0.0, 0.0);
    let (mut ordered_pairs, mut precision_sum) = (0.0, 0.0);
    for tied in items.chunk_by(|a, b| a.0 <= b.0) {
        let new_positives = tied.iter().filter(|item| item.1).count() as f64;
        let new_negatives = tied.len() as f64 - new_positives;
        ordered_pairs += new_negatives * (positives + 0.5 * new_positives);
        positives += new_positives;
        negatives += new_negatives;
        precision_sum += new_positives * positives / (positives + negatives);
    }
    Ok(Ranking {
        roc_auc: (positives > 0.0 && negatives > 0.0).then(|| ordered_pairs / (positives * negatives)),
        average_precision: (positives > 0.0).then(|| precision_sum / positives),
    })
}

#[cfg(test)]
mod tests;
