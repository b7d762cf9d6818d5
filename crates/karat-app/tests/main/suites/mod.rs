//! Tests of price files, ready rubrics, cascades of judges, cells that fail, judges of presets, and the schemas that describe suites.

mod cascade;
mod failed_cells;
mod preset_judges;
mod prices;
mod ready_rubrics;
mod schema;
