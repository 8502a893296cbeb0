use std::collections::BTreeMap;

use shuck_ast::ArrayElem;
use shuck_ast::Assignment;
use shuck_ast::AssignmentValue;
use shuck_ast::BinaryOp;
use shuck_ast::BourneParameterExpansion;
use shuck_ast::BuiltinCommand;
use shuck_ast::Command;
use shuck_ast::CommandSubstitutionSyntax;
use shuck_ast::CompoundCommand;
use shuck_ast::ConditionalExpr;
use shuck_ast::DeclOperand;
use shuck_ast::HeredocBody;
use shuck_ast::HeredocBodyPart;
use shuck_ast::LiteralText;
use shuck_ast::ParameterExpansion;
use shuck_ast::ParameterExpansionSyntax;
use shuck_ast::Redirect;
use shuck_ast::RedirectKind;
use shuck_ast::RedirectTarget;
use shuck_ast::SimpleCommand;
use shuck_ast::Span;
use shuck_ast::Stmt;
use shuck_ast::StmtSeq;
use shuck_ast::VarRef;
use shuck_ast::WordPart;
use shuck_ast::WordPartNode;
use shuck_parser::parser::ParseStatus;
use shuck_parser::parser::Parser;
use shuck_parser::parser::ShellDialect;
use shuck_parser::parser::ShellProfile;

use crate::functor::command::launch;
use crate::functor::command::reading::Reading;
use crate::functor::command::word::Builder;
use crate::functor::command::word::HOLE;
use crate::functor::command::word::Word;
use crate::functor::unicode;

/// How deep the grammar may go down its stack; a level of it takes up to 50 KiB.
const MAX_SYNTAX_DEPTH: usize = 14;
/// Steps of the grammar for one text.
const MAX_STEPS: usize = 100_000;

/// One text on its way into a [`Reading`].
#[derive(Debug)]
pub(super) struct Walk<'a> {
    source: &'a str,
    reading: &'a mut Reading,
    /// How often each name stands in the text other than behind `$`.
    names: BTreeMap<&'a str, usize>,
    /// Values of variables that the text sets once, where nothing can come between.
    values: BTreeMap<String, String>,
    has_followed: bool,
    writes_variables: bool,
}

impl<'a> Walk<'a> {
    /// Reads a whole text.
    pub(super) fn over(source: &'a str, reading: &'a mut Reading) {
        let bash = ShellProfile::native(ShellDialect::Bash);
        let parsed = Parser::with_limits_and_profile(source, MAX_SYNTAX_DEPTH, MAX_STEPS, bash).parse();
        if parsed.status != ParseStatus::Clean {
            reading.hide();
            return;
        }
        let names = names(source);
        let mut walk = Walk {
            source,
            reading,
            names,
            values: BTreeMap::new(),
            has_followed: false,
            writes_variables: false,
        };
        for statement in parsed.file.body.iter() {
            walk.statement(statement, None);
            if statement.terminator.is_none_or(|end| end == shuck_ast::StmtTerminator::Semicolon) {
                walk.remember(statement);
            }
        }
        if walk.has_followed && walk.writes_variables {
            walk.reading.doubt();
        }
    }

    /// Keeps the value of a variable that is set for all that follows.
    fn remember(&mut self, statement: &Stmt) {
        let Command::Simple(command) = &statement.command else { return };
        if !self.words(&command.name).is_empty() {
            return;
        }
        for assignment in &command.assignments {
            let name = assignment.target.name.as_str();
            let AssignmentValue::Scalar(value) = &assignment.value else { continue };
            let is_plain = assignment.target.subscript.is_none() && !assignment.append;
            if !is_plain || self.names.get(name) != Some(&1) || self.names.contains_key("IFS") {
                continue;
            }
            let value = self.value(value);
            if !value.is_empty() && !value.contains(HOLE) {
                self.values.insert(name.to_owned(), value);
            }
        }
    }

    fn sequence(&mut self, statements: &StmtSeq) {
        if self.reading.enter() {
            for statement in statements.iter() {
                self.statement(statement, None);
            }
            self.reading.leave();
        }
    }

