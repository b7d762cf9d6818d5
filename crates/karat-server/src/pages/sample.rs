//! A sample: what did each system say to this?

use axum::extract::{Path, RawQuery};
use karat_app::{MarkedSources, RunView, SampleView, SystemOutputs, ViewState};
use karat_page::component::browse::{filters, json_tree, pager, steps};
use karat_page::component::shell::{NavLink, section};
use karat_page::text::diff;
use karat_page::text::visible::{Line, Words, line};
use karat_page::{Document, Markup, html};
use karat_types::SampleText;

use crate::pages::PageResult;
use crate::pages::parts::query::{LIST, Query, cell_query};
use crate::pages::parts::{address, notice, outputs};
use crate::problem::Problem;
use crate::state::State;

/// Names in the address beside those of the list: the sample, and two systems to compare.
const NAMES: [&str; 3] = ["id", "a", "b"];

/// Characters of an input above which it scrolls, so that the outputs are within reach.
const LONG: u64 = 1_500;

/// Systems whose outputs stand whole beside each other.
const FEW: usize = 6;

pub(super) async fn sample(state: State, Path(run): Path<String>, RawQuery(raw): RawQuery) -> PageResult {
    let document = state.read(move |app| {
        let mut query = Query::parse(raw.as_deref(), &[&LIST[..], &NAMES[..]].concat());
        let view = match app.views().run(&run)? {
            ViewState::Ready(view) => view,
            ViewState::Building { run, cells } => return Ok(notice::building("page-sample", "Sample", &run, cells)),
        };
        let wanted = cell_query(&mut query, &view);
        let Some(id) = query.text("id").map(str::to_owned) else {
            let problem = Problem::not_found("the address names no sample");
            return Err(
                problem.with_hint(format!("{} lists the samples of the run", address::cells(&run, &Query::default())))
            );
        };
        let sample = app.views().sample(&view, &wanted, &id)?;
        Ok::<_, Problem>(document(&view, &mut query, &sample))
    });
    Ok(document.await?.into())
}

fn document(view: &RunView, query: &mut Query, sample: &SampleView) -> Document {
    let run = &view.header.id;
    let list = query.only(&LIST);
    let pair = chosen_pair(query, sample);
    let place = match sample.place {
        Some((at, of)) if list.is_empty() => format!("Sample {at} of {of}"),
        Some((at, of)) => format!("Sample {at} of {of} in the list that led here"),
        None => "Not in the list that led here; previous and next are those of the whole run".to_owned(),
    };
    let to = |id: &String| address::sample(run, id, &list);
    let texts = sample.systems.iter().map(|system| &system.texts).find(|texts| !texts.is_empty());
    let body = html! {
        (filters::notices(&query.notices))
        nav.pager aria-label="Samples" {
            p.soft { (place) ", run " (Line(run)) }
            (pager::neighbours(sample.previous.as_ref().map(to).as_deref(), sample.next.as_ref().map(to).as_deref(), "Previous", "Next"))
        }
        @if let Some(texts) = texts { (section("input", "Input", None, &inputs(texts, &sample.sources))) }
        @else { (section("input", "Input", None, &html! { p.soft { (Words(no_texts(view))) } })) }
        (section("outputs", "Outputs", None, &html! {
            (diff_form(view, sample, &list, pair))
            div.columns { @for system in &sample.systems { (outputs::whole(view, system, &list, sample.systems.len() > FEW)) } }
        }))
    };
    Document {
        lead: None,
        breadcrumbs: vec![
            NavLink::new("Runs", "/"),
            NavLink::new(run, address::run(run)),
            NavLink::new("Cells", address::cells(run, &list)),
            NavLink { is_current: true, ..NavLink::new(&sample.id, "") },
        ],
        keys: vec![
            ("[ ]".to_owned(), "previous and next sample of the list".to_owned()),
            ("d".to_owned(), "compare two outputs word by word".to_owned()),
            ("t".to_owned(), "calls of the first system".to_owned()),
        ],
        ..Document::new("page-sample", &sample.id, body)
    }
}

fn no_texts(view: &RunView) -> &'static str {
    if view.plan.privacy.keep_content {
        "The run kept no text of this sample: its suite names no input and no reference."
    } else {
        "The texts of samples were not kept: the suite says `privacy.keep_content: false`."
    }
}

