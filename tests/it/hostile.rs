//! Files and processes that stand in the way of `fmt` and `check --fix`: a file is the old one or the new one, always.
#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{entries, gatelog, text};

const LOOSE: &str = "A( 1 ).\n";
const LAID: &str = "A(1).\n";
const FIXABLE: &str = "IsAuthorized(i) :- Actions(i, action), IsTool(_, \"read\").\n";

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes that fail in the middle: the limit on the size of files is nothing, and the signal that comes of it is not
/// heeded.
#[test]
fn a_write_that_fails_leaves_the_file_whole() {
    let here = folder("full");
    for (arguments, before) in [("fmt a.dl", LOOSE), ("check --fix a.dl", FIXABLE)] {
        std::fs::write(here.join("a.dl"), before).unwrap();
        let script =
            format!("trap '' XFSZ; ulimit -f 0; exec '{}' {arguments}", env!("CARGO_BIN_EXE_gatelog"));
        let run = Command::new("sh").args(["-c", &script]).current_dir(&here).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains("`a.dl` cannot be written: "), "{arguments}: {said}");
        assert_eq!(text(&here.join("a.dl")), before, "{arguments}");
        assert_eq!(entries(&here).len(), 1, "{arguments}: something is left beside the file");
    }
}

/// Here the signal is heeded: the process dies while it writes.
#[test]
fn a_process_that_dies_leaves_the_file_whole() {
    let here = folder("killed");
    std::fs::write(here.join("a.dl"), LOOSE).unwrap();
    let script = format!("ulimit -f 0; exec '{}' fmt a.dl", env!("CARGO_BIN_EXE_gatelog"));
    let run = Command::new("sh").args(["-c", &script]).current_dir(&here).output().unwrap();
    assert_ne!(run.status.code(), Some(0), "{run:?}");
    assert_eq!(text(&here.join("a.dl")), LOOSE);
    // What it left is in nobody's way.
    let run = gatelog(&here, &["fmt", "."], None);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "./a.dl\n"), "{}", run.stderr);
    assert_eq!(text(&here.join("a.dl")), LAID);
}

/// Killed at once, or as soon as there is anything beside the file.
#[test]
fn a_killed_process_leaves_the_old_file_or_the_new_one() {
    let here = folder("kill");
    let loose: String = (0..20_000).map(|at| format!("A( {at} ).\n")).collect();
    let laid: String = (0..20_000).map(|at| format!("A({at}).\n")).collect();
    for at_once in [true, false, false, false] {
        std::fs::write(here.join("a.dl"), &loose).unwrap();
        let before = entries(&here).len();
        let mut child = Command::new(env!("CARGO_BIN_EXE_gatelog"))
            .args(["fmt", "a.dl"])
            .current_dir(&here)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while !at_once && entries(&here).len() == before && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        let after = text(&here.join("a.dl"));
        assert!(after == loose || after == laid, "half of a file: {} bytes", after.len());
    }
}

#[test]
fn one_file_is_laid_out_by_many_at_once() {
    let here = folder("many");
    let loose: String = (0..2_000).map(|at| format!("A( {at} ).\n")).collect();
    std::fs::write(here.join("a.dl"), &loose).unwrap();
    let spawn = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatelog"));
        command.args(["fmt", "a.dl"]).current_dir(&here).stdout(Stdio::null()).spawn().unwrap()
    };
    let mut children: Vec<_> = (0..6).map(|_| spawn()).collect();
    for child in &mut children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_eq!(text(&here.join("a.dl")), loose.replace("( ", "(").replace(" )", ")"));
    assert_eq!(entries(&here).len(), 1);
}

#[test]
fn what_earlier_runs_left_is_in_nobodys_way() {
    let here = folder("left");
    std::fs::write(here.join("a.dl"), LOOSE).unwrap();
    // The number of the process is the shell's, which becomes gatelog.
    let script = format!(
        "for n in 0 1 2; do : > .gatelog-$$-$n.new; done; exec '{}' fmt a.dl",
        env!("CARGO_BIN_EXE_gatelog")
    );
    let run = Command::new("sh").args(["-c", &script]).current_dir(&here).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    assert_eq!(text(&here.join("a.dl")), LAID);
}

#[test]
fn the_longest_name_is_written() {
    let here = folder("long");
    let name = format!("{}.dl", "n".repeat(252));
    std::fs::write(here.join(&name), LOOSE).unwrap();
    let run = gatelog(&here, &["fmt", &name], None);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(text(&here.join(&name)), LAID);
}

#[test]
fn a_file_that_may_not_be_written_is_said_to_be_so() {
    let here = folder("fixed");
    std::fs::write(here.join("a.dl"), FIXABLE).unwrap();
    std::fs::set_permissions(here.join("a.dl"), std::fs::Permissions::from_mode(0o444)).unwrap();
    let run = gatelog(&here, &["check", "--fix", "a.dl"], None);
    assert_eq!(run.code, Some(2));
    assert_eq!(run.stderr, "error: `a.dl` cannot be written: that is not permitted\n");
    assert_eq!(text(&here.join("a.dl")), FIXABLE);
}

