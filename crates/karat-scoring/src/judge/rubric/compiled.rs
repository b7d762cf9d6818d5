//! A rubric, compiled for one judge model.

use std::sync::Arc;

use karat_text::template::{Expression, Template, TemplateError};
use karat_types::{
    Cap, ChunkMerge, FieldType, FindingMerge, JsonMode, Key, KeyBuilder, ModelSpec, OverallMethod, PairOrders,
    Parameters, ReplyFormat, Rubric, RubricPrompt, RubricScorer, ShowItem,
};

use super::counted::{CompiledShare, drop_counted};
use super::examples::Examples;
use super::item::{Item, Side, of_output};
use crate::judge::rubric::section_labels;
use crate::judge::{RubricError, identity, reads, reply};

/// The default limit of a reply, in tokens.
const REPLY_TOKENS: u32 = 4000;

/// The part of a rubric that a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aspect {
    /// All of it.
    Full,
    /// The part that is judged by pieces.
    Parts,
    /// The part that is judged once, beside the pieces.
    Once,
}

/// The temperature of a judge's calls: the one that is set, or 0, so that the same output gets the same grade. Beside a `top_p`,
/// or for a model that refuses one, the provider's own.
fn temperature(parameters: &Parameters, judge: &ModelSpec) -> Option<f64> {
    let is_default = parameters.top_p.is_none() && judge.takes_temperature();
    parameters.temperature.or_else(|| is_default.then_some(0.0))
}

/// A rubric as one call sees it.
#[derive(Debug)]
pub(crate) struct RubricView {
    pub rubric: Rubric,
    pub format: ReplyFormat,
}

impl RubricView {
    fn new(mut rubric: Rubric, mode: JsonMode) -> Self {
        drop_counted(&mut rubric);
        Self { format: format(&rubric, mode), rubric }
    }

    /// The part of a rubric that is judged once, or all but that part.
    fn of(rubric: &Rubric, once: bool, mode: JsonMode) -> Self {
        let mut rubric = rubric.clone();
        rubric.dimensions.retain(|dimension| (dimension.chunks == ChunkMerge::Once) == once);
        rubric.diagnostics.retain(|diagnostic| (diagnostic.chunks == FindingMerge::Once) == once);
        if once {
            rubric.breakdowns.clear();
            rubric.overall = None;
        }
        Self::new(rubric, mode)
    }
}

/// Everything that stays the same from one judgment to the next.
#[derive(Debug)]
pub(crate) struct CompiledRubric {
    /// The judge's id; no prompt holds it.
    pub judge: String,
    pub rubric: Rubric,
    full: RubricView,
    /// The parts judged by pieces and judged once; only where the rubric says `once` anywhere.
    apart: Option<(RubricView, RubricView)>,
    /// The template of the times of the document's stretches.
    pub times: Option<Template>,
    pub items: Vec<Item>,
    pub caps: Vec<(Cap, Expression)>,
    /// By dimension; none for those that the judge grades.
    pub shares: Vec<Option<CompiledShare>>,
    pub examples: Examples,
    pub prompt: Option<OwnPrompt>,
    pub parameters: Parameters,
    /// Tokens that request and reply may have together.
    pub window: Option<u64>,
    pub reads: Vec<String>,
    pub identity: Key,
    /// The hash of the rubric, for the codes of calls.
    pub rubric_hash: String,
    /// True if two outputs are shown, and the judge says which is better.
    pub is_pair: bool,
    /// True if the output is compared with any number of others.
    pub is_tournament: bool,
    /// Rows for which it does not hold are not judged.
    pub only_where: Option<Expression>,
    pub orders: PairOrders,
    pub votes: u32,
}

/// The rubric's own wording.
#[derive(Debug)]
pub(crate) struct OwnPrompt {
    pub system: Template,
    pub user: Template,
}

