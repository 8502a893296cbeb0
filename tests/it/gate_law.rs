//! Sessions that nobody wrote.
