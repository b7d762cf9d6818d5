//! A corpus of sessions: cards, means of dimensions, the distribution, and a table of sessions, the lowest first.

use karat_analysis::{CorpusSession, SummaryCorpus};
use karat_page::block::{Block, Cell, Column, Head, Histogram, Row, Rows, Stat, Table};
use karat_page::number::Scale;

use crate::blocks::build::{count_card, figure_card, stats, value};
use crate::shared::report::Report;
use crate::wording::session_gates;

pub(in crate::blocks) fn blocks(report: Report<'_>, corpus: &SummaryCorpus) -> Vec<Block> {
    let scale = Scale::score(0.0, 1.0);
    let mut head = Head::new("Sessions", "How close do the outputs come to the references?").with_n(corpus.corpus_size);
    head.notes.extend(session_gates::failed_gates(report, corpus).into_iter().map(|it| format!("Gate failed: {it}")));
    let point = |key: &str, label: &str, number: Option<f64>| Stat {
        estimate: number.map_or_else(Default::default, |it| karat_page::number::Estimate::point(it, 0)),
        scale: scale.clone(),
        ..figure_card(key, label, None, &scale)
    };
    let mut cards = vec![
        figure_card("overall", "Overall mean", corpus.overall.as_ref(), &scale),
        point("lowest", "Lowest session", corpus.overall_min),
        point("highest", "Highest session", corpus.overall_max),
    ];
    let beside =
        [("not-curated", "Not curated, excluded", corpus.not_curated), ("failed", "Failed, excluded", corpus.failed)];
    cards.extend(beside.into_iter().filter(|(.., n)| *n > 0).map(|(key, label, n)| count_card(key, label, n, None)));
    let values: Vec<(f64, Option<String>)> =
        corpus.sessions.iter().filter_map(|it| Some((it.overall?, Some(name(it))))).collect();
    let missing = corpus.sessions.iter().filter(|it| it.overall.is_none()).count() as u64;
    let head_of_bins =
        Head::new("Distribution of sessions", "Is it a few bad ones, or all?").with_n(values.len() as u64);
    let bins = Histogram { head: head_of_bins, scale: scale.clone(), values, missing, mark: None };
    vec![stats(head, cards), Block::Histogram(bins), table(corpus, &scale)]
}

fn name(session: &CorpusSession) -> String {
    match &session.system {
        Some(system) => format!("{} × {system}", session.name),
        None => session.name.clone(),
    }
}

fn table(corpus: &SummaryCorpus, scale: &Scale) -> Block {
    let dimensions: Vec<&str> = corpus.dimension_means.names().collect();
    let mean = |name: String, overall: Option<f64>, means: &karat_analysis::OrderedMap<Option<f64>>| {
        let means = means.iter().map(|(_, mean)| value(*mean, scale));
        [Cell::Text(name), value(overall, scale)].into_iter().chain(means).chain([Cell::text("")]).collect::<Vec<_>>()
    };
    let means = std::iter::once(mean("mean".to_owned(), corpus.overall_mean, &corpus.dimension_means)).chain(
        corpus.systems.iter().map(|it| mean(format!("mean of {}", it.system), it.overall_mean, &it.dimension_means)),
    );
    let limit = crate::blocks::build::ROWS;
    let sessions = corpus.worst(limit).into_iter().map(|session| {
        let scores = session.dimensions.iter().map(|it| value(it.score, scale));
        let reason = session.reason().map_or_else(String::new, str::to_owned);
        [Cell::Text(name(session)), value(session.overall, scale)]
            .into_iter()
            .chain(scores)
            .chain([Cell::Prose(reason)])
            .collect()
    });
    let columns = [Column::text("Session"), Column::number("Overall")]
        .into_iter()
        .chain(dimensions.iter().map(|name| Column::number(*name)))
        .chain([Column::text("Reason")]);
    let rows = Rows {
        columns: columns.collect(),
        rows: means.chain(sessions).map(Row::of).collect(),
        left_out: corpus.sessions.len().saturating_sub(limit) as u64,
        ..Rows::default()
    };
    let head = Head::new("Sessions, the lowest first", "Which sessions do I read?");
    Block::Table(Table { head, rows, can_search: true, ..Table::default() })
}
