import assert from 'node:assert/strict';
import { tracingChannel } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectCri } from '../../../src/cri/client.ts';
import { CriError, codeFromNumber } from '../../../src/cri/cri-error.ts';
import { RPC_CHANNEL } from '../../../src/cri/instrument.ts';
import { serveCri } from '../../../src/cri/server.ts';
import { checkRuntimeVersion } from '../../../src/cri/version-check.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import { aborted, connected, event, forever, never, runtimeWith } from './partial-runtime.ts';

test('an error keeps its code and the text of the runtime', async (t) => {
  const { client } = await connected(t, {
    stopContainer: () => Promise.reject(new CriError('NotFound', 'no container "ü"\nat all')),
  });
  await assert.rejects(client.runtime.stopContainer({ containerId: 'x', timeout: 0n }, forever), (error) => {
    assert.ok(error instanceof CriError);
    assert.deepEqual(
      [error.code, error.message, error.method],
      ['NotFound', 'no container "ü"\nat all', 'StopContainer'],
    );
    return true;
  });
});

test('every code is transferred', async (t) => {
  const { client } = await connected(t, {
    startContainer: ({ containerId }) => Promise.reject(new CriError(codeFromNumber(Number(containerId)), containerId)),
  });
  for (let number = 1; number <= 16; number++) {
    const failure = await client.runtime.startContainer({ containerId: `${number}` }, forever).catch((error) => error);
    assert.deepEqual([failure.code, failure.message], [codeFromNumber(number), `${number}`]);
  }
});

test('other errors are Unknown with their message', async (t) => {
  const { client } = await connected(t, {
    startContainer: () => Promise.reject(new TypeError('oops')),
    version: () => {
      throw new Error('at once');
    },
  });
  await assert.rejects(client.runtime.startContainer({ containerId: 'x' }, forever), {
    code: 'Unknown',
    message: 'oops',
  });
  await assert.rejects(client.runtime.version({ version: '' }, forever), { code: 'Unknown', message: 'at once' });
});

test('aborting a call rejects with the reason at once and aborts the handler', async (t) => {
  const reached = Promise.withResolvers<AbortSignal>();
  const { client } = await connected(t, {
    startContainer: (_, signal) => {
      reached.resolve(signal);
      return never(signal);
    },
  });
  const controller = new AbortController();
  const call = client.runtime.startContainer({ containerId: 'x' }, controller.signal);
  const handlerSignal = await reached.promise;
  const reason = new Error('changed my mind');
  controller.abort(reason);
  await assert.rejects(call, reason);
  await aborted(handlerSignal);
});

test('an aborted signal makes no call', async (t) => {
  const { client } = await connected(t, {});
  const reason = new Error('too late');
  await assert.rejects(client.runtime.version({ version: '' }, AbortSignal.abort(reason)), reason);
  await assert.rejects(Array.fromAsync(client.runtime.getContainerEvents({}, AbortSignal.abort(reason))), reason);
});

test('a deadline cancels the call with the error of gRPC', async (t) => {
  const reached: AbortSignal[] = [];
  const { endpoint } = await connected(t, {
    version: (_, signal) => {
      reached.push(signal);
      return never(signal);
    },
  });
  const hurried = connectCri(endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 50 });
  t.after(() => hurried.close());
  // On a busy machine the deadline may pass before the call arrives.
  while (reached.length === 0) {
    await assert.rejects(hurried.runtime.version({ version: '' }, forever), {
      code: 'DeadlineExceeded',
      message: 'context deadline exceeded',
    });
  }
  await Promise.all(reached.map(aborted));
});

test('a socket without a listener is Unavailable, repeatedly', async () => {
  const client = connectCri('unix:///nonexistent/cri.sock', { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 });
  for (let i = 0; i < 3; i++) {
    await assert.rejects(client.runtime.version({ version: '' }, forever), {
      code: 'Unavailable',
      message: /ENOENT.*\/nonexistent\/cri\.sock/,
    });
  }
  await assert.rejects(Array.fromAsync(client.runtime.getContainerEvents({}, forever)), { code: 'Unavailable' });
  client.close();
});

