//! The words of rankings.

use karat_analysis::{MetricRanking, RankedSystem};

use crate::shared::figures::{count, percent};

/// A rank as its range, such as `1` or `2–4`.
pub(crate) fn rank_text(system: &RankedSystem) -> String {
    match system.ranks {
        (best, worst) if best == worst => best.to_string(),
        (best, worst) => format!("{best}–{worst}"),
    }
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
