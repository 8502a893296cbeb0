//! Policy tests: a test file to passes and failures.
