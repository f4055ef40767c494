import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { byteStreamPair } from '../../host/fake/memory-byte-stream.ts';
import type { ByteStream } from '../../host/network.ts';
import { type ControlFrame, encodeControlFrame, encodeDataHeader } from './encode-frame.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { HeaderWriter } from './header-blocks.ts';
import { openSpdySession } from './open-spdy-session.ts';
import type { SpdyFrame } from './spdy-frames.ts';
import type { SpdyHeaders, SpdySession, SpdyStream } from './spdy-session.ts';

const never = new AbortController().signal;
const MEBIBYTE = 1024 * 1024;

/** A connected client and server. */
interface Sessions {
  readonly client: SpdySession;
  readonly server: SpdySession;
  /** Aborting it disconnects both. */
  readonly severed: AbortController;
}

function sessions(): Sessions {
  const severed = new AbortController();
  const [left, right] = byteStreamPair(severed.signal);
  return { client: openSpdySession(left, 'client'), server: openSpdySession(right, 'server'), severed };
}

async function streamPair(
  headers: SpdyHeaders = { streamtype: ['stdin'] },
): Promise<Sessions & { readonly near: SpdyStream; readonly far: SpdyStream }> {
  const both = sessions();
  const incoming = next(both.server.incoming);
  const near = await both.client.open(headers, never);
  return { ...both, near, far: await incoming };
}

/** A session, and a peer that the test writes the bytes of. */
function rawPeer(role: 'client' | 'server' = 'server') {
  const [ours, peer] = byteStreamPair();
  const session = openSpdySession(ours, role);
  const headers = new HeaderWriter();
  const send = (...frames: readonly ControlFrame[]): Promise<void> =>
    peer.write(Buffer.concat(frames.map((frame) => encodeControlFrame(frame, headers))));
  const sendData = (streamId: number, payload: Uint8Array, fin = false): Promise<void> => {
    const bytes = new Uint8Array(8 + payload.length);
    encodeDataHeader(bytes, 0, { streamId, length: payload.length, fin });
    bytes.set(payload, 8);
    return peer.write(bytes);
  };
  return { session, peer, send, sendData, frames: framesOf(peer) };
}

async function* framesOf(peer: ByteStream): AsyncGenerator<SpdyFrame, void, void> {
  const decoder = new FrameDecoder();
  for await (const chunk of peer.chunks) yield* decoder.frames(chunk);
}

async function next<T>(items: AsyncIterable<T>): Promise<T> {
  const { value, done } = await items[Symbol.asyncIterator]().next();
  assert.ok(!done);
  return value;
}

async function text(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(chunks)).toString();
}

const syn = (streamId: number): ControlFrame => ({
  kind: 'synStream',
  streamId,
  headers: { streamtype: ['data'] },
  fin: false,
  unidirectional: false,
});

test('a stream keeps only the headers that Kubernetes uses', async () => {
  const used = { streamtype: ['data'], port: ['80'], requestid: ['1'] };
  const { far } = await streamPair({ ...used, 'x-other': ['x'.repeat(1000)] });
  assert.deepEqual(far.headers, used);
});

test('a stream carries bytes both ways, and each side ends separately', async () => {
  const { near, far } = await streamPair();
  assert.deepEqual([near.id, far.id, far.headers], [1, 1, { streamtype: ['stdin'] }]);
  await near.write(Buffer.from('question'));
  await near.end();
  assert.equal(await text(far.chunks), 'question');
  await far.write(Buffer.from('answer'));
  await far.end();
  assert.equal(await text(near.chunks), 'answer');
  await Promise.all([near.closed, far.closed]);
});

test('servers open streams too, with even ids', async () => {
  const { client, server } = sessions();
  const incoming = next(client.incoming);
  const [first, second] = await Promise.all([server.open({}, never), server.open({}, never)]);
  assert.deepEqual([first.id, second.id, (await incoming).id], [2, 4, 2]);
});

test('streams arrive in the order of their ids, with the data that is sent at once', async () => {
  const { client, server } = sessions();
  const count = 100;
  const served = (async () => {
    const seen: number[] = [];
    for await (const stream of server.incoming) {
      seen.push(stream.id);
      void text(stream.chunks)
        .then((said) => stream.write(Buffer.from(said.toUpperCase())))
        .then(() => stream.end());
      if (seen.length === count) break;
    }
    return seen;
  })();
  const answers = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const stream = await client.open({ requestid: [String(index)] }, never);
      for (const part of ['stream ', String(index)]) await stream.write(Buffer.from(part));
      await stream.end();
      return text(stream.chunks);
    }),
  );
  assert.deepEqual(
    answers,
    Array.from({ length: count }, (_, index) => `STREAM ${index}`),
  );
  assert.deepEqual(
    await served,
    Array.from({ length: count }, (_, index) => 2 * index + 1),
  );
});

