//! Flags to settings.

use std::path::Path;

use crate::cli::arguments;
use crate::cli::console::Console;
use crate::cli::files;
use crate::monitor::{Caller, Settings};
use crate::report::json::FileError;
use crate::scenario;

/// The settings that these flags name.
pub(crate) fn settings(
    flags: &arguments::Settings,
    reading: &arguments::Reading,
    console: &mut Console<'_>,
) -> Result<Settings, FileError> {
    let (caller, metadata) = caller_and_metadata(flags, console)?;
    let (budget, parts) = (flags.budget.budget(), reading.options().parts);
    Ok(Settings { caller, metadata, budget, parts, ..Settings::default() })
}

/// Who asks, and the rows of `PolicyMetadata`.
pub(crate) fn caller_and_metadata(
    flags: &arguments::Settings,
    console: &mut Console<'_>,
) -> Result<(Caller, Vec<[String; 3]>), FileError> {
    let caller = Caller {
        principal: (!flags.anonymous).then(|| flags.principal.clone()),
        roles: if flags.anonymous { Vec::new() } else { flags.roles.clone() },
        entity: flags.entity.clone(),
        tenant: Some(flags.tenant.clone()),
    };
    let metadata = match &flags.metadata {
        None => Vec::new(),
        Some(path) => metadata(path, &files::text(path, console)?)?,
    };
    Ok((caller, metadata))
}

fn metadata(path: &Path, text: &str) -> Result<Vec<[String; 3]>, FileError> {
    if !files::ends_with(path, &[".tsv", ".facts"]) {
        return scenario::rows(text).map_err(|faults| {
            let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
            files::unreadable(path, faults.join("; "))
        });
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
    lines
        .map(|(at, line)| {
            let cells: Vec<_> = line.split('\t').map(str::to_owned).collect();
            <[String; 3]>::try_from(cells)
                .map_err(|_| files::unreadable(path, format!("line {} has not three columns", at + 1)))
        })
        .collect()
}
