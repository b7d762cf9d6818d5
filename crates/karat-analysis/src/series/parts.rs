//! A composite split into the contributions of its axes.

use karat_types::OverallMethod;

use super::rubric::Composition;

/// The contributions of axes to a composite: weight × grade. They add up to the composite before a cap on the composite
/// itself and before it is rounded. What caps took away is not among them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Contributions {
    /// By axis, in the view's order.
    pub axes: Vec<f64>,
    /// The part that caps took away: from axes by their weight, and from the composite.
    pub taken: f64,
    /// The part of `taken` that a cap on the composite itself took.
    pub taken_of_composite: f64,
}

impl Contributions {
    /// The sum of the axes' contributions.
    pub fn sum(&self) -> f64 {
        self.axes.iter().sum()
    }

    /// The mean of several; `None` without any.
    pub(super) fn mean(all: &[&Self]) -> Option<Self> {
        let mean =
            |of: &dyn Fn(&Self) -> f64| karat_stats::describe::mean(&all.iter().map(|it| of(it)).collect::<Vec<f64>>());
        let axes = all.first()?.axes.len();
        let axis = |at: usize| mean(&|it| it.axes.get(at).copied().unwrap_or_default());
        Some(Self {
            axes: (0..axes).map(axis).collect::<Option<_>>()?,
            taken: mean(&|it| it.taken)?,
            taken_of_composite: mean(&|it| it.taken_of_composite)?,
        })
    }
}

/// The reason why composites have no contributions of axes, if there is one.
pub(super) fn obstacle(rubric: &Composition, range: Option<(f64, f64)>) -> Option<String> {
    let negative = rubric.axes.iter().any(|axis| axis.range.is_none_or(|(lo, _)| lo < 0.0));
    match rubric.overall.as_ref().map(|overall| overall.method) {
        _ if rubric.axes.is_empty() => Some("The metric has no axes.".to_owned()),
        None => Some("No rubric says how the metric follows from its axes.".to_owned()),
        Some(OverallMethod::Given) => {
            Some("The judge gives the composite itself: it is not a weighted mean of the axes.".to_owned())
        }
        Some(OverallMethod::Min) => Some("The composite is the lowest axis, not a weighted mean.".to_owned()),
        _ if rubric.axes.iter().any(|axis| axis.weight.is_none()) => {
            Some("The weights of the axes add up to 0.".to_owned())
        }
        _ if negative => Some("Grades of axes may be below 0, so contributions cannot be stacked.".to_owned()),
        _ if range.is_none() => Some("The composite has no scale.".to_owned()),
        _ => None,
    }
}

/// Splits a composite. `before_caps` are the figures that a cap lowered, by dimension or under the composite's name.
/// `None` if an axis has no grade.
pub(super) fn split(
    rubric: &Composition,
    composite: f64,
    values: &[Option<f64>],
    before_caps: &[(String, f64)],
) -> Option<Contributions> {
    let overall = rubric.overall.as_ref()?;
    let weighted = rubric.axes.iter().zip(values).map(|(axis, value)| Some(axis.weight? * (*value)?));
    let axes: Vec<f64> = weighted.collect::<Option<_>>()?;
    let before = |name: &str| before_caps.iter().find(|(of, _)| of == name).map(|(_, value)| *value);
    let of_axes: f64 = rubric
        .axes
        .iter()
        .zip(values)
        .filter_map(|(axis, value)| Some(axis.weight? * (before(&axis.name)? - (*value)?)))
        .sum();
    let taken_of_composite = before(&overall.id).map_or(0.0, |given| (given - composite).max(0.0));
    Some(Contributions { axes, taken: of_axes.max(0.0) + taken_of_composite, taken_of_composite })
}