impl CompiledRubric {
    pub fn new(scorer: &RubricScorer, judge: &ModelSpec) -> Result<Self, RubricError> {
        let mut rubric = scorer.rubric.clone();
        let is_pair = scorer.versus.is_some();
        let sides = if is_pair { show_both(&mut rubric)? } else { vec![None; rubric.show.len()] };
        check(&rubric)?;
        let items = items(&rubric, &sides)?;
        let caps = caps(&rubric)?;
        let shares = shares(&rubric)?;
        let times = rubric.show.iter().find_map(|item| Some((item, item.times.as_deref()?)));
        let times = times.map(|(item, times)| compile(&rubric, || format!("`show.{}.times`", item.name), times));
        let times = times.transpose()?;
        let names = items
            .iter()
            .flat_map(|item| item.value.reads().iter().chain(item.line.iter().flat_map(Template::reads)))
            .chain(times.iter().flat_map(Template::reads))
            .chain(caps.iter().flat_map(|(_, when)| when.reads()));
        let mut parameters = scorer.parameters.or(&judge.parameters);
        let asked = parameters.max_tokens.unwrap_or(REPLY_TOKENS);
        parameters.temperature = temperature(&parameters, judge);
        parameters.max_tokens = Some(judge.max_output.map_or(asked, |bound| asked.min(bound)));
        Ok(Self {
            judge: judge.id.clone(),
            reads: reads(names.cloned(), rubric.reference),
            examples: Examples::new(&rubric, &items, &scorer.labels),
            prompt: rubric.prompt.as_ref().map(|prompt| own_prompt(&rubric, prompt)).transpose()?,
            full: RubricView::new(rubric.clone(), judge.json_mode),
            apart: rubric.judges_once().then(|| {
                let view = |once| RubricView::of(&rubric, once, judge.json_mode);
                (view(false), view(true))
            }),
            times,
            window: judge.context_window,
            identity: identity(scorer),
            rubric_hash: KeyBuilder::new("karat/judge/code/1").json(&scorer.rubric).finish().to_string(),
            is_pair,
            is_tournament: scorer.versus == Some(karat_types::Versus::All),
            only_where: scorer.only_where.as_deref().map(|text| only_where(&scorer.rubric, text)).transpose()?,
            orders: scorer.orders,
            votes: scorer.votes.max(1),
            parameters,
            items,
            caps,
            shares,
            rubric,
        })
    }

    /// The names of a verdict's scores.
    pub fn names(&self) -> Vec<&str> {
        let dimensions = self.rubric.dimensions.iter().map(|dimension| dimension.name.as_str());
        dimensions.chain(self.rubric.overall.iter().map(|overall| overall.id.as_str())).collect()
    }

    /// The rubric as a call with this aspect sees it.
    pub fn view(&self, aspect: Aspect) -> &RubricView {
        match (aspect, &self.apart) {
            (Aspect::Parts, Some((parts, _))) => parts,
            (Aspect::Once, Some((_, once))) => once,
            _ => &self.full,
        }
    }

    /// The part of the rubric that pieces of a cut document ask for.
    pub fn aspect_of_pieces(&self) -> Aspect {
        if self.apart.is_some() { Aspect::Parts } else { Aspect::Full }
    }

    /// Tokens that the reply may have.
    pub fn reply_tokens(&self) -> u64 {
        u64::from(self.parameters.max_tokens.unwrap_or(REPLY_TOKENS))
    }

    /// Position of the value that may be cut.
    pub fn chunked_position(&self) -> Option<usize> {
        self.items.iter().position(|item| item.spec.chunk.is_some())
    }
}

fn inconsistent(rubric: &Rubric, problem: impl Into<String>) -> RubricError {
    RubricError::Inconsistent { rubric: rubric.id.clone(), problem: problem.into() }
}

fn check(rubric: &Rubric) -> Result<(), RubricError> {
    if rubric.dimensions.is_empty() {
        return Err(inconsistent(rubric, "it has no dimension; name at least one under `dimensions`"));
    }
    let chunked: Vec<&ShowItem> = rubric.show.iter().filter(|item| item.chunk.is_some()).collect();
    if let [_, second, ..] = chunked.as_slice() {
        let problem = format!("`{}` is the second shown value with `chunk`; only one can be cut", second.name);
        return Err(inconsistent(rubric, problem));
    }
    let cuts_text = chunked.iter().any(|item| item.chunk.is_some_and(|chunk| chunk.items.is_none()));
    if rubric.judges_once() && !cuts_text {
        return Err(inconsistent(rubric, "it judges something `once`, but shows no text with `chunk`"));
    }
    let lists = || rubric.diagnostics.iter().map(|diagnostic| diagnostic.name.as_str());
    let counted = rubric.dimensions.iter().filter_map(|dimension| dimension.counted.as_ref());
    if let Some(lost) = counted.into_iter().find(|counted| !lists().any(|name| name == counted.list)) {
        let problem = format!("a dimension counts the list `{}`, which is not under `diagnostics`", lost.list);
        return Err(inconsistent(rubric, problem));
    }
    let is_given = rubric.overall.as_ref().is_some_and(|overall| overall.method == OverallMethod::Given);
    if is_given && rubric.dimensions.iter().all(|dimension| dimension.counted.is_some()) {
        return Err(inconsistent(rubric, "its overall is `given`, but the judge grades no dimension"));
    }
    let is_target = |name: &str| chunked.first().is_some_and(|item| item.name == name);
    match rubric.show.iter().find(|item| item.route.as_deref().is_some_and(|route| !is_target(route))) {
        Some(lost) => {
            let problem = format!("`{}` has a `route` to something that is not shown with `chunk`", lost.name);
            Err(inconsistent(rubric, problem))
        }
        None => Ok(()),
    }
}

