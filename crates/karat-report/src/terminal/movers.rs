//! The samples that got better and worse, for a terminal.

use karat_analysis::compare::{ComparedMetric, Mover, RunComparison};

use crate::shared::visible::excerpt;
use crate::wording::movers::{counts, cut_note, other_metrics, output, scores, shown_movers};

/// Length of an id, in characters.
const WIDTH: usize = 40;

/// Returns the lines of the table of movers, with an empty line at the end; none if no sample moved.
pub(super) fn movers(compared: &RunComparison) -> Vec<String> {
    let Some((movers, metric)) = shown_movers(compared) else { return Vec::new() };
    let mut lines = vec![format!("samples by {}: {}", excerpt(&movers.metric, WIDTH), counts(compared, movers))];
    let all: Vec<&Mover> = movers.better.iter().chain(&movers.worse).collect();
    let widest = |of: &dyn Fn(&Mover) -> String| all.iter().map(|it| of(it).chars().count()).max().unwrap_or_default();
    let widths = (widest(&sample), widest(&system));
    lines.extend(movers.better.iter().flat_map(|it| mover("better", metric, it, widths)));
    lines.extend(movers.worse.iter().flat_map(|it| mover("worse", metric, it, widths)));
    lines.extend([cut_note(movers), other_metrics(compared, movers)].into_iter().flatten());
    lines.push(String::new());
    lines
}

fn sample(it: &Mover) -> String {
    excerpt(&it.sample, WIDTH)
}

fn system(it: &Mover) -> String {
    excerpt(&it.system, WIDTH)
}

/// Returns the line of a mover, and two for its outputs if they were read.
fn mover(word: &str, metric: &ComparedMetric, it: &Mover, (ids, systems): (usize, usize)) -> Vec<String> {
    let mut lines =
        vec![format!("  {word:<6}  {:<ids$}  {:<systems$}  {}", sample(it), system(it), scores(metric, it))];
    if let Some(outputs) = &it.outputs {
        lines.push(format!("    was: {}", output(outputs.baseline.as_ref())));
        lines.push(format!("    now: {}", output(outputs.candidate.as_ref())));
    }
    lines
}
