import type { SpdyHeaders } from './spdy-session.ts';

/** Kubernetes does not use windows and settings: these frames are decoded and ignored. */
export type SpdyFrame =
  | {
      readonly kind: 'synStream';
      readonly streamId: number;
      readonly headers: SpdyHeaders;
      readonly fin: boolean;
      /** The receiver may not send on this stream. */
      readonly unidirectional: boolean;
    }
  | { readonly kind: 'synReply'; readonly streamId: number; readonly headers: SpdyHeaders; readonly fin: boolean }
  | { readonly kind: 'headers'; readonly streamId: number; readonly headers: SpdyHeaders; readonly fin: boolean }
  | { readonly kind: 'rstStream'; readonly streamId: number; readonly status: number }
  | { readonly kind: 'ping'; readonly id: number }
  | { readonly kind: 'goAway'; readonly lastStreamId: number; readonly status: number }
  | { readonly kind: 'settings' }
  | { readonly kind: 'windowUpdate'; readonly streamId: number; readonly bytes: number }
  /** A frame, or a part of one; `fin` is set on the last part. */
  | { readonly kind: 'data'; readonly streamId: number; readonly payload: Uint8Array; readonly fin: boolean };

export const SPDY_VERSION = 3;

/** The header of control and data frames. */
export const FRAME_HEADER_BYTES = 8;

export const CONTROL_TYPE = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

export const FLAG = { fin: 1, unidirectional: 2 } as const;

export const RESET_STATUS = { refusedStream: 3, cancel: 5 } as const;

export const GO_AWAY_OK = 0;

export const MAX_STREAM_ID = 0x7fff_ffff;

/** The peer violates SPDY/3.1 or a limit of this implementation. */
export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError';
}
