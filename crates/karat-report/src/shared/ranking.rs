//! The words of rankings.

use karat_analysis::{Finding, Leaderboard, MetricRanking, RankedPlace, RankedSystem};

use crate::shared::figures::{NONE, count, percent};

/// A rank as its range, such as `1` or `2–4`; empty if the ranking is unreliable.
pub(crate) fn rank_text(system: &RankedSystem) -> String {
    system.ranks.map(range).unwrap_or_default()
}

/// The reason why a leaderboard has no places.
pub(crate) fn reason_for_none(board: &Leaderboard) -> &'static str {
    match board.order_dependent {
        true => "Too many verdicts changed with the order of the outputs, so none is ranked.",
        false => "No sample × variant pair is scored for all, so none is ranked.",
    }
}

/// A strength with its interval.
pub(crate) fn strength_text(finding: Option<&Finding>) -> String {
    let Some(finding) = finding else { return NONE.to_owned() };
    let interval = finding.interval().map(|(lo, hi)| format!(" [{lo:+.2}, {hi:+.2}]"));
    format!("{:+.2}{}", finding.value(), interval.unwrap_or_default())
}

/// The ranks that tests leave a place of a leaderboard; its position where nothing was tested.
pub(crate) fn place_text(at: usize, place: &RankedPlace) -> String {
    let [best, worst] = place.rank.unwrap_or([at + 1, at + 1]);
    range((best as u64, worst as u64))
}

/// Returns true if others may be as good as the first place.
pub(crate) fn is_open(board: &Leaderboard) -> bool {
    board.places.first().and_then(|place| place.rank).is_some_and(|[_, worst]| worst > 1)
}

fn range((best, worst): (u64, u64)) -> String {
    if best == worst { best.to_string() } else { format!("{best}–{worst}") }
}

/// Games won, tied and lost.
pub(crate) fn record_text((won, tied, lost): (u64, u64, u64)) -> String {
    format!("{}–{}–{}", count(won), count(tied), count(lost))
}

/// The basis of a ranking, in a sentence or two.
pub(crate) fn summary(ranking: &MetricRanking) -> String {
    let model = if ranking.model == "davidson" { "Davidson (ties are modelled)" } else { "Bradley–Terry" };
    let ties = ranking.ties.as_ref().map_or_else(String::new, |it| format!(", {} of them ties", percent(it.value())));
    let order = match ranking.order_dependent {
        0 => "No verdict changed with the order of the outputs.".to_owned(),
        some => format!("{} verdicts changed with the order of the outputs and count as ties.", count(some)),
    };
    let people = match ranking.by_people {
        0 => String::new(),
        some => format!(", {} of them judged by people", count(some)),
    };
    format!(
        "Strengths by {model} from {} games on {} samples{people}{ties}; intervals by resampling samples. {order}",
        count(ranking.games),
        count(ranking.samples)
    )
}

/// The share of games that one system won against another, a tie counting half.
pub(crate) fn pair_share(ranking: &MetricRanking, own: &str, other: &str) -> Option<f64> {
    ranking.pairs.iter().find_map(|pair| {
        let won = pair.won.as_ref()?.value();
        match (pair.a.as_str(), pair.b.as_str()) {
            (a, b) if (a, b) == (own, other) => Some(won),
            (a, b) if (a, b) == (other, own) => Some(1.0 - won),
            _ => None,
        }
    })
}
