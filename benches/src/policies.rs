//! The policies that are asked about, as text.

/// A payment is refused where something confidential is among its ancestors.
pub const ANCESTOR: &str = r#"
// @id: pay
IsAuthorized(idx) :- Actions(idx, action), action = $CallTool("pay", args), @json_int(args, "amount") > 0.

// @id: confidential
// @deny_message: {amount} would be paid after something confidential was read
Unauthorized(idx) :-
    Actions(idx, action), action = $CallTool("pay", args), amount = @json_int(args, "amount"), amount > 100,
    CurrentDepends(record), ToolResult(record, "read_confidential", _).
"#;

/// The same, where what was redacted passes nothing on: a recursion that no relation of the host answers.
pub const RECURSION: &str = r#"
// @id: pay
IsAuthorized(idx) :- Actions(idx, action), action = $CallTool("pay", args), @json_int(args, "amount") > 0.

.decl Redacted(id: symbol)
Redacted(id) :- ToolResult(id, "redact", _).

.decl Reached(id: symbol)
Reached(id) :- Current(id).
Reached(source) :- Reached(dest), Edge(source, dest), !Redacted(source).

// @id: confidential
// @deny_message: {amount} would be paid after something confidential was read
Unauthorized(idx) :-
    Actions(idx, action), action = $CallTool("pay", args), amount = @json_int(args, "amount"), amount > 100,
    Reached(record), ToolResult(record, "read_confidential", _).
"#;

/// What goes beside [`ANCESTOR`] where a whole session is judged: all other tools may run.
pub const OTHER_TOOLS: &str = r#"
// @id: other-tools
IsAuthorized(idx) :- Actions(idx, action), IsTool(action, tool), tool != "pay".
"#;

/// Everything is allowed.
pub const EVERYTHING: &str = "IsAuthorized(idx) :- Actions(idx, _).\n";

/// So many rules, each about a tool of its own.
#[must_use]
pub fn of_rules(rules: usize) -> String {
    let rule = |number: usize| {
        format!(
            "// @id: tool-{number}\nIsAuthorized(idx) :- Actions(idx, action), action = $CallTool(\"tool_{number}\", args), \
             @json_int(args, \"amount\") > {number}, @json_str(args, \"to\") != \"nobody-{number}\".\n\n"
        )
    };
    (0..rules).map(rule).collect()
}
