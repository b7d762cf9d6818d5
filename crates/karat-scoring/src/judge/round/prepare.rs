//! One judgment before its first call: what is shown, in how many pieces, under which caps.

use std::collections::BTreeMap;
use std::ops::Range;

use karat_text::fence::Fence;
use karat_text::template::{Context, TemplateError};
use karat_types::{CellError, ChatRequest, KeyBuilder, ReferenceUse, Sample, Score};
use serde_json::Value;

use crate::judge::JudgeInput;
use crate::judge::chunks::split;
use crate::judge::chunks::split::Weight;
use crate::judge::prompt::prompt_values;
use crate::judge::prompt::prompt_values::Content;
use crate::judge::prompt::request;
use crate::judge::prompt::request::{CallContent, CallPart};
use crate::judge::prompt::round_prompt::RoundInput;
use crate::judge::rubric::compiled::{Aspect, CompiledRubric, RubricView};
use crate::judge::rubric::item::{Item, Side, is_of_output};
use crate::judge::rubric::{caps, section_labels};
use crate::judge::verdict::{Mode, Verdict};

const NOTHING_ASKED: &str = "the row asks for nothing of a judge";
const NO_REFERENCE: &str = "no reference";

/// The content that all calls of a judgment share.
#[derive(Debug)]
pub(crate) struct PreparedRound {
    pub shuffle_seed: u64,
    pub mode: Mode,
    /// Positions of the caps whose condition holds.
    pub caps: Vec<usize>,
    pub pieces: Vec<Piece>,
    /// The content for halves of a piece; only where a list may be cut.
    frame: Option<Frame>,
}

/// The content of every piece, kept until the last reply has come.
#[derive(Debug)]
struct Frame {
    context: Context,
    reference: Option<Value>,
    examples: Vec<Value>,
}

/// A member that a piece shows.
#[derive(Debug)]
pub(crate) struct RoutedValue {
    /// Position of its list among what is shown, and its own in that list before it was shuffled or cut.
    pub place: (usize, usize),
    pub value: Value,
}

/// One call of a judgment.
#[derive(Debug)]
pub(crate) struct Piece {
    pub request: ChatRequest,
    /// The fence of its sections.
    pub fence: Fence,
    /// The part of the rubric that the call asks for.
    pub aspect: Aspect,
    pub weight: Weight,
    /// The bytes of the document that it shows, where a document is cut.
    pub span: Option<Range<usize>>,
    /// For each shown list, the original positions of its members in the order shown.
    pub origins: BTreeMap<String, Vec<usize>>,
    /// The members of routed lists that it shows.
    pub routed: Vec<RoutedValue>,
    /// The shown values, where they may be cut further.
    contents: Vec<Content>,
}

