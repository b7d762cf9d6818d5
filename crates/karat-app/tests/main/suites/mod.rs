//! Tests of price files, ready rubrics, cascades of judges, and the schemas that describe suites.

mod cascade;
mod prices;
mod ready_rubrics;
mod schema;
