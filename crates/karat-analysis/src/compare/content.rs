//! Finds samples with the same id but different content in two runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use karat_types::{
    Action, Key, KeyBuilder, Reads, RunRows, SampleRecord, SampleText, ScorerKind, StepSpec, scored_part,
};

use crate::AnalysisError;

/// Digests of the content read of a sample, by name.
pub(crate) type Contents = BTreeMap<String, Key>;

/// Ids of the samples whose content differs between two runs: the input and the reference, also where nothing reads them, and
/// what steps, judges or metrics read. Content that only one side reads is not a change, because another prompt may read other
/// columns. A column used as recorded output is ignored too: it is what is tested, not the input.
///
/// # Errors
/// Rows that cannot be read.
pub fn changed_samples(baseline: &dyn RunRows, candidate: &dyn RunRows) -> Result<BTreeSet<String>, AnalysisError> {
    let before = contents_of(baseline)?;
    changed_since(&|id| before.get(id).cloned(), candidate)
}

/// The content of each sample of a run.
pub(crate) fn contents_of(rows: &dyn RunRows) -> Result<BTreeMap<String, Contents>, AnalysisError> {
    let mut contents = BTreeMap::new();
    each_sample(rows, &mut |sample| {
        contents.insert(sample.id.clone(), contents_of_sample(sample));
    })?;
    Ok(contents)
}

/// The content of a sample, with recorded outputs.
pub(super) fn contents_of_sample(sample: &SampleRecord) -> Contents {
    let parts = sample.reads.iter().map(|(name, digest)| (part(name).to_owned(), *digest));
    parts.chain(shown_roles(sample)).collect()
}

/// Digests of the input and the reference as readers see them. A suite of recorded outputs has no step that reads them.
fn shown_roles(sample: &SampleRecord) -> impl Iterator<Item = (String, Key)> {
    let roles = sample.texts.iter().filter(|text| [SampleText::INPUT, SampleText::REFERENCE].contains(&&*text.name));
    roles.map(|text| {
        let digest = KeyBuilder::new("karat/shown-role").text(&text.text).number(text.chars).finish();
        (format!("shown: {}", text.name), digest)
    })
}

/// Tells the content of a run's samples from the outputs that their rows hold.
pub(crate) struct ContentReader {
    recorded: Reads,
    read: Reads,
}

impl ContentReader {
    /// The reader for the samples of a run.
    pub fn of(rows: &dyn RunRows) -> Self {
        let (recorded, read) = recorded_and_read_columns(rows);
        Self { recorded, read }
    }

    /// The digests of a sample's content, without those of recorded outputs.
    pub fn contents(&self, sample: &SampleRecord) -> Contents {
        let is_output = |name: &str| scored_part(name).is_none() && self.recorded.has(name) && !self.read.has(name);
        let parts = sample.reads.iter().filter(|(name, _)| !is_output(name));
        let parts = parts.map(|(name, digest)| (part(name).to_owned(), *digest));
        parts.chain(shown_roles(sample)).collect()
    }
}

/// Returns true if a part that both have differs.
pub(crate) fn differs(before: &Contents, after: &Contents) -> bool {
    after.iter().any(|(name, digest)| before.get(name).is_some_and(|earlier| earlier != digest))
}

/// Ids of the samples of a run with another content than before.
pub(crate) fn changed_since(
    before: &dyn Fn(&str) -> Option<Contents>,
    candidate: &dyn RunRows,
) -> Result<BTreeSet<String>, AnalysisError> {
    let reader = ContentReader::of(candidate);
    let mut changed = BTreeSet::new();
    each_sample(candidate, &mut |sample| {
        if before(&sample.id).is_some_and(|before| differs(&before, &reader.contents(sample))) {
            changed.insert(sample.id.clone());
        }
    })?;
    Ok(changed)
}

/// The name of a part, whoever reads it.
fn part(name: &str) -> &str {
    scored_part(name).unwrap_or(name)
}

/// The columns used as recorded outputs, and the columns read by prompts or judges.
fn recorded_and_read_columns(rows: &dyn RunRows) -> (Reads, Reads) {
    let plan = &rows.header().plan;
    let steps = plan.variants.iter().flat_map(|variant| &variant.steps);
    let (recorded, others): (Vec<&StepSpec>, Vec<&StepSpec>) =
        steps.partition(|step| matches!(step.action, Action::Recorded(_)));
    let rubrics = plan.scorers.iter().filter_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => Some(&rubric.reads),
        _ => None,
    });
    let read = others.iter().map(|step| &step.reads).chain(rubrics);
    (
        Reads::new(recorded.iter().flat_map(|step| &step.reads).map(String::as_str)),
        Reads::new(read.flatten().map(String::as_str)),
    )
}

