//! Classification figures of expected and found labels over all samples.

use karat_stats::classification::{ClassScores, classification};
use karat_stats::describe::mean;

/// A figure of labels. A quotient 0/0 is 0, as in scikit-learn with `zero_division=0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LabelFigure {
    /// Mean F1 of the labels.
    MacroF1,
    /// F1 of the pooled counts: equals the accuracy if every output is a declared label.
    MicroF1,
    /// Mean F1 of the labels, weighted by the number of times each is expected.
    WeightedF1,
    /// Mean recall of the labels that are expected at least once.
    BalancedAccuracy,
}

impl LabelFigure {
    /// From a metric's `aggregate`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "f1" => Some(Self::MacroF1),
            "f1_micro" => Some(Self::MicroF1),
            "f1_weighted" => Some(Self::WeightedF1),
            "balanced_accuracy" => Some(Self::BalancedAccuracy),
            _ => None,
        }
    }

    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MacroF1 => "macro F1",
            Self::MicroF1 => "micro F1",
            Self::WeightedF1 => "weighted F1",
            Self::BalancedAccuracy => "balanced accuracy",
        }
    }

    /// The figure of (expected, found) pairs. The first `declared` labels count, even if they never occur; if 0, the
    /// labels that occur. `None` for no pairs.
    pub(crate) fn of(self, pairs: &[(u32, u32)], declared: usize) -> Option<f64> {
        let (truth, found): (Vec<usize>, Vec<usize>) =
            pairs.iter().map(|(truth, found)| (*truth as usize, *found as usize)).unzip();
        let known = truth.iter().chain(&found).max()? + 1;
        let classes = classification(&truth, &found, known.max(declared)).ok()??.per_class;
        let counts = |class: &&ClassScores| match declared {
            0 => class.support + class.predicted > 0,
            declared => class.label < declared,
        };
        let counted: Vec<&ClassScores> = classes.iter().filter(counts).collect();
        let sum = |of: fn(&ClassScores) -> f64| counted.iter().map(|class| of(class)).sum::<f64>();
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let support = |class: &ClassScores| class.support as f64;
        match self {
            Self::MacroF1 => mean(&counted.iter().map(|class| class.scores.f1).collect::<Vec<f64>>()),
            Self::MicroF1 => {
                let margins = sum(|class| (class.support + class.predicted) as f64);
                Some(share(sum(|class| 2.0 * class.hits as f64), margins))
            }
            Self::WeightedF1 => Some(share(sum(|class| class.support as f64 * class.scores.f1), sum(support))),
            Self::BalancedAccuracy => {
                let expected = counted.iter().filter(|class| class.support > 0);
                mean(&expected.map(|class| class.scores.recall).collect::<Vec<f64>>())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(pairs: &[(u32, u32)], declared: usize) -> [Option<f64>; 4] {
        let all = ["f1", "f1_micro", "f1_weighted", "balanced_accuracy"];
        all.map(|name| LabelFigure::parse(name).unwrap().of(pairs, declared))
    }

    fn close(found: [Option<f64>; 4], expected: [f64; 4]) -> bool {
        found.iter().zip(expected).all(|(found, expected)| found.is_some_and(|it| (it - expected).abs() < 1e-12))
    }

    /// Values of sklearn.metrics (f1_score, balanced_accuracy_score; zero_division=0).
    #[test]
    fn figures_match_scikit_learn() {
        let pairs = [(0, 0), (0, 1), (0, 0), (1, 1), (1, 2), (2, 2), (2, 0), (0, 0)];
        assert!(
            close(figures(&pairs, 0), [0.5833333333333334, 0.625, 0.625, 0.5833333333333334]),
            "{:?}",
            figures(&pairs, 0)
        );
        // labels=[0, 1, 2, 3], of which the last never occurs
        assert!(close(figures(&pairs, 4), [0.4375, 0.625, 0.625, 0.5833333333333334]), "{:?}", figures(&pairs, 4));
        // labels=[0, 1]: what is neither hits no label
        assert!(
            close(figures(&pairs, 2), [0.625, 0.6666666666666666, 0.6666666666666666, 0.625]),
            "{:?}",
            figures(&pairs, 2)
        );
    }

    #[test]
    fn no_sample_has_no_figure_and_no_hit_is_0() {
        assert_eq!(figures(&[], 3), [None; 4]);
        assert!(close(figures(&[(0, 1), (1, 0)], 0), [0.0; 4]));
    }
}