    /// `feed` is the text that the statement is given to read, where that is known.
    fn statement(&mut self, statement: &Stmt, feed: Option<&str>) {
        // Operators lean to the left, a thousand of them in a row as well.
        let mut rights = Vec::new();
        let mut first = statement;
        while let Command::Binary(binary) = &first.command {
            self.redirects(first);
            rights.push(binary);
            first = &binary.left;
        }
        self.single(first, feed);
        for binary in rights.into_iter().rev() {
            let said = match binary.op {
                BinaryOp::Pipe | BinaryOp::PipeAll => self.said(&binary.left),
                BinaryOp::And | BinaryOp::Or => None,
            };
            if self.reading.enter() {
                self.statement(&binary.right, said.as_deref());
                self.reading.leave();
            }
        }
    }

    /// What a plain `echo` writes.
    fn said(&mut self, statement: &Stmt) -> Option<String> {
        let Command::Simple(command) = &statement.command else { return None };
        let name = self.words(&command.name);
        if !statement.redirects.is_empty() || name.as_slice() != [Word::known("echo")] {
            return None;
        }
        let words: Vec<Word> = command.args.iter().flat_map(|word| self.words(word)).collect();
        let is_plain = |word: &Word| {
            !word.is_open() && !word.is_pattern && !word.text.contains('\\') && !word.text.starts_with('-')
        };
        words.iter().all(is_plain).then(|| crate::functor::command::word::joined(&words))
    }

    fn redirects(&mut self, statement: &Stmt) -> Option<String> {
        let mut given = None;
        for redirect in &statement.redirects {
            given = self.redirect(redirect).or(given);
        }
        given
    }

    /// The text that the redirection gives to its command.
    fn redirect(&mut self, redirect: &Redirect) -> Option<String> {
        match &redirect.target {
            RedirectTarget::Heredoc(heredoc) => Some(self.heredoc(&heredoc.body)),
            RedirectTarget::Word(word) => {
                let words = self.words(word);
                // The shell itself connects to these.
                if words.iter().any(|word| word.text.contains("/dev/tcp/") || word.text.contains("/dev/udp/"))
                {
                    self.reading.doubt();
                }
                let text = crate::functor::command::word::joined(&words);
                match redirect.kind {
                    RedirectKind::HereString => Some(text),
                    RedirectKind::Input | RedirectKind::ReadWrite | RedirectKind::DupInput => {
                        Some(HOLE.to_string())
                    }
                    RedirectKind::Output
                    | RedirectKind::Clobber
                    | RedirectKind::Append
                    | RedirectKind::HereDoc
                    | RedirectKind::HereDocStrip
                    | RedirectKind::DupOutput
                    | RedirectKind::OutputBoth => None,
                }
            }
        }
    }

    fn heredoc(&mut self, body: &HeredocBody) -> String {
        let mut out = String::new();
        for part in &body.parts {
            match &part.kind {
                HeredocBodyPart::Literal(text) => {
                    // The grammar may leave escapes in; what a shell then reads is not certain.
                    let text = text.as_str(self.source, part.span);
                    out.push_str(text);
                    self.reading.load(text);
                    if body.mode.expands() && text.contains('\\') {
                        out.push(HOLE);
                    }
                }
                HeredocBodyPart::Variable(_) => out.push(HOLE),
                HeredocBodyPart::CommandSubstitution { body, syntax } => {
                    self.substitution(body, *syntax, part.span);
                    out.push(HOLE);
                }
                HeredocBodyPart::ArithmeticExpansion { expression_word_ast, .. } => {
                    self.reading.evaluate();
                    self.words(expression_word_ast);
                    out.push(HOLE);
                }
                HeredocBodyPart::Parameter(parameter) => {
                    self.parameter(parameter);
                    out.push(HOLE);
                }
            }
        }
        out
    }

