//! Correcting a judge with human labels: prediction-powered means, Rogan-Gladen, recalibration.
