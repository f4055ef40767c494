import { isDeepStrictEqual } from 'node:util';
import { constants, deflateSync } from 'node:zlib';
import type { ByteStream } from '../../../src/host/network.ts';
import { type ControlFrame, encodeControlFrame } from '../../../src/streams/spdy/encode-frame.ts';
import { FrameDecoder } from '../../../src/streams/spdy/frame-decoder.ts';
import { HEADER_DICTIONARY, HeaderReader, HeaderWriter } from '../../../src/streams/spdy/header-blocks.ts';
import { openSpdySession } from '../../../src/streams/spdy/open-spdy-session.ts';
import { type SpdyFrame, SpdyProtocolError } from '../../../src/streams/spdy/spdy-frames.ts';
import type { SpdyHeaders } from '../../../src/streams/spdy/spdy-session.ts';
import type { Draw } from '../../sim/draw.ts';
import { asStream, binary, bytesOf, type FuzzTarget, randomChunks, requireProperty } from '../fuzz-target.ts';

const HEADERS: SpdyHeaders = { streamtype: ['data'], port: ['8080'], requestid: ['0'], many: ['a', 'b'] };
const TOKENS = [
  'streamtype',
  'port',
  'requestid',
  ...['\x80\x03\0\x01', '\0\0\0\x01', '\0\0\0\0\xff\xff', '\0\0\0\x02', '\x01\0\0\0'].map(binary),
];

/** Several frames with one compression state, as a connection has them. */
function session(...frames: readonly ControlFrame[]): Uint8Array {
  const headers = new HeaderWriter();
  const data = Uint8Array.of(0, 0, 0, 1, 1, 0, 0, 3, 0x61, 0x62, 0x63);
  return new Uint8Array(Buffer.concat([...frames.map((frame) => encodeControlFrame(frame, headers)), data]));
}

const SESSIONS = [
  session({ kind: 'synStream', streamId: 1, headers: HEADERS, fin: false, unidirectional: false }),
  session(
    { kind: 'synStream', streamId: 1, headers: { streamtype: ['error'] }, fin: true, unidirectional: false },
    { kind: 'synReply', streamId: 2, headers: {}, fin: false },
    { kind: 'ping', id: 1 },
    { kind: 'rstStream', streamId: 1, status: 5 },
    { kind: 'goAway', lastStreamId: 1, status: 0 },
  ),
  encodeControlFrame({ kind: 'ping', id: 1 }, new HeaderWriter()),
  encodeControlFrame({ kind: 'rstStream', streamId: 3, status: 5 }, new HeaderWriter()),
  // SETTINGS, WINDOW_UPDATE and HEADERS, which this side never sends.
  Uint8Array.of(0x80, 3, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0, 0x80, 3, 0, 9, 0, 0, 0, 8, 0, 0, 0, 1, 0, 1, 0, 0),
  Uint8Array.of(0x80, 3, 0, 8, 0, 0, 0, 10, 0, 0, 0, 1, ...compressed(Uint8Array.of(0, 0, 0, 0)).subarray(0, 6)),
];

export const SPDY_FRAMES: FuzzTarget = {
  name: 'spdy-frames',
  testInputs: 400,
  seeds: SESSIONS,
  tokens: TOKENS,
  errors: [SpdyProtocolError],
  run(input, draw) {
    const whole = decoded([input]);
    const parts = decoded(randomChunks(input, draw));
    requireProperty(isDeepStrictEqual(whole, parts), 'the frames depend on how the bytes are split');
    requireProperty(
      isDeepStrictEqual(decoded([encoded(whole.frames)]).frames, whole.frames.filter(isSent)),
      'not what was encoded',
    );
    if (whole.error) throw whole.error;
    return whole.frames;
  },
};

/** Parts of one data frame count as one. */
function decoded(chunks: readonly Uint8Array[]): { readonly frames: readonly SpdyFrame[]; readonly error: unknown } {
  const decoder = new FrameDecoder();
  const frames: SpdyFrame[] = [];
  try {
    for (const chunk of chunks) for (const frame of decoder.frames(chunk)) frames.push(frame);
    return { frames: joinedData(frames), error: undefined };
  } catch (error) {
    return { frames: joinedData(frames), error };
  }
}

