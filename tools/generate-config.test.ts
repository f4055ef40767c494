import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { KUBELET_DEFAULTS } from '../src/app/config/generated/defaults.ts';
import { FEATURE_GATES } from '../src/app/config/generated/feature-gates.ts';
import { FLAGS } from '../src/app/config/generated/flags.ts';
import { STRUCTS } from '../src/app/config/generated/kubelet-configuration-schema.ts';
import { DEFAULT_FLAGS } from '../src/app/config/kubelet-flags.ts';
import { parseFlags } from '../src/app/config/parse-flags.ts';
import { generateConfig } from './generate-config.ts';

const ROOT = join(import.meta.dirname, '..');

function table(name: string): string[][] {
  const text = readFileSync(join(ROOT, 'compat', name), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
}

test('generateConfig() writes the files that are in the tree', () => {
  for (const [path, text] of generateConfig(ROOT).files) {
    assert.equal(readFileSync(join(ROOT, path), 'utf8'), text, path);
  }
});

test('generateConfig() owns one folder and is the same each time', () => {
  const first = generateConfig(ROOT);
  assert.deepEqual(first.folders, ['src/app/config/generated']);
  assert.deepEqual(first, generateConfig(ROOT));
});

test('every flag of the table is generated, in order', () => {
  assert.deepEqual(
    FLAGS.map(({ name }) => name),
    table('kubelet-flags.tsv').map(([name]) => name),
  );
});

test('every field of KubeletConfiguration is generated, in order', () => {
  const fields = table('kubeletconfiguration-fields.tsv').filter(([struct]) => struct === 'KubeletConfiguration');
  assert.deepEqual(
    [...STRUCTS.KubeletConfiguration.keys()],
    fields.map(([, name]) => name),
  );
});

test('every pointer field keeps its zero', () => {
  const fields = table('kubeletconfiguration-fields.tsv').filter(([struct]) => struct === 'KubeletConfiguration');
  for (const [, name = '', type = ''] of fields) {
    assert.equal(STRUCTS.KubeletConfiguration.get(name)?.explicitZero, type.startsWith('*'), name);
  }
});

test('every gate of the table has its stage and default', () => {
  for (const [name = '', stage, value] of table('feature-gates.tsv')) {
    const { stage: own, default: on } = FEATURE_GATES.get(name) ?? {};
    assert.deepEqual({ name, stage: own, on }, { name, stage, on: value === 'true' });
  }
});

test('every dependency of a gate is known', () => {
  const needed = [...FEATURE_GATES.values()].flatMap(({ needs }) => needs);
  assert.deepEqual(
    needed.filter((name) => !FEATURE_GATES.has(name)),
    [],
  );
});

test('the defaults are those of the table, except for cgroup v1 and the verbosity', () => {
  const defaults = JSON.parse(readFileSync(join(ROOT, 'compat/kubeletconfiguration-defaults.json'), 'utf8'));
  const logging = { ...defaults.logging, verbosity: 0 };
  assert.deepEqual(KUBELET_DEFAULTS, { ...defaults, logging, failCgroupV1: false });
});

test('flags without a configuration field have the defaults that the help shows', () => {
  const own = FLAGS.filter(({ meaning, default: value }) => meaning.class === 'own' && value !== '');
  const { flags } = parseFlags(own.map(({ name, default: value }) => `--${name}=${value}`));
  assert.deepEqual(flags, DEFAULT_FLAGS);
});
