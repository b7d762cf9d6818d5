//! Calibration of stated confidences: ECE, reliability bins, Brier score, log loss.
