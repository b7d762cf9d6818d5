//! The page of the service: schedules, incidents, messages to send, and traces that applications have sent.

use axum::Extension;
use karat_app::{Access, App, AppError, IncidentLine, MessageLine, Role, ScheduleLine, TraceDataset};
use karat_page::block::Empty;
use karat_page::component::action::{Action, actions};
use karat_page::component::browse::listing::{self, ListColumn, ListRow, Listing};
use karat_page::component::shell::{NavLink, section};
use karat_page::component::state;
use karat_page::component::table::link;
use karat_page::number::count;
use karat_page::text::visible::{Line, Words, line};
use karat_page::{Document, Markup, html};

use crate::guard::SIGN_OUT;
use crate::pages::parts::address;
use crate::pages::parts::figure::time;
use crate::pages::{PageResult, traces};
use crate::settings::Purpose;
use crate::state::State;
use crate::target::encode;

/// Rows of incidents and of messages.
const ROWS: usize = 50;

/// The content of the page.
struct Shown {
    schedules: Vec<ScheduleLine>,
    broken: Vec<(String, String)>,
    incidents: Vec<IncidentLine>,
    messages: Vec<MessageLine>,
    traces: Vec<TraceDataset>,
}

pub(super) async fn service(state: State, access: Option<Extension<Access>>) -> PageResult {
    let is_server = matches!(state.settings().purpose, Purpose::Serve { .. });
    let may_change = is_server && access.as_ref().is_some_and(|access| access.role.allows(Role::Run));
    let suites = state.suites().clone();
    let shown = state
        .read(move |app: &App| {
            Ok::<_, AppError>(Shown {
                schedules: suites.schedules()?,
                broken: suites.broken_suites(),
                incidents: app.service().incident_page(None, None, ROWS)?,
                messages: app.service().outbox_page(None, None, ROWS)?,
                traces: app.imports().trace_datasets()?,
            })
        })
        .await?;
    let mut document = document(&shown, may_change);
    // Without tokens there is no session to end.
    if access.is_some_and(|access| !access.token.is_empty()) {
        document.body = html! { (document.body) (sign_out()) };
    }
    Ok(document.into())
}

/// The button that ends the session of the browser.
pub(super) fn sign_out() -> Markup {
    actions(&[Action {
        label: "Sign out".to_owned(),
        object: "of this server".to_owned(),
        to: SIGN_OUT.to_owned(),
        confirmation: None,
    }])
}

fn document(shown: &Shown, may_change: bool) -> Document {
    let sections = [
        ("schedules", "Schedules", schedules(shown, may_change)),
        ("incidents", "Incidents", incidents(&shown.incidents, may_change)),
        ("outbox", "Messages", outbox(&shown.messages, may_change)),
        ("traces", "Traces", traces::dataset_list(&shown.traces)),
    ];
    let body = html! {
        div.stack { @for (id, title, content) in &sections { (section(id, title, None, content)) } }
    };
    let mut document = Document::new("page-service", "Service", body);
    document.breadcrumbs = vec![NavLink::new("Runs", "/"), NavLink { is_current: true, ..NavLink::new("Service", "") }];
    document.sections = sections.iter().map(|(id, title, _)| NavLink::new(*title, format!("#{id}"))).collect();
    document
}

fn list(caption: &str, row_name: &str, columns: Vec<ListColumn>, rows: Vec<ListRow>) -> Markup {
    listing::render(&Listing {
        caption: caption.to_owned(),
        row_name: row_name.to_owned(),
        noun: caption.to_lowercase(),
        columns,
        rows,
        tick_field: None,
    })
}

fn empty(reason: &str, command: &str) -> Markup {
    state::empty(&Empty { reason: Some(reason.to_owned()), command: Some(command.to_owned()) })
}

fn row(key: String, cells: Vec<Markup>) -> ListRow {
    ListRow { key, cells, more: None, tick: None }
}

fn columns(names: &[&str], numbers: &[&str], may_change: bool) -> Vec<ListColumn> {
    let columns = names.iter().enumerate().map(|(at, name)| {
        let column = if numbers.contains(name) { ListColumn::number(*name) } else { ListColumn::text(*name) };
        if at < 3 { column } else { column.wide_only() }
    });
    columns.chain(may_change.then(|| ListColumn::text("Actions"))).collect()
}

fn schedules(shown: &Shown, may_change: bool) -> Markup {
    let names = ["Schedule", "Suite", "Cron", "Next (UTC)", "Last (UTC)", "State", "Skipped"];
    let rows = shown.schedules.iter().map(|it| {
        let to = |verb: &str| format!("/schedules/{}/{}/{verb}", encode(&it.suite), encode(&it.schedule));
        let action = |label: &str, verb: &str| Action {
            label: label.to_owned(),
            object: format!("{} of {}", it.schedule, it.suite),
            to: to(verb),
            confirmation: None,
        };
        let pause = if it.paused_since.is_some() { action("Resume", "resume") } else { action("Pause", "pause") };
        let mut cells = vec![
            html! { (Line(&it.schedule)) },
            html! { (Line(&it.suite)) },
            html! { code { (Line(&it.cron)) } " " span.soft { (Line(&it.zone)) } },
            time(it.next.as_deref()),
            last(it),
            schedule_state(it),
            html! { (count(it.skipped)) },
        ];
        if may_change {
            cells.push(actions(&[action("Run the last due time", "run"), pause]));
        }
        row(format!("{}/{}", it.suite, it.schedule), cells)
    });
    html! {
        @for (path, problem) in &shown.broken {
            (state::error(&format!("{path} cannot be used; its last good version is followed: {problem}"), None, None))
        }
        @if shown.schedules.is_empty() {
            (empty(
                "No suite here has a schedule. The key `schedules` of a suite makes one; this lists those of a suite.",
                "karat schedule ls karat.yaml",
            ))
        } @else {
            (list("Schedules", "schedule-row", columns(&names, &["Skipped"], may_change), rows.collect()))
        }
    }
}

