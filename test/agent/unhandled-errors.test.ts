/** Errors that no code handles, in a real process: it goes on, unless an invariant is broken. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('throwing-process.ts', import.meta.url));
const TIMEOUT_MS = 120_000;

/** The kinds of callbacks, with Node's event for an error in them. */
const KINDS: Readonly<Record<string, 'uncaughtException' | 'unhandledRejection'>> = {
  timer: 'uncaughtException',
  immediate: 'uncaughtException',
  nextTick: 'uncaughtException',
  microtask: 'uncaughtException',
  stream: 'uncaughtException',
  processExit: 'uncaughtException',
  ffiCompletion: 'uncaughtException',
  httpHandler: 'uncaughtException',
  eventEmitter: 'uncaughtException',
  serverError: 'uncaughtException',
  abortListener: 'uncaughtException',
  worker: 'uncaughtException',
  fileWatch: 'uncaughtException',
  rejection: 'unhandledRejection',
  asyncFunction: 'unhandledRejection',
};

interface Result {
  readonly exitCode: number | string | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

function runProgram(...args: string[]): Promise<Result> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], { timeout: TIMEOUT_MS }, (error, stdout, stderr) =>
      resolve({ exitCode: error ? error.code : 0, stdout, stderr }),
    );
  });
}

test('an error in any kind of callback is logged, counted and shown, and the process goes on', async (context) => {
  const { exitCode, stdout, stderr } = await runProgram();
  const reports = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const logged = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).fields);
  assert.deepEqual(
    reports.map(({ kind }) => kind),
    Object.keys(KINDS),
    stderr,
  );
  let expected: Readonly<Record<string, number>> = {};
  for (const [index, { kind, counts, all, why }] of reports.entries()) {
    const part = KINDS[kind] ?? '';
    expected = { ...expected, [part]: (expected[part] ?? 0) + 1 };
    await context.test(kind, () => {
      assert.deepEqual(counts, expected);
      assert.equal(all, '500 [-]unhandled-errors failed: reason withheld\nhealthz check failed\n');
      assert.equal(why, `500 internal server error: ${part}: thrown in ${kind}\n`);
      assert.equal(logged[index].part, part);
      assert.match(logged[index].stack, new RegExp(`^Error: thrown in ${kind}\n    at `, 'm'));
    });
  }
  assert.equal(exitCode, 0);
});

test('a broken invariant ends the process with its stack', async () => {
  const { exitCode, stderr } = await runProgram('--invariant');
  assert.equal(exitCode, 70);
  assert.match(stderr, /^a bug: InvariantError: two owners of one pod\n {4}at /m);
});

test('an error before the process survives errors ends it', async () => {
  const { exitCode, stdout, stderr } = await runProgram('--start');
  assert.deepEqual([exitCode, stdout], [70, '']);
  assert.match(stderr, /^a bug: Error: thrown in start\n {4}at /m);
});
