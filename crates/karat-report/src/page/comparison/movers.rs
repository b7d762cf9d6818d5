//! The samples that moved: a table, and both outputs with their difference word by word.

use karat_analysis::compare::{ComparedMetric, CutOutput, Mover, RunComparison};
use karat_page::block::{
    Block, Cell, Column, Excerpt, ExcerptOutput, ExcerptScore, Excerpts, Filter, Head, Row, Rows, Table,
};
use karat_page::component::verdict::Verdict;
use karat_page::number::Estimate;
use karat_page::{Markup, html, render};

use crate::page::links::Links;
use crate::shared::scales;
use crate::wording::movers::{counts, cut_note, other_metrics, shown_movers};

pub(super) fn section(compared: &RunComparison, links: &Links) -> Markup {
    let Some((movers, metric)) = shown_movers(compared) else {
        return html! { p.soft { "No sample scores differently." } };
    };
    let mut all: Vec<(&Mover, bool)> =
        movers.better.iter().map(|it| (it, true)).chain(movers.worse.iter().map(|it| (it, false))).collect();
    all.sort_by(|a, b| size(b.0).total_cmp(&size(a.0)));
    let notes = [Some(format!("{}.", counts(compared, movers))), cut_note(movers), other_metrics(compared, movers)];
    let mut head = Head::new(format!("Samples by {}", movers.metric), "Where did it change?");
    head.notes = notes.into_iter().flatten().map(|note| note.replace('`', "")).collect();
    let items: Vec<Excerpt> = all.iter().filter_map(|(mover, _)| excerpt(mover, metric, links)).collect();
    let outputs =
        Excerpts { head: Head::new("Both outputs", "What changed in the texts?"), items, left_out: 0, all_by: None };
    html! {
        (render(&table(head, &all, metric, links)))
        @if outputs.items.is_empty() {
            p.soft { "`karat compare --outputs` shows the outputs of these samples and what differs in them." }
        } @else { (render(&Block::Excerpts(outputs))) }
    }
}

fn size(mover: &Mover) -> f64 {
    (mover.candidate - mover.baseline).abs()
}

fn table(head: Head, all: &[(&Mover, bool)], metric: &ComparedMetric, links: &Links) -> Block {
    let scale = scales::scale_of_compared(metric);
    let row = |(mover, is_better): &(&Mover, bool)| {
        let value = |number: f64| Cell::Value(Estimate::point(number, 0), scale.clone());
        let sample = match links.sample(&mover.sample) {
            Some(href) => Cell::Link { text: mover.sample.clone(), href },
            None => Cell::text(&mover.sample),
        };
        let cells = vec![
            sample,
            Cell::text(&mover.system),
            value(mover.baseline),
            value(mover.candidate),
            Cell::Difference(Estimate::point(mover.candidate - mover.baseline, 0), scale.clone()),
            Cell::Verdict(if *is_better { Verdict::Better } else { Verdict::Worse }),
        ];
        Row { flags: vec![if *is_better { "better" } else { "worse" }.to_owned()], ..Row::of(cells) }
    };
    let filter = |key: &str, wanted: bool| Filter {
        key: key.to_owned(),
        label: key.to_owned(),
        count: all.iter().filter(|(_, is_better)| *is_better == wanted).count() as u64,
    };
    let mut columns = ["Sample", "System"].map(Column::text).to_vec();
    columns.extend(["Baseline", "Candidate", "Δ"].map(Column::number));
    columns.push(Column::text("Verdict"));
    let rows = Rows { columns, rows: all.iter().map(row).collect(), ..Rows::default() };
    Block::Table(Table { head, rows, filters: vec![filter("better", true), filter("worse", false)], can_search: true })
}

fn excerpt(mover: &Mover, metric: &ComparedMetric, links: &Links) -> Option<Excerpt> {
    let both = mover.outputs.as_ref()?;
    let scale = scales::scale_of_compared(metric);
    let output = |side: &str, output: Option<&CutOutput>, score: f64| ExcerptOutput {
        system: side.to_owned(),
        text: output.map(|it| it.text.clone()),
        note: match output {
            None => Some("No output.".to_owned()),
            Some(it) if it.cut > 0 => Some(format!("{} more characters are not shown.", it.cut)),
            Some(_) => None,
        },
        repeats: 1,
        scores: vec![ExcerptScore {
            metric: metric.metric.clone(),
            value: scale.text(score),
            ..ExcerptScore::default()
        }],
        ..ExcerptOutput::default()
    };
    let outputs = vec![
        output("baseline", both.baseline.as_ref(), mover.baseline),
        output("candidate", both.candidate.as_ref(), mover.candidate),
    ];
    let why = Some(format!("{}, {}", mover.system, scale.signed_text(mover.candidate - mover.baseline)));
    let href = links.sample(&mover.sample);
    Some(Excerpt { sample: mover.sample.clone(), why, href, outputs, with_diff: true, ..Excerpt::default() })
}
