import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../host/fake/virtual-clock.ts';
import { CriError } from './cri-error.ts';
import { connectInProcess } from './in-process.ts';
import { buildCri, type Cri, type ErasedUnary } from './services.ts';

/** A runtime that answers every unary RPC with this function. */
function criOf(unary: ErasedUnary): Cri {
  return buildCri({ unary: () => unary, stream: () => async function* () {} });
}

const never = new AbortController().signal;

function connect(clock: VirtualClock, unary: ErasedUnary): Cri {
  return connectInProcess(criOf(unary), { clock, runtimeRequestTimeoutMs: 1_000 });
}

test('connectInProcess() passes requests and responses unchanged', async () => {
  const { runtime } = connect(new VirtualClock(), async (request) => request);
  const request = { containerId: 'c' };
  assert.equal(await runtime.startContainer(request, never), request);
});

test('connectInProcess() names the RPC in an error', async () => {
  const { runtime } = connect(new VirtualClock(), async () => {
    throw new CriError('NotFound', 'no such container');
  });
  await assert.rejects(runtime.startContainer({ containerId: 'c' }, never), {
    name: 'CriError',
    code: 'NotFound',
    method: 'StartContainer',
    message: 'no such container',
  });
});

test('connectInProcess() turns other errors into CriErrors with code Unknown', async () => {
  const { runtime } = connect(new VirtualClock(), async () => {
    throw new TypeError('oh');
  });
  await assert.rejects(runtime.startContainer({ containerId: 'c' }, never), {
    code: 'Unknown',
    method: 'StartContainer',
    message: 'oh',
  });
});

test('connectInProcess() rejects a call after its deadline, and aborts the signal of the runtime', async () => {
  const clock = new VirtualClock();
  let received: AbortSignal | undefined;
  const { runtime } = connect(clock, (_, signal) => {
    received = signal;
    return new Promise(() => {});
  });
  const call = runtime.startContainer({ containerId: 'c' }, never);
  const rejected = assert.rejects(call, { code: 'DeadlineExceeded', method: 'StartContainer' });
  await clock.advance(1_000);
  await rejected;
  assert.equal(received?.aborted, true);
});

test('connectInProcess() settles as soon as the signal aborts, with its reason', async () => {
  const { runtime } = connect(new VirtualClock(), () => new Promise(() => {}));
  const life = new AbortController();
  const call = runtime.startContainer({ containerId: 'c' }, life.signal);
  life.abort(new Error('enough'));
  await assert.rejects(call, /enough/);
});
