//! Charts in every state: none, one, two, many, all equal, missing, few observations.

use crate::block::verdict::Verdict;
use crate::block::{
    Bar, Bars, Block, Curve, CurveLine, CurvePoint, CurveShape, Forest, ForestRow, Head, Histogram, Incident, Matrix,
    MatrixShape, Radar, RadarAxis, Scatter, ScatterPoint, Series, SeriesLine, SeriesPoint, Stack, StackPart,
};
use crate::number::{Estimate, Scale, Unit};
use crate::style::data::{Draws, LONG_NAME, dates, estimate};

type State = (&'static str, &'static str, Block);

pub(super) fn all() -> Vec<State> {
    [
        dots(),
        bars(),
        forest(),
        heat(),
        matrix(),
        reliability(),
        latency(),
        scatter(),
        histogram(),
        series(),
        radar(),
        stack(),
    ]
    .concat()
}

fn head(title: &str, state: &str) -> Head {
    Head::new(title, format!("State: {state}"))
        .when_empty("No score was recorded: the run has not begun.", "karat resume 7f3a")
}

fn unit_score() -> Scale {
    Scale::score(0.0, 1.0)
}

fn bar(name: &str, estimate: Estimate) -> Bar {
    Bar { name: name.to_owned(), estimate, ..Bar::default() }
}

fn dots() -> Vec<State> {
    let of = |state: &'static str, bars: Vec<Bar>, threshold: Option<(f64, String)>| {
        let head = head("Which system answers best?", state).with_n(120);
        ("Dots", state, Block::Bars(Bars { head, scale: unit_score(), bars, threshold }))
    };
    let few = Estimate { values: vec![0.2, 0.9, 0.6], ..Estimate::point(0.5667, 3) };
    let many = (0..14).map(|at| bar(&format!("model-{at:02}"), estimate(0.9 - 0.05 * f64::from(at), 0.05, 120)));
    vec![
        of("none", vec![], None),
        of("one", vec![bar("gpt-5", estimate(0.81, 0.03, 120))], None),
        of("two", vec![bar("gpt-5", estimate(0.81, 0.03, 120)), bar("gpt-4.1", estimate(0.76, 0.04, 120))], None),
        of("many", many.collect(), Some((0.6, "gate".to_owned()))),
        of("all equal", vec![bar("a", estimate(0.5, 0.0, 120)), bar("b", estimate(0.5, 0.0, 120))], None),
        of(
            "missing, and a long name",
            vec![bar(LONG_NAME, estimate(0.74, 0.06, 80)), bar("small", Estimate::missing("all 120 cells failed"))],
            None,
        ),
        of("fewer than five", vec![bar("gpt-5", few), bar("gpt-4.1", Estimate::point(0.4, 1))], None),
    ]
}

fn bars() -> Vec<State> {
    let of = |state: &'static str, unit: Unit, values: &[(&str, Option<f64>)]| {
        let bars = values.iter().map(|(name, value)| {
            bar(name, value.map_or_else(|| Estimate::missing("price unknown"), |value| Estimate::point(value, 1)))
        });
        let head = head(if unit == Unit::Dollars { "What did it cost?" } else { "How many of each?" }, state);
        ("Bars", state, Block::Bars(Bars { head, scale: Scale::of(unit), bars: bars.collect(), threshold: None }))
    };
    vec![
        of("none", Unit::Count, &[]),
        of("one", Unit::Dollars, &[("gpt-5", Some(1.25))]),
        of(
            "many",
            Unit::Count,
            &[
                ("omission", Some(12_480.0)),
                ("contradiction", Some(3_120.0)),
                ("style", Some(4.0)),
                ("none", Some(0.0)),
            ],
        ),
        of("missing", Unit::Dollars, &[("gpt-5", Some(0.0042)), ("local", Some(0.0)), ("unlisted", None)]),
        of("all equal", Unit::Count, &[("a", Some(7.0)), ("b", Some(7.0))]),
    ]
}

