//! Any text in any field of any block is read back by an HTML parser as it was.

use karat_page::block::verdict::Verdict;
use karat_page::block::*;
use karat_page::component::gates::GateRow;
use karat_page::component::ledger::{CostRow, FailureGroup};
use karat_page::component::metrics::MetricRow;
use karat_page::component::transcript;
use karat_page::component::{gates, ledger, metrics, state};
use karat_page::number::{Estimate, Scale, Unit};
use karat_page::text::{diff, visible};
use karat_page::{html, render};
use proptest::prelude::*;
use scraper::Html;

/// Markup with this text in every field, and whether a field may hold several lines.
pub(crate) fn everything(text: &str) -> Vec<String> {
    let t = || text.to_owned();
    let head = Head {
        title: t(),
        question: t(),
        unit: Some(t()),
        n: Some(3),
        notes: vec![t()],
        analysis: Some(t()),
        empty: Empty { reason: Some(t()), command: Some(t()) },
    };
    let estimate = || Estimate::new(0.5, (0.4, 0.6), 9);
    let missing = || Estimate::missing(t());
    let scale = Scale::score(0.0, 1.0);
    let cells = vec![
        Cell::Text(t()),
        Cell::Prose(t()),
        Cell::Code(t()),
        Cell::Missing(t()),
        Cell::Link { text: t(), href: t() },
        Cell::Value(missing(), scale.clone()),
        Cell::Verdict(Verdict::Better),
    ];
    let rows = Rows {
        caption: t(),
        columns: (0..cells.len()).map(|_| Column::text(t())).collect(),
        rows: vec![Row { cells, key: Some(t()), flags: vec![t()], date: Some(t()), is_out: false }],
        left_out: 1,
        all_by: Some(t()),
    };
    let highlight = || Highlight { start: 1, end: 3, label: t(), category: 1 };
    let score =
        ExcerptScore { metric: t(), value: t(), verdict: Some(Verdict::Fail), judge: Some(t()), reason: Some(t()) };
    let output = ExcerptOutput {
        system: t(),
        text: Some(t()),
        messages: vec![Message { role: t(), name: Some(t()), content: t(), calls: vec![(t(), t())] }],
        note: Some(t()),
        repeats: 2,
        highlights: vec![highlight()],
        scores: vec![score],
    };
    let excerpt = Excerpt {
        sample: t(),
        why: Some(t()),
        href: Some(t()),
        input: Some(t()),
        input_highlights: vec![highlight()],
        reference: Some(t()),
        texts: vec![ExcerptText { name: t(), text: t(), note: Some(t()), highlights: vec![highlight()] }],
        outputs: vec![output.clone(), ExcerptOutput { text: Some(format!("{text} more")), ..output }],
        with_diff: true,
    };
    let line = |unit| Bars {
        head: head.clone(),
        scale: Scale::of(unit),
        bars: vec![
            Bar { name: t(), estimate: estimate(), key: Some(t()), href: Some(t()) },
            Bar { name: t(), estimate: missing(), ..Bar::default() },
        ],
        threshold: Some((0.5, t())),
    };
    let matrix = |shape| Matrix {
        head: head.clone(),
        shape,
        axes: (t(), t()),
        rows: vec![t(), t()],
        columns: vec![t(), t()],
        cells: vec![vec![Some(1.0), None], vec![Some(0.2), Some(0.4)]],
    };
    let points = vec![
        CurvePoint { x: 0.1, y: 0.2, interval: Some((0.1, 0.3)), n: 4 },
        CurvePoint { x: 0.6, y: 0.5, interval: None, n: 2 },
    ];
    let curve = |shape| Curve {
        head: head.clone(),
        shape,
        axes: (t(), t()),
        x: scale.clone(),
        y: scale.clone(),
        lines: vec![CurveLine { name: t(), points: points.clone() }, CurveLine { name: t(), points: points.clone() }],
        mark: Some((0.4, t())),
    };
    let series_line = || SeriesLine {
        name: t(),
        points: vec![SeriesPoint { value: Some(0.3), interval: Some((0.2, 0.4)) }; 2],
        ..SeriesLine::default()
    };
    let series = |lines: usize| Series {
        head: head.clone(),
        scale: scale.clone(),
        dates: vec![t(), t()],
        lines: (0..lines).map(|_| series_line()).collect(),
        threshold: Some((0.5, t())),
        band: Some((vec![Some((0.1, 0.9)); 2], t())),
        incidents: vec![Incident { from: 0, to: 1, label: t() }],
        marked: Some((vec![0], t())),
        is_linked: lines == 2,
    };
    let stat = Stat { key: t(), label: t(), estimate: missing(), note: Some(t()), href: Some(t()), ..Stat::default() };
    let axis = || RadarAxis { name: t(), estimate: estimate(), baseline: Some(0.4) };
    let forest_row = ForestRow {
        name: t(),
        effect: estimate(),
        verdict: Some(Verdict::Undecided),
        needed: Some(7),
        href: Some(t()),
    };
    let message = Message { role: t(), name: Some(t()), content: t(), calls: vec![(t(), t())] };
    let histogram = |n: usize| Histogram {
        head: head.clone(),
        scale: scale.clone(),
        values: vec![(0.4, Some(t())); n],
        missing: 1,
        mark: Some((0.5, t())),
    };
    let blocks = vec![
        Block::Stats(Stats { head: head.clone(), stats: vec![Stat { words: Some(t()), ..stat.clone() }, stat] }),
        Block::Stats(Stats { head: head.clone(), stats: vec![] }),
        Block::Table(Table {
            head: head.clone(),
            rows,
            filters: vec![Filter { key: t(), label: t(), count: 1 }],
            can_search: true,
        }),
        Block::Bars(line(Unit::Named(t()))),
        Block::Bars(line(Unit::Count)),
        Block::Forest(Forest { head: head.clone(), scale: scale.clone(), margin: Some(0.1), rows: vec![forest_row] }),
        Block::Matrix(matrix(MatrixShape::Counts)),
        Block::Matrix(matrix(MatrixShape::Scores(scale.clone()))),
        Block::Curve(curve(CurveShape::Line)),
        Block::Curve(curve(CurveShape::Reliability)),
        Block::Curve(curve(CurveShape::Distribution)),
        Block::Histogram(histogram(2)),
        Block::Histogram(histogram(9)),
        Block::Series(series(2)),
        Block::Series(series(6)),
        Block::Radar(Radar {
            head: head.clone(),
            scale: scale.clone(),
            axes: vec![axis(), axis(), axis()],
            baseline: Some(t()),
        }),
        Block::Stack(Stack {
            head: head.clone(),
            scale: scale.clone(),
            dates: vec![t()],
            parts: vec![StackPart { name: t(), values: vec![Some(0.2)] }],
            capped: vec![Some(0.1)],
            capped_sum: vec![Some(0.05)],
        }),
        Block::Excerpts(Excerpts { head: head.clone(), items: vec![excerpt], left_out: 2, all_by: Some(t()) }),
        Block::Text(TextBlock { head: head.clone(), text: t(), form: TextForm::Plain, highlights: vec![highlight()] }),
        Block::Text(TextBlock { head: head.clone(), text: t(), form: TextForm::Markdown, highlights: vec![] }),
        Block::Transcript(Transcript { head, messages: vec![message.clone()] }),
    ];
    let gate = GateRow {
        name: t(),
        verdict: Verdict::Fail,
        observed: missing(),
        change: Some(missing()),
        scale: scale.clone(),
        threshold: t(),
        reason: t(),
    };
    let metric = MetricRow { metric: t(), system: t(), estimate: estimate(), scale: scale.clone(), note: Some(t()) };
    let failure = FailureGroup { code: t(), message: t(), cells: 2, href: Some(t()) };
    let cost = CostRow { name: t(), kind: t(), calls: 1, cached: Some(0), tokens: (1, 2), cost: None };
    let components = html! {
        (gates::render(&[gate], 1)) (metrics::render(&[metric]))
        (ledger::failures(&[failure])) (ledger::cost(&[cost], None, Some(1.0))) (ledger::provenance(&[(t(), t())]))
        (state::error(text, Some(text), Some(text))) (diff::render(text, "other")) (transcript::render(&[message]))
    };
    let rendered = blocks.iter().map(|block| render(block).into_string());
    rendered.chain([components.into_string()]).collect()
}

