//! Filters, order and paging against a plain reading of the rows.

use std::collections::BTreeMap;

use karat_analysis::testing::{MemoryRun, Sketch};
use karat_analysis::{CellScores, system_id};
use karat_types::{CellStatus, Key, RunRows};
use proptest::prelude::*;

use crate::views::cells::{ROWS, window};
use crate::views::index::{self, CellFlag};
use crate::views::patience;
use crate::views::query::{CellOrder, CellQuery, Cursor};
use crate::views::run_view::RunView;

fn view(run: &MemoryRun) -> RunView {
    let index = index::build(run).unwrap();
    let plan = index.resolve(&run.header.plan);
    RunView::new(run.header().clone(), (plan, index, Key::default()), None, patience::now())
}

/// A group as a reader of the rows knows it.
#[derive(Debug, Default)]
struct PlainGroup {
    sample: String,
    system: String,
    model: String,
    variant: String,
    values: Vec<f64>,
    statuses: Vec<CellStatus>,
    has_unscored: bool,
    errors: Vec<String>,
}

fn plain_groups(run: &MemoryRun) -> Vec<PlainGroup> {
    let plan = run.plan();
    let mut groups: BTreeMap<(usize, usize), PlainGroup> = BTreeMap::new();
    run.each(|row| {
        let scores = CellScores::of(&plan, &row);
        let group = groups.entry((row.sample.row as usize, row.system)).or_default();
        group.sample.clone_from(&row.sample.id);
        group.system = system_id(&plan, row.system);
        group.model = plan.system_model(row.system).map(|it| it.id.clone()).unwrap_or_default();
        group.variant = plan.system_variant(row.system).to_owned();
        group.values.extend(scores.number(0));
        group.statuses.push(row.cell.status);
        group.has_unscored |= row.cell.status == CellStatus::Ok && scores.any_unscored();
        group.errors.extend(row.cell.error.iter().map(|error| format!("{}: {}", error.code, error.message)));
        if scores.any_unscored() {
            group.errors.push("the scorer failed".to_owned());
        }
    });
    groups.into_values().collect()
}

impl PlainGroup {
    fn mean(&self) -> Option<f64> {
        (!self.values.is_empty()).then(|| self.values.iter().sum::<f64>() / self.values.len() as f64)
    }

    fn matches(&self, query: &CellQuery) -> bool {
        let words = query.words.trim().to_lowercase();
        let flag = |flag: &CellFlag| match flag {
            CellFlag::Error => self.statuses.contains(&CellStatus::Error),
            CellFlag::Unscored => self.has_unscored,
            _ => false,
        };
        let in_range = match (query.metric.as_deref(), query.below, query.above) {
            (_, None, None) => true,
            (Some("quality.overall"), below, above) => self
                .mean()
                .is_some_and(|mean| below.is_none_or(|end| mean < end) && above.is_none_or(|start| mean > start)),
            _ => false,
        };
        let texts = [&self.sample, &self.system].into_iter().chain(&self.errors);
        in_range
            && (query.statuses.is_empty() || query.statuses.iter().any(|status| self.statuses.contains(status)))
            && (query.models.is_empty() || query.models.contains(&self.model))
            && (query.variants.is_empty() || query.variants.contains(&self.variant))
            && (query.flags.is_empty() || query.flags.iter().any(flag))
            && (words.is_empty() || texts.into_iter().any(|text| text.to_lowercase().contains(&words)))
    }
}

fn runs() -> impl Strategy<Value = MemoryRun> {
    let marks = prop::collection::vec((0..30_usize, 0..4_usize, 0..7_u8, 0..10_u8), 0..120);
    (1..=3_u32, marks, prop::collection::vec((0..30_usize, 0..4_usize, 0..10_u8), 0..20)).prop_map(
        |(trials, marks, single)| {
            let mut sketch = Sketch::new(2, 2, 30).trials(trials);
            for (sample, system, kind, value) in &marks {
                sketch = match kind {
                    0 => sketch.error(*sample, *system, "timeout"),
                    1 => sketch.unscored(*sample, *system),
                    2 => sketch.with_skipped(*sample, *system),
                    3 => sketch.not_applicable(*sample, *system),
                    _ => sketch.value(*sample, *system, f64::from(*value)),
                };
            }
            for (sample, system, value) in single {
                if marks.iter().any(|it| (it.0, it.1) == (sample, system)) {
                    sketch = sketch.trial_value((sample, system, trials - 1), f64::from(value));
                }
            }
            sketch.run()
        },
    )
}