    fn single(&mut self, statement: &Stmt, feed: Option<&str>) {
        let given = self.redirects(statement);
        let feed = given.as_deref().or(feed);
        match &statement.command {
            Command::Simple(command) => self.simple(command, feed),
            Command::Builtin(command) => self.builtin(command),
            Command::Decl(declaration) => {
                self.writes_variables = true;
                self.assignments(&declaration.assignments);
                self.reading.evaluate();
                self.reading.start(declaration.variant.as_str(), &[]);
                for operand in &declaration.operands {
                    match operand {
                        DeclOperand::Flag(word) => {
                            self.words(word);
                        }
                        // Its text may be a subscript, or a name that is not shown.
                        DeclOperand::Dynamic(word) => {
                            self.words(word);
                            self.reading.doubt();
                        }
                        DeclOperand::Name(reference) => self.reference(reference),
                        DeclOperand::Assignment(assignment) => self.assignment(assignment),
                    }
                }
            }
            Command::Compound(command) => self.compound(command),
            Command::Function(function) => {
                for entry in &function.header.entries {
                    self.words(&entry.word);
                }
                self.block(&function.body);
            }
            Command::Binary(_) => self.block(statement),
            Command::AnonymousFunction(_) => self.reading.hide(),
        }
    }

    fn block(&mut self, statement: &Stmt) {
        if self.reading.enter() {
            self.statement(statement, None);
            self.reading.leave();
        }
    }

    fn builtin(&mut self, command: &BuiltinCommand) {
        let (first, rest, assignments) = match command {
            BuiltinCommand::Break(it) => (&it.depth, &it.extra_args, &it.assignments),
            BuiltinCommand::Continue(it) => (&it.depth, &it.extra_args, &it.assignments),
            BuiltinCommand::Return(it) => (&it.code, &it.extra_args, &it.assignments),
            BuiltinCommand::Exit(it) => (&it.code, &it.extra_args, &it.assignments),
        };
        self.assignments(assignments);
        self.reading.evaluate();
        for word in first.iter().chain(rest) {
            self.words(word);
        }
    }

    fn simple(&mut self, command: &SimpleCommand, feed: Option<&str>) {
        self.assignments(&command.assignments);
        let mut words = self.words(&command.name);
        if words.is_empty() && command.args.is_empty() {
            return;
        }
        for word in &command.args {
            words.extend(self.words(word));
        }
        self.writes_variables |= words.first().is_some_and(|word| launch::writes_variables(&word.text));
        if words.first().is_some_and(|name| unicode::deceives(&name.text.replace(HOLE, ""))) {
            self.reading.deceive();
        }
        if words.first().is_some_and(|word| launch::evaluates(&word.text)) {
            self.reading.evaluate();
        }
        launch::run(self.reading, &words, feed);
    }

    fn assignments(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            self.assignment(assignment);
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        self.reference(&assignment.target);
        match &assignment.value {
            AssignmentValue::Scalar(value) => {
                let value = self.value(value);
                launch::set(self.reading, assignment.target.name.as_str(), &value);
            }
            AssignmentValue::Compound(array) => {
                launch::set(self.reading, assignment.target.name.as_str(), "\0");
                for element in &array.elements {
                    match element {
                        ArrayElem::Sequential(value) => {
                            self.words(&value.word);
                        }
                        ArrayElem::Keyed { key, value } | ArrayElem::KeyedAppend { key, value } => {
                            self.suspect(key.span());
                            self.words(&value.word);
                        }
                    }
                }
            }
        }
    }

    /// A word of which the shell makes one text, as in an assignment.
    fn value(&mut self, word: &shuck_ast::Word) -> String {
        crate::functor::command::word::joined(&self.words(word))
    }