test('only unix sockets are accepted as endpoints', () => {
  const options = { clock: linuxClock, runtimeRequestTimeoutMs: 1 };
  for (const endpoint of ['tcp://127.0.0.1:1', 'npipe:////./pipe/x', 'relative.sock', '', 'unix://']) {
    assert.throws(() => connectCri(endpoint, options), /cannot use runtime endpoint ".*": only support unix socket/);
  }
  connectCri('/bare/path.sock', options).close();
});

test('a client reconnects to a restarted server', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-cri-'));
  const socket = { socketPath: join(folder, 'cri.sock'), mode: 0o600, fs: linuxFileSystem, clock: linuxClock };
  const client = connectCri(socket.socketPath, { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 });
  const answer = () => client.runtime.version({ version: '' }, forever).catch((error: CriError) => error.code);

  const first = await serveCri(socket, runtimeWith({}));
  assert.equal(await answer(), 'Unimplemented');
  await first.close();
  assert.equal(await answer(), 'Unavailable');

  const second = await serveCri(socket, runtimeWith({}));
  t.after(async () => {
    client.close();
    await second.close();
    rmSync(folder, { recursive: true });
  });
  while ((await answer()) !== 'Unimplemented') await new Promise((resolve) => setTimeout(resolve, 10));
});

test('responses above gRPC’s default of 4 MiB are received', async (t) => {
  const stdout = new Uint8Array(9 * 1024 * 1024).fill(7);
  const { client } = await connected(t, {
    execSync: async () => ({ stdout, stderr: new Uint8Array(), exitCode: 0 }),
  });
  const answer = await client.runtime.execSync({ containerId: 'x', cmd: [], timeout: 0n }, forever);
  assert.equal(Buffer.compare(answer.stdout, stdout), 0);
});

test('the socket has its mode, and replaces a stale file', async (t) => {
  const { socketPath, server } = await connected(t, {});
  assert.equal(statSync(socketPath).mode & 0o777, 0o600);
  await server.close();
  assert.equal(statSync(socketPath, { throwIfNoEntry: false }), undefined);
});

test('checkRuntimeVersion() accepts CRI v1 and reports other versions', async (t) => {
  const answer = { version: '0.1.0', runtimeName: 'demo', runtimeVersion: '1', runtimeApiVersion: 'v1' };
  const good = await connected(t, { version: async () => answer });
  assert.deepEqual(await checkRuntimeVersion(good.client.runtime, good.endpoint, forever), answer);

  const old = await connected(t, { version: async () => ({ ...answer, version: '0.2.0' }) });
  await assert.rejects(checkRuntimeVersion(old.client.runtime, old.endpoint, forever), {
    message: 'runtime api version is not supported: got "0.2.0"',
  });

  const none = await connected(t, {});
  await assert.rejects(checkRuntimeVersion(none.client.runtime, 'unix:///run/x.sock', forever), {
    code: 'Unimplemented',
    message:
      'validate service connection: validate CRI v1 runtime API for endpoint "unix:///run/x.sock": ' +
      'rpc error: code = Unimplemented desc = no Version here',
  });
});

test('calls and streams are published on the tracing channel', async (t) => {
  const { client } = await connected(t, {
    version: async () => ({ version: '0.1.0', runtimeName: '', runtimeVersion: '', runtimeApiVersion: '' }),
    getContainerEvents: async function* () {
      yield event('one');
      throw new CriError('Aborted', 'over');
    },
  });
  const published: string[] = [];
  const record = (what: string) => (message: object) =>
    published.push(`${what} ${'method' in message ? message.method : ''}`);
  const subscribers = {
    start: record('start'),
    end: record('end'),
    asyncStart() {},
    asyncEnd: record('asyncEnd'),
    error: record('error'),
  };
  tracingChannel(RPC_CHANNEL).subscribe(subscribers);
  t.after(() => tracingChannel(RPC_CHANNEL).unsubscribe(subscribers));

  await client.runtime.version({ version: '' }, forever);
  await assert.rejects(Array.fromAsync(client.runtime.getContainerEvents({}, forever)));
  assert.deepEqual(published, [
    'start Version',
    'end Version',
    'asyncEnd Version',
    'start GetContainerEvents',
    'end GetContainerEvents',
    'error GetContainerEvents',
    'asyncEnd GetContainerEvents',
  ]);
});
