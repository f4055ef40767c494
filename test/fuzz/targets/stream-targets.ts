import { isDeepStrictEqual } from 'node:util';
import { decodeExecMessage } from '../../../src/kubelet/local-api/exec-protocol.ts';
import { healthRequest, healthStatus } from '../../../src/kubelet/probes/grpc-health.ts';
import { Request, Response } from '../../../src/runtime/nri/generated/ttrpc.ts';
import { type Frame, FrameReader, ProtocolError } from '../../../src/runtime/nri/ttrpc/frame-reader.ts';
import { encodeMuxFrames, MUX_FORMAT } from '../../../src/runtime/nri/ttrpc/mux-frame.ts';
import { encodeMessage, MESSAGE_FORMAT, type MessageHeader } from '../../../src/runtime/nri/ttrpc/ttrpc-frame.ts';
import { TtrpcPeer } from '../../../src/runtime/nri/ttrpc/ttrpc-peer.ts';
import { decodeChannel, encodeChannel } from '../../../src/runtime/streaming/channel-messages.ts';
import { TerminalSizeParser } from '../../../src/runtime/streaming/terminal-size-parser.ts';
import { bytesOf, type FuzzTarget, randomChunks, requireProperty, texts } from '../fuzz-target.ts';
import { streamOf } from './spdy-targets.ts';

const REQUEST = Request.encode(
  Request.create({
    service: 'nri.pkg.api.v1alpha1.Runtime',
    method: 'RegisterPlugin',
    payload: bytesOf('x'),
    timeoutNano: 1n,
  }),
).finish();
const RESPONSE = Response.encode(
  Response.create({ status: { code: 2, message: 'no' }, payload: bytesOf('y') }),
).finish();
const REQUEST_MESSAGE = encodeMessage({ streamId: 1, type: 1, flags: 0 }, REQUEST);
const RESPONSE_MESSAGE = encodeMessage({ streamId: 1, type: 2, flags: 0 }, RESPONSE);

/** Frames of ttrpc do not depend on how their bytes are split, and encode to the same bytes. */
export const TTRPC_FRAMES: FuzzTarget = {
  name: 'ttrpc-frames',
  seeds: [REQUEST_MESSAGE, new Uint8Array([...REQUEST_MESSAGE, ...RESPONSE_MESSAGE])],
  errors: [ProtocolError],
  run(input, draw) {
    const frames = new FrameReader(MESSAGE_FORMAT).push(input);
    const reader = new FrameReader(MESSAGE_FORMAT);
    const again = randomChunks(input, draw).flatMap((chunk) => reader.push(chunk));
    requireProperty(
      isDeepStrictEqual(frames.map(plain), again.map(plain)),
      'the frames depend on how the bytes are split',
    );
    const encoded = Buffer.concat(frames.map(({ header, payload }) => encodeMessage(header, payload)));
    requireProperty(encoded.equals(input.subarray(0, encoded.length)), 'not what was encoded');
    return frames;
  },
};

function plain({ header, payload }: Frame<MessageHeader>): unknown {
  return { header, payload: Buffer.from(payload).toString('hex') };
}

/** A whole connection of an NRI plugin: it ends with a reason and never rejects. */
export const TTRPC_PEER: FuzzTarget = {
  name: 'ttrpc-peer',
  seeds: [
    encodeMuxFrames(2, REQUEST_MESSAGE),
    new Uint8Array([...encodeMuxFrames(1, RESPONSE_MESSAGE), ...encodeMuxFrames(2, REQUEST_MESSAGE)]),
  ],
  errors: [],
  async run(input, draw) {
    const sent: Uint8Array[] = [];
    const calls: string[] = [];
    const peer = new TtrpcPeer(
      streamOf(randomChunks(input, draw), sent),
      'runtime',
      async ({ service, method, payload }) => {
        calls.push(`${service}/${method}`);
        return payload;
      },
    );
    const answer = peer
      .call({ service: 's', method: 'm', payload: new Uint8Array(), timeoutMs: 1 }, new AbortController().signal)
      .catch((error: unknown) => error);
    await peer.run();
    const { message } = await peer.closed;
    requireProperty(message !== '', 'a connection ended without a reason');
    return { calls, answer: await answer, message: message.replaceAll(/\d+/g, '#') };
  },
};