/// The last due time, with its run.
fn last(line: &ScheduleLine) -> Markup {
    html! {
        @match &line.last {
            None => span.soft { "none yet" },
            Some(last) => {
                (time(Some(&last.due))) " "
                @match last.state.as_str() {
                    "skipped" => span.soft title=(Line(&last.note)) { "skipped" },
                    "failed" => span title=(Line(&last.note)) { "failed" },
                    "done" => (link("done", &address::run(&last.run))),
                    _ => (link("running", &address::run(&last.run))),
                }
            }
        }
    }
}

/// The state of a schedule in words: a glyph and a word, so that colour is not needed.
fn schedule_state(line: &ScheduleLine) -> Markup {
    html! {
        @if let Some(late) = &line.late_since {
            span.verdict data-verdict="error" { span.glyph aria-hidden="true" { "!" } "late" } " since " (time(Some(late)))
        } @else if let Some(paused) = &line.paused_since {
            "paused since " (time(Some(paused)))
        } @else { "on time" }
    }
}

fn incidents(incidents: &[IncidentLine], may_change: bool) -> Markup {
    let names = ["Event", "State", "Suite", "System", "Subject", "Last result", "Opened (UTC)", "Bad runs", "Run"];
    let rows = incidents.iter().map(|it| {
        let action = |label: &str, verb: &str| Action {
            label: label.to_owned(),
            object: format!("{} {}", it.event, it.subject),
            to: format!("/incidents/{}/{verb}", encode(&it.id)),
            confirmation: None,
        };
        let mut cells = vec![
            html! { (line(&it.event.replace('_', " "))) },
            incident_state(&it.state),
            html! { (Line(&it.suite)) },
            html! { @match &it.system { Some(system) => (Line(system)), None => span.soft { "–" } } },
            html! { (Line(&it.subject)) },
            html! { bdi { (Words(&it.summary)) } },
            time(it.opened_at.as_deref()),
            html! { (count(u64::from(it.occurrences))) },
            html! { @if it.run.is_empty() { span.soft { "–" } } @else { (link(&it.run, &address::run(&it.run))) } },
        ];
        if may_change {
            cells.push(match it.state.as_str() {
                "open" => actions(&[action("Acknowledge", "ack"), action("Close", "close")]),
                "acknowledged" => actions(&[action("Close", "close")]),
                _ => html! {},
            });
        }
        row(it.id.clone(), cells)
    });
    html! {
        @if incidents.is_empty() {
            (empty("No incident was ever open. Alerts of a suite open one when a run is bad.", "karat alert ls"))
        } @else {
            (list("Incidents", "incident-row", columns(&names, &["Bad runs"], may_change), rows.collect()))
            @if incidents.len() == ROWS { p.left-out { "The newest " (count(ROWS as u64)) "; " code { "karat alert ls" } " lists all." } }
        }
    }
}

fn incident_state(name: &str) -> Markup {
    html! {
        @match name {
            "open" => span.verdict data-verdict="fail" { span.glyph aria-hidden="true" { "✕" } "open" },
            "closed" => span.verdict data-verdict="pass" { span.glyph aria-hidden="true" { "✓" } "closed" },
            other => (line(other)),
        }
    }
}

fn outbox(messages: &[MessageLine], may_change: bool) -> Markup {
    let names = ["Message", "State", "Suite", "Alert", "Attempts", "Next (UTC)", "Last failure", "Created (UTC)"];
    let rows = messages.iter().map(|it| {
        let mut cells = vec![
            html! { code { (Line(&it.id)) } },
            html! {
                @match it.state.as_str() {
                    "dead" => span.verdict data-verdict="error" { span.glyph aria-hidden="true" { "!" } "given up" },
                    other => (line(other)),
                }
            },
            html! { (Line(&it.suite)) },
            html! { (Line(&it.alert)) },
            html! { (count(u64::from(it.attempts))) },
            time(it.next_at.as_deref().filter(|_| it.state == "pending")),
            html! { bdi { (Words(&it.error)) } },
            time(Some(&it.created_at)),
        ];
        if may_change {
            let to = format!("/outbox/{}/retry", encode(&it.id));
            let object = format!("message {}", it.id);
            let retry = Action { label: "Retry".to_owned(), object, to, confirmation: None };
            cells.push(if it.state == "sent" {
                html! {}
            } else {
                actions(&[retry])
            });
        }
        row(it.id.clone(), cells)
    });
    html! {
        @if messages.is_empty() {
            (empty("No message was ever made. This sends a test message by an alert.", "karat alert test karat.yaml ALERT"))
        } @else {
            (list("Messages", "outbox-row", columns(&names, &["Attempts"], may_change), rows.collect()))
            @if messages.len() == ROWS { p.left-out { "The newest " (count(ROWS as u64)) "; " code { "karat alert ls --outbox" } " lists all." } }
        }
    }
}
