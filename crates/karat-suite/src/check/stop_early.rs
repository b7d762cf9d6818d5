//! Settings that `run.stop_early` does not go with.

use crate::diagnostics::Problems;
use crate::syntax::node::Node;

/// Refuses gates by interval on a stratified draw that may stop early: samples of equal strata are no random sample of
/// the population behind them, whatever their order, so the first of them say less than the bound assumes.
pub(crate) fn check(suite: &Node, problems: &mut Problems) {
    let stops = suite.field("run").and_then(|run| run.field("stop_early"));
    if stops.is_none_or(|node| node.boolean() == Some(false)) {
        return;
    }
    let draw = suite.field("dataset").and_then(|dataset| dataset.field("draw"));
    let is_stratified = draw.is_some_and(|draw| draw.field("by").is_some());
    let gates = suite.field("gates").map(Node::items).unwrap_or_default();
    let by_interval = gates.iter().filter_map(|gate| gate.field("decide")).find(|it| it.text() == Some("interval"));
    if let (true, Some(decide)) = (is_stratified, by_interval) {
        problems
            .error(&decide.place, "`decide: interval` cannot be stopped early on a stratified draw (`dataset.draw.by`)")
            .hint("write `decide: point`, which is about the drawn samples, leave `draw.by` out, or set `stop_early: false`");
    }
}
