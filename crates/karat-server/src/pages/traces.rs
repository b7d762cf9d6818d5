//! Traces that applications have sent: which datasets are there, what was asked on a day, what happened in one trace?

use axum::extract::{Path, RawQuery};
use karat_app::{App, AppError, Date, DayRows, FoundTrace, SentTrace, TraceDataset, WantedRows};
use karat_page::block::{Empty, Message};
use karat_page::component::browse::filters::{self, Field};
use karat_page::component::browse::listing::{self, ListColumn, ListRow, Listing};
use karat_page::component::browse::pager::{self, Pager};
use karat_page::component::browse::steps::{self, Step, TextView};
use karat_page::component::shell::{NavLink, section};
use karat_page::component::state;
use karat_page::component::table::link;
use karat_page::number::{count, count_noun, millis, usd};
use karat_page::text::visible::{Line, line, lines};
use karat_page::{Document, Markup, html};
use karat_traces::Row;
use serde_json::{Value, json};

use crate::api::traces::PAGE;
use crate::pages::PageResult;
use crate::pages::parts::figure::time;
use crate::pages::parts::query::Query;
use crate::problem::Problem;
use crate::state::State;
use crate::target::encode;

/// Rows of a page.
const ROWS: usize = 50;

/// Characters of an input or output in a list.
const SNIPPET: usize = 240;

/// The datasets.
pub(super) async fn datasets(state: State) -> PageResult {
    let datasets = state.read(|app: &App| app.imports().trace_datasets()).await?;
    let mut document = Document::new("page-traces", "Traces", dataset_list(&datasets));
    document.lead = Some("Calls of models that applications have sent, by dataset.".to_owned());
    document.breadcrumbs = breadcrumbs(None);
    Ok(document.into())
}

/// The datasets as a list, or what fills it.
pub(super) fn dataset_list(datasets: &[TraceDataset]) -> Markup {
    if datasets.is_empty() {
        let reason = "No application has sent traces. An exporter of OpenTelemetry sends them to `karat serve`.";
        let command = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:8787 python app.py";
        return state::empty(&Empty { reason: Some(reason.to_owned()), command: Some(command.to_owned()) });
    }
    let rows = datasets.iter().map(|it| ListRow {
        key: it.name.clone(),
        cells: vec![
            link(&it.name, &dataset_path(&it.name)),
            html! { (count(it.rows)) },
            html! { (count(it.days as u64)) },
            html! { (line(&it.first)) },
            html! { (line(&it.last)) },
            html! { (count(it.bytes)) },
        ],
        more: None,
        tick: None,
    });
    listing::render(&Listing {
        caption: "Traces".to_owned(),
        row_name: "traces-row".to_owned(),
        noun: "dataset".to_owned(),
        columns: vec![
            ListColumn::text("Dataset").wrapping(),
            ListColumn::number("Rows"),
            ListColumn::number("Days").wide_only(),
            ListColumn::text("First").wide_only(),
            ListColumn::text("Last"),
            ListColumn::number("Bytes").wide_only(),
        ],
        rows: rows.collect(),
        tick_field: None,
    })
}

/// The rows of a day of a dataset.
pub(super) async fn dataset(state: State, Path(name): Path<String>, RawQuery(raw): RawQuery) -> PageResult {
    let mut query = Query::parse(raw.as_deref(), &["day", "q", "start"]);
    let day = query.value("day", "a date such as `2026-01-31`", |text| text.parse::<Date>().ok());
    let start = query.value("start", "a number of rows", |text| text.parse::<usize>().ok()).unwrap_or_default();
    let words = query.text("q").unwrap_or_default().to_owned();
    let wanted = WantedRows { day, words, start, limit: ROWS };
    let (dataset, read) = (name.clone(), wanted.clone());
    let (days, datasets) = state
        .read(move |app: &App| {
            Ok::<_, AppError>((app.imports().trace_rows(&dataset, &read)?, app.imports().trace_datasets()?))
        })
        .await?;
    let Some(known) = datasets.iter().find(|it| it.name == name) else { return Err(no_dataset(&name)) };
    Ok(rows_page(known, days.as_ref(), &query, &wanted).into())
}

