import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBaseSpec } from './base-spec.ts';

test('parseBaseSpec() returns limits, variables, annotations and hooks', () => {
  const hooks = { createRuntime: [{ path: '/usr/bin/hook', args: ['hook', 'x'], env: ['A=1'], timeout: 5 }] };
  const spec = {
    ociVersion: '1.1.0',
    process: {
      rlimits: [
        { type: 'RLIMIT_NOFILE', soft: 1024, hard: 4096 },
        { type: 'RLIMIT_MEMLOCK', soft: 2 ** 64, hard: 2 ** 64 },
      ],
      env: ['A=1', 'B='],
    },
    annotations: { 'example.com/a': '' },
    hooks,
  };
  assert.deepEqual(parseBaseSpec(JSON.stringify(spec)), {
    rlimits: [
      { type: 'RLIMIT_NOFILE', soft: 1024, hard: 4096 },
      { type: 'RLIMIT_MEMLOCK', soft: 2 ** 64 - 2048, hard: 2 ** 64 - 2048 },
    ],
    env: ['A=1', 'B='],
    annotations: { 'example.com/a': '' },
    hooks,
  });
  assert.deepEqual(parseBaseSpec('{}'), { rlimits: [], env: [], annotations: {}, hooks: undefined });
});

const rlimits = (rlimit: object) => ({ process: { rlimits: [rlimit] } });

const refused: readonly (readonly [spec: unknown, message: string])[] = [
  [[], 'spec: expected object'],
  [{ mounts: [] }, 'mounts: not supported in a base runtime spec; expected ociVersion, process, annotations, hooks'],
  [{ process: { args: ['sh'] } }, 'process.args: not supported in a base runtime spec; expected rlimits, env'],
  [{ process: 'x' }, 'process: expected object'],
  [rlimits({ type: 'NOFILE', soft: 1, hard: 1 }), 'process.rlimits[0].type: "NOFILE" is no resource limit'],
  [
    rlimits({ type: 'RLIMIT_CPU', soft: 2, hard: 1 }),
    'process.rlimits[0].soft: must not be greater than the hard limit',
  ],
  [rlimits({ type: 'RLIMIT_CPU', soft: -1, hard: 1 }), 'process.rlimits[0].soft: expected a whole number'],
  [rlimits({ type: 'RLIMIT_CPU', soft: 1 }), 'process.rlimits[0].hard: expected a whole number'],
  [{ process: { env: ['A'] } }, 'process.env[0]: "A" is not of the form name=value'],
  [{ annotations: { a: 1 } }, 'annotations["a"]: expected text'],
  [
    { annotations: { 'run.oci.handler': 'krun' } },
    'annotations["run.oci.handler"]: only the runtime sets annotations of crun',
  ],
  [
    { hooks: { before: [] } },
    'hooks.before: not supported in a base runtime spec; expected prestart, createRuntime, createContainer, startContainer, poststart, poststop',
  ],
  [{ hooks: { poststop: [{ path: 'hook' }] } }, 'hooks.poststop[0].path: "hook" is not absolute'],
  [{ hooks: { poststop: {} } }, 'hooks.poststop: expected array'],
];

for (const [spec, message] of refused) {
  test(`parseBaseSpec() refuses ${JSON.stringify(spec)}`, () => {
    assert.throws(() => parseBaseSpec(JSON.stringify(spec)), { message });
  });
}

test('parseBaseSpec() refuses other text', () => {
  assert.throws(() => parseBaseSpec('ociVersion: 1'), { message: 'invalid JSON' });
});
