//! Makes a task: chooses its items, fixes everything that people see, and finds the labels that its items have already.

use std::collections::BTreeSet;
use std::path::PathBuf;

use karat_store::{NewAnnotationTask, NewStoredItem, StoredAnnotationTask};
use karat_types::{Key, KeyBuilder, ReferenceUse, RubricScorer, RunRows};
use regex::Regex;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::AppError;
use crate::analysis::items::ItemsRequest;
use crate::error::{AnnotateError, DatasetError, FileError};
use crate::stored::labels::answers::check_answers;
use crate::stored::labels::question::{Question, QuestionKind, questions_key};
use crate::stored::labels::settle::count_open;
use crate::stored::labels::state::{ItemState, LabelBody, kind};
use crate::stored::labels::task::{ItemBody, ItemOutput, TaskBody};
use crate::tasks::Tasks;
use crate::tasks::label_files::rubric_of;
use crate::tasks::people::plain_names;
use crate::tasks::selection::{self, Candidate, Selection};

/// The text in place of a masked part.
const MASK: &str = "█████";

/// The largest number of people of an item.
const MOST_PLACES: usize = 20;

/// The origin of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemsFrom {
    /// The outputs of a run.
    Run(String),
    /// The rows of a file.
    Dataset(PathBuf),
}

/// Items whose right answers are known.
#[derive(Debug, Clone, PartialEq)]
pub struct GoldItems {
    /// JSON lines of `{input?, reference?, output, scores{}}`.
    pub file: PathBuf,
    /// Share of gold among all items, from 0 to below 0.9.
    pub share: f64,
    /// Share of right gold items, from 0 to 1, below which the owner is warned of a person.
    pub limit: f64,
}

/// A text of a file, or as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextFrom {
    /// The content of a file.
    File(PathBuf),
    /// The text itself.
    Text(String),
}

impl TextFrom {
    fn read(&self) -> Result<String, AppError> {
        match self {
            Self::File(file) => Ok(std::fs::read_to_string(file).map_err(|error| FileError::reading(file, error))?),
            Self::Text(text) => Ok(text.clone()),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::File(file) => file.display().to_string(),
            Self::Text(_) => "of the request".to_owned(),
        }
    }
}

/// The request for a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRequest {
    /// The origin of its items.
    pub items: ItemsFrom,
    /// Its name; that of the suite or file if absent.
    pub name: Option<String>,
    /// The scorer whose rubric is asked; the first with a rubric if absent.
    pub scorer: Option<String>,
    /// Questions instead of a rubric: a YAML or JSON list.
    pub questions: Option<TextFrom>,
    /// Guidelines for people.
    pub guidelines: Option<TextFrom>,
    /// Number of different people who label each item.
    pub places: usize,
    /// Number of items; all if absent.
    pub count: Option<usize>,
    /// Maximum of different outputs per sample of a run.
    pub per_sample: usize,
    /// `random`, `stratified:COLUMN`, `verdict`, `uncertain`, `failed` or `ids:FILE`.
    pub select: String,
    /// The samples, in place of `select`.
    pub only: Option<BTreeSet<String>>,
    /// Items whose right answers are known.
    pub gold: Option<GoldItems>,
    /// The people who may label; everybody if empty.
    pub assigned: Vec<String>,
    /// Columns of a file that are shown beside what is labelled, with `input` and `reference`.
    pub show: Vec<String>,
    /// A regular expression of what is masked in outputs.
    pub mask: Option<String>,
    /// Seed of choice and order.
    pub seed: u64,
}

/// A task that was made, or that was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CreatedAnnotationTask")]
pub struct CreatedTask {
    /// Its name.
    pub task: String,
    /// Its version.
    pub version: u32,
    /// Hash of everything that people see, and of how it is handed out.
    pub hash: String,
    /// Number of its items.
    pub items: u64,
    /// False if the same task was there already.
    pub is_new: bool,
    /// Labels that its items have from earlier tasks with the same questions.
    pub known_labels: u64,
    /// Columns of its file that nobody sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
}

