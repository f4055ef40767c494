import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LabelSelector } from './generated/core-v1.ts';
import { LabelSelectorError, parseLabelSelector } from './label-selector.ts';

const LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  none: {},
  web: { app: 'web', tier: 'a' },
  db: { app: 'db' },
};

interface Case {
  readonly selector: LabelSelector | undefined;
  readonly text: string;
  readonly matches: readonly string[];
}

const cases: Readonly<Record<string, Case>> = {
  'an absent selector': { selector: undefined, text: '', matches: [] },
  'an empty selector': { selector: {}, text: '', matches: ['none', 'web', 'db'] },
  'a label': { selector: { matchLabels: { app: 'web' } }, text: 'app=web', matches: ['web'] },
  'a set': { selector: expression('app', 'In', ['web', 'db']), text: 'app in (db,web)', matches: ['web', 'db'] },
  'none of a set': { selector: expression('app', 'NotIn', ['db']), text: 'app notin (db)', matches: ['none', 'web'] },
  'a key': { selector: expression('tier', 'Exists'), text: 'tier', matches: ['web'] },
  'no key': { selector: expression('tier', 'DoesNotExist'), text: '!tier', matches: ['none', 'db'] },
  'a name of every object': { selector: expression('constructor', 'Exists'), text: 'constructor', matches: [] },
  'all together': {
    selector: { matchLabels: { tier: 'a' }, ...expression('app', 'Exists') },
    text: 'app,tier=a',
    matches: ['web'],
  },
};

function expression(key: string, operator: string, values: readonly string[] = []): LabelSelector {
  return { matchExpressions: [{ key, operator, values }] };
}

for (const [name, { selector, text, matches }] of Object.entries(cases)) {
  test(`parseLabelSelector() of ${name}`, () => {
    const parsed = parseLabelSelector(selector);
    assert.equal(parsed.text, text);
    assert.deepEqual(
      Object.keys(LABELS).filter((each) => parsed.matches(LABELS[each] ?? {})),
      matches,
    );
  });
}

test('an unknown operator is an error', () => {
  const unknown = expression('app', 'Near', ['web']);
  assert.throws(
    () => parseLabelSelector(unknown),
    new LabelSelectorError('"Near" is not a valid label selector operator'),
  );
});
