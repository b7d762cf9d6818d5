//! Tasks for people. `next`, `draft`, `labels`, `skip`, `flag` and `undo` are for the people of a task, each with a
//! token of the role `annotate`; everything else is for its owner.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{StatusCode, header};
use karat_app::{
    Access, AdjudicationRequest, AnnotationQuestion, App, AppError, CreatedTask, ExportForm, ExportRequest, ItemsFrom,
    Role, TaskLine, TaskRequest, TextFrom,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::check_may_change;
use crate::api::body::{self, Nothing};
use crate::api::listing::List;
use crate::problem::Problem;
use crate::route::query::Query;
use crate::state::State;

/// The name of an owner who gives none.
const OWNER: &str = "owner";

const YES_OR_NO: [(&str, bool); 2] = [("false", false), ("true", true)];

/// A task that is asked for. Files are named on the command line only.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnnotationTaskRequest")]
pub(in crate::api) struct WantedTask {
    run: String,
    task: Option<String>,
    scorer: Option<String>,
    #[schemars(range(min = 1, max = 20))]
    k: Option<usize>,
    #[schemars(range(min = 1))]
    n: Option<usize>,
    #[schemars(range(min = 1))]
    per_sample: Option<usize>,
    #[schemars(regex(pattern = "^(random|uncertain|failed|stratified:.+|verdict(:.+)?)$"))]
    select: Option<String>,
    #[schemars(with = "Option<Vec<AnnotationQuestion>>")]
    questions: Option<Value>,
    guidelines: Option<String>,
    #[serde(default)]
    assign: Vec<String>,
    mask: Option<String>,
    seed: Option<u64>,
}

impl WantedTask {
    fn request(self) -> Result<TaskRequest, Problem> {
        let plain = TaskRequest::new(ItemsFrom::Run(self.run));
        let select = self.select.unwrap_or(plain.select);
        if select.starts_with("ids:") {
            return Err(Problem::bad_request("`select` cannot name a file here")
                .with_hint("use `karat annotate create --select ids:FILE`"));
        }
        Ok(TaskRequest {
            name: self.task,
            scorer: self.scorer,
            questions: self.questions.map(|questions| TextFrom::Text(questions.to_string())),
            guidelines: self.guidelines.map(TextFrom::Text),
            places: self.k.unwrap_or(plain.places),
            count: self.n,
            per_sample: self.per_sample.unwrap_or(plain.per_sample),
            select,
            only: None,
            assigned: self.assign,
            show: Vec::new(),
            mask: self.mask,
            seed: self.seed.unwrap_or(plain.seed),
            items: plain.items,
            gold: None,
        })
    }
}

pub(in crate::api) async fn list(state: State) -> Result<Json<List<TaskLine>>, Problem> {
    let tasks = state.read(|app| app.tasks().list()).await?;
    Ok(Json(List { items: tasks }))
}

pub(in crate::api) async fn create(state: State, body: Bytes) -> Result<Json<CreatedTask>, Problem> {
    let asked = body::read::<WantedTask>(&body)?.request()?;
    check_may_change(&state)?;
    state.read(move |app| app.tasks().create(&asked)).await.map(Json)
}

pub(in crate::api) async fn one(state: State, Path(task): Path<String>) -> Result<Json<Value>, Problem> {
    state.read(move |app| app.tasks().overview(&task)).await.map(Json)
}

pub(in crate::api) async fn agreement(state: State, Path(task): Path<String>) -> Result<Json<Value>, Problem> {
    state.read(move |app| app.tasks().agreement(&task)).await.map(Json)
}

pub(in crate::api) async fn export(
    state: State,
    Path(task): Path<String>,
    Extension(query): Extension<Query>,
) -> Result<Response, Problem> {
    let forms = [("labels", ExportForm::Labels), ("jsonl", ExportForm::Jsonl), ("csv", ExportForm::Csv)];
    let is_set = |name: &str| query.choose(name, &YES_OR_NO).map(Option::unwrap_or_default);
    let asked = ExportRequest {
        form: query.choose("form", &forms)?.unwrap_or(ExportForm::Labels),
        settled: is_set("settled")?,
        audit: is_set("audit")?,
        pseudonyms: is_set("pseudonyms")?,
    };
    let kind = match asked.form {
        ExportForm::Csv if !asked.audit => "text/csv",
        _ => "application/x-ndjson",
    };
    let text = state.read(move |app| app.tasks().export(&task, &asked)).await?;
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// The person who asks: of the token, or by name on a server that belongs to one user.
async fn person(state: &State, access: Asker, query: &Query, task: &str) -> Result<String, Problem> {
    let named = query.value_if_given("as", "the name of a person")?.map(str::to_owned);
    let invited = match access {
        Some(Extension(access)) if access.role == Role::Annotate => {
            let token = access.token;
            let invited = state.look_up(move |app| app.service().invited_person(&token)).await?;
            let not_invited = || {
                Problem::forbidden("this token is for no task").with_hint("`karat annotate invite TASK NAME` makes one")
            };
            Some(invited.ok_or_else(not_invited)?)
        }
        _ => None,
    };
    match (invited, named) {
        (Some((own, person)), None) if own == task.split('@').next().unwrap_or(task) => Ok(person),
        (Some(_), None) => Err(Problem::forbidden("this token is for another task")),
        (Some(_), Some(_)) => Err(Problem::forbidden("a token names its person: leave `as` out")),
        (None, Some(person)) => Ok(person),
        (None, None) => {
            Err(Problem::bad_request("the name of the person is missing").with_hint("add `?as=NAME` to the address"))
        }
    }
}

/// The answer to a person, as it is made.
type PersonAnswer = BoxFuture<'static, Result<Json<Value>, Problem>>;

/// The handler of requests of a person: it reads one, and answers it.
pub(in crate::api) fn person_handler<T: DeserializeOwned + JsonSchema + Send + 'static>(
    answer: fn(&App, &str, &str, &T) -> Result<Value, AppError>,
) -> impl Fn(State, Asker, Path<String>, Extension<Query>, Bytes) -> PersonAnswer + Clone {
    move |state, access, Path(task), Extension(query), body| {
        async move {
            let asked: T = body::read(&body)?;
            check_may_change(&state)?;
            let is_invited = access.as_ref().is_some_and(|Extension(access)| access.role == Role::Annotate);
            let person = person(&state, access, &query, &task).await?;
            let answer = state.read(move |app| answer(app, &task, &person, &asked)).await;
            // A hint would name other tasks.
            let answer = answer.map_err(|problem| match is_invited && problem.status == StatusCode::NOT_FOUND {
                true => Problem::not_found("there is no such item or version of the task"),
                false => problem,
            });
            answer.map(Json)
        }
        .boxed()
    }
}

/// The access that the token of a request gives.
type Asker = Option<Extension<Access>>;

/// The label that is taken back; the person's last one without an item.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnnotationUndo")]
pub(in crate::api) struct WantedUndo {
    item: Option<String>,
}

pub(in crate::api) fn undo(app: &App, task: &str, person: &str, asked: &WantedUndo) -> Result<Value, AppError> {
    app.tasks().undo(task, person, asked.item.as_deref())
}

pub(in crate::api) async fn adjudicate(
    state: State,
    Path(task): Path<String>,
    Extension(query): Extension<Query>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let asked: AdjudicationRequest = body::read(&body)?;
    check_may_change(&state)?;
    let owner = query.value_if_given("as", "the name of a person")?.unwrap_or(OWNER).to_owned();
    state.read(move |app| app.tasks().adjudicate(&task, &owner, &asked)).await.map(Json)
}

pub(in crate::api) async fn close(
    state: State,
    Path(task): Path<String>,
    Extension(query): Extension<Query>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    body::read::<Nothing>(&body)?;
    check_may_change(&state)?;
    let owner = query.value_if_given("as", "the name of a person")?.unwrap_or(OWNER).to_owned();
    state.read(move |app| app.tasks().close(&task, &owner)).await.map(Json)
}
