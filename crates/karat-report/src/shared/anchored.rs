//! The words of human-anchored figures, which stand beside the judge's own.

use karat_analysis::{AnchoredFigure, Finding, HumanAnchor};

use crate::shared::figures::{Scaled, count, value, value_with_interval};

/// The figures of a metric and system in one line, such as
/// `judge 0.74 [0.72, 0.76] · anchored 0.69 [0.64, 0.74], 120 labels, PPI++, t`. Of open labels it says that the interval
/// holds whatever they become.
pub(crate) fn anchored_line(metric: &impl Scaled, figure: &AnchoredFigure) -> Option<String> {
    let judge = value_with_interval(metric, figure.judge.as_ref()?);
    let labels = match figure.labelled {
        1 => "1 label".to_owned(),
        some => format!("{} labels", count(some)),
    };
    let anchored = match &figure.anchored {
        Some(anchored) => {
            let open = open_text(metric, figure, anchored);
            format!("anchored {}, {labels}{open}, {}", value_with_interval(metric, anchored), anchored.method())
        }
        None => format!("not anchored: {}", figure.why.as_deref().unwrap_or("there are no labels")),
    };
    let missing = missing_text(figure).map(|missing| format!("; {missing}"));
    Some(format!("judge {judge} · {anchored}{}", missing.unwrap_or_default()))
}

fn open_text(metric: &impl Scaled, figure: &AnchoredFigure, anchored: &Finding) -> String {
    match (figure.open, anchored.interval()) {
        (0, _) => String::new(),
        (open, Some((lo, hi))) => {
            let (lo, hi) = (value(metric, lo), value(metric, hi));
            format!(", {} open: {lo} to {hi} whatever they will be", count(open))
        }
        (open, None) => format!(", {} open", count(open)),
    }
}

/// The labels that are missing for the wanted width, and the time of people that they take.
pub(crate) fn missing_text(figure: &AnchoredFigure) -> Option<String> {
    let missing = figure.labels_missing?;
    if missing == figure.judged {
        let minutes = figure.minutes_missing.map(|minutes| format!(", about {} minutes", count(minutes)));
        let minutes = minutes.unwrap_or_default();
        return Some(format!("label the {} that are left{minutes}: nothing is estimated then", count(missing)));
    }
    let labels = if missing == 1 { "label is" } else { "labels are" };
    let minutes = figure.minutes_missing.map(|minutes| {
        let unit = if minutes == 1 { "minute" } else { "minutes" };
        format!(", about {} {unit} at the median time of a label", count(minutes))
    });
    Some(format!("about {} more {labels} missing for the wanted width{}", count(missing), minutes.unwrap_or_default()))
}

/// The labels that an analysis used and left out, in sentences.
pub(crate) fn labels_text(anchor: &HumanAnchor) -> String {
    let (used, all) = anchor.labels;
    let left_out = [
        (anchor.shown_to_judges, "judges saw them as examples"),
        (anchor.other_version, "they are of another version of the rubric or task"),
        (anchor.targeted, "their items were chosen as hard ones"),
        (anchor.other_verdicts, "they were chosen by verdicts that the judge of this run does not share"),
    ];
    let left_out = left_out.iter().filter(|(number, _)| *number > 0);
    let left_out: Vec<String> = left_out.map(|(number, why)| format!("{} because {why}", count(*number))).collect();
    let left_out = if left_out.is_empty() { String::new() } else { format!("; left out: {}", left_out.join(", ")) };
    let counted: Vec<&str> = anchor.tasks.iter().filter(|task| task.counts).map(|task| task.task.as_str()).collect();
    let tasks = if counted.is_empty() { String::new() } else { format!(" Tasks: {}.", counted.join(", ")) };
    let from_file = match anchor.from_file {
        0 => String::new(),
        some => format!(" The {} of a file are taken as a random choice of the outputs.", count(some)),
    };
    let open = anchor.tasks.iter().filter(|task| task.counts && task.open > 0);
    let open: Vec<String> = open
        .map(|task| {
            format!("Open in {}: {}; settle them: karat annotate adjudicate {}", task.task, count(task.open), task.task)
        })
        .collect();
    let open = open.into_iter().map(|text| format!(" {text}")).collect::<String>();
    format!("Labels used: {} of {}{left_out}.{tasks}{from_file}{open}", count(used), count(all))
}
