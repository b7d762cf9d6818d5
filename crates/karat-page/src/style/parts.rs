//! Components beside blocks, and blocks that are not charts.

use maud::{Markup, html};

use crate::block::verdict::{Verdict, verdict_line};
use crate::block::{
    Block, Cell, Column, Empty, Excerpt, ExcerptOutput, ExcerptScore, Excerpts, Filter, Head, Highlight, Message, Row,
    Rows, Stat, Stats, Table, TextBlock, TextForm, Transcript,
};
use crate::component::gates::{self, GateRow};
use crate::component::ledger::{self, CostRow, FailureGroup};
use crate::component::live::{self, LiveLinks, LiveRun};
use crate::component::metrics::{self, MetricRow};
use crate::component::state;
use crate::number::{Estimate, Scale, Unit};
use crate::render::render;
use crate::style::data::{Draws, LONG_NAME, dates, estimate};
use crate::text::diff;

/// Returns id, title and content of each section.
pub(super) fn all() -> Vec<(&'static str, &'static str, Markup)> {
    vec![
        ("verdicts", "Verdicts", verdicts()),
        ("cards", "Cards", render(&cards())),
        ("gates", "Gates", gate_table()),
        ("metrics", "Metrics", metric_tables()),
        ("failures", "Failures, cost, provenance", ledgers()),
        ("table", "Table", render(&table())),
        ("excerpts", "Excerpts", render(&excerpts())),
        ("texts", "Texts, diff and transcript", texts()),
        ("live", "Live run", live_runs()),
        ("states", "Empty, error, left out", states()),
    ]
}

/// A run that has just started, and one under way.
fn live_runs() -> Markup {
    let links = |cancel: Option<&str>| LiveLinks {
        events: String::new(),
        cancel: cancel.map(str::to_owned),
        cell: "#cell-".to_owned(),
        page: "#live".to_owned(),
    };
    let run = LiveRun {
        done: 431,
        planned: 12_480,
        errors: 3,
        unscored: 2,
        cached: 310,
        per_second: Some(12.4),
        remaining: Some([780.0, 1230.0]),
        spent: 1.284,
        budget: Some(5.0),
        codes: vec![("rate-limit".to_owned(), 2), ("timeout".to_owned(), 1)],
        ..LiveRun::default()
    };
    let cells = [
        (430, live::cell_texts("q-17", "gpt-5-mini/direct", "ok")),
        (429, live::cell_texts(LONG_NAME, LONG_NAME, "error: timeout")),
    ];
    let new = LiveRun { planned: 12_480, ..LiveRun::default() };
    html! { (live::panel(&new, &links(None), &[])) (live::panel(&run, &links(Some("#live")), &cells)) }
}

fn verdicts() -> Markup {
    let sentences = [
        "2 of 3 metrics are better than run 7f3a; none is worse.",
        "accuracy is worse by 0.080 [0.040, 0.120] on 118 samples.",
        "style differs by less than the margin of 0.020.",
        "accuracy differs by +0.030 [−0.030, +0.090]; about 940 samples would decide it.",
        "12 checks: 12 passed.",
        "12 checks: 1 to be reviewed, 11 passed.",
        "12 checks: 2 failed, 1 undecided, 9 passed.",
        "The run stopped: the budget of $5.00 is spent.",
    ];
    html! { @for (verdict, sentence) in Verdict::ALL.into_iter().zip(sentences) { (verdict_line(verdict, sentence)) } }
}