export const MUX_FRAMES: FuzzTarget = {
  name: 'mux-frames',
  testInputs: 200,
  seeds: [encodeMuxFrames(1, REQUEST_MESSAGE), encodeMuxFrames(2, new Uint8Array(5000))],
  errors: [ProtocolError],
  run(input, draw) {
    const reader = new FrameReader(MUX_FORMAT);
    const frames = randomChunks(input, draw).flatMap((chunk) => reader.push(chunk));
    const message = Buffer.concat(frames.map(({ payload }) => payload));
    const again = new FrameReader(MUX_FORMAT).push(encodeMuxFrames(7, message));
    requireProperty(Buffer.concat(again.map(({ payload }) => payload)).equals(message), 'not what was encoded');
    return frames;
  },
};

/** The messages of a WebSocket client of exec and attach. */
export const CHANNEL_MESSAGES: FuzzTarget = {
  name: 'channel-messages',
  seeds: [
    bytesOf('\0ls\n'),
    bytesOf('0bHMK'),
    bytesOf('4eyJXaWR0aCI6ODAsIkhlaWdodCI6MjR9'),
    bytesOf('\x04{"Width":80,"Height":24}'),
  ],
  errors: [],
  run(input) {
    return (['binary', 'base64'] as const).map((encoding) => {
      const message = decodeChannel(encoding, input);
      // One digit encodes a channel in base64.
      if (message === undefined || (encoding === 'base64' && message.channel > 9)) return message;
      const again = Buffer.from(encodeChannel(encoding, message.channel, message.data));
      const { channel, data } = decodeChannel(encoding, again) ?? { channel: -1, data: new Uint8Array() };
      requireProperty(channel === message.channel && Buffer.compare(data, message.data) === 0, 'not what was encoded');
      return message;
    });
  },
};

export const TERMINAL_SIZES: FuzzTarget = {
  name: 'terminal-sizes',
  seeds: texts('{"Width":80,"Height":24}', '{"width":1,"height":65535}\n{"Width":0}{"Height":7,"Width":9}'),
  tokens: ['"Width":', '"Height":', '{"Width":80,"Height":24}'],
  errors: [],
  run(input, draw) {
    const parser = new TerminalSizeParser();
    const sizes = randomChunks(input, draw).flatMap((chunk) => parser.push(chunk));
    requireProperty(
      sizes.every(({ width, height }) => isSide(width) && isSide(height)),
      'a size is out of range',
    );
    return sizes;
  },
};

function isSide(side: number): boolean {
  return Number.isInteger(side) && side > 0 && side < 2 ** 16;
}

/** The messages of a runtime to the client of exec. */
export const EXEC_MESSAGES: FuzzTarget = {
  name: 'exec-messages',
  seeds: texts(
    '\x01out',
    '\x03{"metadata":{},"status":"Success"}',
    '\x03{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}',
  ),
  tokens: ['"status":', '"causes":', '"ExitCode"', '"NonZeroExitCode"', '"details":', '"message":'],
  errors: [],
  run(input) {
    const message = decodeExecMessage(input);
    const isEnd = message.kind === 'end' && 'exitCode' in message.end;
    requireProperty(!isEnd || Number.isInteger(message.end.exitCode), 'an exit code is not an integer');
    return message;
  },
};

/** The response of a container to a gRPC probe. */
export const GRPC_HEALTH: FuzzTarget = {
  name: 'grpc-health',
  seeds: [
    Uint8Array.of(8, 1),
    Uint8Array.of(8, 2),
    Uint8Array.of(0x12, 3, 1, 2, 3, 8, 1),
    healthRequest('my.service'),
    Uint8Array.of(0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x15, 1, 2, 3, 4),
  ],
  errors: [Error],
  run: (input) => healthStatus(input),
};