test('data arrives in order, in frames of a limited size', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(200_000), { maxLength: 8 }), async (sizes) => {
      const { near, far, client } = await streamPair();
      const all = Buffer.from(
        sizes.flatMap((size, index) => Array.from({ length: size % 9973 }, (_, at) => at + index)),
      );
      const written = (async () => {
        let at = 0;
        for (const size of sizes) {
          await near.write(all.subarray(at, at + (size % 9973)));
          at += size % 9973;
        }
        await near.write(Buffer.alloc(300_000, 7));
        await near.end();
      })();
      const received = await Array.fromAsync(far.chunks);
      await written;
      assert.ok(Buffer.concat(received).equals(Buffer.concat([all, Buffer.alloc(300_000, 7)])));
      assert.ok(received.every((chunk) => chunk.length <= 65_536));
      await client.close();
    }),
    { numRuns: 30 },
  );
});

test('frames of one turn are sent in one write', async () => {
  const { session, peer } = rawPeer('client');
  const opened = [session.open({}, never), session.open({}, never), session.open({}, never)];
  for (const open of opened) open.catch(() => {});
  const first = await next(peer.chunks);
  assert.equal([...new FrameDecoder().frames(first)].length, 3);
});

test('open() rejects when the peer rejects the stream', async () => {
  const { session, send } = rawPeer('client');
  const opening = session.open({}, never);
  await send({ kind: 'rstStream', streamId: 1, status: 3 });
  await assert.rejects(opening, { name: 'NetworkError', code: 'ECONNREFUSED' });
});

test('an aborted open() resets the stream', async () => {
  const { session, frames } = rawPeer('client');
  const gone = new AbortController();
  const opening = session.open({}, gone.signal);
  assert.equal((await frames.next()).value?.kind, 'synStream');
  gone.abort(new Error('enough'));
  await assert.rejects(opening, { message: 'enough' });
  assert.deepEqual((await frames.next()).value, { kind: 'rstStream', streamId: 1, status: 5 });
});

test('each stream of the peer gets a SYN_REPLY', async () => {
  const { frames, send } = rawPeer();
  await send(syn(1), syn(3));
  assert.deepEqual((await frames.next()).value, { kind: 'synReply', streamId: 1, headers: {}, fin: false });
  assert.deepEqual((await frames.next()).value, { kind: 'synReply', streamId: 3, headers: {}, fin: false });
});

test('a unidirectional stream gets no SYN_REPLY, and cannot be written to', async () => {
  const { session, frames, send, sendData } = rawPeer();
  await send({ ...syn(1), unidirectional: true } as ControlFrame, { kind: 'ping', id: 1 });
  assert.deepEqual((await frames.next()).value, { kind: 'ping', id: 1 });
  const stream = await next(session.incoming);
  await assert.rejects(stream.write(Buffer.from('x')), { name: 'NetworkError', code: 'EPIPE' });
  await sendData(1, Buffer.from('news'), true);
  assert.equal(await text(stream.chunks), 'news');
  await stream.closed;
});

test('a stream may be complete when it is opened', async () => {
  const { session, send } = rawPeer();
  await send({ ...syn(1), fin: true } as ControlFrame);
  const stream = await next(session.incoming);
  assert.equal(await text(stream.chunks), '');
});

test('pings of the peer are returned, replies to our pings are not', async () => {
  const { frames, send } = rawPeer();
  await send({ kind: 'ping', id: 2 }, { kind: 'ping', id: 5 });
  assert.deepEqual((await frames.next()).value, { kind: 'ping', id: 5 });
});

test('reset() ends both sides and drops unread data', async () => {
  const { near, far } = await streamPair();
  await far.write(Buffer.from('unread'));
  await near.reset();
  await Promise.all([near.closed, far.closed]);
  assert.deepEqual([await text(near.chunks), await text(far.chunks)], ['', '']);
  await assert.rejects(near.write(Buffer.from('x')), { code: 'EPIPE' });
  await assert.rejects(far.write(Buffer.from('x')), { code: 'EPIPE' });
  await Promise.all([near.end(), far.end(), near.reset()]);
});

test('data received before a reset by the peer is still read', async () => {
  const { session, send, sendData } = rawPeer();
  await send(syn(1));
  await sendData(1, Buffer.from('last words'));
  await send({ kind: 'rstStream', streamId: 1, status: 5 });
  const stream = await next(session.incoming);
  await stream.closed;
  assert.equal(await text(stream.chunks), 'last words');
});

test('a pending write rejects on a reset by the peer', async () => {
  const { session, send } = rawPeer();
  await send(syn(1));
  const stream = await next(session.incoming);
  const writes = Promise.allSettled([stream.write(Buffer.alloc(8 * MEBIBYTE)), stream.end()]);
  await send({ kind: 'rstStream', streamId: 1, status: 5 });
  const [write, end] = await writes;
  assert.equal(write.status === 'rejected' && write.reason.code, 'ECONNRESET');
  assert.equal(end.status, 'fulfilled');
});

