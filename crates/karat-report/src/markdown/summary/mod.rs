//! Sections with the overall figures: `overview` (title and executive summary), `gates`, `kpis`, `systems`, `matrix`,
//! `legend`, `scorecards`, `leaderboards`, and `recommendations` at the end of the report.

pub(super) mod gates;
pub(super) mod kpis;
pub(super) mod leaderboards;
pub(super) mod legend;
pub(super) mod matrix;
pub(super) mod overview;
pub(super) mod recommendations;
pub(super) mod scorecards;
pub(super) mod systems;
