//! The table of routes: the router, the roles that admission asks for, the refusal of unknown query names and the description
//! of the API are read from it. `query` reads the query of an address.

pub(crate) mod query;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use axum::routing::{self, MethodRouter};
use http::{HeaderMap, HeaderValue, Method, header};
use karat_app::{Role, request_schema};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::route::query::Query;
use crate::state::State;

/// A method of an address.
pub(crate) struct Route {
    pub method: Method,
    pub path: &'static str,
    /// The role that may call it; `None` if everybody may.
    pub role: Option<Role>,
    /// True if a caller without a token gets an answer, too.
    pub is_open: bool,
    /// True if it takes traces: their bodies are larger than others, and no answer is kept under a key.
    pub is_ingest: bool,
    /// The description for programs; `None` for pages.
    pub operation: Option<Operation>,
    handler: MethodRouter<State>,
}

/// The part of a route that the API's description shows.
pub(crate) struct Operation {
    pub id: &'static str,
    pub summary: &'static str,
    pub parameters: Vec<Parameter>,
    /// The body, and whether it must be there.
    pub body: Option<(Content, bool)>,
    pub answers: Vec<Answer>,
    /// False if it takes any query, because another protocol says what is in it.
    checks_query: bool,
}

/// A parameter of the query or the head.
pub(crate) struct Parameter {
    pub name: &'static str,
    pub place: &'static str,
    pub meaning: &'static str,
    pub schema: Value,
    pub is_required: bool,
}

/// The content of a body or an answer: its media types, and the schema of its JSON.
pub(crate) struct Content {
    pub kinds: &'static [&'static str],
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

impl Content {
    fn json<T: JsonSchema>() -> Self {
        Self { kinds: &["application/json"], schema: SchemaGenerator::subschema_for::<T> }
    }
}

/// An answer that is not a problem.
pub(crate) struct Answer {
    pub status: &'static str,
    pub meaning: &'static str,
    pub content: Option<Content>,
}

impl Route {
    fn new(method: Method, path: &'static str, role: Option<Role>, handler: MethodRouter<State>) -> Self {
        Self { method, path, role, is_open: false, is_ingest: false, operation: None, handler }
    }

    /// A page of the dashboard, or a file of it.
    pub fn page<T: 'static>(
        path: &'static str,
        role: impl Into<Option<Role>>,
        handler: impl Handler<T, State>,
    ) -> Self {
        Self::new(Method::GET, path, role.into(), routing::get(handler))
    }

    fn with(mut self, change: impl FnOnce(&mut Operation)) -> Self {
        if let Some(operation) = &mut self.operation {
            change(operation);
        }
        self
    }

    /// The same route with a sentence about it.
    pub fn with_summary(self, summary: &'static str) -> Self {
        self.with(|it| it.summary = summary)
    }

    /// The same route, which answers callers without a token, too.
    pub fn for_everybody(self) -> Self {
        Self { is_open: true, ..self }
    }

    /// The same route, which takes or lists traces.
    pub fn for_traces(self) -> Self {
        Self { is_ingest: true, ..self }
    }

    /// The same route with a name of the query.
    pub fn with_query(self, name: &'static str, meaning: &'static str, schema: Value) -> Self {
        self.with_parameter(Parameter { name, place: "query", meaning, schema, is_required: false })
    }

    pub fn with_parameter(self, parameter: Parameter) -> Self {
        self.with(|it| it.parameters.push(parameter))
    }

    /// The same route, whose list comes in pages.
    pub fn in_pages(self) -> Self {
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 });
        let cursor = json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$" });
        self.with_query("limit", "Rows of a page", limit).with_query("cursor", "`next` of an earlier page", cursor)
    }

    /// The same route, for a change that a person makes.
    pub fn of_person(self) -> Self {
        let name = json!({ "type": "string", "minLength": 1, "maxLength": 64 });
        self.with_query("as", "Name of the person; a token of the role `annotate` names its own", name)
    }

    /// The same route, which takes any query.
    pub fn with_any_query(self) -> Self {
        self.with(|it| it.checks_query = false)
    }

    /// The same route with a body of JSON, which may be left out unless a field of it must be there.
    pub fn with_body<T: JsonSchema>(self) -> Self {
        let needed = request_schema::<T>().get("required").and_then(Value::as_array).map_or(0, Vec::len);
        self.with(|it| it.body = Some((Content::json::<T>(), needed > 0)))
    }

    /// The same route with a body of one of these media types; the schema is that of its JSON.
    pub fn with_body_of<T: JsonSchema>(self, kinds: &'static [&'static str], is_required: bool) -> Self {
        self.with(|it| it.body = Some((Content { kinds, ..Content::json::<T>() }, is_required)))
    }

    /// The same route with an answer of JSON; what is read has an `ETag`.
    pub fn with_json<T: JsonSchema>(self, meaning: &'static str) -> Self {
        let answered = self.with_answer::<T>("200", meaning, &["application/json"]);
        if answered.method == Method::GET { answered.with_tag() } else { answered }
    }

    /// The same route with the answer to a caller who has the present one.
    pub fn with_tag(self) -> Self {
        self.with_empty_answer("304", "The caller has the present answer")
    }

    /// The same route with the answer to a request that has started something.
    pub fn with_accepted<T: JsonSchema>(self, meaning: &'static str) -> Self {
        self.with_answer::<T>("202", meaning, &["application/json"])
    }

    /// The same route with an answer in these media types; the schema is that of its JSON.
    pub fn with_answer<T: JsonSchema>(
        self,
        status: &'static str,
        meaning: &'static str,
        kinds: &'static [&'static str],
    ) -> Self {
        let content = Some(Content { kinds, ..Content::json::<T>() });
        self.with(|it| it.answers.push(Answer { status, meaning, content }))
    }

    pub fn with_empty_answer(self, status: &'static str, meaning: &'static str) -> Self {
        self.with(|it| it.answers.push(Answer { status, meaning, content: None }))
    }

    /// The handler, behind the check of the query.
    fn method_router(&self) -> MethodRouter<State> {
        let Some(operation) = self.operation.as_ref().filter(|it| it.checks_query) else { return self.handler.clone() };
        let in_query = operation.parameters.iter().filter(|it| it.place == "query");
        let names: Vec<&str> = in_query.map(|parameter| parameter.name).collect();
        self.handler.clone().route_layer(from_fn(move |mut request: Request, next: Next| {
            let query = Query::read(request.uri(), &names);
            async move {
                match query {
                    Ok(query) => {
                        request.extensions_mut().insert(query);
                        next.run(request).await
                    }
                    Err(problem) => problem.into_response(),
                }
            }
        }))
    }
}

