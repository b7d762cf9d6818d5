//! The document of `karat calibrate`: agreement of judges with people, round by round.

use crate::blocks::judging::calibration::{between_judges, blocks};
use crate::markdown::block;
use crate::markdown::page::{Inline, Page};
use crate::shared::calibration_round::CalibrationRound;
use crate::wording::calibration::round_line;

/// Returns rounds of calibration as Markdown, the newest last.
pub fn calibration(rounds: &[CalibrationRound]) -> String {
    let mut page = Page::default();
    page.heading(1, Inline::plain("Calibration"));
    page.list(rounds.iter().map(|round| Inline::text(round_line(round))));
    for round in rounds {
        page.heading(2, Inline::plain("Round ").and_text(round.number.to_string()));
        let blocks = blocks(&round.calibration).into_iter().chain(between_judges(round));
        blocks.for_each(|it| block::write(&mut page, &it, 3));
    }
    page.paragraph(Inline::plain(
        "How these numbers were made: each judge graded every labelled output again, with examples from other samples \
         only; agreement is 1 − mean |judge − people| / range of the scale, with a t interval over clusters of samples; \
         differences are judge minus people; where samples hold several \
         outputs, or fall into clusters, ICC and α use the jackknife of whole ones (Fisher z, t) from 3 to 49 of them, and a \
         percentile bootstrap (1,000, seed 1) beyond; for independent outputs, ICC has its F interval and α the bootstrap from 10 on. Beyond chance, \
         a judge passes with its whole interval above the threshold, and fails with all of it below; below 20 sets nothing is decided.",
    ));
    page.finish()
}
