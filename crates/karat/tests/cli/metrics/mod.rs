//! Metrics that ask somebody outside: models that make vectors.

mod similarity;
