//! Tasks for people: the list of them, the page on which a person labels, and those of the owner. The first and
//! the owner's are made here; labelling and deciding are done by a script over the routes of `api::service::annotations`.

use axum::extract::Path;
use axum::extract::RawQuery;
use karat_app::{AppError, TaskLine};
use karat_page::block::Empty;
use karat_page::component::action::{Action, actions};
use karat_page::component::browse::listing::{self, ListColumn, ListRow, Listing};
use karat_page::component::shell::{Audience, NavLink, section};
use karat_page::component::state;
use karat_page::component::table::link;
use karat_page::number::count;
use karat_page::text::visible::{Line, Words, line};
use karat_page::{Document, Markup, html};
use serde_json::Value;

use crate::pages::PageResult;
use crate::pages::parts::figure::time;
use crate::pages::parts::query::Query;
use crate::pages::service::sign_out;
use crate::settings::Purpose;
use crate::state::State;
use crate::target::encode;

/// Keys of the labelling page.
const LABEL_KEYS: [(&str, &str); 11] = [
    ("1–9 0", "answer the question; 0 is ten"),
    ("↑ ↓", "question before and after"),
    ("Enter", "submit, or go to what is missing"),
    ("← → ↓ x", "of a pair: A, B, tie, both bad"),
    ("s", "skip"),
    ("f", "flag"),
    ("n", "note"),
    ("u", "undo the last submit"),
    ("h", "last labels"),
    ("g", "guidelines"),
    ("Space, Shift+← →", "begin a span at the word, make it longer (with Ctrl by characters); a digit marks it"),
];

const DECIDE_KEYS: [(&str, &str); 4] = [
    ("1–9 0", "answer the question; 0 is ten"),
    ("Enter", "see what people said, then settle"),
    ("a, 1–9", "take the answers of a person"),
    ("l", "later: the next item"),
];

fn owned_keys(keys: &[(&str, &str)]) -> Vec<(String, String)> {
    keys.iter().map(|(key, what)| ((*key).to_owned(), (*what).to_owned())).collect()
}

fn path_of(task: &str) -> String {
    format!("/annotate/{}", encode(task))
}

pub(super) async fn tasks(state: State) -> PageResult {
    let tasks = state.read(|app| app.tasks().list()).await?;
    let names = ["Task", "Version", "From", "Items", "Labels", "People", "Settled", "Made (UTC)", "State"];
    let columns = names.map(|name| match name {
        "Labels" => ListColumn::number(name),
        "Version" | "Items" | "People" | "Settled" => ListColumn::number(name).wide_only(),
        "From" => ListColumn::text(name).wrapping().wide_only(),
        "Made (UTC)" => ListColumn::text(name).wide_only(),
        _ => ListColumn::text(name),
    });
    let listing = Listing {
        caption: "Tasks".to_owned(),
        row_name: "task-row".to_owned(),
        noun: "task".to_owned(),
        columns: columns.to_vec(),
        rows: tasks.iter().map(task_row).collect(),
        tick_field: None,
    };
    let body = html! {
        @if tasks.is_empty() {
            (state::empty(&Empty {
                reason: Some("There is no annotation task yet. This makes one of a run's outputs.".to_owned()),
                command: Some("karat annotate create latest -k 2 --n 100".to_owned()),
            }))
        } @else { (listing::render(&listing)) }
    };
    let mut document = Document::new("page-tasks", "Annotation tasks", body);
    document.breadcrumbs =
        vec![NavLink::new("Runs", "/"), NavLink { is_current: true, ..NavLink::new("Annotation tasks", "") }];
    Ok(document.into())
}

fn task_row(task: &TaskLine) -> ListRow {
    let name = format!("{}@{}", task.task, task.version);
    let wanted = (task.items * task.labels_per_item) as u64;
    let cells = vec![
        link(&task.task, &format!("{}/owner", path_of(&name))),
        html! { (task.version) },
        html! { (Line(&task.source)) },
        html! { (count(task.items as u64)) },
        html! { (count(task.labels as u64)) " of " (count(wanted)) },
        html! { (count(task.people as u64)) },
        html! { (count(task.settled as u64)) },
        time(Some(&task.created_at)),
        html! { @if task.closed_at.is_some() { "closed" } @else { "open" } },
    ];
    ListRow { key: name, cells, more: None, tick: None }
}

