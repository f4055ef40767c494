import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteStreamPair } from '../../host/fake/memory-byte-stream.ts';
import { eventLoopTurn } from '../../host/linux/process/event-loop-turn.ts';
import { serveWebSocket, webSocketAccept } from './serve-web-socket.ts';
import { clientFrame, serverFrames } from './web-socket-client.fixture.ts';

function setUp() {
  const [client, server] = byteStreamPair();
  return { client, socket: serveWebSocket(server, 'v5.channel.k8s.io'), frames: serverFrames(client.chunks) };
}

test('webSocketAccept() answers the example of RFC 6455', () => {
  assert.equal(webSocketAccept('dGhlIHNhbXBsZSBub25jZQ=='), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
});

test('messages arrive in order, and pings are answered between them', async () => {
  const { client, socket, frames } = setUp();
  await client.write(Buffer.concat([clientFrame('one'), clientFrame('?', { opcode: 9 }), clientFrame('two')]));
  const messages = socket.messages[Symbol.asyncIterator]();
  const texts = [await messages.next(), await messages.next()].map(({ value }) => Buffer.from(value ?? []).toString());
  assert.deepEqual(texts, ['one', 'two']);
  assert.deepEqual((await frames.next()).value, { opcode: 10, data: Buffer.from('?') });
  await socket.send(Uint8Array.of(1, 2));
  assert.deepEqual((await frames.next()).value, { opcode: 2, data: Buffer.of(1, 2) });
});

test('the close of the client ends the messages, and is answered', async () => {
  const { client, socket, frames } = setUp();
  await client.write(Buffer.concat([clientFrame('last'), clientFrame('', { opcode: 8 })]));
  const texts = (await Array.fromAsync(socket.messages)).map((each) => Buffer.from(each).toString());
  assert.deepEqual(texts, ['last']);
  await socket.closed;
  assert.deepEqual(await Array.fromAsync(frames), [{ opcode: 8, data: Buffer.of(0x03, 0xe8) }]);
  await assert.rejects(socket.send('late'), { code: 'EPIPE' });
});

test('close() sends what was sent before, then a close, and drops what the client still sends', async () => {
  const { client, socket, frames } = setUp();
  const sent = socket.send('bye');
  socket.close();
  await sent;
  await client.write(clientFrame('late'));
  assert.deepEqual(
    (await Array.fromAsync(frames)).map(({ opcode }) => opcode),
    [1, 8],
  );
  assert.deepEqual(await Array.fromAsync(socket.messages), []);
});

test('a broken frame closes the connection with its status', async () => {
  const { client, socket, frames } = setUp();
  await client.write(Uint8Array.of(0x82, 0, 0, 0, 0, 0));
  assert.deepEqual(await Array.fromAsync(socket.messages), []);
  await socket.closed;
  assert.deepEqual((await frames.next()).value, { opcode: 8, data: Buffer.of(0x03, 0xea) });
});

test('a client that is not read is slowed down', async () => {
  const { client, socket } = setUp();
  const frame = clientFrame(new Uint8Array(512 * 1024));
  let written = 0;
  const writing = (async () => {
    for (let count = 0; count < 20; count++) {
      await client.write(frame);
      written++;
    }
    client.end();
  })();
  for (let turn = 0; turn < 100; turn++) await eventLoopTurn();
  assert.ok(written < 10, `${written} messages were taken`);
  const received = await Array.fromAsync(socket.messages);
  await writing;
  assert.equal(received.length, 20);
});