fn no_dataset(name: &str) -> Problem {
    Problem::not_found(format!("no application has sent traces to `{}`", name.escape_debug()))
        .with_hint(format!("{PAGE} lists the datasets of traces"))
}

fn rows_page(dataset: &TraceDataset, day: Option<&DayRows>, query: &Query, wanted: &WantedRows) -> Document {
    let path = dataset_path(&dataset.name);
    let shown = day.map(|it| it.day.clone()).or_else(|| wanted.day.map(|day| day.to_string())).unwrap_or_default();
    let fields = [
        Field::Search { name: "q", label: "Text anywhere in a row".to_owned(), value: wanted.words.clone() },
        Field::Date { name: "day", label: "Day (UTC)".to_owned(), value: shown.clone() },
    ];
    let to_day = |day: &String| query.without(&["day", "start"]).with("day", day.as_str()).href(&path);
    let body = html! {
        (filters::notices(&query.notices))
        div.stack {
            (filters::form(&path, &fields, (!query.is_empty()).then_some(path.as_str())))
            @match day {
                None => (nothing(&format!("No call of {shown} was sent. The dataset has days from {} to {}.", dataset.first, dataset.last))),
                Some(day) => {
                    (pager::neighbours(day.before.as_ref().map(to_day).as_deref(), day.after.as_ref().map(to_day).as_deref(), "Day before", "Day after"))
                    @if day.unreadable > 0 {
                        p.notices { (count_noun(day.unreadable as u64, "line")) " of this day cannot be read as rows and are left out." }
                    }
                    @if day.rows.is_empty() { (nothing(&format!("No call of {} has this text.", day.day))) }
                    @else { (row_list(&dataset.name, day, query)) }
                },
            }
        }
    };
    Document {
        lead: Some(format!(
            "{} on {}, from {} to {}. A suite reads them as the source traces:{}.",
            count_noun(dataset.rows, "call"),
            count_noun(dataset.days as u64, "day"),
            dataset.first,
            dataset.last,
            dataset.name
        )),
        breadcrumbs: breadcrumbs(Some((&dataset.name, None))),
        keys: vec![("[ ]".to_owned(), "day before and after".to_owned())],
        ..Document::new("page-trace-rows", format!("Traces of {}", dataset.name), body)
    }
}

fn nothing(reason: &str) -> Markup {
    state::empty(&Empty { reason: Some(reason.to_owned()), command: None })
}

fn row_list(dataset: &str, day: &DayRows, query: &Query) -> Markup {
    let rows = day.rows.iter().map(|row| ListRow {
        key: row.id.clone(),
        cells: vec![
            html! { a href=(trace_path(dataset, row, &day.day)) { (time(Some(&row.time))) } },
            html! { span.snippet { (Line(&snippet(&row.input))) } },
            answer(row),
            html! { @if let Some(model) = &row.metadata.model { (Line(model)) } @else { span.soft { "unknown" } } },
            html! { @match tokens(row) { Some((input, output)) => { (count(input)) " + " (count(output)) }, None => span.soft { "unknown" } } },
            html! { @match row.latency_ms { Some(latency) => (millis(latency)), None => span.soft { "unknown" } } },
        ],
        more: None,
        tick: None,
    });
    let to = |start: usize| match start {
        0 => query.without(&["start"]).href(&dataset_path(dataset)),
        start => query.with("start", start.to_string()).href(&dataset_path(dataset)),
    };
    let end = day.start + day.rows.len();
    let pager = Pager {
        first: day.start as u64 + 1,
        last: end as u64,
        total: day.total as u64,
        noun: "call".to_owned(),
        note: None,
        previous: (day.start > 0).then(|| to(day.start.saturating_sub(ROWS))),
        next: (end < day.total).then(|| to(end)),
    };
    html! {
        (listing::render(&Listing {
            caption: format!("Calls of {}", day.day),
            row_name: "trace-row".to_owned(),
            noun: "call".to_owned(),
            columns: vec![
                ListColumn::text("Began (UTC)"),
                ListColumn::text("Input").wide_only().wrapping(),
                ListColumn::text("Output").wide_only().wrapping(),
                ListColumn::text("Model").wrapping(),
                ListColumn::number("Tokens in + out").wide_only(),
                ListColumn::number("Time"),
            ],
            rows: rows.collect(),
            tick_field: None,
        }))
        (pager::render(&pager))
    }
}

