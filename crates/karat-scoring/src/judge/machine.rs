//! One judgment as a machine without I/O: it asks for replies, and for better ones, and ends with a verdict.

use std::sync::Arc;

use karat_types::{
    Answer, Ask, CellError, ChatRequest, FinishReason, Machine, Message, Note, NoteKind, Reply, Request, Role, Slot,
    Then, Turn,
};

use super::case::{Case, Piece};
use super::reply::{self, Problem, Reading};
use super::setup::Setup;
use super::verdict::{Verdict, note};
use super::{JudgeInput, fold};

/// Problems that are named when a judge is asked again.
const NAMED_PROBLEMS: usize = 5;

/// A judgment under way. Its slots are `"0"` (`"1"`, … for further pieces) and `"0/reask1"`, ….
#[derive(Debug)]
pub struct JudgeMachine {
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
    /// What it waits for.
    open: Option<Slot>,
    /// How often it was asked again.
    reasked: u32,
    /// The next request, where the last reply was not as it must be.
    next: Option<ChatRequest>,
    notes: Vec<Note>,
    outcome: Option<Result<Reading, CellError>>,
}

impl JudgeMachine {
    pub(super) fn new(setup: Arc<Setup>, input: JudgeInput<'_>) -> Self {
        let state = match Case::new(&setup, input) {
            Ok(case) => {
                let pieces = case.pieces.iter().map(|piece| Progress::new(piece.request.clone())).collect();
                State::Judging { case, pieces }
            }
            Err(verdict) => State::Settled(verdict),
        };
        Self { setup, state }
    }
}

impl Machine for JudgeMachine {
    type Done = Verdict;

    fn poll(&mut self, answers: Vec<Answer>) -> Turn<Verdict> {
        let (case, pieces) = match &mut self.state {
            State::Settled(verdict) => return Turn::Done(std::mem::take(verdict)),
            State::Judging { case, pieces } => (case, pieces),
        };
        for answer in answers {
            let waiting = pieces.iter().position(|progress| progress.open.as_ref() == Some(&answer.slot));
            let place = waiting.and_then(|at| Some((pieces.get_mut(at)?, case.pieces.get(at)?)));
            if let Some((progress, piece)) = place {
                progress.take(answer, &self.setup, piece);
            }
        }
        // One piece without a grade leaves the whole unscored, so nothing more is spent on the others.
        let hopeless = pieces.iter().any(|progress| matches!(progress.outcome, Some(Err(_))));
        if !hopeless {
            let asks: Vec<Ask> = pieces.iter_mut().enumerate().filter_map(|(at, progress)| progress.ask(at)).collect();
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

impl Progress {
    fn new(request: ChatRequest) -> Self {
        Self { next: Some(request), ..Self::default() }
    }

    /// What this piece asks for now.
    fn ask(&mut self, index: usize) -> Option<Ask> {
        let request = self.next.take()?;
        let slot = match self.reasked {
            0 => Slot::new(index.to_string()),
            times => Slot::new(format!("{index}/reask{times}")),
        };
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
        let read = reply::read(&setup.rubric, &reply, &piece.origins);
        let problems = match &read {
            Ok(reading) => reading.problems.clone(),
            Err(problem) => vec![problem.clone()],
        };
        if let (true, Ok(reading)) = (problems.is_empty(), &read) {
            self.outcome = Some(Ok(reading.clone()));
        } else if self.reasked < setup.rubric.invalid.reask {
            self.reasked += 1;
            self.notes.push(note(NoteKind::Reasked, format!("the judge was asked again: {}", summary(&problems))));
            self.next = Some(again(&piece.request, &reply, &problems));
        } else {
            self.outcome = Some(self.give_up(setup, read, &problems));
        }
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
            Ok(reading) if setup.rubric.invalid.then == Then::Degrade => {
                self.notes.push(note(NoteKind::Lenience, format!("degraded: {error}")));
                Ok(Reading { degraded: Some(error), ..reading })
            }
            _ => Err(CellError::new("parse", format!("the judge's reply is not as it must be: {error}"))),
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

/// The same request with the invalid reply and what is wrong with it.
fn again(request: &ChatRequest, reply: &Reply, problems: &[Problem]) -> ChatRequest {
    let mut request = request.clone();
    let list: Vec<String> = problems
        .iter()
        .take(NAMED_PROBLEMS)
        .map(|problem| match problem.pointer.as_str() {
            "" => format!("- {}", problem.message),
            pointer => format!("- at {pointer}: {}", problem.message),
        })
        .collect();
    let begin = if reply.text.trim().is_empty() {
        "Your reply was empty."
    } else {
        request.messages.push(Message { role: Role::Assistant, content: reply.text.clone() });
        "Your reply cannot be used."
    };
    let content = format!(
        "{begin} What is wrong, with the JSON pointer of the place:\n{}\n\nJudge again and reply with the whole JSON object \
         in the form given, and nothing else.",
        list.join("\n")
    );
    request.messages.push(Message { role: Role::User, content });
    request
}
