import type { SpanContext } from '@opentelemetry/api';

const HEADER = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const NO_ID = /^0+$/;
const VERSION = '00';

/** Reads a W3C `traceparent`; `undefined` if it is not valid. Later versions may have more fields. */
export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = HEADER.exec(text ?? '') ?? [];
  if (version === undefined || version === 'ff' || (version === VERSION && rest !== undefined)) return undefined;
  if (NO_ID.test(traceId) || NO_ID.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `${VERSION}-${traceId}-${spanId}-${(traceFlags & 1).toString(16).padStart(2, '0')}`;
}
