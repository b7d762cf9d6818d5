//! Looks up the names in the options in the rubric.

use karat_types::{FieldType, PlanHeader, Rubric, ScorerKind};

use super::DiagnosticsOptions;

/// The parts of the rubric used by the analysis.
pub(super) struct RubricParts {
    /// Index of the scorer.
    pub scorer: usize,
    /// Name of the composite's metric.
    pub score: Option<String>,
    /// The lists of findings.
    pub lists: Vec<List>,
    /// Members and score names of the breakdown.
    pub categories: Vec<(String, Vec<String>)>,
    /// The words that `reasons` counts.
    pub reasons: Option<ReasonField>,
}

/// A field of a list of findings, whose words are counted.
pub(super) struct ReasonField {
    pub list: String,
    pub field: String,
    /// Its allowed words; empty if it is free text.
    pub words: Vec<String>,
}

/// One list of findings.
pub(super) struct List {
    pub name: String,
    /// The field with the position of an item.
    pub index: Option<String>,
    /// The field with the text.
    pub text: Option<String>,
}

impl RubricParts {
    pub fn of(plan: &PlanHeader, options: &DiagnosticsOptions) -> Result<Self, String> {
        let scorer = plan.scorers.iter().position(|known| known.id == options.scorer);
        let Some((scorer, spec)) = scorer.and_then(|at| Some((at, plan.scorers.get(at)?))) else {
            return Err(format!("scorer: {:?} is not a scorer of this run", options.scorer));
        };
        let ScorerKind::Rubric(judged) = &spec.kind else {
            return Err(format!("the scorer {:?} is not a rubric and has no diagnostics", options.scorer));
        };
        let rubric = &judged.rubric;
        let parts = Self {
            scorer,
            score: rubric.overall.as_ref().map(|overall| format!("{}.{}", spec.id, overall.id)),
            lists: rubric.diagnostics.iter().map(List::of).collect(),
            categories: categories(rubric, options)?,
            reasons: reasons(rubric, options)?,
        };
        let confusions = options.confusions.as_ref();
        let in_confidence = options.confidence.iter().flat_map(|it| &it.errors);
        let named = options.by_section.values().chain(confusions.map(|it| &it.of)).chain(in_confidence);
        named.into_iter().try_for_each(|name| parts.list(name).map(drop).ok_or_else(|| unknown_list(rubric, name)))?;
        if let Some(confusions) = confusions {
            for field in [&confusions.from, &confusions.to] {
                field_of(rubric, &confusions.of, field)?;
            }
        }
        Ok(parts)
    }

    pub fn list(&self, name: &str) -> Option<&List> {
        self.lists.iter().find(|list| list.name == name)
    }
}

impl List {
    fn of(spec: &karat_types::DiagnosticSpec) -> Self {
        let field = |wanted: fn(&FieldType) -> bool| {
            spec.fields.iter().find(|(_, kind)| wanted(kind)).map(|(name, _)| name.clone())
        };
        Self {
            name: spec.name.clone(),
            index: field(|kind| matches!(kind, FieldType::IndexOf(_))),
            text: field(FieldType::is_text),
        }
    }
}

fn unknown_list(rubric: &Rubric, name: &str) -> String {
    let known: Vec<&str> = rubric.diagnostics.iter().map(|list| list.name.as_str()).collect();
    format!("{name:?} is not a list of the rubric's diagnostics, which are {}", known.join(", "))
}

fn field_of<'a>(rubric: &'a Rubric, list: &str, field: &str) -> Result<&'a FieldType, String> {
    let spec = rubric.diagnostics.iter().find(|spec| spec.name == list).ok_or_else(|| unknown_list(rubric, list))?;
    let kind = spec.fields.iter().find(|(name, _)| name == field).map(|(_, kind)| kind);
    kind.ok_or_else(|| format!("the list {list:?} of the rubric's diagnostics has no field {field:?}"))
}

fn categories(rubric: &Rubric, options: &DiagnosticsOptions) -> Result<Vec<(String, Vec<String>)>, String> {
    let Some(name) = &options.breakdown else { return Ok(Vec::new()) };
    let Some(spec) = rubric.breakdowns.iter().find(|known| known.name == *name) else {
        return Err(format!("breakdown: the rubric has no breakdown {name:?}"));
    };
    let scores: Vec<String> = spec.scores.iter().map(|score| score.name.clone()).collect();
    Ok(spec.over.iter().map(|member| (member.clone(), scores.clone())).collect())
}

fn reasons(rubric: &Rubric, options: &DiagnosticsOptions) -> Result<Option<ReasonField>, String> {
    let Some(path) = &options.reasons else { return Ok(None) };
    let Some((list, field)) = path.split_once('.') else {
        return Err(format!("reasons is {path:?}, but must have the form `list.field`"));
    };
    let words = match field_of(rubric, list, field)? {
        FieldType::OneOf { words, .. } => words.clone(),
        _ => Vec::new(),
    };
    Ok(Some(ReasonField { list: list.to_owned(), field: field.to_owned(), words }))
}