impl Operation {
    fn new(id: &'static str) -> Self {
        Self { id, summary: "", parameters: Vec::new(), body: None, answers: Vec::new(), checks_query: true }
    }
}

/// An endpoint that only reads, with its id.
pub(crate) fn get<T: 'static>(
    path: &'static str,
    role: impl Into<Option<Role>>,
    id: &'static str,
    handler: impl Handler<T, State>,
) -> Route {
    Route { operation: Some(Operation::new(id)), ..Route::page(path, role, handler) }
}

/// An endpoint that changes something, with its id.
pub(crate) fn post<T: 'static>(
    path: &'static str,
    role: Role,
    id: &'static str,
    handler: impl Handler<T, State>,
) -> Route {
    let operation = Some(Operation::new(id));
    Route { operation, ..Route::new(Method::POST, path, Some(role), routing::post(handler)) }
}

/// All routes.
pub(crate) struct Routes(Vec<Route>);

impl Routes {
    pub fn new(routes: impl IntoIterator<Item = Route>) -> Self {
        Self(routes.into_iter().collect())
    }

    /// The routes that take traces, or all others.
    pub fn router(&self, for_traces: bool) -> Router<State> {
        let chosen = self.0.iter().filter(|route| route.is_ingest == for_traces);
        chosen.fold(Router::new(), |router, route| router.route(route.path, route.method_router()))
    }

    /// The endpoints of the API with their descriptions.
    pub fn operations(&self) -> impl Iterator<Item = (&Route, &Operation)> {
        self.0.iter().filter_map(|route| Some((route, route.operation.as_ref()?)))
    }

    /// Returns whether an address belongs to the API.
    pub fn is_api(&self, path: &str) -> bool {
        let root = |path: &str| path.trim_start_matches('/').split('/').next().map(str::to_owned);
        let is_exact = |route: &Route| matches(route.path, path);
        match self.0.iter().find(|route| is_exact(route)) {
            Some(route) => route.operation.is_some(),
            None => self.operations().any(|(route, _)| root(route.path) == root(path)),
        }
    }

    /// Returns whether callers without a token get an answer from an address.
    pub fn is_open(&self, path: &str) -> bool {
        self.0.iter().any(|route| route.is_open && matches(route.path, path))
    }

    /// The role that a request needs; `None` if it needs none. What is not in the table needs the role that reads the address
    /// above it, or `run` if it may change something.
    pub fn needed_role(&self, method: &Method, path: &str) -> Option<Role> {
        let is_read = is_safe(method);
        let method = if is_read { &Method::GET } else { method };
        match self.find(method, path) {
            Some(route) => route.role,
            None if !is_read => Some(Role::Run),
            None => {
                let above = std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above));
                let known = above.skip(1).find_map(|path| self.find(method, path)).and_then(|route| route.role);
                Some(known.unwrap_or(Role::Read))
            }
        }
    }

    fn find(&self, method: &Method, path: &str) -> Option<&Route> {
        self.0.iter().find(|route| route.method == *method && matches(route.path, path))
    }
}

/// Returns whether a request with this method only reads.
pub(crate) fn is_safe(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS].contains(method)
}

/// Returns whether a path is one of those that a route has: `{name}` stands for one part.
fn matches(route: &str, path: &str) -> bool {
    let (mut parts, mut given) = (route.split('/'), path.split('/'));
    loop {
        match (parts.next(), given.next()) {
            (None, None) => return true,
            (Some(part), Some(given)) if part == given || (part.starts_with('{') && !given.is_empty()) => {}
            _ => return false,
        }
    }
}

/// Returns whether the caller is a browser that shows a page.
pub(crate) fn accepts_page(headers: &HeaderMap) -> bool {
    let accepts_html = |accepts: &HeaderValue| accepts.to_str().is_ok_and(|accepts| accepts.contains("text/html"));
    headers.get_all(header::ACCEPT).iter().any(accepts_html)
}
