//! One round of a judgment as a machine without I/O: it asks for replies, and for better ones, and ends with a verdict.

use std::sync::Arc;

use karat_text::fence::Fence;
use karat_types::{
    Answer, Ask, AskId, CellError, ChatRequest, FinishReason, InvalidReplyAction, Machine, Message, Note, NoteKind,
    Reply, Request, Role, Turn,
};

use crate::judge::chunks::chunk_verdicts;
use crate::judge::prompt::round_prompt::RoundInput;
use crate::judge::reply;
use crate::judge::reply::{JudgeCall, Problem, Reading};
use crate::judge::round::call_labels::part_id;
use crate::judge::round::prepare::{Piece, PreparedRound};
use crate::judge::rubric::compiled::CompiledRubric;
use crate::judge::verdict::{Verdict, note};

/// Characters of a reply that a message quotes.
const QUOTED: usize = 200;

/// Problems that are named when a judge is asked again.
const NAMED_PROBLEMS: usize = 5;

/// A round under way. Its ids are `"0"` (`"1"`, … for further pieces), `"0/reask1"`, …, and `"0a"`, `"0b"` for the
/// halves of a piece whose reply did not fit.
#[derive(Debug)]
pub(crate) struct RoundMachine {
    setup: Arc<CompiledRubric>,
    state: RoundState,
}

#[derive(Debug)]
enum RoundState {
    /// Settled without a call.
    Settled(Box<Verdict>),
    /// Calls are in progress.
    Judging { case: PreparedRound, pieces: Vec<PieceProgress> },
}

/// The progress of one piece.
#[derive(Debug, Default)]
struct PieceProgress {
    /// The id of its first request.
    id: String,
    /// The id it waits for.
    open: Option<AskId>,
    /// The number of times it was asked again.
    reasked: u32,
    /// The fence of its last request.
    fence: Option<Fence>,
    /// The next request, after an invalid reply.
    next: Option<ChatRequest>,
    notes: Vec<Note>,
    outcome: Option<Result<Reading, CellError>>,
}

impl RoundMachine {
    pub(crate) fn new(setup: Arc<CompiledRubric>, showing: RoundInput<'_>) -> Self {
        let state = match PreparedRound::new(&setup, showing) {
            Ok(case) => {
                let pieces = case.pieces.iter().enumerate();
                let pieces = pieces.map(|(at, piece)| PieceProgress::new(at.to_string(), piece)).collect();
                RoundState::Judging { case, pieces }
            }
            Err(verdict) => RoundState::Settled(verdict),
        };
        Self { setup, state }
    }
}

impl Machine for RoundMachine {
    type Done = Verdict;

    fn poll(&mut self, answers: Vec<Answer>) -> Turn<Verdict> {
        let (case, pieces) = match &mut self.state {
            RoundState::Settled(verdict) => return Turn::Done(std::mem::take(verdict)),
            RoundState::Judging { case, pieces } => (case, pieces),
        };
        for answer in answers {
            let waiting = pieces.iter().position(|progress| progress.open.as_ref() == Some(&answer.id));
            let Some(at) = waiting else { continue };
            if !is_cut_off(&answer) || !split_in_half(&self.setup, case, pieces, at) {
                let place = pieces.get_mut(at).zip(case.pieces.get(at));
                place
                    .into_iter()
                    .for_each(|(progress, piece)| progress.accept_answer(answer.clone(), &self.setup, piece));
            }
        }
        // One piece without a grade leaves the whole unscored, so nothing more is spent on the others.
        let hopeless = pieces.iter().any(|progress| matches!(progress.outcome, Some(Err(_))));
        if !hopeless {
            let asks: Vec<Ask> = pieces.iter_mut().filter_map(PieceProgress::next_ask).collect();
            if !asks.is_empty() {
                return Turn::Ask(asks);
            }
        }
        let (mut readings, mut notes, mut unread, mut error) = (Vec::new(), Vec::new(), Vec::new(), None);
        for mut progress in std::mem::take(pieces) {
            notes.append(&mut progress.notes);
            match progress.outcome.take() {
                Some(Ok(reading)) => readings.push(reading),
                Some(Err(failure)) => {
                    if failure.code == CellError::UNREADABLE {
                        unread.extend((0..=progress.reasked).map(|time| part_id(&progress.id, time)));
                    }
                    error = error.or(Some(failure));
                }
                None => {}
            }
        }
        Turn::Done(match error {
            Some(error) => Verdict {
                shuffle_seed: case.shuffle_seed,
                mode: case.mode,
                notes: crate::judge::verdict::count_notes(notes),
                unread,
                ..Verdict::without_scores(self.setup.names(), error)
            },
            None => chunk_verdicts::verdict(&self.setup, case, readings, notes),
        })
    }
}

fn is_cut_off(answer: &Answer) -> bool {
    answer.outcome.as_ref().is_ok_and(|reply| reply.finish == FinishReason::Length)
}