fn queries() -> impl Strategy<Value = CellQuery> {
    let status = prop::sample::subsequence(vec![CellStatus::Ok, CellStatus::Error, CellStatus::Skipped], 0..=2);
    let models = prop::sample::subsequence(vec!["model-a".to_owned(), "model-b".to_owned(), "none".to_owned()], 0..=2);
    let variants = prop::sample::subsequence(vec!["variant-0".to_owned(), "variant-1".to_owned()], 0..=1);
    let flags = prop::sample::subsequence(vec![CellFlag::Error, CellFlag::Unscored, CellFlag::Cached], 0..=2);
    let words = prop::sample::select(vec!["", "", "", "SAMPLE-1", "model-b", "timeout", "scorer", "nothing has this"]);
    let bound = || prop::option::of((0..10_u8).prop_map(f64::from));
    let metric = prop::sample::select(vec![None, Some("quality.overall"), Some("quality.overall"), Some("unknown")]);
    let by = prop::sample::select(vec!["quality.overall", "sample", "system", "unknown"]);
    let order = prop::option::of((by, any::<bool>()));
    (status, models, variants, flags, words, (bound(), bound(), metric), order).prop_map(
        |(statuses, models, variants, flags, words, (below, above, metric), order)| CellQuery {
            metric: metric.map(str::to_owned),
            below,
            above,
            statuses,
            models,
            variants,
            flags,
            words: words.to_owned(),
            order: order.map(|(by, descending)| CellOrder { by: by.to_owned(), descending }),
        },
    )
}

proptest! {
    /// DB-04, DB-12: filters and order on the index equal those on the rows, read one by one.
    #[test]
    fn filters_equal_a_reading_of_the_rows(run in runs(), query in queries()) {
        let view = view(&run);
        let plain = plain_groups(&run);
        let selected = query.select(&view);
        let named = |group: &u32| {
            let first = view.index.group(*group as usize).start;
            (view.index.sample_id(first).to_owned(), view.system_name(view.index.place(first).system))
        };
        let found: Vec<_> = selected.groups.iter().map(named).collect();
        let mut wanted: Vec<&PlainGroup> = plain.iter().filter(|group| group.matches(&query)).collect();
        if let Some(CellOrder { by, descending }) = &query.order {
            wanted.sort_by(|a, b| {
                let turned = |order: std::cmp::Ordering| if *descending { order.reverse() } else { order };
                match by.as_str() {
                    "sample" => turned(a.sample.cmp(&b.sample)),
                    "system" => turned(a.system.cmp(&b.system)),
                    "quality.overall" => match (a.mean(), b.mean()) {
                        (Some(a), Some(b)) => turned(a.total_cmp(&b)),
                        (a, b) => b.is_some().cmp(&a.is_some()),
                    },
                    _ => std::cmp::Ordering::Equal,
                }
            });
        }
        let expected: Vec<_> = wanted.iter().map(|group| (group.sample.clone(), group.system.clone())).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(selected.cells, wanted.iter().map(|group| group.statuses.len() as u64).sum::<u64>());
    }

    /// DB-12: walking through the pages forwards shows each row once; backwards leads to the same pages.
    #[test]
    fn pages_show_each_row_once(run in runs(), query in queries()) {
        let view = view(&run);
        let groups = query.select(&view).groups;
        let ordinal = |at: usize| view.index.place(view.index.group(groups[at] as usize).start).ordinal;
        let (mut seen, mut starts, mut at) = (Vec::new(), Vec::new(), Cursor::Start);
        loop {
            let shown = window(&view, &query, &groups, at);
            prop_assert!(shown.len() <= ROWS);
            seen.extend(groups[shown.clone()].to_vec());
            starts.push(shown.start);
            if shown.end >= groups.len() {
                break;
            }
            at = Cursor::After(ordinal(shown.end - 1));
        }
        prop_assert_eq!(&seen, &groups);
        for pair in starts.windows(2).rev() {
            prop_assert_eq!(window(&view, &query, &groups, Cursor::Before(ordinal(pair[1]))).start, pair[0]);
        }
    }

    /// DB-04, invariant 7, formats have versions: an index comes back from its bytes as it was.
    #[test]
    fn index_round_trips(run in runs()) {
        let index = index::build(&run).unwrap();
        prop_assert_eq!(index::read(&index::write(&index)), Some(index));
    }
}

/// DB-12: a cursor of a row that no longer matches leads to the place where it would stand.
#[test]
fn cursor_of_a_hidden_row_keeps_its_place() {
    let mut sketch = Sketch::new(1, 1, 120);
    for sample in 0..120 {
        sketch = if sample == 60 { sketch.error(60, 0, "timeout") } else { sketch.value(sample, 0, 5.0) };
    }
    let view = view(&sketch.run());
    let query = CellQuery { statuses: vec![CellStatus::Ok], ..CellQuery::default() };
    let groups = query.select(&view).groups;
    assert_eq!((groups.len(), window(&view, &query, &groups, Cursor::After(60))), (119, 60..110));
    assert_eq!(window(&view, &query, &groups, Cursor::Before(60)), 10..60);
    assert_eq!(window(&view, &query, &groups, Cursor::After(9_999)), 0..50, "an unknown cell is the start");
}
