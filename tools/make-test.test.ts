/** The real Makefile, with a stub for every program that it runs. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../test/contract/host/temporary-folder.ts';

const ROOT = join(import.meta.dirname, '..');
/** Text that identifies the commands of the parts, in the order in which they run. */
const COMMANDS = {
  types: 'typescript/bin/tsc',
  lint: 'check --error-on-warnings',
  boundaries: 'tools/check-boundaries.ts',
  words: 'tools/check-words.ts',
  generated: 'tools/generate.ts',
  unit: 'src/**/*.test.ts',
  'integration-containerd': 'test/integration/**/*.test.ts',
  'integration-containerd2': 'containerd2',
  'integration-embedded': 'embedded',
  validation: 'test/critest/critest.ts',
  'conformance-groups': 'test/conformance/conformance.ts',
};
type Command = keyof typeof COMMANDS;

/** Runs `make TARGET`; the commands in `failing` fail. */
async function make(t: TestContext, target: string, failing: readonly Command[]) {
  const folder = await temporaryFolder(t);
  const [standIn, calls] = [join(folder, 'stand-in'), join(folder, 'calls')];
  const patterns = failing.map((name) => `*'${COMMANDS[name]}'*) exit 1 ;;`);
  const script = `words="$* \${NODELET_TEST_RUNTIME-}"\necho "$words" >> '${calls}'\ncase "$words" in ${patterns.join(' ')} esac`;
  writeFileSync(standIn, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const variables = ['NODE', 'BIOME', 'SETUP'].map((name) => `${name}=${standIn}`);
  const { MAKEFLAGS: _, MFLAGS: __, MAKELEVEL: ___, NODELET_TEST_RUNTIME: ____, ...env } = process.env;
  const { status, stdout } = spawnSync('make', [target, ...variables], { cwd: ROOT, env, encoding: 'utf8' });
  const lines = readFileSync(calls, 'utf8').trimEnd().split('\n');
  const ran = lines.flatMap((line) => Object.entries(COMMANDS).filter(([, words]) => line.includes(words)));
  return { status, ran: ran.map(([name]) => name), closing: stdout.trimEnd().split('\n').slice(-8) };
}

const ALL = Object.keys(COMMANDS);

test('make test runs every part, and succeeds when all do', async (t) => {
  assert.deepEqual(await make(t, 'test', []), {
    status: 0,
    ran: ALL,
    closing: [
      'check                    ok',
      'unit                     ok',
      'integration-containerd   ok',
      'integration-containerd2  ok',
      'integration-embedded     ok',
      'validation               ok',
      'conformance-groups       ok',
      'all 7 parts succeeded',
    ],
  });
});

test('make test continues after a failed part, names it, and fails', async (t) => {
  assert.deepEqual(await make(t, 'test', ['types', 'integration-containerd']), {
    status: 2,
    ran: ALL,
    closing: [
      'check                    FAILED',
      'unit                     ok',
      'integration-containerd   FAILED',
      'integration-containerd2  ok',
      'integration-embedded     ok',
      'validation               ok',
      'conformance-groups       ok',
      '2 of 7 parts failed: check integration-containerd',
    ],
  });
});

for (const command of ALL as readonly Command[]) {
  test(`make test fails when ${command} fails, and runs all other parts`, async (t) => {
    const { status, ran } = await make(t, 'test', [command]);
    assert.deepEqual({ status, ran }, { status: 2, ran: ALL });
  });
}

test('make integration runs the tests on every runtime, whatever the result of those on containerd', async (t) => {
  const { status, ran, closing } = await make(t, 'integration', ['integration-containerd']);
  const parts = ['integration-containerd', 'integration-containerd2', 'integration-embedded'];
  assert.deepEqual([status, ran], [2, parts]);
  assert.equal(closing.at(-1), '1 of 3 parts failed: integration-containerd');
});
