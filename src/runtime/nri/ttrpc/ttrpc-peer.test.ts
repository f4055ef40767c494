import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteStreamPair } from '../../../host/fake/memory-byte-stream.ts';
import { Request } from '../generated/ttrpc.ts';
import { encodeMuxFrames } from './mux-frame.ts';
import { TtrpcError } from './ttrpc-error.ts';
import { encodeMessage, MAX_MESSAGE_BYTES } from './ttrpc-frame.ts';
import { type TtrpcHandler, TtrpcPeer } from './ttrpc-peer.ts';

const never = new AbortController().signal;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (data: Uint8Array): string => new TextDecoder().decode(data);
const echo =
  (who: string): TtrpcHandler =>
  async ({ service, method, payload }) =>
    bytes(`${who} ${service} ${method} ${text(payload)}`);

function connect(onPlugin: TtrpcHandler = echo('plugin'), onRuntime: TtrpcHandler = echo('runtime')) {
  const [one, other] = byteStreamPair();
  const [runtime, plugin] = [new TtrpcPeer(one, 'runtime', onRuntime), new TtrpcPeer(other, 'plugin', onPlugin)];
  void runtime.run();
  void plugin.run();
  return { runtime, plugin };
}

const call = (payload: string) => ({ service: 's', method: 'm', payload: bytes(payload), timeoutMs: 10 });

test('TtrpcPeer calls in both directions at once over one connection', async () => {
  const { runtime, plugin } = connect();
  const answers = await Promise.all([
    runtime.call(call('1'), never),
    plugin.call(call('2'), never),
    runtime.call(call('3'), never),
  ]);
  assert.deepEqual(answers.map(text), ['plugin s m 1', 'runtime s m 2', 'plugin s m 3']);
});

test('TtrpcPeer carries messages of several frames', async () => {
  const { runtime } = connect(async ({ payload }) => payload);
  const large = new Uint8Array(MAX_MESSAGE_BYTES - 100).fill(7);
  const answer = await runtime.call({ ...call(''), payload: large }, never);
  assert.equal(Buffer.compare(answer, large), 0);
});

test('TtrpcPeer returns the code and message of an error', async () => {
  const { runtime } = connect(async () => {
    throw new TtrpcError(12, 'not here');
  });
  await assert.rejects(runtime.call(call(''), never), { name: 'TtrpcError', code: 12, message: 'not here' });
});

test('TtrpcPeer returns any other error as unknown', async () => {
  const { runtime } = connect(async () => {
    throw new Error('no luck');
  });
  await assert.rejects(runtime.call(call(''), never), { name: 'TtrpcError', code: 2, message: 'no luck' });
});

test('TtrpcPeer rejects a message that is too long, and continues', async () => {
  const { runtime } = connect();
  const tooLong = { ...call(''), payload: new Uint8Array(MAX_MESSAGE_BYTES) };
  await assert.rejects(runtime.call(tooLong, never), { name: 'TtrpcError', code: 8 });
  assert.equal(text(await runtime.call(call('1'), never)), 'plugin s m 1');
});

test('TtrpcPeer rejects a call with the reason of the signal, and ignores a late response', async () => {
  const held = Promise.withResolvers<Uint8Array>();
  const { runtime } = connect(({ payload }) => (text(payload) === 'slow' ? held.promise : Promise.resolve(payload)));
  const controller = new AbortController();
  const slow = runtime.call(call('slow'), controller.signal);
  controller.abort(new Error('enough'));
  await assert.rejects(slow, { message: 'enough' });
  held.resolve(bytes('late'));
  assert.equal(text(await runtime.call(call('quick'), never)), 'quick');
});

test('TtrpcPeer rejects pending calls when the connection is closed', async () => {
  const { runtime, plugin } = connect(() => new Promise(() => {}));
  const waiting = runtime.call(call(''), never);
  plugin.close('done');
  await assert.rejects(waiting, { name: 'ConnectionLostError' });
  await assert.rejects(runtime.call(call(''), never), { name: 'ConnectionLostError' });
  assert.ok(runtime.lost);
});

const hugeHeader = new Uint8Array(10);
new DataView(hugeHeader.buffer).setUint32(0, MAX_MESSAGE_BYTES + 1);
const request = Request.encode(Request.create({ service: 's', method: 'm' })).finish();

const broken: Record<string, Uint8Array> = {
  'a frame that is too long': new Uint8Array([0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff]),
  'a message that is too long': encodeMuxFrames(2, hugeHeader),
  'a message that is not a request': encodeMuxFrames(
    2,
    encodeMessage({ streamId: 1, type: 2, flags: 0 }, new Uint8Array()),
  ),
  'an even stream': encodeMuxFrames(2, encodeMessage({ streamId: 2, type: 1, flags: 0 }, request)),
  'a request that is not protobuf': encodeMuxFrames(
    2,
    encodeMessage({ streamId: 1, type: 1, flags: 0 }, new Uint8Array([0x0a, 0xff])),
  ),
  'a message that is not a response': encodeMuxFrames(
    1,
    encodeMessage({ streamId: 1, type: 1, flags: 0 }, new Uint8Array()),
  ),
};

for (const [name, frame] of Object.entries(broken)) {
  test(`TtrpcPeer closes the connection after ${name}`, async () => {
    const [ours, theirs] = byteStreamPair();
    const peer = new TtrpcPeer(ours, 'runtime', echo('runtime'));
    await theirs.write(frame);
    await peer.run();
    assert.ok(peer.lost);
    for await (const _chunk of theirs.chunks) assert.fail('the connection is closed');
  });
}

test('TtrpcPeer serves a stream once', async () => {
  const [ours, theirs] = byteStreamPair();
  const peer = new TtrpcPeer(ours, 'runtime', echo('runtime'));
  const frame = encodeMuxFrames(2, encodeMessage({ streamId: 3, type: 1, flags: 0 }, request));
  await theirs.write(frame);
  await theirs.write(frame);
  await peer.run();
  assert.equal(peer.lost?.message, 'stream 3 out of order');
});