fn forest() -> Vec<State> {
    let row = |name: &str, value: f64, half: f64, verdict: Verdict| ForestRow {
        name: name.to_owned(),
        effect: estimate(value, half, 118),
        verdict: Some(verdict),
        needed: (verdict == Verdict::Undecided).then_some(940),
        href: None,
    };
    let of = |state: &'static str, scale: Scale, margin: Option<f64>, rows: Vec<ForestRow>| {
        let head = head("Did it change?", state).with_note("Difference: candidate − baseline, paired by sample.");
        ("Forest", state, Block::Forest(Forest { head, scale, margin, rows }))
    };
    let missing = ForestRow {
        name: "tone".to_owned(),
        effect: Estimate::missing("no sample in both runs"),
        ..ForestRow::default()
    };
    let few = ForestRow {
        name: "depth".to_owned(),
        effect: Estimate { values: vec![0.1, -0.05, 0.2], ..Estimate::point(0.083, 3) },
        verdict: Some(Verdict::Undecided),
        ..ForestRow::default()
    };
    vec![
        of("none", unit_score(), None, vec![]),
        of("one", unit_score(), Some(0.02), vec![row("accuracy", 0.06, 0.03, Verdict::Better)]),
        of(
            "many",
            unit_score(),
            Some(0.02),
            vec![
                row("accuracy", 0.06, 0.03, Verdict::Better),
                row("coverage", -0.08, 0.04, Verdict::Worse),
                row("style", 0.004, 0.012, Verdict::Equivalent),
                row(LONG_NAME, 0.03, 0.06, Verdict::Undecided),
            ],
        ),
        of(
            "less is better",
            Scale::of(Unit::Millis).lower_is_better(),
            None,
            vec![
                row("latency", -340.0, 120.0, Verdict::Better),
                row("time to first token", 80.0, 30.0, Verdict::Worse),
            ],
        ),
        of("all equal", unit_score(), None, vec![row("accuracy", 0.0, 0.0, Verdict::Undecided)]),
        of("missing, and fewer than five", unit_score(), None, vec![few, missing]),
    ]
}

fn heat() -> Vec<State> {
    let of = |state: &'static str, rows: usize, columns: usize, cell: &mut dyn FnMut(usize) -> Option<f64>| {
        let names = ["gpt-5", "gpt-4.1", "claude-x", LONG_NAME, "small"];
        let head = head("Where do systems differ?", state).with_n((rows * columns) as u64);
        let matrix = Matrix {
            head,
            shape: MatrixShape::Scores(unit_score()),
            axes: ("System".to_owned(), "Sample".to_owned()),
            rows: names.iter().take(rows).map(|name| (*name).to_owned()).collect(),
            columns: (0..columns).map(|at| format!("q{at:03}")).collect(),
            cells: (0..rows).map(|row| (0..columns).map(|_| cell(row)).collect()).collect(),
        };
        ("Heat map", state, Block::Matrix(matrix))
    };
    let mut draws = Draws::new(7);
    let mut random = |row: usize| Some(draws.around(0.7 - 0.08 * row as f64, 0.3).clamp(0.0, 1.0));
    let mut with_gaps = Draws::new(8);
    let mut gaps = |_: usize| Some(with_gaps.next()).filter(|value| *value > 0.15);
    vec![
        of("none", 0, 0, &mut |_| None),
        of("one", 1, 1, &mut |_| Some(0.8)),
        of("two", 2, 2, &mut |row| Some(0.3 + 0.5 * row as f64)),
        of("many", 4, 48, &mut random),
        of("more than 60 samples", 5, 300, &mut random),
        of("all equal", 2, 12, &mut |_| Some(0.5)),
        of("missing", 3, 24, &mut gaps),
    ]
}

