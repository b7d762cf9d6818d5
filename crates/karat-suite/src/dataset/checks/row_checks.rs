//! The checks that rows hold for themselves (role `assert`): found wrong while the suite is loaded, not in the run.

use std::collections::BTreeMap;

use karat_text::path::Path;
use karat_types::{
    Better, ChunkMerge, Consensus, Dimension, InvalidReplyRule, MetricTraits, PairOrders, Parameters, Rationale,
    ReferenceUse, ReplyShape, Rubric, RubricScorer, Scale, ScorerKind, ScorerSpec, ShowAs, ShowItem,
};
use serde_json::{Map, Value};

use crate::catalog::{Catalog, Entry};
use crate::decode::scorers::nested::{CHECKS, CHECKS_OF};
use crate::diagnostics::nearest::nearest;
use crate::syntax::json_schema::fault_of_schemas;

/// The column that holds them where the suite names none.
pub(crate) const COLUMN: &str = "assert";

/// The key of a check that a judge decides.
const RUBRIC: &str = "rubric";

/// The metric of these checks, after the column's name.
const JUDGED: &str = "judged";

/// The question for the judge of row checks.
const ASK: &str = "Decide whether the output meets every requirement that is listed. It passes only if it meets all of \
     them; say which it does not meet.";

const KEYS: &[&str] = &["id", "metric", "with", "output", "reference", "value", "min", "max", "not"];

/// The key of a check's weight in a mean.
const WEIGHT: &str = "weight";

/// The part of a check in the list that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weighting {
    /// It passes or fails for itself.
    None,
    /// It counts in a weighted mean.
    Weighted,
}

/// The message and the hint.
type CheckProblem = (String, Option<String>);

/// The column with the checks of rows, and the checks that it may hold.
#[derive(Debug, Clone)]
pub(crate) struct RowChecks {
    /// Their place in the row.
    pub path: Path,
    metrics: BTreeMap<String, Entry>,
}

/// The reason why a metric cannot be part of a row.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    /// It asks a service or a program.
    Outside,
    /// It asks a model for vectors.
    Embeds,
    /// It reads a file.
    Joins,
}

impl Refusal {
    fn of(traits: &MetricTraits) -> Option<Self> {
        [(traits.outside, Self::Outside), (traits.embeds, Self::Embeds), (traits.joins, Self::Joins)]
            .into_iter()
            .find_map(|(applies, refusal)| applies.then_some(refusal))
    }

    /// The reason, and the hint.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Outside => ("it calls a service or a program", "rows cannot call services or run programs"),
            Self::Embeds => ("it asks a model for vectors", "rows cannot call models"),
            Self::Joins => ("it reads a file", "rows cannot name files"),
        }
    }
}

impl RowChecks {
    pub fn new(path: Path, catalog: &Catalog) -> Self {
        Self { path, metrics: catalog.metrics.clone() }
    }

    /// Returns whether a row has any that a metric decides.
    pub fn are_in(&self, row: &Value) -> bool {
        self.items(row).any(|check| check.get(RUBRIC).is_none())
    }

    /// Returns whether a row has any that a judge decides.
    pub fn are_judged_in(&self, row: &Value) -> bool {
        self.items(row).any(|check| check.get(RUBRIC).is_some())
    }

