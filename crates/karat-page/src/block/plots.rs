//! Data of charts.

use crate::block::Head;
use crate::block::verdict::Verdict;
use crate::number::{Estimate, Scale};

/// A value under a name.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    /// The name.
    pub name: String,
    /// The value.
    pub estimate: Estimate,
    /// The thing it stands for, if a table has a row for it.
    pub key: Option<String>,
    /// The place to read more.
    pub href: Option<String>,
}

/// A value for each name: dots with intervals, or bars for counts and money.
#[derive(Debug, Clone, Default)]
pub struct Bars {
    /// The head.
    pub head: Head,
    /// The scale of the values.
    pub scale: Scale,
    /// The values in the order shown.
    pub bars: Vec<Bar>,
    /// A threshold and its name.
    pub threshold: Option<(f64, String)>,
}

/// A difference.
#[derive(Debug, Clone, Default)]
pub struct ForestRow {
    /// The name of what is compared.
    pub name: String,
    /// The difference, candidate minus baseline, in the metric's own direction.
    pub effect: Estimate,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// Samples that would decide it.
    pub needed: Option<u64>,
    /// The place to read more.
    pub href: Option<String>,
}

/// Differences with intervals around zero.
#[derive(Debug, Clone, Default)]
pub struct Forest {
    /// The head.
    pub head: Head,
    /// The scale of the metric. Where less is better, the sign is turned: better is always on the right.
    pub scale: Scale,
    /// The smallest difference that matters.
    pub margin: Option<f64>,
    /// The differences.
    pub rows: Vec<ForestRow>,
}

/// The kind of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixShape {
    /// Counts of one category against another, such as confusions.
    Counts,
    /// Scores of systems (rows) on samples (columns).
    Scores(Scale),
}

/// Categories against categories, or systems against samples.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// The head.
    pub head: Head,
    /// The kind.
    pub shape: MatrixShape,
    /// The meaning of rows and of columns.
    pub axes: (String, String),
    /// Names of rows.
    pub rows: Vec<String>,
    /// Names of columns.
    pub columns: Vec<String>,
    /// Cells by row; `None` is missing.
    pub cells: Vec<Vec<Option<f64>>>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, Default)]
pub struct CurvePoint {
    /// Position.
    pub x: f64,
    /// Height.
    pub y: f64,
    /// Interval of the height.
    pub interval: Option<(f64, f64)>,
    /// Observations.
    pub n: u64,
}

/// A curve.
#[derive(Debug, Clone, Default)]
pub struct CurveLine {
    /// Its name.
    pub name: String,
    /// Its points in order; for a distribution, `x` alone counts.
    pub points: Vec<CurvePoint>,
}

/// The kind of a curve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CurveShape {
    /// Points joined by lines.
    #[default]
    Line,
    /// Stated against observed, with the diagonal and a histogram of the stated below.
    Reliability,
    /// The share of values up to each, with p50, p95 and p99.
    Distribution,
}

/// One quantity over another.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// The head.
    pub head: Head,
    /// The kind.
    pub shape: CurveShape,
    /// Names of the horizontal and of the vertical quantity.
    pub axes: (String, String),
    /// The scale of the horizontal quantity.
    pub x: Scale,
    /// The scale of the vertical quantity.
    pub y: Scale,
    /// The curves.
    pub lines: Vec<CurveLine>,
    /// A marked position, such as a recommended threshold.
    pub mark: Option<(f64, String)>,
}

impl CurveLine {
    /// A curve of a distribution from its values.
    pub fn distribution(name: impl Into<String>, values: &[f64]) -> Self {
        let points = values.iter().map(|x| CurvePoint { x: *x, ..CurvePoint::default() });
        Self { name: name.into(), points: points.collect() }
    }
}

/// A thing at two values.
#[derive(Debug, Clone, Default)]
pub struct ScatterPoint {
    /// The name of the thing.
    pub name: String,
    /// Its horizontal value.
    pub x: f64,
    /// Its vertical value.
    pub y: f64,
    /// Index of its group.
    pub group: usize,
    /// The thing it stands for, if a table has a row for it.
    pub key: Option<String>,
}

