use proptest::prelude::*;

use super::*;
use crate::interval::Level;
use crate::numeric::seed::Seed;

/// DC-03: for scores of 0 and 1 the bounded interval is Clopper-Pearson, whatever the number of values.
#[test]
fn bounded_outcomes_are_clopper_pearson() {
    use crate::describe::Proportion;
    for (n, fails) in [(20, 1), (30, 3), (80, 6), (1_000, 2), (20_000, 4), (200_000, 1)] {
        let mut values = vec![1.0; n];
        values[..fails].fill(0.0);
        let found = Bounded::new(&values, 1.0).unwrap().interval(0.0, 1.0, Level::P95).unwrap();
        let exact = Proportion::new((n - fails) as f64, n as f64).unwrap().clopper_pearson(Level::P95);
        assert!((found.lo - exact.lo).abs() < 1e-9 && (found.hi - exact.hi).abs() < 1e-9, "{n}: {found:?} {exact:?}");
    }
}

/// DC-03: few values are those below 10 and below half; of equally common values the nearest to 0 is the commonest.
#[test]
fn values_are_tied_where_few_differ() {
    let of = |values: &[f64]| commonest(values).map(|found| (found.value, found.others, found.is_tied()));
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[0.3, 0.1 + 0.2, 5.0]), Some((0.3, 1, true)));
    assert_eq!(of(&[1.0, 0.0]), Some((0.0, 1, false)));
    assert_eq!(of(&[-2.0, 2.0, -2.0, 2.0]), Some((-2.0, 2, false)));
    let mut many = vec![4.0; 90];
    many.extend([1.0; 10]);
    assert_eq!(of(&many), Some((4.0, 10, false)));
    assert_eq!(of(&many[..99]), Some((4.0, 9, true)));
}

/// DC-03: a wider scale, and dependence, never narrow an interval.
#[test]
fn a_bounded_interval_widens_with_the_scale_and_the_design_effect() {
    let values = [5.0, 5.0, 5.0, 4.0, 5.0, 5.0, 5.0, 5.0, 3.0, 5.0];
    let width = |effect: f64, min: f64| {
        let found = Bounded::new(&values, effect).unwrap().interval(min, 5.0, Level::P95).unwrap();
        assert!(found.lo >= min && found.hi <= 5.0 && found.contains(4.7), "{found:?}");
        found.hi - found.lo
    };
    assert!(width(1.0, 1.0) < width(1.0, 0.0) && width(1.0, 1.0) < width(2.0, 1.0));
    assert_eq!(Bounded::new(&values, 1.0).unwrap().interval(5.0, 5.0, Level::P95), None);
}

/// DC-10: Bell-McCaffrey's closed form agrees with the definition by matrices: df = (tr M)²/tr M² for the quadratic form
/// of the residuals of independent values.
#[test]
fn degrees_of_freedom_are_those_of_the_quadratic_form() {
    let labels = [0, 0, 0, 0, 0, 1, 2, 2, 3, 3, 3];
    let weights = [1.0, 2.0, 0.5, 1.5, 1.0, 3.0, 1.0, 1.0, 0.2, 2.0, 1.0];
    let n = labels.len();
    let clusters = Clusters::new(&labels);
    let values: Vec<f64> = (0..n).map(|i| (i * i % 7) as f64).collect();
    let total: f64 = weights.iter().sum();
    let all: f64 = weights.iter().map(|w| w * w).sum();
    // e_g = Σ_{i∈g} w_i(x_i − Σ_j w_j x_j/T) = row_g · x; V = Σ F_g (row_g · x)² over T².
    let rows: Vec<(f64, Vec<f64>)> = (0..4)
        .map(|g| {
            let of = |i: usize| f64::from(u8::from(labels[i] == g));
            let weight: f64 = (0..n).map(|i| of(i) * weights[i]).sum();
            let squares: f64 = (0..n).map(|i| of(i) * weights[i] * weights[i]).sum();
            let h = weight / total;
            let factor = squares / (squares * (1.0 - 2.0 * h) + h * h * all);
            (factor, (0..n).map(|i| weights[i] * (of(i) - h)).collect())
        })
        .collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let trace: f64 = rows.iter().map(|(f, row)| f * dot(row, row)).sum();
    let square: f64 = rows.iter().flat_map(|(f, a)| rows.iter().map(move |(g, b)| f * g * dot(a, b).powi(2))).sum();
    let found = weighted_robust_mean(&values, &weights, &clusters, Level::P95).unwrap();
    assert!((found.df.unwrap() - trace * trace / square).abs() < 1e-9, "{found:?}");
    assert!(
        (found.variance.unwrap()
            - rows.iter().map(|(f, row)| f * dot(row, &values).powi(2)).sum::<f64>() / (total * total))
            .abs()
            < 1e-12
    );
}

