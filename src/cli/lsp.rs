//! `gatelog lsp`

use std::io::BufReader;
use std::path::Path;

use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::PolicyFolder;
use crate::lsp::{self, End, Files, Open};
use crate::program::Includes;

/// Answers an editor on standard input and output until it leaves.
pub(crate) fn run(console: &mut Console<'_>) -> Exit {
    let (input, output) = console.streams();
    let end = lsp::serve(&mut BufReader::new(input), output, &Disk);
    match end {
        End::Orderly => Exit::Done,
        End::Gone => Exit::Refused,
        End::Broken => Exit::Broken,
    }
}

/// Files as `gatelog check` finds them.
struct Disk;

impl Files for Disk {
    fn includes(&self, root: &str, open: &Open) -> Box<dyn Includes> {
        let mut folder = PolicyFolder::default();
        for (name, text) in open {
            if let Ok(canonical) = files::canonical(Path::new(name)) {
                folder.open(canonical, name, text);
            }
        }
        let path = Path::new(root);
        match (files::canonical(path), path.parent()) {
            (Ok(canonical), _) => folder.know(root, canonical),
            // A document that was never saved.
            (Err(_), Some(parent)) if path.is_absolute() => folder.stand(root, parent),
            (Err(_), _) => {}
        }
        Box::new(folder)
    }
}
