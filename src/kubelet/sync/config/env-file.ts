/** Files with longer lines are rejected. */
const LONGEST_LINE = 64 * 1024 - 1;

/**
 * The value of a variable in an environment file of `NAME='value'` lines; a value may span several lines. Blank lines
 * and lines that begin with `#` are skipped. Empty when the variable is missing. Parsing stops after the variable.
 * Throws for invalid files.
 */
export function envFileValue(text: string, key: string): string {
  const lines = linesOf(text);
  for (const { line, number } of lines) {
    const content = line.replace(/^[ \t]+/, '');
    if (content === '' || content.startsWith('#')) continue;
    const { name, value } = assignment(content, number);
    // As in a shell, `NAME= 'value'` leaves the variable empty.
    const read = /^[ \t]/.test(value) ? '' : quoted(value, number, lines);
    if (name === key) return read;
  }
  return '';
}

function assignment(line: string, number: number): { name: string; value: string } {
  const end = line.indexOf('=');
  if (end < 0) throw formatError(number, "missing '='");
  const name = line.slice(0, end);
  if (name.replace(/[ \t]+$/, '') === '') throw formatError(number, 'empty variable name');
  if (/[ \t]$/.test(name)) throw formatError(number, "whitespace before '=' is not allowed");
  return { name, value: line.slice(end + 1) };
}

/** The text between the quotes; reads more lines until the quote is closed. */
function quoted(value: string, number: number, lines: Iterator<NumberedLine>): string {
  if (!value.startsWith("'")) throw formatError(number, 'value must be enclosed in single quotes');
  let content = '';
  let rest = value.slice(1);
  for (let last = number; ; last++) {
    const end = rest.indexOf("'");
    if (end >= 0) {
      if (!/^[ \t]*(#|$)/.test(rest.slice(end + 1))) throw formatError(last, 'unexpected content after closing quote');
      return content + rest.slice(0, end);
    }
    content += `${rest}\n`;
    const next = lines.next();
    if (next.done) throw new Error(`${INVALID} starting at line ${number}: unclosed single quote`);
    rest = next.value.line;
  }
}

interface NumberedLine {
  readonly line: string;
  readonly number: number;
}

function* linesOf(text: string): Generator<NumberedLine, undefined> {
  let number = 0;
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    if (end - start > LONGEST_LINE) throw new Error('a line is too long');
    number++;
    yield { line: text.slice(start, end).replace(/\r$/, ''), number };
    start = end + 1;
  }
}

const INVALID = 'invalid environment variable format';

function formatError(line: number, what: string): Error {
  return new Error(`${INVALID} at line ${line}: ${what}`);
}