/// Returns all text of the parsed markup.
fn read_back(html: &str) -> String {
    Html::parse_document(&format!("<!doctype html><body>{html}")).root_element().text().collect()
}

fn check(text: &str) {
    let [line, lines] = [visible::line(text), visible::lines(text)].map(|text| text.replace('`', ""));
    for html in everything(text) {
        let hidden = html.chars().find(|c| visible::is_hidden(*c) && !matches!(c, '\n' | '\t'));
        assert!(hidden.is_none(), "{hidden:?} in {html}");
        // Texts of Karat show what stands between backticks as code, without them.
        let read = read_back(&html).replace('`', "");
        assert!(read.contains(&line) || read.contains(&lines), "{line:?} is not in {read:?}");
        assert!(!html.contains("NaN") && !html.contains("inf%"), "{html}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// DB-70: any text in any field renders to HTML that a parser reads back as the same text.
    #[test]
    fn texts_are_read_back(text in "[a-z]\\PC{0,40}|[a-z<>&\"'/=\\\\{}`! \\n\\t\\r\\x00-\\x1f\u{202e}\u{200b}]{1,40}") {
        check(&text);
    }

    /// DB-36: any numbers, infinite ones and none, render without NaN and within the chart.
    #[test]
    fn numbers_of_any_size_render(values in prop::collection::vec(prop::num::f64::ANY, 0..12), range in prop::option::of((-1e3..0.0, 0.0..1e3))) {
        let scale = Scale { range, ..Scale::default() };
        let bars = values.iter().map(|value| Bar { name: "x".to_owned(), estimate: Estimate::new(*value, (*value - 1.0, value * 2.0), 9), ..Bar::default() });
        let points: Vec<CurvePoint> = values.iter().map(|value| CurvePoint { x: *value, y: value / 2.0, interval: None, n: 1 }).collect();
        let line = SeriesLine { name: "l".to_owned(), points: values.iter().map(|value| SeriesPoint { value: Some(*value), interval: None }).collect(), ..SeriesLine::default() };
        let dates: Vec<String> = values.iter().map(|_| "d".to_owned()).collect();
        let blocks = [
            Block::Bars(Bars { scale: scale.clone(), bars: bars.clone().collect(), ..Bars::default() }),
            Block::Bars(Bars { scale: Scale::of(Unit::Dollars), bars: bars.collect(), ..Bars::default() }),
            Block::Curve(Curve { lines: vec![CurveLine { name: "c".to_owned(), points: points.clone() }], ..Curve::default() }),
            Block::Curve(Curve { shape: CurveShape::Distribution, lines: vec![CurveLine { name: "c".to_owned(), points }], ..Curve::default() }),
            Block::Histogram(Histogram { scale: scale.clone(), values: values.iter().map(|value| (*value, None)).collect(), ..Histogram::default() }),
            Block::Series(Series { scale: scale.clone(), dates: dates.clone(), lines: vec![line], ..Series::default() }),
            Block::Stack(Stack { scale, dates, parts: vec![StackPart { name: "p".to_owned(), values: values.iter().copied().map(Some).collect() }], ..Stack::default() }),
        ];
        for block in blocks {
            let html = render(&block).into_string();
            prop_assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        }
    }
}
