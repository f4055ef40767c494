/**
 * The error with which Go's regexp parser rejects a pattern; `undefined` for patterns that it accepts. journalctl matches
 * with PCRE2, which accepts more.
 */
export function patternError(pattern: string): string | undefined {
  const wrong = scan(pattern);
  return wrong === undefined ? undefined : `error parsing regexp: ${wrong}`;
}

const REPEAT = /[*+?]|\{\d{1,4}(?:,\d{0,4})?\}/y;
const GROUP = /\((?:\?(?:P?<[A-Za-z_]\w*>|[imsU]*(?:-[imsU]+)?[:)]))?/y;
const ESCAPE =
  /\\(?:[pP](?:[A-Z]|\{\^?\w+\})|x[\da-fA-F]{2}|x\{[\da-fA-F]+\}|[aftnrvdswDSWbBAzCQE]|[0-7]{1,3}|[^\w\s]|\n)/y;

function scan(pattern: string): string | undefined {
  let depth = 0;
  let mayRepeat = false;
  for (let at = 0; at < pattern.length; ) {
    const repeat = matchAt(REPEAT, pattern, at);
    const char = pattern[at];
    if (repeat !== undefined) {
      if (!mayRepeat) return `missing argument to repetition operator: \`${repeat}\``;
      const lazy = pattern[at + repeat.length] === '?' ? 1 : 0;
      at += repeat.length + lazy;
      const next = matchAt(REPEAT, pattern, at);
      if (next !== undefined)
        return `invalid nested repetition operator: \`${pattern.slice(at - repeat.length - lazy, at + next.length)}\``;
      continue;
    }
    mayRepeat = char !== '|' && char !== '(';
    if (char === '(') {
      const group = matchAt(GROUP, pattern, at) ?? '(';
      if (group === '(' && pattern[at + 1] === '?') return groupError(pattern, at);
      if (!group.endsWith(')')) depth += 1;
      at += group.length;
    } else if (char === ')') {
      if (depth === 0) return `unexpected ): \`${pattern}\``;
      depth -= 1;
      at += 1;
    } else if (char === '[') {
      const end = classEnd(pattern, at);
      if (end === undefined) return `missing closing ]: \`${pattern.slice(at)}\``;
      at = end;
    } else if (char === '\\') {
      if (at === pattern.length - 1) return 'trailing backslash at end of expression: ``';
      const escaped = matchAt(ESCAPE, pattern, at);
      if (escaped === undefined) return `invalid escape sequence: \`${pattern.slice(at, at + 2)}\``;
      at += escaped.length;
    } else at += 1;
  }
  return depth > 0 ? `missing closing ): \`${pattern}\`` : undefined;
}

function groupError(pattern: string, at: number): string {
  const rest = pattern.slice(at);
  const name = /^\(\?P?<[^>]*>?/.exec(rest)?.[0];
  if (name !== undefined) return `invalid named capture: \`${name}\``;
  return `invalid or unsupported Perl syntax: \`${rest.slice(0, 3)}\``;
}

/** The index after a character class; `undefined`: it is not closed. */
function classEnd(pattern: string, start: number): number | undefined {
  let at = start + (pattern[start + 1] === '^' ? 2 : 1);
  if (pattern[at] === ']') at += 1; // the first one is a member
  while (at < pattern.length && pattern[at] !== ']') {
    const named = pattern.startsWith('[:', at) ? pattern.indexOf(':]', at) : -1;
    at = named >= 0 ? named + 2 : at + (pattern[at] === '\\' ? 2 : 1);
  }
  return at < pattern.length ? at + 1 : undefined;
}

function matchAt(expression: RegExp, text: string, at: number): string | undefined {
  expression.lastIndex = at;
  return expression.exec(text)?.[0];
}
