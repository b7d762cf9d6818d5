//! Blocks: what an analysis hands over to be shown. Plain data, no markup.
//!
//! - `head`: the title, question and facts that all blocks have.
//! - `table`, `plots`, `texts`: the kinds of blocks.
//!
//! A block knows neither its analysis nor its preset; the caller may name the analysis for tests and links.

mod head;
mod plots;
mod table;
mod texts;
pub mod verdict;

pub use head::{Empty, Head};
pub use plots::{
    Bar, Bars, Bin, Curve, CurveLine, CurvePoint, CurveShape, Forest, ForestRow, Histogram, Incident, Interval, Matrix,
    MatrixShape, Radar, RadarAxis, Scatter, ScatterPoint, Series, SeriesLine, SeriesPoint, Stack, StackPart,
};
pub use table::{Cell, Column, Filter, Row, Rows, Stat, Stats, Table};
pub use texts::{
    Answer, Excerpt, ExcerptOutput, ExcerptScore, ExcerptText, Excerpts, Highlight, Message, TextBlock, TextForm,
    Transcript,
};

/// One panel's data.
#[derive(Debug, Clone)]
pub enum Block {
    /// Cards with one figure each.
    Stats(Stats),
    /// A table.
    Table(Table),
    /// A value for each name: dots with intervals, or bars for counts and money.
    Bars(Bars),
    /// Differences with intervals around zero.
    Forest(Forest),
    /// Categories against categories, or systems against samples.
    Matrix(Matrix),
    /// One quantity over another: a curve, a reliability diagram or a distribution.
    Curve(Curve),
    /// Things by two values.
    Scatter(Scatter),
    /// A distribution of values.
    Histogram(Histogram),
    /// Values over dates.
    Series(Series),
    /// A profile over three or more axes.
    Radar(Radar),
    /// Parts that add up, over dates.
    Stack(Stack),
    /// Samples with the outputs of systems side by side.
    Excerpts(Excerpts),
    /// A text.
    Text(TextBlock),
    /// The messages of an output.
    Transcript(Transcript),
}

impl Block {
    /// Returns the head of the block.
    pub fn head(&self) -> &Head {
        match self {
            Self::Stats(it) => &it.head,
            Self::Table(it) => &it.head,
            Self::Bars(it) => &it.head,
            Self::Forest(it) => &it.head,
            Self::Matrix(it) => &it.head,
            Self::Curve(it) => &it.head,
            Self::Scatter(it) => &it.head,
            Self::Histogram(it) => &it.head,
            Self::Series(it) => &it.head,
            Self::Radar(it) => &it.head,
            Self::Stack(it) => &it.head,
            Self::Excerpts(it) => &it.head,
            Self::Text(it) => &it.head,
            Self::Transcript(it) => &it.head,
        }
    }

    /// The same block, made by this analysis.
    #[must_use]
    pub fn of_analysis(mut self, analysis: &str) -> Self {
        self.head_mut().analysis = Some(analysis.to_owned());
        self
    }

    fn head_mut(&mut self) -> &mut Head {
        match self {
            Self::Stats(it) => &mut it.head,
            Self::Table(it) => &mut it.head,
            Self::Bars(it) => &mut it.head,
            Self::Forest(it) => &mut it.head,
            Self::Matrix(it) => &mut it.head,
            Self::Curve(it) => &mut it.head,
            Self::Scatter(it) => &mut it.head,
            Self::Histogram(it) => &mut it.head,
            Self::Series(it) => &mut it.head,
            Self::Radar(it) => &mut it.head,
            Self::Stack(it) => &mut it.head,
            Self::Excerpts(it) => &mut it.head,
            Self::Text(it) => &mut it.head,
            Self::Transcript(it) => &mut it.head,
        }
    }

    /// Returns the name of the kind, as `data-block` has it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stats(_) => "stats",
            Self::Table(_) => "table",
            Self::Bars(_) => "bars",
            Self::Forest(_) => "forest",
            Self::Matrix(_) => "matrix",
            Self::Curve(_) => "curve",
            Self::Scatter(_) => "scatter",
            Self::Histogram(_) => "histogram",
            Self::Series(_) => "series",
            Self::Radar(_) => "radar",
            Self::Stack(_) => "stack",
            Self::Excerpts(_) => "excerpts",
            Self::Text(_) => "text",
            Self::Transcript(_) => "transcript",
        }
    }
}
