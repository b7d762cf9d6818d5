//! Filters and order of cells, on the numbers of the index. The unit is a group: the trials of one sample and system.

use karat_types::CellStatus;

use crate::views::index::{CellFlag, MetricColumn, ranks};
use crate::views::run_view::RunView;

/// The cells that a reader asks for. Several values of one field mean any of them, several fields all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CellQuery {
    /// The metric that `below` and `above` are about.
    pub metric: Option<String>,
    /// Only groups whose mean is less.
    pub below: Option<f64>,
    /// Only groups whose mean is greater.
    pub above: Option<f64>,
    /// Only groups with a cell of one of these statuses.
    pub statuses: Vec<CellStatus>,
    /// Only systems with one of these models.
    pub models: Vec<String>,
    /// Only systems with one of these variants.
    pub variants: Vec<String>,
    /// Only groups with a cell that has one of these flags.
    pub flags: Vec<CellFlag>,
    /// Only groups with these words in the id of the sample, the name of the system, an error or a note.
    pub words: String,
    /// The order; that of the plan if absent.
    pub order: Option<CellOrder>,
}

/// An order of groups.
#[derive(Debug, Clone, PartialEq)]
pub struct CellOrder {
    /// `sample`, `system`, or a metric.
    pub by: String,
    /// True for the largest first.
    pub descending: bool,
}

/// The part of a list that a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cursor<T> {
    /// The first rows.
    #[default]
    Start,
    /// The rows after this one.
    After(T),
    /// The rows before this one.
    Before(T),
}

/// The order by id of the sample, and by name of the system.
pub(crate) const BY_SAMPLE: &str = "sample";
pub(crate) const BY_SYSTEM: &str = "system";

/// The groups that a query selects, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedCells {
    /// Groups of the index.
    pub groups: Vec<u32>,
    /// Number of their cells.
    pub cells: u64,
}

impl CellQuery {
    /// Returns the groups that the query selects, in its order. Names that the run does not have select nothing.
    pub fn select(&self, view: &RunView) -> MatchedCells {
        let filter = Filter::new(self, view);
        let mut groups: Vec<u32> =
            (0..view.index.groups()).filter(|group| filter.matches(*group)).map(|group| group as u32).collect();
        if let Some(order) = Order::of(self, view) {
            let mut keys: Vec<OrderKey> = groups.iter().map(|group| order.key(*group)).collect();
            keys.sort_unstable();
            groups = keys.into_iter().map(|(_, _, group)| group).collect();
        }
        let cells = groups.iter().map(|group| view.index.group(*group as usize).len() as u64).sum();
        MatchedCells { groups, cells }
    }

    /// Returns the position of the first of `groups` that stands after a group in the query's order. The group itself
    /// need not be among them: it may have stopped to match since.
    pub(crate) fn position_after(&self, view: &RunView, groups: &[u32], group: usize) -> usize {
        let group = group as u32;
        match Order::of(self, view) {
            Some(order) => {
                let own = order.key(group);
                groups.partition_point(|other| order.key(*other) <= own)
            }
            None => groups.partition_point(|other| *other <= group),
        }
    }
}

/// A query with everything resolved that does not depend on the cell.
struct Filter<'a> {
    query: &'a CellQuery,
    view: &'a RunView,
    metric: Option<usize>,
    /// By system.
    systems: Vec<bool>,
    words: Option<Words>,
}

/// The systems, samples and texts in which the words of a query occur.
struct Words {
    /// By system.
    systems: Vec<bool>,
    /// By sample.
    samples: Vec<bool>,
    /// By text.
    texts: Vec<bool>,
}