fn matrix() -> Vec<State> {
    let of = |state: &'static str, names: &[&str], cell: &dyn Fn(usize, usize) -> Option<f64>| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let n = names.len();
        let matrix = Matrix {
            head: head("What is mistaken for what?", state).with_n(812),
            shape: MatrixShape::Counts,
            axes: ("labelled".to_owned(), "predicted".to_owned()),
            cells: (0..n).map(|row| (0..n).map(|column| cell(row, column)).collect()).collect(),
            rows: names.clone(),
            columns: names,
        };
        ("Matrix", state, Block::Matrix(matrix))
    };
    let many: Vec<String> = (0..15).map(|at| format!("category {at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    vec![
        of("none", &[], &|_, _| None),
        of("one", &["yes"], &|_, _| Some(12.0)),
        of("few", &["risk", "fact", "opinion"], &|row, column| {
            Some(if row == column { 120.0 } else { (7 * (row + 1) * (column + 1)) as f64 })
        }),
        of("missing", &["a", "b"], &|row, column| (row == column).then_some(9.0)),
        of("more than twelve", &many, &|row, column| {
            Some(if row == column { 40.0 } else { ((row * column) % 5) as f64 })
        }),
    ]
}

fn reliability() -> Vec<State> {
    let of = |state: &'static str, lines: Vec<CurveLine>| {
        let curve = Curve {
            head: head("Is stated confidence earned?", state).with_n(480),
            shape: CurveShape::Reliability,
            axes: ("stated confidence".to_owned(), "share correct".to_owned()),
            x: Scale { range: Some((0.0, 1.0)), ..Scale::of(Unit::Share) },
            y: Scale { range: Some((0.0, 1.0)), ..Scale::of(Unit::Share) },
            lines,
            mark: (state == "many").then(|| (0.7, "threshold".to_owned())),
        };
        ("Reliability", state, Block::Curve(curve))
    };
    let point =
        |x: f64, y: f64, n: u64| CurvePoint { x, y, interval: Some(((y - 0.08).max(0.0), (y + 0.08).min(1.0))), n };
    let line = |name: &str, points: Vec<CurvePoint>| CurveLine { name: name.to_owned(), points };
    let many = [(0.1, 0.18, 20), (0.3, 0.29, 45), (0.5, 0.41, 90), (0.7, 0.62, 160), (0.9, 0.78, 165)];
    let many: Vec<CurvePoint> = many.map(|(x, y, n)| point(x, y, n)).to_vec();
    let turned = many.iter().map(|it| point(it.x, (it.y * 0.8).min(1.0), it.n)).collect();
    vec![
        of("none", vec![]),
        of("one", vec![line("gpt-5", vec![point(0.8, 0.7, 40)])]),
        of("many", vec![line("gpt-5", many.clone())]),
        of("two lines", vec![line("gpt-5", many), line("gpt-4.1", turned)]),
    ]
}

fn latency() -> Vec<State> {
    let of = |state: &'static str, lines: Vec<CurveLine>| {
        let curve = Curve {
            head: head("How long do answers take?", state),
            shape: CurveShape::Distribution,
            x: Scale::of(Unit::Millis).lower_is_better(),
            lines,
            ..Curve::default()
        };
        ("Latency", state, Block::Curve(curve))
    };
    let mut draws = Draws::new(3);
    let mut values = |n: usize, centre: f64, power: f64| -> Vec<f64> {
        (0..n).map(|_| centre * (0.4 + draws.next() + 4.0 * draws.next().powf(power))).collect()
    };
    vec![
        of("none", vec![]),
        of("one", vec![CurveLine::distribution("gpt-5", &[820.0])]),
        of("few", vec![CurveLine::distribution("gpt-5", &[820.0, 910.0, 1400.0])]),
        of("many", vec![CurveLine::distribution("gpt-5", &values(400, 700.0, 9.0))]),
        of(
            "several, ends far apart",
            vec![
                CurveLine::distribution("retrieve", &values(300, 14.0, 9.0)),
                CurveLine::distribution("rerank", &values(300, 90.0, 9.0)),
                CurveLine::distribution("answer", &values(300, 1500.0, 12.0)),
            ],
        ),
        of("all equal", vec![CurveLine::distribution("scripted", &[150.0; 20])]),
    ]
}

