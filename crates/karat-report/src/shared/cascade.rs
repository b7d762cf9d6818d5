//! The words of judge cascades: what is estimated from how many calls, and what that saves.

use karat_analysis::{Cascade, CascadeMetric, CascadeSystem};
use karat_types::MetricSpec;

use crate::shared::figures::{count, usd, value_with_interval};

/// The estimate of a metric with its calls and money in one line, such as `quality 0.71 (0.68 to 0.74): 1,000 cheap, 200
/// dear; $3.10, not $9.80; 1.6 × as wide`. The money is that of all systems, so it stands only where there is one.
pub(crate) fn cascade_line(
    cascade: &Cascade,
    system: &CascadeSystem,
    found: &CascadeMetric,
    metric: &MetricSpec,
) -> String {
    let estimate = match &found.figure {
        Some(figure) => value_with_interval(metric, figure),
        None => "cannot be estimated".to_owned(),
    };
    let asked = system.unsure + system.drawn;
    let calls = format!("{} cheap, {} dear", count(asked + system.not_asked), count(asked));
    let only = cascade.systems.len() == 1;
    let money = only.then(|| spent_text(cascade)).flatten().map(|it| format!("; {it}")).unwrap_or_default();
    let width = found.width_ratio.map(|ratio| format!("; {ratio:.1} × as wide")).unwrap_or_default();
    format!("{} {estimate}: {calls}{money}{width}", found.metric)
}

/// The money of a cascade: `$3.10, not $9.80`, or `$5.83, $0.11 more than all dear` where it saves nothing. `None` if a
/// price is unknown, or nothing costs anything.
pub(crate) fn spent_text(cascade: &Cascade) -> Option<String> {
    let (spent, all) = money(cascade)?;
    Some(match spent < all {
        true => format!("{}, not {}", usd(Some(spent)), usd(Some(all))),
        false => format!("{}, {} more than all dear", usd(Some(spent)), usd(Some(spent - all))),
    })
}

/// The cost of both sides, and that of all cells by the judges.
fn money(cascade: &Cascade) -> Option<(f64, f64)> {
    let spent = cascade.first_spend.usd? + cascade.judge_spend.usd?;
    Some((spent, cascade.all_usd.filter(|all| *all > 0.0 || spent > 0.0)?))
}

/// The scorer that went first, the judges that followed, and the cost of both, in sentences.
pub(crate) fn cascade_text(cascade: &Cascade) -> String {
    let judges = cascade.judges.join(", ");
    let cost = |(spent, all): (f64, f64)| match spent < all {
        true => format!(" Cost: {}, not {} for all cells by {judges}.", usd(Some(spent)), usd(Some(all))),
        false => {
            format!(" Cost: {}, {} more than for all cells by {judges}.", usd(Some(spent)), usd(Some(spent - all)))
        }
    };
    let spent = money(cascade).map(cost).unwrap_or_default();
    format!(
        "{} graded {} cells first, {judges} {} of them: those that it was unsure about, and a random sample of the others. \
         Cells that {judges} did not grade show ≈ the score that the first one lets expect.{spent}",
        cascade.first,
        count(cascade.systems.iter().map(|it| it.unsure + it.drawn + it.not_asked).sum()),
        count(cascade.judge_spend.cells),
    )
}

#[cfg(test)]
mod tests {
    use karat_analysis::CascadeSpend;

    use super::*;

    /// SL-23: a cascade that saves nothing says how much more it costs, and is not compared as if it were cheaper.
    #[test]
    fn a_cascade_that_saves_nothing_says_so() {
        let spend = |cells, usd| CascadeSpend { cells, calls: cells, usd: Some(usd) };
        let mut cascade = Cascade {
            scorer: "quality".to_owned(),
            first: "cheap".to_owned(),
            judges: vec!["dear".to_owned()],
            first_spend: spend(100, 0.6),
            judge_spend: spend(90, 5.23),
            all_usd: Some(5.72),
            saved_usd: Some(-0.11),
            systems: Vec::new(),
        };
        assert_eq!(spent_text(&cascade).unwrap(), "$5.83, $0.11 more than all dear");
        assert!(cascade_text(&cascade).ends_with(" Cost: $5.83, $0.11 more than for all cells by dear."));
        cascade.all_usd = Some(9.8);
        assert_eq!(spent_text(&cascade).unwrap(), "$5.83, not $9.80");
        assert!(cascade_text(&cascade).ends_with(" Cost: $5.83, not $9.80 for all cells by dear."));
    }
}