function joinedData(frames: readonly SpdyFrame[]): readonly SpdyFrame[] {
  const joined: SpdyFrame[] = [];
  let parts: Uint8Array[] = [];
  for (const [index, frame] of frames.entries()) {
    if (frame.kind !== 'data') {
      joined.push(frame);
      continue;
    }
    parts.push(frame.payload);
    const next = frames[index + 1];
    if (!frame.fin && next?.kind === 'data' && next.streamId === frame.streamId) continue;
    joined.push({ ...frame, payload: new Uint8Array(Buffer.concat(parts)) });
    parts = [];
  }
  return joined;
}

function isSent(frame: SpdyFrame): frame is ControlFrame {
  return ['synStream', 'synReply', 'rstStream', 'ping', 'goAway'].includes(frame.kind);
}

function encoded(frames: readonly SpdyFrame[]): Uint8Array {
  const headers = new HeaderWriter();
  return new Uint8Array(Buffer.concat(frames.filter(isSent).map((frame) => encodeControlFrame(frame, headers))));
}

function compressed(text: Uint8Array): Uint8Array {
  const options = { dictionary: HEADER_DICTIONARY, finishFlush: constants.Z_SYNC_FLUSH };
  return new Uint8Array(deflateSync(text, options));
}

/** Compressed header blocks. */
export const SPDY_HEADERS: FuzzTarget = {
  name: 'spdy-headers',
  seeds: [
    compressed(Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 4, ...bytesOf('port'), 0, 0, 0, 2, ...bytesOf('80'))),
    compressed(new Uint8Array(6000)),
    new HeaderWriter().write(HEADERS),
  ],
  tokens: TOKENS,
  errors: [SpdyProtocolError],
  run(input) {
    const reader = new HeaderReader();
    const headers = reader.read(input);
    return [headers, sameAgain(headers)];
  },
};

/** The same without compression, which otherwise hides most mutations. */
export const SPDY_HEADER_TEXT: FuzzTarget = {
  name: 'spdy-header-text',
  seeds: [
    Uint8Array.of(
      0,
      0,
      0,
      2,
      0,
      0,
      0,
      4,
      ...bytesOf('port'),
      0,
      0,
      0,
      2,
      ...bytesOf('80'),
      0,
      0,
      0,
      1,
      0x61,
      0,
      0,
      0,
      3,
      0x62,
      0,
      0x63,
    ),
    Uint8Array.of(0, 0, 0, 0),
  ],
  tokens: TOKENS,
  errors: [SpdyProtocolError],
  run: (input) => sameAgain(new HeaderReader().read(compressed(input))),
};

function sameAgain(headers: SpdyHeaders): SpdyHeaders {
  const again = new HeaderReader().read(new HeaderWriter().write(headers));
  requireProperty(isDeepStrictEqual(again, headers), 'written headers are read differently');
  return headers;
}

/** A whole session: it ends with its input, its memory is bounded, and it never rejects. */
export const SPDY_SESSION: FuzzTarget = {
  name: 'spdy-session',
  testInputs: 60,
  seeds: SESSIONS,
  tokens: TOKENS,
  errors: [],
  async run(input, draw) {
    const sent: Uint8Array[] = [];
    const opened = openSpdySession(streamOf(randomChunks(input, draw), sent), draw.pick(['server', 'client']));
    const streams: Promise<number>[] = [];
    for await (const stream of opened.incoming) streams.push(readAll(stream.chunks, draw));
    await opened.closed;
    requireProperty(streams.length * 16 <= input.length, 'more streams than frames');
    return { received: await Promise.all(streams), sent: new Uint8Array(Buffer.concat(sent)) };
  },
};

async function readAll(chunks: AsyncIterable<Uint8Array>, draw: Draw): Promise<number> {
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (draw.chance(0.1)) break;
  }
  return length;
}

/** A connection on which the peer sends these chunks, and then closes. */
export function streamOf(chunks: readonly Uint8Array[], sent: Uint8Array[]): ByteStream {
  return {
    chunks: asStream(chunks),
    write: async (data) => void sent.push(data),
    end: () => {},
    close: () => {},
  };
}
