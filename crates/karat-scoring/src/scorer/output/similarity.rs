//! Closeness of meaning: the cosine of the vectors that a model makes of two texts.

use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::scorer::EmbeddingTexts;
use crate::scorer::metric::{Metric, MetricInput, Needs, Options, ReferenceForm};
use crate::scorer::output::text::{alternatives, text};

/// Options of `similarity`. Of several references the closest one decides.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Similarity {
    /// The model that makes the vectors, such as `openai:text-embedding-3-small`; `stub` counts shared trigrams, offline.
    #[schemars(extend("format" = "embedding_model"))]
    model: String,
    /// Length of the vectors, for models that can shorten theirs.
    #[schemars(range(min = 1))]
    dimensions: Option<u32>,
}

impl Options for Similarity {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Metric for Similarity {
    fn score(&self, _: &MetricInput<'_>) -> Score {
        Score::unscored("this metric asks a model for vectors, and nobody asks it here")
    }

    fn embed(&self, given: &MetricInput<'_>) -> Option<Result<EmbeddingTexts, Score>> {
        let output = text(given.output).into_owned();
        if given.output.is_null() || output.trim().is_empty() {
            return Some(Err(Score::not_applicable("the output is empty")));
        }
        let references: Vec<String> = alternatives(given.reference).into_iter().map(|text| text.into_owned()).collect();
        if references.is_empty() {
            return Some(Err(Score::not_applicable("no reference")));
        }
        Some(Ok(EmbeddingTexts { model: self.model.clone(), dimensions: self.dimensions, output, references }))
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

/// The largest cosine of a vector with others, all of length 1: from -1 to 1. Vectors of different lengths, which one model
/// does not make, are no measure.
pub(crate) fn closest(output: &[f32], references: &[&[f32]]) -> Score {
    if references.iter().any(|reference| reference.len() != output.len()) {
        return Score::unscored("the model made vectors of different lengths");
    }
    let product = |one: &[f32], other: &[f32]| -> f64 {
        one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum()
    };
    // Single precision leaves lengths that are not quite 1, by which equal texts would not be quite equal.
    let cosine = |reference: &&[f32]| {
        product(output, reference) / (product(output, output) * product(reference, reference)).sqrt()
    };
    let best = references.iter().map(cosine).max_by(f64::total_cmp);
    best.map_or_else(|| Score::not_applicable("no reference"), |cosine| Score::value(cosine.clamp(-1.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TG-36: the best reference counts, and an opposite stays negative.
    #[test]
    fn the_closest_reference_decides() {
        let (one, other, opposite): (&[f32], &[f32], &[f32]) = (&[1.0, 0.0], &[0.6, 0.8], &[-1.0, 0.0]);
        assert_eq!(closest(one, &[opposite, one]).number(), Some(1.0));
        assert!((closest(one, &[other]).number().unwrap() - 0.6).abs() < 1e-6);
        assert_eq!(closest(one, &[opposite]).number(), Some(-1.0));
        assert!(closest(one, &[&[1.0]]).is_unscored());
    }

    /// F28: equal texts are equal: 1 and nothing below it, for vectors of any length.
    #[test]
    fn equal_vectors_have_cosine_1() {
        for length in [1_u16, 3, 7, 384, 1536] {
            let raw: Vec<f32> = (1..=length).map(|at| (f32::from(at) * 0.731).sin()).collect();
            let norm = raw.iter().map(|it| it * it).sum::<f32>().sqrt();
            let unit: Vec<f32> = raw.iter().map(|it| it / norm).collect();
            assert_eq!(closest(&unit, &[&unit]).number(), Some(1.0), "{length}");
            let opposite: Vec<f32> = unit.iter().map(|it| -it).collect();
            assert_eq!(closest(&unit, &[&opposite]).number(), Some(-1.0), "{length}");
        }
        assert!(closest(&[0.0], &[&[0.0]]).is_unscored());
    }
}
