//! Results to text.