/// A task in which open items can be settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReopenedTask {
    /// Its name.
    pub task: String,
    /// Its version.
    pub version: u32,
    /// True if it was made now, because the version before is closed.
    pub is_new: bool,
    /// Items that are open.
    pub open: usize,
}

/// Everything that a task is made of, but its gold items.
struct Material {
    candidates: Vec<Candidate>,
    source: String,
    suite: Option<String>,
    scorer: Option<String>,
    questions: Vec<Question>,
    name: String,
    /// Columns of a file that nobody sees.
    hidden: Vec<String>,
    /// The metric by whose verdict items are chosen.
    verdict: Option<String>,
}

impl TaskRequest {
    /// The request for a task of all outputs of a run, each labelled by two people.
    pub fn new(items: ItemsFrom) -> Self {
        Self {
            items,
            name: None,
            scorer: None,
            questions: None,
            guidelines: None,
            places: 2,
            count: None,
            per_sample: 5,
            select: "random".to_owned(),
            only: None,
            gold: None,
            assigned: Vec::new(),
            show: Vec::new(),
            mask: None,
            seed: 1,
        }
    }
}

/// The samples of chosen outputs, each with its rank.
type ChosenRanks = BTreeSet<(String, Key)>;

impl Tasks<'_> {
    /// Makes a task. The same request makes the same task; a change makes a new version.
    ///
    /// # Errors
    /// No items or questions are left, a file or pattern cannot be read, or the store cannot be written.
    pub fn create(&self, asked: &TaskRequest) -> Result<CreatedTask, AppError> {
        if !(1..=MOST_PLACES).contains(&asked.places) {
            return Err(AnnotateError::Places { places: asked.places }.into());
        }
        if asked.count == Some(0) {
            return Err(AnnotateError::Count {}.into());
        }
        let selection = match &asked.only {
            Some(ids) => Selection::Ids { file: "the list of ids".to_owned(), ids: ids.clone() },
            None => Selection::parse(&asked.select)?,
        };
        let material = self.material(asked, &selection)?;
        selection.check_ids(&material.candidates)?;
        let name = asked.name.clone().unwrap_or_else(|| plain_name(&material.name));
        check_name(&name)?;
        let assigned = plain_names(&asked.assigned)?;
        if !assigned.is_empty() && assigned.len() < asked.places {
            return Err(AnnotateError::TooFew { people: assigned.len(), places: asked.places }.into());
        }
        let guidelines = asked.guidelines.as_ref().map(TextFrom::read).transpose()?.unwrap_or_default();
        let mask = asked.mask.as_deref().map(parse_mask).transpose()?;
        let key = questions_key(&material.questions, &guidelines);
        let is_pair = material.questions.iter().any(|question| question.kind == QuestionKind::Pairwise);
        let (mut items, chosen) = self.items(&material, asked, &selection, is_pair)?;
        if items.is_empty() {
            return Err(AnnotateError::NoItems { source_name: material.source }.into());
        }
        let design = selection.design(&material.candidates, &chosen, material.verdict.clone())?;
        if let Some(gold) = asked.gold.as_ref().filter(|_| !is_pair) {
            items.extend(gold_items(gold, &material.questions, items.len(), asked)?);
        }
        if let Some(mask) = &mask {
            let outputs = items.iter_mut().flat_map(|item| &mut item.outputs);
            outputs.for_each(|output| output.text = mask.replace_all(&output.text, MASK).into_owned());
        }
        let hidden = material.hidden;
        let body = TaskBody {
            source: material.source,
            suite: material.suite,
            scorer: material.scorer,
            questions: material.questions,
            questions_key: key,
            guidelines,
            places: asked.places,
            seed: asked.seed,
            select: asked.select.clone(),
            targeted: selection.is_targeted(),
            design: Some(design),
            reopens: None,
            assigned,
            gold_limit: asked.gold.as_ref().map_or(0.0, |gold| gold.limit),
        };
        Ok(CreatedTask { hidden, ..self.store_task(&name, &body, &items)? })
    }

    /// The task in which the open items of one can be settled: itself, or if it is closed the next version with its labels
    /// and decisions.
    ///
    /// # Errors
    /// An unknown task; the store cannot be written.
    pub fn reopen(&self, name: &str) -> Result<ReopenedTask, AppError> {
        let task = self.app.stored().loaded_task(name)?;
        let (open, decisions) = self.app.stored().read_state(&task, |state| {
            let decided = |(at, item): (usize, &ItemState)| Some((at as u64, item.adjudication.clone()?));
            let decisions: Vec<_> = state.items.iter().enumerate().filter_map(decided).collect();
            (count_open(&task, state), state.closed.as_ref().map(|_| decisions))
        })?;
        let (mut version, mut is_new) = (task.stored.version, false);
        if let Some(decisions) = decisions.filter(|_| open > 0) {
            let reopens = Some(format!("{}@{version}", task.stored.name));
            let made = self.store_task(&task.stored.name, &TaskBody { reopens, ..task.body.clone() }, &task.items)?;
            (version, is_new) = (made.version, made.is_new);
            let next = self.app.stored().loaded_task(&format!("{}@{version}", made.task))?;
            let (now, store) = (self.app.clock.now(), self.app.open_store()?);
            let text = |source| AnnotateError::Damaged { task: made.task.clone(), source };
            store.change_annotations(next.stored.id, |change| {
                for (position, (person, decision, _)) in decisions.iter().filter(|_| is_new) {
                    let body = serde_json::to_string(decision).map_err(text)?;
                    change.add_event(Some(*position), person, kind::ADJUDICATE, &body, now)?;
                }
                Ok::<_, AppError>(())
            })?;
        }
        Ok(ReopenedTask { task: task.stored.name.clone(), version, is_new, open })
    }

    fn store_task(&self, name: &str, body: &TaskBody, items: &[ItemBody]) -> Result<CreatedTask, AppError> {
        let text = |error| AnnotateError::Damaged { task: name.to_owned(), source: error };
        let stored = items.iter().map(|item| {
            let body_text = serde_json::to_string(item).map_err(text)?;
            Ok(NewStoredItem { shown: item.shown_key(body.questions_key), body: body_text })
        });
        let stored: Vec<NewStoredItem> = stored.collect::<Result<_, AppError>>()?;
        let frozen = serde_json::to_string(body).map_err(text)?;
        let hash = stored.iter().fold(KeyBuilder::new("karat/annotation/task/1").text(&frozen), |key, item| {
            key.key(item.shown).text(&item.body)
        });
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|source| AnnotateError::NoRandom { source })?;
        let hash = hash.finish();
        let new = NewAnnotationTask { name, secret, hash, body: &frozen, items: &stored, at: self.app.clock.now() };
        let (task, is_new) = self.app.open_store()?.add_annotation_task(&new)?;
        let known_labels = if is_new { self.copy_known_labels(&task, &stored)? } else { 0 };
        Ok(CreatedTask {
            task: task.name,
            version: task.version,
            hash: hash.to_string(),
            items: task.items,
            is_new,
            known_labels,
            hidden: Vec::new(),
        })
    }

    /// Adds the labels that the same people gave to the same items in earlier tasks. The hash of an item covers the
    /// questions, so each of them was asked in the same words.
    fn copy_known_labels(&self, task: &StoredAnnotationTask, items: &[NewStoredItem]) -> Result<u64, AppError> {
        let store = self.app.open_store()?;
        let tasks = store.annotation_tasks()?;
        let mut known: Vec<(u64, String, LabelBody)> = Vec::new();
        let twins = store.annotation_twins(task.id)?;
        for (position, item) in (0_u64..).zip(items) {
            for (other, at) in twins.get(&item.shown).into_iter().flatten().copied() {
                let Some(stored) = tasks.iter().find(|it| it.id == other) else { continue };
                let loaded = self.app.stored().load_task(stored.clone())?;
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                let labels = self.app.stored().read_state(&loaded, |state| {
                    let labels = state.labels(at).map(|(person, label)| (person.clone(), label.body.clone()));
                    labels.collect::<Vec<_>>()
                })?;
                let earlier = format!("{}@{}", stored.name, stored.version);
                for (person, label) in labels {
                    let label = LabelBody { earlier: Some(earlier.clone()), previous: None, ..label };
                    match known.iter_mut().find(|(place, other, _)| *place == position && *other == person) {
                        // Tasks come in the order in which they were made: the last label of a person counts.
                        Some((.., kept)) => *kept = label,
                        None => known.push((position, person, label)),
                    }
                }
            }
        }
        let places = self.app.stored().load_task(task.clone())?.body.places;
        let (now, mut counted) = (self.app.clock.now(), std::collections::BTreeMap::<u64, usize>::new());
        store.change_annotations(task.id, |change| {
            for (position, person, label) in &mut known {
                let taken = counted.entry(*position).or_default();
                label.counted = *taken < places;
                *taken += 1;
                let body = serde_json::to_string(label)
                    .map_err(|source| AnnotateError::Damaged { task: task.name.clone(), source })?;
                change.add_event(Some(*position), person, kind::LABEL, &body, now)?;
            }
            Ok::<_, AppError>(known.len() as u64)
        })
    }

    fn material(&self, asked: &TaskRequest, selection: &Selection) -> Result<Material, AppError> {
        let own = asked.questions.as_ref().map(|from| Question::parse_file(&from.read()?, &from.name()));
        let own = own.transpose()?;
        match &asked.items {
            ItemsFrom::Dataset(_) if matches!(selection, Selection::Verdict(_)) => {
                let problem = "rows of a file have no verdict of a judge: name a run".to_owned();
                Err(AnnotateError::Select { text: asked.select.clone(), problem }.into())
            }
            ItemsFrom::Dataset(file) => {
                let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                let rows = selection::read_rows(file)?;
                Ok(Material {
                    hidden: selection::hidden_columns(&rows, &asked.show)?,
                    candidates: selection::of_rows(rows, asked.seed, &asked.show),
                    source: file.display().to_string(),
                    suite: None,
                    scorer: None,
                    questions: own.ok_or(AnnotateError::NoQuestions {})?,
                    name: stem,
                    verdict: None,
                })
            }
            ItemsFrom::Run(run) => {
                let stored = self.app.stored().run(run)?;
                let plan = stored.header().plan.clone();
                let rubric = rubric_of(&plan, asked.scorer.as_deref());
                let verdict = match (&rubric, selection) {
                    (Ok((id, _)), _) => selection.verdict_metric(&plan, id)?,
                    (Err(_), Selection::Verdict(_)) => {
                        let problem = "the run has no scorer with a judge".to_owned();
                        return Err(AnnotateError::Select { text: asked.select.clone(), problem }.into());
                    }
                    (Err(_), _) => None,
                };
                let (scorer, questions, reference) = match (own, rubric) {
                    (Some(own), rubric) => {
                        let reference = rubric.map_or(ReferenceUse::Optional, |(_, it)| it.rubric.reference);
                        (None, own, reference)
                    }
                    (None, rubric) => {
                        let (id, it): (&str, &RubricScorer) = rubric?;
                        (Some(id.to_owned()), Question::of_rubric(it), it.rubric.reference)
                    }
                };
                Ok(Material {
                    hidden: Vec::new(),
                    candidates: selection::of_run(&stored, asked.seed, asked.per_sample, reference, verdict)?,
                    source: format!("run {}", stored.header().id),
                    suite: Some(plan.suite.clone()),
                    scorer,
                    questions,
                    name: plan.suite.clone(),
                    verdict: verdict.and_then(|at| Some(plan.metrics.get(at)?.name.clone())),
                })
            }
        }
    }

    /// The chosen candidates with their outputs, and their samples and ranks; for pairs, two outputs of each sample.
    fn items(
        &self,
        material: &Material,
        asked: &TaskRequest,
        selection: &Selection,
        is_pair: bool,
    ) -> Result<(Vec<ItemBody>, ChosenRanks), AppError> {
        let run = match &asked.items {
            ItemsFrom::Run(run) => Some(self.app.stored().run(run)?),
            ItemsFrom::Dataset(_) => None,
        };
        let output = |candidate: &Candidate| -> Result<Option<ItemOutput>, AppError> {
            let output = match (&candidate.output, &run) {
                (Some(output), _) => Some(output.clone()),
                (None, Some(run)) => run.output(candidate.ordinal)?,
                (None, None) => None,
            };
            Ok(output.map(|output| ItemOutput {
                text: selection::shown_text(&output),
                output,
                model: candidate.model.clone(),
                variant: candidate.variant.clone(),
            }))
        };
        let mut candidates = material.candidates.clone();
        let mut others: Vec<Candidate> = Vec::new();
        if is_pair {
            // The first two outputs of each sample in the seeded order.
            candidates.sort_by(|a, b| (&a.sample, a.rank).cmp(&(&b.sample, b.rank)));
            let (mut firsts, mut seconds): (Vec<Candidate>, Vec<Candidate>) = (Vec::new(), Vec::new());
            for candidate in candidates {
                let is_of = |it: &Candidate| it.sample == candidate.sample;
                match (firsts.last().is_some_and(is_of), seconds.last().is_some_and(is_of)) {
                    (false, _) => firsts.push(candidate),
                    (true, false) => seconds.push(candidate),
                    (true, true) => {}
                }
            }
            firsts.retain(|first| seconds.iter().any(|second| second.sample == first.sample));
            (candidates, others) = (firsts, seconds);
        }
        let (mut items, mut chosen) = (Vec::new(), BTreeSet::new());
        for candidate in selection::choose(candidates, selection, asked.count)? {
            let second = others.iter().find(|other| other.sample == candidate.sample);
            let mut outputs: Vec<ItemOutput> = output(&candidate)?.into_iter().collect();
            if let Some(second) = second {
                outputs.extend(output(second)?);
                // By system, so that balanced sides are balanced systems.
                outputs.sort_by(|a, b| (&a.model, &a.variant).cmp(&(&b.model, &b.variant)));
            }
            if outputs.len() == if is_pair { 2 } else { 1 } {
                chosen.insert((candidate.sample.clone(), candidate.rank));
                items.push(selection::item(candidate, outputs));
            }
        }
        Ok((items, chosen))
    }
}

