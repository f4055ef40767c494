import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseGoJson } from './parse-go-json.ts';

const SHORT = 'unexpected end of JSON input';
/** What Go 1.25 says about a text. */
const cases: readonly (readonly [text: string, message: string])[] = [
  ['', SHORT],
  [' ', SHORT],
  ['{', SHORT],
  ['{"', SHORT],
  ['{"a"', SHORT],
  ['{"a":', SHORT],
  ['{"a":1', SHORT],
  ['{"a":1,', SHORT],
  ['{"a":"b', SHORT],
  ['[', SHORT],
  ['[1', SHORT],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['{1:2}', "invalid character '1' looking for beginning of object key string"],
  ['{,}', "invalid character ',' looking for beginning of object key string"],
  ['[1,]', "invalid character ']' looking for beginning of value"],
  ['[,]', "invalid character ',' looking for beginning of value"],
  ['# state', "invalid character '#' looking for beginning of value"],
  ['\0', "invalid character '\\x00' looking for beginning of value"],
  ['{"a":\0}', "invalid character '\\x00' looking for beginning of value"],
  ['ä', "invalid character 'Ã' looking for beginning of value"],
  ["'", "invalid character '\\'' looking for beginning of value"],
  ['}', "invalid character '}' looking for beginning of value"],
  ['[1 2]', "invalid character '2' after array element"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
  ['{} x', "invalid character 'x' after top-level value"],
  ['01', "invalid character '1' after top-level value"],
  ['nul', "invalid character ' ' in literal null (expecting 'l')"],
  ['nulx', "invalid character 'x' in literal null (expecting 'l')"],
  ['trux', "invalid character 'x' in literal true (expecting 'e')"],
  ['tr"e', "invalid character '\"' in literal true (expecting 'u')"],
  ['falsy', "invalid character 'y' in literal false (expecting 'e')"],
  ['"a\nb"', "invalid character '\\n' in string literal"],
  ['"\x1f"', "invalid character '\\x1f' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
  ['-', "invalid character ' ' in numeric literal"],
  ['-x', "invalid character 'x' in numeric literal"],
  ['1.', "invalid character ' ' after decimal point in numeric literal"],
  ['1.x', "invalid character 'x' after decimal point in numeric literal"],
  ['1e', "invalid character ' ' in exponent of numeric literal"],
  ['1e+x', "invalid character 'x' in exponent of numeric literal"],
];

for (const [text, message] of cases) {
  test(`parseGoJson() of ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseGoJson(text), { message });
  });
}

test('parseGoJson() returns what a text says', () => {
  assert.deepEqual(parseGoJson('{"a":[1,true,null,"b"]}'), { a: [1, true, null, 'b'] });
});
