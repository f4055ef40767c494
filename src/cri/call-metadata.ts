import { Metadata } from '@grpc/grpc-js';
import { outgoingTraceparent } from '../base/trace-work.ts';

const TRACEPARENT = 'traceparent';
/** gRPC copies the metadata of a call before it adds to it. */
const NOTHING = new Metadata();

/** The metadata of a call to the runtime: the trace that it belongs to. */
export function callMetadata(): Metadata {
  const traceparent = outgoingTraceparent();
  if (traceparent === undefined) return NOTHING;
  const metadata = new Metadata();
  metadata.set(TRACEPARENT, traceparent);
  return metadata;
}

/** The trace of the caller. */
export function callerTraceparent(metadata: Metadata): string | undefined {
  const [value] = metadata.get(TRACEPARENT);
  return typeof value === 'string' ? value : undefined;
}
