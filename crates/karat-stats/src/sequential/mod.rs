//! Statistics that may be looked at while they run: confidence sequences, e-processes, early stopping.