impl PreparedRound {
    /// Prepares a round of a judgment; the error is a verdict already.
    pub fn new(setup: &CompiledRubric, showing: RoundInput<'_>) -> Result<Self, Box<Verdict>> {
        let input = showing.input;
        let shuffle_seed = shuffle_seed(input).wrapping_add(u64::from(showing.vote));
        let failed =
            |error: CellError| Box::new(Verdict { shuffle_seed, ..Verdict::without_scores(setup.names(), error) });
        let reference = match setup.rubric.reference {
            ReferenceUse::Hidden => None,
            _ => input.sample.reference.as_ref(),
        };
        if let Some(condition) = &setup.only_where {
            let holds = condition.eval(&context(&setup.reads, input));
            let holds = holds.map_err(|error| failed(failed_template("condition", &error)))?;
            if holds != Value::Bool(true) {
                let score = Score::not_applicable(NOTHING_ASKED);
                return Err(Box::new(Verdict::uniform(setup.names(), &score)));
            }
        }
        if setup.rubric.reference == ReferenceUse::Required && reference.is_none() {
            return Err(Box::new(Verdict::uniform(setup.names(), &Score::not_applicable(NO_REFERENCE))));
        }
        let mode = if reference.is_some() { Mode::Paired } else { Mode::Absolute };
        if input.output.is_null() && reads_output(setup) {
            return Err(Box::new(Verdict {
                shuffle_seed,
                mode,
                ..Verdict::lowest(&setup.rubric, "there is no output")
            }));
        }
        let context = context(&setup.reads, input);
        let sides = showing.sides();
        let seen = |item: &Item| match (item.side, sides) {
            (Some(Side::First), Some((first, _))) => context.child().with_json("output", first),
            (Some(Side::Second), Some((_, second))) => context.child().with_json("output", second),
            _ => context.child(),
        };
        let template = |place: String| move |error: TemplateError| failed_template(&place, &error);
        let caps = caps::active_caps(&setup.caps, &context)
            .map_err(|(id, error)| failed(failed_template(&format!("`when` of the cap `{id}`"), &error)))?;
        let contents = setup
            .items
            .iter()
            .map(|item| {
                let place = format!("`show.{}`", item.spec.name);
                prompt_values::content(item, &seen(item), shuffle_seed).map_err(template(place))
            })
            .collect::<Result<Vec<Content>, CellError>>()
            .map_err(failed)?;
        let required = setup.items.iter().zip(&contents).filter(|(item, _)| item.spec.required);
        if let Some((item, _)) = required.into_iter().find(|(_, content)| content.is_blank()) {
            return Err(Box::new(Verdict::uniform(setup.names(), &lacking(&item.spec.name))));
        }
        let times = setup.times.as_ref().map(|times| times.value(&context)).transpose();
        let times = times.map_err(template("`times`".to_owned())).map_err(failed)?.unwrap_or_default();
        let examples = setup.examples.draw(input.seed, &input.sample.id);
        let fixed = SharedContent { setup, context: &context, reference, examples, caps: &caps, shuffle_seed };
        let pieces = fixed.pieces(contents, &times).map_err(failed)?;
        let frame = pieces.iter().any(|piece| !piece.contents.is_empty()).then(|| Frame {
            reference: reference.cloned(),
            examples: fixed.examples.into_iter().cloned().collect(),
            context: context.child(),
        });
        Ok(Self { shuffle_seed, mode, caps, pieces, frame })
    }

    /// The two halves of a piece whose reply did not fit; `None` where it cannot be cut.
    pub fn split_piece(&self, setup: &CompiledRubric, piece: &Piece) -> Option<[Piece; 2]> {
        let frame = self.frame.as_ref()?;
        let fixed = SharedContent {
            setup,
            context: &frame.context,
            reference: frame.reference.as_ref(),
            examples: frame.examples.iter().collect(),
            caps: &self.caps,
            shuffle_seed: self.shuffle_seed,
        };
        let [first, second] = split::halve_list(setup, &piece.contents, piece.weight)?;
        let part = |index, cut| fixed.piece(cut, Some(CallPart::Piece { index, count: 2 })).ok();
        Some([part(0, first)?, part(1, second)?])
    }
}

/// The score of every output of a sample about which the judge asks nothing, whatever the output is: what a judgment must
/// show is missing, or its condition, which does not look at the output, does not hold.
pub(crate) fn score_without_asking(setup: &CompiledRubric, sample: &Sample, seed: u64) -> Option<Score> {
    let mut required = setup.items.iter().filter(|item| item.spec.required && !item.is_of_output()).peekable();
    let condition =
        setup.only_where.as_ref().filter(|condition| !condition.reads().iter().any(|name| is_of_output(name)));
    let has_reference = setup.rubric.reference != ReferenceUse::Required || sample.reference.is_some();
    if has_reference && required.peek().is_none() && condition.is_none() {
        return None;
    }
    let context = context(&setup.reads, JudgeInput { sample, output: &Value::Null, seed });
    // A condition or template that fails is an error of the judgment.
    let holds = condition.and_then(|condition| condition.eval(&context).ok());
    if holds.is_some_and(|holds| holds != Value::Bool(true)) {
        return Some(Score::not_applicable(NOTHING_ASKED));
    }
    if !has_reference {
        return Some(Score::not_applicable(NO_REFERENCE));
    }
    let missing =
        required.find(|item| prompt_values::content(item, &context, seed).is_ok_and(|content| content.is_blank()))?;
    Some(lacking(&missing.spec.name))
}