/// The page of a person. It says nothing of the task but its name, which the person knows: the rest comes by script.
pub(super) async fn label(state: State, Path(task): Path<String>, RawQuery(raw): RawQuery) -> PageResult {
    let query = Query::parse(raw.as_deref(), &["as"]);
    let person = query.text("as").unwrap_or_default().to_owned();
    let has_tokens = state.has_tokens().await?;
    let body = html! {
        @if !has_tokens && person.is_empty() {
            form.filters method="get" {
                label.grow { span { "Your name" } input type="text" name="as" required maxlength="64" autocomplete="nickname"; }
                button type="submit" { "Begin" }
            }
        } @else {
            k-annotate task=(task) person=(person) {
                p.state { "This page needs a script to hold your place and to keep your answers. " code { "karat annotate create RUN -o FILE" } " makes a file instead." }
            }
            @if !has_tokens {
                p.soft.small { "This server has no tokens, so that your name is taken as you give it, and the owner's pages are open to you as well." }
            } @else {
                (sign_out())
            }
        }
    };
    let mut document = Document::new("page-annotate", name_of(&task), body);
    document.audience = Audience::Labellers;
    document.keys = owned_keys(&LABEL_KEYS);
    Ok(document.into())
}

/// The name of a task without its version, as people know it.
fn name_of(task: &str) -> &str {
    task.split('@').next().unwrap_or(task)
}

pub(super) async fn adjudicate(state: State, Path(task): Path<String>, RawQuery(raw): RawQuery) -> PageResult {
    let query = Query::parse(raw.as_deref(), &["as"]);
    let known = task.clone();
    state.read(move |app| app.tasks().overview(&known)).await?;
    let person = query.text("as").unwrap_or_default();
    let body = html! {
        k-adjudicate task=(task) person=(person) {
            p.state { "This page needs a script. " code { "GET /annotations/" (line(&task)) } " lists what waits for a decision." }
        }
    };
    let mut document = Document::new("page-adjudicate", format!("Decide: {}", name_of(&task)), body);
    document.audience = Audience::Owner;
    document.breadcrumbs = breadcrumbs(&task, Some("Decide"));
    document.keys = owned_keys(&DECIDE_KEYS);
    Ok(document.into())
}

fn breadcrumbs(task: &str, page: Option<&str>) -> Vec<NavLink> {
    let own = match page {
        None => NavLink { is_current: true, ..NavLink::new(task, "") },
        Some(_) => NavLink::new(task, format!("{}/owner", path_of(task))),
    };
    let page = page.map(|page| NavLink { is_current: true, ..NavLink::new(page, "") });
    [NavLink::new("Runs", "/"), NavLink::new("Annotation tasks", "/annotate"), own].into_iter().chain(page).collect()
}

