//! The cells that a message shows: those with the worst scores of its metric.

use karat_alert::{AlertExample, AlertSpec, Notice};
use karat_text::path::Path;
use karat_text::redact::Redactor;
use karat_types::{Better, PlanHeader, SampleText, Score};
use serde_json::Value;

use crate::AppError;
use crate::service::Service;
use crate::service::monitoring::observations::Observed;
use crate::views::show::cells::{CellFilter, CellLine};

impl Service<'_> {
    /// Adds the worst cells to what a message says. A message without them is better than none.
    pub(crate) fn add_examples(&self, seen: &mut Observed, alert: &AlertSpec, notice: Notice, run: Option<&str>) {
        let (Some(run), Some(metric)) = (run, &seen.metric) else { return };
        if notice == Notice::Resolved || alert.examples == 0 {
            seen.facts.examples.clear();
            return;
        }
        let system = seen.facts.system.clone();
        seen.facts.examples = self.worst_cells(run, metric, system.as_deref(), alert.examples).unwrap_or_default();
    }

    fn worst_cells(
        &self,
        run: &str,
        metric: &str,
        system: Option<&str>,
        most: usize,
    ) -> Result<Vec<AlertExample>, AppError> {
        let plan = self.app.open_store()?.run(run)?.plan;
        if plan.privacy.sensitive || !plan.privacy.keep_content {
            return Ok(Vec::new());
        }
        let show = shown_paths(&plan);
        let sign = if is_lower_better(&plan, metric) { -1.0 } else { 1.0 };
        let mut worst: Vec<(f64, AlertExample)> = Vec::new();
        let filter = CellFilter { with_texts: true, ..CellFilter::default() };
        self.app.views().each_cell(run, &filter, &mut |line| {
            let Some(Score::Value { value, reason, .. }) = line.scores.get(metric) else { return Ok(()) };
            if system.is_some_and(|system| !is_of_system(line, system)) {
                return Ok(());
            }
            // Ties keep the order of the plan.
            let at = worst.partition_point(|(known, _)| *known <= value * sign);
            if at < most {
                worst.insert(at, (value * sign, example(line, *value, reason.clone(), &show)));
                worst.truncate(most);
            }
            Ok(())
        })?;
        let redactor = Redactor::of(&plan.privacy).ok().flatten();
        let redact = |text: Option<String>| match &redactor {
            Some(redactor) => text.map(|text| redactor.text(&text).into_owned()),
            None => text,
        };
        let clean = |(_, it): (f64, AlertExample)| AlertExample {
            sample: redact(Some(it.sample)).unwrap_or_default(),
            reason: redact(it.reason),
            output: redact(it.output),
            expected: redact(it.expected),
            ..it
        };
        Ok(worst.into_iter().map(clean).collect())
    }
}

/// The parts of outputs that the suite's list of failures shows, by name.
fn shown_paths(plan: &PlanHeader) -> Vec<(String, Path)> {
    let failures = plan.analyses.iter().filter(|spec| spec.analysis == "failures");
    let shown = failures.filter_map(|spec| spec.with.get("show")?.as_array()).flatten().filter_map(Value::as_str);
    let named = |text: &str| Some((text.trim_start_matches("$.").to_owned(), Path::parse(text).ok()?));
    shown.filter_map(named).collect()
}

/// The output as people read it: a text as it is, of anything else the shown parts, or all members, a line each.
fn output_text(output: &Value, show: &[(String, Path)]) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let shown: Vec<String> =
        show.iter().filter_map(|(name, path)| Some(format!("{name}: {}", text(path.first(output)?)))).collect();
    match output {
        Value::String(text) => text.clone(),
        _ if !shown.is_empty() => shown.join("\n"),
        Value::Object(members) => {
            members.iter().map(|(name, value)| format!("{name}: {}", text(value))).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

fn is_lower_better(plan: &PlanHeader, metric: &str) -> bool {
    plan.metrics.iter().any(|it| it.name == metric && it.better == Better::Lower)
}

fn is_of_system(line: &CellLine, system: &str) -> bool {
    match &line.model {
        Some(model) => system == format!("{model}/{}", line.variant) || system == line.variant,
        None => system == line.variant,
    }
}

fn example(line: &CellLine, value: f64, reason: Option<String>, show: &[(String, Path)]) -> AlertExample {
    let words = || line.judges.iter().map(|judge| judge.reasoning.clone()).find(|words| !words.is_empty());
    let output = line.output.as_ref().map(|output| output_text(output, show));
    let expected = SampleText::expected_text(&line.texts);
    AlertExample { sample: line.sample.clone(), score: Some(value), reason: reason.or_else(words), output, expected }
}
