//! What of a plan is asked outside: the addresses of its services as templates see them (`{ID: {url}}`), and the texts
//! with gaps that must be filled before the run.

use std::collections::BTreeMap;

use karat_providers::{EnvHeader, ExternalTexts};
use karat_text::env_template::{self, GapTemplate};
use karat_text::template::Context;
use karat_types::{Action, PlanHeader, ScorerKind};
use serde_json::{Value, json};

/// Services by their addresses.
pub(crate) fn seen(urls: &BTreeMap<String, String>) -> Value {
    urls.iter().map(|(id, url)| (id.clone(), json!({ "url": url }))).collect::<serde_json::Map<_, _>>().into()
}

/// Services that are not started, so that templates which read their addresses can be rendered.
pub(crate) fn unstarted(plan: &PlanHeader) -> Value {
    seen(&plan.services.keys().map(|id| (id.clone(), "http://127.0.0.1:0".to_owned())).collect())
}

/// What steps, scorers and services of a plan need of the environment and the network.
pub fn outside(plan: &PlanHeader) -> ExternalTexts {
    let mut outside = ExternalTexts::default();
    let mut add = |who: String, text: &str| outside.texts.push((who, env_template::parts(text)));
    let mut headers = Vec::new();
    let mut http = plan.services.values().any(|service| service.ready.is_some());
    for step in plan.variants.iter().flat_map(|variant| &variant.steps) {
        let who = format!("step {}", step.id);
        match &step.action {
            Action::Http(spec) => {
                http = true;
                spec.headers.values().chain([&spec.url]).for_each(|text| add(who.clone(), text));
                headers.extend(spec.headers.iter().map(|(name, text)| header(plan, &who, (name, text), &spec.url)));
            }
            Action::Command(spec) => spec.env.values().for_each(|text| add(who.clone(), text)),
            Action::Prompt(_) | Action::Recorded(_) => {}
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
            let own = with.get("headers").and_then(Value::as_object).into_iter().flatten();
            let own = own.filter_map(|(name, text)| Some(header(plan, &who, (name, text.as_str()?), url)));
            headers.extend(own);
        }
    }
    for (id, service) in &plan.services {
        service.env.values().for_each(|text| add(format!("service {id}"), text));
    }
    outside.http = http;
    outside.headers = headers;
    outside
}

/// A header with the address that it goes to, as far as that is known without a row.
fn header(plan: &PlanHeader, who: &str, (name, text): (&str, &str), url: &str) -> EnvHeader {
    let context = Context::new().with("services", &unstarted(plan));
    let url = GapTemplate::compile(url).and_then(|url| url.render(&context)).unwrap_or_default();
    EnvHeader { who: who.to_owned(), name: name.to_owned(), text: env_template::parts(text), url }
}