/// The beginning of what came back, after why the call failed.
fn answer(row: &Row) -> Markup {
    match &row.metadata.error {
        Some(error) => html! {
            span.snippet.is-error {
                "failed: " (Line(error))
                @if !row.output.is_null() { " · " (Line(&snippet(&row.output))) }
            }
        },
        None => html! { span.snippet { (Line(&snippet(&row.output))) } },
    }
}

/// All calls of a trace.
pub(super) async fn trace(state: State, Path(name): Path<String>, RawQuery(raw): RawQuery) -> PageResult {
    let mut query = Query::parse(raw.as_deref(), &["id", "day", "view"]);
    let day = query.value("day", "a date such as `2026-01-31`", |text| text.parse::<Date>().ok());
    let view = query.value("view", "`raw`", |view| (view == "raw").then_some(TextView::Raw)).unwrap_or_default();
    let id = query.text("id").unwrap_or_default().to_owned();
    let (dataset, wanted) = (name.clone(), id.clone());
    let found = state.read(move |app: &App| app.imports().sent_trace(&dataset, &wanted, day)).await?;
    let hint = || format!("{} lists the calls of the last day", dataset_path(&name));
    match found {
        FoundTrace::One(trace) => Ok(trace_page(&name, &trace, &query, view).into()),
        FoundTrace::Several(ids) => {
            let shown = ids.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
            let text = format!("{} traces begin with `{}`, among them {shown}", ids.len(), id.escape_debug());
            Err(Problem::not_found(text).with_hint(hint()))
        }
        FoundTrace::None => {
            let text = format!("no trace of `{}` has the id `{}`", name.escape_debug(), id.escape_debug());
            Err(Problem::not_found(text).with_hint(hint()))
        }
    }
}

fn trace_page(dataset: &str, trace: &SentTrace, query: &Query, view: TextView) -> Document {
    let path = format!("{}/trace", dataset_path(dataset));
    let (rendered, raw) = (query.without(&["view"]).href(&path), query.with("view", "raw").href(&path));
    let calls = html! {
        (steps::forms(view, &rendered, &raw))
        (steps::render(&trace.rows.iter().map(step).collect::<Vec<_>>(), view))
        (state::left_out(trace.left_out as u64, "call", None))
    };
    let body = html! {
        (filters::notices(&query.notices))
        (summary(trace))
        (section("calls", "Calls", Some("In the order in which they began."), &calls))
    };
    Document {
        breadcrumbs: breadcrumbs(Some((dataset, Some("Trace")))),
        ..Document::new(
            "page-sent-trace",
            format!("Trace {}", trace.trace_id.get(..8).unwrap_or(&trace.trace_id)),
            body,
        )
    }
}