/// Gold items of a file: so many that they are the wanted share of all.
fn gold_items(
    gold: &GoldItems,
    questions: &[Question],
    others: usize,
    asked: &TaskRequest,
) -> Result<Vec<ItemBody>, AppError> {
    if !(gold.share > 0.0 && gold.share < 0.9) {
        return Err(AnnotateError::Share { share: gold.share }.into());
    }
    if !(0.0..=1.0).contains(&gold.limit) {
        return Err(AnnotateError::GoldLimit { limit: gold.limit }.into());
    }
    let wanted = (gold.share * others as f64 / (1.0 - gold.share)).ceil() as usize;
    let wrong = |problem: String| AnnotateError::Gold { file: gold.file.display().to_string(), problem };
    let mut rows = selection::read_rows(&gold.file)?;
    let mut answers = Vec::new();
    for (at, row) in rows.iter_mut().enumerate() {
        let scores = match row.remove("scores").or_else(|| row.remove("answers")) {
            Some(Value::Object(scores)) => scores,
            _ => return Err(wrong(format!("row {} has no `scores`", at + 1)).into()),
        };
        let text = row.get("output").map(selection::shown_text);
        let text = text.ok_or_else(|| wrong(format!("row {} has no `output`", at + 1)))?;
        check_answers(questions, &scores, &text).map_err(|problem| wrong(format!("row {}: {problem}", at + 1)))?;
        let is_comparable = |question: &Question| question.kind != QuestionKind::Text;
        if !questions.iter().any(|question| is_comparable(question) && scores.contains_key(&question.id)) {
            let problem = "answers free text only, which is neither right nor wrong: answer another question, too";
            return Err(wrong(format!("row {} {problem}", at + 1)).into());
        }
        row.insert("id".to_owned(), Value::from(at + 1));
        answers.push(scores);
    }
    if answers.is_empty() {
        return Err(wrong("there is no row".to_owned()).into());
    }
    let mut candidates = selection::of_rows(rows, asked.seed, &asked.show);
    candidates.sort_by_key(|candidate| candidate.rank);
    let item = |candidate: Candidate| {
        let output = candidate.output.clone()?;
        let at: usize = candidate.sample.parse().ok()?;
        let gold: Option<Map<String, Value>> = answers.get(at.checked_sub(1)?).cloned();
        let outputs = vec![ItemOutput { text: selection::shown_text(&output), output, model: None, variant: None }];
        Some(ItemBody { sample: format!("gold {at}"), gold, ..selection::item(candidate, outputs) })
    };
    Ok(candidates.into_iter().take(wanted).filter_map(item).collect())
}

