//! Bar charts as SVG: one bar a system, with its interval.

use std::fmt::Write as _;

use karat_analysis::{Finding, Group, Outcome};
use karat_types::{Better, MetricSpec};

use super::escape;
use crate::shared::figures;
use crate::shared::report::Report;
use crate::shared::visible::excerpt;

/// Number of systems in one chart, the best first.
const SYSTEMS: usize = 10;
/// Number of metrics that get a chart.
const METRICS: usize = 3;
/// Width of names, bars and figures, and height of a row, in pixels.
const NAMES: f64 = 260.0;
const BARS: f64 = 420.0;
const FIGURES: f64 = 190.0;
const ROW: f64 = 26.0;

/// Returns a chart for each of the first headline metrics that two systems have a figure of, then the reliability curves.
pub(super) fn all(report: Report<'_>) -> String {
    let of_metrics = report.headline().into_iter().take(METRICS).filter_map(|(at, metric)| chart(report, at, metric));
    let charts: Vec<String> = of_metrics.chain(curves(report)).collect();
    if charts.is_empty() { String::new() } else { format!("<h2>Charts</h2>\n{}", charts.concat()) }
}

/// Returns the reliability curve of each analysis that has one.
fn curves(report: Report<'_>) -> impl Iterator<Item = String> {
    report.findings.analyses.iter().filter_map(|analysed| {
        let Outcome::Diagnostics(found) = &analysed.outcome else { return None };
        let drawing = crate::shared::reliability_curve::svg(found.all.confidence.as_ref()?);
        let id = escape(&excerpt(&analysed.id, 80));
        Some(format!(
            "<figure>\n{drawing}<figcaption><code>{id}</code>: stated confidence against the share that is \
             right.</figcaption>\n</figure>\n"
        ))
    })
}

fn chart(report: Report<'_>, at: usize, metric: &MetricSpec) -> Option<String> {
    let mut bars: Vec<(&Group, &Finding)> =
        report.findings.systems.iter().filter_map(|group| Some((group, group.metrics.get(at)?.figure()?))).collect();
    let sign = if metric.better == Better::Lower { 1.0 } else { -1.0 };
    bars.sort_by(|one, other| (sign * one.1.value()).total_cmp(&(sign * other.1.value())));
    bars.truncate(SYSTEMS);
    // A single bar has nothing to stand beside.
    let scale = Scale::of(metric, &bars).filter(|_| bars.len() > 1)?;
    let height = ROW * bars.len() as f64 + 24.0;
    let name = escape(&excerpt(&metric.name, 80));
    let mut svg = format!(
        "<figure>\n<svg viewBox=\"0 0 {} {height}\" role=\"img\" aria-label=\"{name} by system\">\n",
        NAMES + BARS + FIGURES
    );
    for (row, (group, finding)) in bars.iter().enumerate() {
        bar(&mut svg, metric, &scale, row, &group.id, finding);
    }
    axis(&mut svg, metric, &scale, height);
    let shown =
        if report.findings.systems.len() > bars.len() { format!(", the first {}", bars.len()) } else { String::new() };
    let _ = write!(
        svg,
        "</svg>\n<figcaption><code>{name}</code> by system{shown}; the lines are intervals.</figcaption>\n</figure>\n"
    );
    Some(svg)
}

/// Converts the metric's unit to pixels.
struct Scale {
    lo: f64,
    hi: f64,
}

impl Scale {
    /// Spans the metric's range, or from zero to the farthest figure. Returns `None` if there is nothing to show.
    fn of(metric: &MetricSpec, bars: &[(&Group, &Finding)]) -> Option<Self> {
        let values = bars.iter().flat_map(|(_, finding)| {
            let (lo, hi) = finding.interval().unwrap_or((finding.value(), finding.value()));
            [lo, hi, finding.value()]
        });
        let (lo, hi) = metric
            .range
            .unwrap_or_else(|| values.fold((0.0_f64, 0.0_f64), |(lo, hi), value| (lo.min(value), hi.max(value))));
        (!bars.is_empty() && hi > lo).then_some(Self { lo, hi })
    }

    fn x(&self, value: f64) -> f64 {
        NAMES + BARS * ((value - self.lo) / (self.hi - self.lo)).clamp(0.0, 1.0)
    }
}

fn bar(svg: &mut String, metric: &MetricSpec, scale: &Scale, row: usize, name: &str, finding: &Finding) {
    let top = ROW * row as f64;
    let middle = top + ROW / 2.0;
    let (zero, end) = (scale.x(scale.lo.max(0.0)), scale.x(finding.value()));
    let (left, width) = (zero.min(end), (end - zero).abs().max(1.0));
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        NAMES - 8.0,
        middle + 4.5,
        escape(&excerpt(name, 36))
    );
    let _ = writeln!(
        svg,
        "<rect class=\"bar\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"2\"/>",
        top + 5.0,
        ROW - 10.0
    );
    if let Some((lo, hi)) = finding.interval() {
        let (lo, hi) = (scale.x(lo), scale.x(hi));
        let (up, down) = (middle - 5.0, middle + 5.0);
        let _ = writeln!(
            svg,
            "<path class=\"whisker\" d=\"M{lo:.1} {up:.1}V{down:.1}M{lo:.1} {middle:.1}H{hi:.1}M{hi:.1} {up:.1}V{down:.1}\"/>"
        );
    }
    let figure = format!("{} (n = {})", figures::value(metric, finding.value()), figures::count(finding.n()));
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        NAMES + BARS + 12.0,
        middle + 4.5,
        escape(&figure)
    );
}

fn axis(svg: &mut String, metric: &MetricSpec, scale: &Scale, height: f64) {
    let y = height - 22.0;
    let _ = writeln!(svg, "<path class=\"axis\" d=\"M{NAMES} {y:.1}H{:.1}\"/>", NAMES + BARS);
    for (value, anchor) in [(scale.lo, "start"), (scale.hi, "end")] {
        let _ = writeln!(
            svg,
            "<text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            scale.x(value),
            height - 6.0,
            escape(&figures::value(metric, value))
        );
    }
}