/// Calls `visit` once for each sample of a run.
fn each_sample(rows: &dyn RunRows, visit: &mut dyn FnMut(&SampleRecord)) -> Result<(), AnalysisError> {
    let mut last = None;
    let result = rows.for_each(&mut |row| {
        if last.replace(row.sample.row) != Some(row.sample.row) {
            visit(row.sample);
        }
        ControlFlow::Continue(())
    });
    result.map_err(|source| AnalysisError::Rows { run: rows.header().id.clone(), source })
}

/// The samples of a run, by id with digests of their content.
pub struct RunSamples(BTreeMap<String, Contents>);

impl RunSamples {
    /// Reads the samples of a run.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn of(rows: &dyn RunRows) -> Result<Self, AnalysisError> {
        contents_of(rows).map(Self)
    }

    /// If this run has all samples of another one, with the same content, and more: a digest of the other one's ids. Reads up
    /// to the first sample that it lacks.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn extends(&self, earlier: &dyn RunRows) -> Result<Option<Key>, AnalysisError> {
        let (mut ids, mut last, mut lacks) = (BTreeSet::new(), None, false);
        let read = earlier.for_each(&mut |row| {
            if last.replace(row.sample.row) == Some(row.sample.row) {
                return ControlFlow::Continue(());
            }
            let before = contents_of_sample(row.sample);
            lacks = self.0.get(&row.sample.id).is_none_or(|own| differs(&before, own));
            ids.insert(row.sample.id.clone());
            if lacks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        read.map_err(|source| AnalysisError::Rows { run: earlier.header().id.clone(), source })?;
        let is_part = !lacks && !ids.is_empty() && ids.len() < self.0.len();
        Ok(is_part.then(|| ids.iter().fold(KeyBuilder::new("karat/sample-ids"), |key, id| key.text(id)).finish()))
    }
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

    /// BC-06: a sample whose reference was corrected is not paired, whether metrics or judges read it.
    #[test]
    fn a_corrected_reference_makes_another_sample() {
        let digest = |text: &str| KeyBuilder::new("test").text(text).finish();
        let run = |name: &str, reference: &str| {
            let mut run = Sketch::new(2, 1, 2).fill(1.0).run();
            for (sample, text) in run.samples.iter_mut().zip([reference, "same"]) {
                sample.reads = vec![(name.to_owned(), digest(text))];
            }
            run
        };
        let (by_judge, by_metric) = ("{{ reference }}", "scored: {{ reference }}");
        let first = BTreeSet::from(["sample-0".to_owned()]);
        for (before, after) in [(by_metric, by_metric), (by_judge, by_metric), (by_metric, by_judge)] {
            assert_eq!(changed_samples(&run(before, "old"), &run(after, "new")).unwrap(), first);
            assert!(changed_samples(&run(before, "old"), &run(after, "old")).unwrap().is_empty());
        }
    }

    /// BC-06: the input of a sample is its content although a suite of recorded outputs has no step that reads it.
    #[test]
    fn a_changed_input_that_nothing_reads_makes_another_sample() {
        let run = |input: &str| {
            let mut run = Sketch::new(2, 1, 2).fill(1.0).run();
            for (sample, text) in run.samples.iter_mut().zip([input, "same"]) {
                sample.texts = vec![SampleText::of(SampleText::INPUT, &text.into())];
            }
            run
        };
        assert_eq!(changed_samples(&run("old"), &run("new")).unwrap(), BTreeSet::from(["sample-0".to_owned()]));
        assert!(changed_samples(&run("old"), &run("old")).unwrap().is_empty());
    }

    /// DC-14: only a run with more samples, and with all of the earlier ones unchanged, extends it.
    #[test]
    fn a_run_extends_another_by_content() {
        let run = |samples: usize| Sketch::new(1, 2, samples).fill(1.0).run();
        let samples = RunSamples::of(&run(60)).unwrap();
        assert!(samples.extends(&run(20)).unwrap().is_some());
        assert!(samples.extends(&run(60)).unwrap().is_none());
        let mut renamed = run(20);
        renamed.samples[7].id = "elsewhere".to_owned();
        assert!(samples.extends(&renamed).unwrap().is_none());
    }
}
