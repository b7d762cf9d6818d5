//! One round of a judgment as a machine without I/O: it asks for replies, and for better ones, and ends with a verdict.

use std::sync::Arc;

use karat_text::fence::Fence;
use karat_types::{
    Answer, Ask, AskId, CellError, ChatRequest, FinishReason, InvalidReplyAction, Machine, Message, Note, NoteKind,
    Reply, Request, Role, Turn,
};

use super::asked::part_slot;
use super::case::{Case, Piece};
use super::fold;
use super::reply::{self, Problem, Reading};
use super::setup::Setup;
use super::showing::Showing;
use super::verdict::{Verdict, note};

/// Problems that are named when a judge is asked again.
const NAMED_PROBLEMS: usize = 5;

/// A round under way. Its slots are `"0"` (`"1"`, … for further pieces), `"0/reask1"`, …, and `"0a"`, `"0b"` for the
/// halves of a piece whose reply did not fit.
#[derive(Debug)]
pub(super) struct RoundMachine {
    setup: Arc<Setup>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Settled without any call.
    Settled(Box<Verdict>),
    /// Calls are open.
    Judging { case: Case, pieces: Vec<Progress> },
}

/// How far one piece is.
#[derive(Debug, Default)]
struct Progress {
    /// The slot of its first request.
    slot: String,
    /// What it waits for.
    open: Option<AskId>,
    /// How often it was asked again.
    reasked: u32,
    /// The fence of its last request.
    fence: Option<Fence>,
    /// The next request, where the last reply was not as it must be.
    next: Option<ChatRequest>,
    notes: Vec<Note>,
    outcome: Option<Result<Reading, CellError>>,
}

impl RoundMachine {
    pub(super) fn new(setup: Arc<Setup>, showing: Showing<'_>) -> Self {
        let state = match Case::new(&setup, showing) {
            Ok(case) => {
                let pieces = case.pieces.iter().enumerate();
                let pieces = pieces.map(|(at, piece)| Progress::new(at.to_string(), piece)).collect();
                State::Judging { case, pieces }
            }
            Err(verdict) => State::Settled(verdict),
        };
        Self { setup, state }
    }
}

impl Machine for RoundMachine {
    type Done = Verdict;

    fn poll(&mut self, answers: Vec<Answer>) -> Turn<Verdict> {
        let (case, pieces) = match &mut self.state {
            State::Settled(verdict) => return Turn::Done(std::mem::take(verdict)),
            State::Judging { case, pieces } => (case, pieces),
        };
        for answer in answers {
            let waiting = pieces.iter().position(|progress| progress.open.as_ref() == Some(&answer.slot));
            let Some(at) = waiting else { continue };
            if !is_cut_off(&answer) || !halve(&self.setup, case, pieces, at) {
                let place = pieces.get_mut(at).zip(case.pieces.get(at));
                place.into_iter().for_each(|(progress, piece)| progress.take(answer.clone(), &self.setup, piece));
            }
        }
        // One piece without a grade leaves the whole unscored, so nothing more is spent on the others.
        let hopeless = pieces.iter().any(|progress| matches!(progress.outcome, Some(Err(_))));
        if !hopeless {
            let asks: Vec<Ask> = pieces.iter_mut().filter_map(Progress::ask).collect();
            if !asks.is_empty() {
                return Turn::Ask(asks);
            }
        }
        let (mut readings, mut notes, mut error) = (Vec::new(), Vec::new(), None);
        for progress in std::mem::take(pieces) {
            notes.extend(progress.notes);
            match progress.outcome {
                Some(Ok(reading)) => readings.push(reading),
                Some(Err(failure)) => error = error.or(Some(failure)),
                None => {}
            }
        }
        Turn::Done(match error {
            Some(error) => Verdict {
                shuffle_seed: case.shuffle_seed,
                mode: case.mode,
                notes: super::verdict::counted(notes),
                ..Verdict::failed(self.setup.names(), error)
            },
            None => fold::verdict(&self.setup, case, readings, notes),
        })
    }
}

fn is_cut_off(answer: &Answer) -> bool {
    answer.outcome.as_ref().is_ok_and(|reply| reply.finish == FinishReason::Length)
}

/// Puts two halves in the place of a piece whose reply ran into its limit. False where it cannot be cut: then the judge is
/// asked again for the whole.
fn halve(setup: &Setup, case: &mut Case, pieces: &mut Vec<Progress>, at: usize) -> bool {
    let halves = case.pieces.get(at).and_then(|piece| case.halves(setup, piece));
    let (Some(halves), Some(whole)) = (halves, pieces.get(at)) else { return false };
    let slots = ["a", "b"].map(|half| format!("{}{half}", whole.slot));
    let mut progress: Vec<Progress> =
        slots.into_iter().zip(&halves).map(|(slot, piece)| Progress::new(slot, piece)).collect();
    if let Some(first) = progress.first_mut() {
        first.notes = whole.notes.clone();
        first
            .notes
            .push(note(NoteKind::Truncated, "the judge's reply ran into its limit of tokens, so its list was halved"));
    }
    pieces.splice(at..=at, progress);
    case.pieces.splice(at..=at, halves);
    true
}