pub(super) async fn owner(state: State, Path(task): Path<String>) -> PageResult {
    let is_server = matches!(state.settings().purpose, Purpose::Serve { .. });
    let known = task.clone();
    let (view, agreement) = state
        .read(move |app| Ok::<_, AppError>((app.tasks().overview(&known)?, app.tasks().agreement(&known)?)))
        .await?;
    let sections = [
        ("progress", "Progress", progress(&view)),
        ("agreement", "Agreement", agreement_table(&agreement)),
        ("people", "People", people(&view)),
        ("waiting", "Waiting for you", waiting(&task, &view, is_server)),
        ("export", "Export", export(&task, &view, is_server)),
    ];
    let body = html! {
        div.stack { @for (id, title, content) in &sections { (section(id, title, None, content)) } }
    };
    let mut document = Document::new("page-owner", name_of(&task), body);
    let (version, of) = (view["version"].as_u64().unwrap_or(1), text(&view, "source"));
    document.lead = Some(format!("Version {version} of this task, from {of}"));
    document.breadcrumbs = breadcrumbs(&task, None);
    document.sections = sections.iter().map(|(id, title, _)| NavLink::new(*title, format!("#{id}"))).collect();
    Ok(document.into())
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn number(value: &Value) -> String {
    value.as_u64().map_or_else(|| "–".to_owned(), count)
}

fn table(caption: &str, row_name: &str, names: &[(&str, bool)], rows: Vec<ListRow>) -> Markup {
    let columns = names.iter().enumerate().map(|(at, (name, is_number))| {
        let column = if *is_number { ListColumn::number(*name) } else { ListColumn::text(*name).wrapping() };
        if at < 3 { column } else { column.wide_only() }
    });
    listing::render(&Listing {
        caption: caption.to_owned(),
        row_name: row_name.to_owned(),
        noun: caption.to_lowercase(),
        columns: columns.collect(),
        rows,
        tick_field: None,
    })
}

fn progress(view: &Value) -> Markup {
    let (items, labels) = (&view["items"], &view["labels"]);
    let counted = labels["counted"].as_u64().unwrap_or(0);
    let wanted = counted + labels["missing"].as_u64().unwrap_or(0);
    let state = match view["closed"]["at"].as_str() {
        Some(at) => html! { "closed " (time(Some(at))) },
        None => html! { "open" },
    };
    let by_labels = items["by_labels"].as_array().cloned().unwrap_or_default();
    html! {
        dl.facts-list {
            dt { "Labels" } dd { (count(counted)) " of " (count(wanted)) }
            dt { "Items" } dd { (number(&items["total"])) ", of them " (number(&items["gold"])) " with a known answer" }
            @for (labels, items) in by_labels.iter().enumerate() {
                dt { "Items with " (labels) " " @if labels == 1 { "label" } @else { "labels" } } dd { (number(items)) }
            }
            dt { "Settled" } dd { (number(&items["settled"])) " by rule, " (number(&items["adjudicated"])) " by you, " (number(&items["open"])) " open" }
            dt { "Flagged" } dd { (number(&items["flagged"])) }
            dt { "Skipped by all" } dd { (number(&items["skipped"])) }
            dt { "Disagreements" } dd { (number(&items["disagreements"])) }
            @if let Some(rate) = labels["per_hour"].as_f64() { dt { "Labels an hour" } dd { (count(rate.round() as u64)) } }
            @if let Some(end) = labels["expected_end"].as_str() { dt { "Expected end (UTC)" } dd { (time(Some(end))) } }
            dt { "State" } dd { (state) }
        }
        @if view["targeted"].as_bool() == Some(true) {
            p.soft { "These items were chosen because they are hard. Their labels say nothing of all outputs, and are in no anchored figure." }
        }
    }
}

fn figure(found: &Value) -> Markup {
    let Some(value) = found["value"].as_f64() else { return html! { span.soft { "–" } } };
    let interval = found["ci"].as_array().and_then(|ci| Some((ci.first()?.as_f64()?, ci.get(1)?.as_f64()?)));
    html! {
        span title=(text(found, "method")) { (format!("{value:.2}")) }
        @if let Some((lo, hi)) = interval { " " span.soft.interval { (format!("[{lo:.2}, {hi:.2}]")) } }
    }
}

fn agreement_table(agreement: &Value) -> Markup {
    let questions = agreement["questions"].as_array().cloned().unwrap_or_default();
    let rows = questions.iter().map(|question| {
        let kappas = question["kappa"].as_array().cloned().unwrap_or_default();
        let mean = |name: &str| {
            let values: Vec<f64> = kappas.iter().filter_map(|pair| pair[name].as_f64()).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let alpha = question["alpha"]["value"].as_f64().map(|value| value.to_string());
        let cells = vec![
            html! { (Line(text(question, "question"))) },
            html! { (number(&question["items"])) },
            html! { span data-testid="owner-agreement" data-question=(text(question, "question")) data-alpha=[alpha] { (figure(&question["alpha"])) } },
            html! { (figure(&question["share_equal"])) },
            html! { @match mean("kappa") { Some(value) => (format!("{value:.2}")), None => span.soft { "–" } } },
            html! { (figure(&question["ac"])) },
            html! { span.soft { (Words(text(question, "note"))) } },
        ];
        ListRow { key: text(question, "question").to_owned(), cells, more: None, tick: None }
    });
    let names = [
        ("Question", false),
        ("Items with two labels", true),
        ("Krippendorff's α", true),
        ("Equal answers", true),
        ("Mean κ of pairs", true),
        ("Gwet's AC", true),
        ("Note", false),
    ];
    table("Questions", "agreement-row", &names, rows.collect())
}

fn people(view: &Value) -> Markup {
    let people = view["people"].as_array().cloned().unwrap_or_default();
    let rows = people.iter().map(|person| {
        let gold = &person["gold"];
        let seconds = person["median_ms"].as_u64().map(|ms| format!("{:.0} s", (ms as f64 / 1000.0).max(1.0)));
        let note = match (person["excluded"].as_str(), gold["share"]["below_limit"].as_bool()) {
            (Some(reason), _) => html! { "left out: " bdi { (line(reason)) } },
            (None, Some(true)) => html! { span.verdict data-verdict="fail" { span.glyph aria-hidden="true" { "✕" } "below the limit of gold items" } },
            _ => html! {},
        };
        let cells = vec![
            html! { (Line(text(person, "person"))) },
            html! { (number(&person["labels"])) },
            html! { (number(&person["extra"])) },
            html! { (number(&person["skips"])) },
            html! { (number(&person["flags"])) },
            html! { @match &seconds { Some(seconds) => (seconds), None => span.soft { "–" } } },
            html! { (number(&gold["right"])) " of " (number(&gold["n"])) " " (figure(&gold["share"])) },
            note,
        ];
        ListRow { key: text(person, "person").to_owned(), cells, more: None, tick: None }
    });
    let names = [
        ("Person", false),
        ("Labels", true),
        ("Kept beside", true),
        ("Skipped", true),
        ("Flagged", true),
        ("Median time", true),
        ("Gold right", true),
        ("Note", false),
    ];
    html! {
        @if people.is_empty() {
            (state::empty(&Empty {
                reason: Some("Nobody has labelled yet. This makes a link for one person.".to_owned()),
                command: Some(format!("karat annotate invite {} NAME", text(view, "task"))),
            }))
        } @else { (table("People", "person-row", &names, rows.collect())) }
    }
}

fn waiting(task: &str, view: &Value, may_change: bool) -> Markup {
    let length = |name: &str| view[name].as_array().map_or(0, Vec::len) as u64;
    let (differing, flagged) = (length("adjudication"), length("with_owner"));
    html! {
        @if differing + flagged == 0 { p.soft { "Nothing waits for a decision." } }
        @else {
            p { (count(differing)) " with labels that differ, " (count(flagged)) " flagged or skipped by all. " }
            @if may_change { p { (link("Decide them", &format!("{}/adjudicate", path_of(task)))) } }
            @else { p.soft { "Decisions are made under " code { "karat serve" } "." } }
        }
    }
}

fn export(task: &str, view: &Value, may_change: bool) -> Markup {
    let to = |form: &str| format!("/annotations/{}/export?{form}", encode(task));
    html! {
        ul.remarks data-testid="export" {
            li { (link("labels.jsonl: settled, as rubrics read them", &to("settled=true"))) }
            li { (link("every label, CSV", &to("form=csv"))) }
            li { (link("every event", &to("audit=true"))) }
        }
        p { code { "karat annotate export " (line(text(view, "task"))) " --settled > labels.jsonl" } }
        @if may_change && view["closed"].is_null() {
            p.soft { "Closing is final: nobody labels any more, and the blinding ends." }
            (actions(&[Action {
                label: "Close the task".to_owned(),
                object: text(view, "task").to_owned(),
                to: format!("/annotations/{}/close", encode(task)),
                confirmation: Some("Close it for good".to_owned()),
            }]))
        }
    }
}