/// Input and what is expected side by side, other columns below.
fn inputs(texts: &[SampleText], sources: &MarkedSources) -> Markup {
    let is_main = |text: &&SampleText| text.name == SampleText::INPUT || text.is_expected();
    let (main, others): (Vec<_>, Vec<_>) = texts.iter().partition(is_main);
    html! {
        @if !main.is_empty() { div.columns { @for text in &main { (input(text, sources)) } } }
        @if !others.is_empty() {
            details open[main.is_empty()] { summary { "Other columns" } div.columns { @for text in others { (input(text, sources)) } } }
        }
    }
}

fn input(text: &SampleText, sources: &MarkedSources) -> Markup {
    let label = match text.name.as_str() {
        SampleText::INPUT => "Input",
        SampleText::REFERENCE => "Reference",
        other => other,
    };
    let rest = text.chars.saturating_sub(text.text.chars().count() as u64);
    // A reference is what outputs are compared with, not where they come from.
    let marked = (!text.is_expected()).then(|| sources.mark(&text.text));
    let content = html! {
        @if let Some((shown, highlights)) = marked.filter(|(_, highlights)| !highlights.is_empty()) {
            (steps::marked_text(&line(label), &shown, &highlights))
        } @else if let Some(value) = json_tree::parse(&text.text).filter(|_| rest == 0) {
            span.role { (line(label)) }
            div.surface { (json_tree::render(&value)) }
        } @else { (steps::raw(&line(label), &text.text)) }
    };
    let is_long = text.chars > LONG;
    html! {
        div.column.long[is_long] {
            @if is_long { div.scrolled tabindex="0" role="region" aria-label=(line(label)) { (content) } } @else { (content) }
            @if rest > 0 { p.left-out { (karat_page::number::count(rest)) " more characters are in the dataset only." } }
        }
    }
}

/// The two systems that the address compares, by position.
fn chosen_pair(query: &mut Query, sample: &SampleView) -> Option<(usize, usize)> {
    let system = |name: &str| sample.systems.iter().position(|system| system.system == name);
    let a = query.value("a", "a system of this run", system);
    let b = query.value("b", "a system of this run", system);
    a.zip(b)
}

fn diff_form(view: &RunView, sample: &SampleView, list: &Query, pair: Option<(usize, usize)>) -> Markup {
    let with_output: Vec<usize> =
        sample.systems.iter().enumerate().filter(|(_, system)| !system.outputs.is_empty()).map(|(at, _)| at).collect();
    let [first, second, ..] = with_output.as_slice() else { return html! {} };
    let name = |at: usize| sample.systems.get(at).map_or("", |system| &system.system);
    let path = format!("{}/sample", address::run(&view.header.id));
    let (a, b) = pair.unwrap_or((*first, *second));
    let base = list.with("id", &sample.id);
    let open = base.with("a", name(*first)).with("b", name(*second)).href(&path);
    let select = |field: &'static str, label: &str, chosen: usize| {
        html! {
            label { span { (label) }
                select name=(field) { @for at in &with_output { option value=(name(*at)) selected[*at == chosen] { (line(name(*at))) } } }
            }
        }
    };
    html! {
        form.filters method="get" action=(path) {
            @for (name, value) in base.pairs() { input type="hidden" name=(name) value=(value); }
            (select("a", "From", a)) (select("b", "To", b))
            button type="submit" { "Compare outputs" }
            @if pair.is_none() { a.button href=(open) data-testid="diff-link" { "Differences of the first two" } }
            @else { a.button href=(base.href(&path)) { "Close" } }
        }
        @if let Some((a, b)) = pair {
            @if let (Some(before), Some(after)) = (sample.systems.get(a), sample.systems.get(b)) { (difference(before, after)) }
        }
    }
}

/// The difference of the first outputs of two systems. JSON is compared in one form: indented, members by name.
fn difference(before: &SystemOutputs, after: &SystemOutputs) -> Markup {
    let text =
        |system: &SystemOutputs| system.outputs.first().map_or_else(String::new, |output| normal_form(&output.text()));
    html! {
        div.panel {
            h3 { "From " (Line(&before.system)) " to " (Line(&after.system)) }
            @if before.outputs.len() > 1 || after.outputs.len() > 1 { p.soft.small { "Of several trials, the first output is compared." } }
            div.surface { (diff::render(&text(before), &text(after))) }
        }
    }
}

/// JSON in one form; any other text as it is.
fn normal_form(text: &str) -> String {
    let Some(mut value) = json_tree::parse(text) else { return text.to_owned() };
    value.sort_all_objects();
    serde_json::to_string_pretty(&value).unwrap_or_else(|_| text.to_owned())
}
