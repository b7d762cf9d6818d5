//! `karat compare`.

use std::collections::BTreeMap;

use karat_app::{ComparedVerdict, Comparing, Comparison, Correction, Party};
use karat_types::Exit;

use super::{Edge, number, texts};
use crate::args::{CompareArgs, CorrectionArg, FailOnArg, TextFormArg};
use crate::failure::Failure;

pub fn compare(edge: &Edge<'_>, args: &CompareArgs) -> Result<Exit, Failure> {
    let comparing = Comparing {
        metrics: args.metrics.clone(),
        correction: match args.correction {
            CorrectionArg::Holm => Correction::Holm,
            CorrectionArg::Bh => Correction::BenjaminiHochberg,
            CorrectionArg::None => Correction::None,
        },
        confidence: args.confidence,
        margins: margins(&args.margin)?,
    };
    let [baseline, candidate] = parties(edge, args)?;
    let comparison = edge.app.compare(&baseline, &candidate, &comparing)?;
    texts::write(edge, "compare", args.output_dir.as_deref(), &args.format, &|form| text(&comparison, form))?;
    let binding = |verdict: &FailOnArg| match verdict {
        FailOnArg::Worse => ComparedVerdict::Worse,
        FailOnArg::Undecided => ComparedVerdict::Undecided,
    };
    Ok(comparison.exit(&args.fail_on.iter().map(binding).collect::<Vec<_>>()))
}

fn text(comparison: &Comparison, form: Option<TextFormArg>) -> Result<String, Failure> {
    match form {
        None => Ok(comparison.terminal()),
        Some(TextFormArg::Md) => Ok(comparison.markdown()),
        Some(TextFormArg::Json) => Ok(comparison.json()?),
    }
}

/// The two sides: runs, narrowed by models and variants.
fn parties(edge: &Edge<'_>, args: &CompareArgs) -> Result<[Party; 2], Failure> {
    let mut parties = match args.sides.as_slice() {
        [baseline, candidate] => edge.app.parties([baseline, candidate], args.run.as_deref())?,
        _ if args.models.is_empty() && args.variants.is_empty() => {
            return Err(Failure::Edge(
                "nothing says what to compare. Name two runs, or two models or variants: `karat compare RUN RUN`, \
                 `karat compare --models A B`, `karat compare --variants A B`"
                    .to_owned(),
            ));
        }
        _ => {
            let run = args.run.as_deref().unwrap_or("latest");
            [(); 2].map(|()| Party { run: run.to_owned(), ..Party::default() })
        }
    };
    for (party, model) in parties.iter_mut().zip(&args.models) {
        party.model = Some(model.clone());
    }
    for (party, variant) in parties.iter_mut().zip(&args.variants) {
        party.variant = Some(variant.clone());
    }
    Ok(parties)
}

fn margins(texts: &[String]) -> Result<BTreeMap<String, f64>, Failure> {
    let margin = |text: &String| {
        let parsed = text.split_once('=').and_then(|(name, value)| Some((name.trim(), number(value)?)));
        let (name, value) = parsed.ok_or_else(|| {
            Failure::Edge(format!("`--margin {text}` is no margin. Write `METRIC=X`, such as `quality.overall=0.2`"))
        })?;
        Ok((name.to_owned(), value))
    };
    texts.iter().map(margin).collect()
}
