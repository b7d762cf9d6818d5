//! Rankings of systems by pairwise verdicts: a forest of strengths, a matrix of wins, and the pairs.

use karat_analysis::{MetricRanking, Rankings};
use karat_page::block::verdict::Verdict;
use karat_page::block::{Block, Cell, Column, Forest, ForestRow, Head};
use karat_page::number::Estimate;

use crate::blocks::build::{difference, figure, numbers, table, texts, value};
use crate::shared::ranking::{pair_share, rank_text, record_text, summary};
use crate::shared::scales;

pub(in crate::blocks) fn blocks(rankings: &Rankings) -> Vec<Block> {
    let shown = rankings.rankings.iter().flat_map(|it| [strengths(it), places(it), wins(it), pairs(it)]);
    let blocks: Vec<Block> = shown.collect();
    if !blocks.is_empty() {
        return blocks;
    }
    let head = Head::new("Ranking", "Which system is the best?")
        .when_empty("No pair of outputs has a verdict.".to_owned(), "karat show");
    vec![Block::Forest(Forest { head, ..Forest::default() })]
}

fn strengths(ranking: &MetricRanking) -> Block {
    let rows = ranking.systems.iter().map(|system| {
        let effect = system.strength.as_ref().map_or_else(Estimate::default, scales::difference);
        let rank = rank_text(system);
        let name = if rank.is_empty() { system.system.clone() } else { format!("{rank}. {}", system.system) };
        ForestRow { name, effect, ..ForestRow::default() }
    });
    let mut head = Head::new(format!("Ranking: {}", ranking.metric), "Which system is the best?")
        .with_n(ranking.games)
        .with_note(summary(ranking));
    head.notes.extend(ranking.notes.iter().cloned());
    Block::Forest(Forest { head, scale: scales::bare_scale(), margin: None, rows: rows.collect() })
}

fn places(ranking: &MetricRanking) -> Block {
    let rows = ranking.systems.iter().map(|system| {
        vec![
            Cell::text(rank_text(system)),
            Cell::text(&system.system),
            difference(system.strength.as_ref(), &scales::bare_scale()),
            figure(system.won.as_ref(), &scales::shares()),
            Cell::text(record_text(system.record)),
        ]
    });
    let mut columns = texts(["Rank", "System"]);
    columns.extend(["Strength", "Share won"].map(Column::number));
    columns.extend(texts(["Won, tied, lost"]));
    let head = Head::new(format!("Ranks: {}", ranking.metric), "Which ranks do the games allow?")
        .with_note("A rank is 1 + the number of systems that are decidedly better; the range is what the games allow.");
    table(head, columns, rows)
}

/// The share of games that the system of the row won against that of the column.
fn wins(ranking: &MetricRanking) -> Block {
    let names: Vec<&str> = ranking.systems.iter().map(|it| it.system.as_str()).collect();
    let rows = names.iter().map(|row| {
        let shares = names.iter().map(|column| value(pair_share(ranking, row, column), &scales::shares()));
        [Cell::text(*row)].into_iter().chain(shares).collect()
    });
    let columns = [Column::text("System")].into_iter().chain(names.iter().map(|name| Column::number(*name)));
    let head = Head::new(format!("Wins: {}", ranking.metric), "Who wins against whom?")
        .with_note("Share of games that the system of the row won against that of the column, a tie counting half.");
    table(head, columns.collect(), rows)
}

fn pairs(ranking: &MetricRanking) -> Block {
    let rows = ranking.pairs.iter().map(|pair| {
        vec![
            Cell::text(&pair.a),
            Cell::text(&pair.b),
            figure(pair.won.as_ref(), &scales::shares()),
            difference(pair.difference.as_ref(), &scales::bare_scale()),
            figure(pair.better.as_ref(), &scales::shares()),
            value(pair.p.as_ref().map(karat_analysis::Finding::value), &scales::bare_scale()),
            Cell::Verdict(if pair.decided { Verdict::Better } else { Verdict::Undecided }),
        ]
    });
    let mut columns = numbers("System", []);
    columns.extend(texts(["Against"]));
    columns.extend(["Share won", "Difference", "Share of resamples", "p (Holm)"].map(Column::number));
    columns.extend(texts(["Verdict"]));
    let head = Head::new(format!("Pairs: {}", ranking.metric), "Which differences are decided?");
    let head =
        ranking.without.iter().filter(|it| it.changes_first).fold(head, |head, it| {
            head.with_note(format!("Without the judge {}, {} would be first.", it.judge, it.first))
        });
    table(head, columns, rows)
}
