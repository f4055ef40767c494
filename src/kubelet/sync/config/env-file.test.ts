import assert from 'node:assert/strict';
import test from 'node:test';
import { envFileValue } from './env-file.ts';

const read: Record<string, { text: string; value: string }> = {
  'a value': { text: "KEY='val'\n", value: 'val' },
  'a value without a newline after it': { text: "KEY='val'", value: 'val' },
  'the first of several values': { text: "KEY='one'\nKEY='two'\n", value: 'one' },
  'blank lines, comments and space before the name': { text: "# a\n\n \t# b\n \tKEY='val'\n", value: 'val' },
  'a comment after the value': { text: "KEY='val'  # why\n", value: 'val' },
  'what looks like a comment in quotes': { text: "KEY='a # b'\n", value: 'a # b' },
  'space, dollars, backslashes and double quotes as they are': {
    text: `KEY=' $HOME \\n "x" '`,
    value: ' $HOME \\n "x" ',
  },
  'a value of several lines': { text: "A='1\nKEY=x'\nKEY='a\n\n # b\nc'\n", value: 'a\n\n # b\nc' },
  'Windows line ends': { text: "A='1'\r\nKEY='a\r\nb'\r\n", value: 'a\nb' },
  'an equals sign in the value': { text: "KEY='a=b'", value: 'a=b' },
  'space after the equals sign as nothing': { text: "A= x\nKEY= 'val'\n", value: '' },
  'nothing for a missing key': { text: "OTHER='val'\n", value: '' },
  'nothing in an empty file': { text: '', value: '' },
  'a value before an invalid line': { text: "KEY='val'\nnonsense\n", value: 'val' },
  'a value on the longest line': { text: `KEY='${'x'.repeat(65_529)}'`, value: 'x'.repeat(65_529) },
};

for (const [what, { text, value }] of Object.entries(read)) {
  test(`envFileValue() reads ${what}`, () => {
    assert.equal(envFileValue(text, 'KEY'), value);
  });
}

const at = (line: number, what: string): string => `invalid environment variable format at line ${line}: ${what}`;

const rejected: Record<string, { text: string; message: string }> = {
  'a line without an equals sign': { text: "A='1'\nKEY\n", message: at(2, "missing '='") },
  'no name': { text: "='val'\n", message: at(1, 'empty variable name') },
  'a name of spaces': { text: "A='1'\n\n  ='val'\n", message: at(3, 'empty variable name') },
  'space before the equals sign': { text: "KEY ='val'\n", message: at(1, "whitespace before '=' is not allowed") },
  'a value without quotes': { text: 'KEY=val\n', message: at(1, 'value must be enclosed in single quotes') },
  'a value in double quotes': { text: 'KEY="val"\n', message: at(1, 'value must be enclosed in single quotes') },
  'an empty value without quotes': { text: 'KEY=\n', message: at(1, 'value must be enclosed in single quotes') },
  'something after the closing quote': {
    text: "A='1\n2' x\n",
    message: at(2, 'unexpected content after closing quote'),
  },
  'a quote that stays open': {
    text: "A='1'\nKEY='a\nb\n",
    message: 'invalid environment variable format starting at line 2: unclosed single quote',
  },
  'a line that is too long': { text: `KEY='${'x'.repeat(65_530)}'`, message: 'a line is too long' },
};

for (const [what, { text, message }] of Object.entries(rejected)) {
  test(`envFileValue() rejects ${what}`, () => {
    assert.throws(() => envFileValue(text, 'KEY'), { message });
  });
}
