//! The words of human-anchored figures, which stand beside the judge's own.

use karat_analysis::AnchoredFigure;

use crate::shared::figures::{Scaled, count, value_with_interval};

/// The figures of a metric and system in one line, such as
/// `judge 0.74 [0.72, 0.76] · anchored 0.69 [0.64, 0.74], 120 labels, PPI++, t`.
pub(crate) fn anchored_line(metric: &impl Scaled, figure: &AnchoredFigure) -> Option<String> {
    let judge = value_with_interval(metric, figure.judge.as_ref()?);
    let labels = match figure.labelled {
        1 => "1 label".to_owned(),
        some => format!("{} labels", count(some)),
    };
    let anchored = match &figure.anchored {
        Some(anchored) => {
            format!("anchored {}, {labels}, {}", value_with_interval(metric, anchored), anchored.method())
        }
        None => format!("not anchored: {}", figure.why.as_deref().unwrap_or("there are no labels")),
    };
    let missing = figure.labels_missing.map(|missing| format!("; {}", missing_text(missing)));
    Some(format!("judge {judge} · {anchored}{}", missing.unwrap_or_default()))
}

/// The labels that are missing for the wanted width.
pub(crate) fn missing_text(missing: u64) -> String {
    let labels = if missing == 1 { "label is" } else { "labels are" };
    format!("about {} more {labels} missing for the wanted width", count(missing))
}
