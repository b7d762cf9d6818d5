//! Classification metrics: precision, recall, F1, MCC, ROC AUC, average precision.