fn scatter() -> Vec<State> {
    let of = |state: &'static str, points: Vec<(f64, f64)>| {
        let point = |(at, (x, y)): (usize, &(f64, f64))| ScatterPoint {
            name: format!("q{at:03}"),
            x: *x,
            y: *y,
            group: at % 3,
            key: None,
        };
        let chart = Scatter {
            head: head("Which items tell systems apart?", state).with_n(points.len() as u64),
            axes: ("difficulty".to_owned(), "discrimination".to_owned()),
            x: unit_score(),
            y: Scale::score(-1.0, 1.0),
            groups: ["no flag", "may be wrong", "saturated"].map(str::to_owned).to_vec(),
            points: points.iter().enumerate().map(point).collect(),
            mark: Some((0.0, "chance".to_owned())),
        };
        ("Scatter", state, Block::Scatter(chart))
    };
    let mut draws = Draws::new(17);
    let mut random = |n: usize| (0..n).map(|_| (draws.next(), draws.around(0.3, 0.4).clamp(-1.0, 1.0))).collect();
    vec![
        of("none", Vec::new()),
        of("one", vec![(0.4, 0.3)]),
        of("many", random(120)),
        of("more than are drawn", random(700)),
        of("all equal", vec![(0.5, 0.5); 4]),
    ]
}

fn histogram() -> Vec<State> {
    let of = |state: &'static str, values: Vec<f64>, missing: u64, mark: Option<(f64, String)>| {
        let head = head("How are scores spread?", state).with_n(values.len() as u64);
        let values = values.into_iter().map(|value| (value, None)).collect();
        let scale = Scale::score(1.0, 5.0);
        ("Histogram", state, Block::Histogram(Histogram { head, scale, values, missing, mark }))
    };
    let mut draws = Draws::new(5);
    let many: Vec<f64> = (0..220).map(|_| draws.around(3.6, 1.4).clamp(1.0, 5.0)).collect();
    vec![
        of("none", vec![], 0, None),
        of("one", vec![3.5], 0, None),
        of("few", vec![2.0, 3.5, 4.75], 1, Some((3.0, "gate".to_owned()))),
        of("many", many, 3, Some((3.0, "gate".to_owned()))),
        of("all equal", vec![4.0; 12], 0, None),
    ]
}

fn line(name: &str, values: Vec<Option<f64>>) -> SeriesLine {
    let points = values.into_iter().map(|value| SeriesPoint { value, interval: None });
    SeriesLine { name: name.to_owned(), points: points.collect(), ..SeriesLine::default() }
}

fn series() -> Vec<State> {
    let of = |state: &'static str, days: usize, lines: Vec<SeriesLine>| {
        let head = head("Is it slipping?", state).with_n(days as u64);
        Series { head, scale: Scale::score(1.0, 5.0), dates: dates(days), lines, ..Series::default() }
    };
    let state = |series: Series| {
        let name = match series.head.question.strip_prefix("State: ").unwrap_or_default() {
            "none" => "none",
            "one" => "one",
            "two" => "two",
            "many, gaps, baseline, band, incident" => "many, gaps, baseline, band, incident",
            "several" => "several",
            "six and more: small multiples" => "six and more: small multiples",
            "all equal" => "all equal",
            _ => "long",
        };
        ("Series", name, Block::Series(series))
    };
    let mut draws = Draws::new(11);
    let mut walk = |days: usize, centre: f64, spread: f64| -> Vec<Option<f64>> {
        (0..days).map(|_| Some(draws.around(centre, spread).clamp(1.0, 5.0))).collect()
    };
    let days = 60;
    let mut daily = walk(days, 3.7, 0.7);
    if let Some(gap) = daily.get_mut(20..25) {
        gap.fill(None);
    }
    let smooth: Vec<Option<f64>> = (0..days)
        .map(|at| {
            let window: Vec<f64> =
                daily.get(at.saturating_sub(6)..=at).into_iter().flatten().flatten().copied().collect();
            (window.len() > 3).then(|| window.iter().sum::<f64>() / window.len() as f64)
        })
        .collect();
    let pinned: Vec<Option<f64>> = (0..days).map(|at| (at % 7 == 0).then_some(3.9)).collect();
    let band = (0..days).map(|_| Some((3.2, 4.2))).collect();
    let full = Series {
        threshold: Some((3.0, "gate".to_owned())),
        band: Some((band, "usual range".to_owned())),
        incidents: vec![Incident { from: 40, to: 46, label: "drift alert".to_owned() }],
        marked: Some((vec![10, 33], "graded again later".to_owned())),
        ..of(
            "many, gaps, baseline, band, incident",
            days,
            vec![
                line("composite", daily),
                SeriesLine { is_smooth: true, ..line("7-day median", smooth) },
                SeriesLine { is_hollow: true, ..line("golden", pinned) },
            ],
        )
    };
    let several = (0..5).map(|at| line(&format!("axis {at}"), walk(30, 4.4 - 0.6 * f64::from(at), 0.25))).collect();
    let six = (0..7).map(|at| line(&format!("metric {at}"), walk(30, 4.5 - 0.4 * f64::from(at), 0.4))).collect();
    let one = SeriesPoint { value: Some(3.8), interval: Some((3.5, 4.1)) };
    vec![
        state(of("none", 0, vec![])),
        state(of(
            "one",
            1,
            vec![SeriesLine { name: "composite".to_owned(), points: vec![one], ..SeriesLine::default() }],
        )),
        state(of("two", 2, vec![line("composite", vec![Some(3.4), Some(4.1)])])),
        state(full),
        state(of("several", 30, several)),
        state(of("six and more: small multiples", 30, six)),
        state(of("all equal", 10, vec![line("composite", vec![Some(4.0); 10])])),
        state(of("long: 2,500 dates", 2_500, vec![line("composite", walk(2_500, 3.4, 1.2))])),
    ]
}

