//! The list of runs: what ran, and what is red.

use axum::extract::RawQuery;
use axum::response::{IntoResponse, Redirect, Response};
use karat_app::{Headline, RunColumn, RunEntry, RunOrder, RunsPage, RunsQuery, run_state, start_of_day};
use karat_page::block::verdict::{Verdict, mark};
use karat_page::block::{Cell, Empty};
use karat_page::component::browse::filters::{self, Field, FilterChip};
use karat_page::component::browse::listing::{self, Direction, ListColumn, ListRow, Listing};
use karat_page::component::browse::pager::{self, Pager};
use karat_page::component::state;
use karat_page::component::table::{content, link};
use karat_page::number::{Estimate, count, millis, usd};
use karat_page::text::visible::{Line, Name, line};
use karat_page::{Document, Markup, html};
use karat_types::{Moment, RunStatus};

use crate::pages::PageResult;
use crate::pages::parts::query::Query;
use crate::pages::parts::{address, figure};
use crate::state::State;
use crate::target::encode;

/// Names in the address.
const NAMES: [&str; 9] = ["q", "suite", "system", "status", "since", "sort", "after", "before", "tick"];

/// States of runs, then verdicts of their gates.
const STATES: [&str; 8] =
    ["running", "finished", "interrupted", "budget-stopped", "pass", "fail", "undecided", "review"];

/// Systems that a row names.
const FEW_SYSTEMS: usize = 2;

/// Characters of a note.
const NOTE: usize = 120;

pub(super) async fn runs(state: State, RawQuery(raw): RawQuery) -> PageResult {
    let mut query = Query::parse(raw.as_deref(), &NAMES);
    let wanted = runs_query(&mut query);
    let at = query.cursor(|id| Some(id.to_owned()));
    if query.text("tick").is_some() {
        query.notices.push("Tick exactly two runs to compare them.".to_owned());
    }
    let read = state.read(move |app| app.views().runs_page(&wanted, &at).map(|page| (page, app.clock.now())));
    let (page, now) = read.await?;
    Ok(document(&query, &page, now).into())
}

/// The form of ticked runs: two of them become a comparison, the older one its first side.
pub(super) async fn compare(RawQuery(raw): RawQuery) -> Response {
    let query = Query::parse(raw.as_deref(), &["run"]);
    match query.all("run").collect::<Vec<_>>().as_slice() {
        // The newest stands first in the list.
        [newer, older] => {
            let to = Query::default().with("a", *older).with("b", *newer).with("of", "run");
            Redirect::to(&to.href("/compare")).into_response()
        }
        _ => Redirect::to("/?tick=two").into_response(),
    }
}

fn runs_query(query: &mut Query) -> RunsQuery {
    let expected = STATES.map(|state| format!("`{state}`")).join(", ");
    let states = query.values("status", &expected, |name| STATES.contains(&name).then(|| name.to_owned()));
    let since = query.value("since", "a date such as `2026-01-31`", start_of_day);
    let columns = RunColumn::ALL.map(|(_, name)| format!("`{name}`")).join(", ");
    let order = query.value("sort", &format!("one of {columns}, with `-` for the largest first"), |sort| {
        let (name, descending) = sort.strip_prefix('-').map_or((sort, false), |name| (name, true));
        let (by, _) = RunColumn::ALL.into_iter().find(|(_, own)| *own == name)?;
        Some(RunOrder { by, descending })
    });
    RunsQuery {
        words: query.text("q").unwrap_or_default().to_owned(),
        suites: query.all("suite").map(str::to_owned).collect(),
        system: query.text("system").unwrap_or_default().to_owned(),
        states,
        since,
        order,
    }
}

fn document(query: &Query, page: &RunsPage, now: Moment) -> Document {
    let body = html! {
        (filters::notices(&query.notices))
        @if page.stored == 0 { (nothing()) } @else {
            div.stack {
                (suite_links(page))
                (filter_form(query, page))
                (filter_chips(query))
                @if page.rows.is_empty() { (state::empty(&Empty { reason: Some("No run matches these filters.".to_owned()), command: None })) }
                @else { (list(query, page, now)) }
            }
        }
    };
    Document {
        lead: (page.stored > 0).then(|| format!("{} stored here.", karat_page::number::count_noun(page.stored, "run"))),
        keys: vec![
            ("x".to_owned(), "tick the row".to_owned()),
            ("c".to_owned(), "compare two ticked runs".to_owned()),
            ("[ ]".to_owned(), "previous and next page".to_owned()),
        ],
        ..Document::new("page-runs", "Runs", body)
    }
}

/// The state without any run: the two commands that make one.
fn nothing() -> Markup {
    let reason = "No run is stored here. The first line writes a folder with a small suite, the second runs it offline; nothing is billed.";
    html! {
        div.state data-testid="empty-state" {
            p { (reason) }
            pre { code { "karat init faq" } "\n" code { "karat run ./faq" } }
        }
    }
}

