//! Problems that a run of a valid suite would meet on this machine: missing keys, unknown prices.

use std::collections::BTreeSet;

use karat_providers::{Providers, Settings, address_notes};
use karat_suite::Plan;
use karat_text::host::{host_of, is_this_machine};
use karat_types::{ModelSpec, PlanHeader, Pricing};

use crate::run::preflight_budget::ceiling_note;
use crate::{App, Invocation};

impl App {
    /// The note on the models of a plan that the default ceiling of cost cannot bind.
    pub fn ceiling_note(&self, plan: &Plan, invocation: &Invocation) -> Option<String> {
        ceiling_note(&plan.header, invocation)
    }

    /// The missing prerequisites of a plan, and weaknesses that would leave keys in stored data, a sentence each. Makes
    /// no API calls.
    pub fn readiness(&self, plan: &Plan) -> Vec<String> {
        let header = &plan.header;
        let mut models: Vec<ModelSpec> = Vec::new();
        for spec in header.all_models() {
            if !models.iter().any(|known| known.id == spec.id) {
                models.push(spec.clone());
            }
        }
        let settings = Settings { host: self.opened.host(), ..self.call_settings() };
        let outside = karat_engine::external_needs(header);
        let gaps = outside.texts.iter().flat_map(|(_, text)| text.variables());
        let secrets: BTreeSet<&str> = plan.key_variables.iter().map(String::as_str).chain(gaps).collect();
        let weak: Vec<String> = secrets.iter().filter_map(|name| settings.short_secret_warning(name)).collect();
        let connected = Providers::connect_all(&models, &outside, settings);
        let mut missing: Vec<String> = connected.err().unwrap_or_default().iter().map(ToString::to_string).collect();
        missing.extend(weak);
        for model in models.iter().filter(|model| model.price == Pricing::Unknown) {
            let id = &model.id;
            missing.push(format!(
                "model {id}: its price is unknown, so no budget can hold it; write `price: {{ input, output }}` into its entry"
            ));
        }
        missing
    }

    /// The addresses that are asked and are not the providers' own, and the proxies before them, a sentence each.
    pub fn address_notes(&self, plan: &PlanHeader) -> Vec<String> {
        let models: Vec<ModelSpec> = plan.all_models().cloned().collect();
        address_notes(&models, &karat_engine::external_needs(plan), &self.call_settings())
    }

    /// The models on this machine whose key variable is not set, a sentence each: they are asked without a key, which a
    /// misspelt name would not tell. Elsewhere a missing key is an error.
    pub fn keyless_models(&self, plan: &Plan) -> Vec<String> {
        let header = &plan.header;
        let mut notes: Vec<String> = Vec::new();
        for model in header.all_models() {
            let (Some(variable), Some(url)) = (&model.api_key_env, &model.base_url) else { continue };
            let is_set = (self.lookup)(variable).is_some_and(|value| !value.trim().is_empty());
            let note = format!("model {}: {variable} is not set, so {url} is asked without a key", model.id);
            if !is_set && is_this_machine(host_of(url)) && !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }
}
