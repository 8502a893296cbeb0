//! The front page says what is so.

use crate::support::{gatelog, root, text};

/// The fenced blocks of that language, in order.
fn blocks(language: &str) -> Vec<String> {
    let page = text(&root().join("README.md"));
    let fence = format!("```{language}\n");
    let opened = page.split(&fence).skip(1);
    opened.filter_map(|rest| rest.split_once("```").map(|(block, _)| block.to_owned())).collect()
}

#[test]
fn the_report_is_the_real_one() {
    let commands = blocks("sh");
    let command = commands.first().and_then(|block| block.lines().next()).unwrap_or_default();
    let arguments: Vec<&str> = command.split(" -- ").nth(1).unwrap_or_default().split_whitespace().collect();
    let run = gatelog(&root(), &arguments, None);
    assert_eq!(run.code, Some(1), "{command}: {}", run.stderr);
    assert_eq!(blocks("text").first(), Some(&run.stdout), "{command}");
}

#[test]
fn its_rules_are_rules() {
    let rules = blocks("prolog");
    let [shipped, whole] = rules.as_slice() else { panic!("{} blocks of rules", rules.len()) };
    let payment = text(&root().join("policies/payment.dl"));
    assert!(payment.contains(shipped), "not in policies/payment.dl:\n{shipped}");
    let run = gatelog(&root(), &["check", "-", "--deny-warnings"], Some(whole));
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
}
