//! Sections with the overall figures: `overview` (title and executive summary), `gates`, `kpis`, `systems`, `matrix`,
//! `legend`, `scorecards`, `recommendations` after the summary, and `provenance` at the end of the report.

pub(super) mod gates;
pub(super) mod kpis;
pub(super) mod legend;
pub(super) mod matrix;
pub(super) mod overview;
pub(super) mod provenance;
pub(super) mod recommendations;
pub(super) mod scorecards;
pub(super) mod systems;