/// Replaces a piece whose reply hit its token limit by two halves. Returns false if it cannot be cut: then the judge is
/// asked again for the whole.
fn split_in_half(setup: &CompiledRubric, case: &mut PreparedRound, pieces: &mut Vec<PieceProgress>, at: usize) -> bool {
    let halves = case.pieces.get(at).and_then(|piece| case.split_piece(setup, piece));
    let (Some(halves), Some(whole)) = (halves, pieces.get(at)) else { return false };
    let ids = ["a", "b"].map(|half| format!("{}{half}", whole.id));
    let mut progress: Vec<PieceProgress> =
        ids.into_iter().zip(&halves).map(|(id, piece)| PieceProgress::new(id, piece)).collect();
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

impl PieceProgress {
    fn new(id: String, piece: &Piece) -> Self {
        Self { id, next: Some(piece.request.clone()), ..Self::default() }
    }

    /// The request that this piece makes now.
    fn next_ask(&mut self) -> Option<Ask> {
        let request = self.next.take()?;
        let id = AskId::new(part_id(&self.id, self.reasked));
        self.open = Some(id.clone());
        Some(Ask { id, request: Request::Chat(request) })
    }

    /// Reads the answer that this piece waits for.
    fn accept_answer(&mut self, answer: Answer, setup: &CompiledRubric, piece: &Piece) {
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
        if reply.finish == FinishReason::Refusal {
            let text = "the judge refused, or its provider's content filter ended the reply";
            self.notes.push(note(NoteKind::Filtered, text));
        }
        let call = JudgeCall {
            code: self.fence.as_ref().unwrap_or(&piece.fence).nonce(),
            request: &piece.request,
            is_last: self.reasked >= setup.rubric.invalid.reask,
        };
        let read = reply::read(&setup.view(piece.aspect).rubric, &reply, &piece.origins, call);
        let problems = match &read {
            Ok(reading) => reading.problems.clone(),
            Err(problem) => vec![problem.clone()],
        };
        if let (true, Ok(reading)) = (problems.is_empty(), &read) {
            self.outcome = Some(Ok(reading.clone()));
        } else if !call.is_last {
            self.reasked += 1;
            self.notes.push(note(NoteKind::Reasked, format!("the judge was asked again: {}", summary(&problems))));
            self.next = Some(self.reask_request(piece, &reply, &problems));
        } else {
            self.outcome = Some(self.give_up(setup, &reply, read, &problems));
        }
    }

    /// Returns the same request with another fence code, the invalid reply and its problems.
    fn reask_request(&mut self, piece: &Piece, reply: &Reply, problems: &[Problem]) -> ChatRequest {
        let mut request = piece.request.clone();
        let texts = request.messages.iter().flat_map(|message| message.content.texts()).chain([reply.text.as_str()]);
        let fence = self.fence.as_ref().unwrap_or(&piece.fence).with_new_code(texts);
        for message in &mut request.messages {
            message.content = fence.instead_of(&piece.fence, &message.text()).into();
        }
        if !reply.text.trim().is_empty() {
            request.messages.push(Message::new(Role::Assistant, reply.text.as_str()));
        }
        request.messages.push(Message::new(Role::User, reask_message(reply, problems)));
        self.fence = Some(fence);
        request
    }

    /// Settles a reply after the last attempt: the readable part counts (`degrade`), or nothing does.
    fn give_up(
        &mut self,
        setup: &CompiledRubric,
        reply: &Reply,
        read: Result<Reading, Problem>,
        problems: &[Problem],
    ) -> Result<Reading, CellError> {
        let error = summary(problems);
        match read {
            Ok(reading) if setup.rubric.invalid.then == InvalidReplyAction::Degrade => {
                self.notes.push(note(NoteKind::Lenience, format!("degraded: {error}")));
                Ok(Reading { degraded: Some(error), ..reading })
            }
            _ => Err(CellError::new(CellError::UNREADABLE, unusable(reply, &error))),
        }
    }
}

/// The message of a judgment whose last reply cannot be used: the problem and the reply's beginning. Reports
/// name the command that shows all of it, for the cell that they name.
fn unusable(reply: &Reply, error: &str) -> String {
    let problem = match error.strip_prefix("the reply") {
        Some(problem) => format!("the judge's reply{problem}"),
        None => format!("the judge's reply cannot be used: {error}"),
    };
    let text = reply.text.trim();
    let cut = if text.chars().count() > QUOTED { "…" } else { "" };
    let excerpt: String = text.chars().take(QUOTED).chain(cut.chars()).collect();
    let excerpt = if text.is_empty() { String::new() } else { format!(": {excerpt:?}") };
    format!("{problem}{excerpt}")
}

/// The problems in one line, the first few in full.
fn summary(problems: &[Problem]) -> String {
    let named: Vec<String> = problems.iter().take(NAMED_PROBLEMS).map(Problem::to_string).collect();
    match problems.len().saturating_sub(NAMED_PROBLEMS) {
        0 => named.join("; "),
        more => format!("{}; and {more} more", named.join("; ")),
    }
}

/// The message to a judge whose reply cannot be used.
fn reask_message(reply: &Reply, problems: &[Problem]) -> String {
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
         in the form given, with the code that now stands in the fences, and nothing else.",
        list.join("\n")
    )
}