fn cards() -> Block {
    let mut draws = Draws::new(2);
    let mut trend = || (0..20).map(|at| Some(draws.around(3.8, 0.6)).filter(|_| at != 9)).collect::<Vec<_>>();
    let score = Scale::score(1.0, 5.0);
    let stat = |key: &str, label: &str| Stat { key: key.to_owned(), label: label.to_owned(), ..Stat::default() };
    let stats = vec![
        Stat {
            estimate: estimate(3.86, 0.12, 60),
            scale: score.clone(),
            trend: trend(),
            ..stat("composite-median", "Composite, median")
        },
        Stat {
            estimate: estimate(3.79, 0.1, 60),
            scale: score,
            verdict: Some(Verdict::Pass),
            trend: trend(),
            ..stat("composite-mean", "Composite, mean")
        },
        Stat {
            words: Some("alert since 2026-02-10".to_owned()),
            verdict: Some(Verdict::Worse),
            ..stat("drift", "Drift")
        },
        Stat {
            estimate: Estimate::point(4.0, 0),
            scale: Scale::of(Unit::Count),
            note: Some("of 60 days".to_owned()),
            href: Some("#filter=below-gate".to_owned()),
            ..stat("gate-fails", "Gate fails")
        },
        Stat {
            estimate: Estimate::missing("no day is pinned"),
            ..stat("regressions", "Regressions against the golden set")
        },
        Stat {
            estimate: Estimate::point(0.0042, 0),
            scale: Scale::of(Unit::Dollars),
            note: Some("budget $5.00".to_owned()),
            ..stat("cost", "Cost")
        },
    ];
    Block::Stats(Stats { head: Head::new("Now", "How is it doing?"), stats })
}

fn gate_table() -> Markup {
    let gate = |name: &str, verdict, observed, threshold: &str, reason: &str| GateRow {
        name: name.to_owned(),
        verdict,
        observed,
        change: None,
        scale: Scale::score(0.0, 1.0),
        threshold: threshold.to_owned(),
        reason: reason.to_owned(),
    };
    let gates = [
        gate(
            "accuracy",
            Verdict::Fail,
            estimate(0.731, 0.029, 120),
            "≥ 0.900",
            "the whole interval is below the threshold",
        ),
        gate(
            "coverage of gpt-4.1/terse",
            Verdict::Undecided,
            estimate(0.9, 0.04, 120),
            "≥ 0.880",
            "the interval contains the threshold",
        ),
        gate("format", Verdict::Pass, Estimate::point(1.0, 120), "≥ 1.000", "all 120 cells pass"),
        gate("tone", Verdict::Error, Estimate::missing("no judgment"), "≥ 0.500", "the judge answered no request"),
    ];
    gates::render(&gates, 8)
}

fn metric_tables() -> Markup {
    let row = |metric: &str, system: &str, estimate, scale: Scale, note: Option<&str>| MetricRow {
        metric: metric.to_owned(),
        system: system.to_owned(),
        estimate,
        scale,
        note: note.map(str::to_owned),
    };
    let (score, time) = (Scale::score(0.0, 1.0), Scale::of(Unit::Millis).lower_is_better());
    let few = Estimate { values: vec![0.2, 0.9, 0.6], ..Estimate::point(0.567, 3) };
    let rows = [
        row("accuracy", "gpt-5/raw", estimate(0.81, 0.03, 120), score.clone(), None),
        row("accuracy", LONG_NAME, estimate(0.76, 0.04, 118), score.clone(), Some("2 unscored")),
        row("depth", "gpt-5/raw", few, score.clone(), Some("fewer than 5")),
        row("latency", "gpt-5/raw", estimate(1240.0, 210.0, 120), time.clone(), None),
        row("latency", "gpt-4.1/raw", Estimate::missing("replayed calls have none"), time, None),
    ];
    metrics::render(&rows)
}

