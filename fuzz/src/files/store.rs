//! Bytes of the store: a damaged form is an error, and what can be read is written again in a stable form.

use karat_store::StoredForm;

/// The first byte chooses the form and whether the rest gets a checksum; without one, checksums find most damage.
pub fn run(data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let form = StoredForm::ALL[usize::from(*choice) % StoredForm::ALL.len()];
    match *choice >= 128 {
        true => check(form, &form.seal(bytes).unwrap_or_else(|error| panic!("{error}"))),
        false => check(form, bytes),
    }
}

fn check(form: StoredForm, bytes: &[u8]) {
    match form.rewrite(bytes) {
        Ok(written) => {
            let again = form.rewrite(&written);
            assert_eq!(again.as_ref(), Ok(&written), "{form:?}: what was read can be written and read");
        }
        Err(problem) => assert!(!problem.is_empty()),
    }
}