/// The score where a value that must be shown is not there.
fn lacking(name: &str) -> Score {
    Score::not_applicable(format!("there is no {name}"))
}

/// The number of calls of a round for a sample whose output is not known: those for an output with an empty list.
pub(crate) fn expected_calls(setup: &CompiledRubric, sample: &Sample, seed: u64) -> u64 {
    if setup.chunked_position().is_none() {
        return 1;
    }
    let context = context(&setup.reads, JudgeInput { sample, output: &Value::Null, seed });
    let known = |item: &Item| match prompt_values::content(item, &context, seed) {
        Ok(content) if item.spec.route.is_none() => content,
        _ if item.spec.route.is_some() => Content::List(Vec::new()),
        _ => Content::Text(String::new()),
    };
    let examples = setup.examples.draw(seed, &sample.id);
    let fixed = SharedContent { setup, context: &context, reference: None, examples, caps: &[], shuffle_seed: seed };
    let pieces = fixed.pieces(setup.items.iter().map(known).collect(), &Value::Null);
    pieces.map_or(1, |pieces| pieces.len() as u64)
}

/// The content of every piece.
struct SharedContent<'a> {
    setup: &'a CompiledRubric,
    context: &'a Context,
    reference: Option<&'a Value>,
    examples: Vec<&'a Value>,
    caps: &'a [usize],
    shuffle_seed: u64,
}