/// DC-11: 500 of 500 in 20 clusters pass a bound of .95; one fail less does not make the rate look better.
#[test]
fn a_perfect_rate_ends_highest() {
    let sizes = [25_usize; 20];
    let labels: Vec<usize> = sizes.iter().enumerate().flat_map(|(at, size)| vec![at; *size]).collect();
    let clusters = Clusters::new(&labels);
    let lower = |fails: usize| {
        let mut values = vec![1.0; 500];
        values[..fails].fill(0.0);
        let found = cluster_rate(&values, 500 - fails, &clusters, 1, Level::P95).unwrap().unwrap();
        found.interval.unwrap().lo
    };
    assert!((lower(0) - 0.961).abs() < 5e-4 && (lower(1) - 0.958).abs() < 1.5e-3, "{} {}", lower(0), lower(1));
    assert!((1..60).all(|fails| lower(fails) <= lower(0)));
}

/// DC-11: two systems with equal results on the same samples are worth the samples once.
#[test]
fn systems_on_the_same_samples_count_once() {
    let values = vec![1.0; 40];
    let samples: Vec<usize> = (0..40).map(|at| at / 2).collect();
    let both = cluster_rate(&values, 40, &Clusters::new(&samples), 2, Level::P95).unwrap().unwrap();
    assert!((both.effective_n - 20.0).abs() < 1e-9, "{both:?}");
}

/// DC-02: p and interval agree about 0, whatever test is chosen.
#[derive(Debug, Clone)]
struct Table {
    d: Vec<f64>,
    clusters: Vec<u8>,
}