    fn items<'r>(&self, row: &'r Value) -> impl Iterator<Item = &'r Value> {
        self.path.first(row).and_then(Value::as_array).into_iter().flatten()
    }

    /// The checks of all rows that a judge decides, as one scorer: the judge sees the row's own requirements, and rows
    /// without any are left out.
    pub fn judge_scorer(&self, judges: &[String], has_input: bool) -> ScorerSpec {
        let column = self.path.to_string();
        let list = format!("sample.{} | default([], true) | selectattr('{RUBRIC}')", column.trim_start_matches("$."));
        let show = |name: &str, value: String, form: ShowAs| ShowItem {
            name: name.to_owned(),
            value,
            about: None,
            form,
            line: None,
            shuffle: false,
            route: None,
            chunk: None,
            times: None,
            required: false,
        };
        let requirements = format!("{{{{ {list} | map(attribute='{RUBRIC}.ask') | list }}}}");
        let input = has_input.then(|| show("input", "{{ input }}".to_owned(), ShowAs::Text));
        let shown = [
            show("requirements", requirements, ShowAs::Lines),
            show("output", "{{ output }}".to_owned(), ShowAs::Text),
        ];
        let mut reads = vec!["output".to_owned(), column_name(&column)];
        reads.extend(has_input.then(|| "input".to_owned()));
        let rubric = Rubric {
            id: COLUMN.to_owned(),
            version: None,
            ask: ASK.to_owned(),
            show: input.into_iter().chain(shown).collect(),
            reference: ReferenceUse::Hidden,
            dimensions: vec![Dimension {
                name: JUDGED.to_owned(),
                definition: Some("Every requirement is met.".to_owned()),
                scale: Scale::Choices(vec![("pass".to_owned(), 1.0), ("fail".to_owned(), 0.0)]),
                weight: 1.0,
                anchors: Default::default(),
                better: Better::Higher,
                chunks: ChunkMerge::Weighted,
                counted: None,
            }],
            breakdowns: Vec::new(),
            overall: None,
            rationale: Rationale::default(),
            diagnostics: Vec::new(),
            caps: Vec::new(),
            reply: ReplyShape::default(),
            examples: 0,
            prompt: None,
            invalid: InvalidReplyRule::default(),
        };
        let kind = ScorerKind::Rubric(Box::new(RubricScorer {
            rubric,
            judges: judges.to_vec(),
            consensus: Consensus::default(),
            parameters: Parameters::default(),
            timeout_ms: None,
            votes: 1,
            versus: None,
            pairs_per_sample: None,
            orders: PairOrders::default(),
            only_where: Some(format!("{list} | list | length > 0")),
            labels: Vec::new(),
            reads,
        }));
        ScorerSpec::new(Self::judged_id(), kind)
    }

    /// The id of the scorer of [`Self::judge_scorer`].
    pub fn judged_id() -> String {
        format!("{COLUMN}.{JUDGED}")
    }

    /// Checks a row's own list. `has_reference`: whether the row holds something to compare with.
    pub fn check_row(&self, row: &Value, has_reference: bool) -> Result<(), CheckProblem> {
        match self.path.first(row) {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Array(items)) => items.iter().try_for_each(|item| self.item(item, has_reference)),
            Some(_) => Err((
                "`assert` must be a list of checks".to_owned(),
                Some("write `assert: [ { metric: … } ]`".to_owned()),
            )),
        }
    }

    fn item(&self, item: &Value, has_reference: bool) -> Result<(), CheckProblem> {
        let Value::Object(check) = item else {
            return Err((
                "a check in `assert` must be a map".to_owned(),
                Some("write `{ metric: …, value: … }`".to_owned()),
            ));
        };
        if let Some(rubric) = check.get(RUBRIC) {
            return requirement(check, rubric);
        }
        self.check(check, has_reference, Weighting::None)
    }

    /// Checks one check of a row's list, or of a list within it.
    fn check(&self, check: &Map<String, Value>, has_reference: bool, weighting: Weighting) -> Result<(), CheckProblem> {
        let keys = || KEYS.iter().copied().chain((weighting == Weighting::Weighted).then_some(WEIGHT));
        if let Some(key) = check.keys().find(|key| !keys().any(|known| known == key.as_str())) {
            return Err((format!("unknown key `{key}` in a check of `assert`"), did_you_mean(key, keys())));
        }
        let Some(metric) = check.get("metric").and_then(Value::as_str) else {
            return Err(("a check in `assert` needs `metric`".to_owned(), None));
        };
        let Some(known) = self.metrics.get(metric) else {
            let known = self.metrics.keys().map(String::as_str);
            return Err((format!("there is no metric `{metric}`"), did_you_mean(metric, known)));
        };
        if let Some((reason, hint)) = Refusal::of(&known.metric).map(Refusal::words) {
            let hint = format!("make it a scorer of the suite: {hint}");
            return Err((format!("`{metric}` is not allowed in `assert`: {reason}"), Some(hint)));
        }
        if !has_reference && known.metric.reference_unless.is_some_and(|options| is_left_to_row(check, options)) {
            let hint = "add `value` to the check, or a reference to the row".to_owned();
            return Err((format!("`{metric}` in `assert` has nothing to compare with"), Some(hint)));
        }
        if metric == CHECKS {
            self.check_list(check, has_reference)?;
        }
        let with = check.get("with").and_then(Value::as_object);
        if let Some(fault) = with.and_then(|with| fault_of_schemas(with, &known.options)) {
            return Err((format!("`{metric}` in `assert`: {fault}"), None));
        }
        match weighting {
            Weighting::Weighted if known.is_share(with.unwrap_or(&Map::new())) => Ok(()),
            _ => decides(metric, known.metric.binary, check),
        }
    }

    /// Checks the list of a weighted mean.
    fn check_list(&self, checks: &Map<String, Value>, has_reference: bool) -> Result<(), CheckProblem> {
        let of = checks.get("with").and_then(|with| with.get(CHECKS_OF)).and_then(Value::as_array);
        let Some(items) = of.filter(|items| !items.is_empty()) else {
            let hint = "write `with: { of: [ { metric: …, weight: 2 } ] }`".to_owned();
            return Err((format!("`{CHECKS}` in `assert` needs a list of checks"), Some(hint)));
        };
        let mut total = 0.0;
        for item in items {
            let Value::Object(check) = item else {
                return Err((format!("a check of `{CHECKS}` must be a map"), None));
            };
            if check.contains_key(RUBRIC) {
                let hint = format!("put the rubric beside `{CHECKS}`");
                return Err((format!("`{CHECKS}` cannot hold a rubric: a judge decides it later"), Some(hint)));
            }
            total += weight(check)?;
            self.check(check, has_reference, Weighting::Weighted)?;
        }
        if total <= 0.0 {
            return Err((format!("every check of `{CHECKS}` has the weight 0, so they have no mean"), None));
        }
        Ok(())
    }
}