impl SharedContent<'_> {
    fn pieces(&self, contents: Vec<Content>, times: &Value) -> Result<Vec<Piece>, CellError> {
        let steady = self.without_output();
        let cuts = split::split(self.setup, contents, times, |it| self.prompt(it), |it| steady.prompt(it))?;
        let count = cuts.iter().filter(|cut| cut.aspect != Aspect::Once).count();
        let part = |index, cut: &split::Cut| match cut.aspect {
            Aspect::Once => Some(CallPart::Beside),
            _ => (count > 1).then_some(CallPart::Piece { index, count }),
        };
        let numbered = cuts.into_iter().enumerate().map(|(index, cut)| (part(index, &cut), cut));
        numbered.map(|(part, cut)| self.piece(cut, part)).collect()
    }

    /// A copy without anything that depends on the output, the seed or drawn examples.
    fn without_output(&self) -> Self {
        let examples = self.setup.examples.longest();
        Self { examples, caps: &[], shuffle_seed: 0, ..*self }
    }

    /// Returns the prompt of one call that shows these contents.
    fn prompt(&self, contents: &[Content]) -> Result<String, CellError> {
        self.request(contents, self.setup.view(Aspect::Full), None).map(|(request, _)| text_of(&request))
    }

    fn piece(&self, cut: split::Cut, part: Option<CallPart>) -> Result<Piece, CellError> {
        let (request, fence) = self.request(&cut.contents, self.setup.view(cut.aspect), part)?;
        self.check_window(&request)?;
        let may_be_cut = split::halve_list(self.setup, &cut.contents, cut.weight).is_some();
        Ok(Piece {
            aspect: cut.aspect,
            weight: cut.weight,
            span: cut.span,
            origins: self.origins(&cut.contents),
            routed: self.route_values(&cut.contents),
            contents: if may_be_cut { cut.contents } else { Vec::new() },
            request,
            fence,
        })
    }

    fn request(
        &self,
        contents: &[Content],
        view: &RubricView,
        part: Option<CallPart>,
    ) -> Result<(ChatRequest, Fence), CellError> {
        let sections = self.sections(contents)?;
        let shown = CallContent {
            sections: &sections,
            examples: &self.examples,
            caps: self.caps,
            part,
            view,
            has_reference: self.reference.is_some(),
            seed: self.shuffle_seed,
        };
        request::request(self.setup, &shown).map_err(|error| failed_template("`prompt`", &error))
    }

    /// Returns labels and contents of the sections; short texts about a document share a section.
    fn sections(&self, contents: &[Content]) -> Result<Vec<(String, String)>, CellError> {
        let mut sections: Vec<(String, String)> = Vec::new();
        let shown = self.setup.items.iter().zip(contents).filter(|(_, content)| **content != Content::Absent);
        for (item, content) in shown {
            let text = prompt_values::write(item, content, self.context)
                .map_err(|error| failed_template(&format!("`show.{}.line`", item.spec.name), &error))?;
            let label = item.section.label();
            let section_labels::Section::Context(_) = item.section else {
                sections.push((label.to_owned(), text));
                continue;
            };
            // A judge would read an absent description as one that says nothing.
            if text.trim().is_empty() {
                continue;
            }
            let line = format!("{}: {text}", item.spec.name);
            match sections.iter_mut().find(|(known, _)| known == label) {
                Some((_, lines)) => *lines = format!("{lines}\n{line}"),
                None => sections.push((label.to_owned(), line)),
            }
        }
        sections.extend(self.reference.map(|reference| (section_labels::REFERENCE.to_owned(), text(reference))));
        Ok(sections)
    }

    fn origins(&self, contents: &[Content]) -> BTreeMap<String, Vec<usize>> {
        let lists = self.setup.items.iter().zip(contents).filter_map(|(item, content)| match content {
            Content::List(members) => Some((item.spec.name.clone(), members.iter().map(|it| it.origin).collect())),
            Content::Text(_) | Content::Absent => None,
        });
        lists.collect()
    }

    fn route_values(&self, contents: &[Content]) -> Vec<RoutedValue> {
        let shown = self.setup.items.iter().zip(contents).enumerate();
        let routed = shown.filter(|(_, (item, _))| item.spec.route.is_some());
        let members = routed.flat_map(|(list, (_, content))| match content {
            Content::List(members) => members.iter().map(|it| (list, it)).collect(),
            Content::Text(_) | Content::Absent => Vec::new(),
        });
        members.map(|(list, it)| RoutedValue { place: (list, it.origin), value: it.value.clone() }).collect()
    }

    /// Refuses a prompt that does not fit the judge's window; nothing is cut silently.
    fn check_window(&self, request: &ChatRequest) -> Result<(), CellError> {
        let Some(window) = self.setup.window else { return Ok(()) };
        let reply = self.setup.reply_tokens();
        let room = window.saturating_sub(reply) as usize;
        if split::fits(&text_of(request), room) {
            return Ok(());
        }
        let message = format!(
            "the judge's prompt has about {} tokens and its reply may have {reply}, but its context window is {window}: \
             let a shown value be cut with `chunk`, or use a judge with a larger window",
            split::count(&text_of(request))
        );
        Err(CellError::new(CellError::CONTEXT, message))
    }
}

fn failed_template(place: &str, error: &TemplateError) -> CellError {
    CellError::new("template", format!("the rubric's {place} cannot be computed: {error}"))
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn text_of(request: &ChatRequest) -> String {
    request.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n")
}

/// True if the judge sees any part of the output.
fn reads_output(setup: &CompiledRubric) -> bool {
    setup.reads.iter().any(|name| is_of_output(name))
}

/// The order of lists depends on the run's seed and on what is judged, not on names.
fn shuffle_seed(input: JudgeInput<'_>) -> u64 {
    let key = KeyBuilder::new("karat/judge/seed").number(input.seed).json(input.output).finish();
    key.0.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}

/// The context of the rubric's templates: the sample and the output, and nothing about who made it.
fn context(reads: &[String], input: JudgeInput<'_>) -> Context {
    let mut context =
        Context::new().with_read("sample", &input.sample.columns, reads).with_json("output", input.output);
    for (name, value) in [("input", &input.sample.input), ("reference", &input.sample.reference)] {
        if let Some(value) = value {
            context = context.with(name, value);
        }
    }
    context
}
