//! Aggregates the scores of a group of systems in one metric.

use karat_stats::describe::{extent, mean, median, standard_deviation};

use crate::figures::spread::{Spread, Weighting};
use crate::infer::figure::plain_mean;
use crate::infer::finding::finite;
use crate::infer::measure::Measure;
use crate::score::observations::{Aggregate, Observations};
use crate::score::table::{ScoreTable, State};

/// Aggregates a metric over some systems and samples.
pub(crate) fn spread(
    table: &ScoreTable,
    metric: usize,
    measure: Measure,
    systems: &[usize],
    samples: std::ops::Range<usize>,
) -> Spread {
    let one_sample = samples.len() == 1 && table.samples() > 1;
    let mut observed = table.placed_observations(metric).with_capacity(samples.len() * systems.len());
    let mut shown = Vec::new();
    // By system, the ends between which each failed entry lies.
    let mut failures: Vec<Vec<(f64, f64)>> = vec![Vec::new(); systems.len()];
    let (mut n_unscored, mut n_errors, mut n_na) = (0, 0, 0);
    for sample in samples {
        for (at, &system) in systems.iter().enumerate() {
            let state = table.state(metric, sample, system);
            match state {
                State::Unscored => n_unscored += 1,
                State::Error => n_errors += 1,
                State::NotApplicable => n_na += 1,
                State::Absent | State::Skipped | State::Value => {}
            }
            if let (true, Some(range), Some(failures)) = (state.is_failure(), measure.range, failures.get_mut(at)) {
                failures.push(table.possible(metric, (sample, system), range));
            }
            let values = (table.shown_value(metric, sample, system), table.figure_value(metric, sample, system));
            if let (Some(own), Some(value)) = values {
                // One sample is not a mean of many: it shows what its cells show.
                let value = if one_sample { own.into() } else { value };
                observed.push_labelled(value, table.labels(metric, sample, system), at, table.cluster(sample));
                observed.push_place(sample, system, at);
                shown.extend(observed.cascade.as_ref().map(|_| own));
            }
        }
    }
    let figure = if one_sample { plain_mean(&observed) } else { measure.figure(&observed) };
    let bounds = measure.range.filter(|_| measure.aggregate == Aggregate::Mean && n_unscored + n_errors > 0);
    let values = if observed.cascade.is_some() { &shown } else { &observed.values };
    let extent = extent(values);
    let weighs_systems = !one_sample && !observed.is_one_stratum();
    Spread {
        figure,
        weighting: if weighs_systems { Weighting::Systems } else { Weighting::Units },
        mean: mean(values).and_then(finite),
        median: median(values).and_then(finite),
        min: extent.and_then(|(min, _)| finite(min)),
        max: extent.and_then(|(_, max)| finite(max)),
        stddev: standard_deviation(values).and_then(finite),
        n_unscored,
        n_errors,
        n_na,
        bounds: bounds.and_then(|_| {
            let ends = [|it: &(f64, f64)| it.0, |it: &(f64, f64)| it.1];
            let [lo, hi] = ends.map(|end| mean_with_failures(&observed, &failures, end));
            Some((lo?, hi?))
        }),
    }
}

/// Equal-weight mean over systems if every failed unit counts as one of its ends.
fn mean_with_failures(
    observed: &Observations,
    failures: &[Vec<(f64, f64)>],
    end: fn(&(f64, f64)) -> f64,
) -> Option<f64> {
    let mut sums = vec![(0.0, 0_u64); failures.len()];
    for (stratum, value) in observed.strata.iter().zip(&observed.values) {
        let entry = sums.get_mut(*stratum as usize)?;
        *entry = (entry.0 + value, entry.1 + 1);
    }
    let means: Vec<f64> = sums
        .iter()
        .zip(failures)
        .filter(|((_, n), failed)| *n > 0 || !failed.is_empty())
        .map(|((sum, n), failed)| (sum + failed.iter().map(end).sum::<f64>()) / (n + failed.len() as u64) as f64)
        .collect();
    mean(&means).and_then(finite)
}

#[cfg(test)]
mod tests {
    use crate::testing::Sketch;
    use crate::{Options, analyse};

    /// CL-18: mean, median, min, max and standard deviation of hand-computed scores.
    #[test]
    fn spread_of_hand_computed_scores() {
        let run = Sketch::new(1, 1, 4).value(0, 0, 2.0).value(1, 0, 4.0).value(2, 0, 9.0).value(3, 0, 5.0).run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let spread = &findings.systems[0].metrics[0];
        assert_eq!((spread.value(), spread.median(), spread.n()), (Some(5.0), Some(4.5), 4));
        assert_eq!((spread.min(), spread.max()), (Some(2.0), Some(9.0)));
        assert!((spread.stddev().unwrap() - (26.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(spread.bounds(), None);
    }

    /// CL-18: with unequal numbers of scores, `mean` is that of the n units, and the figure says that systems weigh the
    /// same.
    #[test]
    fn unbalanced_groups_say_their_weighting() {
        // The first variant has three scores, the second one.
        let run = Sketch::new(1, 2, 3).value(0, 0, 2.0).value(1, 0, 4.0).value(2, 0, 6.0).value(0, 1, 8.0).run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let spread = &findings.models[0].metrics[0];
        assert_eq!((spread.n(), spread.mean(), spread.value()), (4, Some(5.0), Some(6.0)));
        let json = serde_json::to_value(spread).unwrap();
        assert_eq!((&json["weighting"], &json["mean"], &json["value"]), (&"systems".into(), &5.0.into(), &6.0.into()));
        let system = serde_json::to_value(&findings.systems[0].metrics[0]).unwrap();
        assert!(system.get("weighting").is_none() && system["mean"] == system["value"], "{system}");
    }

    /// Invariant: the interval of a bounded metric stays within the metric's range.
    #[test]
    fn no_interval_leaves_the_range_of_its_metric() {
        let interval = |low: f64| {
            let run = Sketch::new(1, 1, 4).fill(10.0).value(0, 0, low).value(1, 0, 9.0).value(2, 0, 8.5).run();
            analyse(&run, &Options::default()).unwrap().systems[0].metrics[0].figure().unwrap().interval().unwrap()
        };
        // 7.875 ± 3.182·1.329, on a scale that ends at 10.
        let (lo, hi) = interval(4.0);
        assert!((lo - 3.645).abs() < 5e-3 && (hi - 10.0).abs() < 1e-12, "{lo} {hi}");
        let (lo, hi) = interval(-0.0);
        assert!(lo.abs() < 1e-12 && (hi - 10.0).abs() < 1e-12, "{lo} {hi}");
    }

    /// Invariant: failed units are left out and counted, and the best and worst case are computed.
    #[test]
    fn failures_are_counted_and_bounded() {
        let run = Sketch::new(1, 1, 4).value(0, 0, 6.0).value(1, 0, 8.0).unscored(2, 0).error(3, 0, "timeout").run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let spread = &findings.systems[0].metrics[0];
        assert_eq!((spread.n(), spread.n_unscored(), spread.n_errors()), (2, 1, 1));
        assert_eq!(spread.value(), Some(7.0));
        assert_eq!(spread.bounds(), Some((3.5, 8.5)));
    }
}
