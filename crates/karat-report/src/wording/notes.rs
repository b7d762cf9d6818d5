//! Names of notes, the same in every format.

use karat_types::NoteKind;

/// Returns the name of a kind of note.
pub(crate) fn note_name(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Truncated => "reply cut at max_tokens",
        NoteKind::Filtered => "reply ended by a content filter, or refused",
        NoteKind::DroppedChunks => "chunks dropped beyond the limit",
        NoteKind::Lenient => "reply parsed leniently",
        NoteKind::Reasked => "asked again",
        NoteKind::UsageEstimated => "tokens not counted by the provider",
        NoteKind::Breach => "usage above the reservation",
        NoteKind::Lenience => "declared lenience used",
        NoteKind::Unmetered => "a metered fact could not be read",
        NoteKind::Unscripted => "call without a scripted reply",
        NoteKind::UserLimit => "conversation ended by the limit of the user's messages",
        NoteKind::UnaskedCall => "tool called without being offered",
        NoteKind::NotApplied => "a setting was not applied",
        NoteKind::CostReported => "cost stated by the provider",
        NoteKind::CostUnknown => "cost unknown or unusable",
        NoteKind::UnknownEnd => "reply with an unknown end",
        NoteKind::NoContent => "reply without content",
        NoteKind::Merged => "items merged because another one says the same",
    }
}