/// Things by two values.
#[derive(Debug, Clone, Default)]
pub struct Scatter {
    /// The head.
    pub head: Head,
    /// Names of the horizontal and of the vertical quantity.
    pub axes: (String, String),
    /// The scale of the horizontal quantity.
    pub x: Scale,
    /// The scale of the vertical quantity.
    pub y: Scale,
    /// Names of the groups, which have a marker each.
    pub groups: Vec<String>,
    /// The things.
    pub points: Vec<ScatterPoint>,
    /// A marked height, and its name.
    pub mark: Option<(f64, String)>,
}

/// A bin of a histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// Lower end, which belongs to the bin.
    pub lo: f64,
    /// Upper end, which belongs to the next bin.
    pub hi: f64,
    /// Values in it.
    pub count: u64,
}

/// A distribution of values.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    /// The head.
    pub head: Head,
    /// The scale of the values.
    pub scale: Scale,
    /// The values; each has the key of what it stands for, or none.
    pub values: Vec<(f64, Option<String>)>,
    /// Things without a value.
    pub missing: u64,
    /// A marked value, such as a gate, and its name.
    pub mark: Option<(f64, String)>,
}

/// A value of a line at one date.
#[derive(Debug, Clone, Default)]
pub struct SeriesPoint {
    /// The value.
    pub value: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
}

/// A line over dates.
#[derive(Debug, Clone, Default)]
pub struct SeriesLine {
    /// Its name.
    pub name: String,
    /// A value for each date.
    pub points: Vec<SeriesPoint>,
    /// True for pinned values, which are hollow points without a line.
    pub is_hollow: bool,
    /// True for a smoothed line, which has no points.
    pub is_smooth: bool,
}

/// A time that is marked, from one date to another, both included.
#[derive(Debug, Clone, Default)]
pub struct Incident {
    /// Index of the first date.
    pub from: usize,
    /// Index of the last date.
    pub to: usize,
    /// Its name.
    pub label: String,
}

/// Lower and upper end at one date, or `None` where there are none.
pub type Interval = Option<(f64, f64)>;

/// Values over dates.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// The head.
    pub head: Head,
    /// The scale of the values.
    pub scale: Scale,
    /// The dates, also those without a value.
    pub dates: Vec<String>,
    /// The lines.
    pub lines: Vec<SeriesLine>,
    /// A threshold and its name.
    pub threshold: Option<(f64, String)>,
    /// A band for each date, and its name.
    pub band: Option<(Vec<Interval>, String)>,
    /// Marked times.
    pub incidents: Vec<Incident>,
    /// Marked dates by index, such as those whose value was replaced later, and what the mark means.
    pub marked: Option<(Vec<usize>, String)>,
    /// True if rows of a table stand for the dates: each value of the first line is then drawn, so that it can be chosen.
    pub is_linked: bool,
}

/// An axis of a profile.
#[derive(Debug, Clone, Default)]
pub struct RadarAxis {
    /// Its name.
    pub name: String,
    /// The value.
    pub estimate: Estimate,
    /// The value of what it is compared with.
    pub baseline: Option<f64>,
}

/// A profile over three or more axes.
#[derive(Debug, Clone, Default)]
pub struct Radar {
    /// The head.
    pub head: Head,
    /// The scale of all axes.
    pub scale: Scale,
    /// The axes.
    pub axes: Vec<RadarAxis>,
    /// The name of what it is compared with.
    pub baseline: Option<String>,
}

/// A part of a sum over dates.
#[derive(Debug, Clone, Default)]
pub struct StackPart {
    /// Its name.
    pub name: String,
    /// A value for each date.
    pub values: Vec<Option<f64>>,
}

/// Parts that add up, over dates.
#[derive(Debug, Clone, Default)]
pub struct Stack {
    /// The head.
    pub head: Head,
    /// The scale of the sum.
    pub scale: Scale,
    /// The dates.
    pub dates: Vec<String>,
    /// The parts, from the bottom up.
    pub parts: Vec<StackPart>,
    /// The part that a cap took away at each date, drawn hatched; empty if there are no caps.
    pub capped: Vec<Option<f64>>,
    /// The part of `capped` that was taken from the sum itself: hatched over the parts, not on top of them.
    pub capped_sum: Vec<Option<f64>>,
}
