use proptest::prelude::*;

use super::*;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs())
}

#[test]
fn labels_that_never_occur_count_as_zero_in_the_macro_mean() {
    let result = classification(&[1, 1], &[1, 1], 4).unwrap().unwrap();
    assert!(close(result.accuracy, 1.0) && close(result.balanced_accuracy, 1.0));
    assert!(close(result.macro_mean.f1, 0.25) && close(result.matthews, 0.0));
    assert_eq!((result.per_class[0].support, result.per_class[0].predicted), (0, 0));
}

#[test]
fn nothing_is_undefined_and_unknown_labels_are_errors() {
    assert_eq!(classification(&[], &[], 3), Ok(None));
    assert!(classification(&[0, 3], &[0, 1], 3).is_err());
    assert!(classification(&[0], &[0, 1], 3).is_err());
    let one_class = ranking(&[true, true], &[0.2, 0.4]).unwrap();
    assert_eq!((one_class.roc_auc, one_class.average_precision), (None, Some(1.0)));
    let no_positives = ranking(&[false], &[0.2]).unwrap();
    assert_eq!((no_positives.roc_auc, no_positives.average_precision), (None, None));
    assert!(ranking(&[true], &[f64::NAN]).is_err());
}

/// P(positive above negative) over all pairs, ties half.
fn auc_by_pairs(items: &[(bool, f64)]) -> Option<f64> {
    let of = |class: bool| items.iter().filter(move |item| item.0 == class).map(|item| item.1);
    let pairs: Vec<f64> = of(true)
        .flat_map(|p| {
            of(false).map(move |n| {
                if p > n {
                    1.0
                } else if p < n {
                    0.0
                } else {
                    0.5
                }
            })
        })
        .collect();
    (!pairs.is_empty()).then(|| pairs.iter().sum::<f64>() / pairs.len() as f64)
}

proptest! {
    #[test]
    fn swapping_truth_and_prediction_swaps_precision_and_recall(
        pairs in prop::collection::vec((0..3_usize, 0..3_usize), 1..40),
        order in Just(vec![0, 1, 2]).prop_shuffle(),
    ) {
        let (truth, predicted): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let forth = classification(&truth, &predicted, 3).unwrap().unwrap();
        let back = classification(&predicted, &truth, 3).unwrap().unwrap();
        prop_assert!(close(forth.macro_mean.precision, back.macro_mean.recall));
        prop_assert!(close(forth.matthews, back.matthews));
        prop_assert!(close(forth.accuracy, forth.micro.f1));
        let renamed = |labels: &[usize]| -> Vec<usize> { labels.iter().map(|l| order[*l]).collect() };
        let other = classification(&renamed(&truth), &renamed(&predicted), 3).unwrap().unwrap();
        prop_assert!(close(forth.macro_mean.f1, other.macro_mean.f1));
        prop_assert!(close(forth.matthews, other.matthews));
        prop_assert!((-1.0 - 1e-12..=1.0 + 1e-12).contains(&forth.matthews));
    }

    #[test]
    fn ranking_counts_pairs(items in prop::collection::vec((any::<bool>(), 0..6_u8), 0..30)) {
        let items: Vec<_> = items.into_iter().map(|(truth, s)| (truth, f64::from(s))).collect();
        let (truth, scores): (Vec<_>, Vec<_>) = items.iter().copied().unzip();
        let result = ranking(&truth, &scores).unwrap();
        let expected = auc_by_pairs(&items);
        prop_assert_eq!(result.roc_auc.is_some(), expected.is_some());
        prop_assert!(result.roc_auc.zip(expected).is_none_or(|(a, b)| close(a, b)));
        prop_assert!(result.average_precision.is_none_or(|p| (0.0..=1.0 + 1e-12).contains(&p)));
    }
}
