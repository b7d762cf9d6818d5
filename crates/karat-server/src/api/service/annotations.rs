//! Tasks for people (HU-14). `next`, `draft`, `labels`, `skip`, `flag` and `undo` are for the people of a task, each with a
//! token of the role `annotate`; everything else is for its owner.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json};
use bytes::Bytes;
use http::{StatusCode, Uri, header};
use karat_app::{
    Access, AdjudicationRequest, AnnotationQuestion, App, AppError, CreatedTask, DraftRequest, ExportForm,
    ExportRequest, ItemsFrom, LabelRequest, NextRequest, ReasonRequest, Role, TaskRequest, TextFrom,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::check_may_change;
use crate::api::Routes;
use crate::api::body::{self, Nothing};
use crate::api::query::Query;
use crate::problem::Problem;
use crate::state::State;

/// The name of an owner who gives none.
const OWNER: &str = "owner";

const YES_OR_NO: [(&str, bool); 2] = [("false", false), ("true", true)];

pub(super) fn routes() -> Routes {
    vec![
        ("/annotations", get(list).post(create)),
        ("/annotations/{task}", get(one)),
        ("/annotations/{task}/agreement", get(agreement)),
        ("/annotations/{task}/export", get(export)),
        ("/annotations/{task}/next", post(next)),
        ("/annotations/{task}/draft", post(draft)),
        ("/annotations/{task}/labels", post(label)),
        ("/annotations/{task}/skip", post(skip)),
        ("/annotations/{task}/flag", post(flag)),
        ("/annotations/{task}/undo", post(undo)),
        ("/annotations/{task}/adjudicate", post(adjudicate)),
        ("/annotations/{task}/close", post(close)),
    ]
}

/// A task that is asked for. Files are named on the command line only.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnnotationTaskRequest")]
struct WantedTask {
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
            mask: self.mask,
            seed: self.seed.unwrap_or(plain.seed),
            items: plain.items,
            gold: None,
        })
    }
}

async fn list(state: State, uri: Uri) -> Result<Json<Value>, Problem> {
    Query::read(&uri, &[])?;
    let tasks = state.read(App::stored_annotation_tasks).await?;
    Ok(Json(json!({ "items": tasks })))
}

async fn create(state: State, uri: Uri, body: Bytes) -> Result<Json<CreatedTask>, Problem> {
    Query::read(&uri, &[])?;
    let asked = body::read::<WantedTask>(&body)?.request()?;
    check_may_change(&state)?;
    state.read(move |app| app.create_annotation_task(&asked)).await.map(Json)
}

async fn one(state: State, Path(task): Path<String>, uri: Uri) -> Result<Json<Value>, Problem> {
    Query::read(&uri, &[])?;
    state.read(move |app| app.annotation_task(&task)).await.map(Json)
}

async fn agreement(state: State, Path(task): Path<String>, uri: Uri) -> Result<Json<Value>, Problem> {
    Query::read(&uri, &[])?;
    state.read(move |app| app.annotation_agreement(&task)).await.map(Json)
}

async fn export(state: State, Path(task): Path<String>, uri: Uri) -> Result<Response, Problem> {
    let query = Query::read(&uri, &["form", "settled", "audit", "pseudonyms"])?;
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
    let text = state.read(move |app| app.export_annotations(&task, &asked)).await?;
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// The person who asks: of the token, or by name on a server that belongs to one user.
async fn person(
    state: &State,
    access: Option<Extension<Access>>,
    query: &Query,
    task: &str,
) -> Result<String, Problem> {
    let named = query.value_if_given("as", "the name of a person")?.map(str::to_owned);
    let invited = match access {
        Some(Extension(access)) if access.role == Role::Annotate => {
            let token = access.token;
            let invited = state.look_up(move |app| app.invited_person(&token)).await?;
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

/// Reads a request of a person, and answers it.
async fn answer_person<T: DeserializeOwned + JsonSchema + Send + 'static>(
    (state, access, uri): (State, Option<Extension<Access>>, Uri),
    task: String,
    body: Bytes,
    answer: fn(&App, &str, &str, &T) -> Result<Value, AppError>,
) -> Result<Json<Value>, Problem> {
    let query = Query::read(&uri, &["as"])?;
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

/// The access that the token of a request gives.
type Asker = Option<Extension<Access>>;

async fn next(
    state: State,
    access: Asker,
    Path(task): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    answer_person::<NextRequest>((state, access, uri), task, body, App::next_annotation).await
}

async fn draft(
    state: State,
    access: Asker,
    Path(task): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    answer_person::<DraftRequest>((state, access, uri), task, body, App::save_draft).await
}

async fn label(
    state: State,
    access: Asker,
    Path(task): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    answer_person::<LabelRequest>((state, access, uri), task, body, App::submit_label).await
}

async fn skip(
    state: State,
    access: Asker,
    Path(task): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    answer_person::<ReasonRequest>((state, access, uri), task, body, App::skip_item).await
}

async fn flag(
    state: State,
    access: Asker,
    Path(task): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    answer_person::<ReasonRequest>((state, access, uri), task, body, App::flag_item).await
}

/// The label that is taken back; the person's last one without an item.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnnotationUndo")]
struct WantedUndo {
    item: Option<String>,
}

async fn undo(
    state: State,
    access: Asker,
    Path(task): Path<String>,
    uri: Uri,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let undo =
        |app: &App, task: &str, person: &str, asked: &WantedUndo| app.undo_label(task, person, asked.item.as_deref());
    answer_person::<WantedUndo>((state, access, uri), task, body, undo).await
}

async fn adjudicate(state: State, Path(task): Path<String>, uri: Uri, body: Bytes) -> Result<Json<Value>, Problem> {
    let query = Query::read(&uri, &["as"])?;
    let asked: AdjudicationRequest = body::read(&body)?;
    check_may_change(&state)?;
    let owner = query.value_if_given("as", "the name of a person")?.unwrap_or(OWNER).to_owned();
    state.read(move |app| app.adjudicate(&task, &owner, &asked)).await.map(Json)
}

async fn close(state: State, Path(task): Path<String>, uri: Uri, body: Bytes) -> Result<Json<Value>, Problem> {
    let query = Query::read(&uri, &["as"])?;
    body::read::<Nothing>(&body)?;
    check_may_change(&state)?;
    let owner = query.value_if_given("as", "the name of a person")?.unwrap_or(OWNER).to_owned();
    state.read(move |app| app.close_annotation_task(&task, &owner)).await.map(Json)
}