impl Progress {
    fn new(slot: String, piece: &Piece) -> Self {
        Self { slot, next: Some(piece.request.clone()), ..Self::default() }
    }

    /// What this piece asks for now.
    fn ask(&mut self) -> Option<Ask> {
        let request = self.next.take()?;
        let slot = AskId::new(part_slot(&self.slot, self.reasked));
        self.open = Some(slot.clone());
        Some(Ask { slot, request: Request::Chat(request) })
    }

    /// Takes the answer that this piece waits for.
    fn take(&mut self, answer: Answer, setup: &Setup, piece: &Piece) {
        self.open = None;
        let reply = match answer.outcome {
            Ok(reply) => reply,
            Err(error) => {
                self.outcome = Some(Err(error.into()));
                return;
            }
        };
        if reply.finish == FinishReason::Length {
            self.notes.push(note(NoteKind::Truncated, "the judge's reply ran into its limit of tokens"));
        }
        let read = reply::read(&setup.view(piece.aspect).rubric, &reply, &piece.origins);
        let problems = match &read {
            Ok(reading) => reading.problems.clone(),
            Err(problem) => vec![problem.clone()],
        };
        if let (true, Ok(reading)) = (problems.is_empty(), &read) {
            self.outcome = Some(Ok(reading.clone()));
        } else if self.reasked < setup.rubric.invalid.reask {
            self.reasked += 1;
            self.notes.push(note(NoteKind::Reasked, format!("the judge was asked again: {}", summary(&problems))));
            self.next = Some(self.again(piece, &reply, &problems));
        } else {
            self.outcome = Some(self.give_up(setup, read, &problems));
        }
    }

    /// The same request, in fences of another code, with the invalid reply and what is wrong with it.
    fn again(&mut self, piece: &Piece, reply: &Reply, problems: &[Problem]) -> ChatRequest {
        let mut request = piece.request.clone();
        let texts = request.messages.iter().map(|message| message.content.as_str()).chain([reply.text.as_str()]);
        let fence = self.fence.as_ref().unwrap_or(&piece.fence).renewed(texts);
        for message in &mut request.messages {
            message.content = fence.instead_of(&piece.fence, &message.content);
        }
        if !reply.text.trim().is_empty() {
            request.messages.push(Message { role: Role::Assistant, content: reply.text.clone() });
        }
        request.messages.push(Message { role: Role::User, content: complaint(reply, problems) });
        self.fence = Some(fence);
        request
    }

    /// The end of the ladder: what can be read counts, or nothing does.
    fn give_up(
        &mut self,
        setup: &Setup,
        read: Result<Reading, Problem>,
        problems: &[Problem],
    ) -> Result<Reading, CellError> {
        let error = summary(problems);
        match read {
            Ok(reading) if setup.rubric.invalid.then == InvalidReplyAction::Degrade => {
                self.notes.push(note(NoteKind::Lenience, format!("degraded: {error}")));
                Ok(Reading { degraded: Some(error), ..reading })
            }
            _ => Err(CellError::new(CellError::UNREADABLE, format!("the judge's reply is not as it must be: {error}"))),
        }
    }
}

/// The problems in one line, the first few in full.
fn summary(problems: &[Problem]) -> String {
    let named: Vec<String> = problems.iter().take(NAMED_PROBLEMS).map(Problem::to_string).collect();
    match problems.len().saturating_sub(NAMED_PROBLEMS) {
        0 => named.join("; "),
        more => format!("{}; and {more} more", named.join("; ")),
    }
}

/// What a judge hears of a reply that cannot be used.
fn complaint(reply: &Reply, problems: &[Problem]) -> String {
    let list: Vec<String> = problems
        .iter()
        .take(NAMED_PROBLEMS)
        .map(|problem| match problem.pointer.as_str() {
            "" => format!("- {}", problem.message),
            pointer => format!("- at {pointer}: {}", problem.message),
        })
        .collect();
    let begin = if reply.text.trim().is_empty() { "Your reply was empty." } else { "Your reply cannot be used." };
    format!(
        "{begin} What is wrong, with the JSON pointer of the place:\n{}\n\nJudge again and reply with the whole JSON object \
         in the form given, and nothing else.",
        list.join("\n")
    )
}
