# SPDX-License-Identifier: BSL-1.0
"""Reads a C++ file as far as the rules need it: code, comments, includes and functions.

No compiler: braces are matched on the text without comments and literals. That is right for
sources that clang-format has laid out; a macro that hides a brace would be misread.
"""

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r'(?P<line_comment>//[^\n]*(?:\\\n[^\n]*)*)'
    r'|(?P<block_comment>/\*.*?\*/)'
    r'|(?P<raw>\bR"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)")'
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<char>(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+')",
    re.DOTALL,
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
NOT_A_FUNCTION = re.compile(
    r'^\s*(?:inline\s+)?(?:namespace|extern\s*$|enum)\b|\b(?:class|struct|union|concept)\s'
)
CONTROL = re.compile(r'^\s*(?:if|for|while|switch|do|else|try|catch)\b')


def blank(text):
    """The same number of lines, nothing else."""
    return ''.join(c if c == '\n' else ' ' for c in text)


@dataclass
class Function:
    name: str
    first_line: int
    lines: int


class Source:
    """One file. `code` has comments blanked, `bare` literals too; the lines stay in place."""

    def __init__(self, text):
        self.text = text
        self.code = TOKEN.sub(self._without_comments, text)
        self.bare = TOKEN.sub(self._without_literals, self.code)
        self.code_lines = sum(1 for line in self.code.splitlines() if line.strip())
        self.comment_lines = self._count_comment_lines()

    @staticmethod
    def _without_comments(match):
        if match.lastgroup in ('line_comment', 'block_comment'):
            return blank(match.group())
        return match.group()

    @staticmethod
    def _without_literals(match):
        text = match.group()
        return text[0] + blank(text[1:-1]) + text[-1] if len(text) > 1 else text

    def _count_comment_lines(self):
        """Lines that hold a comment and no code, without the licence line."""
        pairs = zip(self.text.splitlines(), self.code.splitlines())
        return sum(
            1 for whole, code in pairs
            if whole.strip() and not code.strip() and 'SPDX' not in whole)

    def includes(self):
        """(line, quote or angle bracket, name) of each #include."""
        for match in INCLUDE.finditer(self.code):
            line = self.code.count('\n', 0, match.start(1)) + 1
            yield line, match.group(1), match.group(2)

    def functions(self):
        return list(_functions(self.bare))


def _strip_templates(head):
    """Takes away leading `template <...>` and `requires`-free attributes."""
    while True:
        head = re.sub(r'^\s*\[\[[^\]]*\]\]', '', head)
        match = re.match(r'\s*template\s*<', head)
        if not match:
            return head
        depth, end = 1, match.end()
        while end < len(head) and depth:
            depth += {'<': 1, '>': -1}.get(head[end], 0)
            end += 1
        head = head[end:]


def _top_level(head):
    """The head without what stands in parentheses; `()` marks where they were."""
    result, depth = [], 0
    for char in head:
        if char == '(':
            if depth == 0:
                result.append('()')
            depth += 1
        elif char == ')':
            depth -= 1
        elif depth == 0:
            result.append(char)
    return ''.join(result)


def _is_member_initialiser(head):
    """`name() : a_(1), b_` before a brace: the brace belongs to b_."""
    flat = _top_level(_strip_templates(head))
    return bool(re.search(r'\)[^:]*(?<!:):(?!:).*[\w>]\s*$', flat, re.DOTALL)) and not re.search(
        r'->[^:]*$', flat)


def _function_name(head):
    """The name if the head is that of a function or of a named lambda, else nothing."""
    flat = _top_level(_strip_templates(head))
    if CONTROL.match(flat):
        return None
    operator = re.search(r'((?:\w+::)*operator\s*(?:\(\)|[^\s\w(]+|\s\w[\w:]*))\s*\(\)', flat)
    if operator:
        return operator.group(1)
    lambda_name = re.search(r'(\w+)\s*=\s*\[[^\]]*\]', flat)
    if lambda_name:
        return lambda_name.group(1)
    if '=' in flat or NOT_A_FUNCTION.search(flat) and '()' not in flat:
        return None
    if re.match(r'\s*(?:class|struct|union|enum|namespace)\b', flat):
        return None
    name = re.search(r'((?:[\w~]+(?:<[^<>]*>)?::)*~?\w+)\s*\(\)', flat)
    if not name:
        return None
    called = name.group(1)
    if called.isupper():  # a test macro: its first argument is the name
        argument = re.search(re.escape(called) + r'\s*\(\s*([\w:]+)', head)
        return argument.group(1) if argument else called
    return called


def _functions(bare):
    """Outermost functions: what is inside a body counts with it."""
    bare = re.sub(r'^[ \t]*#.*(?:\\\n.*)*$', lambda m: blank(m.group()), bare, flags=re.MULTILINE)
    head_start, at, parens = 0, 0, 0
    while at < len(bare):
        char = bare[at]
        if char in '([':
            parens += 1
        elif char in ')]':
            parens = max(0, parens - 1)
        elif char == '{':
            head = bare[head_start:at]
            inner = _is_member_initialiser(head)
            name = None if inner or parens else _function_name(head)
            if name:
                end = _matching(bare, at)
                first = head_start + len(head) - len(head.lstrip())
                first_line = bare.count('\n', 0, first) + 1
                last_line = bare.count('\n', 0, end) + 1
                yield Function(name, first_line, last_line - first_line + 1)
                at, head_start = end, end + 1
            elif inner or parens or '=' in _top_level(_strip_templates(head)):
                at = _matching(bare, at)  # an initialiser: not a scope, the head goes on
            else:
                head_start = at + 1
        elif char in ';}' and not parens:
            head_start = at + 1
        elif char == ':' and re.search(r'\b(?:public|private|protected)\s*$',
                                       bare[head_start:at]):
            head_start = at + 1
        at += 1


def _matching(bare, at):
    """Where the brace that opens at `at` is closed; the end of the text if nowhere."""
    depth = 0
    for match in re.finditer(r'[{}]', bare[at:]):
        depth += 1 if match.group() == '{' else -1
        if depth == 0:
            return at + match.start()
    return len(bare) - 1
