//! Which of a judgment's calls is which: its vote, its part, and how often the judge was asked before.

use karat_types::{AskId, PairOrders, RubricScorer, Versus};

/// The number of halvings of a part that labels can name.
const HALVINGS: u32 = 3;

/// The place of a call in its judgment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLabel {
    /// Its address in the machine.
    pub id: AskId,
    /// Position, from 0, of the other output of its pair.
    pub opponent: u32,
    /// The vote, from 1.
    pub vote: u32,
    /// True if the other output of a pair was shown first.
    pub swapped: bool,
    /// The part, from 0.
    pub part: usize,
    /// `a` and `b` for the halves of a part, `aa` for the first half of the first one, …
    pub half: String,
    /// The number of times the judge was asked before.
    pub reask: u32,
}

/// Every place that one of so many calls of a judgment can have.
pub fn call_labels(scorer: &RubricScorer, calls: usize) -> impl Iterator<Item = CallLabel> {
    let orders: &[bool] =
        if scorer.versus.is_some() && scorer.orders == PairOrders::Both { &[false, true] } else { &[false] };
    let is_list = scorer.rubric.show.iter().any(|item| item.chunk.is_some_and(|chunk| chunk.items.is_some()));
    let halves = half_names(if is_list { HALVINGS } else { 0 });
    let reasks = scorer.rubric.invalid.reask;
    let opponents = if scorer.versus == Some(Versus::All) { calls.max(1) as u32 } else { 1 };
    let votes = (0..opponents).flat_map(|opponent| (0..scorer.votes.max(1)).map(move |vote| (opponent, vote)));
    let rounds = votes.flat_map(|(opponent, vote)| orders.iter().map(move |swapped| (opponent, vote, *swapped)));
    rounds.flat_map(move |(opponent, vote, swapped)| {
        let halves = halves.clone();
        (0..calls).flat_map(move |part| {
            let halves = halves.clone();
            halves.into_iter().flat_map(move |half| {
                (0..=reasks).map(move |reask| {
                    let id = round_prefix(opponent, vote, swapped) + &part_id(&format!("{part}{half}"), reask);
                    CallLabel { id: AskId::new(id), opponent, vote: vote + 1, swapped, part, half: half.clone(), reask }
                })
            })
        })
    })
}

/// The prefix of a round's ids; `opponent` and `vote` count from 0.
pub(crate) fn round_prefix(opponent: u32, vote: u32, swapped: bool) -> String {
    let opponent = if opponent > 0 { format!("pair{}/", opponent + 1) } else { String::new() };
    let vote = if vote > 0 { format!("{opponent}vote{}/", vote + 1) } else { opponent };
    if swapped { format!("{vote}swapped/") } else { vote }
}

/// The id of a part within its round.
pub(crate) fn part_id(part: &str, reask: u32) -> String {
    if reask == 0 { part.to_owned() } else { format!("{part}/reask{reask}") }
}

/// The names of halves, and of none.
fn half_names(depth: u32) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..depth {
        last = last.iter().flat_map(|half| ["a", "b"].map(|side| format!("{half}{side}"))).collect();
        all.extend_from_slice(&last);
    }
    all
}
