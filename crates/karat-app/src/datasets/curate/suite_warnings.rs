//! Warnings of a suite's own rows: duplicates among them, and rows that its prompts and examples hold.

use karat_dataset::duplicates::{DuplicateFinder, Duplicates, Likeness, Preference, Search};
use karat_dataset::version::{ApartColumns, row_key};
use karat_dataset::{row_text, value_text};
use karat_report::count_noun;
use karat_suite::Plan;
use karat_types::{Key, Sample};
use rustc_hash::{FxHashMap, FxHashSet};

use super::leaks::{LeakReport, leaks_of};
use crate::datasets::source::DatasetRows;
use crate::datasets::source::NEAR;

/// Rows that are looked at for leaks and exact duplicates.
const ROWS: u64 = 100_000;
/// Rows that are looked at for near duplicates.
const NEAR_ROWS: usize = 20_000;
/// Characters of a text that is looked at for near duplicates; longer ones are documents more than questions.
const NEAR_CHARACTERS: usize = 4_000;
/// Rows that a warning names.
const NAMED: usize = 3;
/// Warnings of the rows of a suite as a test: rows that occur twice, and rows that its own prompts hold. Bounded in cost: of a
/// large set, the first rows are looked at, and a warning says so.
pub fn dataset_warnings(plan: &Plan) -> Vec<String> {
    let place = place_of(plan);
    let mut warnings = duplicate_warnings(plan, &place);
    // Rows that cannot be read are reported where the suite is loaded.
    let report = leaks_of(&DatasetRows::of_plan(&plan.header.suite, plan).first(ROWS), plan).ok();
    warnings.extend(report.and_then(|report| leak_warning(&report, &place)));
    let rows = plan.header.dataset.rows;
    if rows > ROWS {
        warnings.push(format!(
            "{place}: repeated and leaked rows were looked for among the first {ROWS} of {rows} rows; \
             `karat dataset dedup` and `check --leaks` look at all"
        ));
    }
    warnings
}

fn place_of(plan: &Plan) -> String {
    match plan.header.dataset.sources.as_slice() {
        [only] => only.path.clone(),
        _ => "dataset".to_owned(),
    }
}

/// Rows as far as they are looked at.
#[derive(Default)]
struct Seen {
    ids: Vec<String>,
    /// The first row of each content.
    contents: FxHashMap<Key, u32>,
    repeated: Vec<(u32, u32)>,
    texts: Vec<Option<String>>,
}

fn duplicate_warnings(plan: &Plan, place: &str) -> Vec<String> {
    let apart = ApartColumns { ids: plan.id_columns(), metadata: Vec::new() };
    let mut seen = Seen::default();
    let samples = plan.rows().take(ROWS as usize).filter_map(Result::ok);
    samples.enumerate().for_each(|(at, sample)| seen.add(at as u32, &sample, &apart));
    let mut warnings = Vec::new();
    let name = |pair: &(u32, u32)| format!("{} = {}", seen.ids[pair.1 as usize], seen.ids[pair.0 as usize]);
    if !seen.repeated.is_empty() {
        let count = count_noun(seen.repeated.len() as u64, "row");
        warnings.push(format!(
            "{place}: {count} repeat another row, and count twice in every figure ({}). `karat dataset dedup` leaves one of each",
            name_list(seen.repeated.iter().map(name))
        ));
    }
    let near = near_duplicates(&seen);
    let pairs: Vec<(u32, u32)> = near
        .clusters
        .iter()
        .flat_map(|cluster| cluster.members.iter().map(|member| (member, cluster.kept)))
        .filter(|(member, _)| member.likeness == Likeness::Near)
        .map(|(member, kept)| (member.row, kept))
        .collect();
    if !pairs.is_empty() {
        let count = count_noun(pairs.len() as u64, "row");
        let only = match seen.texts.len() < seen.ids.len() {
            true => format!("; only the first {NEAR_ROWS} rows were looked at"),
            false => String::new(),
        };
        let name = |pair: &(u32, u32)| format!("{} ≈ {}", seen.ids[pair.0 as usize], seen.ids[pair.1 as usize]);
        warnings.push(format!(
            "{place}: {count} nearly repeat another row ({}){only}. `karat dataset dedup` shows them",
            name_list(pairs.iter().map(name))
        ));
    }
    warnings
}

impl Seen {
    fn add(&mut self, at: u32, sample: &Sample, apart: &ApartColumns) {
        self.ids.push(sample.id.to_string());
        let content = row_key(&sample.columns, apart);
        let first = *self.contents.entry(content).or_insert(at);
        if first != at {
            self.repeated.push((first, at));
        }
        if self.texts.len() < NEAR_ROWS {
            let text = sample.input.is_some().then(|| row_text(sample)).flatten();
            // Rows with the same question on other documents, or of another turn, are other cases.
            let context = sample.columns.iter().filter(|(_, value)| Some(*value) != sample.input.as_ref());
            let has_context = context.map(|(_, value)| value_text(value).len()).sum::<usize>() > NEAR_CHARACTERS;
            self.texts.push(text.filter(|text| first == at && !has_context && text.len() <= NEAR_CHARACTERS));
        }
    }
}

fn near_duplicates(seen: &Seen) -> Duplicates {
    let mut finder = DuplicateFinder::new(NEAR);
    seen.texts.iter().for_each(|text| finder.add(text.as_deref(), Preference::default()));
    let mut verifier = finder.into_verifier(Search::Likeliest);
    for (row, text) in (0_u32..).zip(&seen.texts) {
        if let Some(text) = text.as_ref().filter(|_| verifier.needs(row)) {
            verifier.add(row, text);
        }
    }
    verifier.clusters()
}

fn leak_warning(report: &LeakReport, place: &str) -> Option<String> {
    let mut rows = FxHashSet::default();
    let hits = report.hits.iter().filter(|hit| rows.insert(hit.row.clone()));
    let hits: Vec<String> = hits.map(|hit| format!("{} in the {}", hit.row, hit.other)).collect();
    (!hits.is_empty()).then(|| {
        format!(
            "{place}: {} can be read in what every call shows the models or judges ({}). `karat dataset check --leaks` shows the passages",
            count_noun(report.leaked_rows, "row"),
            name_list(hits.into_iter())
        )
    })
}

fn name_list(names: impl ExactSizeIterator<Item = String>) -> String {
    let count = names.len();
    let more = if count > NAMED { format!(", and {} more", count - NAMED) } else { String::new() };
    format!("{}{more}", names.take(NAMED).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_few() {
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
        assert_eq!(name_list(names.into_iter()), "a, b, c, and 2 more");
    }
}
