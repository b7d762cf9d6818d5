//! Parts that most records leave empty: notes, facts, errors, keys of calls, and models that answered.

use karat_types::{CellError, Key, Note, ResponseFacts, ServedName};

use crate::block::pack::{Packer, Unpacker};
use crate::error::Damage;

/// Packs notes as JSON, because they are rare and their kinds have names. No notes take one byte.
pub(super) fn pack_notes(packer: &mut Packer, notes: &[Note]) {
    packer.option(Some(notes).filter(|notes| !notes.is_empty()), |packer, notes| packer.json(notes));
}

pub(super) fn unpack_notes(unpacker: &mut Unpacker<'_>) -> Result<Vec<Note>, Damage> {
    unpacker.option(Unpacker::json).map(Option::unwrap_or_default)
}

/// Packs facts as JSON, because few steps have any.
pub(super) fn pack_facts(packer: &mut Packer, facts: &ResponseFacts) {
    packer.option(Some(facts).filter(|facts| !facts.is_bare()), |packer, facts| packer.json(facts));
}

/// Unpacks the facts at the end of a record. A record of version 1 ends before them.
pub(super) fn unpack_facts(unpacker: &mut Unpacker<'_>) -> Result<ResponseFacts, Damage> {
    if unpacker.is_over() {
        return Ok(ResponseFacts::default());
    }
    unpacker.option(Unpacker::json).map(Option::unwrap_or_default)
}

pub(super) fn pack_answered(packer: &mut Packer, answered: &[ServedName]) {
    packer.list(answered, |packer, it| {
        packer.text(&it.asked);
        packer.option(it.other.as_deref(), Packer::text);
    });
}

/// Unpacks the models that answered, at the end of a record. An older record ends before them.
pub(super) fn unpack_answered(unpacker: &mut Unpacker<'_>) -> Result<Vec<ServedName>, Damage> {
    if unpacker.is_over() {
        return Ok(Vec::new());
    }
    unpacker.list(|unpacker| {
        let asked = unpacker.text()?.to_owned();
        Ok(ServedName { asked, other: unpacker.option(Unpacker::text)?.map(str::to_owned) })
    })
}

pub(super) fn pack_error(packer: &mut Packer, error: Option<&CellError>) {
    packer.option(error, |packer, error| {
        packer.text(&error.code);
        packer.text(&error.message);
    });
}

pub(super) fn unpack_error(unpacker: &mut Unpacker<'_>) -> Result<Option<CellError>, Damage> {
    unpacker.option(|unpacker| {
        let code = unpacker.text()?.to_owned();
        Ok(CellError { code, message: unpacker.text()?.to_owned() })
    })
}

pub(super) fn pack_keys(packer: &mut Packer, keys: &[Key]) {
    packer.list(keys, |packer, key| packer.key(*key));
}

pub(super) fn unpack_keys(unpacker: &mut Unpacker<'_>) -> Result<Vec<Key>, Damage> {
    unpacker.list(Unpacker::key)
}
