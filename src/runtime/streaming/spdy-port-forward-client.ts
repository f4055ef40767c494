import type { Clock } from '../../host/clock.ts';
import { Inbox } from '../../streams/inbox.ts';
import type { SpdySession, SpdyStream } from '../../streams/spdy/spdy-session.ts';
import { discard } from './discard.ts';
import type { ForwardedConnection, PortForwardClient } from './port-forward-client.ts';

/** Time limit for a client to open the second stream of a pair. */
const STREAM_CREATION_MS = 30_000;

/** Limit of connections per client that wait for their second stream. */
const MAX_INCOMPLETE = 1000;

type StreamType = 'data' | 'error';

/** The streams of one connection until both are open. */
interface Pair {
  readonly streams: Map<StreamType, SpdyStream>;
  readonly complete: AbortController;
}

interface ForwardStream {
  readonly stream: SpdyStream;
  readonly type: StreamType;
  readonly requestId: string;
  readonly port: number;
}

/** A SPDY client: each connection is a pair of streams, one for data and one for the error. */
export function openSpdyPortForwardClient(session: SpdySession, clock: Pick<Clock, 'sleep'>): PortForwardClient {
  const connections = new Inbox<ForwardedConnection>();
  const incomplete = new Map<string, Pair>();
  const add = (found: ForwardStream): void => {
    const { requestId, type, stream } = found;
    const pair = incomplete.get(requestId) ?? newPair(requestId);
    if (pair.streams.has(type)) {
      const why = `error processing stream for request ${requestId}: ${type} stream already assigned`;
      void reportError(pair, why);
      void stream.reset();
      return;
    }
    pair.streams.set(type, stream);
    const [data, error] = [pair.streams.get('data'), pair.streams.get('error')];
    if (!data || !error) return;
    incomplete.delete(requestId);
    pair.complete.abort();
    connections.put(toConnection(data, error));
  };
  const newPair = (requestId: string): Pair => {
    const pair = { streams: new Map(), complete: new AbortController() };
    incomplete.set(requestId, pair);
    void resetIfIncomplete(pair, requestId);
    return pair;
  };
  const resetIfIncomplete = async (pair: Pair, requestId: string): Promise<void> => {
    try {
      await clock.sleep(STREAM_CREATION_MS, pair.complete.signal);
    } catch {
      return; // complete, or the client is gone
    }
    incomplete.delete(requestId);
    await reportError(pair, `(request=${requestId}) timed out waiting for streams`);
    await pair.streams.get('data')?.reset();
    await pair.streams.get('error')?.end();
  };
  const listen = async (): Promise<void> => {
    for await (const stream of session.incoming) {
      const found = parseForwardStream(stream);
      const isTooMany = found && incomplete.size >= MAX_INCOMPLETE && !incomplete.has(found.requestId);
      if (!found || isTooMany) void stream.reset();
      else add(found);
    }
    for (const { complete } of incomplete.values()) complete.abort();
    connections.end();
  };
  void listen();
  return { connections, gone: session.closed, close: () => void session.close() };
}

/** `undefined`: not a port-forward stream. */
function parseForwardStream(stream: SpdyStream): ForwardStream | undefined {
  const [port, type, requestId] = ['port', 'streamtype', 'requestid'].map((name) => stream.headers[name]?.[0] ?? '');
  if (!/^\d{1,5}$/.test(port ?? '') || Number(port) < 1 || Number(port) > 65_535) return undefined;
  if (type !== 'data' && type !== 'error') return undefined;
  return { stream, type, port: Number(port), requestId: requestId || inferRequestId(stream, type) };
}

/** Old clients send no request id: they open the error stream, and then the data stream. */
function inferRequestId({ id }: SpdyStream, type: StreamType): string {
  return String(type === 'error' ? id : id - 2);
}

async function reportError({ streams }: Pair, message: string): Promise<void> {
  await streams
    .get('error')
    ?.write(Buffer.from(message))
    .catch(() => {});
}

function toConnection(data: SpdyStream, error: SpdyStream): ForwardedConnection {
  void discard(error.chunks);
  return {
    port: Number(data.headers['port']?.[0]),
    chunks: data.chunks,
    write: (chunk) => data.write(chunk),
    end: () => data.end(),
    fail: async (message) => {
      try {
        await error.write(Buffer.from(message));
        await error.end(); // a reset could overtake the message in the client
      } finally {
        await data.reset();
      }
    },
    close: async () => {
      await Promise.all([data.end(), error.end()]);
    },
    closed: data.closed,
  };
}
