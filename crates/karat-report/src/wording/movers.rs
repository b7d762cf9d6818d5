//! Sentences about the samples that got better and worse, the same in every format.

use karat_analysis::compare::{ComparedMetric, CutOutput, Mover, Movers, RunComparison};

use crate::shared::figures::{self, count};
use crate::shared::visible::excerpt;

/// Length of an output that is shown, in characters.
const OUTPUT: usize = 240;

/// Returns the metric whose movers are shown: the first with one, and the scale of its scores.
pub(crate) fn shown_movers(compared: &RunComparison) -> Option<(&Movers, &ComparedMetric)> {
    let moved = compared.movers.iter().find(|it| it.n_better + it.n_worse > 0)?;
    Some((moved, compared.metrics.iter().find(|it| it.metric == moved.metric)?))
}

/// Returns for example `3 better, 2 worse, 25 the same`, with the number of systems if a sample counts several times.
pub(crate) fn counts(compared: &RunComparison, movers: &Movers) -> String {
    let (better, worse, same) = (count(movers.n_better), count(movers.n_worse), count(movers.n_same));
    let systems = match compared.candidate.systems.len() {
        0 | 1 => String::new(),
        n => format!(" (each sample counts in each of the {} systems)", count(n as u64)),
    };
    format!("{better} better, {worse} worse, {same} the same{systems}")
}

/// Returns a note if not all movers are listed.
pub(crate) fn cut_note(movers: &Movers) -> Option<String> {
    let note = |word: &str, all: u64, listed: usize| {
        ((listed as u64) < all).then(|| format!("{} of {} {word}", count(listed as u64), count(all)))
    };
    let cut = [note("better", movers.n_better, movers.better.len()), note("worse", movers.n_worse, movers.worse.len())];
    let cut: Vec<String> = cut.into_iter().flatten().collect();
    (!cut.is_empty()).then(|| format!("listed: the largest {}; `--movers N` lists more", cut.join(", ")))
}

/// Returns a note on the metrics whose movers are not shown.
pub(crate) fn other_metrics(compared: &RunComparison, shown: &Movers) -> Option<String> {
    let others = compared.movers.iter().filter(|it| it.metric != shown.metric && it.n_better + it.n_worse > 0);
    let others: Vec<String> = others
        .map(|it| format!("{} ({} better, {} worse)", excerpt(&it.metric, 50), count(it.n_better), count(it.n_worse)))
        .collect();
    let hint = "`--metrics NAME` lists its samples";
    (!others.is_empty()).then(|| format!("also moved: {}; {hint}", others.join(", ")))
}

/// Returns for example `0.000 → 1.000`.
pub(crate) fn scores(metric: &ComparedMetric, it: &Mover) -> String {
    format!("{} → {}", figures::value(metric, it.baseline), figures::value(metric, it.candidate))
}

/// Returns an output on one line, cut.
pub(crate) fn output(output: Option<&CutOutput>) -> String {
    let Some(CutOutput { text, cut }) = output else { return "no output".to_owned() };
    let shown = excerpt(text, OUTPUT);
    if *cut > 0 && !shown.ends_with('…') { format!("{shown}…") } else { shown }
}

/// Lists the systems whose results both runs share, or returns `None`.
pub(crate) fn unchanged_systems(compared: &RunComparison) -> Option<String> {
    let (same, compared_systems) = (compared.unchanged.len() as u64, compared.candidate.systems.len() as u64);
    if same == 0 {
        return None;
    }
    let ids = compared.unchanged.iter().take(10).map(|id| excerpt(id, 50)).collect::<Vec<_>>().join(", ");
    let more = if same > 10 { format!(" and {} more", count(same - 10)) } else { String::new() };
    Some(if compared.all_unchanged() {
        match same {
            1 => format!("the system is unchanged (same cached results): {ids}"),
            _ => format!("all {} systems are unchanged (same cached results): {ids}{more}", count(same)),
        }
    } else {
        let all = count(same + compared_systems);
        let are = if same == 1 { "is" } else { "are" };
        format!("{} of {all} systems {are} unchanged (same cached results) and left out: {ids}{more}", count(same))
    })
}

/// Returns the correction of the results of each system.
pub(crate) fn system_correction(compared: &RunComparison) -> String {
    let n = count(compared.system_family);
    // Corrections in steps test each row at a level of its own, and an interval that belongs to its verdict has that level.
    let levels = "each interval at the level of its own test";
    match compared.correction {
        "holm" => format!("p-values corrected by Holm over {n} tests of systems and metrics, {levels}"),
        "bh" => format!("p-values corrected by Benjamini-Hochberg over {n} tests of systems and metrics, {levels}"),
        _ => "p-values not corrected".to_owned(),
    }
}
