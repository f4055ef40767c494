/**
 * A process with the handling of errors of `nodelet kubelet`. Throws in one callback of each kind, and writes a line of JSON
 * after each: what was counted, and what `/healthz` shows. `--invariant` and `--start` break an invariant, and throw before
 * the process survives errors.
 */
import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { rmSync, watch, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import process from 'node:process';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import koffi from 'koffi';
import { InvariantError } from '../../src/base/invariant-error.ts';
import { UnhandledErrors } from '../../src/base/unhandled-errors.ts';
import { handleProcessErrors } from '../../src/cli/commands/process-errors.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { healthResponse } from '../../src/kubelet/server/healthz.ts';
import { createLog } from '../../src/observability/create-log.ts';

const EXIT_BUG = 70;
const never = new AbortController().signal;
const { clock, network } = createLinuxHost(process.env);

const errors = handleProcessErrors(process, (error) => {
  process.stderr.write(`a bug: ${error instanceof Error ? error.stack : error}\n`, () => process.exit(EXIT_BUG));
});
if (process.argv.includes('--start')) setTimeout(() => fail('start'), 1);
if (process.argv.includes('--start')) await delay(10_000);

const log = createLog({ clock, verbosity: 2, format: 'json', write: (line) => process.stderr.write(line) });
const unhandled = new UnhandledErrors({ clock, log, onBrokenInvariant: errors.endAfterBug });
errors.survive((kind, error) => unhandled.report(kind, error));

function fail(kind: string): never {
  throw new Error(`thrown in ${kind}`);
}

/** Starts a callback of each kind that throws. */
const CALLBACKS: Readonly<Record<string, () => unknown>> = {
  timer: () => setTimeout(() => fail('timer'), 1),
  immediate: () => setImmediate(() => fail('immediate')),
  nextTick: () => process.nextTick(() => fail('nextTick')),
  microtask: () => queueMicrotask(() => fail('microtask')),
  stream: () => Readable.from(['a']).on('data', () => fail('stream')),
  processExit: () => spawn('true', { stdio: 'ignore' }).on('exit', () => fail('processExit')),
  ffiCompletion: () =>
    koffi
      .load('libc.so.6')
      .func('int getpid()')
      .async(() => fail('ffiCompletion')),
  httpHandler: () => requestOnce(),
  eventEmitter: () => setImmediate(() => new EventEmitter().emit('error', new Error('thrown in eventEmitter'))),
  serverError: () => serverError(),
  abortListener: () => {
    const controller = new AbortController();
    controller.signal.addEventListener('abort', () => fail('abortListener'));
    controller.abort();
  },
  worker: () => new Worker('throw new Error("thrown in worker")', { eval: true }),
  fileWatch: () => watchOnce(),
  rejection: () => void Promise.reject(new Error('thrown in rejection')),
  asyncFunction: () => void (async () => fail('asyncFunction'))(),
};

function requestOnce(): void {
  const server = createHttpServer(() => fail('httpHandler'));
  server.listen(0, '127.0.0.1', async () => {
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const request = { target: { host: '127.0.0.1', port }, method: 'GET', path: '/' } as const;
    await network.request(request, AbortSignal.timeout(200)).catch(() => undefined);
    server.close();
  });
}

function serverError(): void {
  const server = createServer().listen(0, '127.0.0.1', () => {
    server.close();
    server.emit('error', new Error('thrown in serverError'));
  });
}

function watchOnce(): void {
  const file = `${tmpdir()}/nodelet-throwing-${process.pid}`;
  const watcher = watch(tmpdir(), (_event, name) => {
    if (name === null || !file.endsWith(name)) return;
    watcher.close();
    rmSync(file, { force: true });
    fail('fileWatch');
  });
  writeFileSync(file, '');
}

const checks = new Map([
  ['parts', () => unhandled.failedParts()],
  ['unhandled-errors', () => unhandled.recentError()],
]);
const server = await network.serveTcp({ host: '127.0.0.1', port: 0 }, async ({ query }) =>
  healthResponse(checks, query.get('check') ?? undefined, query),
);

async function health(query: string): Promise<string> {
  const target = { host: '127.0.0.1', port: server.port };
  const { status, body } = await network.request({ target, method: 'GET', path: `/${query}` }, never);
  return `${status} ${Buffer.concat(await Array.fromAsync(body)).toString()}`;
}

function total(): number {
  return [...unhandled.counts.values()].reduce((sum, each) => sum + each, 0);
}

for (const [kind, start] of Object.entries(CALLBACKS)) {
  const before = total();
  start();
  for (let waited = 0; total() === before && waited < 10_000; waited += 10) await delay(10);
  const report = {
    kind,
    counts: Object.fromEntries(unhandled.counts),
    all: await health(''),
    why: await health('?check=unhandled-errors'),
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
if (process.argv.includes('--invariant')) {
  setTimeout(() => {
    throw new InvariantError('two owners of one pod');
  }, 1);
  await delay(10_000);
}
await server.close();
process.exit(0);
