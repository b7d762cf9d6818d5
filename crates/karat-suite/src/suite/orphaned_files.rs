//! Recorded files and annotations that belong to no sample: most likely their names are misspelled.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::dataset::columns::ColumnKind;
use crate::dataset::{Dataset, Role};
use crate::decode::Decoder;
use crate::diagnostics::{Diagnostic, Severity};
use crate::files::folder;
use crate::files::jsonl;

/// Most files that are named.
const SHOWN: usize = 5;

/// The parts of a recorded file's name around the id of its sample.
struct FileNameForm {
    before: String,
    after: String,
}

/// Warns of files in the folders of recorded steps that have the right extension but belong to no sample.
pub(crate) fn warn(dataset: &Arc<Dataset>, decoder: &mut Decoder<'_>) {
    let mut forms: BTreeMap<String, Vec<FileNameForm>> = BTreeMap::new();
    for (place, form) in decoder.recordings.keys().filter_map(|path| form(path)) {
        forms.entry(place).or_default().push(form);
    }
    let mut strays: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (place, forms) in &forms {
        let names = decoder.files.list(place).unwrap_or_default();
        let looked_for = |name: &String| forms.iter().any(|form| name.ends_with(extension(&form.after)));
        strays.insert(place.clone(), names.into_iter().filter(looked_for).collect());
    }
    if strays.values().all(BTreeSet::is_empty) {
        return;
    }
    for sample in dataset.rows().filter_map(Result::ok) {
        for (place, forms) in &forms {
            let Some(names) = strays.get_mut(place) else { continue };
            for form in forms {
                names.remove(&format!("{}{}{}", form.before, sample.id, form.after));
            }
        }
    }
    for (place, names) in strays.into_iter().filter(|(_, names)| !names.is_empty()) {
        let named: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
        let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
        let message = format!("recorded files that belong to no sample: {}{more}", named.join(", "));
        let mut problem = Diagnostic::of_file(Severity::Warning, &place, message);
        problem.hint("name each file after its sample's id, as in `from` of the recorded step");
        decoder.problems.push(problem);
    }
}

/// Warns of rows of looked-up files that are about samples which a whole dataset does not have. A file that is looked
/// up by anything but the samples' id may contain more rows than are needed.
pub(crate) fn warn_of_annotations(dataset: &Arc<Dataset>, decoder: &mut Decoder<'_>) {
    let Role::Declared(id) = &dataset.roles.id else { return };
    let mut unknown: BTreeMap<&str, BTreeMap<usize, &str>> = BTreeMap::new();
    for column in &dataset.columns {
        if let ColumnKind::Lookup { on, index, file, .. } = &column.kind
            && on == id
            && !file.starts_with("preset:")
        {
            unknown.entry(file).or_default().extend(index.iter().map(|(key, (number, _))| (*number, key.as_str())));
        }
    }
    if unknown.is_empty() {
        return;
    }
    let ids: BTreeSet<Arc<str>> = dataset.rows().filter_map(Result::ok).map(|sample| sample.id).collect();
    for (file, mut rows) in unknown {
        rows.retain(|_, key| !ids.contains(*key));
        let Some((number, key)) = rows.first_key_value() else { continue };
        let others = match rows.len() - 1 {
            0 => String::new(),
            more => format!("; {more} more rows have the same problem"),
        };
        let message = format!("this row belongs to the sample {key:?}, which is not in the dataset{others}");
        let text = decoder.files.read(file).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        let mut problem = match jsonl::places(&text).into_iter().nth(*number) {
            Some(span) => jsonl::problem_in_row(file, &text, span, message),
            None => Diagnostic::of_file(Severity::Warning, file, message),
        };
        problem.severity = Severity::Warning;
        problem.hint("correct the id, or remove the row");
        decoder.problems.push(problem);
    }
}

/// The folder and the form of a path in which nothing but the sample's id changes; `None` for other paths, and for those
/// of a preset, which the user did not write.
fn form(path: &str) -> Option<(String, FileNameForm)> {
    let path = literal(path);
    let (before, rest) = path.split_once("{{")?;
    let (name, after) = rest.split_once("}}")?;
    let is_plain = name.trim() == "sample.id" && !after.contains(['{', '/']) && !before.starts_with("preset:");
    let place = folder(before);
    let own = before.strip_prefix(place).unwrap_or(before).trim_start_matches('/');
    let form = FileNameForm { before: own.to_owned(), after: after.to_owned() };
    (is_plain && !place.is_empty()).then(|| (place.to_owned(), form))
}

/// A path template whose first placeholder holds the value of a parameter, with that value written out.
pub(crate) fn literal(path: &str) -> Cow<'_, str> {
    let value = path.strip_prefix("{{").and_then(|inner| inner.split_once("}}"));
    match value.and_then(|(value, rest)| Some((serde_json::from_str::<String>(value.trim()).ok()?, rest))) {
        Some((value, rest)) => Cow::Owned(value + rest),
        None => Cow::Borrowed(path),
    }
}

/// The end of a name from its last dot on.
fn extension(name: &str) -> &str {
    name.rfind('.').map_or(name, |dot| &name[dot..])
}