fn tables() -> impl Strategy<Value = Table> {
    let value = prop_oneof![4 => Just(0.0), 2 => Just(0.25), 3 => -1.0..1.0_f64];
    prop::collection::vec((value, 0..40_u8, 0..3_u8), 2..90).prop_map(|rows| {
        let mode = rows[0].2;
        let cluster = |(at, row): (usize, &(f64, u8, u8))| if mode == 0 { at as u8 } else { row.1 / (2 * mode - 1) };
        Table {
            clusters: rows.iter().enumerate().map(cluster).collect(),
            d: rows.into_iter().map(|row| row.0).collect(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn p_and_interval_never_contradict_each_other(table in tables(), range in prop::bool::ANY) {
        let clusters = Some(Clusters::new(&table.clusters));
        let largest = range.then_some(1.0);
        let change = Change::of_differences(table.d, largest, clusters).unwrap().with_draws(Seed(3), Level::P90);
        for level in [Level::P90, Level::P95, Level::P99] {
            let Some(interval) = change.interval(level) else { continue };
            let p = change.p().unwrap();
            prop_assert!(interval.lo <= interval.hi, "{interval:?}");
            prop_assert!(interval.contains(change.difference().unwrap()) || change.effective_clusters().is_some());
            prop_assert_eq!(interval.contains(0.0), p > level.alpha(), "{:?} {} {:?}", interval, p, change.test());
            prop_assert!(largest.is_none() || (interval.lo >= -1.0 && interval.hi <= 1.0));
            for shift in [-0.4, -0.02, 0.015, 0.3].into_iter().filter(|_| level == Level::P95) {
                let near = |end: f64| (end - shift).abs() < 1e-7;
                let Some(p) = change.p_of(shift).filter(|_| !near(interval.lo) && !near(interval.hi)) else { continue };
                let decided = p <= level.alpha() + 1e-12;
                prop_assert_eq!(!interval.contains(shift), decided, "{:?} {} {} {:?}", interval, shift, p, change.test());
            }
        }
    }

    #[test]
    fn swapping_the_sides_mirrors_a_change(table in tables()) {
        let clusters = || Some(Clusters::new(&table.clusters));
        let mirrored: Vec<f64> = table.d.iter().map(|d| -d).collect();
        let one = Change::of_differences(table.d.clone(), Some(1.0), clusters()).unwrap();
        let other = Change::of_differences(mirrored, Some(1.0), clusters()).unwrap();
        prop_assert_eq!(one.test(), other.test());
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        prop_assert!(one.p().zip(other.p()).is_none_or(|(a, b)| close(a, b)));
        let (a, b) = (one.interval(Level::P95), other.interval(Level::P95));
        prop_assert!(a.zip(b).is_none_or(|(a, b)| close(a.lo, -b.hi) && close(a.hi, -b.lo)), "{:?} {:?}", a, b);
    }

    /// DC-02: sampled flips come close to all of them.
    #[test]
    fn sampled_flips_come_close_to_exact_ones(d in prop::collection::vec(-1.0..1.4_f64, 18..24)) {
        use super::flips::Units;
        let sizes: Vec<f64> = (0..d.len()).map(|at| (1 + at % 3) as f64).collect();
        let units = Units { sums: d, sizes };
        let sampled = units.sample(0.05, Seed(5));
        let (exact, near) = (units.exact_p(0.0).unwrap(), sampled.p(0.0));
        prop_assert!((exact - near).abs() < 0.03, "{exact} {near}");
        let (a, b) = (units.exact_interval(0.05).unwrap(), sampled.interval(0.05).unwrap());
        prop_assert!((a.0 - b.0).abs() < 0.15 && (a.1 - b.1).abs() < 0.15, "{a:?} {b:?}");
    }

    /// DC-15: the interval of shares stays within 0 and 1 and holds the mean.
    #[test]
    fn shares_stay_on_their_scale(values in prop::collection::vec(prop_oneof![Just(1.0), 0.0..=1.0_f64], 2..60), size in 1..4_usize) {
        let labels: Vec<usize> = (0..values.len()).map(|at| at / size).collect();
        let found = share_mean(&values, &values, &Clusters::new(&labels), Level::P95).unwrap();
        if let Some(interval) = found.interval {
            prop_assert!(0.0 <= interval.lo && interval.hi <= 1.0);
            prop_assert!(interval.contains(found.value.unwrap()), "{:?}", found);
        }
    }
}

/// DC-02: too few units, equal clusters and a metric without a range leave a change undecided.
#[test]
fn what_cannot_decide_has_no_interval() {
    let change = |d: &[f64], largest, clusters: Option<&[u8]>| {
        Change::of_differences(d.to_vec(), largest, clusters.map(Clusters::new)).unwrap()
    };
    let one = change(&[1.0], Some(1.0), None);
    assert_eq!((one.test(), one.p(), one.interval(Level::P95)), (ChangeTest::None, None, None));
    let five = change(&[0.1, 0.2, 0.3, 0.4, 0.5], None, None);
    assert_eq!((five.p(), five.interval(Level::P95), five.fewest(Level::P95)), (Some(0.0625), None, Some(6)));
    let cost = change(&[2.0; 40], None, None);
    assert_eq!((cost.test(), cost.p(), cost.interval(Level::P95)), (ChangeTest::Bounded, None, None));
    let alike = change(&[0.0, 0.5, 0.0, 0.5, 0.0, 0.5, 0.0, 0.5], Some(1.0), Some(&[0, 0, 1, 1, 2, 2, 3, 3]));
    assert!(alike.clusters_alike() && alike.interval(Level::P90).is_none());
}

/// DC-12: an end beyond the data is open, and the fewest values with one are known.
#[test]
fn a_percentile_needs_enough_values() {
    let values: Vec<f64> = (1..=40).map(f64::from).collect();
    let found = quantile_interval(&values, 0.95, Level::P95).unwrap();
    assert_eq!((found.value, found.lo, found.hi, found.fewest_for_upper), (38.0, Some(35.0), None, 72));
    let values: Vec<f64> = (1..=72).map(f64::from).collect();
    assert!(quantile_interval(&values, 0.95, Level::P95).unwrap().hi.is_some());
    assert!(quantile_interval(&values[..71], 0.95, Level::P95).unwrap().hi.is_none());
    let by_rate = quantile_interval_by_rate(&values, 0.5, (0.40, 0.60), Level::P95).unwrap();
    assert_eq!((by_rate.rank_lower, by_rate.rank_upper), (Some(28), Some(45)));
}

/// DC-20, DC-21: nothing is estimated where every row was drawn and every output labelled.
#[test]
fn a_census_has_no_width() {
    let strata =
        [DrawnStratum { rows: 3, scores: vec![1.0, 0.0, 1.0] }, DrawnStratum { rows: 2, scores: vec![0.0, 1.0] }];
    for outcome in [Outcome::PassFail, Outcome::Score] {
        let width = |reach| {
            let found = stratified_figure(&strata, outcome, reach, Level::P95).unwrap().interval.unwrap();
            found.hi - found.lo
        };
        assert!(width(Reach::Frame) <= 0.0 && width(Reach::Population) > 0.3);
    }
    let labelled = [LabelledStratum { rows: 1, judge_mean: 1.0, human: vec![0.0], judge: vec![1.0] }];
    let found = people_mean(&labelled, Outcome::PassFail, 1.0, None, Level::P95).unwrap().unwrap();
    assert_eq!((found.value, found.dataset.map(|it| it.half_width()), found.population), (0.0, Some(0.0), None));
}

/// DC-20: rows that could not be drawn have no weight.
#[test]
fn a_probability_of_0_is_refused() {
    assert!(drawn_mean(&[1.0, 0.0], &[0.5, 0.0], Outcome::Score, Level::P95).is_err());
}
