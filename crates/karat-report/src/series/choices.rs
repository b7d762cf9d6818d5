//! The choice of what is shown: system, judge and days; on a live page a form that chooses them.

use karat_analysis::series::{JudgeChoice, SeriesView};
use karat_page::number::count_noun;
use karat_page::text::visible::{Words, line};
use karat_page::{Markup, html};

use super::links::SeriesLinks;

/// One line below the title.
pub(super) fn lead(view: &SeriesView) -> String {
    let about = view.about.iter().map(|about| format!("{}. ", about.trim_end_matches('.')));
    let days = match (view.days.first(), view.days.last()) {
        (Some(first), Some(last)) if first.date != last.date => format!(", {} to {}", first.date, last.date),
        (Some(first), _) => format!(", {}", first.date),
        _ => String::new(),
    };
    format!("{}{} of {}{days}", about.collect::<String>(), count_noun(view.cards.len() as u64, "card"), view.system)
}

pub(super) fn render(view: &SeriesView, links: &SeriesLinks) -> Markup {
    match links.path() {
        Some(path) => form(view, path, links),
        None => facts(view),
    }
}

fn judge_words(view: &SeriesView) -> String {
    match (&view.judge, view.judges.as_slice()) {
        (_, []) => "none: a metric scores the documents".to_owned(),
        (JudgeChoice::One(name), _) => name.clone(),
        (_, [one]) => one.clone(),
        (JudgeChoice::All, all) => format!("each of {}, on cards of its own", all.join(", ")),
        (JudgeChoice::Consensus, all) => format!("consensus of {}", all.join(", ")),
    }
}

fn facts(view: &SeriesView) -> Markup {
    let others: Vec<&str> = view.systems.iter().filter(|it| **it != view.system).map(String::as_str).collect();
    html! {
        dl.facts-list {
            dt { "System" }
            dd { (line(&view.system)) @if !others.is_empty() { span.soft { " (others: " (line(&others.join(", "))) ")" } } }
            dt { "Judge" } dd data-testid="judge-filter" { (line(&judge_words(view))) }
            dt { "As of" } dd { (line(&view.as_of)) }
        }
    }
}

fn form(view: &SeriesView, path: &str, links: &SeriesLinks) -> Markup {
    let kept = links.address_parts(&["judge", "system", "as_of", "since", "until", "focus"]);
    let date = |name: &str, label: &str, value: Option<&str>| {
        html! {
            label { (label) input type="date" name=(name) value=[value.map(line)]; }
        }
    };
    let asked = |name: &str| links.address_parts(&[]).into_iter().find(|(of, _)| of == name).map(|(_, value)| value);
    html! {
        form.choices method="get" action=(path) {
            @for (name, value) in &kept { input type="hidden" name=(line(name)) value=(line(value)); }
            label {
                "Judge"
                select name="judge" data-testid="judge-filter" {
                    option value="" selected[view.judge == JudgeChoice::Consensus] { "consensus" }
                    option value="all" selected[view.judge == JudgeChoice::All] { "all, one by one" }
                    @for judge in &view.judges { option value=(line(judge)) selected[view.judge == JudgeChoice::One(judge.clone())] { (line(judge)) } }
                }
            }
            @if view.systems.len() > 1 {
                label {
                    "System"
                    select name="system" {
                        @for system in &view.systems { option value=(line(system)) selected[*system == view.system] { (line(system)) } }
                    }
                }
            }
            (date("as_of", "As of", asked("as_of").as_deref()))
            (date("since", "From", view.since.as_deref()))
            (date("until", "To", view.until.as_deref()))
            button type="submit" { "Show" }
        }
        p.soft.small { "As of " (line(&view.as_of)) "; judge: " (line(&judge_words(view))) "." }
    }
}

/// Warnings about the grades.
pub(super) fn warnings(warnings: &[String]) -> Markup {
    html! {
        ul.notes.warnings { @for warning in warnings { li { (Words(warning)) } } }
    }
}