/// Facts that hold for the whole trace: each value that its calls name, once.
fn summary(trace: &SentTrace) -> Markup {
    let each = |of: fn(&Row) -> Option<&String>| {
        let mut values: Vec<&str> = trace.rows.iter().filter_map(of).map(String::as_str).collect();
        values.dedup();
        values.join(", ")
    };
    let mut tags: Vec<&str> = trace.rows.iter().flat_map(|row| &row.metadata.tags).map(String::as_str).collect();
    tags.dedup();
    let facts = [
        ("Trace", trace.trace_id.clone()),
        ("Began (UTC)", trace.rows.first().map_or_else(String::new, |row| row.time.clone())),
        ("Program", each(|row| row.metadata.service.as_ref())),
        ("Conversation", each(|row| row.metadata.conversation.as_ref())),
        ("Person", each(|row| row.metadata.user.as_ref())),
        ("Tags", tags.join(", ")),
    ];
    html! {
        dl.facts-list {
            @for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) { dt { (name) } dd { (lines(value)) } }
        }
    }
}

fn step(row: &Row) -> Step {
    let model = row.metadata.model.as_deref().or(row.metadata.operation.as_deref()).unwrap_or("unknown model");
    let text = |value: &Value| value.as_str().map_or_else(|| pretty(value), str::to_owned);
    let retrieved = row.contexts.iter().map(|context| Message {
        role: match &context.id {
            Some(id) => format!("retrieved: {id}"),
            None => "retrieved".to_owned(),
        },
        content: context.content.clone().unwrap_or_default(),
        ..Message::default()
    });
    let asked = Message::of_output(&json!({ "messages": row.messages }));
    let asked = asked
        .unwrap_or_else(|| vec![Message { role: "user".to_owned(), content: text(&row.input), ..Message::default() }]);
    let request = if row.messages.is_empty() { row.input.clone() } else { json!(row.messages) };
    Step {
        title: model.to_owned(),
        facts: facts(row),
        messages: retrieved.chain(asked).collect(),
        reply: if row.output.is_null() { String::new() } else { text(&row.output) },
        request: pretty(&request),
        response: pretty(&row.output),
        error: row.metadata.error.clone(),
        ..Step::default()
    }
}

fn facts(row: &Row) -> Vec<(String, String)> {
    let mut facts = vec![("began".to_owned(), row.time.clone())];
    facts.extend(row.latency_ms.map(|latency| ("time".to_owned(), millis(latency))));
    facts.extend(
        tokens(row).map(|(input, output)| ("tokens".to_owned(), format!("{} in, {} out", count(input), count(output)))),
    );
    facts.extend(row.usage.cost_usd.map(|cost| ("cost, as reported".to_owned(), usd(Some(cost)))));
    facts.extend(row.metadata.provider.clone().map(|provider| ("provider".to_owned(), provider)));
    if row.p < 1.0 {
        facts.push(("kept with probability".to_owned(), row.p.to_string()));
    }
    facts.push(("row".to_owned(), row.id.clone()));
    facts
}

fn tokens(row: &Row) -> Option<(u64, u64)> {
    Some((row.usage.input_tokens?, row.usage.output_tokens?))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The beginning of a value on one line.
fn snippet(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(SNIPPET) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn dataset_path(name: &str) -> String {
    format!("{PAGE}/{}", encode(name))
}

fn trace_path(dataset: &str, row: &Row, day: &str) -> String {
    Query::default().with("id", &row.trace_id).with("day", day).href(&format!("{}/trace", dataset_path(dataset)))
}

/// The way to a page: the service, its traces, a dataset, and a page of it.
fn breadcrumbs(of: Option<(&str, Option<&str>)>) -> Vec<NavLink> {
    let mut breadcrumbs =
        vec![NavLink::new("Runs", "/"), NavLink::new("Service", "/service"), NavLink::new("Traces", PAGE)];
    if let Some((dataset, page)) = of {
        breadcrumbs.push(NavLink::new(dataset, dataset_path(dataset)));
        breadcrumbs.extend(page.map(|page| NavLink::new(page, "")));
    }
    if let Some(last) = breadcrumbs.last_mut() {
        *last = NavLink { is_current: true, ..NavLink::new(&last.text, "") };
    }
    breadcrumbs
}
