import { goQuote } from './go-quote.ts';

/** Parses JSON. Throws an `Error` with the message of Go's decoder for a text that is not JSON. */
export function parseGoJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(syntaxErrorIn(text), { cause: error });
  }
}

/** The state of Go's scanner: what it expects next, in the words of its messages. */
type Expected =
  | 'value'
  | 'first value or end'
  | 'key'
  | 'first key or end'
  | 'colon'
  | 'member end'
  | 'element end'
  | 'end';

const WHERE: Readonly<Record<Expected, string>> = {
  value: 'looking for beginning of value',
  'first value or end': 'looking for beginning of value',
  key: 'looking for beginning of object key string',
  'first key or end': 'looking for beginning of object key string',
  colon: 'after object key',
  'member end': 'after object key:value pair',
  'element end': 'after array element',
  end: 'after top-level value',
};

const LITERALS: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' };
const TOO_SHORT = 'unexpected end of JSON input';

/** What Go says about the first byte at which the text cannot be JSON any more. */
function syntaxErrorIn(text: string): string {
  return new GoScanner(Buffer.from(text)).firstError();
}

class GoSyntaxError extends Error {}

class GoScanner {
  readonly #bytes: Buffer;
  #at = 0;
  #expected: Expected = 'value';
  /** The open objects and arrays. */
  readonly #open: ('{' | '[')[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  firstError(): string {
    try {
      while (this.#at < this.#bytes.length) this.#step(this.#next());
    } catch (error) {
      if (error instanceof GoSyntaxError) return error.message;
      throw error;
    }
    return TOO_SHORT;
  }

  #next(): string {
    return String.fromCharCode(this.#bytes[this.#at++] ?? 0);
  }

  #step(char: string): void {
    if (' \t\r\n'.includes(char)) return;
    switch (this.#expected) {
      case 'value':
        return this.#beginValue(char);
      case 'first value or end':
        return char === ']' ? this.#close() : this.#beginValue(char);
      case 'first key or end':
        return char === '}' ? this.#close() : this.#beginKey(char);
      case 'key':
        return this.#beginKey(char);
      case 'colon':
        return char === ':' ? this.#expect('value') : this.#fail(char);
      case 'member end':
        return char === ',' ? this.#expect('key') : char === '}' ? this.#close() : this.#fail(char);
      case 'element end':
        return char === ',' ? this.#expect('value') : char === ']' ? this.#close() : this.#fail(char);
      case 'end':
        return this.#fail(char);
    }
  }

  #expect(expected: Expected): void {
    this.#expected = expected;
  }

  #beginValue(char: string): void {
    const literal = LITERALS[char];
    if (char === '{' || char === '[') {
      this.#open.push(char);
      return this.#expect(char === '{' ? 'first key or end' : 'first value or end');
    }
    if (char === '"') this.#string();
    else if (literal !== undefined) this.#literal(literal);
    else if (char === '-' || isDigit(char)) this.#number(char);
    else this.#fail(char);
    this.#endValue();
  }

  #beginKey(char: string): void {
    if (char !== '"') this.#fail(char);
    this.#string();
    this.#expect('colon');
  }

  #close(): void {
    this.#open.pop();
    this.#endValue();
  }

  #endValue(): void {
    const around = this.#open.at(-1);
    this.#expect(around === undefined ? 'end' : around === '{' ? 'member end' : 'element end');
  }

  #string(): void {
    for (;;) {
      const char = this.#take();
      if (char === '"') return;
      if (char === '\\') this.#escape();
      else if (char < ' ') this.#fail(char, 'in string literal');
    }
  }

  #escape(): void {
    const char = this.#take();
    if (char === 'u') {
      for (let digit = 0; digit < 4; digit++) {
        const hex = this.#take();
        if (!/[0-9a-fA-F]/.test(hex)) this.#fail(hex, 'in \\u hexadecimal character escape');
      }
    } else if (!'bfnrt\\/"'.includes(char)) this.#fail(char, 'in string escape code');
  }

  #literal(word: string): void {
    for (const wanted of word.slice(1)) {
      const char = this.#takeOrSpace();
      if (char !== wanted) this.#fail(char, `in literal ${word} (expecting '${wanted}')`);
    }
  }

  #number(first: string): void {
    const lead = first === '-' ? this.#digit('in numeric literal') : first;
    if (lead !== '0') this.#digits();
    if (this.#peek() === '.') {
      this.#at++;
      this.#digit('after decimal point in numeric literal');
      this.#digits();
    }
    if (this.#peek().toLowerCase() !== 'e') return;
    this.#at++;
    if ('+-'.includes(this.#peek())) this.#at++;
    this.#digit('in exponent of numeric literal');
    this.#digits();
  }

  #digit(where: string): string {
    const char = this.#takeOrSpace();
    return isDigit(char) ? char : this.#fail(char, where);
  }

  #digits(): void {
    while (isDigit(this.#peek())) this.#at++;
  }

  #peek(): string {
    return this.#at < this.#bytes.length ? String.fromCharCode(this.#bytes[this.#at] ?? 0) : ' ';
  }

  #take(): string {
    if (this.#at >= this.#bytes.length) throw new GoSyntaxError(TOO_SHORT);
    return this.#next();
  }

  /** Go ends a text within a word or number by a space, and then reports that. */
  #takeOrSpace(): string {
    return this.#at < this.#bytes.length ? this.#next() : ' ';
  }

  #fail(char: string, where: string = WHERE[this.#expected]): never {
    throw new GoSyntaxError(`invalid character ${quoteChar(char)} ${where}`);
  }
}

function isDigit(char: string): boolean {
  return char >= '0' && char <= '9';
}

function quoteChar(char: string): string {
  if (char === "'") return "'\\''";
  if (char === '"') return `'"'`;
  return `'${goQuote(char).slice(1, -1)}'`;
}