    fn compound(&mut self, command: &CompoundCommand) {
        match command {
            CompoundCommand::If(it) => {
                self.sequence(&it.condition);
                self.sequence(&it.then_branch);
                for (condition, branch) in &it.elif_branches {
                    self.sequence(condition);
                    self.sequence(branch);
                }
                it.else_branch.iter().for_each(|branch| self.sequence(branch));
            }
            CompoundCommand::For(it) => {
                it.words.iter().flatten().for_each(|word| {
                    self.words(word);
                });
                self.sequence(&it.body);
            }
            CompoundCommand::ArithmeticFor(it) => {
                self.reading.evaluate();
                for span in [it.init_span, it.condition_span, it.step_span].into_iter().flatten() {
                    self.suspect(span);
                }
                self.sequence(&it.body);
            }
            CompoundCommand::While(it) => {
                self.sequence(&it.condition);
                self.sequence(&it.body);
            }
            CompoundCommand::Until(it) => {
                self.sequence(&it.condition);
                self.sequence(&it.body);
            }
            CompoundCommand::Case(it) => {
                self.words(&it.word);
                for item in &it.cases {
                    item.patterns.iter().for_each(|pattern| self.suspect(pattern.span));
                    self.sequence(&item.body);
                }
            }
            CompoundCommand::Select(it) => {
                it.words.iter().for_each(|word| {
                    self.words(word);
                });
                self.sequence(&it.body);
            }
            CompoundCommand::Subshell(statements) | CompoundCommand::BraceGroup(statements) => {
                self.sequence(statements);
            }
            CompoundCommand::Arithmetic(it) => {
                self.reading.evaluate();
                self.suspect(it.span);
            }
            CompoundCommand::Time(it) => it.command.iter().for_each(|statement| self.block(statement)),
            CompoundCommand::Conditional(it) => self.condition(&it.expression),
            CompoundCommand::Coproc(it) => self.block(&it.body),
            // The grammar of another shell.
            CompoundCommand::Repeat(_) | CompoundCommand::Foreach(_) | CompoundCommand::Always(_) => {
                self.reading.hide();
            }
        }
    }

    fn condition(&mut self, expression: &ConditionalExpr) {
        // Both sides of `-eq`, and the name behind `-v`, are evaluated.
        self.reading.evaluate();
        if !self.reading.enter() {
            return;
        }
        match expression {
            ConditionalExpr::Binary(it) => {
                self.condition(&it.left);
                self.condition(&it.right);
            }
            ConditionalExpr::Unary(it) => self.condition(&it.expr),
            ConditionalExpr::Parenthesized(it) => self.condition(&it.expr),
            ConditionalExpr::Word(word) | ConditionalExpr::Regex(word) => {
                self.words(word);
            }
            ConditionalExpr::Pattern(pattern) => self.suspect(pattern.span),
            ConditionalExpr::VarRef(reference) => self.reference(reference),
        }
        self.reading.leave();
    }

    fn reference(&mut self, reference: &VarRef) {
        if launch::loads(reference.name.as_str()) {
            self.reading.doubt();
        }
        if reference.subscript.is_some() {
            self.reading.evaluate();
            self.suspect(reference.span);
        }
    }

    /// A place whose commands are not listed: it must hold none.
    fn suspect(&mut self, span: Span) {
        let text = span.slice(self.source);
        if text.is_empty() || substitutes(text) {
            self.reading.hide();
        }
    }

    fn substitution(&mut self, body: &StmtSeq, syntax: CommandSubstitutionSyntax, span: Span) {
        // Between backquotes a backslash is taken off before the commands are read.
        if syntax == CommandSubstitutionSyntax::Backtick && span.slice(self.source).contains('\\') {
            self.reading.hide();
        }
        self.sequence(body);
    }

    /// The words that the shell makes of one; the commands in it are read on the way.
    fn words(&mut self, word: &shuck_ast::Word) -> Vec<Word> {
        let mut builder = Builder::default();
        for part in &word.parts {
            self.part(part, false, &mut builder);
        }
        if word.has_active_brace_expansion() {
            return vec![Word { is_pattern: true, ..Word::open() }];
        }
        let mut words = builder.finish();
        words.retain(|made| !made.text.is_empty() || word.has_quoted_parts());
        words.iter().for_each(|made| self.reading.load(&made.text));
        words
    }

