//! The external needs of a plan: the addresses of its services as templates see them (`{ID: {url}}`), and texts with
//! environment variables to be filled before the run.

use std::collections::BTreeMap;

use karat_providers::{EnvHeader, ExternalTexts};
use karat_text::env_template::{self, GapTemplate};
use karat_text::template::Context;
use karat_types::{Action, EnvTemplate, PlanHeader, ScorerKind, ToolExecutor, host_function};
use serde_json::{Value, json};

/// The template context of services, from their addresses.
pub(crate) fn service_context(urls: &BTreeMap<String, String>) -> Value {
    urls.iter().map(|(id, url)| (id.clone(), json!({ "url": url }))).collect::<serde_json::Map<_, _>>().into()
}

/// Addresses of services that are not started, so that templates with them can be rendered.
pub(crate) fn placeholder_services(plan: &PlanHeader) -> Value {
    service_context(&plan.services.keys().map(|id| (id.clone(), "http://127.0.0.1:0".to_owned())).collect())
}

/// The needs of a plan's steps, scorers and services: environment variables and network.
pub fn external_needs(plan: &PlanHeader) -> ExternalTexts {
    let mut outside = ExternalTexts::default();
    let mut add = |who: String, text: &str| outside.texts.push((who, env_template::parts(text)));
    let (mut headers, mut urls) = (Vec::new(), Vec::new());
    let mut http = plan.services.values().any(|service| service.ready.is_some());
    for step in plan.variants.iter().flat_map(|variant| &variant.steps) {
        let who = format!("step {}", step.id);
        match &step.action {
            Action::Http(spec) => {
                http = true;
                spec.headers.values().chain([&spec.url]).for_each(|text| add(who.clone(), text));
                urls.push((who.clone(), sent_to(plan, &spec.url)));
                headers
                    .extend(spec.headers.iter().map(|(name, text)| header_text(plan, &who, (name, text), &spec.url)));
            }
            Action::Command(spec) => spec.env.values().for_each(|text| add(who.clone(), text)),
            Action::Prompt(_) | Action::Agent(_) | Action::Recorded(_) => {}
        }
    }
    for tool in &plan.tools {
        let who = format!("tool {}", tool.id);
        match &tool.executor {
            Some(ToolExecutor::Http { url, headers: own }) => {
                http = true;
                own.values().chain([url]).for_each(|text| add(who.clone(), text));
                urls.push((who.clone(), sent_to(plan, url)));
                headers.extend(own.iter().map(|(name, text)| header_text(plan, &who, (name, text), url)));
            }
            Some(ToolExecutor::Command(spec)) => spec.env.values().for_each(|text| add(who.clone(), text)),
            Some(ToolExecutor::Result(_) | ToolExecutor::Replies(_)) | None => {}
        }
    }
    for scorer in &plan.scorers {
        let ScorerKind::Metric { metric, with } = &scorer.kind else { continue };
        http |= metric == "http";
        if matches!(metric.as_str(), "http" | "command") {
            let who = format!("scorer {}", scorer.id);
            let nested = ["env", "headers"].iter().filter_map(|key| with.get(*key)?.as_object());
            let texts = nested.flat_map(|map| map.values()).chain(with.get("url"));
            texts.filter_map(Value::as_str).for_each(|text| add(who.clone(), text));
            let url = with.get("url").and_then(Value::as_str).unwrap_or_default();
            urls.extend((metric == "http").then(|| (who.clone(), sent_to(plan, url))));
            let own = with.get("headers").and_then(Value::as_object).into_iter().flatten();
            let own = own.filter_map(|(name, text)| Some(header_text(plan, &who, (name, text.as_str()?), url)));
            headers.extend(own);
        }
    }
    for (id, service) in &plan.services {
        service.env.values().for_each(|text| add(format!("service {id}"), text));
    }
    outside.host_functions = host_functions(plan);
    outside.http = http;
    outside.headers = headers;
    outside.urls = urls;
    outside
}

/// The host functions that steps, tools and scorers call, each with its caller.
fn host_functions(plan: &PlanHeader) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut add = |who: String, run: &[String]| {
        found.extend(host_function(run).map(|function| (who, function.to_owned())));
    };
    for step in plan.variants.iter().flat_map(|variant| &variant.steps) {
        if let Action::Command(spec) = &step.action {
            add(format!("step {}", step.id), &spec.run);
        }
    }
    for tool in &plan.tools {
        if let Some(ToolExecutor::Command(spec)) = &tool.executor {
            add(format!("tool {}", tool.id), &spec.run);
        }
    }
    for scorer in &plan.scorers {
        let ScorerKind::Metric { metric, with } = &scorer.kind else { continue };
        let program = with.get("run").filter(|_| metric == "command").and_then(|run| run.get(0)?.as_str());
        if let Some(program) = program {
            add(format!("scorer {}", scorer.id), &[program.to_owned()]);
        }
    }
    found
}

/// An address, as far as it is known without a row.
fn sent_to(plan: &PlanHeader, url: &str) -> EnvTemplate {
    let context = Context::new().with("services", &placeholder_services(plan));
    GapTemplate::compile_address(url).and_then(|url| url.render(&context)).unwrap_or_else(|_| env_template::parts(url))
}

/// A header with the address that it is sent to.
fn header_text(plan: &PlanHeader, who: &str, (name, text): (&str, &str), url: &str) -> EnvHeader {
    EnvHeader { who: who.to_owned(), name: name.to_owned(), text: env_template::parts(text), url: sent_to(plan, url) }
}