/// The pages over all runs of the suite that the list is about.
fn suite_links(page: &RunsPage) -> Markup {
    let Some((suite, is_dated)) = &page.suite else { return html! {} };
    html! {
        nav.page-links aria-label="This suite" {
            ul {
                @if *is_dated { li { a data-go="go-series" href={ "/series/" (encode(suite)) } { "All days of " (Line(suite)) } } }
                li { a href={ "/suites/" (encode(suite)) "/items" } { "Test set of " (Line(suite)) } }
            }
        }
    }
}

fn filter_form(query: &Query, page: &RunsPage) -> Markup {
    let text = |name: &str| query.text(name).unwrap_or_default().to_owned();
    let suites = page.suites.iter().map(|(suite, runs)| (suite.clone(), format!("{suite} ({})", count(*runs))));
    let mut fields = vec![
        Field::Search { name: "q", label: "Id or suite".to_owned(), value: text("q") },
        Field::Choice {
            name: "suite",
            label: "Suite".to_owned(),
            value: text("suite"),
            none: Some("any"),
            options: suites.collect(),
        },
        Field::Text { name: "system", label: "System".to_owned(), value: text("system") },
        Field::Choice {
            name: "status",
            label: "Status".to_owned(),
            value: text("status"),
            none: Some("any"),
            options: STATES.iter().map(|state| ((*state).to_owned(), state.replace('-', " "))).collect(),
        },
        Field::Date { name: "since", label: "Since".to_owned(), value: text("since") },
    ];
    fields.extend(query.text("sort").map(|sort| Field::Hidden { name: "sort".to_owned(), value: sort.to_owned() }));
    filters::form("/", &fields, (!query.without(&["sort", "after", "before", "tick"]).is_empty()).then_some("/"))
}

fn filter_chips(query: &Query) -> Markup {
    let present: Vec<&str> = query.all("status").collect();
    let base = query.without(&["status", "after", "before", "tick"]);
    let chip = |key: &str, label: &str| FilterChip {
        key: key.to_owned(),
        label: label.to_owned(),
        href: if key == "all" { base.href("/") } else { base.with("status", key).href("/") },
        count: None,
        is_on: if key == "all" { present.is_empty() } else { present == [key] },
    };
    filters::chips(
        "Status",
        &[
            chip("all", "all"),
            chip("fail", "failed gates"),
            chip("running", "running"),
            chip("interrupted", "interrupted"),
        ],
    )
}

fn list(query: &Query, page: &RunsPage, now: Moment) -> Markup {
    let rows = page.rows.iter().map(|run| row(run, now)).collect();
    let listing = Listing {
        caption: "Runs".to_owned(),
        row_name: "run-row".to_owned(),
        noun: "run".to_owned(),
        columns: columns(query),
        rows,
        tick_field: Some("run".to_owned()),
    };
    let to = |name: &str, id: &String| query.without(&["after", "before", "tick"]).with(name, id.as_str()).href("/");
    let pager = Pager {
        first: page.start + 1,
        last: page.start + page.rows.len() as u64,
        total: page.total,
        noun: "run".to_owned(),
        note: None,
        previous: page.before.as_ref().map(|id| to("before", id)),
        next: page.after.as_ref().map(|id| to("after", id)),
    };
    html! {
        @if page.waiting > 0 {
            p.soft role="status" data-testid="waiting" {
                "Verdicts of " (karat_page::number::count_noun(page.waiting, "run")) " are being computed. The page loads again by itself."
            }
            k-reload {}
        }
        form method="get" action="/compare/runs" {
            (listing::render(&listing))
            p.left-out { button type="submit" data-testid="compare-link" { "Compare two ticked runs" } }
        }
        (pager::render(&pager))
    }
}

fn columns(query: &Query) -> Vec<ListColumn> {
    let present = query.text("sort").unwrap_or("-started");
    let sorted = |label: &str, name: &str, is_number: bool| {
        let (key, descending) = present.strip_prefix('-').map_or((present, false), |key| (key, true));
        let direction = (key == name).then_some(if descending { Direction::Descending } else { Direction::Ascending });
        // Numbers and times are of interest from the largest down.
        let first = if is_number || name == "started" { format!("-{name}") } else { name.to_owned() };
        let next = match direction {
            None => first,
            Some(Direction::Descending) => name.to_owned(),
            Some(Direction::Ascending) => format!("-{name}"),
        };
        let base = query.without(&["sort", "after", "before", "tick"]);
        let href = if next == "-started" { base.href("/") } else { base.with("sort", next).href("/") };
        ListColumn { name: label.to_owned(), is_number, sort: Some(href), direction, ..ListColumn::default() }
    };
    vec![
        sorted("Run", "name", false).wrapping(),
        ListColumn::text("Verdict"),
        sorted("Suite", "suite", false).wide_only().wrapping(),
        sorted("Headline", "headline", true),
        sorted("Cells", "cells", true).wide_only(),
        sorted("Errors", "errors", true).wide_only(),
        ListColumn::number("Unscored").wide_only(),
        sorted("Started (UTC)", "started", false).wide_only(),
        sorted("Time", "duration", true).wide_only(),
        sorted("Cost", "cost", true).wide_only(),
        ListColumn::text("Systems").wide_only().wrapping(),
        ListColumn::text("Last runs").wide_only(),
        ListColumn::text("Notes").wide_only().wrapping(),
    ]
}

