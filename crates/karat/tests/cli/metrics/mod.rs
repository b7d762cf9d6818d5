//! Metrics that need more than an output: vectors of a model (`similarity`), results of other tools (`other_tools`).

mod other_tools;
mod similarity;