fn parse_mask(pattern: &str) -> Result<Regex, AppError> {
    let wrong = |error: regex::Error| AnnotateError::Mask { pattern: pattern.to_owned(), problem: error.to_string() };
    Ok(Regex::new(pattern).map_err(wrong)?)
}

/// A name of a suite or file with everything replaced that a task's name cannot have.
fn plain_name(name: &str) -> String {
    let plain: String = name.chars().map(|it| if is_plain(it) { it } else { '-' }).take(64).collect();
    let plain = plain.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric());
    if plain.is_empty() { "task".to_owned() } else { plain.to_owned() }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_-.".contains(letter)
}

fn check_name(name: &str) -> Result<(), AppError> {
    // Names stand in addresses and on command lines.
    let begins_well = name.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    if !begins_well || name.len() > 64 || !name.chars().all(is_plain) {
        return Err(AnnotateError::BadName { name: name.to_owned() }.into());
    }
    Ok(())
}

/// The questions about an item that may be wrong.
const QUESTIONS: &str = r#"[
  {"id": "reference", "ask": "Is the reference right?", "kind": "choice",
   "choices": [{"id": "right"}, {"id": "wrong"}, {"id": "unclear", "text": "The question has no single answer"}]},
  {"id": "answer", "ask": "What is the right answer?", "kind": "text", "required": false, "show_if": {"reference": "wrong"}}
]"#;

