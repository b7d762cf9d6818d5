//! Material that every format uses: the inputs (`report`, `calibration_round`, `history_row`), numbers and times as
//! text (`figures`, `moment`, `ranking`, `anchored`, `cascade`), harmless forms of texts from outside (`visible`), values as lines (`readable`), and the one drawing
//! (`reliability_curve`). `scales` brings metrics and findings into the form of pages.

pub(crate) mod anchored;
pub(crate) mod calibration_round;
pub(crate) mod cascade;
pub(crate) mod figures;
pub(crate) mod history_row;
pub(crate) mod moment;
pub(crate) mod ranking;
pub(crate) mod readable;
pub mod reliability_curve;
pub(crate) mod report;
pub(crate) mod scales;
pub(crate) mod visible;
