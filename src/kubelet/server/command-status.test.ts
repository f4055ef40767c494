import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandStatus } from './command-status.ts';

const exitCode = (message: string): object => ({
  status: 'Failure',
  message: 'whatever the runtime says',
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'Other' }, { reason: 'ExitCode', message }] },
});

const internalError = (message: string): object => ({
  metadata: {},
  status: 'Failure',
  message: `Internal error occurred: ${message}`,
  reason: 'InternalError',
  details: { causes: [{ message }] },
  code: 500,
});

const exited = {
  metadata: {},
  status: 'Failure',
  message: 'command terminated with non-zero exit code: command terminated with exit code 3',
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: '3' }] },
};

const cases: Record<string, { runtime: object | string; client: object }> = {
  success: { runtime: { metadata: {}, status: 'Success' }, client: { metadata: {}, status: 'Success' } },
  'an exit code': { runtime: exitCode('3'), client: exited },
  'an exit code with zeros': { runtime: exitCode('003'), client: exited },
  'a failure': {
    runtime: { status: 'Failure', message: 'no such container', code: 500 },
    client: internalError('no such container'),
  },
  'an exit code that is no number': {
    runtime: exitCode('three'),
    client: internalError('error stream protocol error: invalid exit code value "three"'),
  },
  'an exit code beyond a byte': {
    runtime: exitCode('256'),
    client: internalError('error stream protocol error: invalid exit code value "256"'),
  },
  'an exit code without details': {
    runtime: { status: 'Failure', reason: 'NonZeroExitCode' },
    client: internalError('error stream protocol error: details must be set'),
  },
  'an exit code without its cause': {
    runtime: { status: 'Failure', reason: 'NonZeroExitCode', details: { causes: [null, {}] } },
    client: internalError('error stream protocol error: no ExitCode cause given'),
  },
  'another status': {
    runtime: { status: 'Perhaps' },
    client: internalError('error stream protocol error: unknown error'),
  },
  'a text': { runtime: 'oops', client: internalError('error stream protocol error: invalid status in "oops"') },
  'a list': { runtime: 'null', client: internalError('error stream protocol error: invalid status in "null"') },
};

for (const [name, { runtime, client }] of Object.entries(cases)) {
  test(`commandStatus() of ${name}`, () => {
    const text = typeof runtime === 'string' ? runtime : JSON.stringify(runtime);
    assert.deepEqual(JSON.parse(commandStatus(text)), client);
  });
}