/// The weight of a check in a mean.
fn weight(check: &Map<String, Value>) -> Result<f64, CheckProblem> {
    let Some(given) = check.get(WEIGHT) else { return Ok(1.0) };
    let number = given.as_f64().filter(|weight| *weight >= 0.0);
    number.ok_or_else(|| (format!("`{WEIGHT}` must be a number of at least 0, not {given}"), None))
}

/// A check for a judge is one requirement in words.
fn requirement(check: &Map<String, Value>, rubric: &Value) -> Result<(), CheckProblem> {
    let ask = rubric.as_object().filter(|it| it.len() == 1).and_then(|it| it.get("ask")).and_then(Value::as_str);
    if ask.is_none_or(|ask| ask.trim().is_empty()) {
        let hint = "a rubric with more than that is a scorer of the suite".to_owned();
        return Err(("a `rubric` in `assert` is `{ ask: … }`: one requirement in words".to_owned(), Some(hint)));
    }
    match check.keys().find(|key| !["id", RUBRIC].contains(&key.as_str())) {
        Some(key) => {
            let hint = "describe it in the text of the requirement".to_owned();
            Err((format!("a `rubric` in `assert` has no `{key}` beside it"), Some(hint)))
        }
        None => Ok(()),
    }
}

/// The name of the checks in lists of read names.
fn column_name(path: &str) -> String {
    let path = path.trim_start_matches("$.");
    format!("sample.{}", path.split(['.', '[']).next().unwrap_or_default())
}

/// Returns whether a check names nothing to compare with: neither a place nor a literal, nor an option in their place.
fn is_left_to_row(check: &Map<String, Value>, options: &[&str]) -> bool {
    let is_given = |map: &Map<String, Value>, key: &str| map.get(key).is_some_and(|value| !value.is_null());
    let has_option = check.get("with").and_then(Value::as_object).is_some_and(|with| {
        let stands_in = |option: &&str| is_given(with, option) && with.get(*option) != Some(&Value::Array(Vec::new()));
        options.iter().any(stands_in)
    });
    !is_given(check, "reference") && !is_given(check, "value") && !has_option
}

/// A metric that is not a pass/fail needs a bound that makes it one.
fn decides(metric: &str, binary: bool, check: &Map<String, Value>) -> Result<(), CheckProblem> {
    if binary || check.contains_key("min") || check.contains_key("max") {
        return Ok(());
    }
    Err((format!("`{metric}` in `assert` needs a limit: it gives a number"), Some("add `min` or `max`".to_owned())))
}

fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|near| format!("did you mean `{near}`?"))
}