    fn part(&mut self, part: &WordPartNode, is_quoted: bool, builder: &mut Builder) {
        match &part.kind {
            WordPart::Literal(text) if is_quoted => self.quoted_literal(text, part.span, builder),
            WordPart::Literal(text) => {
                let text = text.syntax_str(self.source, part.span);
                if unicode::deceives(text) {
                    self.reading.deceive();
                }
                builder.plain(text);
            }
            WordPart::SingleQuoted { value, .. } => builder.quoted(value.slice(self.source)),
            WordPart::DoubleQuoted { parts, .. } => {
                builder.quoted("");
                if self.reading.enter() {
                    parts.iter().for_each(|part| self.part(part, true, builder));
                    self.reading.leave();
                }
            }
            WordPart::Variable(name) => self.variable(name.as_str(), is_quoted, builder),
            WordPart::CommandSubstitution { body, syntax } => {
                self.substitution(body, *syntax, part.span);
                builder.hole(is_quoted);
            }
            WordPart::ProcessSubstitution { body, .. } => {
                self.sequence(body);
                builder.hole(true);
            }
            WordPart::ArithmeticExpansion { expression_word_ast, .. } => {
                self.reading.evaluate();
                if self.reading.enter() {
                    self.words(expression_word_ast);
                    self.reading.leave();
                }
                builder.hole(is_quoted);
            }
            WordPart::Parameter(parameter) => match plain_access(parameter) {
                Some(name) => self.variable(name, is_quoted, builder),
                None => {
                    self.parameter(parameter);
                    builder.hole(is_quoted);
                }
            },
            WordPart::Length(_)
            | WordPart::ArrayLength(_)
            | WordPart::ArrayAccess(_)
            | WordPart::ArrayIndices(_)
            | WordPart::PrefixMatch { .. }
            | WordPart::ParameterExpansion { .. }
            | WordPart::Substring { .. }
            | WordPart::ArraySlice { .. }
            | WordPart::IndirectExpansion { .. }
            | WordPart::Transformation { .. } => {
                self.reading.evaluate();
                self.suspect(part.span);
                builder.hole(is_quoted);
            }
            WordPart::ZshQualifiedGlob(_) => {
                self.reading.hide();
                builder.hole(is_quoted);
            }
        }
    }

    fn quoted_literal(&self, text: &LiteralText, span: Span, builder: &mut Builder) {
        let text = text.as_str(self.source, span);
        builder.quoted(&text.replace("\\\n", ""));
    }

    fn parameter(&mut self, parameter: &ParameterExpansion) {
        // Bounds of a part, subscripts and prompts are evaluated.
        let body = parameter.raw_body.slice(self.source);
        if body.contains([':', '[', '@', '!']) {
            self.reading.evaluate();
        }
        // Where such an expansion ends depends on the quotes around it.
        if body.contains(['\'', '\\']) || (body.contains('"') && body.contains('}')) {
            self.reading.hide();
        }
        if substitutes(parameter.raw_body.slice(self.source)) {
            self.reading.hide();
        }
    }

    fn variable(&mut self, name: &str, is_quoted: bool, builder: &mut Builder) {
        match self.values.get(name) {
            Some(value) if self.reading.fill(value.len()) => {
                self.has_followed = true;
                if is_quoted { builder.quoted(value) } else { builder.value(value) }
            }
            _ => builder.hole(is_quoted),
        }
    }
}

/// Whether commands may stand in the text.
fn substitutes(text: &str) -> bool {
    text.contains('`') || ["$(", "<(", ">(", "${"].iter().any(|opener| text.contains(opener))
}

/// The name in `${name}`.
fn plain_access(parameter: &ParameterExpansion) -> Option<&str> {
    match &parameter.syntax {
        ParameterExpansionSyntax::Bourne(BourneParameterExpansion::Access { reference }) => {
            reference.subscript.is_none().then(|| reference.name.as_str())
        }
        ParameterExpansionSyntax::Bourne(_) | ParameterExpansionSyntax::Zsh(_) => None,
    }
}

/// How often each name stands in the text other than as `$name` or `${name`.
fn names(source: &str) -> BTreeMap<&str, usize> {
    let mut out = BTreeMap::new();
    let mut before = "";
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let mut rest = source;
    while let Some(start) = rest.find(is_part) {
        let (gap, tail) = rest.split_at(start);
        let end = tail.find(|c| !is_part(c)).unwrap_or(tail.len());
        let (name, after) = tail.split_at(end);
        before = if gap.is_empty() { before } else { gap };
        // In `$name` it is read, and behind these it is the part of a path or an address.
        if !before.ends_with(['$', '/', '.', '@']) && !before.ends_with("${") {
            *out.entry(name).or_insert(0) += 1;
        }
        rest = after;
    }
    out
}
