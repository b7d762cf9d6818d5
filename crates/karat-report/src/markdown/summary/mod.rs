//! Sections with the overall figures: `overview` (title and executive summary), `gates`, `kpis`, `systems`, `matrix`,
//! `scorecards`.

pub(super) mod gates;
pub(super) mod kpis;
pub(super) mod matrix;
pub(super) mod overview;
pub(super) mod scorecards;
pub(super) mod systems;
