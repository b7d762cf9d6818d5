//! Drift and change detection on a series of runs.