fn template_error(rubric: &Rubric, place: String, error: TemplateError) -> RubricError {
    RubricError::Template { rubric: rubric.id.clone(), place, error: Box::new(error) }
}

fn compile(rubric: &Rubric, place: impl FnOnce() -> String, source: &str) -> Result<Template, RubricError> {
    Template::compile(source).map_err(|error| template_error(rubric, place(), error))
}

/// Puts two values, of the first and of the second output, in the place of each that comes from the output.
fn show_both(rubric: &mut Rubric) -> Result<Vec<Option<Side>>, RubricError> {
    let mut shown = Vec::new();
    for item in std::mem::take(&mut rubric.show) {
        let value = compile(rubric, || format!("`show.{}`", item.name), &item.value)?;
        if !of_output(&value) {
            shown.push((item, None));
            continue;
        }
        for (side, word) in [(Side::First, "first"), (Side::Second, "second")] {
            shown.push((ShowItem { name: format!("{word}_{}", item.name), ..item.clone() }, Some(side)));
        }
    }
    let (show, sides) = shown.into_iter().unzip();
    rubric.show = show;
    Ok(sides)
}

fn items(rubric: &Rubric, sides: &[Option<Side>]) -> Result<Vec<Item>, RubricError> {
    let values = rubric
        .show
        .iter()
        .map(|item| compile(rubric, || format!("`show.{}`", item.name), &item.value))
        .collect::<Result<Vec<_>, _>>()?;
    let reads_output = |item: &ShowItem| {
        let at = rubric.show.iter().position(|other| std::ptr::eq(other, item));
        at.and_then(|at| values.get(at)).is_some_and(of_output)
    };
    let sections = section_labels::sections(&rubric.show, reads_output);
    let indexed = |name: &str| {
        let fields = rubric.diagnostics.iter().flat_map(|diagnostic| &diagnostic.fields);
        fields.into_iter().any(|(_, kind)| matches!(kind, FieldType::IndexOf(list) if list == name))
    };
    let places = rubric.show.iter().zip(sides).zip(sections).zip(values.clone());
    let compiled = places.map(|(((spec, side), section), value)| {
        let line = spec.line.as_deref();
        let line = line.map(|line| compile(rubric, || format!("`show.{}.line`", spec.name), line)).transpose()?;
        Ok(Item { spec: spec.clone(), side: *side, section, value, line, is_indexed: indexed(&spec.name) })
    });
    compiled.collect()
}

fn caps(rubric: &Rubric) -> Result<Vec<(Cap, Expression)>, RubricError> {
    let compiled = rubric.caps.iter().map(|cap| match Expression::compile(&cap.when) {
        Ok(when) => Ok((cap.clone(), when)),
        Err(error) => Err(template_error(rubric, format!("`when` of the cap `{}`", cap.id), error)),
    });
    compiled.collect()
}

fn shares(rubric: &Rubric) -> Result<Vec<Option<CompiledShare>>, RubricError> {
    let compiled = rubric.dimensions.iter().map(|dimension| {
        let Some(counted) = &dimension.counted else { return Ok(None) };
        let place = || format!("`dimensions.{}.counted.where`", dimension.name);
        let condition = Expression::compile(&counted.condition);
        let condition = condition.map_err(|error| template_error(rubric, place(), error))?;
        Ok(Some(CompiledShare { list: counted.list.clone(), condition }))
    });
    compiled.collect()
}

fn only_where(rubric: &Rubric, text: &str) -> Result<Expression, RubricError> {
    Expression::compile(text).map_err(|error| template_error(rubric, "the condition".to_owned(), error))
}

fn own_prompt(rubric: &Rubric, prompt: &RubricPrompt) -> Result<OwnPrompt, RubricError> {
    let own = OwnPrompt {
        system: compile(rubric, || "`prompt.system`".to_owned(), &prompt.system)?,
        user: compile(rubric, || "`prompt.user`".to_owned(), &prompt.user)?,
    };
    for needed in ["sections", "dimensions", "format"] {
        let mut names = own.system.reads().iter().chain(own.user.reads());
        if !names.any(|name| name == needed) {
            let problem = format!("its own prompt leaves out `{{{{ {needed} }}}}`, which the judge must see");
            return Err(inconsistent(rubric, problem));
        }
    }
    Ok(own)
}

fn format(rubric: &Rubric, mode: JsonMode) -> ReplyFormat {
    match mode {
        JsonMode::None => ReplyFormat::Text,
        JsonMode::Object => ReplyFormat::Json,
        JsonMode::Schema => {
            let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
            let name: String = rubric.id.chars().map(allowed).take(64).collect();
            let name = if name.is_empty() { "verdict".to_owned() } else { name };
            ReplyFormat::Schema { name, schema: Arc::new(reply::schema(rubric)) }
        }
    }
}