fn ledgers() -> Markup {
    let group = |code: &str, message: &str, cells, href: Option<&str>| FailureGroup {
        code: code.to_owned(),
        message: message.to_owned(),
        cells,
        href: href.map(str::to_owned),
    };
    let failures = [
        group("rate-limit", "HTTP 429 after 5 attempts: requests per minute exceeded", 12, Some("?status=failed")),
        group("unreadable-reply", "the judge's reply contains no JSON: \"Sorry, I think it's fine…\"", 1, None),
    ];
    let cost = |name: &str, kind: &str, calls, cached, tokens, cost| CostRow {
        name: name.to_owned(),
        kind: kind.to_owned(),
        calls,
        cached: Some(cached),
        tokens,
        cost,
    };
    let costs = [
        cost("gpt-5", "step", 120, 0, (480_210, 61_004), Some(1.2104)),
        cost("gpt-5", "judge", 240, 118, (1_204_000, 24_100), Some(0.8731)),
        cost("unlisted-model", "step", 12, 0, (9_120, 800), None),
    ];
    let facts = [
        ("n", "118 of 120 samples; 2 unscored: the judge's reply contains no JSON"),
        ("Aggregate", "mean over samples of the mean over 3 trials"),
        ("Interval", "95 %, paired t over clusters"),
        ("Judge", "gpt-5, prompt version 3"),
        ("Repeat with", "karat run karat.yaml --seed 7"),
    ];
    let facts: Vec<(String, String)> =
        facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    html! {
        (ledger::failures(&failures)) (ledger::failures(&[]))
        (ledger::cost(&costs, None, Some(5.0)))
        (ledger::provenance(&facts))
    }
}

fn table() -> Block {
    let mut draws = Draws::new(17);
    let score = Scale::score(1.0, 5.0);
    let rows = dates(12).into_iter().enumerate().map(|(at, date)| {
        let composite = draws.around(3.6, 1.2).clamp(1.0, 5.0);
        let is_missing = at == 5;
        let value = if is_missing { Estimate::missing("no data") } else { Estimate::point(composite, 1) };
        let flags = [("below-gate", composite < 3.0 && !is_missing), ("high", composite >= 4.0 && !is_missing)];
        let note = if at % 4 == 2 { "two sources were missing; capped at 3" } else { "" };
        let cells = vec![
            Cell::Text(date.clone()),
            Cell::Value(value, score.clone()),
            Cell::Difference(Estimate::point(composite - 3.7, 1), score.clone()),
            Cell::text("gpt-5"),
            Cell::Money(Some(0.0042)),
            Cell::Prose(note.to_owned()),
        ];
        let flags = flags.iter().filter(|(_, is)| *is).map(|(flag, _)| (*flag).to_owned()).collect();
        Row { cells, key: Some(date), flags, ..Row::default() }
    });
    let rows: Vec<Row> = rows.collect();
    let count = |flag: &str| rows.iter().filter(|row| row.flags.iter().any(|it| it == flag)).count() as u64;
    let filter = |key: &str, label: &str| Filter { key: key.to_owned(), label: label.to_owned(), count: count(key) };
    let filters = vec![filter("below-gate", "below gate"), filter("high", "4.00 and above")];
    let columns = vec![
        Column::text("Date"),
        Column::number("Composite"),
        Column::number("Δ to baseline"),
        Column::text("Judge"),
        Column::number("Cost"),
        Column::text("Notes"),
    ];
    Block::Table(Table {
        head: Head::new("Days", "Which days do I read?").with_n(12).with_note("Choose a row to see it in the charts."),
        rows: Rows {
            caption: "Days, newest last".to_owned(),
            columns,
            rows,
            left_out: 240,
            all_by: Some("karat view 7f3a".to_owned()),
        },
        filters,
        can_search: true,
    })
}

