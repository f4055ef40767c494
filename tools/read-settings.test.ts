/** Every flag and every field that counts as honoured is read somewhere: none is parsed and then forgotten. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FLAGS } from '../src/app/config/generated/flags.ts';
import { DEFAULT_FLAGS } from '../src/app/config/kubelet-flags.ts';
import { HONOURED } from '../src/app/config/not-honoured.ts';

const ROOT = new URL('../', import.meta.url).pathname;

/** Files that only declare, default or validate settings. */
const NOT_READERS = [
  /\.test\.ts$/,
  /\/(generated|fake|testing)\//,
  /\/app\/config\/(kubelet-flags|not-honoured|merge-config|validate-.*)\.ts$/,
];

const code = globSync('src/**/*.ts', { cwd: ROOT })
  .filter((path) => !NOT_READERS.some((each) => each.test(`/${path}`)))
  .map((path) => withoutComments(readFileSync(`${ROOT}${path}`, 'utf8')).replace(/const PATH_FLAGS = \[[^\]]*\]/, ''))
  .join('\n');

/** A property access, a quoted path or a name in a destructuring pattern. A name that is common elsewhere can hide a field. */
function isRead(name: string): boolean {
  return new RegExp(String.raw`\.${name}\b|'${name}['.]|[{,]\s*${name}\b[^(]`).test(code);
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
}

test('every flag with a meaning of its own is read', () => {
  const own = FLAGS.flatMap(({ meaning }) => (meaning.class === 'own' ? [meaning.property] : []));
  assert.deepEqual(
    own.filter((name) => !isRead(name)),
    [],
  );
  assert.deepEqual(
    Object.keys(DEFAULT_FLAGS).filter((name) => !own.some((each) => each === name)),
    [],
  );
});

test('every honoured field of KubeletConfiguration is read', () => {
  const constant = ['apiVersion', 'kind'];
  const onlyAtStart = ['cgroupsPerQOS', 'failCgroupV1']; // a start with other values is refused
  assert.deepEqual(
    [...HONOURED].filter((name) => ![...constant, ...onlyAtStart].includes(name) && !isRead(name)),
    [],
  );
});

test('the check finds a setting that is not read', () => {
  assert.equal(isRead('housekeepingIntervalMs'), false);
  assert.equal(isRead('lockFile'), true);
});