#[test]
fn links_are_followed_and_stay() {
    let here = folder("links");
    std::fs::write(here.join("a.dl"), FIXABLE).unwrap();
    symlink("a.dl", here.join("link.dl")).unwrap();
    symlink("loop.dl", here.join("loop.dl")).unwrap();
    symlink("nothing.dl", here.join("dangling.dl")).unwrap();
    let run = gatelog(&here, &["check", "--fix", "link.dl"], None);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(here.join("link.dl").is_symlink());
    assert_eq!(text(&here.join("a.dl")), FIXABLE.replace("action", "_action"));
    for name in ["loop.dl", "dangling.dl"] {
        for command in [&["fmt", name][..], &["check", "--fix", name]] {
            assert_eq!(gatelog(&here, command, None).code, Some(2), "{command:?}");
            assert!(here.join(name).is_symlink(), "{command:?}");
        }
    }
}

/// A pipe would be waited for, and replaced by a file.
#[test]
fn what_is_no_file_is_left_alone() {
    let here = folder("special");
    let made = Command::new("mkfifo").arg(here.join("pipe.dl")).status().unwrap();
    assert!(made.success());
    let _listening = UnixListener::bind(here.join("socket.dl")).unwrap();
    for name in ["pipe.dl", "socket.dl"] {
        let run = gatelog(&here, &["fmt", name], None);
        assert_eq!(run.code, Some(2));
        assert_eq!(run.stderr, format!("error: `{name}` cannot be written: it is no ordinary file\n"));
        assert!(!here.join(name).is_file());
    }
    let run = gatelog(&here, &["fmt", "/dev/null"], None);
    assert_eq!(run.stderr, "error: `/dev/null` cannot be written: it is no ordinary file\n");
}

#[test]
fn odd_texts_are_laid_out_or_refused() {
    let deep = format!("A({}1{}).\n", "(".repeat(100_000), ")".repeat(100_000));
    let comments = format!("A(1). {}\n", "/* c */ ".repeat(50_000));
    let rows: [(&str, i32, Option<&str>); 9] = [
        ("\u{feff}A( 1 ).\r\nB(x):-\tA(x). // c\r\n", 0, Some("A(1).\nB(x) :- A(x). // c\n")),
        ("A( 1 ).", 0, Some(LAID)),
        ("\t\tA(\t1\t).\t\n", 0, Some(LAID)),
        ("", 0, Some("")),
        ("\n\n\n", 0, Some("")),
        ("// only words", 0, Some("// only words\n")),
        ("A( 1 ).\rB( 2 ).", 2, None),
        (&deep, 2, None),
        (&comments, 0, None),
    ];
    let here = folder("odd");
    for (before, code, after) in rows {
        let path = here.join("a.dl");
        std::fs::write(&path, before).unwrap();
        let run = gatelog(&here, &["fmt", "a.dl"], None);
        assert_eq!(run.code, Some(code), "{before:.40}: {:.400}", run.stderr);
        if let Some(after) = after {
            assert_eq!(text(&path), after, "{before:.40}");
        } else if code == 2 {
            assert_eq!(text(&path), before, "{before:.40}");
        }
        let again = gatelog(&here, &["fmt", "--check", "a.dl"], None);
        assert_eq!(again.code, Some(code), "{before:.40}");
    }
    std::fs::write(here.join("a.dl"), b"A( 1 ). // \xff\n").unwrap();
    let run = gatelog(&here, &["fmt", "a.dl"], None);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(2), "error: `a.dl` cannot be read: byte 11 is not UTF-8\n")
    );
}

#[test]
fn files_in_a_circle_are_laid_out_each() {
    let here = folder("circle");
    std::fs::write(here.join("a.dl"), ".include   \"b.dl\"\n").unwrap();
    std::fs::write(here.join("b.dl"), ".include   \"a.dl\"\n").unwrap();
    let run = gatelog(&here, &["fmt", "a.dl", "b.dl"], None);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "a.dl\nb.dl\n"));
    let run = gatelog(&here, &["check", "--fix", "a.dl"], None);
    assert_eq!(run.code, Some(2));
    assert!(run.stdout.contains("E0051"), "{}", run.stdout);
}

/// Whoever may write everywhere writes here too; everybody else is told.
#[test]
fn a_folder_that_may_not_be_written_is_said_to_be_so() {
    let here = folder("closed");
    let inner = here.join("inner");
    std::fs::create_dir(&inner).unwrap();
    for (arguments, before) in
        [(&["fmt", "inner/a.dl"][..], LOOSE), (&["check", "--fix", "inner/a.dl"], FIXABLE)]
    {
        std::fs::write(inner.join("a.dl"), before).unwrap();
        std::fs::set_permissions(&inner, std::fs::Permissions::from_mode(0o555)).unwrap();
        let may = std::fs::write(inner.join("probe"), "").is_ok();
        let run = gatelog(&here, arguments, None);
        let after = text(&inner.join("a.dl"));
        std::fs::set_permissions(&inner, std::fs::Permissions::from_mode(0o755)).unwrap();
        if may {
            assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.stderr);
            assert_ne!(after, before, "{arguments:?}");
        } else {
            assert_eq!(run.code, Some(2), "{arguments:?}");
            assert_eq!(run.stderr, "error: `inner/a.dl` cannot be written: that is not permitted\n");
            assert_eq!(after, before, "{arguments:?}");
        }
    }
}
