//! Section on rankings by pairwise verdicts (PW-02): ranks with strengths, a matrix of wins, and the decided pairs.

use karat_analysis::{ComparedPair, Finding, MetricRanking, Outcome, RankedSystem};

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures;
use crate::shared::ranking::{pair_share, rank_text, record_text, strength_text, summary};
use crate::shared::report::Report;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        let Outcome::Ranking(found) = &analysed.outcome else { continue };
        found.rankings.iter().for_each(|ranking| write_ranking(page, ranking));
    }
}

fn write_ranking(page: &mut Page, ranking: &MetricRanking) {
    page.heading(2, Inline::plain("Ranking: ").and_code(&ranking.metric));
    page.paragraph(Inline::text(summary(ranking)));
    ranking.notes.iter().for_each(|note| page.paragraph(Inline::text(note)));
    let heads = [
        Column::left(Inline::plain("Rank")),
        Column::left(Inline::plain("System")),
        Column::right(Inline::plain("Strength")),
        Column::right(Inline::plain("Share won")),
        Column::right(Inline::plain("Won–tied–lost")),
    ];
    page.table(&heads, ranking.systems.iter().map(system_row));
    let mut heads = vec![Column::left(Inline::plain("Won against"))];
    heads.extend(ranking.systems.iter().map(|it| Column::right(Inline::code(&it.system))));
    let share = |own: &RankedSystem, other: &RankedSystem| {
        let share = pair_share(ranking, &own.system, &other.system);
        Inline::text(share.map_or_else(|| figures::NONE.to_owned(), figures::percent))
    };
    let rows = ranking.systems.iter().map(|own| {
        let shares = ranking.systems.iter().map(|other| share(own, other));
        [Inline::code(&own.system)].into_iter().chain(shares).collect::<Vec<_>>()
    });
    page.table(&heads, rows);
    let heads = [
        Column::left(Inline::plain("Pair")),
        Column::right(Inline::plain("Difference of strengths")),
        Column::right(Inline::plain("Share of resamples")),
        Column::right(Inline::plain("p (Holm)")),
        Column::left(Inline::plain("Verdict")),
    ];
    page.table(&heads, ranking.pairs.iter().map(pair_row));
    for it in ranking.without.iter().filter(|it| it.changes_first) {
        let without = Inline::plain("Without the judge ").and_code(&it.judge).and(", ").and_code(&it.first);
        page.paragraph(without.and(" would be first."));
    }
}

fn system_row(system: &RankedSystem) -> Vec<Inline> {
    let won = system.won.as_ref().map_or_else(|| figures::NONE.to_owned(), figures::percent_with_interval);
    vec![
        Inline::text(rank_text(system)),
        Inline::code(&system.system),
        Inline::text(strength_text(system.strength.as_ref())),
        Inline::text(won),
        Inline::text(record_text(system.record)),
    ]
}

fn pair_row(pair: &ComparedPair) -> Vec<Inline> {
    let number = |finding: &Option<Finding>, digits: usize| {
        finding.as_ref().map_or_else(|| figures::NONE.to_owned(), |it| format!("{:.digits$}", it.value()))
    };
    vec![
        Inline::code(&pair.a).and(" against ").and_code(&pair.b),
        Inline::text(strength_text(pair.difference.as_ref())),
        Inline::text(number(&pair.better, 3)),
        Inline::text(number(&pair.p, 4)),
        Inline::plain(if pair.decided { "better" } else { "undecided" }),
    ]
}