fn radar() -> Vec<State> {
    let of = |state: &'static str, axes: &[(&str, Option<f64>, Option<f64>)]| {
        let baseline = axes.iter().any(|axis| axis.2.is_some()).then(|| "golden set".to_owned());
        let axes = axes.iter().map(|(name, value, baseline)| RadarAxis {
            name: (*name).to_owned(),
            estimate: value.map_or_else(|| Estimate::missing("no judgment"), |value| Estimate::point(value, 60)),
            baseline: *baseline,
        });
        let head = head("Where is it strong and weak?", state);
        ("Radar", state, Block::Radar(Radar { head, scale: Scale::score(1.0, 5.0), axes: axes.collect(), baseline }))
    };
    vec![
        of("none", &[]),
        of("two: dots", &[("clarity", Some(4.1), None), ("depth", Some(3.2), None)]),
        of(
            "many",
            &[
                ("clarity", Some(4.1), Some(4.0)),
                ("depth", Some(3.2), Some(3.6)),
                ("sources", Some(2.4), Some(3.0)),
                ("actionable insight", Some(4.6), Some(4.1)),
                ("tone", Some(3.9), Some(3.9)),
            ],
        ),
        of("missing", &[("clarity", Some(4.1), None), ("depth", None, None), ("sources", Some(2.4), None)]),
        of("all equal", &[("clarity", Some(3.0), None), ("depth", Some(3.0), None), ("sources", Some(3.0), None)]),
    ]
}

fn stack() -> Vec<State> {
    let of = |state: &'static str, days: usize, parts: usize, value: &mut dyn FnMut(usize) -> Option<f64>| {
        let names = ["clarity", "depth", "sources", "insight", "tone", "format", "length"];
        let part = |name: &str, value: &mut dyn FnMut(usize) -> Option<f64>| StackPart {
            name: name.to_owned(),
            values: (0..days).map(value).collect(),
        };
        let stack = Stack {
            head: head("What makes up the score?", state),
            scale: Scale::score(0.0, 5.0),
            dates: dates(days),
            parts: names.iter().take(parts).map(|name| part(name, value)).collect(),
            capped: if state == "many, gaps, caps" {
                (0..days).map(|at| (at % 9 == 4).then_some(0.6)).collect()
            } else {
                Vec::new()
            },
            ..Stack::default()
        };
        ("Stack", state, Block::Stack(stack))
    };
    let mut draws = Draws::new(13);
    vec![
        of("none", 0, 0, &mut |_| None),
        of("one", 1, 3, &mut |_| Some(1.1)),
        of("many, gaps, caps", 40, 4, &mut |at| Some(draws.around(0.9, 0.3)).filter(|_| !(12..15).contains(&at))),
        of("more parts than colours", 20, 7, &mut |_| Some(0.5)),
    ]
}
