//! Stores that fail under a gate.