fn excerpts() -> Block {
    let score = |metric: &str, value: &str, verdict, reason: &str| ExcerptScore {
        metric: metric.to_owned(),
        value: value.to_owned(),
        verdict,
        judge: Some("gpt-5".to_owned()),
        reason: Some(reason.to_owned()),
    };
    let answer = "Revenue rose 12 % to $4.2bn in 2024, mostly from services.";
    let other = "Revenue rose 21 % to $4.2bn in 2024, driven by hardware.";
    let span = |text: &str, part: &str, label: &str, category| {
        let start = text.find(part).unwrap_or(0);
        Highlight { start, end: start + part.len(), label: label.to_owned(), category }
    };
    let outputs = vec![
        ExcerptOutput {
            system: "gpt-5/raw".to_owned(),
            text: Some(answer.to_owned()),
            repeats: 3,
            highlights: vec![span(answer, "12 %", "supported", 0)],
            scores: vec![score("accuracy", "1.000", Some(Verdict::Pass), "Both figures are in the source.")],
            ..ExcerptOutput::default()
        },
        ExcerptOutput {
            system: LONG_NAME.to_owned(),
            text: Some(other.to_owned()),
            repeats: 1,
            highlights: vec![
                span(other, "21 %", "contradicted", 1),
                span(other, "driven by hardware", "unsupported", 2),
            ],
            scores: vec![
                score(
                    "accuracy",
                    "0.000",
                    Some(Verdict::Fail),
                    "The growth rate is 12 %, not 21 %; the source names services.",
                ),
                score("style", "0.900", None, "Short and clear."),
            ],
            ..ExcerptOutput::default()
        },
    ];
    let first = Excerpt {
        sample: "q007".to_owned(),
        why: Some("Systems differ most here.".to_owned()),
        href: Some("?id=q007".to_owned()),
        input: Some("How did revenue develop in 2024, and why?\n\nSource: Revenue grew 12 % to $4.2bn. Services contributed most of the growth.".to_owned()),
        input_highlights: vec![],
        reference: Some("12 % to $4.2bn, from services".to_owned()),
        texts: vec![],
        outputs,
        with_diff: true,
    };
    let hostile = "<script>alert(1)</script> \u{202e}reversed\u{202c} zero\u{200b}width \0 nul\u{1b}[31m";
    let second = Excerpt {
        sample: hostile.to_owned(),
        input: Some(hostile.to_owned()),
        outputs: vec![ExcerptOutput {
            system: "small".to_owned(),
            note: Some("No output: HTTP 500 after 5 attempts.".to_owned()),
            ..ExcerptOutput::default()
        }],
        ..Excerpt::default()
    };
    Block::Excerpts(Excerpts {
        head: Head::new("Worth reading", "What did each system say?"),
        items: vec![first, second],
        left_out: 118,
        all_by: Some("karat view 7f3a".to_owned()),
    })
}

fn texts() -> Markup {
    let markdown = "## Findings\n\nRevenue **rose** and `margin` fell; see [the filing](https://example.com/filing) and ![chart](https://example.com/c.png).\n\n- one\n- two\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n\n> quoted\n\n<b onclick=\"x\">raw HTML stays text</b>";
    let text = |title: &str, text: &str, form| {
        Block::Text(TextBlock { head: Head::new(title, ""), text: text.to_owned(), form, highlights: vec![] })
    };
    let message = |role: &str, content: &str| Message {
        role: role.to_owned(),
        content: content.to_owned(),
        ..Message::default()
    };
    let transcript = Block::Transcript(Transcript {
        head: Head::new("Transcript", "What was said?"),
        messages: vec![
            message("system", "You answer in one sentence."),
            message("user", "What is the weather in Paris?"),
            Message {
                calls: vec![("get_weather".to_owned(), "{\"city\": \"Paris\"}".to_owned())],
                ..message("assistant", "")
            },
            Message { name: Some("get_weather".to_owned()), ..message("tool", "18 °C, clear") },
            message("assistant", "It is 18 °C and clear in Paris."),
        ],
    });
    html! {
        (render(&text("Markdown", markdown, TextForm::Markdown)))
        (render(&text("Plain text", "line one\n  line two, indented", TextForm::Plain)))
        div.panel { h3 { "Word diff" } (diff::render("Revenue rose 12 % to $4.2bn, mostly from services.", "Revenue rose 21 % to $4.2bn, driven by hardware.")) }
        div.panel { h3 { "Word diff of equal texts" } (diff::render("same", "same")) }
        (render(&transcript))
    }
}

fn states() -> Markup {
    let none =
        Empty { reason: Some("No run is stored here.".to_owned()), command: Some("karat run karat.yaml".to_owned()) };
    html! {
        (state::empty(&none))
        (state::error("Run 7f3a is gone: the store has no run of this id.", Some("List the stored runs with `karat runs`."), Some("req-12")))
        (state::left_out(1_998, "row", Some("karat view 7f3a")))
    }
}
