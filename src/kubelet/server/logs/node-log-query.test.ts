import assert from 'node:assert/strict';
import { test } from 'node:test';
import { journalArguments, nodeLogQueryError, parseNodeLogQuery } from './node-log-query.ts';

/** Recorded from kubelet v1.36.4. */
const MESSAGES: Readonly<Record<string, string | undefined>> = {
  'query=': 'query: Invalid value: [""]: may not be empty',
  'query=%20': 'query: Invalid value: [" "]: may not be empty',
  'query=a': undefined,
  'query=/a&query=/b': 'query: Invalid value: ["/a","/b"]: cannot specify more than one file',
  'query=/a&query=b': 'query: Invalid value: "[/a], [b]": cannot specify a file and service',
  'query=/a&tailLines=1': 'query: Invalid value: ["/a"]: cannot specify file with options',
  'query=a&query=b&query=c&query=d&query=e': 'query: Too many: 5: must have at most 4 items',
  'query=a%24b': 'query: Invalid value: "a$b": input contains unsupported characters',
  'query=--since': undefined,
  'tailLines=1': 'query: Required value: cannot be empty with options',
  'tailLines=x&query=a': 'tailLines: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax',
  'tailLines=-1&query=a': 'tailLines: Invalid value: -1: must be between 0 and 100000, inclusive',
  'tailLines=100001&query=a': 'tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive',
  'boot=1&query=a': 'boot: Invalid value: 1: must be less than 1',
  'boot=-1&query=a': undefined,
  'boot=99999999999999999999&query=a':
    'boot: Invalid value: "99999999999999999999": strconv.Atoi: parsing "99999999999999999999": value out of range',
  'boot=1.5&sinceTime=y&untilTime=2026-01-01&query=a':
    '[sinceTime: Invalid value: "y": invalid time format, untilTime: Invalid value: "2026-01-01": invalid time format, boot: Invalid value: "1.5": strconv.Atoi: parsing "1.5": invalid syntax]',
  'sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z&query=a':
    'untilTime: Invalid value: "2026-01-01T00:00:00Z": must be after `sinceTime`',
  'pattern=(&query=a': 'pattern: Invalid value: "(": error parsing regexp: missing closing ): `(`',
};

for (const [query, message] of Object.entries(MESSAGES)) {
  test(`a node log query ${query}: ${message ?? 'is accepted'}`, () => {
    const parsed = parseNodeLogQuery(new URLSearchParams(query));
    assert.notEqual(parsed.kind, 'none');
    if (parsed.kind === 'invalid') assert.equal(parsed.message, message);
    if (parsed.kind === 'query') assert.equal(nodeLogQueryError(parsed.query, parsed.untilText, undefined), message);
  });
}

test('parseNodeLogQuery() has no query without its parameters', () => {
  assert.deepEqual(parseNodeLogQuery(new URLSearchParams('a=1&tailLines=')), { kind: 'none' });
});

test('journalArguments() joins each value to its option, so that none becomes an option', () => {
  const options = { sinceMs: 0, untilMs: 1000, tailLines: 5, boot: -1, pattern: '--root=/x' };
  assert.deepEqual(journalArguments(options, ['--vacuum-size', 'b']), [
    '--utc',
    '--no-pager',
    '--output=short-precise',
    '--since=1970-01-01 00:00:00 UTC',
    '--until=1970-01-01 00:00:01 UTC',
    '--pager-end',
    '--lines=5',
    '--unit=--vacuum-size',
    '--unit=b',
    '--grep=--root=/x',
    '--boot',
    '-1',
  ]);
});
