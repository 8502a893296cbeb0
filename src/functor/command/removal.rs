use crate::functor::command::reading::Reading;
use crate::functor::command::word::Word;

/// Whether one of the programs deletes folders without asking, or may.
pub(super) fn is_dangerous(reading: &Reading) -> bool {
    let is_given = ["rm", "grm"].iter().any(|program| reading.given(program).any(removes));
    is_given
        || reading.runs().iter().any(|run| match run.program.as_str() {
            "rm" | "grm" => removes(&run.arguments),
            "find" | "gfind" => {
                run.arguments.iter().any(|word| word.text == "-delete" || word.may_be_option() && word.splits)
            }
            _ => false,
        })
}

fn removes(arguments: &[Word]) -> bool {
    let (mut recursive, mut force, mut vast) = (false, false, false);
    let mut options = true;
    for word in arguments {
        let text = word.text.as_str();
        // A word that splits, or a brace, may bring options with it.
        if word.splits {
            return true;
        }
        if options && text == "--" {
            options = false;
        } else if options && text.starts_with("--") {
            // The program takes every beginning of a long option that fits one alone.
            recursive |= "--recursive".starts_with(text) && text.len() > 2;
            force |= "--force".starts_with(text) && text.len() > 2;
            vast |= text.starts_with("--no-p") || word.is_open();
        } else if options && text.starts_with('-') && text.len() > 1 {
            recursive |= text.contains(['r', 'R']) || word.is_open();
            force |= text.contains(['f', 'F']) || word.is_open();
        } else {
            vast |= is_vast(word);
        }
    }
    (recursive && force)
        || ((recursive || force) && vast)
        || arguments.iter().any(|word| word.text.starts_with("--no-preserve-r"))
}

/// Whether so much hangs on the path, or is not known of it, that deleting it is no small thing.
fn is_vast(word: &Word) -> bool {
    let text = word.text.as_str();
    if word.is_open() || word.is_pattern || text.starts_with('~') {
        return true;
    }
    let parts: Vec<&str> = text.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    let is_absolute = text.starts_with('/') || text.contains(':');
    match parts.as_slice() {
        [] => true,
        parts if parts.contains(&"..") => true,
        [_] => is_absolute,
        ["home" | "Users", _] => is_absolute,
        _ => false,
    }
}
