import { assertNever } from '../../base/assert-never.ts';
import type { HeaderWriter } from './header-blocks.ts';
import { CONTROL_TYPE, FLAG, FRAME_HEADER_BYTES, SPDY_VERSION, type SpdyFrame } from './spdy-frames.ts';

/** The control frames that we send. */
export type ControlFrame = Extract<
  SpdyFrame,
  { readonly kind: 'synStream' | 'synReply' | 'rstStream' | 'ping' | 'goAway' }
>;

/** Frames must be sent in the order of encoding: header blocks share one compression state. */
export function encodeControlFrame(frame: ControlFrame, headers: HeaderWriter): Uint8Array {
  switch (frame.kind) {
    case 'synStream': {
      const flags = (frame.fin ? FLAG.fin : 0) | (frame.unidirectional ? FLAG.unidirectional : 0);
      // After the id: associated stream, priority and slot, which Kubernetes does not use.
      return control(
        CONTROL_TYPE.synStream,
        flags,
        [frame.streamId, 0],
        [new Uint8Array(2), headers.write(frame.headers)],
      );
    }
    case 'synReply':
      return control(CONTROL_TYPE.synReply, frame.fin ? FLAG.fin : 0, [frame.streamId], [headers.write(frame.headers)]);
    case 'rstStream':
      return control(CONTROL_TYPE.rstStream, 0, [frame.streamId, frame.status]);
    case 'ping':
      return control(CONTROL_TYPE.ping, 0, [frame.id]);
    case 'goAway':
      return control(CONTROL_TYPE.goAway, 0, [frame.lastStreamId, frame.status]);
    default:
      return assertNever(frame);
  }
}

function control(type: number, flags: number, words: readonly number[], rest: readonly Uint8Array[] = []): Uint8Array {
  const fixed = new Uint8Array(FRAME_HEADER_BYTES + 4 * words.length);
  const length = rest.reduce((sum, part) => sum + part.length, 4 * words.length);
  const view = new DataView(fixed.buffer);
  view.setUint16(0, 0x8000 | SPDY_VERSION);
  view.setUint16(2, type);
  view.setUint32(4, (flags << 24) | length);
  for (const [index, word] of words.entries()) view.setUint32(FRAME_HEADER_BYTES + 4 * index, word);
  return Buffer.concat([fixed, ...rest]);
}

/** Writes the header only, in place: the payload is large and copied once. */
export function encodeDataHeader(
  target: Uint8Array,
  at: number,
  { streamId, length, fin }: { readonly streamId: number; readonly length: number; readonly fin: boolean },
): void {
  const view = new DataView(target.buffer, target.byteOffset + at, FRAME_HEADER_BYTES);
  view.setUint32(0, streamId);
  view.setUint32(4, ((fin ? FLAG.fin : 0) << 24) | length);
}
