//! `gatelog policy`

use crate::cli::arguments::{PolicyCommand, PolicyManifest, PolicyVerify};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::policy::{self, Audience};
use crate::cli::serving::no_policy;
use crate::policies::{self, MANIFEST, Manifest};
use crate::report::visible::visible;

/// Writes or verifies the manifest of a folder of policies.
pub(crate) fn run(flags: &PolicyCommand, quiet: bool, console: &mut Console<'_>) -> Exit {
    match flags {
        PolicyCommand::Manifest(flags) => manifest(flags, quiet, console),
        PolicyCommand::Verify(flags) => verify(flags, quiet, console),
    }
}

fn manifest(flags: &PolicyManifest, quiet: bool, console: &mut Console<'_>) -> Exit {
    let Manifest { policies, files, .. } = match policies::update(&flags.folder, flags.drop_denials) {
        Ok(manifest) => manifest,
        Err(error) => return policy::report(&no_policy(error), Audience::People, console),
    };
    if !quiet {
        let path = flags.folder.join(MANIFEST).display().to_string();
        let path = visible(&path);
        console.print(&format!(
            "{path}: {} of {}\n",
            counted(policies.len(), "policy", "policies"),
            counted(files.len(), "file", "files")
        ));
    }
    Exit::Done
}

fn verify(flags: &PolicyVerify, quiet: bool, console: &mut Console<'_>) -> Exit {
    let set = match policies::load(&flags.folder) {
        Ok(set) => set,
        Err(error) => return policy::report(&no_policy(error), Audience::People, console),
    };
    if !quiet {
        for served in set.policies() {
            let name = visible(&served.name);
            console.print(&format!("{name}: {}\n", served.policy.program().digest));
            for shadow in &served.shadows {
                let name = visible(&shadow.name);
                console.print(&format!("  beside it {name}: {}\n", shadow.policy.program().digest));
            }
        }
        console.print(&format!("{}\n", set.digest()));
    }
    Exit::Done
}

fn counted(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}
