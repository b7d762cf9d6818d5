//! Finds samples with the same id but different content in two runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use karat_types::{Action, Key, Reads, RunRows, SampleRecord, ScorerKind, StepSpec};

use crate::AnalysisError;

/// Digests of the content read of a sample, by name.
type Contents = BTreeMap<String, Key>;

/// Ids of the samples whose content read by steps or judges differs between two runs. Content that only one side reads
/// is no change, because another prompt may read other columns; nor is a recorded output, because that is an answer.
///
/// # Errors
/// Rows that cannot be read.
pub fn changed_samples(baseline: &dyn RunRows, candidate: &dyn RunRows) -> Result<BTreeSet<String>, AnalysisError> {
    let mut then: BTreeMap<String, Contents> = BTreeMap::new();
    each_sample(baseline, &mut |sample| {
        then.insert(sample.id.clone(), sample.reads.iter().cloned().collect());
    })?;
    let (taken, asked) = taken_and_asked(candidate);
    let is_answer = |name: &str| taken.has(name) && !asked.has(name);
    let mut changed = BTreeSet::new();
    each_sample(candidate, &mut |sample| {
        let Some(known) = then.get(&sample.id) else { return };
        let mut questions = sample.reads.iter().filter(|(name, _)| !is_answer(name));
        if questions.any(|(name, digest)| known.get(name).is_some_and(|before| before != digest)) {
            changed.insert(sample.id.clone());
        }
    })?;
    Ok(changed)
}

/// The columns used as recorded outputs, and the columns read by prompts or judges.
fn taken_and_asked(rows: &dyn RunRows) -> (Reads, Reads) {
    let plan = &rows.header().plan;
    let steps = plan.variants.iter().flat_map(|variant| &variant.steps);
    let (taken, asked): (Vec<&StepSpec>, Vec<&StepSpec>) =
        steps.partition(|step| matches!(step.action, Action::Recorded(_)));
    let rubrics = plan.scorers.iter().filter_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => Some(&rubric.reads),
        _ => None,
    });
    let asked = asked.iter().map(|step| &step.reads).chain(rubrics);
    (
        Reads::new(taken.iter().flat_map(|step| &step.reads).map(String::as_str)),
        Reads::new(asked.flatten().map(String::as_str)),
    )
}

/// Calls `of` once for each sample of a run.
fn each_sample(rows: &dyn RunRows, of: &mut dyn FnMut(&SampleRecord)) -> Result<(), AnalysisError> {
    let mut last = None;
    let read = rows.for_each(&mut |row| {
        if last.replace(row.sample.row) != Some(row.sample.row) {
            of(row.sample);
        }
        ControlFlow::Continue(())
    });
    read.map_err(|source| AnalysisError::Rows { run: rows.header().id.clone(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sketch;
    use karat_types::KeyBuilder;

    /// BY-01: a sample with an edited input is not paired; one that another prompt reads more of is.
    #[test]
    fn an_edited_sample_is_a_different_sample() {
        let digest = |text: &str| KeyBuilder::new("test").text(text).finish();
        let run = |reads: [&[(&str, &str)]; 2]| {
            let mut run = Sketch::new(2, 1, 2).fill(1.0).run();
            for (sample, reads) in run.samples.iter_mut().zip(reads) {
                sample.reads = reads.iter().map(|(name, text)| ((*name).to_owned(), digest(text))).collect();
            }
            run
        };
        let before = run([&[("input", "one")], &[("input", "two")]]);
        let after = run([&[("input", "one"), ("hint", "new")], &[("input", "TWO")]]);
        assert_eq!(changed_samples(&before, &after).unwrap(), BTreeSet::from(["sample-1".to_owned()]));
        assert!(changed_samples(&before, &before).unwrap().is_empty());
    }
}