test('output does not wait for unread input', async () => {
  const { near, far } = await streamPair();
  const flooding = near.write(Buffer.alloc(8 * MEBIBYTE)); // far reads nothing of it
  const answer = (async () => {
    for (let index = 0; index < 50; index++) await far.write(Buffer.alloc(100_000, index));
    await far.end();
  })();
  const received = Buffer.concat(await Array.fromAsync(near.chunks));
  await answer;
  assert.equal(received.length, 5_000_000);
  const drained = far.chunks[Symbol.asyncIterator]();
  for (let bytes = 0; bytes < 8 * MEBIBYTE; ) bytes += (await drained.next()).value?.length ?? Infinity;
  await flooding;
});

test('a slow reader blocks the sender, and a reader that has left does not', async () => {
  const { near, far } = await streamPair();
  let written = 0;
  const writing = (async () => {
    for (; written < 64; written++) await near.write(Buffer.alloc(MEBIBYTE));
  })();
  const reader = far.chunks[Symbol.asyncIterator]();
  await reader.next();
  assert.ok(written < 8, `${written} MiB were sent`);
  await reader.return?.();
  await writing;
  assert.equal(written, 64);
});

test('close() sends earlier writes, then GOAWAY', async () => {
  const { client, server, near, far } = await streamPair();
  const writes = [near.write(Buffer.alloc(3 * MEBIBYTE, 1)), near.write(Buffer.from('end'))];
  const received = text(far.chunks);
  await client.close();
  await Promise.all(writes);
  assert.equal((await received).length, 3 * MEBIBYTE + 3);
  await Promise.all([client.closed, server.closed, near.closed, far.closed, client.close(), server.close()]);
  assert.deepEqual(await Array.fromAsync(server.incoming), []);
  await assert.rejects(near.write(Buffer.from('x')), { code: 'EPIPE' });
  await assert.rejects(client.open({}, never), { code: 'EPIPE' });
});

test('close() keeps reading, so that the GOAWAY is not discarded, and closes when the peer does', async () => {
  const { session, peer, frames, sendData } = rawPeer();
  await session.close();
  await sendData(1, Buffer.alloc(3 * MEBIBYTE));
  assert.deepEqual((await frames.next()).value, { kind: 'goAway', lastStreamId: 0, status: 0 });
  assert.equal((await frames.next()).done, true);
  peer.end();
});

test('a disconnect ends everything', async () => {
  const { client, near, far, severed } = await streamPair();
  const opening = client.open({}, never);
  const writing = near.write(Buffer.alloc(8 * MEBIBYTE));
  opening.catch(() => {});
  writing.catch(() => {});
  await next(far.chunks);
  severed.abort();
  await assert.rejects(writing, { name: 'NetworkError' });
  await opening.catch((error: unknown) => assert.ok(error instanceof Error && error.name === 'NetworkError'));
  await Promise.all([client.closed, near.closed, far.closed, near.end(), near.reset(), client.close()]);
});

const offences: Record<string, readonly ControlFrame[]> = {
  'opens streams backwards': [syn(3), syn(1)],
  'opens a stream twice': [syn(1), syn(1)],
  'opens one of our ids': [syn(2)],
};

for (const [name, offence] of Object.entries(offences)) {
  test(`a peer that ${name} is disconnected`, async () => {
    const { session, frames, send } = rawPeer();
    await send(...offence);
    for await (const frame of frames) assert.equal(frame.kind, 'synReply');
    await session.closed;
  });
}

test('streams above the limit are reset', async () => {
  const { frames, send } = rawPeer();
  await send(...Array.from({ length: 2500 }, (_, index) => syn(2 * index + 1)));
  const kinds: string[] = [];
  for await (const frame of frames) if (kinds.push(frame.kind) === 2500) break;
  assert.equal(kinds.filter((kind) => kind === 'rstStream').length > 400, true);
});

test('a peer that requests replies and does not read them is disconnected', async () => {
  const { session, peer } = rawPeer();
  const pings = Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.from('800300060000000400000001', 'hex')));
  while (
    await Promise.race([
      session.closed.then(() => false),
      peer.write(pings).then(
        () => true,
        () => false,
      ),
    ])
  );
  await session.closed;
});

test('garbage ends the session only', async () => {
  const begin = fc.constantFrom(
    ...['', '800300', '8003000100000029', '00000001'].map((hex) => Buffer.from(hex, 'hex')),
  );
  await fc.assert(
    fc.asyncProperty(begin, fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 6 }), async (start, chunks) => {
      const { session, peer } = rawPeer();
      for (const chunk of [start, ...chunks]) await peer.write(chunk).catch(() => {});
      peer.end();
      await session.closed;
    }),
    { numRuns: 2000 },
  );
});