const GUIDELINES: &str = "Systems contradict the references of these items, or fail on all of them. Decide from the input \
alone: an answer that many systems give can be wrong.";

impl Tasks<'_> {
    /// Makes a task for people of the items that may be wrong, with an output of each in the newest run. The same suspects
    /// make the same task.
    ///
    /// # Errors
    /// No item may be wrong, the newest run keeps no outputs of them, and as [`Analysis::items`](crate::Analysis::items).
    pub fn create_suspects(&self, asked: &ItemsRequest) -> Result<CreatedTask, AppError> {
        let found = self.app.analysis().items(asked)?;
        let ids: BTreeSet<String> = found.analysis().suspects().map(|item| item.id.clone()).collect();
        let (Some(newest), false) = (found.analysis().runs.first(), ids.is_empty()) else {
            return Err(DatasetError::NoSuspects { suite: found.analysis().suite.clone() }.into());
        };
        self.create(&TaskRequest {
            name: Some(suspects_task(&found.analysis().suite)),
            questions: Some(TextFrom::Text(QUESTIONS.to_owned())),
            guidelines: Some(TextFrom::Text(GUIDELINES.to_owned())),
            per_sample: 1,
            only: Some(ids),
            ..TaskRequest::new(ItemsFrom::Run(newest.clone()))
        })
    }
}

/// The name of the task of a suite's suspects.
pub fn suspects_task(suite: &str) -> String {
    let plain = suite.chars().map(|it| if it.is_ascii_alphanumeric() || "_-.".contains(it) { it } else { '-' });
    let name: String = plain.take(50).collect();
    let name = name.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric());
    format!("{}-suspects", if name.is_empty() { "suite" } else { name })
}