impl<'a> Filter<'a> {
    fn new(query: &'a CellQuery, view: &'a RunView) -> Self {
        let plan = &view.plan;
        let is_chosen = |system: usize| {
            let model = plan.system_model(system).map(|model| &model.id);
            let variant = plan.system_variant(system);
            (query.models.is_empty() || model.is_some_and(|model| query.models.contains(model)))
                && (query.variants.is_empty() || query.variants.iter().any(|wanted| wanted == variant))
        };
        let systems = (0..plan.systems.len()).map(is_chosen).collect();
        let wanted = query.words.trim().to_lowercase();
        let words = (!wanted.is_empty()).then(|| {
            let has = |text: &str| text.to_lowercase().contains(&wanted);
            Words {
                systems: (0..plan.systems.len()).map(|system| has(&view.system_name(system))).collect(),
                samples: view.index.sample_ids().map(has).collect(),
                texts: view.index.texts().iter().map(|text| has(text)).collect(),
            }
        });
        let metric = query.metric.as_deref().and_then(|name| view.metric(name));
        Self { query, view, metric, systems, words }
    }

    fn matches(&self, group: usize) -> bool {
        let index = &self.view.index;
        let cells = index.group(group);
        let first = cells.start;
        let system = index.place(first).system;
        let (query, any) = (self.query, |holds: &dyn Fn(usize) -> bool| cells.clone().any(holds));
        self.systems.get(system).copied().unwrap_or(false)
            && (query.statuses.is_empty() || any(&|cell| query.statuses.contains(&index.status(cell))))
            && (query.flags.is_empty() || any(&|cell| query.flags.iter().any(|flag| self.view.has_flag(cell, *flag))))
            && self.is_in_range(group)
            && self.words.as_ref().is_none_or(|words| {
                let has = |list: &[bool], at: usize| list.get(at).copied().unwrap_or(false);
                has(&words.systems, system)
                    || has(&words.samples, index.sample(first))
                    || any(&|cell| index.remarks(cell).any(|text| has(&words.texts, text)))
            })
    }

    fn is_in_range(&self, group: usize) -> bool {
        let (below, above) = (self.query.below, self.query.above);
        if below.is_none() && above.is_none() {
            return true;
        }
        let value = self.metric.and_then(|metric| self.view.column(metric)?.mean(self.view.index.group(group)));
        value.is_some_and(|value| below.is_none_or(|end| value < end) && above.is_none_or(|end| value > end))
    }
}

/// An order with everything resolved that does not depend on the group.
struct Order<'a> {
    view: &'a RunView,
    by: OrderBy<'a>,
    descending: bool,
}

enum OrderBy<'a> {
    /// Rank of each sample by its id.
    Sample(&'a [u32]),
    /// Rank of each system by its name.
    System(Vec<u32>),
    /// The mean of each group.
    Metric(&'a MetricColumn),
}

/// The place of a group in an order: whether it has no value, its value as an integer of the same order, and its place in
/// the plan.
type OrderKey = (bool, i64, u32);

impl<'a> Order<'a> {
    fn of(query: &CellQuery, view: &'a RunView) -> Option<Self> {
        let order = query.order.as_ref()?;
        let by = match order.by.as_str() {
            BY_SAMPLE => OrderBy::Sample(view.sample_ranks()),
            BY_SYSTEM => OrderBy::System(ranks((0..view.plan.systems.len()).map(|it| view.system_name(it)).collect())),
            name => OrderBy::Metric(view.column(view.metric(name)?)?),
        };
        Some(Self { view, by, descending: order.descending })
    }

    /// The key of a group; those without a value stand last in both directions, ties in plan order.
    fn key(&self, group: u32) -> OrderKey {
        let cells = self.view.index.group(group as usize);
        let rank = |ranks: &[u32], at: usize| ranks.get(at).map(|rank| i64::from(*rank));
        let value = match &self.by {
            OrderBy::Sample(ranks) => rank(ranks, self.view.index.sample(cells.start)),
            OrderBy::System(ranks) => rank(ranks, self.view.index.place(cells.start).system),
            OrderBy::Metric(column) => column.mean(cells).map(sortable),
        };
        // The complement turns the order and cannot overflow.
        let turned = value.map(|value| if self.descending { !value } else { value });
        (turned.is_none(), turned.unwrap_or_default(), group)
    }
}

/// An integer that is ordered as the number is by `total_cmp`.
fn sortable(number: f64) -> i64 {
    let bits = number.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}
