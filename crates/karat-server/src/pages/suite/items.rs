//! The page of a suite's test set: which items say nothing, which may be wrong, and a task for people of the latter.

use axum::Extension;
use axum::extract::{Path, RawQuery};
use karat_app::{Access, App, AppError, ItemsRequest, ItemsSuite, Role, suspects_task};
use karat_page::component::action::{Action, actions};
use karat_page::component::shell::{NavLink, section};
use karat_page::component::table::link;
use karat_page::text::visible::Line;
use karat_page::{Markup, html};

use crate::pages::PageResult;
use crate::pages::parts::query::Query;
use crate::settings::Purpose;
use crate::state::State;
use crate::target::encode;

/// Seed of the page's resamples: the command's own.
const SEED: u64 = 1;

pub(in crate::pages) async fn items(
    state: State,
    Path(suite): Path<String>,
    RawQuery(raw): RawQuery,
    access: Option<Extension<Access>>,
) -> PageResult {
    let query = Query::parse(raw.as_deref(), &["metric"]);
    let metric = query.text("metric").filter(|metric| !metric.is_empty()).map(str::to_owned);
    let is_server = matches!(state.settings().purpose, Purpose::Serve { .. });
    let may_change = is_server && access.is_some_and(|access| access.role.allows(Role::Run));
    let asked = ItemsRequest { suite: ItemsSuite::Stored(suite.clone()), runs: Vec::new(), metric, seed: SEED };
    let (page, task) = state
        .read(move |app: &App| {
            let page = app.analysis().items_page(&asked)?;
            let name = suspects_task(asked.suite.name());
            let known = app.tasks().list()?.into_iter().find(|task| task.task == name);
            Ok::<_, AppError>((page, known))
        })
        .await?;
    let mut document = page.as_ref().clone();
    let task = task.map(|task| format!("{}@{}", task.task, task.version));
    let content = people(&suite, task.as_deref(), may_change);
    document.body = html! { div.stack { (document.body) (section("people", "Let people decide", None, &content)) } };
    document.sections.push(NavLink::new("Let people decide", "#people"));
    document.breadcrumbs = vec![
        NavLink::new("Runs", "/"),
        NavLink { is_current: true, ..NavLink::new(format!("Test set of {suite}"), "") },
    ];
    Ok(document.into())
}

/// The task of the items that may be wrong, or the button that makes it.
fn people(suite: &str, task: Option<&str>, may_change: bool) -> Markup {
    html! {
        p { "A task asks people whether the reference of each item that may be wrong is right. What systems answered is shown beside it." }
        @if let Some(task) = task {
            p data-testid="suspects-task" { "Task: " (link(task, &format!("/annotate/{}/owner", encode(task)))) }
        }
        @if may_change {
            (actions(&[Action {
                label: "Make a task of the suspects".to_owned(),
                object: suite.to_owned(),
                to: format!("/suites/{}/suspects", encode(suite)),
                confirmation: None,
            }]))
        } @else {
            p.soft { "On the command line: " code { "karat dataset items " (Line(suite)) " --ids suspects.txt" } }
        }
    }
}
