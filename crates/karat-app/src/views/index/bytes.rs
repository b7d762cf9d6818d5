//! The form in which the store keeps an index: postcard's, under a key that changes with the run, the form and the
//! program. An index of another form is never read: it is built again.

use karat_types::{Key, KeyBuilder};

use crate::views::index::columns::RunIndex;

/// The kind of derived data.
pub(crate) const KIND: &str = "view-index";

/// The version of the form, and of the meaning of its columns.
const FORM: u64 = 1;

/// The key of an index of a run in this state.
pub(crate) fn version_key(state: Key) -> Key {
    key_of(state, FORM)
}

fn key_of(state: Key, form: u64) -> Key {
    KeyBuilder::new("karat/view-index").key(state).number(form).text(env!("CARGO_PKG_VERSION")).finish()
}

/// Returns the bytes of an index; empty if they cannot be made, which no index causes.
pub(crate) fn write(index: &RunIndex) -> Vec<u8> {
    postcard::to_stdvec(index).unwrap_or_default()
}

/// Reads an index; `None` if the bytes are none.
pub(crate) fn read(bytes: &[u8]) -> Option<RunIndex> {
    let mut index: RunIndex = postcard::from_bytes(bytes).ok()?;
    if !index.is_sound() {
        return None;
    }
    index.find_groups();
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-04, invariant 7, formats have versions: the key changes with the run and with the form, so that an older form is never read.
    #[test]
    fn key_depends_on_state_and_form() {
        let (one, other) = (Key::of("test", b"1"), Key::of("test", b"2"));
        assert_eq!(version_key(one), key_of(one, FORM));
        assert!(version_key(one) != version_key(other) && version_key(one) != key_of(one, FORM + 1));
    }

    #[test]
    fn foreign_bytes_are_no_index() {
        assert!(read(b"").is_none() && read(&[0xff; 64]).is_none());
        assert_eq!(read(&write(&RunIndex::default())), Some(RunIndex::default()));
        let broken = RunIndex { ordinals: vec![1, 2], ..RunIndex::default() };
        assert!(read(&write(&broken)).is_none());
    }
}
