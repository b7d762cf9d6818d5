//! Problems that a run of a valid suite would meet on this machine: missing keys, unknown prices, scripts in place of models.

use std::collections::BTreeSet;

use karat_engine::Estimate;
use karat_providers::{Providers, Settings, address_notes};
use karat_report::usd;
use karat_suite::Plan;
use karat_text::host::{host_of, is_this_machine};
use karat_types::{ModelSpec, PlanHeader, Pricing};

use crate::error::RunError;
use crate::project::load::find_suite;
use crate::project::presets::{SuiteFiles, is_preset};
use crate::runs::Runs;
use crate::runs::preflight_budget::{ceiling_note, limits_line};
use crate::{CallRecording, Invocation};

/// The set of models for a first comparison.
const STARTER: &str = "starter";

impl Runs<'_> {
    /// The note on the models of a plan that the default ceiling of cost cannot bind.
    pub fn ceiling_note(&self, plan: &Plan, invocation: &Invocation) -> Option<String> {
        ceiling_note(&plan.header, invocation)
    }

    /// The limits of a run's cost: what its budget caps, and above what it asks first.
    pub fn limits_line(&self, plan: &Plan, estimate: &Estimate, invocation: &Invocation) -> String {
        limits_line(&plan.header, estimate, invocation)
    }

    /// The invocation with the judge that was chosen for it, which stays the run's own: keys may come and go.
    ///
    /// # Errors
    /// The judge has no key, and is not replayed.
    pub(crate) fn with_chosen_judge(
        &self,
        plan: &Plan,
        invocation: &Invocation,
        tape: &CallRecording,
    ) -> Result<Invocation, RunError> {
        let Some(chosen) = &plan.chosen_judge else { return Ok(invocation.clone()) };
        let judge = plan.header.judges.iter().find(|judge| judge.id == chosen.id);
        let asked = judge.filter(|_| !matches!(tape, CallRecording::Replay(_)));
        if let Some(variable) = asked.and_then(|judge| self.app.project().missing_key(judge)) {
            return Err(RunError::NoJudgeKey { judge: chosen.id.clone(), variable });
        }
        let mut named = invocation.clone();
        named.overrides.judges = vec![chosen.id.clone()];
        Ok(named)
    }

    /// The command that asks real models in place of a preset's scripts, with its price, where a key for one of them is set:
    /// a key in the environment alone spends nothing. `None` for other runs.
    pub fn starter_offer(&self, invocation: &Invocation, plan: &Plan) -> Option<String> {
        let overrides = &invocation.overrides;
        let is_as_shipped = overrides.models.is_empty() && overrides.judges.is_empty() && overrides.tier.is_none();
        let asks_models = (0..plan.header.systems.len()).any(|system| plan.header.system_model(system).is_some());
        let path = find_suite(&invocation.suite, &SuiteFiles).ok().filter(|path| is_preset(path))?;
        if !(is_as_shipped && asks_models && plan.header.is_simulated()) {
            return None;
        }
        let known = self.app.project().known_models().ok()?;
        let mut models = known.set(STARTER).unwrap_or_default().iter().filter_map(|id| known.get(id));
        let is_set = |model: &ModelSpec| self.app.project().missing_key(model).is_none();
        models.find(|model| is_set(model))?;
        let mut real = invocation.clone();
        real.suite = path;
        real.overrides.models = vec![STARTER.to_owned()];
        let plan = self.load(&real).ok()?;
        let (low, high) = self.estimate(&plan).ok()?.cost();
        let missing: BTreeSet<String> =
            plan.header.all_models().filter_map(|model| self.app.project().missing_key(model)).collect();
        let missing: Vec<String> = missing.into_iter().collect();
        let needs = if missing.is_empty() { String::new() } else { format!(" once {} is set", missing.join(", ")) };
        Some(format!(
            "scripts answered, and no key was used: `karat run {} --models {STARTER}` asks real models{needs}, for about {} to {}",
            invocation.suite,
            usd(Some(low.usd())),
            usd(Some(high.usd()))
        ))
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
        let settings = Settings { host: self.app.opened.host(), ..self.app.call_settings() };
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
        address_notes(&models, &karat_engine::external_needs(plan), &self.app.call_settings())
    }

    /// The models on this machine whose key variable is not set, a sentence each: they are asked without a key, which a
    /// misspelt name would not tell. Elsewhere a missing key is an error.
    pub fn keyless_models(&self, plan: &Plan) -> Vec<String> {
        let header = &plan.header;
        let mut notes: Vec<String> = Vec::new();
        for model in header.all_models() {
            let (Some(variable), Some(url)) = (&model.api_key_env, &model.base_url) else { continue };
            let is_set = (self.app.lookup)(variable).is_some_and(|value| !value.trim().is_empty());
            let note = format!("model {}: {variable} is not set, so {url} is asked without a key", model.id);
            if !is_set && is_this_machine(host_of(url)) && !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }
}