fn row(run: &RunEntry, now: Moment) -> ListRow {
    let figures = run.figures.as_ref();
    let cells = vec![
        link(&run.id, &address::run(&run.id)),
        verdict(run),
        link(&run.suite, &Query::default().with("suite", run.suite.as_str()).href("/")),
        html! { @match figures { Some(it) => (headline(it.headline.as_ref())), None => span.soft { "…" } } },
        html! { (count(run.cells)) @if run.cells < run.planned { span.soft { " of " (count(run.planned)) } } },
        html! { @if run.errors > 0 { (link(&count(run.errors), &address::cells(&run.id, &Query::default().with("flag", "error")))) } @else { "0" } },
        html! {
            @match figures.map(|it| it.unscored) {
                Some(0) => "0",
                Some(unscored) => (link(&count(unscored), &address::cells(&run.id, &Query::default().with("flag", "unscored")))),
                None => span.soft { "…" },
            }
        },
        figure::moment(run.started_at, now),
        html! { @if let Some(end) = run.completed_at { (millis((end.0 - run.started_at.0).max(0) as f64)) } @else { span.soft { "–" } } },
        html! {
            (usd(Some(run.cost_usd)))
            @if run.unpriced > 0 { " " span.soft title={ (count(run.unpriced)) " calls have an unknown price." } { "or more" } }
        },
        systems(&run.systems),
        if run.trend.len() > 1 {
            content(&Cell::Spark(run.trend.clone()))
        } else {
            html! {}
        },
        notes(run),
    ];
    ListRow { key: run.id.clone(), cells, more: None, tick: Some(run.id.clone()) }
}

/// The verdict of the gates; without gates, or before there is one, the state of the run.
fn verdict(run: &RunEntry) -> Markup {
    let verdict = run.figures.as_ref().and_then(|figures| figures.verdict.as_deref());
    let known = match verdict {
        Some("pass") => Some(Verdict::Pass),
        Some("fail") => Some(Verdict::Fail),
        Some("undecided") => Some(Verdict::Undecided),
        Some("review") => Some(Verdict::Review),
        _ => None,
    };
    let state = run_state(run.status).replace('-', " ");
    html! {
        @if run.status != RunStatus::Finished { span.verdict data-verdict=(run_state(run.status)) { span.glyph aria-hidden="true" { "…" } (state) } }
        @else if run.cells > 0 && run.errors == run.cells { (mark(Verdict::Error)) }
        @else {
            @match (known, verdict) {
                (Some(known), _) => (mark(known)),
                (None, Some(other)) => (line(other)),
                (None, None) if run.figures.is_none() => span.soft { "…" },
                (None, None) => span.soft { "no gates" },
            }
        }
    }
}

fn systems(systems: &[String]) -> Markup {
    let shown = if systems.len() > FEW_SYSTEMS { 1 } else { FEW_SYSTEMS };
    html! {
        @for (at, system) in systems.iter().take(shown).enumerate() { @if at > 0 { ", " } (Name(system)) }
        @if systems.len() > FEW_SYSTEMS {
            span.soft title=(line(&systems.join(", "))) { " and " (systems.len() - shown) " more" }
        }
    }
}

/// The facts that set the run apart from others of its suite.
fn notes(run: &RunEntry) -> Markup {
    let simulated = run.is_simulated.then_some("simulated: nothing was billed");
    let notes: Vec<&str> = simulated.into_iter().chain(run.notes.iter().map(String::as_str)).collect();
    html! { @if !notes.is_empty() { span.soft { bdi { (line(&short(&notes.join("; ")))) } } } }
}

/// The beginning of a note.
fn short(text: &str) -> String {
    match text.char_indices().nth(NOTE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn headline(headline: Option<&Headline>) -> Markup {
    let Some(headline) = headline else { return html! { span.reason { "n/a" } } };
    let scale = figure::scale_of(headline.unit.as_deref(), headline.range, headline.better);
    let estimate = match headline.value {
        Some(value) => Estimate { interval: headline.interval, ..Estimate::point(value, headline.n) },
        None => Estimate::missing("nothing has a score"),
    };
    html! {
        div.soft.small { (Line(&headline.metric)) }
        span data-metric=(line(&headline.metric)) data-value=[headline.value.map(|value| value.to_string())] { (content(&Cell::Value(estimate, scale))) }
    }
}
