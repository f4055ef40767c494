import { connect } from 'node:net';
import { serveUpgrades } from '../../../src/host/linux/http/upgrade-server.ts';
import { NetworkError, type WebSocketConnection } from '../../../src/host/network.ts';
import { binary, bytesOf, type FuzzTarget, randomChunks, requireProperty } from '../fuzz-target.ts';

const HANDSHAKE = bytesOf(
  [
    'GET /exec/token HTTP/1.1',
    'Host: 127.0.0.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Protocol: v5.channel.k8s.io',
    '\r\n',
  ].join('\r\n'),
);

/** A frame of a client, masked with zeros. */
function frame(opcode: number, payload: string, isLast = true): readonly number[] {
  return [(isLast ? 0x80 : 0) | opcode, 0x80 | payload.length, 0, 0, 0, 0, ...bytesOf(payload)];
}

/** The frames of a client after the handshake: the connection ends, and the server survives. Uses a real socket. */
export const WEB_SOCKET: FuzzTarget = {
  name: 'web-socket',
  seeds: [
    Uint8Array.from([...frame(2, '\0ls\n'), ...frame(9, 'ping'), ...frame(8, '\x03\xe8')]),
    Uint8Array.from([...frame(1, 'ab', false), ...frame(10, ''), ...frame(0, 'cd')]),
    Uint8Array.of(0x82, 0xfe, 0, 130, 1, 2, 3, 4, ...new Uint8Array(130)),
  ],
  tokens: ['\x82\x80', '\x82\xff', '\0\0\0\0', '\x89\x80\0\0\0\0', '\x88\x82'].map(binary),
  errors: [],
  testInputs: 15,
  async run(input, draw) {
    const served = Promise.withResolvers<readonly Uint8Array[]>();
    const server = await serveUpgrades(() => ({
      kind: 'webSocket',
      protocol: 'v5.channel.k8s.io',
      serve: (connection) => void receive(connection).then(served.resolve, served.reject),
    }));
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {}); // the server may reset the connection
    socket.resume();
    for (const chunk of [HANDSHAKE, ...randomChunks(input, draw)]) socket.write(chunk);
    socket.end();
    try {
      const messages = await served.promise;
      const length = messages.reduce((sum, message) => sum + message.length, 0);
      requireProperty(length <= input.length, 'more data than input');
      return messages;
    } finally {
      socket.destroy();
      await server.close();
    }
  },
};

async function receive(connection: WebSocketConnection): Promise<readonly Uint8Array[]> {
  const messages: Uint8Array[] = [];
  try {
    for await (const message of connection.messages) messages.push(message);
  } catch (error) {
    requireProperty(error instanceof NetworkError, `not an error of the network: ${String(error)}`);
  }
  await connection.closed;
  return messages;
}
